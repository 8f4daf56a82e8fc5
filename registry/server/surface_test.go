package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

// TestPaths: each path means one end point, or none, in the words of the specification; what
// has no repository is asked of none.
func TestPaths(t *testing.T) {
	x := serve(t)
	m := x.manifest("a/b", "v1", "")
	id := strings.Repeat("0", 32)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/v2/", 200, ""},
		{"HEAD", "/v2/", 200, ""},
		{"POST", "/v2/", 405, "UNSUPPORTED"},
		{"DELETE", "/v2/", 405, "UNSUPPORTED"},
		{"GET", "/v2", 404, "NAME_UNKNOWN"},
		{"GET", "/", 404, "NAME_UNKNOWN"},
		{"GET", "/v1/", 404, "NAME_UNKNOWN"},
		{"GET", "/a/b/tags/list", 404, "NAME_UNKNOWN"},
		{"GET", "/v2/a/b", 404, "NAME_UNKNOWN"},
		{"GET", "/v2/a/b/tags", 404, "NAME_UNKNOWN"},
		{"GET", "/v2/a/b/manifests/", 404, "NAME_UNKNOWN"},
		{"GET", "/v2/a/b/blobs/", 404, "NAME_UNKNOWN"},
		{"GET", "/v2/a/b/referrers/", 404, "NAME_UNKNOWN"},
		{"GET", "/v2/a/b/manifests/v1/x", 404, "NAME_UNKNOWN"},
		{"GET", "/v2//tags/list", 400, "NAME_INVALID"},
		{"GET", "/v2//blobs/uploads/" + id, 400, "NAME_INVALID"},
		{"POST", "/v2//blobs/uploads/", 400, "NAME_INVALID"},
		{"GET", "/v2//manifests/v1", 400, "NAME_INVALID"},
		{"POST", "/v2/a/b/blobs/uploads", 202, ""},
		{"GET", "/v2/a/b/blobs/uploads", 405, "UNSUPPORTED"},
		{"POST", "/v2/a/b/blobs/uploads/" + id, 405, "UNSUPPORTED"},
		{"PUT", "/v2/a/b/blobs/" + digest("{}"), 405, "UNSUPPORTED"},
		{"POST", "/v2/a/b/referrers/" + digest(m), 405, "UNSUPPORTED"},
		{"GET", "/v2/a/b/referrers/" + digest("none"), 200, ""},
		{"GET", "/v2/a/c/referrers/" + digest("none"), 200, ""},
		{"GET", "/v2/a/b/tags/list?n=-1", 400, "UNSUPPORTED"},
		{"GET", "/v2/a/b/manifests/sha512:" + strings.Repeat("0", 128), 400, "DIGEST_INVALID"},
		{"PUT", "/v2/a/b/manifests/sha256:1", 400, "DIGEST_INVALID"},
	} {
		x.want(x.do(c.method, c.path, ""), c.status, c.code)
	}
	big := strings.Repeat(" ", server.MaxManifestBytes+1)
	if a := x.want(x.do("PUT", "/v2/a/b/manifests/v2", big, "Content-Type: "+manifestType), 413, "SIZE_INVALID"); !strings.Contains(string(a.body), fmt.Sprintf("the manifest has more than %d bytes", server.MaxManifestBytes)) {
		t.Errorf("a large manifest: %s", a.body)
	}
	allow := func(r *http.Request, _ string, _ server.Action) error { return nil }
	for _, o := range []server.HandlerOptions{{}, {Store: x.store}, {Authorize: allow}} {
		if _, err := server.NewHandler(o); err == nil {
			t.Errorf("a registry of %+v", o)
		}
	}
	for _, o := range []server.MirrorOptions{{From: x.store}, {Authorize: allow}} {
		if _, err := server.NewMirror(o); err == nil {
			t.Errorf("a mirror of %+v", o)
		}
	}
}

