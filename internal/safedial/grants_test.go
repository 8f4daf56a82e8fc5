package safedial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

func at(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// listener accepts connections and holds them open; it returns "127.0.0.1:port".
func listener(t *testing.T) netip.AddrPort {
	t.Helper()
	srv := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	return at(srv.Listener.Addr().String())
}

func dialer(t *testing.T, o Options) *Dialer {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestGrantIsOfOneHolderAndOneAddress: neither another holder, nor no holder, nor
// another port, nor a name that has another address is helped by a grant.
func TestGrantIsOfOneHolderAndOneAddress(t *testing.T) {
	up := listener(t)
	port := up.String()[strings.LastIndexByte(up.String(), ':')+1:]
	d := dialer(t, Options{Grantable: true, Resolver: names{"api.local": {"127.0.0.1"}, "moved.local": {"127.0.0.2"}, "mixed.local": {"93.184.216.34", "127.0.0.2"}}})
	if d.Scope("a") != nil {
		t.Fatal("a holder without grants has a scope")
	}
	if err := d.Grant("a", up); err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{up.String(), "api.local:" + port, "[::ffff:127.0.0.1]:" + port} {
		conn, err := d.Scope("a").DialTimeout(addr, 5*time.Second)
		if err != nil {
			t.Fatalf("dial %s with its grant: %v", addr, err)
		}
		_ = conn.Close()
		if conn, err = d.DialContext(WithHolder(t.Context(), "a"), "tcp", addr); err != nil {
			t.Fatalf("dial %s in a context with its grant: %v", addr, err)
		}
		_ = conn.Close()
		for name, ctx := range map[string]context.Context{"nobody": t.Context(), "another": WithHolder(t.Context(), "b")} {
			if err := d.Check(ctx, addr); !problem.Is(err, problem.BlockedAddress) {
				t.Errorf("%s reaches %s: %v", name, addr, err)
			} else if remedy := problem.As(err).Remedy; !strings.Contains(remedy, "sluice grant create TOOLSET "+up.String()) {
				t.Errorf("remedy %q", remedy)
			}
		}
		if _, err := d.Dial(addr); !problem.Is(err, problem.BlockedAddress) {
			t.Errorf("dial %s without a holder: %v", addr, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:1", "127.0.0.2:" + port, "moved.local:" + port, "mixed.local:" + port, "[::1]:" + port, "[64:ff9b::7f00:1]:" + port} {
		if err := d.Check(WithHolder(t.Context(), "a"), addr); !problem.Is(err, problem.BlockedAddress) {
			t.Errorf("the grant of %s reaches %s: %v", up, addr, err)
		}
	}
}

// TestRevokeEndsConnections: what a grant opened is closed, what is pooled under its
// scope is not found again, and what other grants opened stays.
func TestRevokeEndsConnections(t *testing.T) {
	one, two := listener(t), listener(t)
	d := dialer(t, Options{})
	for _, a := range []netip.AddrPort{one, two} {
		if err := d.Grant("a", a); err != nil {
			t.Fatal(err)
		}
	}
	before := d.Scope("a")
	gone, err := before.DialTimeout(one.String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	stays, err := before.DialTimeout(two.String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Close()
	d.Revoke("a", one)
	if _, err := gone.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection of a revoked grant: %v, want closed", err)
	}
	if _, err := io.WriteString(stays, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Errorf("the connection of another grant: %v", err)
	}
	if now := d.Scope("a"); now == nil || now == before {
		t.Error("the scope is the one before")
	}
	for name, s := range map[string]*Scope{"old": before, "new": d.Scope("a")} {
		if _, err := s.DialTimeout(one.String(), 5*time.Second); !problem.Is(err, problem.BlockedAddress) {
			t.Errorf("the %s scope dials what was revoked: %v", name, err)
		}
		conn, err := s.DialTimeout(two.String(), 5*time.Second)
		if err != nil {
			t.Errorf("the %s scope: %v", name, err)
			continue
		}
		_ = conn.Close()
	}
	d.RevokeAll("a")
	if _, err := io.ReadAll(stays); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after RevokeAll: %v, want closed", err)
	}
	if d.Scope("a") != nil {
		t.Error("a holder without grants has a scope")
	}
	d.Revoke("nobody", one)
}

// TestOwnListeners: a port of this node can be granted under no address of this
// machine, and a grant that was made before is not obeyed.
func TestOwnListeners(t *testing.T) {
	for _, listens := range []string{"127.0.0.1", "0.0.0.0", "::", "::1", "10.9.8.7"} {
		d := dialer(t, Options{
			Resolver: names{"me.local": {"10.9.8.7"}},
			Interfaces: func() ([]net.Addr, error) {
				return []net.Addr{&net.IPNet{IP: net.ParseIP("127.0.0.1")}, &net.IPNet{IP: net.ParseIP("10.9.8.7")}, &net.IPNet{IP: net.ParseIP("fd00::7")}}, nil
			},
		})
		d.Protect(&net.UnixAddr{Name: "/run/x"})
		if err := d.Grant("a", at("10.9.8.7:7301")); err != nil {
			t.Fatal(err)
		}
		d.Protect(&net.TCPAddr{IP: net.ParseIP(listens), Port: 7301})
		if err := d.Check(WithHolder(t.Context(), "a"), "me.local:7301"); !problem.Is(err, problem.BlockedAddress) || !strings.Contains(err.Error(), "listener of this node") {
			t.Errorf("listening on %s: a grant of before reaches the node: %v", listens, err)
		}
		for _, a := range []string{
			"127.0.0.1:7301", "127.0.0.2:7301", "127.255.255.254:7301", "[::1]:7301", "0.0.0.0:7301", "[::]:7301", "[::ffff:127.0.0.1]:7301",
			"10.9.8.7:7301", "[fd00::7]:7301", "[fd00::7%eth0]:7301", "[64:ff9b::7f00:1]:7301", "[2002:a09:807::1]:7301",
		} {
			if err := d.Grant("a", at(a)); !problem.Is(err, problem.BlockedAddress) || !strings.Contains(err.Error(), "listener of this node") {
				t.Errorf("listening on %s: Grant(%s) = %v, want blocked", listens, a, err)
			}
			if _, err := d.Seen(t.Context(), a); !problem.Is(err, problem.BlockedAddress) {
				t.Errorf("listening on %s: Seen(%s) = %v, want blocked", listens, a, err)
			}
		}
		for _, a := range []string{"127.0.0.1:7302", "10.9.8.6:7301", "[fd00::8]:7301"} {
			if err := d.Grant("a", at(a)); err != nil {
				t.Errorf("listening on %s: Grant(%s) = %v", listens, a, err)
			}
		}
	}
	d := dialer(t, Options{Interfaces: func() ([]net.Addr, error) { return nil, errors.New("no") }})
	d.Protect(&net.TCPAddr{Port: 7301})
	if err := d.Grant("a", at("10.9.8.6:7301")); !problem.Is(err, problem.BlockedAddress) {
		t.Errorf("without the list of interfaces: %v, want blocked", err)
	}
}

// TestForbiddenListeners: a node that may call private addresses, all of them or its own
// network, does not call the listeners that are for its operator; others of its own it does.
func TestForbiddenListeners(t *testing.T) {
	interfaces := func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("127.0.0.1")}, &net.IPNet{IP: net.ParseIP("10.9.8.7")}, &net.IPNet{IP: net.ParseIP("198.51.99.7")}}, nil
	}
	private := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("0.0.0.0/32")}
	for name, o := range map[string]Options{"all": {AllowPrivate: true}, "networks": {Allow: private}} {
		o.Interfaces, o.Resolver = interfaces, names{"me.local": {"10.9.8.7"}}
		d := dialer(t, o)
		d.Forbid(&net.UnixAddr{Name: "/run/x"})
		d.Forbid(&net.TCPAddr{IP: net.ParseIP("127.0.0.1"), Port: 7301})
		d.Protect(&net.TCPAddr{IP: net.ParseIP("127.0.0.1"), Port: 7300})
		for _, a := range []string{"127.0.0.1:7301", "127.0.0.2:7301", "[::1]:7301", "0.0.0.0:7301", "[::ffff:127.0.0.1]:7301", "10.9.8.7:7301", "me.local:7301", "198.51.99.7:7301"} {
			if err := d.Check(t.Context(), a); !problem.Is(err, problem.BlockedAddress) || !strings.Contains(err.Error(), "listener of this node") {
				t.Errorf("%s allowed: %s: %v", name, a, err)
			}
		}
		for _, a := range []string{"127.0.0.1:7300", "127.0.0.1:7302", "10.9.8.6:7301", "198.51.99.8:7301"} {
			if err := d.Check(t.Context(), a); err != nil {
				t.Errorf("%s allowed: %s: %v", name, a, err)
			}
		}
	}
}

