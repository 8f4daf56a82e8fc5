package cluster

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// FuzzPass: a member signs one header for a request, and no other one passes.
func FuzzPass(f *testing.F) {
	key, now := []byte("0123456789abcdef0123456789abcdef"), time.Unix(1_700_000_000, 0)
	p := &pass{number: 7, at: now, client: netip.MustParseAddr("203.0.113.9"), https: true, member: "one"}
	signed := p.sign(key, http.MethodGet, "control.example", "/v1/toolsets?a=b")
	f.Add(signed)
	f.Add(p.sign([]byte("another key"), http.MethodGet, "control.example", "/v1/toolsets?a=b"))
	f.Add(p.sign(key, http.MethodPost, "control.example", "/v1/toolsets?a=b"))
	f.Add("1 7 1700000000 203.0.113.9 https one ")
	f.Add(signed + "=")
	f.Add("1  1700000000 ::1%25eth0 http a b")
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Method: http.MethodGet, Host: "control.example", RequestURI: "/v1/toolsets?a=b", Header: http.Header{passHeader: {header}}}
		got, err := read(r, key, 7, now)
		switch {
		case header == signed && (err != nil || got.member != "one" || got.client != p.client):
			t.Fatal(got, err)
		case header != signed && (got != nil || !problem.Is(err, problem.Forbidden) && !problem.Is(err, problem.Unavailable)):
			t.Fatalf("%q passes: %+v, %v", header, got, err)
		}
	})
}
