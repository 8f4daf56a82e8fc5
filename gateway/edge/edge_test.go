package edge_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

func TestFollows(t *testing.T) {
	w := newWorld(t)
	n := w.start(t.TempDir(), nil)
	empty := n.next()
	if len(empty.Toolsets) != 0 || empty.Release.Revision != 1 {
		t.Fatalf("the first, empty release: %+v", empty.Release)
	}
	n.until("ready", func(edge.Status) bool { return n.Ready() })
	r := w.deploy("one", "a")
	s := n.next()
	ts := s.Toolsets[0]
	if s.Digest != r.Digest() || ts.Slug != "one" || ts.Bundle.Name != "one a" || ts.Connectors["main"] == nil {
		t.Fatalf("state %+v, toolset %+v", s, ts)
	}
	st := n.live(r)
	if st.Toolsets != 1 || st.Revision != 2 || st.Following != nil || st.Cache != nil || st.Expired || st.Contact.IsZero() || st.Applied.IsZero() {
		t.Fatalf("status %+v", st)
	}
	delete(w.live, "one")
	w.release()
	if s := n.next(); len(s.Toolsets) != 0 {
		t.Fatalf("a removed toolset is still there: %v", slugs(s))
	}
}

// What did not change is neither fetched nor opened again, and is the same
// pointer.
func TestUnchangedIsShared(t *testing.T) {
	w := newWorld(t)
	const many = 20
	for i := range many {
		w.put("t"+strconv.Itoa(i), "a")
	}
	n := w.start(t.TempDir(), nil)
	first := n.newest()
	before := n.live(w.release())
	first = func() *edge.State {
		if len(n.states) > 0 {
			return n.newest()
		}
		return first
	}()
	if before.Opened != 2*many || before.Fetched != 2*many {
		t.Fatalf("opened %d, fetched %d; want %d", before.Opened, before.Fetched, 2*many)
	}
	r := w.deploy("t3", "b")
	second := n.next()
	after := n.live(r)
	if after.Opened != before.Opened+2 || after.Fetched != before.Fetched+2 {
		t.Fatalf("one change of %d opened %d and fetched %d more; want 2 and 2",
			many, after.Opened-before.Opened, after.Fetched-before.Fetched)
	}
	for i, ts := range second.Toolsets {
		if same := ts == first.Toolsets[i]; same == (ts.Slug == "t3") {
			t.Fatalf("toolset %s is the same pointer: %v", ts.Slug, same)
		}
	}
	// The same content under a new revision opens nothing.
	w.put("t3", "b")
	if again := n.live(w.release()); again.Opened != after.Opened {
		t.Fatalf("a new revision of the same content opened %d modules", again.Opened-after.Opened)
	}
}

func TestRestartsWithoutControlPlane(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	n := w.start(dir, nil)
	w.deploy("one", "a")
	r := w.deploy("two", "a")
	n.persisted(r)
	n.stop()

	x := &wire{Source: w.source, release: down}
	n = w.start(dir, x)
	s := n.next()
	if s.Digest != r.Digest() || !slices.Equal(slugs(s), []string{"one", "two"}) {
		t.Fatalf("restarted with %v", slugs(s))
	}
	st := n.until("telling the fault", func(s edge.Status) bool { return s.Following != nil })
	if !st.Ready || !errors.Is(st.Following, errDown) || st.Fetched != 0 {
		t.Fatalf("status %+v", st)
	}
	r = w.deploy("three", "a")
	x.set(nil)
	st = n.live(r)
	if st.Following != nil || st.Fetched != 2 {
		t.Fatalf("after the control plane is back: %+v", st)
	}
}

func TestNotReadyWithoutRelease(t *testing.T) {
	w := newWorld(t)
	x := &wire{Source: w.source, release: down}
	n := w.start(t.TempDir(), x)
	st := n.until("telling the fault", func(s edge.Status) bool { return s.Following != nil })
	if st.Ready || n.Ready() || len(n.states) != 0 {
		t.Fatalf("ready without a release: %+v", st)
	}
	x.set(nil)
	n.next()
	n.until("ready with the empty signed release", func(edge.Status) bool { return n.Ready() })
}

