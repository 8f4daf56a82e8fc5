package passkey

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestSiteOf(t *testing.T) {
	for base, want := range map[string]Site{
		"http://localhost:7301":           {"localhost", "http://localhost:7301"},
		"https://localhost:7301":          {"localhost", "https://localhost:7301"},
		"http://sluice.localhost":         {"sluice.localhost", "http://sluice.localhost"},
		"https://Sluice.example.com":      {"sluice.example.com", "https://Sluice.example.com"},
		"https://sluice.example.com:8443": {"sluice.example.com", "https://sluice.example.com:8443"},
		"http://127.0.0.1:7301":           {},
		"https://[::1]:7301":              {},
		"https://192.0.2.7":               {},
		"http://sluice.example.com":       {},
		"http://localhost.example.com":    {},
		"":                                {},
		"\x00":                            {},
	} {
		got, err := SiteOf(base)
		if got != want || (want == Site{}) != problem.Is(err, problem.Conflict) {
			t.Errorf("%q: %+v, %v", base, got, err)
		}
		if err == nil {
			if _, err := got.party(); err != nil {
				t.Errorf("%q: %v", base, err)
			}
		}
	}
}

// A challenge is good once, until it expires, for who asked for it, and there is room for new
// ones whoever asks for many.
func TestPending(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := pending{now: func() time.Time { return now }, all: map[string]waiting{}}
	put := func(who, challenge string) { p.put(who, &webauthn.SessionData{Challenge: challenge}) }
	take := func(who, want string) {
		t.Helper()
		if d, ok := p.take(who); ok != (want != "") || ok && d.Challenge != want {
			t.Errorf("%s: %+v %v, want %q", who, d, ok, want)
		}
	}
	put("a", "1")
	put("a", "2")
	take("b", "")
	take("a", "2")
	take("a", "")
	put("a", "3")
	now = now.Add(Life - 1)
	take("a", "3")
	put("a", "4")
	now = now.Add(Life)
	take("a", "")

	// At the limit, and one past it: the oldest goes, and what has expired before that.
	for i := range maxPending {
		put(fmt.Sprint(i), "x")
		now = now.Add(time.Microsecond)
	}
	put("0", "again") // no more than there were
	put("more", "y")
	if len(p.all) != maxPending {
		t.Errorf("%d wait", len(p.all))
	}
	take("0", "again")
	take("1", "")
	take("2", "x")
	take("more", "y")
	for i := range 3 {
		put(fmt.Sprint("full", i), "x")
	}
	now = now.Add(Life)
	put("new", "z")
	if len(p.all) != 1 {
		t.Errorf("%d wait after the others expired", len(p.all))
	}
	take("new", "z")
}

// Answers are read up to their bounds.
func TestBoundsOfAnswers(t *testing.T) {
	text := func(n int) string { return strings.Repeat("A", n) }
	fits := func(err error) bool { return err == nil || !strings.Contains(err.Error(), "base64url of at most") }
	for _, c := range []struct {
		most int
		set  func(a *Assertion, r *Registration, text string)
	}{
		{maxCredential, func(a *Assertion, r *Registration, text string) { a.ID, r.ID = text, text }},
		{maxClientData, func(a *Assertion, r *Registration, text string) { a.ClientDataJSON, r.ClientDataJSON = text, text }},
		{maxAnswer, func(a *Assertion, r *Registration, text string) {
			a.AuthenticatorData, r.AttestationObject = text, text
		}},
		{maxAnswer, func(a *Assertion, r *Registration, text string) { a.Signature, r.AttestationObject = text, text }},
		{maxHandle, func(a *Assertion, r *Registration, text string) {
			a.UserHandle, r.ID = text, strings.Repeat(text, 16)[:len(text)+maxCredential-maxHandle]
		}},
	} {
		// base64 of 4n+1 characters is none; the limits are multiples of four, or two more.
		for n, ok := range map[int]bool{c.most: true, c.most + 2 + c.most%4: false} {
			a, r := &Assertion{ID: "AA"}, &Registration{ID: "AA"}
			c.set(a, r, text(n))
			if _, err := a.parse(); fits(err) != ok {
				t.Errorf("%d of %d: %v", n, c.most, err)
			}
			if _, err := r.parse(); fits(err) != ok {
				t.Errorf("a new one, %d of %d: %v", n, c.most, err)
			}
		}
	}
	for _, broken := range []string{"!", "A", "AA==", "A A"} {
		if _, err := (&Assertion{ID: broken}).parse(); fits(err) {
			t.Errorf("%q: %v", broken, err)
		}
	}
}
