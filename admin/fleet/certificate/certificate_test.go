package certificate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluicegate/sluice/admin/fleet/domain"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/acmetest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

func opened(t *testing.T) (*store.Store, *secrets.Keyring) {
	t.Helper()
	ring, err := secrets.OpenFile(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st, ring
}

// answering makes an Authority whose http-01 challenges are answered.
func answering(t *testing.T, ca *acmetest.Authority, st *store.Store, ring *secrets.Keyring, change func(*Options)) *Authority {
	t.Helper()
	o := Options{Store: st, Keyring: ring, CA: ca.URL, Roots: ca.Roots, Challenges: []string{"http-01"}}
	if change != nil {
		change(&o)
	}
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// serve answers http-01 for whatever authority is current.
func serve(t *testing.T, ca *acmetest.Authority, current func() *Authority) {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(ca.HTTPPort)))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		c, err := current().Challenge(r.Context(), host)
		if err != nil || c == nil || !strings.HasSuffix(r.URL.Path, "/"+c.Token) {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(c.KeyAuthorization))
	})}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
}

// TestRenewal: a certificate near its end is renewed with a new key; while the authority is
// down the old one stays and says why; it is there after a restart; it can be revoked once.
func TestRenewal(t *testing.T) {
	ca := acmetest.New(t, 20*time.Second)
	st, ring := opened(t)
	const host = "tools.example.test"
	ca.SetA(host, "127.0.0.1")
	var a *Authority
	serve(t, ca, func() *Authority { return a })
	a = answering(t, ca, st, ring, nil)
	if err := a.Obtain(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	first, ok := a.Get(host)
	if !ok || !strings.Contains(first.PEM.Reveal(), "PRIVATE KEY") || !slices.Equal(a.Hosts(), []string{host}) {
		t.Fatalf("obtained %+v of %v", first, a.Hosts())
	}
	dump := dumped(t, st)
	if bytes.Contains(dump, []byte("PRIVATE KEY")) {
		t.Error("a private key is in the records in the clear")
	}
	b := answering(t, ca, st, ring, nil)
	if again, ok := b.Get(host); !ok || !again.PEM.Equal(first.PEM) {
		t.Error("a new process does not have the certificate")
	}

	until := func(what string, good func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !good(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not %s", what)
			}
			if err := a.RenewDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	ca.Set(acmetest.Down)
	until("failing", func() bool { return a.Fault(host) != nil })
	if now, _ := a.Get(host); !now.PEM.Equal(first.PEM) || !problem.Is(a.Fault(host), problem.Unreachable) {
		t.Errorf("while the authority is down: %v", a.Fault(host))
	}
	ca.Set(acmetest.Works)
	changed := a.Changed()
	if err := a.Obtain(t.Context(), host); err != nil { // as of one that has ended
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Error("nobody is notified of a renewal")
	}
	second, _ := a.Get(host)
	if second.PEM.Equal(first.PEM) || !second.NotAfter.After(first.NotAfter) || a.Fault(host) != nil {
		t.Errorf("renewed until %s, before until %s, %v", second.NotAfter, first.NotAfter, a.Fault(host))
	}
	if err := a.Revoke(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	if _, ok := a.Get(host); ok {
		t.Error("a certificate that was revoked is still there")
	}
	if err := a.Revoke(t.Context(), host); err != nil {
		t.Errorf("revoked again: %v", err)
	}
}

// TestRenewalByItself: what certmagic looks at from time to time is renewed without being
// asked for.
func TestRenewalByItself(t *testing.T) {
	ca := acmetest.New(t, 20*time.Second)
	st, ring := opened(t)
	const host = "itself.example.test" // certmagic remembers failures of others
	ca.SetA(host, "127.0.0.1")
	var a *Authority
	serve(t, ca, func() *Authority { return a })
	a = answering(t, ca, st, ring, func(o *Options) { o.Check = 500 * time.Millisecond })
	if err := a.Obtain(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	first, _ := a.Get(host)
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if now, _ := a.Get(host); now.NotAfter.After(first.NotAfter) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not renewed: %v", a.Fault(host))
		}
	}
}

// TestLimited: an authority that says that it was asked too often is not asked about that host
// again, by nobody and however often, before it may be; about others it is.
func TestLimited(t *testing.T) {
	ca := acmetest.New(t, 20*time.Second)
	st, ring := opened(t)
	const renewed, host, other = "renewed.example.test", "limited.example.test", "free.example.test"
	for _, h := range []string{renewed, host, other} {
		ca.SetA(h, "127.0.0.1")
	}
	var a *Authority
	serve(t, ca, func() *Authority { return a })
	a = answering(t, ca, st, ring, nil)
	if err := a.Obtain(t.Context(), renewed); err != nil {
		t.Fatal(err)
	}
	ca.Set(acmetest.Limited)
	before, started := ca.Orders(), time.Now()
	for range 5 {
		for _, ask := range []func() error{func() error { return a.Obtain(t.Context(), host) }, func() error { return a.Renew(t.Context(), renewed) }} {
			err := ask()
			soon, ok := errors.AsType[*domain.TooSoonError](err)
			if !ok || !problem.Is(err, problem.RateLimited) || soon.Until.Before(started.Add(limitedPause)) || soon.Until.After(time.Now().Add(limitedPause)) {
				t.Fatalf("%v", err)
			}
			if p := problem.As(err); !strings.Contains(p.Detail, "too many certificates already issued") || !strings.Contains(p.Remedy, "before "+soon.Until.UTC().Format(time.RFC3339)) {
				t.Errorf("%s; %s", p.Detail, p.Remedy)
			}
		}
	}
	if n := ca.Orders() - before; n != 2 {
		t.Errorf("the authority was asked %d times, want once for each host", n)
	}
	ca.Set(acmetest.Works)
	if err := a.Obtain(t.Context(), other); err != nil {
		t.Errorf("another host: %v", err)
	}
	if err := a.Obtain(t.Context(), host); !problem.Is(err, problem.RateLimited) {
		t.Errorf("asked too soon: %v", err)
	}
	limits := a.config.Issuers[0].(issuer).limits
	limits.by[host].Until = time.Now()
	if err := a.Obtain(t.Context(), host); err != nil {
		t.Errorf("when it may be asked again: %v", err)
	}
}

// TestLimitedUntil: what the text says counts, within a week.
func TestLimitedUntil(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for detail, want := range map[string]time.Duration{
		"too many certificates (5) already issued for this exact set of identifiers in the last 168h0m0s, retry after 2026-03-02 13:00:01 UTC: see https://letsencrypt.org/docs/rate-limits/": 25*time.Hour + time.Second,
		"retry after 2026-03-08 12:00:00 UTC": maxLimited,
		"retry after 2026-03-08 12:00:01 UTC": maxLimited,
		"retry after 2026-03-01 11:59:59 UTC": limitedPause,
		"retry after a while":                 limitedPause,
		"retry after yesterday, or tomorrow!": limitedPause,
		"":                                    limitedPause,
	} {
		if got := limitedUntil(detail, now).Sub(now); got != want {
			t.Errorf("%q: %s, want %s", detail, got, want)
		}
	}
}

// TestAccountLost: an authority that was set up anew knows the account no more, and gives the
// next certificate to another one.
func TestAccountLost(t *testing.T) {
	ca := acmetest.New(t, time.Hour)
	st, ring := opened(t)
	const first, second = "before.example.test", "after.example.test"
	ca.SetA(first, "127.0.0.1")
	ca.SetA(second, "127.0.0.1")
	var a *Authority
	serve(t, ca, func() *Authority { return a })
	a = answering(t, ca, st, ring, nil)
	if err := a.Obtain(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	ca.Forget()
	if err := a.Obtain(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if _, ok := a.Get(second); !ok {
		t.Error("there is no certificate")
	}
}

// TestAccountLostInRenewal: the fault that is shown until it is tried again names the cause.
func TestAccountLostInRenewal(t *testing.T) {
	a := &Authority{o: Options{CA: "https://ca.example/dir"}}
	if p := problem.As(a.faultOf(fmt.Errorf("renew: %w", errors.New(noChains)))); p == nil || !strings.Contains(p.Detail, "ca.example does not know the account") || p.Remedy == "" {
		t.Errorf("%v", p)
	}
}

func dumped(t *testing.T, st *store.Store) []byte {
	t.Helper()
	snap, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = snap.Close() }()
	var b bytes.Buffer
	if _, err := snap.Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCommand: dns-01 is answered by the operator's command.
func TestCommand(t *testing.T) {
	ca := acmetest.New(t, time.Hour)
	st, ring := opened(t)
	dir := t.TempDir()
	record := filepath.Join(dir, "record")
	script := filepath.Join(dir, "hook")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$@\" >> "+record+"\nwhile [ $1 = present ] && [ ! -e "+dir+"/seen ]; do sleep 0.05; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	go func() { // makes the record that the command asks for
		for t.Context().Err() == nil {
			if b, _ := os.ReadFile(record); len(b) > 0 {
				f := strings.Fields(string(b))
				ca.SetTXT(f[1], f[2])
				_ = os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	a := answering(t, ca, st, ring, func(o *Options) { o.Command, o.Challenges = script, nil })
	if err := a.Obtain(t.Context(), "tools.example.test"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(record)
	if err != nil || !strings.Contains(string(b), "present _acme-challenge.tools.example.test ") || !strings.Contains(string(b), "cleanup _acme-challenge.tools.example.test ") {
		t.Errorf("%s, %v", b, err)
	}

	f := func(output int, want string) {
		t.Helper()
		if err := os.WriteFile(script, []byte(fmt.Sprintf("#!/bin/sh\nprintf '%%0%dd' 7\nexit 3\n", output)), 0o700); err != nil {
			t.Fatal(err)
		}
		err := (&hook{script}).Present(t.Context(), acme.Challenge{Identifier: acme.Identifier{Type: "dns", Value: "a.b"}})
		if err == nil || !strings.Contains(err.Error(), "failed at present: exit status 3: "+want) || strings.Contains(err.Error(), want+"0") || strings.Contains(err.Error(), want+"7") {
			t.Errorf("%v", err)
		}
	}
	f(maxHookOutput, strings.Repeat("0", maxHookOutput-1)+"7")
	f(maxHookOutput+1, strings.Repeat("0", maxHookOutput))
}

// TestCommandIsApart: the operator's command has the environment but the node's secrets, and
// what it prints without end takes no memory.
func TestCommandIsApart(t *testing.T) {
	t.Setenv("SLUICE_DATABASE", "postgres://sluice:secret@db/x")
	t.Setenv("DNS_TOKEN", "mine")
	script := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nenv | grep -E '^(SLUICE|DNS)_'\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := (&hook{script}).Present(t.Context(), acme.Challenge{Identifier: acme.Identifier{Type: "dns", Value: "a.b"}})
	if err == nil || !strings.Contains(err.Error(), "DNS_TOKEN=mine") || strings.Contains(err.Error(), "SLUICE") {
		t.Errorf("%v", err)
	}
	var b beginning
	for range 1000 {
		if n, err := b.Write(make([]byte, 5000)); n != 5000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(b) > 4*(maxHookOutput+1) {
		t.Errorf("%d bytes are kept", len(b))
	}
}

func TestStorage(t *testing.T) {
	st, ring := opened(t)
	s := &storage{store: st, ring: ring, locks: map[string]*lock{}}
	ctx := t.Context()
	if err := s.Store(ctx, "a/b/c.crt", make([]byte, maxValueBytes)); err != nil {
		t.Error(err)
	}
	if err := s.Store(ctx, "a/d", make([]byte, maxValueBytes+1)); !problem.Is(err, problem.TooLarge) {
		t.Errorf("a value of more than %d bytes: %v", maxValueBytes, err)
	}
	if err := s.Store(ctx, "a/e", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Load(ctx, "a/e"); err != nil || string(b) != "secret" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := s.Load(ctx, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	list := func(path string, recursive bool, want ...string) {
		t.Helper()
		got, err := s.List(ctx, path, recursive)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	list("a", false, "a/b", "a/e")
	list("a", true, "a/b/c.crt", "a/e")
	list("", false, "a")
	if _, err := s.List(ctx, "x", true); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if i, err := s.Stat(ctx, "a/b"); err != nil || i.IsTerminal || !s.Exists(ctx, "a/b") || s.Exists(ctx, "a/bc") {
		t.Errorf("%+v, %v", i, err)
	}
	if i, err := s.Stat(ctx, "a/e"); err != nil || !i.IsTerminal || i.Size != 6 {
		t.Errorf("%+v, %v", i, err)
	}
	if err := s.Delete(ctx, "a/b"); err != nil || s.Exists(ctx, "a/b/c.crt") {
		t.Error(err)
	}
	if err := s.Lock(ctx, "l"); err != nil {
		t.Fatal(err)
	}
	other := &storage{store: st, ring: ring, locks: map[string]*lock{}}
	if ok, err := other.TryLock(ctx, "l"); ok || err != nil {
		t.Errorf("a lock has two holders: %v, %v", ok, err)
	}
	short, cancel := context.WithTimeout(ctx, 2*lockPause)
	defer cancel()
	if err := other.Lock(short, "l"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := s.Unlock(ctx, "l"); err != nil {
		t.Error(err)
	}
	if err := other.Lock(ctx, "l"); err != nil {
		t.Error(err)
	}
	if err := s.Unlock(ctx, "l"); err == nil {
		t.Error("a lock of another was freed")
	}
	other.close()
}

func TestOptions(t *testing.T) {
	st, ring := opened(t)
	f := func(want string, change func(*Options)) {
		t.Helper()
		o := Options{Store: st, Keyring: ring, CA: "https://ca.example/dir"}
		change(&o)
		err := o.complete()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f("", func(*Options) {})
	f("", func(o *Options) { o.CA = "letsencrypt" })
	f("", func(o *Options) { o.Command = "x" })
	f("required", func(o *Options) { o.Store = nil })
	f("is not the URL of a certificate authority", func(o *Options) { o.CA = "http://ca.example" })
	f("is not a challenge", func(o *Options) { o.Challenges = []string{"http"} })
	f("needs a command", func(o *Options) { o.Challenges = []string{"dns-01"} })
	f("dns-01 is not used", func(o *Options) { o.Command, o.Challenges = "x", []string{"http-01"} })
}
