package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

// failingContent fails at what has the name in fail.
type failingContent struct {
	server.Content

	fail string
}

func (c *failingContent) at(name string) error {
	if c.fail == name {
		return errDisk
	}
	return nil
}

func (c *failingContent) Fetch(ctx context.Context, d registry.Digest, limit int64) (b []byte, err error) {
	return b, orElse(c.at("Fetch"), func() error { b, err = c.Content.Fetch(ctx, d, limit); return err })
}

func (c *failingContent) Open(ctx context.Context, d registry.Digest) (f io.ReadSeekCloser, err error) {
	return f, orElse(c.at("Open"), func() error { f, err = c.Content.Open(ctx, d); return err })
}

func (c *failingContent) Size(ctx context.Context, d registry.Digest) (n int64, err error) {
	return n, orElse(c.at("Size"), func() error { n, err = c.Content.Size(ctx, d); return err })
}

func (c *failingContent) Put(ctx context.Context, blobs ...server.Blob) error {
	return orElse(c.at("Put"), func() error { return c.Content.Put(ctx, blobs...) })
}

func (c *failingContent) PutReader(ctx context.Context, d registry.Digest, r io.Reader) error {
	return orElse(c.at("PutReader"), func() error { return c.Content.PutReader(ctx, d, r) })
}

func (c *failingContent) Keep(ctx context.Context, d registry.Digest) (has bool, err error) {
	return has, orElse(c.at("Keep"), func() error { has, err = c.Content.Keep(ctx, d); return err })
}

func (c *failingContent) OlderThan(ctx context.Context, d registry.Digest, t time.Time) (old bool, err error) {
	return old, orElse(c.at("OlderThan"), func() error { old, err = c.Content.OlderThan(ctx, d, t); return err })
}

func (c *failingContent) Walk(ctx context.Context, fn func(registry.Digest, int64, time.Time) error) error {
	return orElse(c.at("Walk"), func() error { return c.Content.Walk(ctx, fn) })
}