// TestUploadHeaders: an upload says where it goes on and how far it is, and a blob where it is.
func TestUploadHeaders(t *testing.T) {
	x := serve(t)
	check := func(a answer, want map[string]string) {
		t.Helper()
		for name, value := range want {
			if got := a.Header.Get(name); got != value {
				t.Errorf("%s %s: %s: %q, want %q", a.Request.Method, a.Request.URL.Path, name, got, value)
			}
		}
	}
	a := x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 202, "")
	at := a.Header.Get("Location")
	id := at[strings.LastIndexByte(at, '/')+1:]
	if at != "/v2/a/b/blobs/uploads/"+id || len(id) != 32 {
		t.Fatalf("Location %q", at)
	}
	check(a, map[string]string{"Docker-Upload-UUID": id, "Range": "0-0"})
	check(x.want(x.do("PATCH", at, "ab"), 202, ""), map[string]string{"Location": at, "Docker-Upload-UUID": id, "Range": "0-1"})
	check(x.want(x.do("GET", at, ""), 204, ""), map[string]string{"Location": at, "Docker-Upload-UUID": id, "Range": "0-1"})
	check(x.want(x.do("PATCH", at, "ab", "Content-Range: 5-6"), 416, "BLOB_UPLOAD_INVALID"), map[string]string{"Location": at, "Range": "0-1"})
	x.want(x.do("PATCH", at, "ab", "Content-Range: 5-3"), 400, "BLOB_UPLOAD_INVALID")
	x.want(x.do("PATCH", at, "", "Content-Range: 2-1"), 202, "") // nothing
	blob := map[string]string{"Location": "/v2/a/b/blobs/" + digest("abc"), "Docker-Content-Digest": digest("abc")}
	check(x.want(x.do("PUT", at+"?digest="+digest("abc"), "c"), 201, ""), blob)
	check(x.want(x.do("POST", "/v2/a/b/blobs/uploads/?from=a/b&mount="+digest("abc"), ""), 201, ""), blob)
	if a := x.want(x.do("HEAD", "/v2/a/b/blobs/"+digest("abc"), ""), 200, ""); a.ContentLength != 3 {
		t.Errorf("HEAD: %v", a.Header)
	}
}

// faultySystem is an operating system in which what has the name in fail fails.
type faultySystem struct {
	atomicfile.System

	fail string
}

func (s *faultySystem) SyncDir(dir string) error {
	if s.fail == "sync" {
		return errDisk
	}
	return s.System.SyncDir(dir)
}

func (s *faultySystem) Remove(name string) error {
	if s.fail == "remove" {
		return errDisk
	}
	return s.System.Remove(name)
}

func (s *faultySystem) Mkdir(dir string, perm os.FileMode) error {
	if s.fail == "mkdir" {
		return errDisk
	}
	return s.System.Mkdir(dir, perm)
}

func (s *faultySystem) Rename(from, to string) error {
	if s.fail == "rename" {
		return errDisk
	}
	return s.System.Rename(from, to)
}

