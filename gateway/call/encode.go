package call

import (
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

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

// encode writes small as the text the agent reads, and cuts it at the budget.
func (x *exchange) encode() {
	a := x.ready.Answer
	format, budget := formatOf(a), x.budget()
	x.small = x.stripDocument(x.small)
	if x.inner || format == compress.JSON || len(x.small) > compress.MaxEncoded {
		x.text, x.pure = x.small, true
		if budget > 0 && len(x.small) > budget { // a token has at least a byte
			x.tokens = tokens.Estimate(x.small)
		}
	} else {
		var form compress.Form
		x.form, form, x.tokens = compress.AppendForm(x.form[:0], x.small, format, tokens.Estimate)
		x.text, x.pure = x.form, form == compress.JSON
		if x.trace != nil {
			x.trace.Form = form.String()
		}
	}
	if a.Structured {
		x.structured = x.small
	}
	if budget > 0 && x.tokens > budget {
		x.page()
		x.pure = false
	}
}

// nextPage appends a line that says how to ask for the upstream's next page. The
// body is one document that the response programs have read, so it is not
// validated again.
func (x *exchange) nextPage() {
	p := x.ready.Answer.Paging
	if p == nil || x.inner {
		return
	}
	body := jsonscan.Trusted(x.body)
	var link []byte
	if x.hit == nil {
		link = x.http.Header(fasthttp.HeaderLink)
	} else {
		link = x.hit.link
	}
	if x.ready.Answer.Redact { // what its settings take out is not shown in another place
		link, body = nil, jsonscan.Trusted(x.small)
	}
	x.next = p.AppendNext(x.next[:0], link, body, x.args)
	x.filterNextPage()
	if len(x.next) == 0 {
		return
	}
	if len(x.form) == 0 || &x.form[0] != &x.text[0] {
		x.form = append(x.form[:0], x.text...)
	}
	x.form = append(x.form, "\n[next page: the same call with "...)
	x.form = append(x.form, x.next...)
	x.form = append(x.form, ']')
	x.text, x.pure = x.form, false
}
