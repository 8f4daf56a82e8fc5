package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// laterLooks is an index in which a tag can be read so many times, and then ends in err: what
// happened between listing, reading and removing.
type laterLooks struct {
	*server.Files

	tag  string
	left int
	err  error
}

func (x *laterLooks) Tag(ctx context.Context, repository, tag string) (registry.Digest, error) {
	if tag == x.tag {
		if x.left--; x.left < 0 {
			return "", x.err
		}
	}
	return x.Files.Tag(ctx, repository, tag)
}

// TestCollectLooksAgain: a tag that went away while a collection ran ends nothing, and one that
// cannot be read any more ends the collection before it removes what the tag may name.
func TestCollectLooksAgain(t *testing.T) {
	gone := fmt.Errorf("gone: %w", registry.ErrNotFound)
	for _, c := range []struct {
		tag       string
		looks     int
		err       error
		manifests int
	}{
		{"latest", 1, gone, 2},
		{"1.0", 1, gone, 2},
		{"1.0", 0, gone, 1}, // the release is young, and nothing says that it was one
		{"latest", 1, errDisk, 0},
		{"1.0", 1, errDisk, 0},
		{"1.0", 0, errDisk, 0},
	} {
		dir := t.TempDir()
		files, err := server.OpenFiles(dir, atomicfiletest.Fast())
		if err != nil {
			t.Fatal(err)
		}
		index := &laterLooks{Files: files}
		store, err := server.Open(server.Options{Dir: dir, Index: index, System: atomicfiletest.Fast()})
		if err != nil {
			t.Fatal(err)
		}
		st, repository := oci.NewStore(store), oci.ReleaseRepository("default")
		var last *oci.Artifact
		for i := range 3 {
			if last, err = oci.New(oci.KindRelease, fmt.Appendf(nil, "release %d", i), nil); err != nil {
				t.Fatal(err)
			}
			if err := st.Push(t.Context(), repository, fmt.Sprintf("1.%d", i), last); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Tag(t.Context(), repository, oci.TagLatest, last); err != nil {
			t.Fatal(err)
		}
		index.tag, index.left, index.err = c.tag, c.looks, c.err
		got, err := store.Collect(t.Context(), server.CollectOptions{Before: time.Now().Add(-time.Hour), Releases: 1})
		if got.Manifests != c.manifests || c.manifests == 0 && !errors.Is(err, errDisk) || c.manifests > 0 && err != nil {
			t.Errorf("%+v: collected %+v, %v", c, got, err)
		}
	}
}

// TestCollectWithoutContents: manifests whose contents are lost, or are no manifests, name
// nothing, and go as any other that no tag names; the rest is collected with them.
func TestCollectWithoutContents(t *testing.T) {
	x := serve(t)
	lost := x.manifest("a/b", "", `,"annotations":{"is":"lost"}`)
	damaged := x.manifest("a/b", "", `,"annotations":{"is":"damaged"}`)
	kept := x.manifest("a/b", "v1", "")
	x.push("a/b", "nobody names it")
	at := func(m string) string { return filepath.Join(x.dir, "blobs", "sha256", digest(m)[len("sha256:"):]) }
	if err := os.Remove(at(lost)); err != nil {
		t.Fatal(err)
	}
	overwrite(t, at(damaged), []byte("["))
	c, err := x.store.Collect(t.Context(), server.CollectOptions{Before: time.Now().Add(time.Hour), Releases: 1})
	if err != nil || c.Manifests != 2 || c.Blobs != 2 || c.Kept != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(lost), ""), 404, "MANIFEST_UNKNOWN")
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(kept), ""), 200, "")
	x.want(x.do("HEAD", "/v2/a/b/blobs/"+digest("nobody names it"), ""), 404, "")
}
