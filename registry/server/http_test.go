package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
)

// remote is a registry behind a real HTTP server. User "closed" may not do
// anything in a repository below secret/.
type remote struct {
	t     *testing.T
	dir   string
	url   string
	store *server.Store
}

func serve(t *testing.T) *remote {
	t.Helper()
	dir := t.TempDir()
	store, err := server.Open(server.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	h, err := server.NewHandler(server.HandlerOptions{Store: store, Authorize: func(r *http.Request, repository string, a server.Action) error {
		_, token, ok := r.BasicAuth()
		switch {
		case !ok:
			return server.ErrUnauthenticated
		case strings.HasPrefix(repository, "secret/") && token != "all", a == server.Delete && token != "all":
			return server.ErrDenied
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &remote{t: t, dir: dir, url: s.URL, store: store}
}

type answer struct {
	*http.Response

	body []byte
}

// do sends a request; header is "Name: value" lines.
func (x *remote) do(method, path, body string, header ...string) answer {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), method, x.url+path, strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	req.SetBasicAuth("any", "all")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Authorization" && value == "" {
			req.Header.Del(name)
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return answer{resp, b}
}

// want checks the status and, for errors, the code of the specification.
func (x *remote) want(a answer, status int, code string) answer {
	x.t.Helper()
	if a.StatusCode != status {
		x.t.Fatalf("%s %s: %s %s; want %d", a.Request.Method, a.Request.URL, a.Status, a.body, status)
	}
	if code != "" && a.Request.Method != http.MethodHead {
		var e struct {
			Errors []struct{ Code, Message string }
		}
		if err := json.Unmarshal(a.body, &e); err != nil || len(e.Errors) != 1 || e.Errors[0].Code != code || e.Errors[0].Message == "" {
			x.t.Fatalf("%s %s: %s; want the code %s", a.Request.Method, a.Request.URL, a.body, code)
		}
	}
	return a
}

func digest(s string) string { return string(registry.DigestOf([]byte(s))) }

func (x *remote) push(repository, content string) {
	x.t.Helper()
	x.want(x.do("POST", "/v2/"+repository+"/blobs/uploads/?digest="+digest(content), content), 201, "")
}

func (x *remote) manifest(repository, reference, extra string) string {
	x.t.Helper()
	x.push(repository, "{}")
	m := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":%q,"size":2},"layers":[]%s}`,
		manifestType, digest("{}"), extra)
	if reference == "" {
		reference = digest(m)
	}
	a := x.want(x.do("PUT", "/v2/"+repository+"/manifests/"+reference, m, "Content-Type: "+manifestType), 201, "")
	if a.Header.Get("Docker-Content-Digest") != digest(m) || a.Header.Get("Location") != "/v2/"+repository+"/manifests/"+digest(m) {
		x.t.Fatalf("headers %v", a.Header)
	}
	return m
}

func TestVersionCheck(t *testing.T) { // end-1
	x := serve(t)
	x.want(x.do("GET", "/v2/", ""), 200, "")
	a := x.want(x.do("GET", "/v2/", "", "Authorization: "), 401, "UNAUTHORIZED")
	if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic ") {
		t.Fatalf("challenge %q", a.Header.Get("WWW-Authenticate"))
	}
	x.want(x.do("POST", "/v2/", ""), 405, "UNSUPPORTED")
	x.want(x.do("GET", "/v1/", ""), 404, "NAME_UNKNOWN")
}

func TestPullBlob(t *testing.T) { // end-2
	x := serve(t)
	x.push("a/b", "0123456789")
	at := "/v2/a/b/blobs/" + digest("0123456789")
	a := x.want(x.do("GET", at, ""), 200, "")
	if string(a.body) != "0123456789" || a.Header.Get("Docker-Content-Digest") != digest("0123456789") || a.ContentLength != 10 {
		t.Fatalf("%q, %v", a.body, a.Header)
	}
	if a := x.want(x.do("HEAD", at, ""), 200, ""); a.ContentLength != 10 || len(a.body) != 0 {
		t.Fatalf("HEAD: %v", a.Header)
	}
	if a := x.want(x.do("GET", at, "", "Range: bytes=2-4"), 206, ""); string(a.body) != "234" || a.Header.Get("Content-Range") != "bytes 2-4/10" {
		t.Fatalf("range: %q, %v", a.body, a.Header)
	}
	if a := x.want(x.do("GET", at, "", "Range: bytes=-3"), 206, ""); string(a.body) != "789" {
		t.Fatalf("range: %q", a.body)
	}
	x.want(x.do("GET", at, "", "Range: bytes=10-"), 416, "")
	x.want(x.do("GET", "/v2/a/b/blobs/"+digest("no"), ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("HEAD", "/v2/a/b/blobs/"+digest("no"), ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("GET", "/v2/a/b/blobs/sha512:00", ""), 400, "DIGEST_INVALID")
	x.want(x.do("GET", "/v2/A/blobs/"+digest("no"), ""), 400, "NAME_INVALID")
	x.want(x.do("PUT", at, ""), 405, "UNSUPPORTED")
	// Repositories are walls: content is there, but not in this one.
	x.want(x.do("GET", "/v2/a/c/blobs/"+digest("0123456789"), ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("GET", "/v2/secret/x/blobs/"+digest("0123456789"), "", "Authorization: Basic eDp4"), 403, "DENIED")
	// Damaged content is not served.
	overwrite(t, filepath.Join(x.dir, "blobs", "sha256", digest("0123456789")[7:]), []byte("0123456780"))
	a = x.want(x.do("GET", at, ""), 500, "UNKNOWN")
	if bytes.Contains(a.body, []byte("01234")) || bytes.Contains(a.body, []byte(x.dir)) || !bytes.Contains(a.body, []byte("damaged")) {
		t.Fatalf("the error says %s", a.body)
	}
	// Who pushes it again is not told that it is there, and the push heals it.
	x.want(x.do("HEAD", at, ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("POST", "/v2/a/c/blobs/uploads/?mount="+digest("0123456789")+"&from=a/b", ""), 202, "")
	x.push("a/b", "0123456789")
	x.want(x.do("HEAD", at, ""), 200, "")
	if a = x.want(x.do("GET", at, ""), 200, ""); string(a.body) != "0123456789" {
		t.Fatalf("after the push: %s", a.body)
	}
}

func TestPushBlobWhole(t *testing.T) { // end-4b, end-6
	x := serve(t)
	a := x.want(x.do("POST", "/v2/a/b/blobs/uploads/?digest="+digest("x"), "x"), 201, "")
	if a.Header.Get("Location") != "/v2/a/b/blobs/"+digest("x") {
		t.Fatalf("Location %q", a.Header.Get("Location"))
	}
	x.want(x.do("GET", a.Header.Get("Location"), ""), 200, "")
	x.want(x.do("POST", "/v2/a/b/blobs/uploads/?digest="+digest("y"), "x"), 400, "DIGEST_INVALID")
	x.want(x.do("GET", "/v2/a/b/blobs/"+digest("y"), ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("POST", "/v2/a/b/blobs/uploads/?digest=md5:1", "x"), 400, "DIGEST_INVALID")
	x.want(x.do("POST", "/v2/a/b/blobs/uploads/?digest-algorithm=sha512", ""), 400, "UNSUPPORTED")
	// POST then PUT.
	at := x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 202, "").Header.Get("Location")
	x.want(x.do("PUT", at, "z"), 400, "DIGEST_INVALID")
	x.want(x.do("PUT", at+"?digest=sha256:Z", "z"), 400, "DIGEST_INVALID")
	x.want(x.do("PUT", at+"?digest="+digest("z"), "z", "Content-Range: 0"), 400, "BLOB_UPLOAD_INVALID")
	x.want(x.do("PUT", at+"?digest="+digest("z"), "z"), 201, "") // it is still open, and nothing was added
	x.want(x.do("GET", "/v2/a/b/blobs/"+digest("z"), ""), 200, "")
	x.want(x.do("PUT", at+"?digest="+digest("z"), "z"), 404, "BLOB_UPLOAD_UNKNOWN")
	x.want(x.do("GET", "/v2/a/b/blobs/uploads/", ""), 405, "UNSUPPORTED")
	// The empty blob.
	x.push("a/b", "")
	x.want(x.do("GET", "/v2/a/b/blobs/"+digest(""), ""), 200, "")
}

func TestPushBlobInChunks(t *testing.T) { // end-4a, end-5, end-6, end-13
	x := serve(t)
	at := x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 202, "").Header.Get("Location")
	patch := func(body, contentRange string, status int, code, wantRange string) {
		t.Helper()
		var header []string
		if contentRange != "" {
			header = append(header, "Content-Range: "+contentRange)
		}
		a := x.want(x.do("PATCH", at, body, header...), status, code)
		if wantRange != "" && a.Header.Get("Range") != wantRange {
			t.Fatalf("Range %q, want %q", a.Header.Get("Range"), wantRange)
		}
	}
	patch("abc", "0-2", 202, "", "0-2")
	patch("xyz", "4-6", 416, "BLOB_UPLOAD_INVALID", "0-2") // a hole
	patch("abc", "0-2", 416, "BLOB_UPLOAD_INVALID", "0-2") // again
	patch("def", "3-4", 400, "SIZE_INVALID", "")
	patch("def", "x", 400, "BLOB_UPLOAD_INVALID", "")
	patch("def", "3-5", 202, "", "0-5")
	if a := x.want(x.do("GET", at, ""), 204, ""); a.Header.Get("Range") != "0-5" || a.Header.Get("Location") != at {
		t.Fatalf("status of the upload: %v", a.Header)
	}
	patch("gh", "", 202, "", "0-7")
	// From another repository it is not there.
	x.want(x.do("PATCH", strings.Replace(at, "/a/b/", "/a/c/", 1), "x"), 404, "BLOB_UPLOAD_UNKNOWN")
	x.want(x.do("PUT", at+"?digest="+digest("abcdefghi"), "i", "Content-Range: 7-7"), 416, "BLOB_UPLOAD_INVALID")
	x.want(x.do("PUT", at+"?digest="+digest("abcdefghi"), "i", "Content-Range: 8-8"), 201, "")
	if a := x.want(x.do("GET", "/v2/a/b/blobs/"+digest("abcdefghi"), ""), 200, ""); string(a.body) != "abcdefghi" {
		t.Fatalf("%q", a.body)
	}
	// Cancelled.
	at = x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 202, "").Header.Get("Location")
	x.want(x.do("DELETE", at, ""), 204, "")
	x.want(x.do("GET", at, ""), 404, "BLOB_UPLOAD_UNKNOWN")
	for _, id := range []string{"x", "..", strings.Repeat("0", 32), strings.Repeat("0", 30)} {
		x.want(x.do("PATCH", "/v2/a/b/blobs/uploads/"+strings.ReplaceAll(id, ".", "%2e"), "x"), 404, "BLOB_UPLOAD_UNKNOWN")
	}
	// A wrong digest ends the upload and leaves nothing.
	at = x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 202, "").Header.Get("Location")
	x.want(x.do("PATCH", at, "abc"), 202, "")
	x.want(x.do("PUT", at+"?digest="+digest("abd"), ""), 400, "DIGEST_INVALID")
	left := 0
	err := filepath.WalkDir(filepath.Join(x.dir, "uploads"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left++
		}
		return err
	})
	if err != nil || left != 0 {
		t.Fatalf("%d uploads left, %v", left, err)
	}
}

func TestUploadLimits(t *testing.T) {
	x := serve(t)
	for i := range 256 {
		x.want(x.do("POST", fmt.Sprintf("/v2/a%d/b/blobs/uploads/", i/64), ""), 202, "")
	}
	a := x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 429, "TOOMANYREQUESTS")
	if a.Header.Get("Retry-After") == "" {
		t.Fatalf("headers %v", a.Header)
	}
	// Uploads nobody touched for a day make room.
	err := filepath.WalkDir(filepath.Join(x.dir, "uploads"), func(path string, d os.DirEntry, err error) error {
		old := time.Now().Add(-25 * time.Hour)
		if err == nil && !d.IsDir() {
			err = os.Chtimes(path, old, old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	x.want(x.do("POST", "/v2/a/b/blobs/uploads/", ""), 202, "")
	// Content past the limit is refused.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, x.url+"/v2/a/b/blobs/uploads/?digest="+digest("x"), zeros(server.MaxBlobBytes+2))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("any", "all")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("%d bytes: %s", server.MaxBlobBytes+2, resp.Status)
	}
}

// zeros is a reader of n bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestMountBlob(t *testing.T) { // end-11
	x := serve(t)
	x.push("a/b", "shared")
	x.push("secret/x", "hidden")
	mount := func(content, from string, status int, header ...string) answer {
		t.Helper()
		return x.want(x.do("POST", "/v2/c/d/blobs/uploads/?mount="+digest(content)+"&from="+from, "", header...), status, "")
	}
	mount("shared", "a/b", 201)
	x.want(x.do("GET", "/v2/c/d/blobs/"+digest("shared"), ""), 200, "")
	if a := mount("absent", "a/b", 202); a.Header.Get("Location") == "" {
		t.Fatal("no upload instead of the mount")
	}
	mount("shared", "", 202)
	// A mount is no way around the wall.
	mount("hidden", "secret/x", 202, "Authorization: Basic eDp4")
	x.want(x.do("GET", "/v2/c/d/blobs/"+digest("hidden"), ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("POST", "/v2/c/d/blobs/uploads/?mount=sha256:1&from=a/b", ""), 400, "DIGEST_INVALID")
}

func TestManifests(t *testing.T) { // end-3, end-7, end-9
	x := serve(t)
	m := x.manifest("a/b", "v1", "")
	for _, ref := range []string{"v1", digest(m)} {
		a := x.want(x.do("GET", "/v2/a/b/manifests/"+ref, ""), 200, "")
		if string(a.body) != m || a.Header.Get("Content-Type") != manifestType || a.Header.Get("Docker-Content-Digest") != digest(m) {
			t.Fatalf("%s: %q, %v", ref, a.body, a.Header)
		}
		if a := x.want(x.do("HEAD", "/v2/a/b/manifests/"+ref, ""), 200, ""); a.ContentLength != int64(len(m)) {
			t.Fatalf("HEAD: %v", a.Header)
		}
	}
	x.want(x.do("GET", "/v2/a/b/manifests/v2", ""), 404, "MANIFEST_UNKNOWN")
	x.want(x.do("GET", "/v2/a/b/manifests/-x", ""), 404, "MANIFEST_UNKNOWN")
	x.want(x.do("GET", "/v2/a/c/manifests/"+digest(m), ""), 404, "MANIFEST_UNKNOWN")
	x.want(x.do("GET", "/v2/a/b/manifests/sha256:1", ""), 400, "DIGEST_INVALID")
	put := func(ref, body, contentType, code string, status int) {
		t.Helper()
		x.want(x.do("PUT", "/v2/a/b/manifests/"+ref, body, "Content-Type: "+contentType), status, code)
	}
	put("v2", "{", manifestType, "MANIFEST_INVALID", 400)
	put("v2", m, "text/plain", "MANIFEST_INVALID", 400)
	put("-v", m, manifestType, "MANIFEST_INVALID", 400)
	put(digest("other"), m, manifestType, "DIGEST_INVALID", 400)
	put("v2", strings.Replace(m, digest("{}"), digest("absent"), 1), manifestType, "MANIFEST_BLOB_UNKNOWN", 400)
	put("v2", m+strings.Repeat(" ", server.MaxManifestBytes), manifestType, "SIZE_INVALID", 413)
	x.want(x.do("GET", "/v2/a/b/manifests/v2", ""), 404, "MANIFEST_UNKNOWN")
	put("v2", m+strings.Repeat(" ", server.MaxManifestBytes-len(m)), manifestType, "", 201)
	// An index names manifests, which have to be there.
	index := func(d string) string {
		return fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":%q,"digest":%q,"size":%d}]}`, manifestType, d, len(m))
	}
	put("all", index(digest("absent")), indexType, "MANIFEST_BLOB_UNKNOWN", 400)
	put("all", index(digest(m)), indexType, "", 201)
	// Delete a tag, then the manifest.
	x.want(x.do("DELETE", "/v2/a/b/manifests/v1", "", "Authorization: Basic eDp4"), 403, "DENIED")
	x.want(x.do("DELETE", "/v2/a/b/manifests/v1", ""), 202, "")
	x.want(x.do("DELETE", "/v2/a/b/manifests/v1", ""), 404, "MANIFEST_UNKNOWN")
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(m), ""), 200, "")
	x.want(x.do("DELETE", "/v2/a/b/manifests/"+digest(m), ""), 202, "")
	x.want(x.do("GET", "/v2/a/b/manifests/"+digest(m), ""), 404, "MANIFEST_UNKNOWN")
	x.want(x.do("POST", "/v2/a/b/manifests/v1", ""), 405, "UNSUPPORTED")
}

func TestDeleteBlob(t *testing.T) { // end-10
	x := serve(t)
	x.push("a/b", "x")
	x.push("a/c", "x")
	x.want(x.do("DELETE", "/v2/a/b/blobs/"+digest("x"), ""), 202, "")
	x.want(x.do("DELETE", "/v2/a/b/blobs/"+digest("x"), ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("GET", "/v2/a/b/blobs/"+digest("x"), ""), 404, "BLOB_UNKNOWN")
	x.want(x.do("GET", "/v2/a/c/blobs/"+digest("x"), ""), 200, "")
}

func TestTags(t *testing.T) { // end-8a, end-8b
	x := serve(t)
	x.want(x.do("GET", "/v2/a/b/tags/list", ""), 404, "NAME_UNKNOWN")
	for _, tag := range []string{"v3", "v1", "v2"} {
		x.manifest("a/b", tag, "")
	}
	list := func(query, want, link string) {
		t.Helper()
		a := x.want(x.do("GET", "/v2/a/b/tags/list"+query, ""), 200, "")
		if string(a.body) != want || a.Header.Get("Link") != link {
			t.Fatalf("%s: %s, Link %q; want %s, %q", query, a.body, a.Header.Get("Link"), want, link)
		}
	}
	list("", `{"name":"a/b","tags":["v1","v2","v3"]}`, "")
	list("?n=2", `{"name":"a/b","tags":["v1","v2"]}`, `</v2/a/b/tags/list?last=v2&n=2>; rel="next"`)
	list("?n=2&last=v2", `{"name":"a/b","tags":["v3"]}`, "")
	list("?n=0", `{"name":"a/b","tags":[]}`, "")
	x.want(x.do("GET", "/v2/a/b/tags/list?n=x", ""), 400, "UNSUPPORTED")
}

func TestReferrers(t *testing.T) { // end-12a, end-12b
	x := serve(t)
	subject := x.manifest("a/b", "v1", "")
	refs := func(query string) (digests []string, a answer) {
		t.Helper()
		a = x.want(x.do("GET", "/v2/a/b/referrers/"+digest(subject)+query, ""), 200, "")
		var index struct {
			SchemaVersion int
			Manifests     []struct {
				MediaType, Digest, ArtifactType string
				Size                            int
				Annotations                     map[string]string
			}
		}
		if err := json.Unmarshal(a.body, &index); err != nil || index.SchemaVersion != 2 ||
			a.Header.Get("Content-Type") != indexType {
			t.Fatalf("%s, %v", a.body, a.Header)
		}
		for _, m := range index.Manifests {
			digests = append(digests, m.Digest)
			if m.ArtifactType == "" || m.Size == 0 || m.MediaType != manifestType || m.Annotations["k"] != "v" {
				t.Fatalf("descriptor %+v", m)
			}
		}
		return digests, a
	}
	if d, _ := refs(""); len(d) != 0 {
		t.Fatalf("referrers %v", d)
	}
	refer := func(kind string) string {
		m := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"artifactType":%q,"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":%q,"size":2},`+
			`"layers":[],"subject":{"mediaType":%q,"digest":%q,"size":%d},"annotations":{"k":"v"}}`,
			manifestType, kind, digest("{}"), manifestType, digest(subject), len(subject))
		a := x.want(x.do("PUT", "/v2/a/b/manifests/"+digest(m), m, "Content-Type: "+manifestType), 201, "")
		if a.Header.Get("OCI-Subject") != digest(subject) {
			t.Fatalf("OCI-Subject %q", a.Header.Get("OCI-Subject"))
		}
		return digest(m)
	}
	signature, sbom := refer("application/x.signature"), refer("application/x.sbom")
	if d, _ := refs(""); len(d) != 2 {
		t.Fatalf("referrers %v", d)
	}
	d, a := refs("?artifactType=application/x.sbom")
	if len(d) != 1 || d[0] != sbom || a.Header.Get("OCI-Filters-Applied") != "artifactType" {
		t.Fatalf("filtered %v, %v", d, a.Header)
	}
	x.want(x.do("DELETE", "/v2/a/b/manifests/"+signature, ""), 202, "")
	if d, _ := refs(""); len(d) != 1 || d[0] != sbom {
		t.Fatalf("after a delete: %v", d)
	}
	x.want(x.do("GET", "/v2/a/b/referrers/x", ""), 400, "DIGEST_INVALID")
}

// Names of the protocol inside a repository name are no way to another one.
func TestOddRepositories(t *testing.T) {
	x := serve(t)
	for _, name := range []string{"blobs", "a/blobs/uploads", "a/manifests/b", "tags/list", "v2/referrers"} {
		x.push(name, "x")
		x.want(x.do("GET", "/v2/"+name+"/blobs/"+digest("x"), ""), 200, "")
		m := x.manifest(name, "v1", "")
		x.want(x.do("GET", "/v2/"+name+"/manifests/"+digest(m), ""), 200, "")
		x.want(x.do("GET", "/v2/"+name+"/tags/list", ""), 200, "")
	}
	for _, path := range []string{"/v2/../x/blobs/" + digest("x"), "/v2/a//b/tags/list", "/v2/_blobs/tags/list", "/v2/a/_tags/tags/list"} {
		if a := x.do("GET", path, ""); a.StatusCode < 400 {
			t.Fatalf("%s: %s", path, a.Status)
		}
	}
}

// What the store's own client pushed is there over HTTP, byte for byte.
func TestArtifactOverHTTP(t *testing.T) {
	x := serve(t)
	a, err := oci.New(oci.KindPlugin, []byte("module"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := oci.NewStore(x.store).Push(t.Context(), "acme/connectors/x", "1-0", a); err != nil {
		t.Fatal(err)
	}
	got := x.want(x.do("GET", "/v2/acme/connectors/x/manifests/1-0", ""), 200, "")
	if !bytes.Equal(got.body, a.Manifest()) {
		t.Fatalf("%s", got.body)
	}
	for _, b := range [][]byte{a.Layer(), a.Config()} {
		if got := x.want(x.do("GET", "/v2/acme/connectors/x/blobs/"+digest(string(b)), ""), 200, ""); !bytes.Equal(got.body, b) {
			t.Fatalf("%s", got.body)
		}
	}
}

func TestHandlerNeedsDecision(t *testing.T) {
	if _, err := server.NewHandler(server.HandlerOptions{Store: &server.Store{}}); err == nil {
		t.Fatal("a registry that is open to everybody")
	}
}
