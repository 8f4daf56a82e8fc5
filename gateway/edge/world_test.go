package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// world is a control plane: a registry on disk, records and a publisher.
type world struct {
	t       testing.TB
	dir     string
	store   *oci.Store
	backend *server.Store
	key     *sign.Key
	pub     *publish.Publisher
	source  *oci.Source

	mu   sync.Mutex
	live map[string]registry.ReleaseToolset
}

func (w *world) Live(context.Context, string) ([]registry.ReleaseToolset, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []registry.ReleaseToolset
	for _, t := range w.live {
		out = append(out, t)
	}
	return out, nil
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), live: map[string]registry.ReleaseToolset{}}
	var err error
	if w.backend, err = server.Open(server.Options{Dir: w.dir, System: atomicfiletest.Fast()}); err != nil {
		t.Fatal(err)
	}
	w.store = oci.NewStore(w.backend)
	if w.key, err = sign.GenerateKey(nil); err != nil {
		t.Fatal(err)
	}
	w.source = oci.NewSource(w.store, publish.DefaultGroup, time.Hour)
	w.pub, err = publish.New(context.Background(), publish.Options{
		Store: w.store, Records: w, ReleaseKey: w.key, Notify: w.source.Wake,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// connectorModule makes a module by hand; text makes it differ.
func connectorModule(t testing.TB, name, text string) []byte {
	t.Helper()
	plan := operation.Plan{Version: operation.PlanVersion, Method: "GET", Path: "/things"}
	m := manifest.Manifest{
		FormatVersion: manifest.FormatVersion, Kind: manifest.Connector, Name: name, Version: "1", Title: name, Generator: "sluice",
		Upstream: &manifest.Upstream{Servers: []manifest.Server{{URL: "https://api.example.com"}}},
	}
	for i := range 10 {
		m.Tools = append(m.Tools, manifest.Tool{
			Name: "list_" + strconv.Itoa(i), Description: text, Method: "GET", Path: "/things/" + strconv.Itoa(i), Program: -1,
			InputSchema: json.RawMessage(`{"type":"object","properties":{}}`), Request: plan.Append(nil),
		})
	}
	module, err := engine.Link(nil, manifest.Section, m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func (w *world) pushConnector(name, text string) registry.ConnectorRef {
	w.t.Helper()
	a, err := oci.New(oci.KindPlugin, connectorModule(w.t, name, text), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	repository := "acme/connectors/" + name
	if err := w.store.Push(context.Background(), repository, "", a); err != nil {
		w.t.Fatal(err)
	}
	return registry.ConnectorRef{Name: "main", Repository: repository, Manifest: a.Digest(), Digest: a.LayerDigest()}
}

// put makes a toolset what is to be live, without a release.
func (w *world) put(slug, text string) registry.ReleaseToolset {
	w.t.Helper()
	ref := w.pushConnector(slug, text)
	b, err := w.pub.Bundle(context.Background(), &registry.Toolset{
		Workspace: "acme", ID: "ts_" + slug, Slug: slug, Name: slug + " " + text,
		Connectors: []registry.ConnectorRef{ref}, Access: registry.Access{Mode: registry.AccessNone},
	}, nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := registry.ReleaseToolset{
		ID: "ts_" + slug, Workspace: "acme", Slug: slug, Revision: w.live[slug].Revision + 1, Repository: b.Repository, Bundle: b.Digest,
	}
	w.live[slug] = t
	return t
}

func (w *world) release() *sign.Release {
	w.t.Helper()
	r, err := w.pub.Release(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) deploy(slug, text string) *sign.Release {
	w.t.Helper()
	w.put(slug, text)
	return w.release()
}

// sign makes a release as the control plane could have, without publishing it.
func (w *world) sign(key *sign.Key, epoch, revision uint64, toolsets []registry.ReleaseToolset) []byte {
	w.t.Helper()
	now := time.Now()
	env, err := sign.SignRelease(key, &registry.Release{
		Group: "default", Epoch: epoch, Revision: revision, Issued: now, Expires: now.Add(time.Hour),
		Trusted: w.pub.Trusted(), Toolsets: toolsets,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return env
}

// withAccess makes a release that lists the first toolset of another with an access
// document.
func (w *world) withAccess(of *sign.Release, d *registry.AccessDocument) []byte {
	w.t.Helper()
	ts := of.Release().Toolsets[0]
	d.FormatVersion, d.Mode = registry.AccessFormat, registry.AccessToken
	var err error
	if ts.Access, err = w.pub.Access(context.Background(), ts.Repository, d); err != nil {
		w.t.Fatal(err)
	}
	return w.sign(w.key, 1, of.Release().Revision+1, []registry.ReleaseToolset{ts})
}

// blobPath is where the control plane keeps content.
func (w *world) blobPath(d registry.Digest) string {
	return filepath.Join(w.dir, "blobs", "sha256", d.Hex())
}

func overwrite(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wire is the way to the control plane; every field breaks it in one way.
type wire struct {
	edge.Source

	mu       sync.Mutex
	release  func(ctx context.Context, known registry.Digest) ([]byte, error)
	artifact func(ctx context.Context, repository string, d registry.Digest, k oci.Kind) (*oci.Artifact, error)
	asked    []registry.Digest // artifacts
}

func (x *wire) Release(ctx context.Context, known registry.Digest) ([]byte, error) {
	x.mu.Lock()
	f := x.release
	x.mu.Unlock()
	if f != nil {
		return f(ctx, known)
	}
	return x.Source.Release(ctx, known)
}

func (x *wire) Artifact(ctx context.Context, repository string, d registry.Digest, k oci.Kind) (*oci.Artifact, error) {
	x.mu.Lock()
	x.asked = append(x.asked, d)
	f := x.artifact
	x.mu.Unlock()
	if f != nil {
		return f(ctx, repository, d, k)
	}
	return x.Source.Artifact(ctx, repository, d, k)
}

func (x *wire) set(release func(context.Context, registry.Digest) ([]byte, error)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.release = release
}

var errDown = errors.New("connection refused")

func down(context.Context, registry.Digest) ([]byte, error) { return nil, errDown }

// node is an edge under test.
type node struct {
	*edge.Follower

	t      testing.TB
	dir    string
	wire   *wire
	states chan *edge.State // every state that became live
	stop   func()
}

// start runs a follower on a cache directory until the test ends or stop.
func (w *world) start(dir string, x *wire, change ...func(*edge.Options)) *node {
	w.t.Helper()
	if x == nil {
		x = &wire{Source: w.source}
	}
	n := &node{t: w.t, dir: dir, wire: x, states: make(chan *edge.State, 1000)}
	opts := edge.Options{
		Source: x, Dir: dir, Keys: w.pub.Trusted(),
		Apply:    func(s *edge.State) error { n.states <- s; return nil },
		MinRetry: time.Millisecond, MaxRetry: 4 * time.Millisecond,
		System: atomicfiletest.Fast(),
	}
	for _, f := range change {
		f(&opts)
	}
	var err error
	if n.Follower, err = edge.New(opts); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := n.Run(ctx); !errors.Is(err, context.Canceled) {
			w.t.Errorf("Run ended with %v", err)
		}
	}()
	n.stop = func() { cancel(); <-done }
	w.t.Cleanup(n.stop)
	return n
}

// until waits for the node to say what is asked; the test's deadline ends it.
func (n *node) until(what string, ok func(edge.Status) bool) edge.Status {
	n.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		s := n.Status()
		if ok(s) {
			return s
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("not %s: %+v", what, s)
		}
		time.Sleep(200 * time.Microsecond) // the node is another goroutine of the real world: disk and scheduler
	}
}

func (n *node) live(r *sign.Release) edge.Status {
	n.t.Helper()
	return n.until("at release "+strconv.FormatUint(r.Release().Revision, 10), func(s edge.Status) bool {
		return s.Ready && s.Release == r.Digest()
	})
}

// persisted waits until the release is on disk as well.
func (n *node) persisted(r *sign.Release) {
	n.t.Helper()
	n.live(r)
	n.until("persisted", func(s edge.Status) bool { return s.Saved == r.Digest() })
	if b, err := os.ReadFile(filepath.Join(n.dir, "release.dsse.json")); err != nil || !r.Digest().Matches(b) {
		n.t.Fatalf("said to be persisted: %v", err)
	}
}

func (n *node) next() *edge.State {
	n.t.Helper()
	select {
	case s := <-n.states:
		return s
	case <-time.After(20 * time.Second):
		n.t.Fatalf("no state: %+v", n.Status())
		return nil
	}
}

// newest drains the states and returns the last.
func (n *node) newest() *edge.State {
	s := n.next()
	for len(n.states) > 0 {
		s = <-n.states
	}
	return s
}

func slugs(s *edge.State) []string {
	var out []string
	for _, t := range s.Toolsets {
		out = append(out, t.Slug)
	}
	slices.Sort(out)
	return out
}
