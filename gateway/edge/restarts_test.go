package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/internal/freeport"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// Size of [TestRestartsBehindSlowRegistry]; make chaos runs the full one.
var (
	fleetEdges    = flag.Int("fleet.edges", 4, "edges of TestRestartsBehindSlowRegistry")
	fleetRestarts = flag.Int("fleet.restarts", 2, "restarts of its control plane")
	fleetLatency  = flag.Duration("fleet.latency", 20*time.Millisecond, "time that its registry takes for a request")
)

// slowRegistry takes its time to read.
type slowRegistry struct {
	oci.Backend

	latency time.Duration
}

func (s slowRegistry) wait(ctx context.Context) error {
	select {
	case <-time.After(s.latency): // this is the slowness
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slowRegistry) FetchBlob(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Backend.FetchBlob(ctx, repository, d, limit)
}

func (s slowRegistry) FetchManifest(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Backend.FetchManifest(ctx, repository, d, limit)
}

func (s slowRegistry) ResolveTag(ctx context.Context, repository, tag string) (registry.Digest, error) {
	if err := s.wait(ctx); err != nil {
		return "", err
	}
	return s.Backend.ResolveTag(ctx, repository, tag)
}

// control is a control plane on a directory, which can be restarted.
type control struct {
	t       *testing.T
	dir     string
	addr    string
	st      *store.Store
	backend *server.Store
	token   secrets.Secret
	srv     *admin.Server
	stop    func()

	mu      sync.Mutex
	answers map[string]int // guarded by mu; whole answers of credentials since the start, by edge token
	refused int            // guarded by mu; 503 since the start
}

func newControl(t *testing.T) *control {
	t.Helper()
	c := &control{t: t, dir: t.TempDir(), addr: freeport.Addr(t)}
	var err error
	if c.st, err = store.Open(t.Context(), store.Options{Path: filepath.Join(c.dir, "s.db")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.st.Close() })
	if err := c.st.EnsureWorkspace(t.Context(), "default", "Default"); err != nil {
		t.Fatal(err)
	}
	if c.token, err = people.EnsureToken(t.Context(), c.st, "default", "test", secrets.Secret{}); err != nil {
		t.Fatal(err)
	}
	if c.backend, err = server.Open(server.Options{Dir: filepath.Join(c.dir, "registry"), System: atomicfiletest.Fast()}); err != nil {
		t.Fatal(err)
	}
	c.start(0)
	t.Cleanup(func() { c.stop() })
	return c
}

// start starts a process of the control plane: it knows what is on disk and in the
// registry, nothing else.
func (c *control) start(latency time.Duration) {
	c.t.Helper()
	ctx := context.WithoutCancel(c.t.Context())
	must := func(err error) {
		c.t.Helper()
		if err != nil {
			c.t.Fatal(err)
		}
	}
	key, err := sign.OpenKey(filepath.Join(c.dir, "release.key"))
	must(err)
	ring, err := secrets.OpenFile(filepath.Join(c.dir, "master.key"))
	must(err)
	pub, err := publish.New(ctx, publish.Options{Store: oci.NewStore(slowRegistry{c.backend, latency}), Records: c.st, ReleaseKey: key})
	must(err)
	srv, err := admin.New(ctx, admin.Options{
		Store: c.st, Keyring: ring, Publisher: pub, Fetcher: noFetcher{}, GatewayURL: "http://127.0.0.1:1", Registry: c.backend,
	})
	must(err)
	ln, err := net.Listen("tcp", c.addr)
	must(err)
	c.mu.Lock()
	c.addr, c.srv, c.answers, c.refused = ln.Addr().String(), srv, map[string]int{}, 0
	c.mu.Unlock()
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := &statusWriter{ResponseWriter: w, code: http.StatusOK}
		srv.Handler().ServeHTTP(status, r)
		if r.URL.Path == registry.EdgeCredentialsPath {
			c.mu.Lock()
			defer c.mu.Unlock()
			if status.code == http.StatusServiceUnavailable {
				c.refused++
			} else if status.code < 400 {
				c.answers[r.Header.Get("Authorization")]++
			}
		}
	})}
	run, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { _ = srv.Run(run, time.Second) })
	done.Go(func() { _ = web.Serve(ln) })
	c.stop = func() { _ = web.Close(); cancel(); done.Wait() }
}

