// Package acmetest runs a certificate authority and a DNS server for tests, in this
// process and on loopback: Pebble, the test authority of Let's Encrypt, and its challenge
// test server. Nothing but tests imports it.
package acmetest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/letsencrypt/challtestsrv"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

// Authority is a certificate authority with the DNS that it asks.
type Authority struct {
	*DNS

	URL      string // of the ACME directory
	RootFile string // PEM of the authority of URL's own certificate
	Roots    *x509.CertPool
	// Issued trusts the certificates that it issues.
	Issued *x509.CertPool
	// HTTPPort and TLSPort are those that it validates http-01 and tls-alpn-01 on.
	HTTPPort, TLSPort int

	mode   atomic.Int32
	orders atomic.Int32
	db     *db.MemoryStore

	install func() // makes an authority that knows nothing, which answers from now on
	handler atomic.Pointer[http.Handler]
}

// Modes of an Authority.
const (
	Works   = iota
	Down    // every request is answered 503
	Limited // every order is answered with rateLimited
)

// New starts an authority whose certificates live so long.
func New(t testing.TB, life time.Duration) *Authority {
	t.Helper()
	for name, value := range map[string]string{"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0", "PEBBLE_AUTHZREUSE": "0"} {
		t.Setenv(name, value)
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	a := &Authority{DNS: NewDNS(t), HTTPPort: FreePort(t), TLSPort: FreePort(t), Issued: x509.NewCertPool()}
	a.install = func() {
		a.db = db.NewMemoryStore()
		issuing := ca.New(quiet, a.db, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "for tests", ValidityPeriod: uint64(life / time.Second)}})
		a.Issued.AddCert(issuing.GetRootCert(0).Cert)
		front := wfe.New(quiet, a.db, va.New(quiet, a.HTTPPort, a.TLSPort, false, a.Addr, a.db), issuing, []string{"pebble.letsencrypt.org"}, false, false, 1, 1)
		handler := front.Handler()
		a.handler.Store(&handler)
	}
	a.install()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "order-plz") && r.Method == http.MethodPost {
			a.orders.Add(1)
			if a.mode.Load() == Limited {
				w.Header().Set("Content-Type", "application/problem+json")
				w.Header().Set("Replay-Nonce", "none")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many certificates already issued","status":429}`)
				return
			}
		}
		if a.mode.Load() == Down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		(*a.handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	a.URL = server.URL + wfe.DirectoryPath
	a.Roots = x509.NewCertPool()
	a.Roots.AddCert(server.Certificate())
	a.RootFile = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(a.RootFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// Set sets the mode.
func (a *Authority) Set(mode int32) { a.mode.Store(mode) }

// Forget loses all accounts, orders and certificates, as an authority that was set up anew.
func (a *Authority) Forget() { a.install() }

// Orders is how many orders were made.
func (a *Authority) Orders() int { return int(a.orders.Load()) }

// Revoked reports whether a certificate was revoked.
func (a *Authority) Revoked(c *x509.Certificate) bool {
	return a.db.GetRevokedCertificateBySerial(c.SerialNumber) != nil
}

// Dial makes a TLS connection to an address by a name, which trusts what is issued, and
// returns the certificate that it was shown.
func (a *Authority) Dial(ctx context.Context, addr, name string) (*x509.Certificate, error) {
	d := tls.Dialer{Config: &tls.Config{RootCAs: a.Issued, ServerName: name, MinVersion: tls.VersionTLS12}}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0], nil //nolint:forcetypeassert // a tls.Dialer makes it
}

// Client is an HTTP client that trusts what is issued and reaches every host at an
// address.
func (a *Authority) Client(addr string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: a.Issued, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, addr)
		},
	}}
}

// DNS is a server that has the records that a test gives it.
type DNS struct {
	Addr    string // host:port, UDP and TCP
	records *challtestsrv.ChallSrv
}

// NewDNS starts a server without records.
func NewDNS(t testing.TB) *DNS {
	t.Helper()
	d := &DNS{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(FreePort(t)))}
	var err error
	if d.records, err = challtestsrv.New(challtestsrv.Config{DNSAddrs: []string{d.Addr}, Log: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}); err != nil {
		t.Fatal(err)
	}
	d.records.SetDefaultDNSIPv4("")
	d.records.SetDefaultDNSIPv6("")
	go d.records.Run()
	t.Cleanup(d.records.Shutdown)
	for end := time.Now().Add(10 * time.Second); ; {
		if _, err := d.Resolver().LookupTXT(t.Context(), "ready.test."); err != nil && !strings.Contains(err.Error(), "refused") {
			return d
		}
		if time.Now().After(end) {
			t.Fatal("the DNS server does not answer")
		}
	}
}

// Resolver asks the server.
func (d *DNS) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) { //nolint:forbidigo // a server of the test
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, d.Addr)
	}}
}

// SetA makes the only address records of a host.
func (d *DNS) SetA(host string, addresses ...string) {
	d.records.DeleteDNSARecord(host + ".")
	d.records.AddDNSARecord(host+".", addresses)
}

// SetTXT makes the only TXT record of a name; "": there is none.
func (d *DNS) SetTXT(name, value string) {
	d.records.DeleteDNSTXTRecord(name + ".")
	if value != "" {
		d.records.AddDNSTXTRecord(name+".", value)
	}
}

// Fail makes the server fail for a name, or ends that.
func (d *DNS) Fail(name string, fails bool) {
	if fails {
		d.records.AddDNSServFailRecord(name + ".")
	} else {
		d.records.DeleteDNSServFailRecord(name + ".")
	}
}

// FreePort is a port that nothing listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
}
