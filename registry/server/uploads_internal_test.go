package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

func testUploads(t *testing.T) *uploads {
	t.Helper()
	u, err := openUploads(t.TempDir(), atomicfile.OS, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.root.Close() })
	return u
}

// TestBrokenChunk breaks a chunk off: the upload is as it was, so the client can send
// the chunk again.
func TestBrokenChunk(t *testing.T) {
	u := testUploads(t)
	id, err := u.start("a/b")
	if err != nil {
		t.Fatal(err)
	}
	if at, err := u.appendTo("a/b", id, -1, strings.NewReader("abc")); at != 3 || err != nil {
		t.Fatalf("%d, %v", at, err)
	}
	broken := io.MultiReader(strings.NewReader("defg"), iotest.ErrReader(errors.New("connection reset")))
	if at, err := u.appendTo("a/b", id, 3, broken); at != 3 || err == nil {
		t.Errorf("a broken chunk: %d, %v", at, err)
	}
	if at, err := u.offset("a/b", id); at != 3 || err != nil {
		t.Errorf("after it the upload has %d bytes, %v", at, err)
	}
	if at, err := u.appendTo("a/b", id, 3, strings.NewReader("def")); at != 6 || err != nil {
		t.Errorf("the chunk again: %d, %v", at, err)
	}
	// The largest blob, and one byte more.
	path, err := u.path("a/b", id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, MaxBlobBytes-2); err != nil {
		t.Fatal(err)
	}
	if at, err := u.appendTo("a/b", id, -1, strings.NewReader("abc")); at != MaxBlobBytes-2 || !problem.Is(err, problem.TooLarge) {
		t.Errorf("a byte too many: %d, %v", at, err)
	}
	if at, err := u.appendTo("a/b", id, -1, strings.NewReader("ab")); at != MaxBlobBytes || err != nil {
		t.Errorf("the last bytes: %d, %v", at, err)
	}
}