// TestDialTimeoutNone: no timeout is the Dialer's own, not one that is over.
func TestDialTimeoutNone(t *testing.T) {
	up := httptest.NewServer(http.NotFoundHandler())
	defer up.Close()
	d := dialer(t, Options{AllowPrivate: true})
	for _, timeout := range []time.Duration{0, -1} {
		conn, err := d.DialTimeout(up.Listener.Addr().String(), timeout)
		if err != nil {
			t.Fatalf("timeout %s: %v", timeout, err)
		}
		_ = conn.Close()
	}
}

// TestOwnInterfaces: a Dialer that is told nothing knows the addresses of its machine.
func TestOwnInterfaces(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	d := dialer(t, Options{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}})
	d.Protect(&net.TCPAddr{Port: 7301})
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.To4() == nil {
			continue
		}
		if err := d.Grant("a", at(n.IP.String()+":7301")); !problem.Is(err, problem.BlockedAddress) {
			t.Errorf("Grant(%s) = %v, want blocked", n.IP, err)
		}
	}
	if err := d.Grant("a", at("10.9.8.6:7301")); err != nil && slices.IndexFunc(addrs, func(a net.Addr) bool { return strings.HasPrefix(a.String(), "10.9.8.6/") }) < 0 {
		t.Errorf("of another machine: %v", err)
	}
}

