package session

import (
	"net/http"
	"strings"
	"testing"
)

func TestAgentName(t *testing.T) {
	for in, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64)": "Mozilla/5.0 (X11; Linux x86_64)",
		"a\x1b[31m\xffb":                  "a\uFFFD[31m\uFFFDb",
		strings.Repeat("x", maxAgent):     strings.Repeat("x", maxAgent),
		strings.Repeat("x", maxAgent+1):   strings.Repeat("x", maxAgent),
		strings.Repeat("é", maxAgent):     strings.Repeat("é", maxAgent/2),
	} {
		if got := agentName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Whatever headers a request has, it is of the console only when a browser says so.
func FuzzSameOrigin(f *testing.F) {
	for _, seed := range [][3]string{{"GET", "same-origin", ""}, {"GET", "none", ""}, {"POST", "none", ""}, {"POST", "", "http://localhost:7301"}, {"POST", "", "null"}, {"GET", "", ""}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, site, origin string) {
		h := http.Header{}
		for name, v := range map[string]string{"Sec-Fetch-Site": site, "Origin": origin} {
			if v != "" {
				h.Set(name, v)
			}
		}
		const own = "http://localhost:7301"
		want := site == "same-origin" || site == "none" && (method == "GET" || method == "HEAD") || site == "" && origin == own
		if got := SameOrigin(method, h, own, ""); got != want {
			t.Errorf("%q %q %q: %v", method, site, origin, got)
		}
	})
}
