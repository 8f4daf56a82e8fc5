package oidc

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/sluicegate/sluice/internal/secrets"
)

// TestSaid: what a provider repeats of a login is not shown to who began it, nor in the log; what it
// says of the reason is.
func TestSaid(t *testing.T) {
	const secret, verifier = "correct-horse battery", "pQ-ig0u0Ed0daYPsG33dWfZYpHZeHiheEUWMeQWm980"
	m, err := New(Options{Config: Config{Issuer: "https://id.example", ClientID: "console", ClientSecret: secrets.New(secret)}})
	if err != nil {
		t.Fatal(err)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("console:" + secret))
	for _, repeated := range []string{
		"client_secret=" + secret, "client_secret=" + url.QueryEscape(secret), "it was " + secret, "Authorization: Basic " + basic, "code_verifier=" + verifier,
		`{"client_secret":"` + secret + `"}`,
	} {
		refused := &oauth2.RetrieveError{
			Response: &http.Response{Status: "400 Bad Request", Body: http.NoBody}, Body: []byte(repeated), ErrorCode: "invalid_client", ErrorDescription: "the client is unknown: " + repeated,
		}
		for _, err := range []error{refused, fmt.Errorf("oauth2: cannot fetch token: %w", refused), errors.New("failed to decode keys: invalid_client 400 " + repeated)} {
			said := m.said(err)
			for _, part := range []string{secret, url.QueryEscape(secret), "battery", basic[:12], verifier[:12]} {
				if strings.Contains(said, part) {
					t.Errorf("%v: %s", err, said)
				}
			}
			if !strings.Contains(said, "invalid_client") || !strings.Contains(said, "400") {
				t.Errorf("the reason is missing: %s", said)
			}
		}
	}
	for n, ok := range map[int]bool{maxSaid: true, maxSaid + 1: false} {
		text := strings.Repeat("so ", n/3+1)[:n]
		if said := m.said(errors.New(text)); (strings.TrimSpace(said) == strings.TrimSpace(text)) != ok || len(said) > maxSaid+len("…") {
			t.Errorf("%d bytes: %d, %q", n, len(said), said)
		}
	}
	if said := m.said(errors.New("oidc: failed to verify id token signature")); said != "oidc: failed to verify id token signature" {
		t.Errorf("%q", said)
	}
}