type statusWriter struct {
	http.ResponseWriter

	code int
}

func (w *statusWriter) WriteHeader(code int) { w.code = code; w.ResponseWriter.WriteHeader(code) }

func (c *control) api(method, path string, in, out any) {
	c.t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		c.t.Fatal(err)
	}
	r := httptest.NewRequest(method, path, strings.NewReader(string(b)))
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	c.srv.Handler().ServeHTTP(w, r)
	if w.Code/100 != 2 {
		c.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if out != nil {
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			c.t.Fatal(err)
		}
	}
}

const keyedSpec = `{"openapi":"3.0.3","info":{"title":"%s","version":"1"},"servers":[{"url":"https://api.example.com"}],
"paths":{"/things":{"get":{"operationId":"list_things","responses":{"200":{"description":"ok"}}}}}}`

// keyed makes a live toolset with a key and returns its id.
func (c *control) keyed(name, key string) string {
	c.t.Helper()
	var made change.CreatedToolset
	c.api("POST", "/v1/toolsets", map[string]any{"name": name, "source": map[string]any{"openapi": map[string]any{"document": fmt.Sprintf(keyedSpec, name)}}}, &made)
	c.rotate(made.ID, key)
	c.api("POST", "/v1/toolsets/"+made.ID+"/deploy", map[string]any{"reason": "a test"}, nil)
	return made.ID
}

