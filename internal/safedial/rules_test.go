package safedial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// answer is a resolver with one answer for all names.
type answer struct {
	addrs []netip.Addr
	err   error
}

func (a answer) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return a.addrs, a.err
}

// TestWhatCannotBeResolved: each of Check, Seen and Dial says for itself what is wrong
// with an address, and none takes an address without any for one that is permitted.
func TestWhatCannotBeResolved(t *testing.T) {
	slow := fmt.Errorf("lookup: %w", context.DeadlineExceeded)
	public := answer{addrs: []netip.Addr{netip.MustParseAddr("93.184.216.34")}}
	for _, c := range []struct {
		addr string
		by   answer
		kind problem.Kind
		says string
	}{
		{"no-port", public, problem.Unreachable, "is not a host and a port"},
		{"a.example:", public, problem.Unreachable, "has no valid port"},
		{"a.example:0", public, problem.Unreachable, "has no valid port"},
		{"93.184.216.34:0", public, problem.Unreachable, "has no valid port"},
		{"a.example:65536", public, problem.Unreachable, "has no valid port"},
		{"a.example:-1", public, problem.Unreachable, "has no valid port"},
		{"a.example:http", public, problem.Unreachable, "has no valid port"},
		{"a.example:80", answer{}, problem.Unreachable, "does not resolve"},
		{"a.example:80", answer{err: errors.New("refused")}, problem.Unreachable, "does not resolve"},
		{"a.example:80", answer{err: slow}, problem.Timeout, "could not be resolved in time"},
		{"a.example:80", answer{addrs: public.addrs, err: slow}, problem.Timeout, "could not be resolved in time"},
		{"a.example:80", answer{err: &net.DNSError{IsTimeout: true}}, problem.Timeout, "could not be resolved in time"},
	} {
		d := dialer(t, Options{Resolver: c.by})
		_, seen := d.Seen(t.Context(), c.addr)
		_, dialed := d.Dial(c.addr)
		for what, err := range map[string]error{"Check": d.Check(t.Context(), c.addr), "Seen": seen, "Dial": dialed} {
			if !problem.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%s(%s) with %+v = %v, want %s: %s", what, c.addr, c.by, err, c.kind, c.says)
			}
		}
	}
	for port, want := range map[string]bool{"1": true, "65535": true} {
		if err := dialer(t, Options{Resolver: public}).Check(t.Context(), "a.example:"+port); (err == nil) != want {
			t.Errorf("port %s: %v", port, err)
		}
	}
}

// TestDefaultResolver: a Dialer that is told nothing asks the machine.
func TestDefaultResolver(t *testing.T) {
	d := dialer(t, Options{})
	if d.resolver != net.DefaultResolver || d.timeout != DefaultTimeout {
		t.Errorf("resolver %v, timeout %s", d.resolver, d.timeout)
	}
}

// TestZonesAreNotPublic: an address with a zone names an interface of this machine,
// however public it looks.
func TestZonesAreNotPublic(t *testing.T) {
	for _, a := range []string{"2606:4700:4700::1111%eth0", "fd00::1%1"} {
		if got := Blocked(netip.MustParseAddr(a)); got != "an address with a zone" {
			t.Errorf("Blocked(%s) = %q", a, got)
		}
	}
}

// TestGrantsOfSeveralHolders: what one holder is granted or loses changes nothing for
// another.
func TestGrantsOfSeveralHolders(t *testing.T) {
	d := dialer(t, Options{})
	one, two := at("127.0.0.1:80"), at("127.0.0.1:81")
	for holder, a := range map[string]netip.AddrPort{"a": one, "b": two, "c": one} {
		if err := d.Grant(holder, a); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want map[string]string) {
		t.Helper()
		for _, holder := range []string{"", "a", "b", "c"} {
			got := ""
			for _, a := range []netip.AddrPort{one, two} {
				if d.Scope(holder).has(a) {
					got += fmt.Sprint(a.Port())
				}
			}
			if got != want[holder] {
				t.Errorf("%q may dial %q, want %q", holder, got, want[holder])
			}
		}
	}
	check(map[string]string{"a": "80", "b": "81", "c": "80"})
	d.Revoke("a", two) // not granted
	d.Revoke("b", one)
	check(map[string]string{"a": "80", "b": "81", "c": "80"})
	d.Revoke("a", one)
	check(map[string]string{"b": "81", "c": "80"})
	d.RevokeAll("c")
	check(map[string]string{"b": "81"})
}