// TestNotGrantable: what is not an address of a single machine.
func TestNotGrantable(t *testing.T) {
	d := dialer(t, Options{})
	for _, a := range []string{"0.0.0.0:80", "[::]:80", "224.0.0.1:80", "[ff02::1]:80", "[fe80::1%eth0]:80", "[fd00::1%eth0]:80", "[64:ff9b::a00:1]:80", "[2002:a00:1::1]:80"} {
		if err := d.Grant("a", at(a)); !problem.Is(err, problem.BlockedAddress) {
			t.Errorf("Grant(%s) = %v, want blocked", a, err)
		}
	}
	for _, a := range []netip.AddrPort{{}, at("10.0.0.1:0")} {
		if err := d.Grant("a", a); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("Grant(%s) = %v, want an invalid argument", a, err)
		}
	}
	if d.Scope("a") != nil {
		t.Error("a refused grant left a scope")
	}
}

func TestSeen(t *testing.T) {
	d := dialer(t, Options{
		Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
		Resolver: names{
			"both.local": {"127.0.0.1", "::1", "127.0.0.1"}, "public.example": {"93.184.216.34"}, "allowed.local": {"10.1.2.3"},
			"mixed.example": {"93.184.216.34", "10.0.0.1"}, "mixed2.example": {"10.0.0.1", "10.1.2.3"},
		},
	})
	f := func(ctx context.Context, addr string, want ...string) {
		t.Helper()
		got, err := d.Seen(ctx, addr)
		var text []string
		for _, a := range got {
			text = append(text, a.String())
		}
		if err != nil || !slices.Equal(text, want) {
			t.Fatalf("Seen(%s) = %v, %v; want %v", addr, text, err, want)
		}
	}
	ctx := t.Context()
	f(ctx, "both.local:80", "127.0.0.1:80", "[::1]:80")
	f(ctx, "10.0.0.1:80", "10.0.0.1:80")
	f(ctx, "public.example:80")
	f(ctx, "allowed.local:80")
	if err := d.Grant("a", at("127.0.0.1:80")); err != nil {
		t.Fatal(err)
	}
	f(WithHolder(ctx, "a"), "both.local:80", "[::1]:80")
	f(WithAddresses(WithHolder(ctx, "a"), []netip.AddrPort{at("[::1]:80")}), "both.local:80")
	f(WithHolder(WithAddresses(ctx, []netip.AddrPort{at("[::1]:80")}), "a"), "both.local:80")
	for _, addr := range []string{"mixed.example:80", "mixed2.example:80"} {
		if got, err := d.Seen(ctx, addr); !problem.Is(err, problem.BlockedAddress) || !strings.Contains(err.Error(), "rebinding") {
			t.Errorf("Seen(%s) = %v, %v; want blocked", addr, got, err)
		}
		// Nor does a grant of the address make the name one that is granted by itself.
		if err := d.Check(WithHolder(ctx, "a"), addr); !problem.Is(err, problem.BlockedAddress) {
			t.Errorf("Check(%s) = %v", addr, err)
		}
	}
	if _, err := d.Seen(ctx, "absent.local:80"); !problem.Is(err, problem.Unreachable) {
		t.Errorf("Seen of a name that does not resolve: %v", err)
	}
}

