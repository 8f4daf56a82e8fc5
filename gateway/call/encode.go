package call

import (
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/registry"
)

// largeAnswer is from how many bytes for each token of the budget an answer is taken
// to be over it, before all of it is written in another form.
const largeAnswer = 12

// forms are the formats that operators choose, as package compress names them.
var forms = [...]compress.Form{
	answer.FormatAuto: compress.Auto, answer.FormatJSON: compress.JSON, answer.FormatTable: compress.Table, answer.FormatTOON: compress.TOON,
}

// formatOf is how answers of the tool are written: JSON as it is under the profile
// off, unless the operator chose one.
func formatOf(a *answer.Plan) compress.Form {
	if a.Structured || a.Profile == registry.ProfileOff && a.Format == answer.FormatAuto {
		return compress.JSON
	}
	return forms[a.Format]
}

// format is how this answer is written.
func (a *rendering) format() compress.Form {
	if a.asJSON {
		return compress.JSON
	}
	return formatOf(a.ready.Answer)
}

// encode writes small as the text the agent reads, and cuts it at the budget.
func (a *rendering) encode() {
	plan := a.ready.Answer
	format, budget := a.format(), a.budget()
	a.small = a.stripDocument(a.small)
	// Writing all of an answer only to see that it is over the budget takes most of the time.
	if !a.inner && format != compress.JSON && budget > 0 && len(a.small) > largeAnswer*budget && a.pageUnless(true) {
		return
	}
	var over bool
	if a.inner || format == compress.JSON || len(a.small) > compress.MaxEncoded {
		a.text, a.isDocument = a.small, true
		over = budget > 0 && a.pages.Exceeds(a.small, budget)
	} else {
		var form compress.Form
		a.form, form, over = compress.AppendFormWithin(a.form[:0], a.small, format, budget)
		a.text, a.isDocument = a.form, form == compress.JSON
		if a.trace != nil {
			a.trace.Form = form.String()
		}
	}
	if plan.Structured {
		a.structured = a.small
	}
	if over {
		a.page()
		a.isDocument = false
	}
}

// nextPage appends a line that says how to ask for the upstream's next page. doc
// is one document that the response programs have read, so it is not
// validated again.
func (a *rendering) nextPage(doc []byte) {
	p := a.ready.Answer.Paging
	if p == nil || a.inner {
		return
	}
	body := jsonscan.Trusted(doc)
	link := a.header.Header(fasthttp.HeaderLink)
	if a.ready.Answer.Redact { // what its settings take out is not shown in another place
		link, body = nil, jsonscan.Trusted(a.small)
	}
	a.next = p.AppendNext(a.next[:0], link, body, a.args)
	a.filterNextPage()
	if len(a.next) == 0 {
		return
	}
	if len(a.form) == 0 || &a.form[0] != &a.text[0] {
		a.form = append(a.form[:0], a.text...)
	}
	a.form = append(a.form, "\n[next page: the same call with "...)
	a.form = append(a.form, a.next...)
	a.form = append(a.form, ']')
	a.text, a.isDocument = a.form, false
}
