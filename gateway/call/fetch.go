package call

import (
	"regexp"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/held"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
)

// maxPattern of a fetch: agents write words. The expressions are RE2's, so any
// takes linear time.
const maxPattern = 500

// readFetch reads the arguments of the tool.
func readFetch(args jsonscan.Value) (f fetchArguments, err error) {
	err = f.read(orEmpty(args))
	return f, err
}

// fetchPage answers with the part of a held answer that the arguments ask for.
func (x *exchange) fetchPage(f *fetchArguments) error {
	h, err := x.c.results.Get(x.ctx, f.handle, x.owner())
	if err != nil {
		return err
	}
	if err := x.mayFetch(h); err != nil {
		return err
	}
	a := x.render(received{})
	a.hidden = h.Hidden
	it := items{doc: h.Doc, text: h.Text}
	if !h.Text {
		it = itemsOf(h.Doc, x.index)
		x.index = it.known
	}
	var mask *answer.Program
	if f.fields != "" {
		if h.Text || it.members {
			return problem.New(problem.InvalidArguments, "fields: this result has no items with fields").At("", 0, 0, "/fields").Fix("leave it out")
		}
		if mask, err = maskProgram(f.fields); err != nil {
			return err
		}
	}
	out, s, err := a.appendPage(x.form[:0], &it, f.pick, h.Format, h.Budget, false, mask)
	if err != nil {
		return err
	}
	x.form = appendNote(out, &it, s, f.handle, x.tool, true, f.pick)
	a.text = x.form
	return nil
}

// mayFetch checks that the tool whose answer is held is still there and still open
// to the caller: a handle outlives what its owner may do.
func (x *exchange) mayFetch(h *held.Answer) error {
	if x.permits != nil && !x.permits(h.Tool) {
		return problem.New(problem.Forbidden, "this result is of a tool that the access token does not open").Fix("use a token that does")
	}
	if h.Made != x.ts.Digest {
		return problem.New(problem.NotFound, "this result was made before the toolset changed, which may show less of it now").Fix("call the tool again")
	}
	tool, err := x.ts.Tool([]byte(h.Tool))
	if err == nil && tool == nil {
		err = problem.New(problem.NotFound, "this result is of a tool that the toolset no longer has").Fix("list the tools and call another one")
	}
	return err
}

// maskProgram compiles a mask over the items of a held result, of which no schema
// is known.
func maskProgram(text string) (*answer.Program, error) {
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

type fetchArguments struct {
	pick
	handle, fields string
}

func (f *fetchArguments) read(args jsonscan.Value) error {
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
				f.handle = text
			case "fields":
				f.fields = text
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
				f.grep = re
			}
		case "offset", "limit":
			n, ok := v.Int64()
			if !ok || n < 0 || n > 1<<31 {
				return fault(name, "expected a whole number from 0, got %.40s", v.Raw())
			}
			if name == "offset" {
				f.offset = int(n)
			} else {
				f.limit = int(n)
			}
		default:
			return fault(name, "unknown argument, known are handle, offset, limit, fields, grep")
		}
	}
	if f.handle == "" {
		return fault("handle", "missing").Fix("copy it from the last line of an answer that was cut")
	}
	return nil
}
