package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/http1"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// database is what members share, in memory.
type database struct {
	mu      sync.Mutex
	leader  *store.Leader
	number  uint64
	members map[string]bool
}

func (d *database) Leader(context.Context) (*store.Leader, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.leader, nil
}

func (d *database) Seen(_ context.Context, m *store.ClusterMember) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.members == nil {
		d.members = map[string]bool{}
	}
	d.members[m.Name] = true
	return nil
}

func (d *database) Gone(_ context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.members, name)
	return nil
}

// term is the lock, taken once.
type term struct {
	*database

	number uint64
}

func (d *database) take() *term {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.number++
	d.leader = &store.Leader{Number: d.number}
	return &term{d, d.number}
}

func (t *term) Term() uint64 { return t.number }

func (t *term) Announce(_ context.Context, l *store.Leader) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.Number != t.database.number {
		return problem.New(problem.Unavailable, "replaced")
	}
	t.leader = l
	return nil
}

func ringOf(t *testing.T, letter string) *secrets.Keyring {
	t.Helper()
	k, err := secrets.Parse(secrets.New(strings.Repeat(letter, 64)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// member is a control plane with a real listener, as a node has one.
type member struct {
	*Front

	url  string
	http *http.Client // as one that trusts the member
}

type settings struct {
	tls     bool
	ring    *secrets.Keyring
	proxies forwarded.Proxies
	pin     string // instead of the certificate's
	release string
	reload  func() (*secrets.Keyring, error)
	guard   bool
}

func (d *database) member(t *testing.T, s settings) *member {
	t.Helper()
	var m member
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.ServeHTTP(w, r) }))
	var config *tls.Config
	scheme := "http"
	if s.tls {
		aside := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
		defer aside.Close()
		config, scheme = &tls.Config{Certificates: aside.TLS.Certificates}, "https"
		if s.pin == "" {
			s.pin = Pin(aside.Certificate().Raw)
		}
	}
	m.url = scheme + "://" + srv.Listener.Addr().String()
	srv.Listener = http1.Listen(srv.Listener, http1.Options{HeadBytes: 64 << 10, HeadTime: 10 * time.Second, TLS: config, Bodies: true, Conns: 1000})
	srv.Config.ConnState = http1.ConnState
	if s.ring == nil {
		s.ring = ringOf(t, "a")
	}
	if s.release == "" {
		s.release = "r1"
	}
	var err error
	m.Front, err = New(Options{
		URL: m.url, Version: "1", Records: d, Keyring: s.ring, Keys: map[string][]string{"release": {s.release}}, Pin: func() string { return s.pin },
		Hosts: []string{"127.0.0.1", "Control.example"}, Proxies: s.proxies,
		Reload: s.reload, Guard: s.guard, Remedy: func(host string) string { return "copy the folder keys from " + host },
	})
	if err != nil {
		t.Fatal(err)
	}
	m.still = 500 * time.Millisecond
	go func() { _ = srv.Config.Serve(srv.Listener) }() // it ends with the listener
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	m.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 20 * time.Second}
	t.Cleanup(func() {
		cancel()
		<-done
		_ = srv.Config.Close()
	})
	return &m
}

// leads makes a member the leader.
func (d *database) leads(t *testing.T, m *member, api http.Handler) *term {
	t.Helper()
	l := d.take()
	if err := m.Lead(t.Context(), l, api); err != nil {
		t.Fatal(err)
	}
	return l
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) { // another goroutine asks a clock
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// seen is what an API says of a request.
type seen struct {
	By, Method, URI, Host, Client, Via, Pass, Body string
	TLS, Checked                                   bool
	Header                                         http.Header
}

func api(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/livez" {
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(seen{
			By: name, Method: r.Method, URI: r.RequestURI, Host: r.Host, Client: r.RemoteAddr, Via: r.Header.Get("Via"), Pass: r.Header.Get(passHeader),
			Body: string(b), TLS: r.TLS != nil, Checked: HostChecked(r.Context()), Header: r.Header,
		})
	})
}

func (m *member) do(t *testing.T, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, m.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	res, err := m.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func (m *member) ask(t *testing.T, method, path, body string, header ...string) (s seen) {
	t.Helper()
	res, text := m.do(t, method, path, body, header...)
	if err := json.Unmarshal([]byte(text), &s); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s", method, path, res.Status, text)
	}
	return s
}
