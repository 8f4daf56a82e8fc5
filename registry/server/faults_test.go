package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

// What each answer says beside its body: what the content is, that browsers must not guess,
// and which version it was.
func TestHeaders(t *testing.T) {
	x := serve(t)
	m := x.manifest("a/b", "v1", "")
	check := func(a answer, want map[string]string) {
		t.Helper()
		want["X-Content-Type-Options"], want["Docker-Distribution-API-Version"] = "nosniff", "registry/2.0"
		for name, value := range want {
			if got := a.Header.Get(name); got != value {
				t.Errorf("%s %s: %s: %q, want %q", a.Request.Method, a.Request.URL.Path, name, got, value)
			}
		}
	}
	tag := `"` + digest(m) + `"`
	check(x.do("GET", "/v2/a/b/manifests/v1", ""), map[string]string{"Content-Type": manifestType, "Docker-Content-Digest": digest(m), "ETag": tag})
	check(x.do("GET", "/v2/", ""), map[string]string{"Content-Type": "application/json"})
	check(x.do("GET", "/v2/a/b/tags/list", ""), map[string]string{"Content-Type": "application/json"})
	check(x.do("GET", "/v2/a/b/manifests/v2", ""), map[string]string{"Content-Type": "application/json", "Docker-Content-Digest": "", "ETag": ""})
	check(x.do("GET", "/v2/a/b/blobs/"+digest("{}"), ""), map[string]string{
		"Content-Type": "application/octet-stream", "Docker-Content-Digest": digest("{}"), "ETag": `"` + digest("{}") + `"`, "Accept-Ranges": "bytes",
	})
	x.want(x.do("GET", "/v2/a/b/manifests/v1", "", "If-None-Match: "+tag), 304, "")
	if a := x.want(x.do("HEAD", "/v2/a/b/manifests/v2", ""), 404, ""); len(a.body) != 0 {
		t.Errorf("HEAD has the body %s", a.body)
	}
	for _, name := range []string{".", "..", ".hidden", "-x", "a%2Fb", strings.Repeat("t", 129)} {
		if a := x.do("GET", "/v2/a/b/manifests/"+name, ""); a.StatusCode != http.StatusNotFound {
			t.Errorf("the tag %s: %s %s", name, a.Status, a.body)
		}
	}
}

// What was damaged on the disk is never served.
func TestDamagedManifest(t *testing.T) {
	x := serve(t)
	m := x.manifest("a/b", "v1", "")
	overwrite(t, filepath.Join(x.dir, "blobs", "sha256", registry.DigestOf([]byte(m)).Hex()), []byte(strings.Replace(m, "2", "3", 1)))
	for _, ref := range []string{"v1", digest(m)} {
		if a := x.want(x.do("GET", "/v2/a/b/manifests/"+ref, ""), 500, "UNKNOWN"); strings.Contains(string(a.body), "schemaVersion") || a.Header.Get("ETag") != "" {
			t.Errorf("%s, %v", a.body, a.Header)
		}
	}
	// Deleting it still works: what it is about is not known, all else is.
	x.want(x.do("DELETE", "/v2/a/b/manifests/"+digest(m), ""), 202, "")
	x.want(x.do("GET", "/v2/a/b/manifests/v1", ""), 404, "MANIFEST_UNKNOWN")
}

// The type of an artifact is its own, else that of its configuration, else none.
func TestArtifactTypes(t *testing.T) {
	x := serve(t)
	x.push("a/b", "{}")
	const empty = "application/vnd.oci.empty.v1+json"
	for i, c := range []struct{ artifact, config, want string }{
		{"application/x.own", "application/x.config", "application/x.own"},
		{"", "application/x.config", "application/x.config"},
		{"application/x.own", empty, "application/x.own"},
		{"", empty, ""},
	} {
		subject := digest(fmt.Sprint("subject ", i))
		m := fmt.Sprintf(`{"schemaVersion":2,"artifactType":%q,"config":{"mediaType":%q,"digest":%q,"size":2},"layers":[],"subject":{"mediaType":"m","digest":%q,"size":1}}`,
			c.artifact, c.config, digest("{}"), subject)
		x.want(x.do("PUT", "/v2/a/b/manifests/"+digest(m), m, "Content-Type: "+manifestType), 201, "")
		a := x.want(x.do("GET", "/v2/a/b/referrers/"+subject, ""), 200, "")
		has := strings.Contains(string(a.body), `"artifactType":"`+c.want+`"`)
		if c.want == "" {
			has = !strings.Contains(string(a.body), "artifactType")
		}
		if !has {
			t.Errorf("%+v: %s", c, a.body)
		}
	}
}