// TestWhoseConnectionsEnd: a revoked grant ends the connections that needed it. Those
// that were permitted without it stay, and none is remembered after it was closed.
func TestWhoseConnectionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		ends bool
	}{
		"needed":          {Options{}, true},
		"private allowed": {Options{AllowPrivate: true}, false},
		"network allowed": {Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, false},
	} {
		up, d := listener(t), dialer(t, c.o)
		if err := d.Grant("a", up); err != nil {
			t.Fatal(err)
		}
		s := d.Scope("a")
		held, err := s.DialTimeout(up.String(), 0)
		if err != nil {
			t.Fatal(err)
		}
		short, err := s.DialTimeout(up.String(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		_ = short.Close()
		if n := len(s.set.conns); n != map[bool]int{true: 1}[c.ends] {
			t.Errorf("%s: %d connections are remembered", name, n)
		}
		d.RevokeAll("a")
		if err := held.SetDeadline(time.Time{}); (err != nil) != c.ends {
			t.Errorf("%s: the connection of before: %v", name, err)
		}
		_ = held.Close()
	}
}

// TestAddressesOfAContextBesideGrants: they reach what they name for a holder of other
// grants too, and end with the context, not with a grant.
func TestAddressesOfAContextBesideGrants(t *testing.T) {
	up, d := listener(t), dialer(t, Options{})
	if err := d.Grant("a", at("127.0.0.1:1")); err != nil {
		t.Fatal(err)
	}
	conn, err := d.DialContext(WithAddresses(WithHolder(t.Context(), "a"), []netip.AddrPort{up}), "tcp", up.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	d.RevokeAll("a")
	if err := conn.SetDeadline(time.Time{}); err != nil {
		t.Errorf("the connection of the context: %v", err)
	}
}

// TestRevokedWhileDialed: a connection whose grant is gone when it is made is not used,
// and does not stay open.
func TestRevokedWhileDialed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	up, d := at(ln.Addr().String()), dialer(t, Options{})
	if err := d.Grant("a", up); err != nil {
		t.Fatal(err)
	}
	d.net.ControlContext = func(context.Context, string, string, syscall.RawConn) error {
		d.RevokeAll("a")
		return nil
	}
	if conn, err := d.Scope("a").DialTimeout(up.String(), time.Minute); !problem.Is(err, problem.BlockedAddress) {
		t.Errorf("%v, %v; want it blocked", conn, err)
	}
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	_ = peer.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := peer.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is still open: %v", err)
	}
}

// TestDeadlineOfScope: a shorter time than the Dialer's own holds, and what one address
// had is over when the next is tried.
func TestDeadlineOfScope(t *testing.T) {
	d := dialer(t, Options{Timeout: time.Hour, Resolver: names{"two.example": {"127.0.0.1", "127.0.0.2"}}})
	for _, a := range []string{"127.0.0.1:80", "127.0.0.2:80"} {
		if err := d.Grant("a", at(a)); err != nil {
			t.Fatal(err)
		}
	}
	var seen []context.Context
	var over []bool // before this one is tried, of the one before
	d.net.ControlContext = func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
		if len(seen) > 0 {
			over = append(over, seen[len(seen)-1].Err() != nil)
		}
		seen = append(seen, ctx)
		return errors.New("refused by the test")
	}
	for timeout, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, 0: time.Hour, 2 * time.Hour: time.Hour} {
		seen, over = nil, nil
		start := time.Now()
		if _, err := d.Scope("a").DialTimeout("two.example:80", timeout); !problem.Is(err, problem.Unreachable) || !strings.Contains(fmt.Sprint(errors.Unwrap(err)), "127.0.0.1:80") {
			t.Errorf("timeout %s: %v, want that of the first address", timeout, err)
		}
		if len(seen) != 2 || len(over) != 1 || !over[0] {
			t.Fatalf("timeout %s: %d addresses tried, the first one over: %v", timeout, len(seen), over)
		}
		last, ok := seen[1].Deadline()
		if left := last.Sub(start); !ok || left < want-time.Second || left > want+30*time.Second {
			t.Errorf("timeout %s: the last address has %s, want %s", timeout, left, want)
		}
	}
}

// TestRemedies: a grant is offered where one can be made, and only there; the network
// that is named is the address's own.
func TestRemedies(t *testing.T) {
	for _, c := range []struct {
		grantable    bool
		addr         string
		grant        bool
		allowPrivate string
	}{
		{true, "10.1.2.3:80", true, "--allow-private-upstreams=10.1.2.0/24"},
		{false, "10.1.2.3:80", false, "--allow-private-upstreams=10.1.2.0/24"},
		{true, "[fd00:1:2:3:4::5]:80", true, "--allow-private-upstreams=fd00:1:2:3::/64"},
		{true, "[fd00::1%eth0]:80", false, "--allow-private-upstreams=fd00::/64"},
		{false, "[fd00::1%eth0]:80", false, "--allow-private-upstreams=fd00::/64"},
	} {
		p := problem.As(dialer(t, Options{Grantable: c.grantable}).Check(t.Context(), c.addr))
		if p == nil || strings.Contains(p.Remedy, "sluice grant create") != c.grant || !strings.Contains(p.Remedy, c.allowPrivate) {
			t.Errorf("%s, grantable %v: %v", c.addr, c.grantable, p)
		}
	}
}

// TestGrantNeedsAnAddress: neither without an address nor without a port.
func TestGrantNeedsAnAddress(t *testing.T) {
	d := dialer(t, Options{})
	for _, a := range []netip.AddrPort{{}, netip.AddrPortFrom(netip.Addr{}, 80), netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), 0)} {
		if err := d.Grant("a", a); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("Grant(%s) = %v, want an invalid argument", a, err)
		}
	}
}