// TestUnsyncedIsNotAcknowledged: what the disk did not make durable, or did not do, is not
// acknowledged.
func TestUnsyncedIsNotAcknowledged(t *testing.T) {
	sys := &faultySystem{System: atomicfiletest.Fast()}
	dir := t.TempDir()
	blobs, err := server.OpenBlobs(dir, sys)
	if err != nil {
		t.Fatal(err)
	}
	files, err := server.OpenFiles(dir, sys)
	if err != nil {
		t.Fatal(err)
	}
	ctx, there, absent := t.Context(), registry.DigestOf([]byte("there")), registry.DigestOf([]byte("absent"))
	m := server.Descriptor{Digest: there, Subject: absent, MediaType: "m"}
	if err := errors.Join(blobs.Put(ctx, server.Blob{Digest: there, Data: []byte("there")}), files.LinkBlob(ctx, "a/b", there), files.LinkManifest(ctx, "a/b", m), files.SetTag(ctx, "a/b", "v1", there)); err != nil {
		t.Fatal(err)
	}
	late := time.Now().Add(time.Hour)
	for _, c := range []struct {
		fail, name string
		do         func() error
	}{
		{"sync", "Put", func() error { return blobs.Put(ctx, server.Blob{Digest: absent, Data: []byte("absent")}) }},
		{"sync", "Put again", func() error { return blobs.Put(ctx, server.Blob{Digest: there, Data: []byte("there")}) }},
		{"rename", "Put", func() error { return blobs.Put(ctx, server.Blob{Digest: registry.DigestOf(nil)}) }},
		{"sync", "PutReader", func() error { return blobs.PutReader(ctx, absent, strings.NewReader("absent")) }},
		{"rename", "PutReader", func() error { return blobs.PutReader(ctx, absent, strings.NewReader("absent")) }},
		{"sync", "LinkBlob again", func() error { return files.LinkBlob(ctx, "a/b", there) }},
		{"sync", "LinkBlob", func() error { return files.LinkBlob(ctx, "a/b", absent) }},
		{"mkdir", "LinkBlob", func() error { return files.LinkBlob(ctx, "new/one", there) }},
		{"sync", "LinkBlob of a new repository", func() error { return files.LinkBlob(ctx, "new/two", there) }},
		{"sync", "SetTag", func() error { return files.SetTag(ctx, "a/b", "v2", there) }},
		{"rename", "LinkManifest", func() error { return files.LinkManifest(ctx, "a/b", m) }},
		{"remove", "UnlinkBlob", func() error { return files.UnlinkBlob(ctx, "a/b", there) }},
		{"remove", "UnlinkManifest", func() error { return files.UnlinkManifest(ctx, "a/b", m) }},
		{"remove", "DeleteTag", func() error { return files.DeleteTag(ctx, "a/b", "v1") }},
		{"remove", "Unlink tags", func() error { return files.Unlink(ctx, "a/b", server.Facts{Tags: []string{"v1"}}) }},
		{"remove", "Delete", func() error { return blobs.Delete(there) }},
		{"remove", "DeleteOld", func() error { _, err := blobs.DeleteOld(ctx, late, there); return err }},
		{"sync", "DeleteTag", func() error { return files.DeleteTag(ctx, "a/b", "v1") }},
		{"sync", "UnlinkBlob", func() error { return files.UnlinkBlob(ctx, "a/b", there) }},
		{"sync", "Unlink manifests", func() error { return files.Unlink(ctx, "a/b", server.Facts{Manifests: []server.Descriptor{m}}) }},
		{"sync", "DeleteOld", func() error { _, err := blobs.DeleteOld(ctx, late, there); return err }},
	} {
		sys.fail = c.fail
		if err := c.do(); !errors.Is(err, errDisk) {
			t.Errorf("%s where %s fails: %v", c.name, c.fail, err)
		}
		sys.fail = ""
	}
}

// TestPutAgain: a content that is there is not written again.
func TestPutAgain(t *testing.T) {
	b, dir := openBlobs(t)
	x := server.Blob{Digest: registry.DigestOf([]byte("data")), Data: []byte("data")}
	var was os.FileInfo
	for i := range 2 {
		if err := b.Put(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, x.Digest.Hex()))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && !os.SameFile(was, info) {
			t.Error("it was written again")
		}
		was = info
	}
}

// TestCollectLinksInPieces: links whose contents are gone go batch by batch while there is time,
// and the rest with the next collection.
func TestCollectLinksInPieces(t *testing.T) {
	dir := t.TempDir()
	x, err := server.Open(server.Options{Dir: dir, System: atomicfiletest.Fast()})
	if err != nil {
		t.Fatal(err)
	}
	const n = 65 // one more than a batch
	for i := range n {
		text := fmt.Append(nil, "content ", i)
		if err := x.PutBlob(t.Context(), "a/b", registry.DigestOf(text), text); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "blobs", "sha256", registry.DigestOf(text).Hex())); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (sum int) {
		for i := range n {
			if has, err := x.Index().HasBlob(t.Context(), "a/b", registry.DigestOf(fmt.Append(nil, "content ", i))); err != nil {
				t.Fatal(err)
			} else if has {
				sum++
			}
		}
		return sum
	}
	for _, want := range []int{1, 0} {
		c, err := x.Collect(t.Context(), server.CollectOptions{Before: time.Now().Add(-time.Hour), Releases: 1, Limit: time.Nanosecond})
		if err != nil || c.More != (want > 0) || left() != want {
			t.Errorf("%+v, %v, %d links are left, want %d", c, err, left(), want)
		}
	}
}