// More contents that nobody names than one batch has are gone after one collection without a
// limit, and so are their links.
func TestCollectIsThorough(t *testing.T) {
	x, err := server.Open(server.Options{Dir: t.TempDir(), System: atomicfiletest.Fast()})
	if err != nil {
		t.Fatal(err)
	}
	const n = 150 // three batches
	for i := range n {
		for _, repository := range []string{"a/b", "c/d"} {
			text := fmt.Append(nil, "content ", i)
			if err := x.PutBlob(t.Context(), repository, registry.DigestOf(text), text); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, err := x.Collect(t.Context(), server.CollectOptions{Before: time.Now().Add(time.Hour), Releases: 1})
	if err != nil || c.Blobs != n || c.Kept != 0 || c.More {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, repository := range []string{"a/b", "c/d"} {
		for i := range n {
			if has, err := x.Index().HasBlob(t.Context(), repository, registry.DigestOf(fmt.Append(nil, "content ", i))); has || err != nil {
				t.Fatalf("%s has content %d: %v", repository, i, err)
			}
		}
	}
}

// failingIndex fails at what has the name in fail.
type failingIndex struct {
	*server.Files

	fail string
}

var errDisk = errors.New("input/output error at /secret/path")

func (x *failingIndex) at(name string) error {
	if x.fail == name {
		return errDisk
	}
	return nil
}

func (x *failingIndex) HasBlob(ctx context.Context, repository string, d registry.Digest) (bool, error) {
	if err := x.at("HasBlob"); err != nil {
		return false, err
	}
	return x.Files.HasBlob(ctx, repository, d)
}

func (x *failingIndex) LinkBlob(ctx context.Context, repository string, d registry.Digest) error {
	return orElse(x.at("LinkBlob"), func() error { return x.Files.LinkBlob(ctx, repository, d) })
}

func (x *failingIndex) UnlinkBlob(ctx context.Context, repository string, d registry.Digest) error {
	return orElse(x.at("UnlinkBlob"), func() error { return x.Files.UnlinkBlob(ctx, repository, d) })
}

func (x *failingIndex) LinkManifest(ctx context.Context, repository string, m server.Descriptor) error {
	return orElse(x.at("LinkManifest"), func() error { return x.Files.LinkManifest(ctx, repository, m) })
}

func (x *failingIndex) UnlinkManifest(ctx context.Context, repository string, m server.Descriptor) error {
	return orElse(x.at("UnlinkManifest"), func() error { return x.Files.UnlinkManifest(ctx, repository, m) })
}

func (x *failingIndex) MediaType(ctx context.Context, repository string, d registry.Digest) (string, error) {
	if err := x.at("MediaType"); err != nil {
		return "", err
	}
	return x.Files.MediaType(ctx, repository, d)
}

func (x *failingIndex) Referrers(ctx context.Context, repository string, d registry.Digest) ([]server.Descriptor, error) {
	if err := x.at("Referrers"); err != nil {
		return nil, err
	}
	return x.Files.Referrers(ctx, repository, d)
}

func (x *failingIndex) Tag(ctx context.Context, repository, tag string) (registry.Digest, error) {
	if err := x.at("Tag"); err != nil {
		return "", err
	}
	return x.Files.Tag(ctx, repository, tag)
}

func (x *failingIndex) SetTag(ctx context.Context, repository, tag string, d registry.Digest) error {
	return orElse(x.at("SetTag"), func() error { return x.Files.SetTag(ctx, repository, tag, d) })
}

func (x *failingIndex) DeleteTag(ctx context.Context, repository, tag string) error {
	return orElse(x.at("DeleteTag"), func() error { return x.Files.DeleteTag(ctx, repository, tag) })
}

func (x *failingIndex) Tags(ctx context.Context, repository, after string, limit int) ([]string, error) {
	if err := x.at("Tags"); err != nil {
		return nil, err
	}
	return x.Files.Tags(ctx, repository, after, limit)
}

func (x *failingIndex) EachManifest(ctx context.Context, fn func(string, registry.Digest) error) error {
	return orElse(x.at("EachManifest"), func() error { return x.Files.EachManifest(ctx, fn) })
}

func (x *failingIndex) EachBlob(ctx context.Context, fn func(string, registry.Digest) error) error {
	return orElse(x.at("EachBlob"), func() error { return x.Files.EachBlob(ctx, fn) })
}

func (x *failingIndex) Unlink(ctx context.Context, repository string, facts server.Facts) error {
	return orElse(x.at("Unlink"), func() error { return x.Files.Unlink(ctx, repository, facts) })
}

func orElse(err error, otherwise func() error) error {
	if err != nil {
		return err
	}
	return otherwise()
}

// A fault of the disk is never taken for "not there", which would make a client push again, or
// a collection remove what is needed. Clients read no more than "internal error"; the log has
// the cause.
func TestFaultsOfTheIndex(t *testing.T) {
	dir := t.TempDir()
	files, err := server.OpenFiles(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	index := &failingIndex{Files: files}
	store, err := server.Open(server.Options{Dir: dir, Index: index})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	var changed []server.Change
	h, err := server.NewHandler(server.HandlerOptions{
		Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Authorize: func(*http.Request, string, server.Action) error { return nil },
		Changed:   func(_ *http.Request, c server.Change) { changed = append(changed, c) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	x := &remote{t: t, dir: dir, url: s.URL, store: store}
	m := x.manifest("a/b", "v1", "")
	x.push("a/b", "blob")
	list := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":%q,"digest":%q,"size":%d}]}`, manifestType, digest(m), len(m))
	changed = nil
	for _, c := range []struct{ fail, method, path, body string }{
		{"HasBlob", "GET", "blobs/" + digest("blob"), ""},
		{"HasBlob", "DELETE", "blobs/" + digest("blob"), ""},
		{"HasBlob", "POST", "blobs/uploads/?from=a/b&mount=" + digest("blob"), ""},
		{"HasBlob", "PUT", "manifests/v2", m},
		{"LinkBlob", "POST", "blobs/uploads/?digest=" + digest("new"), "new"},
		{"LinkBlob", "POST", "blobs/uploads/?from=a/b&mount=" + digest("blob"), ""},
		{"UnlinkBlob", "DELETE", "blobs/" + digest("blob"), ""},
		{"MediaType", "GET", "manifests/v1", ""},
		{"MediaType", "PUT", "manifests/v2", list},
		{"Tag", "GET", "manifests/v1", ""},
		{"Tag", "DELETE", "manifests/v1", ""},
		{"DeleteTag", "DELETE", "manifests/v1", ""},
		{"UnlinkManifest", "DELETE", "manifests/" + digest(m), ""},
		{"LinkManifest", "PUT", "manifests/v2", m},
		{"SetTag", "PUT", "manifests/v2", m},
		{"Tags", "GET", "tags/list", ""},
		{"Referrers", "GET", "referrers/" + digest(m), ""},
	} {
		index.fail = c.fail
		log.Reset()
		contentType := manifestType
		if c.body == list {
			contentType = indexType
		}
		a := x.want(x.do(c.method, "/v2/a/b/"+c.path, c.body, "Content-Type: "+contentType), 500, "UNKNOWN")
		if strings.Contains(string(a.body), "secret") || !strings.Contains(log.String(), errDisk.Error()) {
			t.Errorf("%s at %s %s: answer %s, log %q", c.fail, c.method, c.path, a.body, log.String())
		}
	}
	if changed != nil {
		t.Errorf("changes were reported that were not made: %+v", changed)
	}
	for _, fail := range []string{"EachManifest", "EachBlob", "Tags", "MediaType"} {
		if fail == "MediaType" { // read anew
			if store, err = server.Open(server.Options{Dir: dir, Index: index}); err != nil {
				t.Fatal(err)
			}
		}
		index.fail = fail
		if _, err := store.Collect(t.Context(), server.CollectOptions{Before: time.Now().Add(-time.Hour), Releases: 1}); !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", fail, err)
		}
	}
	index.fail = ""
	x.want(x.do("GET", "/v2/a/b/manifests/v1", ""), 200, "")
	x.want(x.do("GET", "/v2/a/b/blobs/"+digest("blob"), ""), 200, "")
	x.want(x.do("GET", "/v2/a/b/manifests/v2", ""), 404, "MANIFEST_UNKNOWN")
}

// Changes are reported once each, with what was named and what it was.
func TestChanges(t *testing.T) {
	store, err := server.Open(server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var got []server.Change
	h, err := server.NewHandler(server.HandlerOptions{
		Store: store, Authorize: func(*http.Request, string, server.Action) error { return nil },
		Changed: func(_ *http.Request, c server.Change) { got = append(got, c) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	x := &remote{t: t, url: s.URL, store: store}
	m := x.manifest("a/b", "v1", "")
	d := registry.Digest(digest(m))
	x.manifest("a/b", "", "")
	x.do("DELETE", "/v2/a/b/manifests/v1", "")
	x.do("DELETE", "/v2/a/b/manifests/"+digest(m), "")
	x.do("DELETE", "/v2/a/b/blobs/"+digest("{}"), "")
	x.do("DELETE", "/v2/a/b/blobs/"+digest("{}"), "")
	want := []server.Change{
		{Action: server.Push, Kind: "manifests", Repository: "a/b", Tag: "v1", Digest: d},
		{Action: server.Push, Kind: "manifests", Repository: "a/b", Digest: d},
		{Action: server.Delete, Kind: "manifests", Repository: "a/b", Tag: "v1", Digest: d},
		{Action: server.Delete, Kind: "manifests", Repository: "a/b", Digest: d},
		{Action: server.Delete, Kind: "blobs", Repository: "a/b", Digest: registry.Digest(digest("{}"))},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("reported\n%+v, want\n%+v", got, want)
	}
}

// What Authorize says is the answer, in the words of the specification.
func TestDecisions(t *testing.T) {
	var decision error
	h, err := server.NewHandler(server.HandlerOptions{Store: serve(t).store, Authorize: func(*http.Request, string, server.Action) error { return decision }})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	x := &remote{t: t, url: s.URL}
	for _, c := range []struct {
		err        error
		status     int
		code       string
		name, head string
	}{
		{server.ErrUnauthenticated, 401, "UNAUTHORIZED", "WWW-Authenticate", `Basic realm="sluice", charset="UTF-8"`},
		{server.ErrDenied, 403, "DENIED", "WWW-Authenticate", ""},
		{server.ErrUnavailable, 503, "UNAVAILABLE", "Retry-After", "1"},
		{fmt.Errorf("%w: secret", server.ErrUnauthenticated), 401, "UNAUTHORIZED", "WWW-Authenticate", `Basic realm="sluice", charset="UTF-8"`},
		{fmt.Errorf("%w: secret", server.ErrDenied), 403, "DENIED", "WWW-Authenticate", ""},
		{fmt.Errorf("%w: secret", server.ErrUnavailable), 503, "UNAVAILABLE", "Retry-After", "1"},
		{problem.New(problem.Conflict, "release 1.3 needs it"), 409, "DENIED", "Retry-After", ""},
		{problem.New(problem.Unavailable, "too many uploads"), 429, "TOOMANYREQUESTS", "Retry-After", "60"},
		{problem.New(problem.TooLarge, "too much"), 413, "SIZE_INVALID", "Retry-After", ""},
		{errDisk, 500, "UNKNOWN", "Retry-After", ""},
	} {
		decision = c.err
		for _, path := range []string{"/v2/", "/v2/a/b/tags/list", "/v2/a/b/blobs/" + digest("x"), "/v2/a/b/referrers/" + digest("x")} {
			a := x.want(x.do("GET", path, ""), c.status, c.code)
			if a.Header.Get(c.name) != c.head || strings.Contains(string(a.body), "secret") {
				t.Errorf("%v: %s, %s: %q", c.err, a.body, c.name, a.Header.Get(c.name))
			}
		}
	}
}
