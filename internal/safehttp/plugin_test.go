package safehttp

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/safedial"
)

// TestPluginClient: redirects are handed back, cookies are not kept, and a header is bounded.
func TestPluginClient(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" {
			t.Error("a cookie was kept")
		}
		w.Header().Set("Set-Cookie", "a=b")
		if n, err := strconv.Atoi(r.URL.Query().Get("header")); err == nil {
			w.Header().Set("X-Long", strings.Repeat("x", n))
		}
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusFound)
		}
	}))
	defer s.Close()
	d, err := safedial.New(safedial.Options{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	c := NewPluginClient(d)
	f := func(path string, status int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		resp, err := c.Do(r)
		if err == nil {
			got = resp.StatusCode
			_ = resp.Body.Close()
		}
		if got != status {
			t.Errorf("%.40s: %d %v, want %d", path, got, err, status)
		}
	}
	f("/", 200)
	f("/moved", 302)
	f("/?header="+strconv.Itoa(maxPluginHeader-1024), 200)
	f("/?header="+strconv.Itoa(maxPluginHeader+1), 0)
	// Private addresses need the operator's word.
	if d, err = safedial.New(safedial.Options{}); err != nil {
		t.Fatal(err)
	}
	c = NewPluginClient(d)
	f("/", 0)
}