// TestFaultsOfReleases: whatever comes instead of the next release, the node
// serves the last good one and says what is wrong, and goes on afterwards.
func TestFaultsOfReleases(t *testing.T) {
	stranger, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	once := func(env []byte) func(context.Context, registry.Digest) ([]byte, error) {
		return func(ctx context.Context, known registry.Digest) ([]byte, error) {
			if registry.DigestOf(env) == known {
				<-ctx.Done()
				return nil, registry.ErrUnchanged
			}
			return env, nil
		}
	}
	rows := []struct {
		name string
		make func(w *world, good, older *sign.Release) func(context.Context, registry.Digest) ([]byte, error)
		want string // in the status
	}{
		{"refused", func(*world, *sign.Release, *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return down
		}, "connection refused"},
		{"hanging", func(*world, *sign.Release, *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return func(ctx context.Context, _ registry.Digest) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
		}, "no answer within"},
		{"zero bytes", func(*world, *sign.Release, *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return once(nil)
		}, "envelope is empty"},
		{"truncated", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return once(good.Envelope()[:len(good.Envelope())/2])
		}, "cannot be read"},
		{"an error page", func(*world, *sign.Release, *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return once([]byte("<html>502</html>"))
		}, "cannot be read"},
		{"unsigned", func(*world, *sign.Release, *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return once([]byte(`{"payload":"e30=","payloadType":"application/vnd.sluice.release.v1+json","signatures":[]}`))
		}, "not signed"},
		{"bad signature", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			env := w.sign(w.key, 1, 9, nil)
			i := bytes.Index(env, []byte(`"sig":"`)) + 10
			env[i] = 'A' + (env[i]-'A'+1)%26
			return once(env)
		}, "signature does not match"},
		{"bad payload", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			env := w.sign(w.key, 1, 9, nil)
			i := bytes.Index(env, []byte(`"payload":"`)) + 30
			env[i] = 'A' + (env[i]-'A'+1)%26
			return once(env)
		}, "signature does not match"},
		{"unknown key", func(w *world, _, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return once(w.sign(stranger, 1, 9, nil))
		}, "no trusted key"},
		{"another purpose", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			env, err := sign.Sign(w.key, sign.PayloadAccess, []byte("{}"))
			if err != nil {
				w.t.Fatal(err)
			}
			return once(env)
		}, "the envelope is for"},
		{"lower revision", func(_ *world, _, older *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return once(older.Envelope())
		}, "older than"},
		{"same revision, other content", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return once(w.sign(w.key, good.Release().Epoch, good.Release().Revision, nil))
		}, "two different releases"},
		{"a bundle that is nowhere", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			ts := good.Release().Toolsets[0]
			ts.Bundle = registry.DigestOf([]byte("nowhere"))
			return once(w.sign(w.key, 1, good.Release().Revision+1, []registry.ReleaseToolset{ts}))
		}, "not found"},
		{"the bundle of another toolset", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			ts := good.Release().Toolsets[0]
			ts.ID, ts.Slug = "ts_swapped", "swapped"
			return once(w.sign(w.key, 1, good.Release().Revision+1, []registry.ReleaseToolset{ts}))
		}, "with a bundle of"},
		{"the bundle of another slug", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			ts := good.Release().Toolsets[0]
			ts.Slug = "swapped"
			return once(w.sign(w.key, 1, good.Release().Revision+1, []registry.ReleaseToolset{ts}))
		}, "with a bundle of"},
		{"the bundle of another workspace", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			ts := good.Release().Toolsets[0]
			ts.Workspace = "globex"
			return once(w.sign(w.key, 1, good.Release().Revision+1, []registry.ReleaseToolset{ts}))
		}, "with a bundle of"},
		{"the access document of another toolset", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return once(w.withAccess(good, &registry.AccessDocument{Workspace: "acme", Toolset: "ts_other"}))
		}, "with an access document of ts_other of \"acme\""},
		{"the access document of another workspace", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			return once(w.withAccess(good, &registry.AccessDocument{Workspace: "globex", Toolset: good.Release().Toolsets[0].ID}))
		}, "of \"globex\""},
		{"a connector other than its bundle names", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			ref := w.pushConnector("one", "c")
			ref.Digest = w.pushConnector("one", "d").Digest
			b, err := w.pub.Bundle(context.Background(), &registry.Toolset{
				Workspace: "acme", ID: "ts_one", Slug: "one", Name: "x", Connectors: []registry.ConnectorRef{ref},
				Access: registry.Access{Mode: registry.AccessNone},
			}, nil, nil)
			if err != nil {
				w.t.Fatal(err)
			}
			return once(w.sign(w.key, 1, good.Release().Revision+1, []registry.ReleaseToolset{{
				ID: "ts_one", Workspace: "acme", Slug: "one", Revision: 1, Repository: b.Repository, Bundle: b.Digest,
			}}))
		}, "with the module"},
		{"a plugin that is none", func(w *world, good, _ *sign.Release) func(context.Context, registry.Digest) ([]byte, error) {
			connector, other := w.pushConnector("one", "a"), w.pushConnector("two", "b")
			b, err := w.pub.Bundle(context.Background(), &registry.Toolset{
				Workspace: "acme", ID: "ts_one", Slug: "one", Name: "x", Connectors: []registry.ConnectorRef{connector},
				Plugins: []registry.PluginRef{{Name: "mask", Version: "1", Repository: other.Repository, Manifest: other.Manifest, Digest: other.Digest}},
				Access:  registry.Access{Mode: registry.AccessNone},
			}, nil, nil)
			if err != nil {
				w.t.Fatal(err)
			}
			return once(w.sign(w.key, 1, good.Release().Revision+1, []registry.ReleaseToolset{{
				ID: "ts_one", Workspace: "acme", Slug: "one", Revision: 1, Repository: b.Repository, Bundle: b.Digest,
			}}))
		}, "open plugin mask"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			older := w.deploy("one", "a")
			good := w.deploy("two", "a")
			x := &wire{Source: w.source}
			n := w.start(t.TempDir(), x, func(o *edge.Options) { o.PollTimeout = 50 * time.Millisecond })
			n.persisted(good)
			served := n.newest()

			x.set(row.make(w, good, older))
			st := n.until("telling the fault", func(s edge.Status) bool {
				return s.Following != nil && strings.Contains(s.Following.Error(), row.want)
			})
			if !st.Ready || st.Release != good.Digest() || st.Revision != good.Release().Revision || len(n.states) != 0 {
				t.Fatalf("status %+v after %v; %d swaps", st, slugs(served), len(n.states))
			}
			disk, err := os.ReadFile(filepath.Join(n.dir, "release.dsse.json"))
			if err != nil || !good.Digest().Matches(disk) {
				t.Fatalf("the cache was changed: %v", err)
			}

			// Releases of some rows were verified, so the next one must be above.
			for w.pub.Current().Release().Revision < 10 {
				w.deploy("two", strconv.FormatUint(w.pub.Current().Release().Revision, 10))
			}
			x.set(nil)
			if st := n.live(w.pub.Current()); st.Following != nil {
				t.Fatalf("the fault stays: %v", st.Following)
			}
		})
	}
}