// TestSeenWherePrivateIsAllowed: nothing needs a grant there but what clouds keep, which
// cannot be granted.
func TestSeenWherePrivateIsAllowed(t *testing.T) {
	d := dialer(t, Options{AllowPrivate: true})
	if got, err := d.Seen(t.Context(), "10.0.0.1:80"); err != nil || len(got) != 0 {
		t.Errorf("Seen = %v, %v; want none", got, err)
	}
	if got, err := d.Seen(t.Context(), "169.254.169.254:80"); !problem.Is(err, problem.BlockedAddress) {
		t.Errorf("Seen = %v, %v; want blocked", got, err)
	}
}

// TestOwnAddresses: what is not an address of an interface is passed over, and a listener
// answers at the unspecified address whatever interfaces there are.
func TestOwnAddresses(t *testing.T) {
	o := &own{ports: map[uint16]bool{7301: false}, interfaces: func() ([]net.Addr, error) {
		return []net.Addr{&net.UnixAddr{Name: "x"}, &net.IPNet{}, &net.IPNet{IP: net.ParseIP("10.9.8.7")}}, nil
	}}
	for a, want := range map[string]bool{
		"10.9.8.7:7301": true, "10.9.8.7:7302": false, "10.9.8.8:7301": false, "127.0.0.9:7301": true, "0.0.0.0:7301": true, "[::]:7301": true, "[::1]:7301": true,
		"[::]:7302": false, "[fd00::7%eth0]:7301": false,
	} {
		if got := o.has(at(a)); got != want {
			t.Errorf("has(%s) = %v", a, got)
		}
	}
}

// TestTextOfOthersIsBounded: 253 bytes of a name are told, the longest that DNS has.
func TestTextOfOthersIsBounded(t *testing.T) {
	long := strings.Repeat("a", 253)
	if got := clip(long); got != long {
		t.Errorf("%d bytes", len(got))
	}
	if got := clip(long + "b"); got != long+"…" {
		t.Errorf("%q", got)
	}
}

// TestTimeouts: who took too long is told so, however the error is wrapped.
func TestTimeouts(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, fmt.Errorf("dial: %w", context.DeadlineExceeded), &net.DNSError{IsTimeout: true}, &net.OpError{Err: syscall.ETIMEDOUT}} {
		if got := unreachable("h:1", err); !problem.Is(got, problem.Timeout) || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
	for _, err := range []error{errors.New("x"), &net.DNSError{}, &net.OpError{Err: syscall.ECONNREFUSED}} {
		if got := unreachable("h:1", err); !problem.Is(got, problem.Unreachable) || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// TestContextsOfOneContext: what one context may reach besides, those made of it may too,
// and of two of these each has only its own.
func TestContextsOfOneContext(t *testing.T) {
	d := dialer(t, Options{})
	with := func(ctx context.Context, a string) context.Context {
		return WithAddresses(ctx, []netip.AddrPort{at(a)})
	}
	parent := with(with(with(t.Context(), "127.0.0.1:1"), "127.0.0.1:2"), "127.0.0.1:3") // of three a slice has room for a fourth
	one := WithAddresses(parent, []netip.AddrPort{at("127.0.0.1:4")})
	two := WithAddresses(parent, []netip.AddrPort{at("127.0.0.1:5")})
	for name, c := range map[string]struct {
		ctx  context.Context
		want string
	}{"parent": {parent, "123"}, "one": {one, "1234"}, "two": {two, "1235"}} {
		got := ""
		for port := range 6 {
			if d.ScopeOf(c.ctx).has(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port))) {
				got += fmt.Sprint(port)
			}
		}
		if got != c.want {
			t.Errorf("%s may reach the ports %s, want %s", name, got, c.want)
		}
	}
}

// TestScopesAreReplaced: calls read the table of scopes without a lock, so a grant never
// writes to the one that they read.
func TestScopesAreReplaced(t *testing.T) {
	d := dialer(t, Options{})
	if err := d.Grant("a", at("127.0.0.1:1")); err != nil {
		t.Fatal(err)
	}
	read := *d.grants.scopes.Load()
	if err := d.Grant("b", at("127.0.0.1:1")); err != nil {
		t.Fatal(err)
	}
	d.RevokeAll("a")
	if _, ok := read["a"]; !ok || len(read) != 1 {
		t.Errorf("the table that was read changed: %v", read)
	}
}

// TestGrantsAtOnce: of grants that are made at the same time none is lost.
func TestGrantsAtOnce(t *testing.T) {
	const many = 2000
	d := dialer(t, Options{})
	var work sync.WaitGroup
	start := make(chan struct{})
	for i := range many {
		work.Go(func() {
			<-start
			if err := d.Grant(fmt.Sprint(i), at("127.0.0.1:1")); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	work.Wait()
	for i := range many {
		if d.Scope(fmt.Sprint(i)) == nil {
			t.Fatalf("the grant of holder %d is lost", i)
		}
	}
}
