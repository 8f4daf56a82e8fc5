package page

import (
	"regexp"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
)

// maxPattern of a fetch: agents write words. The expressions are RE2's, so any
// takes linear time.
const maxPattern = 500

// Fields compiles a mask over the items of a result that is held, of which no schema
// is known.
func Fields(text string) (*answer.Program, error) {
	node, err := engine.ParseMask(text)
	if err != nil {
		return nil, problem.New(problem.InvalidArguments, "fields: %s", err.Error()).At("", 0, 0, "/fields").Fix("write names with commas between them: id,owner.login")
	}
	if node == nil {
		return nil, nil
	}
	t, err := engine.Compile(&engine.Program{Root: node})
	if err != nil {
		return nil, problem.New(problem.InvalidArguments, "fields: %s", err.Error()).At("", 0, 0, "/fields").Fix("ask for fewer fields")
	}
	return &answer.Program{Tables: [][]byte{t}}, nil
}

// Request is what an agent asks of the rest of an answer.
type Request struct {
	Pick

	Handle, Fields string
}

// Read reads the arguments of the tool that gives the rest of an answer. It fails with
// [problem.InvalidArguments].
func (f *Request) Read(args jsonscan.Value) error {
	fault := func(name, format string, a ...any) *problem.Error {
		return problem.New(problem.InvalidArguments, name+": "+format, a...).At("", 0, 0, "/"+name)
	}
	for it := args.Members(); it.Next(); {
		name, v := string(it.KeyText(nil)), it.Value()
		if v.Kind() == jsonscan.Null {
			continue
		}
		switch name {
		case "handle", "fields", "grep":
			if v.Kind() != jsonscan.String {
				return fault(name, "expected a string, got %s", v.Kind())
			}
			text := string(v.AppendText(nil))
			switch name {
			case "handle":
				f.Handle = text
			case "fields":
				f.Fields = text
			default:
				if text == "" {
					continue
				}
				if len(text) > maxPattern {
					return fault(name, "%d bytes, at most %d", len(text), maxPattern)
				}
				re, err := regexp.Compile("(?i)" + text)
				if err != nil { // a word with brackets in it
					re = regexp.MustCompile("(?i)" + regexp.QuoteMeta(text))
				}
				f.Grep = re
			}
		case "offset", "limit":
			n, ok := v.Int64()
			if !ok || n < 0 || n > 1<<31 {
				return fault(name, "expected a whole number from 0, got %.40s", v.Raw())
			}
			if name == "offset" {
				f.Offset = int(n)
			} else {
				f.Limit = int(n)
			}
		default:
			return fault(name, "unknown argument, known are handle, offset, limit, fields, grep")
		}
	}
	if f.Handle == "" {
		return fault("handle", "missing").Fix("copy it from the last line of an answer that was cut")
	}
	return nil
}
