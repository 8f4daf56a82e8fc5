//go:build !race

package credentials

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/secrets"
)

// An answer without the credential costs no allocation, nor does a credential that was
// prepared before.
func TestNoAllocations(t *testing.T) {
	body := []byte(strings.Repeat(`{"id":17,"name":"Zürich","url":"https://api.example.com/a-b_c/17"},`, 100))
	for name, c := range map[string]struct {
		typ   Type
		value string
	}{
		"key": {Header, "sk-live-4711abcdefghijklmnopqrstuvwxyz"}, "basic": {Basic, "robot@example.com:correct horse battery"},
		"signs": {Query, "a+b/c==d?e&f=g"}, "token": {Token, strings.Repeat("eyJhbGciOiJIUzI1NiJ9.", 40)},
	} {
		var rs Redactors
		r, cred := Rule{Type: c.typ}, Credential{Value: secrets.New(c.value)}
		rs.Prepare(r, cred)
		if n := testing.AllocsPerRun(100, func() { r.Redact(body, rs.Prepare(r, cred)) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
