package serve_test

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluicegate/sluice/admin/console"
	"github.com/sluicegate/sluice/admin/console/serve"
)

const script = "console.log('" // is repeated, so that gzip pays

func files() fs.FS {
	return fstest.MapFS{
		"index.html":      {Data: []byte("<!doctype html><title>Sluice</title>")},
		"assets/index.js": {Data: []byte(strings.Repeat(script, 200))},
		"favicon.ico":     {Data: []byte{0, 1}},
	}
}

func get(t *testing.T, s *serve.Site, method, path string, headers ...string) (*http.Response, string, bool) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	ok, err := s.Serve(w, r)
	if err != nil {
		t.Fatal(err)
	}
	res := w.Result()
	var body io.Reader = res.Body
	if res.Header.Get("Content-Encoding") == "gzip" && method == http.MethodGet {
		if body, err = gzip.NewReader(res.Body); err != nil {
			t.Fatal(err)
		}
	}
	b, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b), ok
}

func TestServe(t *testing.T) {
	const page, browser = "<!doctype html><title>Sluice</title>", "text/html,application/xhtml+xml;q=0.9"
	s := serve.New(files())
	for _, c := range []struct{ method, path, accept, body, kind string }{
		{"GET", "/", "*/*", page, "text/html; charset=utf-8"},
		{"HEAD", "/", "*/*", "", "text/html; charset=utf-8"},
		{"GET", "/toolsets/new/openapi", browser, page, "text/html; charset=utf-8"},
		{"GET", "/assets/index.js", "*/*", strings.Repeat(script, 200), "text/javascript; charset=utf-8"},
		{"GET", "/favicon.ico", "image/*", "\x00\x01", "image/x-icon"},
		// Not the console's.
		{"GET", "/toolsets", "application/json", "", ""},
		{"GET", "/toolsets", "*/*", "", ""},
		{"GET", "/assets/gone.js", browser, "", ""},
		{"GET", "/assets/../index.html", "*/*", "", ""},
		{"POST", "/", browser, "", ""},
		{"DELETE", "/assets/index.js", "*/*", "", ""},
	} {
		res, body, ok := get(t, s, c.method, c.path, "Accept", c.accept)
		if ok != (c.kind != "") || body != c.body {
			t.Errorf("%s %s: %v %.60q", c.method, c.path, ok, body)
		}
		if ok && (res.Header.Get("Content-Type") != c.kind || res.Header.Get("Content-Security-Policy") != serve.Policy || res.Header.Get("Cache-Control") != "no-cache") {
			t.Errorf("%s %s: %v", c.method, c.path, res.Header)
		}
	}
}

func TestRevalidation(t *testing.T) {
	s := serve.New(files())
	plain, _, _ := get(t, s, "GET", "/assets/index.js")
	packed, body, _ := get(t, s, "GET", "/assets/index.js", "Accept-Encoding", "br, gzip;q=0.5")
	if packed.Header.Get("Content-Encoding") != "gzip" || body != strings.Repeat(script, 200) {
		t.Errorf("%v %.40q", packed.Header, body)
	}
	if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("ETag") == packed.Header.Get("ETag") {
		t.Errorf("%v and %v", plain.Header, packed.Header)
	}
	for _, c := range []struct {
		tag, encoding string
		status        int
	}{
		{plain.Header.Get("ETag"), "", 304},
		{`"x", W/` + plain.Header.Get("ETag"), "", 304},
		{packed.Header.Get("ETag"), "gzip", 304},
		{plain.Header.Get("ETag"), "gzip", 200},
		{packed.Header.Get("ETag"), "gzip;q=0", 200},
		{`"x"`, "", 200},
	} {
		res, body, _ := get(t, s, "GET", "/assets/index.js", "If-None-Match", c.tag, "Accept-Encoding", c.encoding)
		if res.StatusCode != c.status || (body == "") != (c.status == 304) || res.Header.Get("ETag") == "" {
			t.Errorf("%s %q: %d %v", c.tag, c.encoding, res.StatusCode, res.Header)
		}
	}
	// What gzip does not make smaller is sent as it is.
	if res, _, _ := get(t, s, "GET", "/favicon.ico", "Accept-Encoding", "gzip"); res.Header.Get("Content-Encoding") != "" {
		t.Errorf("%v", res.Header)
	}
}

// A console that cannot be served says so, and a build without one has no site.
func TestFilesThatCannotBeServed(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"no page":      {"assets/index.js": {}},
		"unknown kind": {"index.html": {}, "assets/x.bin": {}},
	} {
		if _, err := serve.New(fsys).Serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if serve.New(nil) != nil {
		t.Error("a site without files")
	}
}

// The embedded console can be served under its own policy: no script or style in the page.
func TestEmbedded(t *testing.T) {
	f := console.Files()
	if f == nil {
		t.Fatal("this build has no console")
	}
	_, page, _ := get(t, serve.New(f), "GET", "/")
	for _, inline := range []string{"<style", "style=", "javascript:", "onload=", "onclick=", "http://", "https://"} {
		if strings.Contains(page, inline) {
			t.Errorf("the page has %q, which its policy refuses", inline)
		}
	}
	if strings.Count(page, "<script") != strings.Count(page, "<script src=\"/")+strings.Count(page, "<script type=\"module\" crossorigin src=\"/") {
		t.Errorf("a script of the page is not a file of this origin:\n%s", page)
	}
}
