package call

import (
	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/held"
	"github.com/sluicegate/sluice/gateway/page"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// readFetch reads the arguments of the tool.
func readFetch(args jsonscan.Value) (f page.Request, err error) {
	err = f.Read(orEmpty(args))
	return f, err
}

// fetchPage answers with the part of a held answer that the arguments ask for.
func (x *exchange) fetchPage(f *page.Request) error {
	h, err := x.c.results.Get(x.ctx, f.Handle, x.owner())
	if err != nil {
		return err
	}
	if err := x.mayFetch(h); err != nil {
		return err
	}
	a := x.render(received{})
	a.hidden = h.Hidden
	it := page.Items{Doc: h.Doc, Text: h.Text}
	if !h.Text {
		it = page.ItemsOf(h.Doc, x.index)
		x.index = it.Known
	}
	var mask page.Mask
	if f.Fields != "" {
		if h.Text || it.Members {
			return problem.New(problem.InvalidArguments, "fields: this result has no items with fields").At("", 0, 0, "/fields").Fix("leave it out")
		}
		program, err := page.Fields(f.Fields)
		if err != nil {
			return err
		}
		if program != nil {
			mask = a.maskBy(program)
		}
	}
	out, s, err := a.pages.Append(x.form[:0], &it, f.Pick, h.Format, h.Budget, false, mask)
	if err != nil {
		return err
	}
	x.form = page.AppendNote(out, &it, s, f.Handle, x.tool.Name, true, f.Pick)
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

// maskBy runs the tables of a program over the items of a page.
func (a *rendering) maskBy(program *answer.Program) page.Mask {
	return func(doc []byte) ([]byte, error) {
		for _, t := range program.Tables {
			out, _, err := a.c.host.Transform(nil, t, doc)
			if err != nil {
				return nil, err
			}
			doc = out
		}
		return doc, nil
	}
}
