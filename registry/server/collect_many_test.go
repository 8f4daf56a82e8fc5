package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// countedIndex counts what is asked of an index, each answer of which is a read of a file or
// a directory.
type countedIndex struct {
	*server.Files
	lists, asks atomic.Int64
}

func (x *countedIndex) Tags(ctx context.Context, repository, after string, limit int) ([]string, error) {
	x.lists.Add(1)
	return x.Files.Tags(ctx, repository, after, limit)
}

func (x *countedIndex) EachManifest(ctx context.Context, fn func(string, registry.Digest) error) error {
	x.lists.Add(1)
	return x.Files.EachManifest(ctx, fn)
}

func (x *countedIndex) EachBlob(ctx context.Context, fn func(string, registry.Digest) error) error {
	x.lists.Add(1)
	return x.Files.EachBlob(ctx, fn)
}

func (x *countedIndex) Tag(ctx context.Context, repository, tag string) (registry.Digest, error) {
	x.asks.Add(1)
	return x.Files.Tag(ctx, repository, tag)
}

func (x *countedIndex) MediaType(ctx context.Context, repository string, d registry.Digest) (string, error) {
	x.asks.Add(1)
	return x.Files.MediaType(ctx, repository, d)
}

func (x *countedIndex) UnlinkManifest(ctx context.Context, repository string, m server.Descriptor) error {
	x.asks.Add(1)
	return x.Files.UnlinkManifest(ctx, repository, m)
}

func (x *countedIndex) UnlinkBlob(ctx context.Context, repository string, d registry.Digest) error {
	x.asks.Add(1)
	return x.Files.UnlinkBlob(ctx, repository, d)
}

// countedContent counts what is asked of contents.
type countedContent struct {
	server.Content
	asks atomic.Int64
}

func (c *countedContent) Fetch(ctx context.Context, d registry.Digest, limit int64) ([]byte, error) {
	c.asks.Add(1)
	return c.Content.Fetch(ctx, d, limit)
}

func (c *countedContent) Size(ctx context.Context, d registry.Digest) (int64, error) {
	c.asks.Add(1)
	return c.Content.Size(ctx, d)
}

func (c *countedContent) OlderThan(ctx context.Context, d registry.Digest, t time.Time) (bool, error) {
	c.asks.Add(1)
	return c.Content.OlderThan(ctx, d, t)
}

// countedSystem counts removals and syncs of directories.
type countedSystem struct {
	atomicfile.System
	removals, syncs atomic.Int64
}

func (s *countedSystem) Remove(name string) error {
	s.removals.Add(1)
	return s.System.Remove(name)
}

func (s *countedSystem) SyncDir(dir string) error {
	s.syncs.Add(1)
	return s.System.SyncDir(dir)
}

