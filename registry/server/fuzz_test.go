package server_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/registry/server"
)

// FuzzHandler: whatever one request asks of the registry, it answers in the form of the
// specification, asks who it is first, and writes below its directory only.
func FuzzHandler(f *testing.F) {
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, s := range [][4]string{
		{"GET", "/v2/", "", ""},
		{"POST", "/v2/a/b/blobs/uploads/?digest=" + digest, "", ""},
		{"POST", "/v2/a/blobs/uploads/?mount=" + digest + "&from=b", "", ""},
		{"PATCH", "/v2/a/blobs/uploads/00000000-0000-0000-0000-000000000000", "bytes", "0-4"},
		{"PUT", "/v2/a/manifests/latest", `{"schemaVersion":2}`, ""},
		{"PUT", "/v2/a/manifests/" + digest, "", ""},
		{"GET", "/v2/a/tags/list?n=1&last=b", "", ""},
		{"GET", "/v2/a/referrers/" + digest + "?artifactType=x", "", ""},
		{"GET", "/v2/../../etc/blobs/" + digest, "", "bytes=0-"},
		{"DELETE", "/v2/a/manifests/..%2f..%2fx", "", ""},
		{"HEAD", "/v2/a/blobs/sha256:%2e%2e%2f", "", ""},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	root := f.TempDir()
	dir := filepath.Join(root, "registry")
	store, err := server.Open(server.Options{Dir: dir})
	if err != nil {
		f.Fatal(err)
	}
	asked := false
	h, err := server.NewHandler(server.HandlerOptions{Store: store, Authorize: func(r *http.Request, repository string, _ server.Action) error {
		asked = true
		if strings.HasPrefix(repository, "secret") {
			return server.ErrDenied
		}
		return nil
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, target, body, ranges string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return // no server passes it on
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "http://registry.example/", strings.NewReader(body))
		if err != nil {
			return
		}
		req.URL.Path, req.URL.RawPath, req.URL.RawQuery, req.RequestURI = u.Path, u.RawPath, u.RawQuery, target
		req.Header.Set("Range", ranges)
		req.Header.Set("Content-Range", ranges)
		req.Header.Set("Content-Type", manifestType)
		asked = false
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		switch {
		case w.Code >= 500:
			t.Errorf("%s %s: status %d: %s", method, target, w.Code, w.Body)
		case w.Code < 300 && !asked:
			t.Errorf("%s %s: nobody was asked", method, target)
		case w.Code >= 400 && method != http.MethodHead && w.Body.Len() > 0:
			var form struct {
				Errors []struct{ Code string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &form); err != nil || len(form.Errors) == 0 || form.Errors[0].Code == "" {
				t.Errorf("%s %s: status %d in no form of the specification: %s", method, target, w.Code, w.Body)
			}
		}
		entries, err := os.ReadDir(root)
		if err != nil || len(entries) != 1 {
			t.Fatalf("%s %s: beside its directory: %v, %v", method, target, entries, err)
		}
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.Contains(path, "secret") {
				t.Errorf("%s %s: %s was written", method, target, path)
			}
			return nil
		})
	})
}
