package safedial

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestBlocked(t *testing.T) {
	f := func(addr string, blocked bool) {
		t.Helper()
		if got := Blocked(netip.MustParseAddr(addr)); (got != "") != blocked {
			t.Fatalf("Blocked(%s) = %q, want blocked %v", addr, got, blocked)
		}
	}
	// Each range: the last address before it, its first, its last, the first after it.
	f("9.255.255.255", false)
	f("10.0.0.0", true)
	f("10.255.255.255", true)
	f("11.0.0.0", false)
	f("0.0.0.0", true)
	f("0.255.255.255", true)
	f("1.0.0.0", false)
	f("100.63.255.255", false)
	f("100.64.0.0", true)
	f("100.127.255.255", true)
	f("100.128.0.0", false)
	f("126.255.255.255", false)
	f("127.0.0.1", true)
	f("127.255.255.255", true)
	f("128.0.0.0", false)
	f("169.253.255.255", false)
	f("169.254.169.254", true)
	f("169.255.0.0", false)
	f("172.15.255.255", false)
	f("172.16.0.0", true)
	f("172.31.255.255", true)
	f("172.32.0.0", false)
	f("192.0.0.192", true)
	f("192.0.1.0", false)
	f("192.0.2.1", true)
	f("192.167.255.255", false)
	f("192.168.0.1", true)
	f("192.169.0.0", false)
	f("198.17.255.255", false)
	f("198.18.0.0", true)
	f("198.19.255.255", true)
	f("198.20.0.0", false)
	f("223.255.255.255", false)
	f("224.0.0.1", true)
	f("255.255.255.255", true)
	f("168.63.129.16", true)
	f("168.63.129.17", false)
	f("8.8.8.8", false)

	f("::", true)
	f("::1", true)
	f("::2", true)
	f("::ffff:127.0.0.1", true)
	f("::ffff:8.8.8.8", false)
	f("::127.0.0.1", true)
	f("::ffff:0:10.0.0.1", true)
	f("64:ff9b::7f00:1", true)     // NAT64 of 127.0.0.1
	f("64:ff9b::a9fe:a9fe", true)  // NAT64 of 169.254.169.254
	f("64:ff9b::808:808", false)   // NAT64 of 8.8.8.8
	f("64:ff9b:1::808:808", true)  // local NAT64
	f("2002:7f00:1::1", true)      // 6to4 of 127.0.0.1
	f("2002:c0a8:101::1", true)    // 6to4 of 192.168.1.1
	f("2002:808:808::1", false)    // 6to4 of 8.8.8.8
	f("2001:0:4136:e378::1", true) // Teredo
	f("2001:db8::1", true)
	f("2606:4700:4700::1111", false)
	f("fc00::1", true)
	f("fd00:ec2::254", true)
	f("fe80::1", true)
	f("fe80::1%eth0", true)
	f("fec0::1", true)
	f("ff02::1", true)
	f("4000::1", true) // not assigned
	f("100::1", true)
	if Blocked(netip.Addr{}) == "" {
		t.Fatal("the zero address must be blocked")
	}
}

