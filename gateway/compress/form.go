package compress

import (
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
)

// Form is how an answer is written.
type Form uint8

// The forms.
const (
	Auto  Form = iota // the shorter of JSON and table text; what is written is never this
	JSON              // minified JSON
	Table             // table text (docs/table.md)
	TOON              // Token-Oriented Object Notation
)

// String is the name of the form in settings, traces and reports.
func (f Form) String() string {
	switch f {
	case JSON:
		return "json"
	case Table:
		return "table"
	case TOON:
		return "toon"
	}
	return "auto"
}

const (
	// margin is the share of the minified JSON's tokens, in percent, that table text
	// must stay under to be chosen: an estimate errs by some percent either way, and
	// a text that is not JSON must earn its place.
	margin = 97
	// minSaving is how many tokens it must save at least: for fewer, what every
	// reader knows is worth more.
	minSaving = 8
	// farSmaller is the length in bytes from which table text of half the bytes of the
	// JSON is taken without counting: what it leaves out are names and punctuation, each a
	// token at least.
	farSmaller = 512
	// MaxEncoded is the longest JSON, in bytes, that is written in another form: what
	// is longer goes over any budget, and its pages are written instead.
	MaxEncoded = 4 << 20
)

// Gauge says what a text costs. Estimated is the one of the calls.
type Gauge struct {
	Count func(text []byte) int // its tokens
	// UpTo is Count where that is at most n, which within says. nil: Count says it.
	UpTo func(text []byte, n int) (count int, within bool)
}

// Estimated is the gauge of [tokens.Estimate].
var Estimated = Gauge{Count: tokens.Estimate, UpTo: tokens.UpTo}

func (g *Gauge) upTo(text []byte, n int) (count int, within bool) {
	if g.UpTo != nil {
		return g.UpTo(text, n)
	}
	count = g.Count(text)
	return count, count <= n
}

// AppendForm appends doc, minified JSON that was validated, in a form, and says in which
// and what that costs by gauge. Auto takes table text where it is clearly fewer tokens. JSON is
// what is written where another form has none for the document, or doc is longer
// than [MaxEncoded]. It keeps neither argument; with [Estimated] it
// does not allocate but for TOON.
func AppendForm(dst, doc []byte, want Form, gauge Gauge) (out []byte, form Form, n int) {
	out, form, n = choose(dst, doc, want, &gauge)
	if n < 0 {
		n = gauge.Count(out[len(dst):])
	}
	return out, form, n
}

// AppendFormWithin is [AppendForm] by [Estimated] for who wants to know only whether the
// text costs more than a budget of tokens; 0: there is none. It counts no more than that.
func AppendFormWithin(dst, doc []byte, want Form, budget int) (out []byte, form Form, over bool) {
	out, form, n := choose(dst, doc, want, &Estimated)
	switch {
	case budget <= 0:
	case n >= 0:
		over = n > budget
	default:
		over = tokens.Exceeds(out[len(dst):], budget)
	}
	return out, form, over
}

// choose is AppendForm; n is negative where the form was chosen without counting.
func choose(dst, doc []byte, want Form, gauge *Gauge) (out []byte, form Form, n int) {
	mark := len(dst)
	switch {
	case want == JSON || len(doc) > MaxEncoded:
	case want == TOON:
		if out, err := AppendTOON(dst, doc); err == nil {
			return out, TOON, -1
		}
	default:
		out, table := appendTable(dst, jsonscan.Trusted(doc))
		dst = out[:mark]
		if !table {
			break
		}
		size := len(out) - mark
		if want == Table || len(doc) >= farSmaller && 2*size <= len(doc) {
			return out, Table, -1
		}
		// A token has a byte at least, and seldom more than eight: what leaves out so few
		// bytes cannot save enough. It is a document of long strings, which cost a count.
		if saved := len(doc) - size; saved < minSaving || 100*saved < (100-margin)*len(doc)/8 {
			break
		}
		n := gauge.Count(out[mark:])
		// JSON must cost more than n*100/margin, and minSaving more than n.
		asJSON, within := gauge.upTo(doc, max(100*n/margin, n+minSaving-1))
		if !within {
			return out, Table, n
		}
		return append(dst, doc...), JSON, asJSON
	}
	return append(dst[:mark], doc...), JSON, -1
}
