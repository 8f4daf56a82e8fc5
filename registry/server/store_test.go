package server_test

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
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/server/contenttest"
)

func openBlobs(t testing.TB) (*server.Blobs, string) {
	t.Helper()
	dir := t.TempDir()
	b, err := server.OpenBlobs(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b, filepath.Join(dir, "blobs", "sha256")
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

func TestBlobs(t *testing.T) {
	contenttest.Run(t, func(t testing.TB) contenttest.Subject {
		b, dir := openBlobs(t)
		return contenttest.Subject{Content: b, Overwrite: func(t testing.TB, d registry.Digest, data []byte) {
			overwrite(t, filepath.Join(dir, d.Hex()), data)
		}}
	})
}

func TestBlobsAreNotWritable(t *testing.T) {
	b, dir := openBlobs(t)
	x := contenttest.Blob("x")
	if err := b.Put(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, x.Digest.Hex())); err != nil || info.Mode().Perm() != 0o444 {
		t.Fatalf("mode %v, %v; content must not be writable", info, err)
	}
	for range 2 {
		if err := b.Delete(x.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Verify(t.Context(), x.Digest); !errors.Is(err, registry.ErrNotFound) {
		t.Fatalf("after Delete: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, x.Digest.Hex()), 0o700); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Size(t.Context(), x.Digest); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("a folder is content of %d bytes, %v", n, err)
	}
}

func TestOpenBlobsRemovesLeftovers(t *testing.T) {
	_, dir := openBlobs(t)
	stale, fresh := filepath.Join(dir, ".tmp-1"), filepath.Join(dir, ".tmp-2")
	for _, p := range []string{stale, fresh} {
		if err := os.WriteFile(p, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(stale, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := server.OpenBlobs(filepath.Join(dir, "..", ".."), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Fatalf("an old temporary file stayed: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Fatalf("a file that may be being written was removed: %v", err)
	}
}

// pushAll pushes releases one after the other onto a disk that forgets and
// reports whether a power cut after each acknowledgement leaves it readable.
func pushAll(t *testing.T, crash atomicfiletest.Crash, change func(*atomicfiletest.Disk)) error {
	t.Helper()
	dir := t.TempDir()
	disk := atomicfiletest.New(dir)
	change(disk)
	s, err := server.Open(server.Options{Dir: dir, System: disk})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		a, err := oci.New(oci.KindRelease, fmt.Appendf(nil, "release %d", i), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := oci.NewStore(s).Push(t.Context(), "releases/default", "latest", a); err != nil {
			t.Fatal(err)
		}
		after := t.TempDir()
		if err := disk.PowerCut(after, crash); err != nil {
			t.Fatal(err)
		}
		again, err := server.Open(server.Options{Dir: after})
		if err != nil {
			return err
		}
		d, err := oci.NewStore(again).Resolve(t.Context(), "releases/default", "latest")
		if err != nil {
			return err
		}
		if d != a.Digest() {
			return fmt.Errorf("after push %d the tag is at %s, want %s", i, d.Short(), a.Digest().Short())
		}
		if _, err := oci.NewStore(again).Pull(t.Context(), "releases/default", d, oci.KindRelease); err != nil {
			return err
		}
	}
	return nil
}

func TestAcknowledgedPushSurvivesPowerCut(t *testing.T) {
	for _, crash := range []atomicfiletest.Crash{atomicfiletest.NamesLost, atomicfiletest.NamesKept} {
		if err := pushAll(t, crash, func(*atomicfiletest.Disk) {}); err != nil {
			t.Errorf("crash %d: %v", crash, err)
		}
	}
	// Negative controls: the same test has to notice a sync that is not there.
	if err := pushAll(t, atomicfiletest.NamesLost, func(d *atomicfiletest.Disk) { d.DropDirSync = true }); err == nil {
		t.Error("dropping the fsync of directories is not noticed")
	}
	if err := pushAll(t, atomicfiletest.NamesKept, func(d *atomicfiletest.Disk) { d.DropFileSync = true }); err == nil {
		t.Error("dropping the fsync of files is not noticed")
	}
}

// Wherever the power goes during a push, the tag names the old release or the
// new one, and that one is complete.
func TestPowerCutAtEveryStep(t *testing.T) {
	makeRelease := func(s string) *oci.Artifact {
		a, err := oci.New(oci.KindRelease, []byte(s), nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	before, next := makeRelease("before"), makeRelease("next")
	for n := 1; ; n++ {
		dir := t.TempDir()
		disk := atomicfiletest.New(dir)
		s, err := server.Open(server.Options{Dir: dir, System: disk})
		if err != nil {
			t.Fatal(err)
		}
		store := oci.NewStore(s)
		if err := store.Push(t.Context(), "releases/default", "latest", before); err != nil {
			t.Fatal(err)
		}
		disk.FailAt = len(disk.Ops()) + n
		err = store.Push(t.Context(), "releases/default", "latest", next)
		for _, crash := range []atomicfiletest.Crash{atomicfiletest.NamesLost, atomicfiletest.NamesKept} {
			after := t.TempDir()
			if err := disk.PowerCut(after, crash); err != nil {
				t.Fatal(err)
			}
			again, oerr := server.Open(server.Options{Dir: after})
			if oerr != nil {
				t.Fatal(oerr)
			}
			d, rerr := oci.NewStore(again).Resolve(t.Context(), "releases/default", "latest")
			if rerr != nil || d != before.Digest() && d != next.Digest() || err == nil && d != next.Digest() {
				t.Fatalf("step %d (%v): the tag is at %s, %v", n, err, d, rerr)
			}
			if _, perr := oci.NewStore(again).Pull(t.Context(), "releases/default", d, oci.KindRelease); perr != nil {
				t.Fatalf("step %d: the tag names what is not complete: %v", n, perr)
			}
		}
		if err == nil {
			if n < 20 {
				t.Fatalf("a push has only %d steps", n)
			}
			return
		}
	}
}

func TestPutManifestRefuses(t *testing.T) {
	s, err := server.Open(server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	const typ = "application/vnd.oci.image.manifest.v1+json"
	f := func(what, mediaType, m string, kind problem.Kind) {
		t.Helper()
		err := s.PutManifest(t.Context(), "a/b", "t", registry.DigestOf([]byte(m)), mediaType, []byte(m))
		if !problem.Is(err, kind) {
			t.Fatalf("%s: %v; want %s", what, err, kind)
		}
		if _, err := s.ResolveTag(t.Context(), "a/b", "t"); !errors.Is(err, registry.ErrNotFound) {
			t.Fatalf("%s: refused and tagged", what)
		}
	}
	config := `"config":{"mediaType":"a/b","digest":"` + string(registry.DigestOf([]byte("{}"))) + `"}`
	f("not JSON", typ, "hello", problem.InvalidArgument)
	f("another type", "text/html", `{}`, problem.InvalidArgument)
	f("schema 1", typ, `{"schemaVersion":1,`+config+`}`, problem.InvalidArgument)
	f("no configuration", typ, `{"schemaVersion":2}`, problem.InvalidArgument)
	f("types differ", typ, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json",`+config+`}`, problem.InvalidArgument)
	f("a bad digest", typ, `{"schemaVersion":2,"config":{"digest":"sha256:1"}}`, problem.InvalidArgument)
	f("a missing blob", typ, `{"schemaVersion":2,`+config+`}`, problem.NotFound)
	f("too large", typ, `{"schemaVersion":2,`+config+strings.Repeat(" ", server.MaxManifestBytes)+`}`, problem.TooLarge)
	if err := s.PutBlob(t.Context(), "a/b", registry.DigestOf([]byte("{}")), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	good := `{"schemaVersion":2,` + config + `}`
	if err := s.PutManifest(t.Context(), "a/b", "t", registry.DigestOf([]byte(good)), typ, []byte(good)); err != nil {
		t.Fatalf("the control: %v", err)
	}
	// A blob of another repository does not count: repositories are walls.
	err = s.PutManifest(t.Context(), "a/c", "", registry.DigestOf([]byte(good)), typ, []byte(good))
	if !problem.Is(err, problem.NotFound) {
		t.Fatalf("a blob of another repository: %v", err)
	}
	if err := s.PutBlob(t.Context(), "../x", registry.DigestOf(nil), nil); err == nil {
		t.Fatal("a repository that is a path")
	}
}

// indexSuite is what every Index has to do.
func indexSuite(t *testing.T, open func(t *testing.T) server.Index) {
	ctx := t.Context()
	d := func(s string) registry.Digest { return registry.DigestOf([]byte(s)) }
	t.Run("tags", func(t *testing.T) {
		x := open(t)
		if _, err := x.Tags(ctx, "a/b", "", -1); !errors.Is(err, registry.ErrNotFound) {
			t.Fatalf("an unknown repository: %v", err)
		}
		for _, tag := range []string{"v2", "v1", "latest"} {
			if err := x.SetTag(ctx, "a/b", tag, d(tag)); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.SetTag(ctx, "a/b", "v1", d("moved")); err != nil {
			t.Fatal(err)
		}
		if got, err := x.Tag(ctx, "a/b", "v1"); err != nil || got != d("moved") {
			t.Fatalf("Tag = %s, %v", got, err)
		}
		list := func(after string, n int, want ...string) {
			t.Helper()
			got, err := x.Tags(ctx, "a/b", after, n)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("Tags(%q, %d) = %v, %v; want %v", after, n, got, err, want)
			}
		}
		list("", -1, "latest", "v1", "v2")
		list("latest", 1, "v1")
		list("m", -1, "v1", "v2")
		list("v2", -1)
		list("", 0)
		if err := x.DeleteTag(ctx, "a/b", "v1"); err != nil {
			t.Fatal(err)
		}
		if err := x.DeleteTag(ctx, "a/b", "v1"); !errors.Is(err, registry.ErrNotFound) {
			t.Fatalf("deleted twice: %v", err)
		}
		if _, err := x.Tag(ctx, "a", "b"); !errors.Is(err, registry.ErrNotFound) {
			t.Fatalf("a repository that is the parent of one: %v", err)
		}
	})
	t.Run("blobs", func(t *testing.T) {
		x := open(t)
		for range 2 {
			if err := x.LinkBlob(ctx, "a/b", d("1")); err != nil {
				t.Fatal(err)
			}
		}
		has := func(repository string, want bool) {
			t.Helper()
			if got, err := x.HasBlob(ctx, repository, d("1")); err != nil || got != want {
				t.Fatalf("HasBlob(%s) = %v, %v", repository, got, err)
			}
		}
		has("a/b", true)
		has("a", false)
		has("a/b/c", false)
		if err := x.UnlinkBlob(ctx, "a/b", d("1")); err != nil {
			t.Fatal(err)
		}
		has("a/b", false)
	})
	t.Run("manifests", func(t *testing.T) {
		x := open(t)
		one := server.Descriptor{MediaType: "m/1", Digest: d("1"), Size: 5, ArtifactType: "t/1", Subject: d("s"), Annotations: map[string]string{"k": "v"}}
		if err := x.LinkManifest(ctx, "a/b", one); err != nil {
			t.Fatal(err)
		}
		if err := x.SetTag(ctx, "a/b", "t", one.Digest); err != nil {
			t.Fatal(err)
		}
		if typ, err := x.MediaType(ctx, "a/b", one.Digest); err != nil || typ != "m/1" {
			t.Fatalf("MediaType = %q, %v", typ, err)
		}
		refs, err := x.Referrers(ctx, "a/b", d("s"))
		if err != nil || len(refs) != 1 || refs[0].ArtifactType != "t/1" || refs[0].Annotations["k"] != "v" || refs[0].Size != 5 {
			t.Fatalf("Referrers = %+v, %v", refs, err)
		}
		if refs, err := x.Referrers(ctx, "a/b", d("none")); err != nil || len(refs) != 0 {
			t.Fatalf("no referrers: %v, %v", refs, err)
		}
		other := server.Descriptor{MediaType: "m/2", Digest: d("2")}
		if err := errors.Join(x.LinkManifest(ctx, "a/b", other), x.SetTag(ctx, "a/b", "other", other.Digest)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := x.UnlinkManifest(ctx, "a/b", one); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := x.MediaType(ctx, "a/b", one.Digest); !errors.Is(err, registry.ErrNotFound) {
			t.Fatalf("after UnlinkManifest: %v", err)
		}
		if refs, err := x.Referrers(ctx, "a/b", d("s")); err != nil || len(refs) != 0 {
			t.Fatalf("after UnlinkManifest it still refers: %v, %v", refs, err)
		}
		if _, err := x.Tag(ctx, "a/b", "t"); !errors.Is(err, registry.ErrNotFound) {
			t.Fatalf("after UnlinkManifest the tag stays: %v", err)
		}
		if got, err := x.Tag(ctx, "a/b", "other"); got != other.Digest || err != nil {
			t.Fatalf("the tag of another manifest went too: %s, %v", got, err)
		}
	})
}

func TestFiles(t *testing.T) {
	indexSuite(t, func(t *testing.T) server.Index {
		f, err := server.OpenFiles(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
}

// Many writers of shared and own content, readers beside them: every
// acknowledged push is whole.
func TestConcurrentPushes(t *testing.T) {
	s, err := server.Open(server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	store := oci.NewStore(s)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 5 {
				a, err := oci.New(oci.KindRelease, fmt.Appendf(nil, "content %d", (w+i)%6), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if err := store.Push(context.Background(), "a/b", "latest", a); err != nil {
					t.Error(err)
					return
				}
				d, err := store.Resolve(context.Background(), "a/b", "latest")
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := store.Pull(context.Background(), "a/b", d, oci.KindRelease); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
