package call

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/gateway/held"
	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/gateway/page"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
)

const (
	// batchHeadTokens is what the line before an answer costs.
	batchHeadTokens = 12
	// batchLeast is as little as an answer of a batch is cut to: less would be a note only.
	batchLeast = 2 * page.NoteTokens
)

// batchAnswer is the answer of a call of a batch, as an agent reads it.
type batchAnswer struct {
	call   *batchCall
	text   []byte
	format compress.Form
	own    int // the budget of the tool; 0: it has none
	tokens int
	keeps  bool // hidden characters
}

// writeBatch writes the answers in the order of the calls. Where the toolset has a budget
// it is shared: what short answers leave is for the long ones, which are cut at whole
// items.
func (x *exchange) writeBatch() error {
	answers := make([]batchAnswer, len(x.batch.calls))
	failed := 0
	for i := range answers {
		a := &answers[i]
		if err := a.write(&x.batch.calls[i]); err != nil {
			return err
		}
		if a.call.result.Error != "" {
			failed++
		}
	}
	shares := share(x.budget(), answers)
	a := x.render(received{})
	var out []byte
	for i := range answers {
		b := &answers[i]
		if i > 0 {
			out = append(out, '\n')
		}
		var err error
		if out, err = a.appendShare(b.call.appendHead(out), b, shares[i]); err != nil {
			return err
		}
		if out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
	}
	a.text, a.isError = bytes.TrimSuffix(out, []byte("\n")), failed == len(answers)
	return nil
}

// maxShownName is how much of the name of a tool that does not exist is repeated.
const maxShownName = 80

// appendHead appends what stands before an answer.
func (c *batchCall) appendHead(dst []byte) []byte {
	dst = append(append(append(dst, '['), c.ID...), ' ')
	dst = append(media.AppendClipped(dst, []byte(c.Name), maxShownName), ']')
	if c.result.Error != "" {
		return append(dst, " failed: "...)
	}
	return append(dst, '\n')
}

// write writes the whole answer.
func (a *batchAnswer) write(c *batchCall) error {
	a.call = c
	if c.result.Error != "" {
		a.text = []byte(c.result.Error)
		a.tokens = tokens.Estimate(a.text)
		return nil
	}
	ready, err := c.tool.Load()
	if err != nil {
		return err
	}
	a.format, a.own, a.keeps = formatOf(ready.Answer), ready.Answer.Budget, ready.Answer.KeepHidden
	switch v := c.result.Value; {
	case v == nil:
		a.text = []byte(c.result.Text)
		a.tokens = tokens.Estimate(a.text)
	case string(v) == "null":
		a.text = fmt.Appendf(nil, "Done. The API answered HTTP %d without content.", c.result.Status)
		a.tokens = page.NoteTokens
	case a.format == compress.JSON:
		a.text, a.tokens = v, tokens.Estimate(v)
	default:
		c.result.Value = jsonscan.AppendMinified(nil, v)
		a.text, _, a.tokens = compress.AppendForm(nil, c.result.Value, a.format, compress.Estimated)
	}
	return nil
}

// share is how many tokens each answer may have of a budget for all; 0: as many as it
// has. Every answer gets the same, but what it does not need is for the others.
func share(budget int, answers []batchAnswer) []int {
	shares := make([]int, len(answers))
	order := make([]int, len(answers))
	for i, a := range answers {
		order[i], shares[i] = i, a.own
	}
	if budget == 0 {
		return shares
	}
	slices.SortStableFunc(order, func(i, j int) int { return answers[i].needs() - answers[j].needs() })
	left := max(budget-len(answers)*batchHeadTokens, 0)
	for n, i := range order {
		most := max(left/(len(order)-n), batchLeast)
		shares[i] = min(answers[i].needs(), most)
		left = max(left-shares[i], 0)
	}
	return shares
}

// needs is what an answer costs with the budget of its tool.
func (a *batchAnswer) needs() int {
	if a.own > 0 {
		return min(a.tokens, a.own)
	}
	return a.tokens
}

// appendShare appends an answer, or as many of its items as fit into its share, and a line
// that says how to get the rest. share 0: all.
func (a *rendering) appendShare(dst []byte, b *batchAnswer, share int) ([]byte, error) {
	if share == 0 || b.tokens <= share {
		return append(dst, b.text...), nil
	}
	if b.call.result.Error != "" {
		return media.AppendClipped(dst, b.text, share*3), nil
	}
	h := &held.Answer{Owner: a.owner(), Format: b.format, Budget: max(b.own, share), Tool: b.call.tool.Name, Hidden: b.keeps, Made: a.ts.Digest}
	var it page.Items
	if v := b.call.result.Value; v != nil {
		h.Doc = jsonscan.AppendMinified(nil, v)
		it = page.ItemsOf(h.Doc, nil)
	} else {
		h.Doc, h.Text = b.text, true
		it = page.Items{Doc: b.text, Text: true}
	}
	text, s, err := a.pages.Append(nil, &it, page.Pick{}, b.format, share, true, nil)
	if err != nil { // without a mask nothing can fail
		return dst, err
	}
	return append(dst, page.AppendNote(text, &it, s, a.c.results.Put(a.ctx, h), a.fetchTool(), b.call.tool.OnlyReads(), page.Pick{})...), nil
}
