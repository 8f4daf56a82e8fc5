package external

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestMaxRedirects: so many redirects are followed, and no more.
func TestMaxRedirects(t *testing.T) {
	for n, ok := range map[int]bool{maxRedirects: true, maxRedirects + 1: false} {
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked <= n {
				http.Redirect(w, r, fmt.Sprint("/", asked), http.StatusTemporaryRedirect)
			}
		}))
		c := http.Client{CheckRedirect: checkRedirect}
		resp, err := c.Get(s.URL)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "redirects more than") {
			t.Errorf("%d redirects: %v", n, err)
		}
		s.Close()
	}
}