// TestFaultsOfContents: storage that fails is an internal error, not a content that is
// missing, and nothing is linked or acknowledged whose bytes were not stored.
func TestFaultsOfContents(t *testing.T) {
	dir := t.TempDir()
	blobs, err := server.OpenBlobs(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	content := &failingContent{Content: blobs}
	store, err := server.Open(server.Options{Dir: dir, Content: content})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	h, err := server.NewHandler(server.HandlerOptions{
		Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Authorize: func(*http.Request, string, server.Action) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	x := &remote{t: t, dir: dir, url: s.URL, store: store}
	m := x.manifest("a/b", "v1", "")
	x.push("a/b", "blob")
	other := strings.Replace(m, `"layers":[]`, `"layers":[],"annotations":{"a":"b"}`, 1)
	for _, c := range []struct{ fail, method, path, body string }{
		{"Open", "GET", "blobs/" + digest("blob"), ""},
		{"Size", "HEAD", "blobs/" + digest("blob"), ""},
		{"Fetch", "GET", "manifests/v1", ""},
		{"Put", "PUT", "manifests/v2", other},
		{"PutReader", "POST", "blobs/uploads/?digest=" + digest("new"), "new"},
	} {
		content.fail = c.fail
		log.Reset()
		a := x.want(x.do(c.method, "/v2/a/b/"+c.path, c.body, "Content-Type: "+manifestType), 500, "UNKNOWN")
		for _, name := range []string{"Docker-Content-Digest", "ETag", "Accept-Ranges"} {
			if a.Header.Get(name) != "" {
				t.Errorf("%s at %s %s: the answer has %s", c.fail, c.method, c.path, name)
			}
		}
		if strings.Contains(string(a.body), "secret") || !strings.Contains(log.String(), errDisk.Error()) {
			t.Errorf("%s at %s %s: answer %s, log %q", c.fail, c.method, c.path, a.body, log.String())
		}
	}
	for _, fail := range []string{"Walk", "OlderThan"} {
		content.fail = fail
		if fail == "OlderThan" { // asked of what no tag names
			content.fail = ""
			x.want(x.do("DELETE", "/v2/a/b/manifests/v1", ""), 202, "")
			content.fail = fail
		}
		if c, err := store.Collect(t.Context(), server.CollectOptions{Before: time.Now().Add(time.Hour), Releases: 1}); !errors.Is(err, errDisk) || c.Blobs != 0 || c.Manifests != 0 {
			t.Errorf("%s: %+v, %v", fail, c, err)
		}
	}
	content.fail = ""
	x.push("a/c", "lost")
	if err := os.Remove(filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(digest("lost"), "sha256:"))); err != nil {
		t.Fatal(err)
	}
	content.fail = "Size" // asked of what is linked and was not listed
	if _, err := store.Collect(t.Context(), server.CollectOptions{Before: time.Now().Add(-time.Hour), Releases: 1}); !errors.Is(err, errDisk) {
		t.Errorf("Size: %v", err)
	}
	content.fail = ""
	x.want(x.do("GET", "/v2/a/b/blobs/"+digest("blob"), ""), 200, "")
	x.want(x.do("GET", "/v2/a/b/blobs/"+digest("new"), ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(m), ""), 200, "")
	x.want(x.do("GET", "/v2/a/b/manifests/v2", ""), 404, "MANIFEST_UNKNOWN")
}

// TestForeignUpload: an upload is that of its repository, and one with an id that was never
// given out is unknown to every method.
func TestForeignUpload(t *testing.T) {
	x := serve(t)
	at := x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 202, "").Header.Get("Location")
	id := at[strings.LastIndexByte(at, '/')+1:]
	for _, path := range []string{"/v2/c/d/blobs/uploads/" + id, "/v2/a/b/blobs/uploads/" + strings.Repeat("0", len(id)), "/v2/a/b/blobs/uploads/x"} {
		for _, c := range []struct{ method, query string }{{"GET", ""}, {"PATCH", ""}, {"PUT", "?digest=" + digest("x")}, {"DELETE", ""}} {
			a := x.do(c.method, path+c.query, "x")
			if a.StatusCode != http.StatusNotFound || !strings.Contains(string(a.body), "BLOB_UPLOAD_UNKNOWN") {
				t.Errorf("%s %s: %s %s", c.method, path, a.Status, a.body)
			}
			if a.Header.Get("Location") != "" || a.Header.Get("Range") != "" {
				t.Errorf("%s %s: the answer has an upload's headers: %v", c.method, path, a.Header)
			}
		}
	}
	x.want(x.do("GET", at, ""), 204, "")
}

// TestOpenWithoutDirectory: what is in the way of a directory is said when the store is
// opened, and not when the first content comes.
func TestOpenWithoutDirectory(t *testing.T) {
	for _, name := range []string{"", "blobs", "repositories", "uploads"} {
		dir := t.TempDir()
		if name == "" {
			dir = filepath.Join(dir, "file")
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Open(server.Options{Dir: dir}); err == nil {
			t.Errorf("opened with a file at %q", name)
		}
	}
	if _, err := server.Open(server.Options{}); err == nil || !strings.Contains(err.Error(), "no directory") {
		t.Error(err)
	}
}

// TestCollectEndsWithItsContext: a collection of a node that stops ends and removes nothing.
func TestCollectEndsWithItsContext(t *testing.T) {
	x := serve(t)
	x.push("a/b", "blob")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := x.store.Collect(ctx, server.CollectOptions{Before: time.Now().Add(time.Hour), Releases: 1}); !errors.Is(err, context.Canceled) || c.Blobs != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	x.want(x.do("GET", "/v2/a/b/blobs/"+digest("blob"), ""), 200, "")
}

// TestDockerList: an image index of Docker's type names its images as one of OCI does.
func TestDockerList(t *testing.T) {
	const list = "application/vnd.docker.distribution.manifest.list.v2+json"
	x := serve(t)
	m := x.manifest("a/b", "", "")
	body := func(d string) string {
		return `{"schemaVersion":2,"mediaType":"` + list + `","manifests":[{"mediaType":"` + manifestType + `","digest":"` + d + `","size":2}]}`
	}
	x.want(x.do("PUT", "/v2/a/b/manifests/latest", body(digest("missing")), "Content-Type: "+list), 400, "MANIFEST_BLOB_UNKNOWN")
	x.want(x.do("PUT", "/v2/a/b/manifests/latest", body(digest(m)), "Content-Type: "+list), 201, "")
	if _, err := x.store.Collect(t.Context(), server.CollectOptions{Before: time.Now().Add(time.Hour), Releases: 1}); err != nil {
		t.Fatal(err)
	}
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(m), ""), 200, "")
}