// TestAddressesOfAContextLeaveNothing: they serve that context and nothing else.
func TestAddressesOfAContextLeaveNothing(t *testing.T) {
	up := listener(t)
	d := dialer(t, Options{})
	ctx := WithAddresses(t.Context(), []netip.AddrPort{up})
	conn, err := d.DialContext(ctx, "tcp", up.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if conn, err = d.ScopeOf(ctx).DialTimeout(up.String(), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for _, other := range []context.Context{t.Context(), WithHolder(t.Context(), "a")} {
		if err := d.Check(other, up.String()); !problem.Is(err, problem.BlockedAddress) {
			t.Errorf("another context: %v", err)
		}
	}
}

// TestGrantsHammer is for the race detector: grants, revocations and dials at once,
// and at the end nothing is open.
func TestGrantsHammer(t *testing.T) {
	up := listener(t)
	d := dialer(t, Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if err := d.Grant("a", up); err != nil {
					t.Error(err)
				}
				if s := d.Scope("a"); s != nil {
					if conn, err := s.DialTimeout(up.String(), 5*time.Second); err == nil {
						_ = conn.Close()
					} else if !problem.Is(err, problem.BlockedAddress) {
						t.Error(err)
					}
				}
				d.Revoke("a", up)
			}
		})
	}
	wg.Wait()
	if d.Scope("a") != nil {
		t.Error("a scope is left")
	}
}

// TestNothingIsLeftOfAHolder: a holder without grants takes no memory, and a context
// without any has no scope, so that it shares the connections of all.
func TestNothingIsLeftOfAHolder(t *testing.T) {
	d := dialer(t, Options{Grantable: true})
	for i := range 3 {
		holder := fmt.Sprint("holder ", i)
		if err := d.Grant(holder, at("127.0.0.1:80")); err != nil {
			t.Fatal(err)
		}
		if one := d.ScopeOf(WithHolder(t.Context(), holder)); one == nil || one != d.Scope(holder) {
			t.Errorf("the scope of a context is another than that of its holder: %p, %p", one, d.Scope(holder))
		}
		d.Revoke(holder, at("127.0.0.1:80"))
		if n := len(*d.grants.scopes.Load()); n != 0 {
			t.Errorf("%d holders are kept, want none", n)
		}
	}
	if s := d.ScopeOf(t.Context()); s != nil {
		t.Errorf("a context without grants has the scope %p", s)
	}
}
