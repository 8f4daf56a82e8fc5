package compress

import (
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
)

// Form is how an answer is written.
type Form uint8

// The forms.
const (
	JSON  Form = iota // minified JSON
	Table             // table text (docs/table.md)
)

// String is the name of the form in traces and reports.
func (f Form) String() string {
	if f == Table {
		return "table"
	}
	return "json"
}

// margin is the share of the minified JSON's tokens, in percent, that table text
// must stay under to be chosen. The estimate errs by some percent either way, and
// table text must never cost more than the JSON it stands for.
const margin = 97

// AppendShorter appends doc, a JSON text, in the form that has fewer tokens by
// [tokens.Estimate], and says which. It keeps neither argument. It fails as
// [jsonscan.Parse] does, with dst as it was.
func AppendShorter(dst, doc []byte) ([]byte, Form, error) {
	mark := len(dst)
	dst, table, err := AppendTable(dst, doc)
	if err != nil || !table {
		return dst, JSON, err
	}
	text := dst[mark:]
	// Where the texts differ much in length there is nothing to count: a token of
	// either is some three bytes.
	small := jsonscan.AppendMinified(nil, doc)
	if len(text) < len(small)/2 {
		return dst, Table, nil
	}
	if 100*tokens.Estimate(text) < margin*tokens.Estimate(small) {
		return dst, Table, nil
	}
	return append(dst[:mark], small...), JSON, nil
}
