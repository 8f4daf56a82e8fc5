package server_test

import (
	"bytes"
	"context"
	"errors"
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