// TestRefusedReleaseIsNotAskedForAgain tells the source the digest of what was
// refused: a source answers at once to a node that has another release than the
// newest, and the two would talk without pause.
func TestRefusedReleaseIsNotAskedForAgain(t *testing.T) {
	stranger, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	good := w.deploy("one", "a")
	bad := w.sign(stranger, 1, 9, nil)
	asked := make(chan registry.Digest)
	x := &wire{Source: w.source, release: func(ctx context.Context, known registry.Digest) ([]byte, error) {
		select {
		case asked <- known:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		switch known {
		case "":
			return good.Envelope(), nil
		case good.Digest():
			return bad, nil
		}
		return nil, registry.ErrUnchanged
	}}
	n := w.start(t.TempDir(), x)
	for i, want := range []registry.Digest{"", good.Digest(), registry.DigestOf(bad), registry.DigestOf(bad)} {
		if got := <-asked; got != want {
			t.Fatalf("question %d is of the node that knows %q, want %q", i+1, got, want)
		}
	}
	// "Unchanged" is of the refused release: the fault stays.
	if st := n.Status(); st.Following == nil || st.Release != good.Digest() {
		t.Fatalf("status %+v", st)
	}
}

// TestFaultsOfArtifacts: what a release names is missing or other than named.
func TestFaultsOfArtifacts(t *testing.T) {
	w := newWorld(t)
	good := w.deploy("one", "a")
	x := &wire{Source: w.source}
	n := w.start(t.TempDir(), x, func(o *edge.Options) { o.PollTimeout = 5 * time.Millisecond })
	n.persisted(good)
	other, err := oci.New(oci.KindPlugin, connectorModule(t, "evil", "x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	revision := 0
	f := func(name, want string, damage func(bundle, connector *oci.Artifact), artifact func(context.Context, string, registry.Digest, oci.Kind) (*oci.Artifact, error)) {
		t.Helper()
		revision++
		text := "v" + strconv.Itoa(revision)
		x.set(down)
		n.until("cut off", func(s edge.Status) bool { return errors.Is(s.Following, errDown) })
		r := w.deploy("one", text)
		ts := r.Release().Toolsets[0]
		bundle, err := w.store.Pull(t.Context(), ts.Repository, ts.Bundle, oci.KindToolset)
		if err != nil {
			t.Fatal(err)
		}
		doc, _, err := registry.OpenBundle(bundle.Layer())
		if err != nil {
			t.Fatal(err)
		}
		connector, err := w.store.Pull(t.Context(), doc.Connectors[0].Repository, doc.Connectors[0].Manifest, oci.KindPlugin)
		if err != nil {
			t.Fatal(err)
		}
		if damage != nil {
			damage(bundle, connector)
		}
		x.mu.Lock()
		x.release, x.artifact = nil, artifact
		x.mu.Unlock()
		before := n.Status().Release
		st := n.until("telling "+name, func(s edge.Status) bool { return s.Following != nil && strings.Contains(s.Following.Error(), want) })
		if !st.Ready || st.Release != before {
			t.Fatalf("%s: status %+v", name, st)
		}
		// Repaired, the node follows by itself.
		for _, a := range []*oci.Artifact{bundle, connector} {
			if err := w.store.Push(t.Context(), "acme/repair", "", a); err != nil {
				t.Fatal(err)
			}
		}
		x.mu.Lock()
		x.artifact = nil
		x.mu.Unlock()
		n.persisted(r)
	}
	remove := func(d registry.Digest) {
		if err := os.Remove(w.blobPath(d)); err != nil {
			t.Fatal(err)
		}
	}
	f("a missing bundle manifest", "not found", func(b, _ *oci.Artifact) { remove(b.Digest()) }, nil)
	f("a missing bundle", "not found", func(b, _ *oci.Artifact) { remove(b.LayerDigest()) }, nil)
	f("a missing connector", "not found", func(_, c *oci.Artifact) { remove(c.LayerDigest()) }, nil)
	f("half a connector", "does not match its digest", func(_, c *oci.Artifact) {
		overwrite(t, w.blobPath(c.LayerDigest()), c.Layer()[:len(c.Layer())/2])
	}, nil)
	f("a connector of zero bytes", "does not match its digest", func(_, c *oci.Artifact) { overwrite(t, w.blobPath(c.LayerDigest()), nil) }, nil)
	f("a swapped connector", "does not match its digest", func(_, c *oci.Artifact) {
		swapped := bytes.Clone(c.Layer())
		swapped[len(swapped)-2] ^= 1
		overwrite(t, w.blobPath(c.LayerDigest()), swapped)
	}, nil)
	f("a swapped bundle manifest", "does not match its digest", func(b, _ *oci.Artifact) { overwrite(t, w.blobPath(b.Digest()), other.Manifest()) }, nil)
	f("another artifact, itself valid", "does not match its digest", nil, func(ctx context.Context, _ string, _ registry.Digest, k oci.Kind) (*oci.Artifact, error) {
		if k == oci.KindPlugin {
			return other, nil
		}
		return nil, registry.ErrCorrupt
	})
	f("a reset in the middle", "connection refused", nil, func(context.Context, string, registry.Digest, oci.Kind) (*oci.Artifact, error) {
		return nil, errDown
	})
}

// A state that cannot be applied is refused like a release that cannot be read.
func TestApplyFails(t *testing.T) {
	f := func(name, want string, broken func() error) {
		t.Helper()
		w := newWorld(t)
		good := w.deploy("one", "a")
		var repaired atomic.Bool
		n := w.start(t.TempDir(), nil, func(o *edge.Options) {
			apply := o.Apply
			o.Apply = func(s *edge.State) error {
				if len(s.Toolsets) == 2 && !repaired.Load() {
					return broken()
				}
				return apply(s)
			}
		})
		n.persisted(good)
		next := w.deploy("two", "a")
		st := n.until("telling the fault", func(s edge.Status) bool { return s.Following != nil })
		if st.Release != good.Digest() || st.Saved != good.Digest() || !st.Ready || !strings.Contains(st.Following.Error(), want) {
			t.Fatalf("%s: status %+v", name, st)
		}
		repaired.Store(true)
		n.persisted(next)
	}
	f("an error", "no room for it", func() error { return errors.New("no room for it") })
	f("a panic", "applying the release panicked", func() error { panic("index out of range") })
}

// The position survives a restart: what was refused before is refused after.
func TestRollbackOverRestart(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	n := w.start(dir, nil)
	older := w.deploy("one", "a")
	newer := w.deploy("one", "b")
	n.persisted(newer)
	n.stop()
	x := &wire{Source: w.source}
	x.release = func(ctx context.Context, known registry.Digest) ([]byte, error) {
		if known == older.Digest() {
			<-ctx.Done()
			return nil, registry.ErrUnchanged
		}
		return older.Envelope(), nil
	}
	n = w.start(dir, x)
	st := n.until("refusing", func(s edge.Status) bool { return s.Following != nil })
	if st.Release != newer.Digest() || !strings.Contains(st.Following.Error(), "older than") {
		t.Fatalf("status %+v", st)
	}
}

// The key of the control plane is replaced while the node follows; it restarts
// with nothing but its first anchor and its cache.
func TestKeyRotation(t *testing.T) {
	w := newWorld(t)
	next, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var queue [][]byte
	sent := 0
	x := &wire{Source: w.source}
	x.release = func(ctx context.Context, known registry.Digest) ([]byte, error) {
		if sent == len(queue) {
			<-ctx.Done()
			return nil, registry.ErrUnchanged
		}
		sent++
		return queue[sent-1], nil
	}
	add := func(k *sign.Key, revision uint64, keys ...*sign.Key) registry.Digest {
		var trusted []registry.TrustedKey
		for _, k := range keys {
			trusted = append(trusted, k.Trusted(registry.UseRelease, ""))
		}
		now := time.Now()
		env, err := sign.SignRelease(k, &registry.Release{
			Group: "default", Epoch: 1, Revision: revision, Issued: now, Expires: now.Add(time.Hour), Trusted: trusted,
		})
		if err != nil {
			t.Fatal(err)
		}
		queue = append(queue, env)
		return registry.DigestOf(env)
	}
	add(w.key, 1, w.key)
	add(w.key, 2, w.key, next)
	last := add(next, 3, next)
	dir := t.TempDir()
	n := w.start(dir, x)
	at := func(s edge.Status) bool { return s.Release == last }
	n.until("at the last", at)
	n.until("persisted", func(s edge.Status) bool { return s.Saved == last })
	n.stop()
	evil := w.sign(w.key, 1, 9, nil)
	queue = append(queue, evil)
	n = w.start(dir, x)
	st := n.until("refusing the old key", func(s edge.Status) bool { return s.Following != nil })
	if st.Release != last || !strings.Contains(st.Following.Error(), "no trusted key") {
		t.Fatalf("status %+v", st)
	}
	// The release of the old key is the previous one; it is still of use when the
	// newest is damaged.
	n.stop()
	if err := os.WriteFile(filepath.Join(dir, "release.dsse.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.set(down)
	n = w.start(dir, x)
	if s := n.next(); s.Release.Revision != 2 {
		t.Fatalf("serves revision %d, want the previous, 2", s.Release.Revision)
	}
}

func TestExpiredReleaseIsServed(t *testing.T) {
	w := newWorld(t)
	past := time.Now().Add(-time.Hour)
	env, err := sign.SignRelease(w.key, &registry.Release{
		Group: "default", Epoch: 1, Revision: 9, Issued: past, Expires: past.Add(time.Minute), Trusted: w.pub.Trusted(),
	})
	if err != nil {
		t.Fatal(err)
	}
	x := &wire{Source: w.source}
	x.release = func(ctx context.Context, known registry.Digest) ([]byte, error) {
		if registry.DigestOf(env) == known {
			<-ctx.Done()
			return nil, registry.ErrUnchanged
		}
		return env, nil
	}
	n := w.start(t.TempDir(), x)
	n.next()
	st := n.until("ready", func(s edge.Status) bool { return s.Ready })
	if !st.Expired {
		t.Fatalf("status %+v; want expired", st)
	}
}

func TestOptions(t *testing.T) {
	if _, err := edge.New(edge.Options{}); err == nil || !strings.Contains(err.Error(), "source") || !strings.Contains(err.Error(), "directory") {
		t.Fatalf("empty options: %v", err)
	}
	w := newWorld(t)
	_, err := edge.New(edge.Options{Source: w.source, Dir: t.TempDir(), Apply: func(*edge.State) error { return nil }})
	if err == nil || !strings.Contains(err.Error(), "no key is trusted") {
		t.Fatalf("no keys: %v", err)
	}
}
