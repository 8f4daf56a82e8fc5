package call

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/reshape"
	"github.com/sluicegate/sluice/registry"
)

// transform makes of a JSON answer what the profile, the operator and the caller
// want of it: the tables of the tool's program, then the operator's expression.
// What cannot run fails open: the agent gets the minified answer, and the fault is
// counted and named in the trace; where the operator marked the settings as
// redacting it fails closed. What is not JSON passes on as it is.
func (x *exchange) transform() error {
	if x.ready.MCP != nil && !x.inItem {
		return x.contentMCP()
	}
	if x.status < 200 || x.status > 299 || len(x.body) == 0 {
		return nil
	}
	kind := kindOf(x.contentType, x.body, x.ready.JSON)
	body := x.body
	if kind == kindXML && x.ready.Answer.Profile != registry.ProfileOff {
		if out, err := appendXML(x.form[:0], x.body); err == nil { // else it stays the text it is
			x.form, body, kind = out, out, kindJSON
		}
	}
	if kind != kindJSON && kind != kindStream {
		if x.ready.Answer.Redact {
			return x.withheld()
		}
		return nil
	}
	x.out.JSON = true
	body = x.visible(body, manifest.TypeJSON)
	program := x.program
	if program == nil {
		program = x.ready.Answer.Program
	}
	tables := program.Tables
	// A plugin gets documents one by one in an array, whatever the profile: one that
	// reads JSON does not read several documents.
	if kind == kindStream && (len(tables) > 0 || x.ready.Answer.Profile != registry.ProfileOff || len(x.ready.Plugins) > 0) {
		var err error
		if tables, err = program.Stream(); err != nil {
			return err
		}
	}
	if len(tables) == 0 {
		return x.plain(body, kind)
	}
	if err := x.runTables(tables, body); err != nil {
		x.programFailed(err)
		if x.ready.Answer.Redact {
			return x.withheld()
		}
		if errors.Is(err, engine.ErrNotJSON) {
			x.out.JSON = false
			return nil // compress says so
		}
		return x.plain(body, kind)
	}
	return x.reshape()
}

// plain is the answer without a program: as it came under the profile off,
// minified otherwise.
func (x *exchange) plain(body []byte, kind kind) error {
	if x.ready.Answer.Profile == registry.ProfileOff && x.ready.Answer.Reshape == nil {
		x.asItCame = true
		if kind == kindStream {
			return nil
		}
		if _, err := jsonscan.Parse(body, jsonscan.DefaultMaxDepth); err != nil && !errors.Is(err, jsonscan.ErrDepth) {
			if x.out.JSON = false; x.ready.Answer.Redact { // else compress tells the agent
				return x.withheld()
			}
		}
		return nil
	}
	v, err := jsonscan.Parse(body, jsonscan.DefaultMaxDepth)
	if err != nil && x.ready.Answer.Redact {
		return x.withheld()
	}
	if errors.Is(err, jsonscan.ErrDepth) {
		x.asItCame = true // nested deeper than we look: as it is
		return nil
	}
	if err != nil {
		x.out.JSON = false
		return nil //nolint:nilerr // compress tells the agent
	}
	x.small = jsonscan.AppendMinified(x.small[:0], v.Raw())
	return x.reshape()
}

// runTables runs one table after the other; the result is in small.
func (x *exchange) runTables(tables [][]byte, body []byte) error {
	in := body
	for i, t := range tables {
		if i > 0 {
			x.small, x.spare = x.spare, x.small
			in = x.spare
		}
		out, stats, err := x.c.host.Transform(x.small[:0], t, in)
		if err != nil {
			return err
		}
		x.small = out
		x.told(t, &stats)
		if x.trace != nil {
			x.trace.Program = true
			x.trace.FieldsDropped += stats.FieldsDropped
		}
	}
	return nil
}

// reshape runs the operator's expression on small.
func (x *exchange) reshape() error {
	p := x.ready.Answer.Reshape
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(x.ctx, x.deadline)
	defer cancel()
	out, err := p.Append(ctx, x.spare[:0], x.small)
	if err == nil {
		x.small, x.spare = out, x.small
		return nil
	}
	x.spare = out
	cause := "jq"
	if errors.Is(err, reshape.ErrBounds) {
		cause = "jq_bounds"
	}
	x.noteFailure(cause)
	if x.ready.Answer.Redact {
		return x.withheld()
	}
	return nil
}

// withheld answers nothing rather than what the operator wanted out.
func (x *exchange) withheld() error {
	return problem.New(problem.InvalidPlugin, "the answer is withheld: the operator's settings of this tool could not be applied to it").
		Fix("ask the operator of %s to look at the settings of %s", x.ts.Slug, x.tool.Name)
}

func (x *exchange) programFailed(err error) {
	cause := "trap"
	switch {
	case errors.Is(err, engine.ErrNotJSON):
		cause = "input"
	case errors.Is(err, engine.ErrFuel):
		cause = "fuel"
	case errors.Is(err, engine.ErrDepth):
		cause = "depth"
	case errors.Is(err, engine.ErrTooLarge):
		cause = "memory"
	}
	x.noteFailure(cause)
}

func (x *exchange) noteFailure(cause string) {
	x.c.meter.Program(cause)
	if x.trace != nil {
		x.trace.ProgramFailure = cause
	}
	x.c.log.LogAttrs(x.ctx, slog.LevelDebug, "response program could not run",
		slog.String("toolset", x.ts.Slug), slog.String("tool", x.tool.Name), slog.String("cause", cause))
}

// takeFields takes the caller's field mask out of the arguments, which the
// operation does not know.
func (x *exchange) takeFields(a *answer.Plan) error {
	if a.Argument == "" {
		return nil
	}
	v := x.args.Get(a.Argument)
	if !v.Exists() {
		return nil
	}
	x.given = append(x.given[:0], '{')
	for it := x.args.Members(); it.Next(); {
		if it.KeyEqual(a.Argument) {
			continue
		}
		if len(x.given) > 1 {
			x.given = append(x.given, ',')
		}
		x.given = append(append(append(append(x.given, '"'), it.Key()...), `":`...), it.Value().Raw()...)
	}
	x.given = append(x.given, '}')
	x.args = jsonscan.Trusted(x.given)
	text, err := maskText(a.Argument, v)
	if err != nil || len(text) == 0 {
		return err
	}
	x.program, err = a.Mask(text)
	return err
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
