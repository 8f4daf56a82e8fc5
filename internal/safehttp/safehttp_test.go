package safehttp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// TestRedirects: five are followed and six are not, and none leaves the web; an error
// names the first address without its query.
func TestRedirects(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var left int
		switch n, _ := fmt.Sscanf(r.URL.Path, "/%d", &left); {
		case n == 0:
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case left > 0:
			http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusFound)
		}
	}))
	defer s.Close()
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	f := func(path, want string) {
		t.Helper()
		r, err := NewClient(d).Get(s.URL + path + "?key=secret")
		if err == nil {
			_ = r.Body.Close()
		}
		if want == "" {
			if err != nil || r.StatusCode != http.StatusOK {
				t.Errorf("%s: %v", path, err)
			}
			return
		}
		if p := problem.As(err); p == nil || !strings.Contains(p.Detail, want) || strings.Contains(p.Detail, "secret") {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	f("/0", "")
	f(fmt.Sprintf("/%d", maxRedirects), "")
	f(fmt.Sprintf("/%d", maxRedirects+1), "redirects more than 5 times")
	f("/file", "not a web address")
}

// TestGuarded: an address that is not public is refused, also behind a redirect.
func TestGuarded(t *testing.T) {
	d, err := safedial.New(safedial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewClient(d).Get("http://127.0.0.1:9/")
	if err == nil {
		_ = r.Body.Close()
	}
	if p := problem.As(err); p == nil || p.Kind != problem.BlockedAddress {
		t.Errorf("%v, want %s", err, problem.BlockedAddress)
	}
}

func TestRedact(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
	f("https://u:p@a.example/x?key=1#y", "https://a.example/x")
	f("https://a.example", "https://a.example")
	f(":", "the URL")
}
