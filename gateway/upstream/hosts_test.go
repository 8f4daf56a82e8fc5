package upstream

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/upstreamtest"
)

// clientCertificate makes one that no authority signed.
func clientCertificate(t *testing.T, id string) *ClientCertificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	return &ClientCertificate{ID: id, Version: 1, PEM: secrets.New(string(text))}
}

func never(string, time.Duration) (net.Conn, error) { return nil, errors.New("never") }

// TestNewHost: what a pool of connections is made with.
func TestNewHost(t *testing.T) {
	base := &tls.Config{ServerName: "x", MinVersion: tls.VersionTLS10}
	c := newClient(t, Options{Dial: never, TLS: base, MaxConns: 7, UserAgent: "agent"})
	if base.MinVersion != tls.VersionTLS10 || c.opts.TLS.MinVersion != tls.VersionTLS12 {
		t.Error("TLS 1.2 is not the least, or the caller's configuration is changed")
	}
	if got := newClient(t, Options{Dial: never}).opts.TLS.MinVersion; got != tls.VersionTLS12 {
		t.Errorf("by default TLS %x is the least", got)
	}
	if got := newClient(t, Options{Dial: never, TLS: &tls.Config{MinVersion: tls.VersionTLS13}}).opts.TLS.MinVersion; got != tls.VersionTLS13 {
		t.Errorf("TLS 1.3 became %x", got)
	}
	if _, err := New(Options{}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("without a dialer: %v", err)
	}
	cert := clientCertificate(t, "c")
	for _, k := range []hostKey{{addr: "a:1", class: 1 << 20}, {addr: "a:1", tls: true, class: 2 << 20, client: "c"}, {addr: "a:1", class: 1 << 20, standing: true}} {
		var shown *ClientCertificate
		if k.client != "" {
			shown = cert
		}
		h, err := c.host(k, shown)
		if err != nil {
			t.Fatal(err)
		}
		most, buffer := 7, readBuffer
		if k.standing {
			most, buffer = maxStanding, standingBuffer
		}
		got := &h.client
		if got.Addr != k.addr || got.IsTLS != k.tls || got.Name != "agent" || got.MaxConns != most || got.MaxConnWaitTimeout != DefaultTimeout ||
			got.MaxIdleConnDuration != idleConn || got.MaxResponseBodySize != k.class || got.ReadBufferSize != buffer || !got.SecureErrorLogMessage {
			t.Errorf("%+v: %+v", k, got)
		}
		if got.TLSConfig.ServerName != "x" || len(got.TLSConfig.Certificates) != len(k.client) {
			t.Errorf("%+v shows %d certificates", k, len(got.TLSConfig.Certificates))
		}
		again, err := c.newHost(k, shown) // another call was faster
		if err != nil || again != h {
			t.Errorf("%+v: a second pool, %v", k, err)
		}
	}
	if len(c.opts.TLS.Certificates) != 0 {
		t.Error("the certificate of one toolset is shown to all")
	}
	bad := &ClientCertificate{PEM: secrets.New("s3cr3t-pem")}
	if h, err := c.host(hostKey{addr: "bad:1"}, bad); h != nil || !problem.Is(err, problem.Unauthenticated) || strings.Contains(err.Error(), "s3cr3t") || errors.Unwrap(err) != nil {
		t.Errorf("a certificate that cannot be read: %v", err)
	}
	if len(c.hosts) != 3 {
		t.Errorf("%d pools", len(c.hosts))
	}
	c.Close()
	if len(c.hosts) != 0 {
		t.Error("pools are left after Close")
	}
}

