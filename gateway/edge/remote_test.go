package edge_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/internal/freeport"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// plane is a whole control plane behind TLS: the admin API of package admin on a
// world, and a front that breaks what the test says.
type plane struct {
	*world

	st    *store.Store
	srv   *admin.Server
	token secrets.Secret // API token of an administrator
	clock atomic.Int64   // nanoseconds the control plane's clock is ahead

	ln                  net.Listener
	http                *http.Server
	addr                string
	authority, stranger *authority

	mu    sync.Mutex
	cert  *tls.Certificate
	fault func(w http.ResponseWriter, r *http.Request) bool // true: answered
}

// authority signs certificates of servers.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(200 * 24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

func (a *authority) issue(t testing.TB, until time.Time) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

type noFetcher struct{}

func (noFetcher) Fetch(context.Context, source.FetchRequest) (source.Document, error) {
	return source.Document{}, errors.New("this test fetches nothing")
}

func newPlane(t testing.TB) *plane {
	t.Helper()
	p := &plane{world: newWorld(t), authority: newAuthority(t), stranger: newAuthority(t)}
	dir := t.TempDir()
	ctx := context.Background()
	var err error
	p.st, err = store.Open(ctx, store.Options{Path: filepath.Join(dir, "s.db"), Now: func() time.Time { return time.Now().Add(time.Duration(p.clock.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.st.Close() })
	if err := p.st.EnsureWorkspace(ctx, "default", "Default"); err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.OpenFile(filepath.Join(dir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	if p.token, err = people.EnsureToken(ctx, p.st, "default", "test", secrets.Secret{}); err != nil {
		t.Fatal(err)
	}
	p.srv, err = admin.New(ctx, admin.Options{
		Store: p.st, Keyring: ring, Publisher: p.pub, Fetcher: noFetcher{}, GatewayURL: "http://127.0.0.1:1", Registry: p.backend,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.cert = p.authority.issue(t, time.Now().Add(100*24*time.Hour))
	p.listen(freeport.Addr(t)) // it comes back there
	run, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = p.srv.Run(run, time.Second) }()
	t.Cleanup(func() { cancel(); <-done; _ = p.http.Close() })
	return p
}

func (p *plane) listen(addr string) {
	p.t.Helper()
	var err error
	if p.ln, err = net.Listen("tcp", addr); err != nil {
		p.t.Fatal(err)
	}
	p.addr = p.ln.Addr().String()
	p.http = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.mu.Lock()
			fault := p.fault
			p.mu.Unlock()
			if fault == nil || !fault(w, r) {
				p.srv.Handler().ServeHTTP(w, r)
			}
		}),
		TLSConfig: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.cert, nil
		}},
	}
	p.http.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	go func(s *http.Server, ln net.Listener) { _ = s.ServeTLS(ln, "", "") }(p.http, p.ln)
}

// restart closes every connection and listens again.
func (p *plane) restart() {
	_ = p.http.Close()
	p.listen(p.addr)
}

func (p *plane) set(fault func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	p.fault = fault
	p.mu.Unlock()
	p.restart()
}

// api calls the admin API in process, as an administrator.
func (p *plane) api(method, path, body string) (int, []byte) {
	p.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer "+p.token.Reveal())
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	p.srv.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}

// join makes a join token. Its edges get every workspace: the group "default".
func (p *plane) join(body string) secrets.Secret {
	p.t.Helper()
	code, b := p.api("POST", "/v1/edges/join-tokens", body)
	var out fleet.JoinToken
	if err := json.Unmarshal(b, &out); code != http.StatusCreated || err != nil {
		p.t.Fatalf("join token: %d %s", code, b)
	}
	return secrets.New(out.Token)
}

// disk is a file system that can be full or read-only.
type disk struct {
	atomicfile.System

	err atomic.Pointer[error]
}

func (d *disk) CreateTemp(dir, pattern string) (atomicfile.File, error) {
	if e := d.err.Load(); e != nil {
		return nil, *e
	}
	return d.System.CreateTemp(dir, pattern)
}

// far is an edge that follows a plane over the network.
type far struct {
	*node

	p      *plane
	remote *edge.Remote
	vault  *edge.Vault
	disk   *disk
	clock  atomic.Int64 // nanoseconds the edge's clock is ahead
}

// enrol makes an edge in dir and starts it.
func (p *plane) enrol(dir string, token secrets.Secret) *far {
	p.t.Helper()
	e := &far{p: p, disk: &disk{System: atomicfiletest.Fast()}}
	pool := x509.NewCertPool()
	pool.AddCert(p.authority.cert)
	now := func() time.Time { return time.Now().Add(time.Duration(e.clock.Load())) }
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Time: now}, TLSHandshakeTimeout: 2 * time.Second}
	p.t.Cleanup(transport.CloseIdleConnections)
	var err error
	e.remote, err = edge.OpenRemote(edge.RemoteOptions{
		ControlPlane: "https://" + p.addr, Dir: dir, Name: "far", Now: now, Wait: time.Second, System: e.disk,
		Client:    &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		JoinToken: func() (secrets.Secret, error) { return token, nil },
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := e.remote.Enrol(p.t.(*testing.T).Context()); err != nil {
		p.t.Fatal(err)
	}
	e.vault = edge.OpenVault(e.remote)
	e.node = p.start(dir, &wire{Source: e.remote}, func(o *edge.Options) {
		o.Group, o.Keys, o.System, o.Now = e.remote.Group(), e.remote.Trusted(), e.disk, now
		o.PollTimeout = 1500 * time.Millisecond
		o.MaxRetry = 20 * time.Millisecond
	})
	return e
}

// said is everything the edge says is wrong.
func (e *far) said() string {
	s := e.Status()
	var b strings.Builder
	for _, err := range []error{s.Following, s.Cache, e.remote.Fault()} {
		if err != nil {
			b.WriteString(err.Error() + "\n")
		}
	}
	if s.Expired {
		b.WriteString("expired\n")
	}
	return b.String()
}

func answer(status int, body func() []byte) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != registry.EdgeReleasePath {
			return false
		}
		w.WriteHeader(status)
		_, _ = w.Write(body())
		return true
	}
}

