package registry_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

func TestOriginOf(t *testing.T) {
	for in, want := range map[string]string{
		"https://api.example.com":            "https://api.example.com",
		"https://API.Example.com:443/v1?x#y": "https://api.example.com",
		"HTTPS://api.example.com/":           "https://api.example.com",
		"https://api.example.com:":           "https://api.example.com",
		"https://api.example.com:80/":        "https://api.example.com:80",
		"http://api.example.com:80/":         "http://api.example.com",
		"http://api.example.com:443":         "http://api.example.com:443",
		"http://127.0.0.1:8080/a":            "http://127.0.0.1:8080",
		"http://[::1]:80/":                   "http://[::1]",
		"https://[2001:DB8::1]:8443":         "https://[2001:db8::1]:8443",
		"https://api.example.com./":          "https://api.example.com.", // another name: it is not one with the first
		"https://user:pw@api.example.com":    "https://api.example.com",
		"ftp://api.example.com":              "",
		"//api.example.com":                  "",
		"https://":                           "",
		"https://:443":                       "",
		"https://{host}/v1":                  "",
		"https://a b/":                       "",
		"api.example.com":                    "",
		"":                                   "",
	} {
		got, err := registry.OriginOf(in)
		if got != want || (err == nil) != (want != "") || err != nil && !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("the origin of %q is %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestOriginsAllow(t *testing.T) {
	o := registry.Origins{"https://api.example.com", "http://127.0.0.1:8080", "http://[::1]"}
	for in, want := range map[string]bool{
		"https api.example.com":          true,
		"https api.example.com:443":      true,
		"https api.example.com:8443":     false,
		"http api.example.com":           false,
		"http api.example.com:443":       false,
		"https api.example.com.evil.net": false,
		"https evil.net":                 false,
		"https xapi.example.com":         false,
		"https pi.example.com":           false,
		"https ":                         false,
		"http 127.0.0.1:8080":            true,
		"http 127.0.0.1":                 false,
		"http 127.0.0.1:80800":           false,
		"http [::1]":                     true,
		"http [::1]:80":                  true,
		"http [::1]:81":                  false,
		"https://api.example.com ":       false,
	} {
		scheme, host, _ := strings.Cut(in, " ")
		if got := o.Allow([]byte(scheme), []byte(host)); got != want {
			t.Errorf("%q is allowed: %t", in, got)
		}
	}
	for _, none := range []registry.Origins{nil, {}, {""}} {
		if none.Allow([]byte("https"), []byte("api.example.com")) || none.Allow(nil, nil) {
			t.Errorf("%q allows something", none)
		}
	}
	scheme, host := []byte("https"), []byte("api.example.com:443")
	if n := testing.AllocsPerRun(100, func() { o.Allow(scheme, host) }); n != 0 {
		t.Errorf("Allow makes %v allocations", n)
	}
}

func TestOriginsSets(t *testing.T) {
	o := registry.Origins{"https://a"}
	if got := o.With("https://c", "https://b", "https://a"); got.String() != "https://a, https://b, https://c" || len(o) != 1 {
		t.Errorf("union %v of %v", got, o)
	}
	if got := o.Missing(registry.Origins{"https://a", "https://b"}); got.String() != "https://b" {
		t.Errorf("missing %v", got)
	}
	if got := o.Missing(o); got != nil || got.String() != "no address" {
		t.Errorf("missing %v", got)
	}
}

// FuzzOriginOf: an origin is the origin of itself, and allows exactly the scheme and
// host that it names.
func FuzzOriginOf(f *testing.F) {
	for _, s := range []string{"https://api.example.com:443/v1", "http://[::1]:80", "http://a%2eb", "https://a@b:1/c", "http://A:", "https://\u212A.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := registry.OriginOf(s)
		if err != nil {
			return
		}
		again, err := registry.OriginOf(o)
		if err != nil || again != o {
			t.Fatalf("%q has the origin %q, that has %q, %v", s, o, again, err)
		}
		scheme, host, ok := strings.Cut(o, "://")
		if !ok || !(registry.Origins{o}).Allow([]byte(scheme), []byte(host)) {
			t.Fatalf("%q does not allow itself", o)
		}
		u, err := url.Parse(s)
		if err != nil || strings.ToLower(u.Scheme) != scheme || !strings.HasPrefix(strings.ToLower(u.Host), strings.TrimSuffix(host, ":")) {
			t.Fatalf("%q has the origin %q", s, o)
		}
	})
}