// TestScopesAreApart: the connections that one toolset's grants opened are no other's, and
// the dialer of a scope opens them.
func TestScopesAreApart(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.JSON(200, `{}`))
	d, err := safedial.New(safedial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Grant("x", netip.MustParseAddrPort(up.Addr())); err != nil {
		t.Fatal(err)
	}
	c, base := newClient(t, Options{Dial: d.DialTimeout}), mustBase(t, up.URL)
	with, without := d.Scope("x"), d.Scope("y")
	if _, _, err := do(t, c, base, "GET", "/", Limits{Scope: with}, nil); err != nil {
		t.Fatal(err)
	}
	for what, scope := range map[string]*safedial.Scope{"another scope": without, "none": nil} {
		if _, _, err := do(t, c, base, "GET", "/", Limits{Scope: scope}, nil); !problem.Is(err, problem.BlockedAddress) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if keyOf("a:1", false, &Limits{Scope: with}) == keyOf("a:1", false, &Limits{}) || keyOf("a:1", false, &Limits{Scope: with}) == keyOf("a:1", false, &Limits{Scope: without}) {
		t.Error("two scopes share connections")
	}
}

// TestEvictsTheOldest: the pool that was idle longest goes, and none in use does.
func TestEvictsTheOldest(t *testing.T) {
	for range 20 { // the order of a map is another one each time
		c := newClient(t, Options{Dial: never})
		for i, addr := range []string{"c", "a", "b", "d"} {
			h, err := c.host(hostKey{addr: addr, class: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			h.lastUsed.Store(int64(i + 10))
		}
		c.hosts[hostKey{addr: "c", class: 1}].running.Store(1)
		c.hosts[hostKey{addr: "d", class: 1}].running.Store(1)
		for _, gone := range []string{"a", "b", ""} {
			before := len(c.hosts)
			c.evictLocked()
			if gone == "" {
				if len(c.hosts) != 2 {
					t.Fatal("a pool in use is gone")
				}
				continue
			}
			if c.hosts[hostKey{addr: gone, class: 1}] != nil || len(c.hosts) != before-1 {
				t.Fatalf("%q is not the one that went", gone)
			}
		}
	}
}

// TestHostIsUsedNow: a pool that is used again is not the oldest any more.
func TestHostIsUsedNow(t *testing.T) {
	c := newClient(t, Options{Dial: never})
	k := hostKey{addr: "a", class: 1}
	h, err := c.host(k, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.lastUsed.Store(1)
	if again, err := c.host(k, nil); err != nil || again != h || h.lastUsed.Load() < time.Now().Unix()-1 {
		t.Errorf("last used at %d", h.lastUsed.Load())
	}
}

// TestDoAsks: what a request is sent with, and with which limits.
func TestDoAsks(t *testing.T) {
	base := mustBase(t, "http://api.example")
	send := func(lim Limits, events bool) (*script, hostKey) {
		t.Helper()
		s := &script{answers: []string{answer("200 OK", "Content-Length: 0\r\n", "")}}
		c := newClient(t, Options{Dial: func(string, time.Duration) (net.Conn, error) { return s, nil }})
		var x Exchange
		x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte("/")))
		x.Request.Header.SetMethod("POST")
		x.Request.SetBodyString("body")
		if events {
			x.Events = func(int, io.Reader) error { return nil }
		}
		if err := c.Do(&x, base, lim, nil); err != nil {
			t.Fatal(err)
		}
		for k := range c.hosts {
			return s, k
		}
		return s, hostKey{}
	}
	for limit, want := range map[int64]int{0: DefaultMaxBody, -1: DefaultMaxBody, 1: smallestClass, HardMaxBody: HardMaxBody, HardMaxBody + 1: HardMaxBody, 1 << 40: HardMaxBody} {
		s, k := send(Limits{MaxBody: limit}, false)
		if k.class != want {
			t.Errorf("of limit %d the class is %d, want %d", limit, k.class, want)
		}
		if left := time.Until(s.deadline); left > DefaultTimeout || left < DefaultTimeout-5*time.Second {
			t.Errorf("by default a call has %v", left)
		}
		if sent := s.sent.String(); strings.Contains(sent, "Content-Type") || !strings.Contains(sent, "Accept-Encoding: gzip, br, deflate\r\n") {
			t.Errorf("sent %s", sent)
		}
	}
	if s, _ := send(Limits{}, true); strings.Contains(s.sent.String(), "Accept-Encoding") {
		t.Errorf("sent %s", s.sent.String())
	}
	var x Exchange
	c := newClient(t, Options{Dial: never})
	if err := c.Do(&x, base, Limits{Client: clientCertificate(t, "c")}, nil); !problem.Is(err, problem.Unauthenticated) || !strings.Contains(err.Error(), "not https") || len(c.hosts) != 0 {
		t.Errorf("a client certificate without TLS: %v", err)
	}
	bad := &ClientCertificate{PEM: secrets.New("bad")}
	if err := c.Do(&x, mustBase(t, "https://api.example"), Limits{Client: bad}, nil); !problem.Is(err, problem.Unauthenticated) || len(c.hosts) != 0 {
		t.Errorf("a client certificate that cannot be read: %v", err)
	}
}

// TestCertificateStaysAtItsOrigin: a client certificate is shown where a redirect leads
// within its address, and not at another one.
func TestCertificateStaysAtItsOrigin(t *testing.T) {
	other := upstreamtest.NewTLS(t)
	other.Handle("/", upstreamtest.JSON(200, `{}`))
	up := upstreamtest.NewTLS(t)
	up.Handle("/here", upstreamtest.Redirect(302, "/end"))
	up.Handle("/end", upstreamtest.JSON(200, `{}`))
	up.Handle("/there", upstreamtest.Redirect(302, other.URL+"/"))
	roots := x509.NewCertPool()
	roots.AddCert(up.Certificate())
	roots.AddCert(other.Certificate())
	cert := clientCertificate(t, "mine")
	for target, want := range map[string]map[string]string{
		"/here":  {up.Addr(): "mine"},
		"/there": {up.Addr(): "mine", other.Addr(): ""},
	} {
		c := newClient(t, Options{TLS: &tls.Config{RootCAs: roots}})
		if status, _, err := do(t, c, mustBase(t, up.URL), "GET", target, Limits{Client: cert}, nil); err != nil || status != 200 {
			t.Fatalf("%s: %d, %v", target, status, err)
		}
		if len(c.hosts) != len(want) {
			t.Errorf("%s: %d pools", target, len(c.hosts))
		}
		for k := range c.hosts {
			if client, ok := want[k.addr]; !ok || k.client != client {
				t.Errorf("%s: %s has the connections of %q", target, k.addr, k.client)
			}
		}
	}
	for host, want := range map[string][2]string{"API.example": {"api.example:80", "api.example:443"}, "a:8": {"a:8", "a:8"}, "[::1]": {"[::1]:80", "[::1]:443"}} {
		if plain, secure := dialAddr(host, false), dialAddr(host, true); plain != want[0] || secure != want[1] {
			t.Errorf("%s is dialed at %s and %s", host, plain, secure)
		}
	}
}

// TestWhichRedirects: each answer of 3xx by method, place and what was followed before.
func TestWhichRedirects(t *testing.T) {
	for _, c := range []struct {
		method, body, from string
		status             int
		to                 string
		secure             bool
		before             int
		next, with         string // "": it is final
		kind               problem.Kind
	}{
		{"GET", "", "http://a/x", 301, "/y", false, 0, "http://a/y", "GET", ""},
		{"HEAD", "", "http://a/x", 302, "y#f", false, 0, "http://a/y", "HEAD", ""},
		{"GET", "", "http://a/x", 302, "//b/y?q", false, 0, "http://b/y?q", "GET", ""},
		{"GET", "", "http://a/x", 308, "https://a/%2F", false, 0, "https://a/%2F", "GET", ""},
		{"GET", "", "http://a/x", 300, "/y", false, 0, "", "", ""},
		{"GET", "", "http://a/x", 304, "/y", false, 0, "", "", ""},
		{"GET", "", "http://a/x", 305, "/y", false, 0, "", "", ""},
		{"GET", "", "http://a/x", 306, "/y", false, 0, "", "", ""},
		{"GET", "", "http://a/x", 200, "/y", false, 0, "", "", ""},
		{"GET", "", "http://a/x", 302, "", false, 0, "", "", ""},
		{"POST", "b", "http://a/x", 301, "/y", false, 0, "", "", ""},
		{"POST", "b", "http://a/x", 302, "/y", false, 0, "", "", ""},
		{"POST", "b", "http://a/x", 303, "/y", false, 0, "http://a/y", "GET", ""},
		{"HEAD", "", "http://a/x", 303, "/y", false, 0, "http://a/y", "HEAD", ""},
		{"POST", "b", "http://a/x", 307, "/y", false, 0, "http://a/y", "POST", ""},
		{"POST", "b", "http://a/x", 308, "http://A/y", false, 0, "http://a/y", "POST", ""},
		{"POST", "", "http://a/x", 308, "http://b/y", false, 0, "", "", ""},
		{"GET", "b", "http://a/x", 302, "http://b/y", false, 0, "", "", ""},
		{"GET", "b", "http://a/x", 302, "/y", false, 0, "http://a/y", "GET", ""},
		{"POST", "b", "http://a/x", 303, "http://b/y", false, 0, "http://b/y", "GET", ""},
		{"GET", "", "http://a/x", 302, "ftp://b/y", false, 0, "", "", problem.UpstreamMalformed},
		{"GET", "", "http://a/x", 302, "http:///y", false, 0, "", "", problem.UpstreamMalformed},
		{"GET", "", "https://a/x", 302, "http://a/y", true, 0, "", "", problem.UpstreamMalformed},
		{"GET", "", "https://a/x", 302, "https://b/y", true, 0, "https://b/y", "GET", ""},
		{"GET", "", "http://a/x", 302, "/y", false, maxRedirects - 1, "http://a/y", "GET", ""},
		{"GET", "", "http://a/x", 302, "/y", false, maxRedirects, "", "", problem.UpstreamMalformed},
	} {
		x := &Exchange{Redirects: c.before}
		x.Request.Header.SetMethod(c.method)
		x.Request.SetRequestURI(c.from)
		x.Request.SetBodyString(c.body)
		x.Request.Header.Set("Authorization", "a")
		if c.body != "" {
			x.Request.Header.SetContentType("text/plain")
		}
		x.response.SetStatusCode(c.status)
		if c.to != "" {
			x.response.Header.Set("Location", c.to)
		}
		again, err := x.redirect(c.secure, nil)
		if again != (c.next != "") || (err != nil) != (c.kind != "") || err != nil && !problem.Is(err, c.kind) {
			t.Errorf("%+v: %v, %v", c, again, err)
			continue
		}
		if !again {
			if x.Redirects != c.before || string(x.Request.Header.Method()) != c.method || string(x.Request.URI().FullURI()) != c.from {
				t.Errorf("%+v: the request is changed: %s", c, &x.Request)
			}
			continue
		}
		u := x.Request.URI()
		u.DisablePathNormalizing = true // as it is sent
		if got := string(u.FullURI()); got != c.next || string(x.Request.Header.Method()) != c.with || x.Redirects != c.before+1 {
			t.Errorf("%+v: %s %s, %d redirects", c, x.Request.Header.Method(), got, x.Redirects)
		}
		if !bytes.Equal(x.Request.Header.Host(), u.Host()) || len(u.Hash()) != 0 {
			t.Errorf("%+v: host %s, fragment %q", c, x.Request.Header.Host(), u.Hash())
		}
		if typed := len(x.Request.Header.ContentType()) > 0; typed != (c.body != "" && c.status != 303) {
			t.Errorf("%+v: content type %q", c, x.Request.Header.ContentType())
		}
		if kept := len(x.Request.Header.Peek(fasthttp.HeaderAuthorization)) > 0; kept != strings.HasPrefix(c.next, "http://a/") {
			t.Errorf("%+v: the credential is kept: %v", c, kept)
		}
	}
}

// TestBases: origin, key and address of each kind of base.
func TestBases(t *testing.T) {
	for s, want := range map[string][3]string{
		"http://A.example":       {"http://A.example", "http://a.example", "A.example:80"},
		"https://a.example:443/": {"https://a.example:443", "https://a.example", "a.example:443"},
		"https://a.example/v1//": {"https://a.example", "https://a.example", "a.example:443"},
	} {
		b := mustBase(t, s)
		if got := [3]string{b.Origin(), b.Key(), b.Addr()}; got != want || b.Zero() {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
	b := StdioBase("p1")
	if b.Origin() != "stdio://p1" || b.Key() != "stdio://p1" || b.Addr() != "p1" || b.tls {
		t.Errorf("%+v", b)
	}
}

// TestNoCancel: an exchange without a Cancel is never cancelled, and asks nothing of it.
func TestNoCancel(t *testing.T) {
	var c *Cancel
	c.After(func() { t.Error("called") })()
	c.detach(nil)
	if c.Cancelled() || !c.attach(nil) {
		t.Error("cancelled")
	}
	var cancel Cancel
	cancel.Cancel()
	if err := describe(errors.New("x"), "a:1", Limits{Cancel: &cancel}); !problem.Is(err, problem.Cancelled) {
		t.Errorf("%v", err)
	}
}
