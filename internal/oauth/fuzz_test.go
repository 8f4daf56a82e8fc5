package oauth

import (
	"net/http"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// FuzzTokenAnswer: whatever a token endpoint says, the outcome is a token that can
// be sent, or a problem that can be shown.
func FuzzTokenAnswer(f *testing.F) {
	for _, s := range []string{
		`{"access_token":"a","expires_in":"60"}`, `{"error":{"code":1}}`, `access_token=a&error=x`, `{"access_token":"\u0000"}`, `{"error":"a\nb","error_description":"\u009b"}`,
	} {
		f.Add(200, "application/json", []byte(s))
		f.Add(400, "application/x-www-form-urlencoded", []byte(s))
	}
	now := time.Unix(1e9, 0)
	c, err := New(Options{HTTP: &http.Client{}, Now: func() time.Time { return now }})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte) {
		tok, err := c.readToken("id.example", status, contentType, body)
		if err != nil {
			p := problem.As(err)
			if p == nil {
				t.Fatalf("%v is not a problem", err)
			}
			for _, r := range p.Detail {
				if r < ' ' || r == 0x7f {
					t.Fatalf("the detail %q holds a control character", p.Detail)
				}
			}
			return
		}
		if tok.Access.IsZero() || !visible(tok.Access.Reveal()) || len(tok.Access.Reveal()) > maxToken {
			t.Fatalf("the token %q cannot be sent", tok.Access.Reveal())
		}
		if !tok.Expires.IsZero() && (tok.Expires.Before(now) || tok.Expires.After(now.Add(maxLifetime))) {
			t.Fatalf("it expires %v", tok.Expires)
		}
	})
}