func release(t testing.TB, n int) *oci.Artifact {
	t.Helper()
	a, err := oci.New(oci.KindRelease, fmt.Appendf(nil, "release %d", n), nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// pushReleases pushes releases 1.1 … 1.n, the last of which is the latest.
func pushReleases(t testing.TB, s *server.Store, n int) []*oci.Artifact {
	t.Helper()
	st, repository := oci.NewStore(s), oci.ReleaseRepository("default")
	all := make([]*oci.Artifact, n)
	for i := range all {
		all[i] = release(t, i)
		if err := st.Push(t.Context(), repository, fmt.Sprintf("1.%d", i+1), all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Tag(t.Context(), repository, oci.TagLatest, all[n-1]); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCollectManyReleases: what a collection reads, removes and syncs grows with what there
// is, and not with releases times tags, nor with contents times repositories.
func TestCollectManyReleases(t *testing.T) {
	const releases, repositories, keep = 300, 30, 50
	dir := t.TempDir()
	sys := &countedSystem{System: atomicfiletest.Fast()}
	files, err := server.OpenFiles(dir, sys)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := server.OpenBlobs(dir, sys)
	if err != nil {
		t.Fatal(err)
	}
	index, content := &countedIndex{Files: files}, &countedContent{Content: blobs}
	s, err := server.Open(server.Options{Dir: dir, Index: index, Content: content, System: sys})
	if err != nil {
		t.Fatal(err)
	}
	st := oci.NewStore(s)
	for i := range repositories {
		a, err := oci.New(oci.KindPlugin, fmt.Appendf(nil, "plugin %d", i), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Push(t.Context(), fmt.Sprintf("acme/plugins/p%d", i), "1", a); err != nil {
			t.Fatal(err)
		}
	}
	all := pushReleases(t, s, releases)

	o := server.CollectOptions{Before: time.Now().Add(-time.Hour), Releases: keep}
	reset := func() {
		for _, n := range []*atomic.Int64{&index.lists, &index.asks, &content.asks, &sys.removals, &sys.syncs} {
			n.Store(0)
		}
	}
	most := func(what string, n *atomic.Int64, limit int64) {
		t.Helper()
		if got := n.Load(); got > limit {
			t.Errorf("%s: %d, at most %d", what, got, limit)
		}
	}
	reset()
	c, err := s.Collect(t.Context(), o)
	const past = releases - keep
	if err != nil || c.Manifests != past || c.Blobs != 2*past || c.More {
		t.Fatalf("collected %+v, %v", c, err)
	}
	manifests := int64(releases + repositories)
	most("directories listed", &index.lists, repositories+1+2)
	// Each manifest and each tag, once; tags of what goes once more, and "latest" with each batch.
	most("files of the index read", &index.asks, 2*manifests+1+past+past/64+1)
	most("contents asked for", &content.asks, manifests+past*3) // layer and manifest of each are looked for again, before they are unlinked
	most("removals", &sys.removals, 6*past)                     // tag, manifest, two contents, at most two links
	most("syncs", &sys.syncs, 4*(past/64+1)+2)
	for i, a := range all {
		_, err := st.Pull(t.Context(), oci.ReleaseRepository("default"), a.Digest(), oci.KindRelease)
		if gone := errors.Is(err, registry.ErrNotFound); gone != (i < past) {
			t.Fatalf("release %d: %v", i, err)
		}
	}
	for i := range past {
		if has, err := index.HasBlob(t.Context(), oci.ReleaseRepository("default"), all[i].LayerDigest()); has || err != nil {
			t.Fatalf("the link of the layer of release %d: %v, %v", i, has, err)
		}
	}

	// The next one has nothing to do, and need not read the manifests again.
	reset()
	if c, err = s.Collect(t.Context(), o); err != nil || c.Manifests+c.Blobs != 0 {
		t.Fatalf("collected %+v, %v", c, err)
	}
	most("contents asked for by the next one", &content.asks, 0)
	most("removals of the next one", &sys.removals, 0)
	most("syncs of the next one", &sys.syncs, 0)
}

// TestCollectLimit: a collection that is short of time removes some, the oldest first, and
// what it leaves goes with the next ones, contents too.
func TestCollectLimit(t *testing.T) {
	s, err := server.Open(server.Options{Dir: t.TempDir(), System: atomicfiletest.Fast()})
	if err != nil {
		t.Fatal(err)
	}
	const n = 200
	all := pushReleases(t, s, n)
	st, repository := oci.NewStore(s), oci.ReleaseRepository("default")
	o := server.CollectOptions{Before: time.Now().Add(-time.Hour), Releases: 1, Limit: time.Nanosecond}
	var sum server.Collected
	rounds := 0
	for more := true; more; rounds++ {
		c, err := s.Collect(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if c.Manifests == 0 || c.Blobs != 2*c.Manifests {
			t.Fatalf("round %d: %+v", rounds, c)
		}
		sum.Manifests += c.Manifests
		more = c.More
		for i, a := range all {
			_, err := st.Pull(t.Context(), repository, a.Digest(), oci.KindRelease)
			if gone := errors.Is(err, registry.ErrNotFound); gone != (i < sum.Manifests) {
				t.Fatalf("round %d, %d are gone, release %d: %v", rounds, sum.Manifests, i, err)
			}
		}
	}
	if sum.Manifests != n-1 || rounds < 3 {
		t.Fatalf("%d releases went in %d rounds", sum.Manifests, rounds)
	}
}

// TestCollectTwoManifestsOneLayer: a content that a release names that goes later stays as
// long as that one.
func TestCollectTwoManifestsOneLayer(t *testing.T) {
	s, err := server.Open(server.Options{Dir: t.TempDir(), System: atomicfiletest.Fast()})
	if err != nil {
		t.Fatal(err)
	}
	st, repository := oci.NewStore(s), oci.ReleaseRepository("default")
	pushReleases(t, s, 100)
	one := release(t, 0) // the layer of 1.1
	other, err := oci.New(oci.KindRelease, []byte("release 0"), map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	if one.LayerDigest() != other.LayerDigest() || one.Digest() == other.Digest() {
		t.Fatal("the two releases do not share a layer")
	}
	if err := st.Push(t.Context(), repository, "1.101", other); err != nil {
		t.Fatal(err)
	}
	o := server.CollectOptions{Before: time.Now().Add(-time.Hour), Releases: 1, Limit: time.Nanosecond}
	if c, err := s.Collect(t.Context(), o); err != nil || !c.More {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := st.Pull(t.Context(), repository, other.Digest(), oci.KindRelease); err != nil {
		t.Fatalf("the release that stays: %v", err)
	}
	if _, err := st.Pull(t.Context(), repository, one.Digest(), oci.KindRelease); !errors.Is(err, registry.ErrNotFound) {
		t.Fatalf("the release that went: %v", err)
	}
}

// TestPowerCutInCollect: wherever the power goes during a collection, what has a tag is
// whole, the newest releases are there, and the next collection finishes.
func TestPowerCutInCollect(t *testing.T) {
	if err := powerCutInCollect(t, func(*atomicfiletest.Disk) {}); err != nil {
		t.Error(err)
	}
	// Negative control: the same test has to notice a sync that is not there.
	if err := powerCutInCollect(t, func(d *atomicfiletest.Disk) { d.DropDirSync = true }); err == nil {
		t.Error("dropping the fsync of directories is not noticed")
	}
}

func powerCutInCollect(t *testing.T, change func(*atomicfiletest.Disk)) error {
	t.Helper()
	repository := oci.ReleaseRepository("default")
	o := server.CollectOptions{Before: time.Now().Add(-time.Hour), Releases: 2}
	base := t.TempDir()
	made, err := server.Open(server.Options{Dir: base, System: atomicfiletest.Fast()})
	if err != nil {
		t.Fatal(err)
	}
	all := pushReleases(t, made, 5)
	for n := 1; ; n++ {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
		disk, err := atomicfiletest.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		s, err := server.Open(server.Options{Dir: dir, System: disk})
		if err != nil {
			t.Fatal(err)
		}
		change(disk)
		disk.FailAt = len(disk.Ops()) + n
		_, cerr := s.Collect(t.Context(), o)
		for _, crash := range []atomicfiletest.Crash{atomicfiletest.NamesLost, atomicfiletest.NamesKept} {
			after := t.TempDir()
			if err := disk.PowerCut(after, crash); err != nil {
				t.Fatal(err)
			}
			again, err := server.Open(server.Options{Dir: after, System: atomicfiletest.Fast()})
			if err != nil {
				t.Fatal(err)
			}
			if err := wholeReleases(t.Context(), again, all[3:]); err != nil {
				return fmt.Errorf("step %d, crash %d: %w", n, crash, err)
			}
			if cerr == nil {
				if tags, err := again.Index().Tags(t.Context(), repository, "", -1); err != nil || len(tags) != 3 {
					return fmt.Errorf("step %d, crash %d: after the collection was done there are %v, %w", n, crash, tags, err)
				}
			}
			if _, err := again.Collect(t.Context(), o); err != nil {
				return fmt.Errorf("step %d, crash %d: collect again: %w", n, crash, err)
			}
			if err := wholeReleases(t.Context(), again, all[3:]); err != nil {
				return fmt.Errorf("step %d, crash %d, collected again: %w", n, crash, err)
			}
			tags, err := again.Index().Tags(t.Context(), repository, "", -1)
			if err != nil || len(tags) != 3 {
				return fmt.Errorf("step %d, crash %d: tags %v, %w", n, crash, tags, err)
			}
		}
		if cerr == nil {
			if n < 15 {
				t.Fatalf("a collection has only %d steps", n)
			}
			return nil
		}
	}
}

// wholeReleases reports whether everything with a tag can be pulled, and these releases too.
func wholeReleases(ctx context.Context, s *server.Store, newest []*oci.Artifact) error {
	st, repository := oci.NewStore(s), oci.ReleaseRepository("default")
	tags, err := s.Index().Tags(ctx, repository, "", -1)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		d, err := st.Resolve(ctx, repository, tag)
		if err == nil {
			_, err = st.Pull(ctx, repository, d, oci.KindRelease)
		}
		if err == nil {
			_, err = s.Index().MediaType(ctx, repository, d)
		}
		if err != nil {
			return fmt.Errorf("tag %s: %w", tag, err)
		}
	}
	for _, a := range newest {
		if _, err := st.Pull(ctx, repository, a.Digest(), oci.KindRelease); err != nil {
			return err
		}
		if _, err := s.Index().MediaType(ctx, repository, a.Digest()); err != nil {
			return err
		}
	}
	return nil
}