func (c *control) rotate(id, key string) {
	c.t.Helper()
	c.api("PUT", "/v1/toolsets/"+id+"/authentication", map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": key}, nil)
}

// member is one edge of the fleet.
type member struct {
	remote *edge.Remote
	vault  atomic.Pointer[edge.Vault]
	state  atomic.Pointer[edge.State]
	halt   func()
}

// join enrols an edge and runs it.
func (c *control) join(dir string, token secrets.Secret) *member {
	c.t.Helper()
	transport := &http.Transport{}
	c.t.Cleanup(transport.CloseIdleConnections)
	m := &member{}
	var err error
	m.remote, err = edge.OpenRemote(edge.RemoteOptions{
		ControlPlane: "http://" + c.addr, Dir: dir, Name: "far", System: atomicfiletest.Fast(), Client: &http.Client{Transport: transport},
		JoinToken: func() (secrets.Secret, error) { return token, nil },
	})
	if err == nil {
		err = m.remote.Enrol(c.t.Context())
	}
	if err != nil {
		c.t.Fatal(err)
	}
	m.run(c.t, dir)
	c.t.Cleanup(func() { m.halt() })
	return m
}

// run starts the edge on what is in its directory.
func (m *member) run(t *testing.T, dir string) {
	t.Helper()
	v := edge.OpenVault(m.remote)
	f, err := edge.New(edge.Options{
		Source: m.remote, Dir: dir, Group: m.remote.Group(), Keys: m.remote.Trusted(), System: atomicfiletest.Fast(), Prepare: v.Prepare,
		Apply: func(s *edge.State) error { v.Serve(s); m.state.Store(s); return nil },
	})
	if err == nil {
		err = f.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	m.vault.Store(v)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() { _ = f.Run(ctx) })
	done.Go(func() { _ = v.Run(ctx) })
	m.halt = func() { cancel(); done.Wait() }
}

// call does what a call does before it is sent: it takes the credential of each
// connector of the live release.
func (m *member) call(good func(value string) bool) (calls int, err error) {
	s, v := m.state.Load(), m.vault.Load()
	if err := v.Missing(); err != nil {
		return 1, err
	}
	for _, t := range s.Toolsets {
		for i := range t.Bundle.Connectors {
			for _, a := range t.Bundle.Connectors[i].Auth.Each() {
				calls++
				c, cerr := v.Credential(a.CredentialID)
				if cerr == nil && !good(c.Value.Reveal()) {
					cerr = errors.New("the credential has a value that it never had, or no more")
				}
				err = errors.Join(err, cerr)
			}
		}
	}
	return calls, err
}

// Edges of a control plane that is restarted again and again, with a registry that is
// slow, never are without a credential of their release: not while it reads what their
// release needs, and not over restarts of their own.
func TestRestartsBehindSlowRegistry(t *testing.T) {
	const toolsets, rotateEvery = 3, 2
	c := newControl(t)
	var mu sync.Mutex
	good := map[string]bool{} // guarded by mu; values that a credential may have now
	accept := func(values ...string) {
		mu.Lock()
		defer mu.Unlock()
		for _, v := range values {
			good[v] = true
		}
	}
	var ids []string
	value := func(toolset, generation int) string {
		return fmt.Sprintf("key-of-%d-generation-%d", toolset, generation)
	}
	for i := range toolsets {
		accept(value(i, 0))
		ids = append(ids, c.keyed(fmt.Sprintf("toolset %d", i), value(i, 0)))
	}
	var join fleet.JoinToken
	c.api("POST", "/v1/edges/join-tokens", map[string]any{"labels": map[string]string{"region": "eu"}, "maxUses": *fleetEdges}, &join)
	base := t.TempDir()
	dir := func(i int) string { return filepath.Join(base, fmt.Sprint(i)) }
	fleet := make([]*member, *fleetEdges)
	for i := range fleet {
		fleet[i] = c.join(dir(i), secrets.New(join.Token))
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); !ok(); {
			if time.Now().After(deadline) {
				t.Fatalf("not %s", what)
			}
			time.Sleep(5 * time.Millisecond) // the fleet is of other goroutines
		}
	}
	until("live everywhere", func() bool {
		for _, m := range fleet {
			if s := m.state.Load(); s == nil || len(s.Toolsets) != toolsets || m.vault.Load().Missing() != nil {
				return false
			}
		}
		return true
	})

	var calls, failed atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	callers.Go(func() {
		for ctx.Err() == nil {
			for _, m := range fleet {
				n, err := m.call(func(v string) bool { mu.Lock(); defer mu.Unlock(); return good[v] })
				calls.Add(int64(n))
				if err != nil && failed.Add(1) <= 5 {
					t.Errorf("a call failed: %v", err)
				}
			}
			time.Sleep(time.Millisecond) // the fleet needs the processors too
		}
	})
	refused := 0
	for n := 1; n <= *fleetRestarts; n++ {
		c.stop()
		// An edge that is started again while the control plane is gone has its credentials.
		m := fleet[n%len(fleet)]
		m.halt()
		m.run(t, dir(n%len(fleet)))
		c.start(*fleetLatency)
		until("answered everywhere", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.answers) >= len(fleet)
		})
		c.mu.Lock()
		refused += c.refused
		c.mu.Unlock()
		if n%rotateEvery != 0 {
			continue
		}
		k := n / rotateEvery % toolsets
		next := value(k, n)
		accept(next)
		c.rotate(ids[k], next)
		until("rotated everywhere", func() bool {
			for _, m := range fleet {
				if _, err := m.call(func(v string) bool { return v == next || !strings.HasPrefix(v, fmt.Sprintf("key-of-%d-", k)) }); err != nil {
					return false
				}
			}
			return true
		})
		mu.Lock()
		for v := range good {
			if v != next && strings.HasPrefix(v, fmt.Sprintf("key-of-%d-", k)) {
				delete(good, v)
			}
		}
		mu.Unlock()
	}
	cancel()
	callers.Wait()
	t.Logf("%d edges, %d restarts, %s a request of the registry: %d calls, %d failed, %d answers of not yet",
		len(fleet), *fleetRestarts, *fleetLatency, calls.Load(), failed.Load(), refused)
	if calls.Load() == 0 {
		t.Error("no call was made")
	}
}
