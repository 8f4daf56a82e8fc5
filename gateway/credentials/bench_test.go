package credentials

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sluicegate/sluice/internal/secrets"
)

// BenchmarkRedact measures the search for a credential in an answer of 21 KB that does
// not repeat it: a copy of the answer, and the search for an API key; of the same as text
// in lines too, which is searched a second time without its line breaks.
func BenchmarkRedact(b *testing.B) {
	body := []byte("{")
	for i := range 280 {
		body = fmt.Appendf(body, `"link%d_url":"https://api.example.com/repos/acme/project-%d/links/%d{/x}",`, i, i, i)
	}
	b.Run("impl=copy", func(b *testing.B) {
		dst := make([]byte, 0, len(body))
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			dst = append(dst[:0], body...)
		}
	})
	search := func(b *testing.B, body []byte) {
		var rs Redactors
		bound := &Bound{Rules: Rules{{Type: Header, Name: "X-Api-Key"}}, Values: []Credential{{Value: secrets.New("sk-live-4711abcdefghijklmnopqrstuvwxyz")}}}
		bound.Values[0] = rs.Prepare(bound.Rules[0], bound.Values[0])
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if out := bound.Redact(body); len(out) != len(body) {
				b.Fatal("found")
			}
		}
	}
	b.Run("impl=sluice", func(b *testing.B) { search(b, body) })
	b.Run("impl=sluice-lines", func(b *testing.B) { search(b, bytes.ReplaceAll(body, []byte(","), []byte("\nlink: "))) })
}