// TestChunkRanges: a chunk says where it starts and ends, or is refused.
func TestChunkRanges(t *testing.T) {
	x := serve(t)
	for _, c := range []struct {
		header, body string
		status       int
	}{
		{"0-0", "x", 202},
		{"bytes 0-0", "x", 202},
		{"bytes 0-0/9", "x", 202},
		{"0-1", "xy", 202},
		{"0-", "x", 400},
		{"0-x", "x", 400},
		{"-0", "x", 400},
		{"x-0", "x", 400},
		{"0", "x", 400},
		{"0-1", "x", 400},
		{"0-0", "xy", 400},
		{"-1-0", "xy", 400},
		{"9223372036854775808-9223372036854775808", "x", 400},
		{"1-1", "x", 416},
	} {
		at := x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 202, "").Header.Get("Location")
		if a := x.do("PATCH", at, c.body, "Content-Range: "+c.header); a.StatusCode != c.status {
			t.Errorf("Content-Range %s with %q: %s %s, want %d", c.header, c.body, a.Status, a.body, c.status)
		}
	}
	x.push("a/b", "x")
	m := x.manifest("a/b", "v1", "")
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		if a := x.do(method, "/v2/a/b/tags/list", ""); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s of the tags: %s, Allow %s", method, a.Status, a.Header.Get("Allow"))
		}
	}
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(m), ""), 200, "")
}

// TestUnwritableIndex: a manifest whose referrer cannot be recorded is not recorded either, and
// tags that cannot be listed are not an empty list.
func TestUnwritableIndex(t *testing.T) {
	root := t.TempDir()
	f, err := server.OpenFiles(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(root, "repositories", "a", "b")
	for _, name := range []string{"_referrers", "_tags"} { // a file where a directory belongs
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, subject := registry.DigestOf([]byte("manifest")), registry.DigestOf([]byte("subject"))
	if err := f.LinkManifest(t.Context(), "a/b", server.Descriptor{Digest: d, Subject: subject, MediaType: "m"}); err == nil {
		t.Error("the referrer was not recorded, and nobody is told")
	}
	if _, err := f.MediaType(t.Context(), "a/b", d); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("a manifest that its subject does not know: %v", err)
	}
	if tags, err := f.Tags(t.Context(), "a/b", "", -1); err == nil {
		t.Errorf("tags that cannot be read: %v", tags)
	}
}

// TestPutLeavesNothing: what was begun of contents that cannot all be kept is removed.
func TestPutLeavesNothing(t *testing.T) {
	b, dir := openBlobs(t)
	blocked := server.Blob{Digest: registry.DigestOf([]byte("blocked")), Data: []byte("blocked")}
	if err := os.MkdirAll(filepath.Join(dir, blocked.Digest.Hex(), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), blocked); err == nil {
		t.Fatal("a content took the place of a folder")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestTagNames: a tag has the letters, digits and signs of the specification, and 128 of them.
func TestTagNames(t *testing.T) {
	x := serve(t)
	x.push("a/b", "{}")
	m := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":%q,"size":2},"layers":[]}`, manifestType, digest("{}"))
	for tag, ok := range map[string]bool{
		"v1": true, "_": true, "a_b.c-D9": true, "Z": true, "0": true, strings.Repeat("x", 128): true,
		strings.Repeat("x", 129): false, ".a": false, "-a": false, "a%2Fb": false, "a%20b": false, "%C3%A4": false, "a~": false, "a@b": false,
	} {
		a := x.do("PUT", "/v2/a/b/manifests/"+tag, m, "Content-Type: "+manifestType)
		if (a.StatusCode == http.StatusCreated) != ok {
			t.Errorf("tag %s: %s %s", tag, a.Status, a.body)
		}
	}
	// The content of a manifest that the index knows is gone.
	if err := os.Remove(filepath.Join(x.dir, "blobs", "sha256", strings.TrimPrefix(digest(m), "sha256:"))); err != nil {
		t.Fatal(err)
	}
	x.want(x.do("GET", "/v2/a/b/manifests/v1", ""), 404, "MANIFEST_UNKNOWN")
}

// TestChunkOfUnknownLength: a chunk that says where it is, and not how long it is, is taken.
func TestChunkOfUnknownLength(t *testing.T) {
	x := serve(t)
	at := x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 202, "").Header.Get("Location")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, x.url+at, io.MultiReader(strings.NewReader("xyz")))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("any", "all")
	req.Header.Set("Content-Range", "0-2")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusAccepted || res.Header.Get("Range") != "0-2" {
		t.Errorf("%s, Range %s", res.Status, res.Header.Get("Range"))
	}
}
