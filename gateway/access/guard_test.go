package access

import (
	"net"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestGuard(t *testing.T) {
	loop, err := NewGuard(Options{Loopback: true, Hosts: []string{"Gw.Example"}, Origins: []string{"https://app.example"}})
	if err != nil {
		t.Fatal(err)
	}
	public, err := NewGuard(Options{Origins: []string{"https://app.example"}})
	if err != nil {
		t.Fatal(err)
	}
	named, err := NewGuard(Options{Hosts: []string{"gw.example"}})
	if err != nil {
		t.Fatal(err)
	}
	host := func(g *Guard, h string, want bool) {
		t.Helper()
		if got := g.Host([]byte(h)); got != want {
			t.Fatalf("Host(%q) = %v, want %v", h, got, want)
		}
	}
	for _, h := range []string{"localhost:7300", "LOCALHOST", "127.0.0.1:7300", "127.1.2.3", "[::1]:7300", "app.localhost:1", "localhost.", "gw.example:7300", "GW.example"} {
		host(loop, h, true)
	}
	for _, h := range []string{"", "evil.example", "evil.example:7300", "notlocalhost", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "[fe80::1]", "10.0.0.1", "0.0.0.0"} {
		host(loop, h, false)
	}
	host(public, "anything.example", true)
	host(named, "gw.example", true)
	host(named, "localhost", false)

	origin := func(g *Guard, o string, want bool) {
		t.Helper()
		if got := g.Origin([]byte(o)); got != want {
			t.Fatalf("Origin(%q) = %v, want %v", o, got, want)
		}
	}
	for _, o := range []string{"", "http://localhost:3000", "https://127.0.0.1", "http://[::1]:80", "https://app.example", "HTTPS://APP.example"} {
		origin(loop, o, true)
	}
	for _, o := range []string{"null", "http://evil.example", "http://localhost.evil.example", "http://localhost:1@evil.example", "http://evil.example/localhost", "file://localhost", "https://app.example.evil"} {
		origin(loop, o, false)
	}
	origin(public, "", true)
	origin(public, "https://app.example", true)
	origin(public, "http://localhost:3000", false)
	for _, bad := range []string{"app.example", "https://app.example/x", "https://u@app.example", "https://app.example?x"} {
		if _, err := NewGuard(Options{Origins: []string{bad}}); !problem.Is(err, problem.InvalidArgument) {
			t.Fatalf("origin %q: %v", bad, err)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for ip, want := range map[string]bool{"127.0.0.1": true, "::1": true, "0.0.0.0": false, "::": false, "192.0.2.1": false} {
		if got := IsLoopback(&net.TCPAddr{IP: net.ParseIP(ip)}); got != want {
			t.Errorf("IsLoopback(%s) = %v", ip, got)
		}
	}
}
