package forwarded

import (
	"net/netip"
	"testing"
)

// FuzzOf: whatever the headers of a proxy say, the client is an address as it is compared
// elsewhere, and what stands left of one that is no proxy's changes nothing: a client writes it.
func FuzzOf(f *testing.F) {
	for _, s := range [][3]string{
		{"203.0.113.9", "", "https"},
		{"198.51.100.1, 203.0.113.9, 10.0.0.2", "for=203.0.113.9;proto=https", ""},
		{"[2001:db8::1]:443", `for="[2001:db8::1]:443";proto=http, for=_hidden`, "http, https"},
		{"unknown", `for="\"";x`, ","},
		{"::ffff:10.0.0.1", "for=10.0.0.1:99999", ""},
	} {
		f.Add(s[0], s[1], s[2])
	}
	p, err := Parse([]string{"10.0.0.0/8"})
	if err != nil {
		f.Fatal(err)
	}
	proxy := netip.MustParseAddr("10.0.0.1")
	of := func(list, elements, proto string) Origin {
		return p.Of(proxy, func(name string) []string {
			return map[string][]string{"X-Forwarded-For": {list}, "Forwarded": {elements}, "X-Forwarded-Proto": {proto}}[name]
		})
	}
	f.Fuzz(func(t *testing.T, list, elements, proto string) {
		o := of(list, elements, proto)
		if a := o.Client; !a.IsValid() || a.Is4In6() || a.Zone() != "" {
			t.Fatalf("the client is %v", a)
		}
		if !o.Proxied && o.Client != proxy {
			t.Fatalf("no proxy says so, and the client is %v", o.Client)
		}
		alone := of(list, "", "")
		if p.Has(alone.Client) || alone.Client == proxy {
			return
		}
		if forged := of("192.0.2.66, "+list, "", ""); forged != alone {
			t.Fatalf("%v, and with an address in front %v", alone, forged)
		}
	})
}
