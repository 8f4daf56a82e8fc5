package forwarded

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// TestOf: the client is the right-most address that is not a proxy's, and headers are
// believed from proxies only.
func TestOf(t *testing.T) {
	p, err := Parse([]string{"10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48", " ::ffff:172.16.0.0/108 "})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		peer    string
		headers []string
		client  string
		https   bool
		proxied bool
	}{
		"no header":                          {"10.0.0.1", nil, "10.0.0.1", false, false},
		"one":                                {"10.0.0.1", []string{"X-Forwarded-For: 198.51.100.9", "X-Forwarded-Proto: https"}, "198.51.100.9", true, true},
		"of an untrusted peer":               {"203.0.113.5", []string{"X-Forwarded-For: 198.51.100.9", "X-Forwarded-Proto: https", "Forwarded: for=198.51.100.9;proto=https"}, "203.0.113.5", false, false},
		"the client wrote the left":          {"10.0.0.1", []string{"X-Forwarded-For: 1.1.1.1, 198.51.100.9"}, "198.51.100.9", false, true},
		"several proxies":                    {"10.0.0.1", []string{"X-Forwarded-For: 1.1.1.1, 198.51.100.9, 10.2.3.4, 192.0.2.7"}, "198.51.100.9", false, true},
		"several lines":                      {"10.0.0.1", []string{"X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 198.51.100.9", "X-Forwarded-For: 10.2.3.4"}, "198.51.100.9", false, true},
		"all are proxies":                    {"10.0.0.1", []string{"X-Forwarded-For: 10.5.5.5, 10.2.3.4"}, "10.5.5.5", false, true},
		"with a port":                        {"10.0.0.1", []string{"X-Forwarded-For: 198.51.100.9:4711"}, "198.51.100.9", false, true},
		"IPv6":                               {"2001:db8:1::9", []string{"X-Forwarded-For: 2001:db8:2::1"}, "2001:db8:2::1", false, true},
		"IPv6 with a port":                   {"10.0.0.1", []string{"X-Forwarded-For: [2001:db8:2::1]:443"}, "2001:db8:2::1", false, true},
		"mapped":                             {"::ffff:10.0.0.1", []string{"X-Forwarded-For: ::ffff:198.51.100.9"}, "198.51.100.9", false, true},
		"a mapped network":                   {"172.16.0.1", []string{"X-Forwarded-For: 198.51.100.9"}, "198.51.100.9", false, true},
		"unknown":                            {"10.0.0.1", []string{"X-Forwarded-For: 1.1.1.1, unknown"}, "10.0.0.1", false, true},
		"unknown behind a proxy":             {"10.0.0.1", []string{"X-Forwarded-For: 1.1.1.1, evil, 10.2.3.4"}, "10.2.3.4", false, true},
		"empty members":                      {"10.0.0.1", []string{"X-Forwarded-For: , 198.51.100.9 ,,"}, "198.51.100.9", false, true},
		"Forwarded":                          {"10.0.0.1", []string{`Forwarded: for=1.1.1.1, For="198.51.100.9:80";Proto=HTTPS;by=10.0.0.1`}, "198.51.100.9", true, true},
		"Forwarded, IPv6":                    {"10.0.0.1", []string{`Forwarded: for="[2001:db8:2::1]:4711";proto=http`}, "2001:db8:2::1", false, true},
		"Forwarded, a comma in quotes":       {"10.0.0.1", []string{`Forwarded: for="1.1.1.1, for=2.2.2.2"`}, "10.0.0.1", false, true},
		"Forwarded, hidden":                  {"10.0.0.1", []string{`Forwarded: for=1.1.1.1, for=_hidden`}, "10.0.0.1", false, true},
		"Forwarded without for":              {"10.0.0.1", []string{`Forwarded: for=1.1.1.1, proto=https`}, "10.0.0.1", true, true},
		"both agree":                         {"10.0.0.1", []string{"X-Forwarded-For: 198.51.100.9", "Forwarded: for=198.51.100.9"}, "198.51.100.9", false, true},
		"the client's Forwarded passed on":   {"10.0.0.1", []string{"X-Forwarded-For: 198.51.100.9", "Forwarded: for=1.1.1.1"}, "10.0.0.1", false, true},
		"the protocol the nearest proxy saw": {"10.0.0.1", []string{"X-Forwarded-Proto: https, http"}, "10.0.0.1", false, false},
		"a proxy that says no client":        {"10.0.0.1", []string{"X-Forwarded-Proto: https"}, "10.0.0.1", true, false},
	} {
		h := http.Header{}
		for _, line := range c.headers {
			k, v, _ := strings.Cut(line, ": ")
			h.Add(k, v)
		}
		got := p.Of(netip.MustParseAddr(c.peer), h.Values)
		if got.Client.String() != c.client || got.HTTPS != c.https || got.Proxied != c.proxied {
			t.Errorf("%s: %+v, want %s, https %v, proxied %v", name, got, c.client, c.https, c.proxied)
		}
	}
}

// TestHops: addresses further away than maxHops are not looked at.
func TestHops(t *testing.T) {
	p, err := Parse([]string{private})
	if err != nil {
		t.Fatal(err)
	}
	of := func(proxies int) string {
		h := http.Header{"X-Forwarded-For": {"198.51.100.9" + strings.Repeat(", 10.0.0.2", proxies)}}
		return p.Of(netip.MustParseAddr("10.0.0.1"), h.Values).Client.String()
	}
	if got := of(maxHops - 1); got != "198.51.100.9" {
		t.Errorf("at the limit: %s", got)
	}
	if got := of(maxHops); got != "10.0.0.2" {
		t.Errorf("past it: %s", got)
	}
}

// TestParse: what is not a network is refused, and so are more than maxProxies.
func TestParse(t *testing.T) {
	for _, bad := range []string{"", "x", "10.0.0.0/33", "fe80::1%eth0", "example.com", "10.0.0.0/8/8", "0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96"} {
		if _, err := Parse([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	many := make([]string, maxProxies)
	for i := range many {
		many[i] = "10.0.0.1"
	}
	if _, err := Parse(many); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := Parse(slices.Concat(many, many[:1])); err == nil {
		t.Error("one past the limit is taken")
	}
	if p, err := Parse(nil); err != nil || !p.Empty() || p.Has(netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("an empty list: %v %v", p, err)
	}
	p, err := Parse([]string{private})
	if err != nil {
		t.Fatal(err)
	}
	for a, want := range map[string]bool{"127.0.0.1": true, "10.1.1.1": true, "172.31.0.1": true, "172.32.0.1": false, "192.168.1.1": true, "fd00::1": true, "::1": true, "8.8.8.8": false, "2001:db8::1": false} {
		if p.Has(netip.MustParseAddr(a)) != want {
			t.Errorf("%s: want %v", a, want)
		}
	}
}
