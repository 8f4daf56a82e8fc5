package external

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/sluicegate/sluice/internal/problem"
)

// sentinel is a credential that must not arrive elsewhere.
const sentinel = "Basic dXNlcjpwYXNz"

// TestElsewhere: what a registry names gets credentials and contents only on the registry's own site,
// or where the operator has logged in.
func TestElsewhere(t *testing.T) {
	known := func(_ context.Context, host string) (auth.Credential, error) {
		if host == "tokens.known.example" {
			return auth.Credential{Username: "user", Password: "pass"}, nil
		}
		return auth.EmptyCredential, nil
	}
	for _, tt := range []struct {
		registry, to        string
		credential, content bool
		sent                bool
	}{
		{"https://registry.a.example", "https://registry.a.example/token", true, true, true},
		{"https://registry.a.example", "https://REGISTRY.a.example/token", true, true, true},
		{"https://registry.a.example", "https://registry.a.example:8443/token", true, false, true},
		{"https://registry.a.example", "https://auth.a.example/token", true, false, true},
		{"https://registry-1.docker.io", "https://auth.docker.io/token", true, true, true},
		{"https://registry.a.example", "https://tokens.known.example/token", true, true, true},
		{"https://registry.a.example", "https://blobs.store.example/x", false, false, true},
		{"https://registry.a.example", "https://thief.example/token", true, false, false},
		{"https://registry.a.example", "https://thief.example/token", false, true, false},
		{"https://registry.a.example", "https://a.example.thief.example/token", true, false, false},
		{"https://one.github.io", "https://two.github.io/token", true, false, false}, // a public suffix: two owners
		{"https://a.co.uk", "https://b.co.uk/token", true, false, false},
		{"https://10.0.0.1", "https://10.0.0.2/token", true, false, false},
		{"https://10.0.0.1:5000", "https://10.0.0.1:5001/token", true, false, true},
		{"https://registry.a.example", "https://169.254.169.254/token", true, false, false},
		{"https://registry", "https://tokens/token", true, false, false},
	} {
		asked := 0
		base := roundTripper(func(*http.Request) (*http.Response, error) {
			asked++
			return httptest.NewRecorder().Result(), nil
		})
		at, err := url.Parse(tt.registry)
		if err != nil {
			t.Fatal(err)
		}
		e, err := newElsewhere(*at, known, base)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, tt.to, http.NoBody)
		if tt.content {
			r = httptest.NewRequest(http.MethodPost, tt.to, strings.NewReader("password=pass"))
		}
		if tt.credential {
			r.Header.Set("Authorization", sentinel)
		}
		resp, err := e.RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (asked == 1) != tt.sent || tt.sent != (err == nil) {
			t.Errorf("%s to %s: %d requests, %v", tt.registry, tt.to, asked, err)
		}
		if p := problem.As(err); !tt.sent && (p == nil || p.Kind != problem.Forbidden || !strings.Contains(p.Remedy, "docker login") || strings.Contains(p.Error(), "pass")) {
			t.Errorf("%s to %s: %v", tt.registry, tt.to, err)
		}
	}
}

// TestElsewhereIsPublic: a registry at a public address leads to no private one; one of the
// operator's network may.
func TestElsewhereIsPublic(t *testing.T) {
	asked := 0
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer inside.Close()
	for registry, private := range map[string]bool{"https://1.1.1.1": false, "http://9.9.9.9:5000": false, "https://127.0.0.1:1": true, "https://10.0.0.1": true} {
		at, err := url.Parse(registry)
		if err != nil {
			t.Fatal(err)
		}
		e, err := newElsewhere(*at, nil, &http.Transport{DisableKeepAlives: true})
		if err != nil {
			t.Fatal(err)
		}
		asked = 0
		resp, err := (&http.Client{Transport: e}).Get(inside.URL)
		if err == nil {
			_ = resp.Body.Close()
		}
		if private && (asked != 1 || err != nil) || !private && (asked != 0 || !problem.Is(err, problem.BlockedAddress)) {
			t.Errorf("from %s: %d requests, %v", registry, asked, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestHangs: a registry that takes a request and says nothing ends it with an error that names it.
func TestHangs(t *testing.T) {
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hangs.Close)
	t.Cleanup(func() { close(release) })
	own := &http.Transport{ResponseHeaderTimeout: 50 * time.Millisecond}
	r, err := Open(Options{Reference: strings.TrimPrefix(hangs.URL, "http://"), PlainHTTP: true, Client: &http.Client{Transport: own}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.ResolveTag(t.Context(), "one/connectors/shop", "v1")
	if !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), r.Host()+" accepts connections and does not answer") {
		t.Errorf("%v", err)
	}
	if given := bounded(own); given != own {
		t.Errorf("the bound of the client is not kept: %v", given)
	}
	if made := bounded(&http.Transport{}).(*http.Transport); made.ResponseHeaderTimeout != answerTimeout {
		t.Errorf("a client without a bound waits %v", made.ResponseHeaderTimeout)
	}
}
