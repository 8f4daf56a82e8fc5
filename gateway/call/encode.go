package call

import (
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

// tableMargin is the share of the minified JSON's tokens, in percent, that another
// form must stay under to be chosen: the estimate errs by some percent either way,
// and a text that is no JSON must earn its place.
const tableMargin = 97

// minSaving is how many tokens a form other than JSON must save at least: for
// fewer, what every reader knows is worth more.
const minSaving = 16

// maxEncoded is the longest JSON that is written in another form: what is longer
// goes over any budget, and its pages are written instead.
const maxEncoded = 4 << 20

// appendForm appends doc, minified JSON, in the format that was asked for, and
// reports its estimated tokens and whether the format is another than JSON.
func appendForm(dst, doc []byte, format snapshot.Format) (out []byte, n int, other bool) {
	mark := len(dst)
	switch {
	case format == snapshot.FormatJSON || len(doc) > maxEncoded:
	case format == snapshot.FormatTOON:
		if out, err := compress.AppendTOON(dst, doc); err == nil {
			return out, tokens.Estimate(out[mark:]), true
		}
	default:
		out, table, err := compress.AppendTable(dst, doc)
		dst = out[:mark]
		if err != nil || !table {
			break
		}
		n := tokens.Estimate(out[mark:])
		if format == snapshot.FormatTable || shorter(n, tokens.Estimate(doc)) {
			return out, n, true
		}
	}
	return append(dst[:mark], doc...), tokens.Estimate(doc), false
}

func shorter(n, asJSON int) bool { return 100*n < tableMargin*asJSON && n+minSaving <= asJSON }

// formatOf is how answers of the tool are written: JSON as it is under the profile
// off, unless the operator chose one.
func formatOf(a *snapshot.Answer) snapshot.Format {
	if a.Structured || a.Profile == registry.ProfileOff && a.Format == snapshot.FormatAuto {
		return snapshot.FormatJSON
	}
	return a.Format
}

// encode writes small as the text the agent reads, and cuts it at the budget.
func (x *exchange) encode() {
	a := x.ready.Answer
	format := formatOf(a)
	if format == snapshot.FormatJSON || len(x.small) > maxEncoded {
		x.text = x.small
		if a.Budget > 0 && len(x.small) > a.Budget { // a token has at least a byte
			x.tokens = tokens.Estimate(x.small)
		}
	} else {
		var other bool
		x.form, x.tokens, other = appendForm(x.form[:0], x.small, format)
		x.text = x.form
		if x.trace != nil {
			x.trace.Form = formName(other, format)
		}
	}
	if a.Structured {
		x.structured = x.small
	}
	if a.Budget > 0 && x.tokens > a.Budget {
		x.page()
	}
}

// nextPage appends a line that says how to ask for the upstream's next page. The
// body is one document that the response programs have read, so it is not
// validated again.
func (x *exchange) nextPage() {
	p := x.ready.Answer.Paging
	if p == nil {
		return
	}
	body := jsonscan.Trusted(x.body)
	var link []byte
	if x.hit == nil {
		link = x.http.Header(fasthttp.HeaderLink)
	} else {
		link = x.hit.link
	}
	x.next = p.AppendNext(x.next[:0], link, body, x.args)
	if len(x.next) == 0 {
		return
	}
	if len(x.form) == 0 || &x.form[0] != &x.text[0] {
		x.form = append(x.form[:0], x.text...)
	}
	x.form = append(x.form, "\n[next page: the same call with "...)
	x.form = append(x.form, x.next...)
	x.form = append(x.form, ']')
	x.text = x.form
}

func formName(other bool, format snapshot.Format) string {
	switch {
	case !other:
		return "json"
	case format == snapshot.FormatTOON:
		return "toon"
	}
	return "table"
}
