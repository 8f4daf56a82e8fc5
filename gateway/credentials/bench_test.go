package credentials

import (
	"fmt"
	"testing"

	"github.com/sluicegate/sluice/internal/secrets"
)

// BenchmarkRedact measures the search for a credential in an answer of 21 KB that does
// not repeat it: a copy of the answer, and the search for an API key.
func BenchmarkRedact(b *testing.B) {
	var body []byte
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
	b.Run("impl=sluice", func(b *testing.B) {
		var rs Redactors
		r, c := Rule{Type: Header, Name: "X-Api-Key"}, Credential{Value: secrets.New("sk-live-4711abcdefghijklmnopqrstuvwxyz")}
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if out := r.Redact(body, rs.Prepare(r, c)); len(out) != len(body) {
				b.Fatal("found")
			}
		}
	})
}