// TestOneRequestAtATime holds an upload: a second request is refused until the first
// ends, and other uploads are not.
func TestOneRequestAtATime(t *testing.T) {
	u := testUploads(t)
	id, err := u.start("a/b")
	if err != nil {
		t.Fatal(err)
	}
	other, err := u.start("a/b")
	if err != nil {
		t.Fatal(err)
	}
	_, release, err := u.hold("a/b", id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.appendTo("a/b", id, -1, strings.NewReader("x")); !errors.Is(err, errUploadRange) {
		t.Errorf("a second request: %v", err)
	}
	if err := u.cancel("a/b", id); !errors.Is(err, errUploadRange) {
		t.Errorf("a second request cancels: %v", err)
	}
	if _, err := u.appendTo("a/b", other, -1, strings.NewReader("x")); err != nil {
		t.Errorf("another upload: %v", err)
	}
	release()
	if _, err := u.appendTo("a/b", id, -1, strings.NewReader("x")); err != nil {
		t.Errorf("after the first: %v", err)
	}
}

// TestUploadID knows ids of sixteen bytes only: an id is part of a path.
func TestUploadID(t *testing.T) {
	u := testUploads(t)
	f := func(id string, ok bool) {
		t.Helper()
		path, err := u.path("a/b", id)
		if ok && (err != nil || filepath.Base(path) != id) || !ok && !errors.Is(err, errUploadUnknown) {
			t.Errorf("%q: %q, %v", id, path, err)
		}
	}
	f(strings.Repeat("0f", 16), true)
	f(strings.Repeat("0f", 15), false)
	f(strings.Repeat("0f", 17), false)
	f("", false)
	f(strings.Repeat("0g", 16), false)
	f("../"+strings.Repeat("0", 29), false)
}

// TestMaxUploads: so many uploads are open, of one namespace and of all; one more has to wait
// until one ends.
func TestMaxUploads(t *testing.T) {
	u := testUploads(t)
	var last string
	for n := range maxUploads / maxUploadsOfOne {
		for i := range maxUploadsOfOne {
			id, err := u.start(fmt.Sprintf("ws%d/repository-%d", n, i%2))
			if err != nil {
				t.Fatalf("namespace %d, upload %d: %v", n, i+1, err)
			}
			last = id
		}
		if _, err := u.start(fmt.Sprintf("ws%d/another", n)); !problem.Is(err, problem.Unavailable) {
			t.Errorf("one more of namespace %d: %v", n, err)
		}
	}
	if _, err := u.start("c/d"); !problem.Is(err, problem.Unavailable) {
		t.Errorf("one more of all: %v", err)
	}
	if err := u.cancel(fmt.Sprintf("ws%d/repository-1", maxUploads/maxUploadsOfOne-1), last); err != nil {
		t.Fatal(err)
	}
	if _, err := u.start("c/d"); err != nil {
		t.Errorf("after one ended: %v", err)
	}
}

// TestMaxUploadBytes: the open uploads of one namespace, and of all, have so many bytes; one
// more is refused until an upload ends, whatever broke off or was finished before.
func TestMaxUploadBytes(t *testing.T) {
	dir := t.TempDir()
	content, err := OpenBlobs(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func() *uploads {
		t.Helper()
		u, err := openUploads(dir, atomicfile.OS, content, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = u.root.Close() })
		return u
	}
	u := open()
	start := func(repository string) string {
		t.Helper()
		id, err := u.start(repository)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first, second := start("ws/a"), start("ws/b")
	if _, err := u.appendTo("ws/a", first, -1, strings.NewReader("abc")); err != nil {
		t.Fatal(err)
	}
	old := start("old/a")
	if _, err := u.appendTo("old/a", old, -1, strings.NewReader("0123456789")); err != nil {
		t.Fatal(err)
	}
	path, err := u.path("old/a", old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-uploadLifetime-time.Minute)); err != nil {
		t.Fatal(err)
	}
	u = open() // what was open before counts, and what is too old does not
	if u.total != 3 || len(u.bytes) != 1 {
		t.Errorf("%d bytes are open, of %d namespaces", u.total, len(u.bytes))
	}
	u.count(namespaceOf("ws/x"), maxUploadBytesOfOne-8)
	for range 2 {
		broken := io.MultiReader(strings.NewReader("de"), iotest.ErrReader(errors.New("connection reset")))
		if _, err := u.appendTo("ws/b", second, -1, broken); err == nil {
			t.Fatal("a broken chunk was taken")
		}
	}
	if at, err := u.appendTo("ws/b", second, -1, strings.NewReader("defghi")); !problem.Is(err, problem.Unavailable) || at != 0 {
		t.Errorf("a byte too many of a namespace: %d, %v", at, err)
	}
	if _, err := u.appendTo("ws/b", second, -1, strings.NewReader("defgh")); err != nil {
		t.Errorf("the last bytes of a namespace: %v", err)
	}
	other := start("other/a")
	if _, err := u.appendTo("other/a", other, -1, strings.NewReader("x")); err != nil {
		t.Errorf("another namespace: %v", err)
	}
	sum := sha256.Sum256([]byte("abc"))
	if err := u.finish(t.Context(), "ws/a", first, -1, strings.NewReader(""), registry.DigestOfSum(sum[:])); err != nil {
		t.Fatal(err)
	}
	third := start("ws/c")
	if _, err := u.appendTo("ws/c", third, -1, strings.NewReader("xyz")); err != nil {
		t.Errorf("after one was finished: %v", err)
	}
	u.count(namespaceOf("third/x"), maxUploadBytes-u.total)
	if _, err := u.appendTo("other/a", other, -1, strings.NewReader("y")); !problem.Is(err, problem.Unavailable) {
		t.Errorf("a byte too many of all: %v", err)
	}
	if err := u.cancel("ws/c", third); err != nil {
		t.Fatal(err)
	}
	if _, err := u.appendTo("other/a", other, -1, strings.NewReader("yz1")); err != nil {
		t.Errorf("after one was cancelled: %v", err)
	}
}

// TestUploadsLeaveRoom: on a disk that is nearly full, nothing is uploaded, and no manifest
// pushed; what the node publishes itself is stored.
func TestUploadsLeaveRoom(t *testing.T) {
	free := int64(minFree)
	store, err := Open(Options{Dir: t.TempDir(), Free: func(string) (int64, bool) { return free, true }})
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHandler(HandlerOptions{Store: store, Authorize: func(*http.Request, string, Action) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	push := func(method, path, body string) int {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", typeIndex)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	sum := sha256.Sum256([]byte("abc"))
	d := registry.DigestOfSum(sum[:])
	blob := "/v2/a/b/blobs/uploads/?digest=" + string(d)
	const manifest = `{"schemaVersion":2,"mediaType":"` + typeIndex + `","manifests":[]}`
	for _, want := range []bool{true, false} {
		if got := push(http.MethodPost, blob, "abc"); (got == http.StatusCreated) != want || !want && got != http.StatusTooManyRequests {
			t.Errorf("%d bytes are free: the blob is answered %d", free, got)
		}
		if got := push(http.MethodPut, "/v2/a/b/manifests/v1", manifest); (got == http.StatusCreated) != want || !want && got != http.StatusTooManyRequests {
			t.Errorf("%d bytes are free: the manifest is answered %d", free, got)
		}
		free = minFree - 1
	}
	if err := store.PutBlob(t.Context(), "a/b", d, []byte("abc")); err != nil {
		t.Errorf("what the node stores: %v", err)
	}
}

// TestMaxIndexFileBytes: a file of the index as large is read, a byte more is damage.
func TestMaxIndexFileBytes(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFiles(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, ok := range map[int]bool{maxIndexFileBytes: true, maxIndexFileBytes + 1: false} {
		if err := os.WriteFile(filepath.Join(f.dir, "x"), make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := f.read("x", "the tag")
		if ok != (err == nil && len(b) == n) {
			t.Errorf("%d bytes: %d are read, %v", n, len(b), err)
		}
	}
}

// manyTags is the index of a repository with so many tags.
type manyTags struct {
	Index

	n int
}

func (m manyTags) Tags(_ context.Context, _, _ string, limit int) (tags []string, err error) {
	for i := range min(m.n, limit) {
		tags = append(tags, fmt.Sprintf("v%04d", i))
	}
	return tags, nil
}

// TestMaxTagPage: an answer names so many tags, whatever was asked for, and says that
// there are more.
func TestMaxTagPage(t *testing.T) {
	for n, more := range map[int]bool{maxTagPage: false, maxTagPage + 1: true} {
		store, err := Open(Options{Dir: t.TempDir(), Index: manyTags{n: n}})
		if err != nil {
			t.Fatal(err)
		}
		h, err := NewHandler(HandlerOptions{Store: store, Authorize: func(*http.Request, string, Action) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"", fmt.Sprint("?n=", maxTagPage), fmt.Sprint("?n=", maxTagPage+1)} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v2/a/b/tags/list"+query, http.NoBody))
			var got struct{ Tags []string }
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if link := w.Header().Get("Link") != ""; len(got.Tags) != maxTagPage || link != more {
				t.Errorf("%d tags, %s: %d are named, more %v", n, query, len(got.Tags), link)
			}
		}
	}
}
