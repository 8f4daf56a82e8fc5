package publish_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// records is what is live, in memory.
type records struct {
	mu   sync.Mutex
	live []registry.ReleaseToolset
	err  error
}

func (r *records) Live(context.Context, string) ([]registry.ReleaseToolset, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]registry.ReleaseToolset(nil), r.live...), r.err
}

func openStore(t testing.TB, dir string) *oci.Store {
	t.Helper()
	s, err := server.Open(server.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return oci.NewStore(s)
}

func newKey(t testing.TB) *sign.Key {
	t.Helper()
	k, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newPublisher(t testing.TB, store *oci.Store, key *sign.Key, r publish.Records, notify func()) *publish.Publisher {
	t.Helper()
	p, err := publish.New(t.Context(), publish.Options{Store: store, ReleaseKey: key, Records: r, Notify: notify})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// connector pushes a module made by hand and returns how a toolset binds it.
func connector(t testing.TB, store *oci.Store, name, text string) registry.ConnectorRef {
	t.Helper()
	ref, err := pushConnector(store, name, text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func pushConnector(store *oci.Store, name, text string) (registry.ConnectorRef, error) {
	m := manifest.Manifest{
		FormatVersion: manifest.FormatVersion, Kind: manifest.Connector, Name: name, Version: "1", Description: text,
		Upstream: &manifest.Upstream{Servers: []manifest.Server{{URL: "https://api.example.com"}}},
		Tools: []manifest.Tool{{
			Name: "list_things", Description: "Lists things.", Method: "GET", Path: "/things", Program: -1,
			InputSchema: []byte(`{"type":"object","properties":{}}`), Request: []byte(`{"v":1,"method":"GET","path":"/things"}`),
		}},
	}
	module, err := engine.Link(nil, manifest.Section, m.Append(nil))
	if err != nil {
		return registry.ConnectorRef{}, err
	}
	a, err := oci.New(oci.KindPlugin, module, nil)
	if err != nil {
		return registry.ConnectorRef{}, err
	}
	repository := "acme/connectors/" + name
	ref := registry.ConnectorRef{Name: "main", Repository: repository, Manifest: a.Digest(), Digest: a.LayerDigest()}
	return ref, store.Push(context.Background(), repository, "", a)
}

func toolset(slug, name string, c registry.ConnectorRef) *registry.Toolset {
	return &registry.Toolset{
		Workspace: "acme", ID: "ts_" + slug, Slug: slug, Name: name,
		Connectors: []registry.ConnectorRef{c}, Access: registry.Access{Mode: registry.AccessNone},
	}
}

// bundle stores a toolset and returns the line a release lists it with.
func bundle(t testing.TB, p *publish.Publisher, ts *registry.Toolset) registry.ReleaseToolset {
	t.Helper()
	b, err := p.Bundle(context.Background(), ts, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return registry.ReleaseToolset{
		ID: ts.ID, Workspace: ts.Workspace, Slug: ts.Slug, Revision: 1, Repository: b.Repository, Bundle: b.Digest,
	}
}

func TestFirstReleaseIsEmpty(t *testing.T) {
	store, key := openStore(t, t.TempDir()), newKey(t)
	told := 0
	p := newPublisher(t, store, key, &records{}, func() { told++ })
	first := p.Current()
	r := first.Release()
	if r.Epoch != 1 || r.Revision != 1 || len(r.Toolsets) != 0 || r.Expires.Sub(r.Issued) != publish.DefaultLifetime || told != 1 {
		t.Fatalf("first release %+v, told %d times", r, told)
	}
	if len(r.Trusted) != 1 || r.Trusted[0].KeyID != key.ID() {
		t.Fatalf("trusted %+v", r.Trusted)
	}
	again := newPublisher(t, store, key, &records{}, nil).Current()
	if again.Digest() != first.Digest() {
		t.Fatal("the second start made another first release")
	}
	_, err := publish.New(t.Context(), publish.Options{Store: store, ReleaseKey: newKey(t), Records: &records{}})
	if !problem.Is(err, problem.InvalidRelease) || !strings.Contains(err.Error(), "key file") {
		t.Fatalf("another key: %v", err)
	}
}

func TestRelease(t *testing.T) {
	dir := t.TempDir()
	store, key, rec := openStore(t, dir), newKey(t), &records{}
	told := 0
	p := newPublisher(t, store, key, rec, func() { told++ })
	c := connector(t, store, "things", "")
	one := bundle(t, p, toolset("one", "One", c))
	if same := bundle(t, p, toolset("one", "One", c)); same != one {
		t.Fatalf("the same toolset gives %+v and %+v", one, same)
	}
	rec.live = []registry.ReleaseToolset{one}
	r, err := p.Release(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Release().Revision != 2 || len(r.Release().Toolsets) != 1 || r.Release().Toolsets[0] != one || p.Current() != r || told != 2 {
		t.Fatalf("release %+v, told %d", r.Release(), told)
	}
	// Nothing changed: nothing is made.
	if again, err := p.Release(t.Context()); err != nil || again != r || told != 2 {
		t.Fatalf("unchanged: %v, %v, told %d", again, err, told)
	}
	// What edges read is it.
	d, err := store.Resolve(t.Context(), oci.ReleaseRepository("default"), oci.TagLatest)
	if err != nil {
		t.Fatal(err)
	}
	a, err := store.Pull(t.Context(), oci.ReleaseRepository("default"), d, oci.KindRelease)
	if err != nil || a.LayerDigest() != r.Digest() {
		t.Fatalf("the tag is at %v, %v; want %s", a, err, r.Digest())
	}
	if by, err := store.Resolve(t.Context(), oci.ReleaseRepository("default"), "1.2"); err != nil || by != d {
		t.Fatalf("the tag of the revision: %s, %v", by, err)
	}
	e, err := p.NewEpoch(t.Context())
	if err != nil || e.Release().Epoch < 2 || e.Release().Revision != 3 || len(e.Release().Toolsets) != 1 {
		t.Fatalf("new epoch: %+v, %v", e, err)
	}
	if again := newPublisher(t, openStore(t, dir), key, rec, nil).Current(); again.Digest() != e.Digest() {
		t.Fatal("a restart does not go on from the newest release")
	}
	opened, err := p.Open(t.Context(), c.Repository, c.Manifest)
	if err != nil || opened.Name() != "things" {
		t.Fatalf("Open = %v, %v", opened, err)
	}
}

// What cannot be served is never released; the newest release stays.
// pushes counts what a registry is sent.
type pushes struct {
	oci.Backend
	blobs, manifests int
}

func (p *pushes) PutBlob(ctx context.Context, repository string, d registry.Digest, b []byte) error {
	p.blobs++
	return p.Backend.PutBlob(ctx, repository, d, b)
}

func (p *pushes) PutManifest(ctx context.Context, repository, tag string, d registry.Digest, mediaType string, b []byte) error {
	p.manifests++
	return p.Backend.PutManifest(ctx, repository, tag, d, mediaType, b)
}

// A release is sent once and gets two tags, and what edges find by both is it.
func TestReleaseIsPushedOnce(t *testing.T) {
	back, err := server.Open(server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	sent, rec := &pushes{Backend: back}, &records{}
	store := oci.NewStore(sent)
	p := newPublisher(t, store, newKey(t), rec, nil)
	c := connector(t, store, "things", "")
	for i, slug := range []string{"one", "two", "three"} {
		rec.live = append([]registry.ReleaseToolset{bundle(t, p, toolset(slug, slug, c))}, rec.live...)
		sent.blobs, sent.manifests = 0, 0
		r, err := p.Release(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if sent.blobs != 2 || sent.manifests != 2 {
			t.Errorf("%d blobs and %d manifests were pushed, want the configuration, the release and two tags", sent.blobs, sent.manifests)
		}
		for _, tag := range []string{oci.TagLatest, fmt.Sprintf("1.%d", i+2)} {
			d, err := store.Resolve(t.Context(), oci.ReleaseRepository(publish.DefaultGroup), tag)
			if err != nil {
				t.Fatal(err)
			}
			a, err := store.Pull(t.Context(), oci.ReleaseRepository(publish.DefaultGroup), d, oci.KindRelease)
			if err != nil || a.LayerDigest() != r.Digest() {
				t.Errorf("tag %s: %v, %v", tag, a.LayerDigest(), err)
			}
		}
		// In another order nothing has changed.
		slices.Reverse(rec.live)
		if again, err := p.Release(t.Context()); err != nil || again != r {
			t.Errorf("the same toolsets in another order made release %d, %v", again.Release().Revision, err)
		}
	}
}

func TestReleaseRefuses(t *testing.T) {
	dir := t.TempDir()
	store, rec := openStore(t, dir), &records{}
	p := newPublisher(t, store, newKey(t), rec, nil)
	good := bundle(t, p, toolset("good", "Good", connector(t, store, "good", "")))
	rec.live = []registry.ReleaseToolset{good}
	last, err := p.Release(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := func(name, want string, bad func() registry.ReleaseToolset) {
		t.Helper()
		rec.live = []registry.ReleaseToolset{good, bad()}
		r, err := p.Release(t.Context())
		if r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%s: %v, %v; want %q", name, r, err, want)
		}
		d, err := store.Resolve(t.Context(), oci.ReleaseRepository("default"), oci.TagLatest)
		if err != nil || p.Current() != last {
			t.Fatalf("%s: the newest release changed, %v", name, err)
		}
		if a, err := store.Pull(t.Context(), oci.ReleaseRepository("default"), d, oci.KindRelease); err != nil || a.LayerDigest() != last.Digest() {
			t.Fatalf("%s: the tag moved, %v", name, err)
		}
	}
	bad := func() registry.ReleaseToolset {
		return bundle(t, p, toolset("bad", "Bad", connector(t, store, "bad", "")))
	}
	path := func(d registry.Digest) string { return filepath.Join(dir, "blobs", "sha256", d.Hex()) }
	f("no bundle", "toolset bad cannot be released", func() registry.ReleaseToolset {
		b := bad()
		b.Bundle = registry.DigestOf([]byte("x"))
		return b
	})
	f("another toolset's bundle", "the bundle is of toolset", func() registry.ReleaseToolset {
		b := bad()
		b.Bundle = good.Bundle
		return b
	})
	f("the same slug twice", "used by two toolsets", func() registry.ReleaseToolset {
		ts := toolset("good", "Other", connector(t, store, "bad", ""))
		ts.ID = "ts_other"
		return bundle(t, p, ts)
	})
	f("a connector missing", "connector main", func() registry.ReleaseToolset {
		c := connector(t, store, "bad", "missing")
		b := bundle(t, p, toolset("bad", "Bad", c))
		if err := os.Remove(path(c.Digest)); err != nil {
			t.Fatal(err)
		}
		return b
	})
	f("a connector damaged", "does not match its digest", func() registry.ReleaseToolset {
		c := connector(t, store, "bad", "damaged")
		b := bundle(t, p, toolset("bad", "Bad", c))
		if err := os.Chmod(path(c.Digest), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path(c.Digest), 100); err != nil {
			t.Fatal(err)
		}
		return b
	})
	f("a connector other than named", "the bundle names", func() registry.ReleaseToolset {
		c := connector(t, store, "bad", "a")
		c.Digest = connector(t, store, "bad", "b").Digest
		return bundle(t, p, toolset("bad", "Bad", c))
	})
	rec.err = errors.New("the database is locked")
	f("no records", "database is locked", bad)
	rec.err = nil
	rec.live = []registry.ReleaseToolset{good, bad()}
	if r, err := p.Release(t.Context()); err != nil || r.Release().Revision != last.Release().Revision+1 {
		t.Fatalf("the control: %v, %v", r, err)
	}
}

func TestDamagedNewestReleaseIsSaid(t *testing.T) {
	dir := t.TempDir()
	store, key := openStore(t, dir), newKey(t)
	r := newPublisher(t, store, key, &records{}, nil).Current()
	if err := os.Remove(filepath.Join(dir, "blobs", "sha256", r.Digest().Hex())); err != nil {
		t.Fatal(err)
	}
	// Not a second revision 1, which every edge would have to refuse.
	_, err := publish.New(t.Context(), publish.Options{Store: store, ReleaseKey: key, Records: &records{}})
	if !errors.Is(err, registry.ErrNotFound) {
		t.Fatalf("%v; want the loss to be said", err)
	}
}

func TestRunRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &records{}
		p := newPublisher(t, openStore(t, t.TempDir()), newKey(t), rec, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		at := func(after time.Duration, revision uint64) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := p.Current().Release().Revision; got != revision {
				t.Fatalf("revision %d, want %d", got, revision)
			}
		}
		at(publish.RenewAfter-2*time.Second, 1)
		at(4*time.Second, 2)
		rec.mu.Lock()
		rec.err = errors.New("the database is away")
		rec.mu.Unlock()
		at(publish.RenewAfter+time.Hour, 2)
		rec.mu.Lock()
		rec.err = nil
		rec.mu.Unlock()
		at(2*time.Minute, 3)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("Run ended with %v", err)
		}
	})
}

// grouped are records of two groups of edges, of which each may be out of order.
type grouped struct {
	mu     sync.Mutex
	faults map[string]error
	asked  map[string]int
}

func (g *grouped) Live(_ context.Context, group string) ([]registry.ReleaseToolset, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked[group]++
	return nil, g.faults[group]
}

func (g *grouped) Groups(context.Context) ([]string, error) { return []string{"far"}, nil }

// A release that was due and could not be made, of any group, is made about a minute
// later: the operator was told that a toolset is deployed or a token revoked, and the
// edges must not learn it at the next renewal.
func TestRunTriesAgain(t *testing.T) {
	for _, c := range []struct {
		group string
		one   bool // the release of that group is asked for, as when an edge is enrolled
	}{{publish.DefaultGroup, false}, {"far", false}, {"far", true}} {
		group := c.group
		synctest.Test(t, func(t *testing.T) {
			rec := &grouped{faults: map[string]error{}, asked: map[string]int{}}
			p := newPublisher(t, openStore(t, t.TempDir()), newKey(t), rec, nil)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- p.Run(ctx) }()
			asked := func(after time.Duration) int {
				t.Helper()
				time.Sleep(after)
				synctest.Wait()
				rec.mu.Lock()
				defer rec.mu.Unlock()
				return rec.asked[group]
			}
			set := func(err error) {
				rec.mu.Lock()
				defer rec.mu.Unlock()
				rec.faults[group] = err
			}
			asked(time.Minute + time.Second) // the first release of the other group
			set(errors.New("the disk is away"))
			ask := p.Release
			if c.one {
				ask = func(ctx context.Context) (*sign.Release, error) { return p.ReleaseGroup(ctx, group) }
			}
			_, err := ask(ctx)
			if failed := err != nil; failed != (c.one || group == publish.DefaultGroup) {
				t.Fatalf("%+v: %v", c, err)
			}
			before := asked(0)
			if n := asked(59 * time.Second); n != before {
				t.Errorf("%s: tried %d times at once", group, n-before)
			}
			if n := asked(2 * time.Second); n != before+1 {
				t.Errorf("%s: tried %d times after a minute, want once", group, n-before)
			}
			set(nil)
			if n := asked(time.Minute); n != before+2 {
				t.Errorf("%s: tried %d times after two minutes, want twice", group, n-before)
			}
			if n := asked(5 * time.Minute); n != before+2 {
				t.Errorf("%s: tried %d times when nothing was due", group, n-before-2)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Fatalf("Run ended with %v", err)
			}
		})
	}
}

// Releases that are asked for at the same time are made one after the other and
// none loses what another listed.
func TestConcurrentReleases(t *testing.T) {
	store, rec := openStore(t, t.TempDir()), &records{}
	p := newPublisher(t, store, newKey(t), rec, nil)
	c := connector(t, store, "things", "")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			slug := "t" + string(rune('a'+i))
			b := bundle(t, p, toolset(slug, slug, c))
			rec.mu.Lock()
			rec.live = append(rec.live, b)
			rec.mu.Unlock()
			r, err := p.Release(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			if !slices.Contains(r.Release().Toolsets, b) {
				t.Errorf("release %d does not list %s", r.Release().Revision, slug)
			}
		})
	}
	wg.Wait()
	if n := len(p.Current().Release().Toolsets); n != 8 {
		t.Fatalf("%d toolsets are live, want 8", n)
	}
}

func TestOptions(t *testing.T) {
	_, err := publish.New(t.Context(), publish.Options{Lifetime: time.Hour, Group: "A B"})
	for _, want := range []string{"registry", "records", "release key", "lifetime", "group"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v; want every fault, %q too", err, want)
		}
	}
}