// Whatever happens to the control plane, the way to it, the cache or the clocks:
// the edge serves the last good release, says what is wrong, and catches up when
// the fault is gone.
func TestControlPlaneFaults(t *testing.T) {
	t.Parallel()
	year := int64(365 * 24 * time.Hour)
	abort := func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	// blob answers for the layer of the newest bundle.
	blob := func(change func(w http.ResponseWriter, b []byte)) func(e *far) {
		return func(e *far) {
			e.p.set(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/toolsets/two/blobs/") {
					return false
				}
				rec := httptest.NewRecorder()
				e.p.srv.Handler().ServeHTTP(rec, r)
				change(w, rec.Body.Bytes())
				return true
			})
		}
	}
	type fault struct {
		name  string
		setUp func(e *far) // before the next release is published
		lift  func(e *far) // nil: the front is whole again
		says  string       // part of what the edge says
		lives bool         // the next release becomes live in spite of the fault
		gone  bool         // it never catches up: that is what was wanted
	}
	forged := func(build func(e *far) []byte) func(*far) {
		return func(e *far) {
			env := build(e)
			e.p.set(answer(http.StatusOK, func() []byte { return env }))
		}
	}
	faults := []fault{
		{name: "down", setUp: func(e *far) { e.p.set(abort) }, says: "EOF"},
		{name: "refused", setUp: func(e *far) { _ = e.p.http.Close() }, says: "refused"},
		{name: "slow", says: "no answer within", setUp: func(e *far) {
			e.p.set(func(w http.ResponseWriter, r *http.Request) bool {
				for r.Context().Err() == nil {
					if _, err := w.Write([]byte(" ")); err != nil {
						break
					}
					_ = http.NewResponseController(w).Flush()
					time.Sleep(10 * time.Millisecond) // this is the slowness
				}
				return true
			})
		}},
		{name: "hanging", says: "no answer within", setUp: func(e *far) {
			e.p.set(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
		}},
		{name: "resets mid-body", says: "unexpected EOF", setUp: func(e *far) {
			e.p.set(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != registry.EdgeReleasePath {
					return false
				}
				w.Header().Set("Content-Length", "5000")
				_, _ = w.Write(make([]byte, 2000))
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
		}},
		{name: "wrong certificate", says: "certificate", setUp: func(e *far) {
			e.p.certificate(e.p.stranger.issue(t, time.Now().Add(time.Hour)))
		}, lift: func(e *far) { e.p.certificate(e.p.authority.issue(t, time.Now().Add(time.Hour))) }},
		{name: "expired certificate", says: "expired", setUp: func(e *far) {
			e.p.certificate(e.p.authority.issue(t, time.Now().Add(-time.Minute)))
		}, lift: func(e *far) { e.p.certificate(e.p.authority.issue(t, time.Now().Add(time.Hour))) }},
		{
			name: "expired token", says: "clock of the edge", setUp: func(e *far) { e.p.clock.Store(int64(40 * 24 * time.Hour)); e.p.restart() },
			lift: func(e *far) { e.clock.Store(e.p.clock.Load()); e.p.restart() },
		},
		{name: "revoked edge", says: "revoked", gone: true, setUp: func(e *far) {
			if code, b := e.p.api("DELETE", "/v1/edges/far", ""); code != http.StatusNoContent {
				t.Errorf("revoke: %d %s", code, b)
			}
		}},
		{name: "zero-byte release", says: "envelope is empty", setUp: func(e *far) { e.p.set(answer(http.StatusOK, func() []byte { return nil })) }},
		{name: "truncated release", says: "cannot be read", setUp: forged(func(e *far) []byte {
			env := e.p.sign(e.p.key, 1, 50, nil)
			return env[:len(env)/2]
		})},
		{name: "unsigned release", says: "not signed", setUp: forged(func(e *far) []byte {
			var env map[string]any
			if err := json.Unmarshal(e.p.sign(e.p.key, 1, 50, nil), &env); err != nil {
				t.Error(err)
			}
			env["signatures"] = []any{}
			b, err := json.Marshal(env)
			if err != nil {
				t.Error(err)
			}
			return b
		})},
		{name: "wrong key", says: "no trusted key", setUp: forged(func(e *far) []byte {
			k, err := sign.GenerateKey(nil)
			if err != nil {
				t.Error(err)
			}
			return e.p.sign(k, 1, 50, nil)
		})},
		{name: "older epoch", says: "older than", setUp: forged(func(e *far) []byte { return e.p.sign(e.p.key, 1, 99, nil) })},
		{name: "older revision", says: "older than", setUp: forged(func(e *far) []byte { return e.p.sign(e.p.key, 2, 1, nil) })},
		{name: "same revision with other content", says: "two different releases", setUp: forged(func(e *far) []byte {
			s := e.Status()
			return e.p.sign(e.p.key, s.Epoch, s.Revision, nil)
		})},
		{name: "half blob", says: "does not match its digest", setUp: blob(func(w http.ResponseWriter, b []byte) { _, _ = w.Write(b[:len(b)/2]) })},
		{name: "wrong blob", says: "does not match its digest", setUp: blob(func(w http.ResponseWriter, b []byte) { b[len(b)/2] ^= 1; _, _ = w.Write(b) })},
		{name: "missing blob", says: "not found", setUp: blob(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusNotFound) })},
		{name: "corrupted cache", lives: true, setUp: func(e *far) {
			e.spoil(func(path string, b []byte) error { return os.WriteFile(path, b[:len(b)/2], 0o600) })
		}},
		{name: "unreadable cache", lives: true, setUp: func(e *far) {
			e.spoil(func(path string, _ []byte) error { // a directory in its place: unreadable for every user
				if err := os.Remove(path); err != nil {
					return err
				}
				return os.MkdirAll(filepath.Join(path, "x"), 0o700)
			})
		}},
		{name: "full disk", lives: true, says: "no space left", setUp: func(e *far) { e.disk.fail(errors.New("no space left on device")) }, lift: func(e *far) { e.disk.fail(nil) }},
		{name: "read-only disk", lives: true, says: "read-only file system", setUp: func(e *far) { e.disk.fail(errors.New("read-only file system")) }, lift: func(e *far) { e.disk.fail(nil) }},
		{name: "clock back a year", says: "not yet valid", setUp: func(e *far) { e.clock.Store(-year); e.p.restart() }, lift: func(e *far) { e.clock.Store(0) }},
		{name: "clock forward a year", says: "expired", setUp: func(e *far) { e.clock.Store(year); e.p.restart() }, lift: func(e *far) { e.clock.Store(0) }},
	}
	if len(faults) != 25 {
		t.Fatalf("%d faults are listed, not 25", len(faults))
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			// In epoch 2, so that there is an older one.
			p.put("one", "a")
			good, err := p.pub.NewEpoch(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "cache")
			e := p.enrol(dir, p.join(`{"allWorkspaces":true}`))
			e.persisted(good)

			f.setUp(e)
			next := p.deploy("two", "a")
			if f.lives {
				e.live(next)
			}
			e.until("saying what is wrong", func(s edge.Status) bool {
				if !s.Ready || !f.lives && s.Release != good.Digest() {
					t.Fatalf("does not serve the last good release: %+v", s)
				}
				return strings.Contains(e.said(), f.says)
			})
			switch {
			case f.gone:
				return
			case f.lift != nil:
				f.lift(e)
			case !f.lives:
				p.set(nil)
			}
			e.live(next)
			e.until("well again", func(s edge.Status) bool { return s.Following == nil && s.Cache == nil && s.Saved == next.Digest() })

			// And a restart without the control plane serves the same.
			e.stop()
			_ = p.http.Close()
			again := p.start(dir, &wire{Source: e.remote}, func(o *edge.Options) { o.Group, o.Keys = e.remote.Group(), e.remote.Trusted() })
			again.live(next)
		})
	}
}

// spoil stops the edge, changes its persisted release and starts it again: it
// must come up from the release before or from the control plane.
func (e *far) spoil(change func(path string, b []byte) error) {
	e.p.t.Helper()
	e.stop()
	path := filepath.Join(e.dir, "release.dsse.json")
	b, err := os.ReadFile(path)
	if err == nil {
		err = change(path, b)
	}
	if err != nil {
		e.p.t.Fatal(err)
	}
	e.node = e.p.start(e.dir, &wire{Source: e.remote}, func(o *edge.Options) {
		o.Group, o.Keys, o.System = e.remote.Group(), e.remote.Trusted(), e.disk
		o.PollTimeout = 1500 * time.Millisecond
	})
	e.until("up", func(s edge.Status) bool { return s.Ready })
}

func (d *disk) fail(err error) {
	if err == nil {
		d.err.Store(nil)
		return
	}
	d.err.Store(&err)
}

func (p *plane) certificate(c *tls.Certificate) {
	p.mu.Lock()
	p.cert = c
	p.mu.Unlock()
	p.restart()
}