type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	as, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var out []netip.Addr
	for _, a := range as {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func TestDialRefuses(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	res := names{"evil.example": {"127.0.0.1"}, "mixed.example": {"93.184.216.34", "127.0.0.1"}, "mapped.example": {"::ffff:127.0.0.1"}}
	d, err := New(Options{Resolver: res})
	if err != nil {
		t.Fatal(err)
	}
	f := func(addr string, want problem.Kind) {
		t.Helper()
		conn, err := d.DialContext(t.Context(), "tcp", addr)
		if conn != nil {
			_ = conn.Close()
		}
		if !problem.Is(err, want) {
			t.Fatalf("dial %s = %v, want %s", addr, err, want)
		}
		if want == problem.BlockedAddress && !strings.Contains(err.Error(), "--allow-private-upstreams") {
			t.Fatalf("dial %s: no remedy in %q", addr, err)
		}
	}
	f("127.0.0.1:"+port, problem.BlockedAddress)
	f("[::1]:"+port, problem.BlockedAddress)
	f("[::ffff:127.0.0.1]:"+port, problem.BlockedAddress)
	f("evil.example:"+port, problem.BlockedAddress)
	f("mixed.example:"+port, problem.BlockedAddress)
	f("mapped.example:"+port, problem.BlockedAddress)
	f("169.254.169.254:80", problem.BlockedAddress)
	f("absent.example:80", problem.Unreachable)
	f("no-port", problem.Unreachable)
	f("a.example:0", problem.Unreachable)
	f("a.example:65536", problem.Unreachable)
	if err := d.Check(t.Context(), "evil.example:80"); !problem.Is(err, problem.BlockedAddress) {
		t.Fatalf("Check = %v", err)
	}
	if _, err := d.DialContext(t.Context(), "unix", "/run/x:1"); err == nil {
		t.Fatal("a unix socket was dialed")
	}
}

// TestAllowed is also the negative control of TestDialRefuses: the same address
// answers as soon as it is trusted.
func TestAllowed(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	ok := func(o Options, addr string) {
		t.Helper()
		d, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := d.DialTimeout(addr, time.Second)
		if err != nil {
			t.Fatalf("dial %s with %+v: %v", addr, o, err)
		}
		_ = conn.Close()
	}
	ok(Options{AllowPrivate: true}, addr)
	ok(Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, addr)
}

// TestMetadataNeedsItsNetwork: neither a grant nor AllowPrivate reaches where
// clouds keep the credentials of machines; only a network that names it does.
func TestMetadataNeedsItsNetwork(t *testing.T) {
	res := names{"api.local": {"169.254.169.254"}, "six.local": {"64:ff9b::a9fe:a9fe"}}
	for _, o := range []Options{{}, {AllowPrivate: true}, {Grantable: true}} {
		o.Resolver = res
		d, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []string{"169.254.169.254:80", "[64:ff9b::a9fe:a9fe]:80", "[2002:a9fe:a9fe::1]:80"} {
			if err := d.Grant("x", netip.MustParseAddrPort(a)); !problem.Is(err, problem.BlockedAddress) {
				t.Errorf("Grant(%s) = %v, want blocked", a, err)
			}
		}
		for _, a := range []string{"api.local:80", "six.local:80", "169.254.169.254:80"} {
			if _, err := d.Seen(t.Context(), a); !problem.Is(err, problem.BlockedAddress) {
				t.Errorf("Seen(%s) with %+v: %v, want blocked", a, o, err)
			}
			if err := d.Check(WithAddresses(t.Context(), []netip.AddrPort{netip.MustParseAddrPort("169.254.169.254:80")}), a); !problem.Is(err, problem.BlockedAddress) {
				t.Errorf("resolve %s with %+v: %v, want blocked", a, o, err)
			}
		}
	}
	d, err := New(Options{Resolver: res, Allow: []netip.Prefix{netip.MustParsePrefix("169.254.0.0/16")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Check(t.Context(), "api.local:80"); err != nil {
		t.Errorf("with its network allowed: %v", err)
	}
}

// TestRedirects: net/http dials every hop through the Dialer.
func TestRedirects(t *testing.T) {
	inner := httptest.NewServer(http.NotFoundHandler())
	defer inner.Close()
	outer := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusFound))
	defer outer.Close()
	d, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Grant("x", netip.MustParseAddrPort(outer.Listener.Addr().String())); err != nil {
		t.Fatal(err)
	}
	c := http.Client{Transport: &http.Transport{DialContext: d.DialContext}}
	req, err := http.NewRequestWithContext(WithHolder(t.Context(), "x"), http.MethodGet, outer.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !problem.Is(err, problem.BlockedAddress) {
		t.Fatalf("redirect to %s: %v, want blocked", inner.URL, err)
	}
}

// TestMetadataThroughTunnels: an IPv4 address inside an IPv6 one is what it reaches.
func TestMetadataThroughTunnels(t *testing.T) {
	f := func(addr string, want bool) {
		t.Helper()
		if got := Metadata(netip.MustParseAddr(addr)); got != want {
			t.Fatalf("Metadata(%s) = %v, want %v", addr, got, want)
		}
	}
	f("169.254.169.254", true)
	f("::ffff:169.254.169.254", true)
	f("64:ff9b::a9fe:a9fe", true) // NAT64
	f("2002:a9fe:a9fe::1", true)  // 6to4
	f("2002:a9fd:a9fe::1", false)
	f("64:ff9b::a9fd:a9fe", false)
	f("fe80::1%eth0", true)
	f("fd00:ec2::254", true)
	f("fd00:ec3::254", false)
	f("127.0.0.1", false)
}

// TestAddressesOfAName: sixteen addresses of a name are looked at, each of them, and no
// more.
func TestAddressesOfAName(t *testing.T) {
	const most = 16
	var public []string
	for i := range most + 1 {
		public = append(public, "93.184.216."+strconv.Itoa(i+1))
	}
	last := slices.Clone(public[:most])
	last[most-1] = "127.0.0.1"
	behind := append(slices.Clone(public[:most]), "127.0.0.1")
	d, err := New(Options{Resolver: names{"many.example": public, "last.example": last, "behind.example": behind}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.lookup(t.Context(), "tcp", "many.example:80"); err != nil || len(got) != most {
		t.Errorf("%d addresses, %v; want %d", len(got), err, most)
	}
	if err := d.Check(t.Context(), "last.example:80"); !problem.Is(err, problem.BlockedAddress) {
		t.Errorf("the last address is private: %v", err)
	}
	if err := d.Check(t.Context(), "behind.example:80"); err != nil {
		t.Errorf("the address behind it is never dialed: %v", err)
	}
}

// TestScopeWithoutGrants: a scope may hold addresses of a context only.
func TestScopeWithoutGrants(t *testing.T) {
	one, other := netip.MustParseAddrPort("127.0.0.1:80"), netip.MustParseAddrPort("127.0.0.1:81")
	s := &Scope{extra: []netip.AddrPort{one}}
	if !s.has(one) || s.has(other) || (*Scope)(nil).has(one) {
		t.Errorf("has(%s) = %v, has(%s) = %v", one, s.has(one), other, s.has(other))
	}
}

// TestWhatIsSaid: the error says what is wrong with an address, since the remedies
// differ.
func TestWhatIsSaid(t *testing.T) {
	d, err := New(Options{Resolver: names{
		"mixed.example": {"93.184.216.34", "127.0.0.1"}, "turned.example": {"127.0.0.1", "93.184.216.34"},
		"inside.example": {"127.0.0.1", "10.0.0.1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	f := func(addr string, rebinding bool) {
		t.Helper()
		err := d.Check(t.Context(), addr)
		if !problem.Is(err, problem.BlockedAddress) || strings.Contains(err.Error(), "rebinding") != rebinding {
			t.Errorf("%s: %v; want it to speak of rebinding: %v", addr, err, rebinding)
		}
	}
	f("mixed.example:80", true)
	f("turned.example:80", true)
	f("inside.example:80", false)
	f("127.0.0.1:80", false)
	for kind, err := range map[problem.Kind]error{
		problem.Timeout:     unresolved("h", context.DeadlineExceeded),
		problem.Unreachable: unresolved("h", &net.DNSError{IsNotFound: true}),
	} {
		if !problem.Is(err, kind) {
			t.Errorf("%v, want %s", err, kind)
		}
	}
	if err := unresolved("h", &net.DNSError{IsTimeout: true}); !problem.Is(err, problem.Timeout) {
		t.Errorf("the resolver took too long: %v", err)
	}
	if err := unreachable("h:1", context.DeadlineExceeded); !problem.Is(err, problem.Timeout) {
		t.Errorf("the dial took too long: %v", err)
	}
	if err := unreachable("h:1", syscall.ECONNREFUSED); !problem.Is(err, problem.Unreachable) {
		t.Errorf("a refusal: %v", err)
	}
}

// TestDeadlines: each of several addresses has three seconds but the last, which has
// what is left.
func TestDeadlines(t *testing.T) {
	d, err := New(Options{AllowPrivate: true, Timeout: time.Hour, Resolver: names{"three.example": {"127.0.0.1", "127.0.0.2", "127.0.0.3"}}})
	if err != nil {
		t.Fatal(err)
	}
	var left []time.Duration
	start := time.Now()
	d.net.ControlContext = func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
		at, _ := ctx.Deadline()
		left = append(left, at.Sub(start))
		return errors.New("refused by the test")
	}
	if _, err := d.Dial("three.example:80"); err == nil {
		t.Fatal("no error")
	}
	if len(left) != 3 || left[0] > time.Minute || left[1] > time.Minute || left[2] < time.Hour-time.Minute {
		t.Errorf("the addresses have %v", left)
	}
}

func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free again at once
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	d, _ := New(Options{AllowPrivate: true})
	if _, err := d.Dial(addr); !problem.Is(err, problem.Unreachable) {
		t.Fatalf("dial a closed port: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.DialContext(ctx, "tcp", addr); err == nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("dial with a cancelled context: %v", err)
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.8.9.10": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "10.0.0.1": false, "127.0.0.1.example": false, "localhost.example": false, "2001:db8::1": false,
	} {
		if got := Loopback(host); got != want {
			t.Errorf("Loopback(%q) = %t", host, got)
		}
	}
}
