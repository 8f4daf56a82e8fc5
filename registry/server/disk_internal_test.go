package server

import (
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

// TestUnreadableIndex: what cannot be looked at is neither there nor missing. Whoever took it
// for missing would push it again, say that it was deleted, or collect what it names.
func TestUnreadableIndex(t *testing.T) {
	f, err := OpenFiles(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, d, subject := t.Context(), registry.DigestOf([]byte("m")), registry.DigestOf([]byte("s"))
	m := Descriptor{Digest: d, Subject: subject, MediaType: "m"}
	if err := errors.Join(f.LinkBlob(ctx, "a/b", d), f.LinkManifest(ctx, "a/b", m), f.SetTag(ctx, "a/b", "v1", d)); err != nil {
		t.Fatal(err)
	}
	if err := f.root.Close(); err != nil {
		t.Fatal(err)
	}
	none := func(string, registry.Digest) error { return nil }
	for name, ask := range map[string]func() error{
		"LinkBlob":       func() error { return f.LinkBlob(ctx, "a/b", d) },
		"HasBlob":        func() error { _, err := f.HasBlob(ctx, "a/b", d); return err },
		"MediaType":      func() error { _, err := f.MediaType(ctx, "a/b", d); return err },
		"UnlinkManifest": func() error { return f.UnlinkManifest(ctx, "a/b", m) },
		"Referrers":      func() error { _, err := f.Referrers(ctx, "a/b", subject); return err },
		"Tag":            func() error { _, err := f.Tag(ctx, "a/b", "v1"); return err },
		"Tags":           func() error { _, err := f.Tags(ctx, "a/b", "", -1); return err },
		"EachManifest":   func() error { return f.EachManifest(ctx, none) },
		"EachBlob":       func() error { return f.EachBlob(ctx, none) },
		"Unlink tags":    func() error { return f.Unlink(ctx, "a/b", Facts{Tags: []string{"v1"}}) },
		"Unlink blobs":   func() error { return f.Unlink(ctx, "a/b", Facts{Blobs: []registry.Digest{d}}) },
		"Unlink manifests": func() error {
			return f.Unlink(ctx, "a/b", Facts{Manifests: []Descriptor{{Digest: d}}})
		},
		"Unlink referrers": func() error { return f.Unlink(ctx, "a/b", Facts{Manifests: []Descriptor{m}}) },
	} {
		if err := ask(); !errors.Is(err, os.ErrClosed) || errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{"_tags/v1", "_blobs/" + d.Hex(), "_manifests/" + d.Hex(), "_referrers/" + subject.Hex() + "/" + d.Hex()} {
		if _, err := os.Stat(filepath.Join(f.dir, "a", "b", path)); err != nil {
			t.Errorf("what could not be looked at was removed: %v", err)
		}
	}
}

// TestMissingFacts: what is not there is forgotten without an error, and read as missing.
func TestMissingFacts(t *testing.T) {
	f, err := OpenFiles(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, d, subject := t.Context(), registry.DigestOf([]byte("m")), registry.DigestOf([]byte("s"))
	m := Descriptor{Digest: d, Subject: subject, MediaType: "m"}
	for name, err := range map[string]error{
		"UnlinkBlob":     f.UnlinkBlob(ctx, "a/b", d),
		"UnlinkManifest": f.UnlinkManifest(ctx, "a/b", m),
		"Unlink":         f.Unlink(ctx, "a/b", Facts{Tags: []string{"v1"}, Manifests: []Descriptor{m}, Blobs: []registry.Digest{d}}),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := f.Referrers(ctx, "a/b", subject); err != nil || len(all) != 0 {
		t.Errorf("referrers %v, %v", all, err)
	}
	if has, err := f.HasBlob(ctx, "a/b", d); err != nil || has {
		t.Errorf("a blob nobody pushed: %v, %v", has, err)
	}
	for name, ask := range map[string]func() error{
		"MediaType": func() error { _, err := f.MediaType(ctx, "a/b", d); return err },
		"Tag":       func() error { _, err := f.Tag(ctx, "a/b", "v1"); return err },
		"DeleteTag": func() error { return f.DeleteTag(ctx, "a/b", "v1") },
		"Tags":      func() error { _, err := f.Tags(ctx, "a/b", "", -1); return err },
	} {
		if err := ask(); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDamagedFacts: a file of the index that holds something else is an error that names it.
func TestDamagedFacts(t *testing.T) {
	f, err := OpenFiles(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, d, subject := t.Context(), registry.DigestOf([]byte("m")), registry.DigestOf([]byte("s"))
	for path, text := range map[string]string{"a/b/_tags/v1": "sha256:1", "a/b/_referrers/" + subject.Hex() + "/" + d.Hex(): "{"} {
		if err := f.write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.Tag(ctx, "a/b", "v1"); err == nil || errors.Is(err, registry.ErrNotFound) || !strings.Contains(err.Error(), "a/b:v1") || got != "" {
		t.Errorf("a damaged tag: %q, %v", got, err)
	}
	if got, err := f.Referrers(ctx, "a/b", subject); err == nil || !strings.Contains(err.Error(), d.Hex()) || got != nil {
		t.Errorf("a damaged referrer: %v, %v", got, err)
	}
	if err := f.DeleteTag(ctx, "a/b", "v1"); err != nil { // which mends it
		t.Error(err)
	}
	if _, err := f.Tag(ctx, "a/b", "v1"); !errors.Is(err, registry.ErrNotFound) {
		t.Error(err)
	}
}

// TestUnreadableContents is TestUnreadableIndex of contents: none of them is taken for missing,
// old or kept.
func TestUnreadableContents(t *testing.T) {
	b, err := OpenBlobs(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, data := t.Context(), []byte("data")
	d := registry.DigestOf(data)
	if err := b.Put(ctx, Blob{d, data}); err != nil {
		t.Fatal(err)
	}
	if err := b.root.Close(); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"Fetch":     func() error { _, err := b.Fetch(ctx, d, 100); return err },
		"Open":      func() error { _, err := b.Open(ctx, d); return err },
		"Verify":    func() error { return b.Verify(ctx, d) },
		"Size":      func() error { _, err := b.Size(ctx, d); return err },
		"Keep":      func() error { _, err := b.Keep(ctx, d); return err },
		"OlderThan": func() error { _, err := b.OlderThan(ctx, d, time.Now().Add(time.Hour)); return err },
		"DeleteOld": func() error {
			gone, err := b.DeleteOld(ctx, time.Now().Add(time.Hour), d)
			if len(gone) != 0 {
				t.Errorf("gone %v", gone)
			}
			return err
		},
	} {
		if err := ask(); !errors.Is(err, os.ErrClosed) || errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, d.Hex())); err != nil {
		t.Error(err)
	}
}

// TestDigestsOfContents: nothing is looked for, or removed, by what is not a digest.
func TestDigestsOfContents(t *testing.T) {
	b, err := OpenBlobs(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, d := range []registry.Digest{"", "sha256:", "sha256:../../x", "sha512:" + registry.Digest(registry.DigestOf(nil).Hex())} {
		for name, ask := range map[string]func() error{
			"Fetch":     func() error { _, err := b.Fetch(ctx, d, 100); return err },
			"Open":      func() error { _, err := b.Open(ctx, d); return err },
			"Size":      func() error { _, err := b.Size(ctx, d); return err },
			"PutReader": func() error { return b.PutReader(ctx, d, strings.NewReader("")) },
			"DeleteOld": func() error { _, err := b.DeleteOld(ctx, time.Now(), registry.DigestOf(nil), d); return err },
			"Delete":    func() error { return b.Delete(d) },
		} {
			if err := ask(); !errors.Is(err, registry.ErrDigest) {
				t.Errorf("%s of %q: %v", name, d, err)
			}
		}
	}
}

// TestUnreadableUploads: uploads that cannot be counted are no room for another.
func TestUnreadableUploads(t *testing.T) {
	u, err := openUploads(t.TempDir(), atomicfile.OS, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.root.Close(); err != nil {
		t.Fatal(err)
	}
	if id, err := u.start("a/b"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%q, %v", id, err)
	}
	if err := u.measure(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// TestUploadsThatWentAway: an upload whose file is gone, or cannot be removed, is said to be so,
// and what open uploads have is counted to the byte.
func TestUploadsThatWentAway(t *testing.T) {
	u := testUploads(t)
	if _, err := u.appendFile("x-", filepath.Join(u.dir, "x-y"), -1, strings.NewReader("a")); !errors.Is(err, errUploadUnknown) {
		t.Errorf("a file that is gone: %v", err)
	}
	id, err := u.start("a/b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.appendTo("a/b", id, -1, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if space := namespaceOf("a/b"); u.bytes[space] != 1 || u.total != 1 {
		t.Errorf("one byte counts as %d of %d", u.bytes[space], u.total)
	}
	path, err := u.path("a/b", id)
	if err != nil {
		t.Fatal(err)
	}
	u.free = func(string) (int64, bool) { return minFree - 1, true }
	if n, err := u.appendTo("a/b", id, -1, strings.NewReader("y")); !problem.Is(err, problem.Unavailable) || n != 1 {
		t.Errorf("a chunk on a full disk: %d, %v", n, err)
	}
	if err := u.cancel("a/b", id); err != nil || len(u.bytes) != 0 || u.total != 0 {
		t.Errorf("cancelled: %v, %d bytes are counted", err, u.total)
	}
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := u.cancel("a/b", id); err == nil || errors.Is(err, errUploadUnknown) {
		t.Errorf("what cannot be removed: %v", err)
	}
}

// TestBodiesThatBreakOff: a body that ends early is the client's fault, and all else is not.
func TestBodiesThatBreakOff(t *testing.T) {
	store, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHandler(HandlerOptions{Store: store, Authorize: func(*http.Request, string, Action) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path string
	}{
		{http.MethodPost, "/v2/a/b/blobs/uploads/?digest=" + string(registry.DigestOf(nil))},
		{http.MethodPut, "/v2/a/b/manifests/v1"},
	} {
		for cause, want := range map[error]string{io.ErrUnexpectedEOF: `400 {"errors":[{"code":"SIZE_INVALID","message":"the body ended early"}]}`, errors.New("secret"): `500 {"errors":[{"code":"UNKNOWN","message":"internal error"}]}`} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, iotest.ErrReader(cause)))
			if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); got != want {
				t.Errorf("%s %s, %v: %s, want %s", c.method, c.path, cause, got, want)
			}
		}
	}
}

// TestTagsOfReleases: only two numbers are the place of a release.
func TestTagsOfReleases(t *testing.T) {
	for tag, want := range map[string][2]uint64{
		"1.2": {1, 2}, "18446744073709551615.0": {1<<64 - 1, 0}, "latest": {}, "1": {}, "1.": {}, ".2": {}, "1.x": {}, "x.1": {}, "1.2.3": {}, "-1.2": {}, "1.18446744073709551616": {}, "": {},
	} {
		if e, r := position(tag); e != want[0] || r != want[1] {
			t.Errorf("%q: %d, %d", tag, e, r)
		}
	}
}
