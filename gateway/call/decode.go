package call

import (
	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// checkArguments takes the caller's field mask out of the arguments and checks the
// others. Wrong ones never reach the upstream; the agent gets each fault with its JSON
// pointer.
func (x *exchange) checkArguments(given jsonscan.Value) (args jsonscan.Value, mask *answer.Program, err error) {
	if args, mask, err = x.takeMask(orEmpty(given)); err != nil {
		return args, nil, err
	}
	if err := x.ready.Plan.Check(args); err != nil {
		return args, nil, err
	}
	if x.ready.Base.Zero() {
		return args, nil, problem.New(problem.Unavailable, "the address of this API is not known: its specification names no server").
			Fix("set the base URL of the toolset %s", x.ts.Slug)
	}
	return args, mask, nil
}

// checkWorkflowArguments does the same by the schema of a plugin's tool.
func (x *exchange) checkWorkflowArguments(given jsonscan.Value) (args jsonscan.Value, mask *answer.Program, err error) {
	if args, mask, err = x.takeMask(orEmpty(given)); err != nil {
		return args, nil, err
	}
	if err := x.tool.Workflow.CheckArguments(args.Raw()); err != nil {
		return args, nil, problem.New(problem.InvalidArguments, "the arguments of %s are not valid: %v", x.tool.Name, err).Fix("read the input schema of the tool")
	}
	return args, mask, nil
}

// takeMask takes the caller's field mask out of the arguments, which the operation does
// not know. The mask is nil when there is none.
func (x *exchange) takeMask(given jsonscan.Value) (jsonscan.Value, *answer.Program, error) {
	a := x.ready.Answer
	if a.Argument == "" {
		return given, nil, nil
	}
	v := given.Get(a.Argument)
	if !v.Exists() {
		return given, nil, nil
	}
	x.unmasked = append(x.unmasked[:0], '{')
	for it := given.Members(); it.Next(); {
		if !it.KeyEqual(a.Argument) {
			x.unmasked = jsonscan.AppendMember(x.unmasked, 1, it.Key(), it.Value().Raw())
		}
	}
	x.unmasked = append(x.unmasked, '}')
	text, err := maskText(a.Argument, v)
	if err != nil || len(text) == 0 {
		return jsonscan.Trusted(x.unmasked), nil, err
	}
	mask, err := a.Mask(text)
	return jsonscan.Trusted(x.unmasked), mask, err
}

// maskText is a field mask given as a string, or as a list of names.
func maskText(argument string, v jsonscan.Value) ([]byte, error) {
	switch v.Kind() {
	case jsonscan.Null:
		return nil, nil
	case jsonscan.String:
		if text, ok := v.Plain(); ok {
			return text, nil
		}
		return v.AppendText(nil), nil
	case jsonscan.Array:
		var text []byte
		for it := v.Elements(); it.Next(); {
			if it.Value().Kind() != jsonscan.String {
				break
			}
			if len(text) > 0 {
				text = append(text, ',')
			}
			text = it.Value().AppendText(text)
		}
		if len(text) > 0 || v.Len() == 0 {
			return text, nil
		}
	}
	return nil, problem.New(problem.InvalidArguments, "%s: expected names with commas between them, got %s", argument, v.Kind()).
		At("", 0, 0, "/"+argument)
}
