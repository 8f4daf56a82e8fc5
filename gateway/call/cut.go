package call

import (
	"github.com/sluicegate/sluice/gateway/held"
	"github.com/sluicegate/sluice/gateway/page"
)

// page cuts the answer at the budget: as many whole items as fit, and a last line
// that says how many there are and how to get the rest, which is held for a time.
func (a *rendering) page() { a.pageUnless(false) }

// pageUnless is page. With whole it leaves the answer alone and returns false when the
// page is not full, so that all of the answer may be within the budget.
func (a *rendering) pageUnless(whole bool) bool {
	plan := a.ready.Answer
	var it page.Items
	h := &held.Answer{Owner: a.owner(), Format: a.format(), Budget: plan.Budget, Tool: a.tool.Name, Hidden: a.keepsHidden(), Made: a.ts.Digest}
	if a.isJSON {
		it = page.ItemsOf(a.small, a.index)
		a.index = it.Known
	} else {
		if len(a.form) > 0 && len(a.text) > 0 && &a.form[0] == &a.text[0] { // the page is written there
			a.form, a.spare = a.spare, a.form
		}
		it, h.Text = page.Items{Doc: a.text, Text: true}, true
	}
	h.Doc = it.Doc
	out, s, err := a.pages.Append(a.form[:0], &it, page.Pick{}, h.Format, plan.Budget, true, nil)
	if err != nil || whole && (!s.Full || s.Whole == 0 && s.To == s.Total) { // no mask: cannot fail
		a.form = out
		return false
	}
	if a.structured != nil {
		a.structured = a.pages.Doc // the same items
	}
	if !it.Text && !it.Members {
		a.listed = a.pages.Doc
	}
	handle := a.hold(h)
	a.form = page.AppendNote(out, &it, s, handle, a.fetchTool(), a.tool.OnlyReads(), page.Pick{})
	a.text = a.form
	if a.trace != nil {
		a.trace.Shown, a.trace.Items = s.To-s.From, s.Total
		if whole {
			a.trace.Form = s.Form.String()
		}
	}
	return true
}

// fetchTool is the name of the tool that gives the rest of an answer; "": there is none.
func (a *rendering) fetchTool() string {
	if t := a.ts.Fetch(); t != nil {
		return t.Name
	}
	return ""
}
