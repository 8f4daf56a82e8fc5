package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Policy is the Content-Security-Policy of the console: everything comes from this origin,
// nothing is inline, no page may frame it, and no script may turn text into markup.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// index is the page of every address of the console: the page itself reads the address.
const index = "index.html"

// assets is where the files are that a page loads. A missing one is an error, never the page.
const assets = "assets/"

// types are the content types of the files, by extension. They are not those of the machine.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".json": "application/json", ".webmanifest": "application/manifest+json", ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon",
	".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
}

// file is one file as it is sent.
type file struct {
	kind        string
	plain, gzip []byte // gzip is nil when it is not smaller
	etag        string // without quotes
}

// Site serves the files of a console. It may be used by many goroutines.
type Site struct {
	load func() (map[string]*file, error)
}

// New returns a site of these files, which it reads and compresses with the first request. It
// returns nil when files is nil.
func New(files fs.FS) *Site {
	if files == nil {
		return nil
	}
	return &Site{load: sync.OnceValues(func() (map[string]*file, error) { return load(files) })}
}

func load(files fs.FS) (map[string]*file, error) {
	out := map[string]*file{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		kind := types[path.Ext(name)]
		if kind == "" {
			return fmt.Errorf("file %s of the console has no known content type", name)
		}
		sum := sha256.Sum256(b)
		f := &file{kind: kind, plain: b, etag: hex.EncodeToString(sum[:])}
		if f.gzip, err = compress(b); err != nil {
			return err
		}
		out[name] = f
		return nil
	})
	if err != nil {
		return nil, err
	}
	if out[index] == nil {
		return nil, fmt.Errorf("the console has no %s", index)
	}
	return out, nil
}

func compress(b []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if packed.Len() >= len(b) {
		return nil, nil
	}
	return packed.Bytes(), nil
}

// Serve answers a request for a file of the console, or for an address that a browser
// navigates to. It reports false, and writes nothing, when the request is for neither.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request) (bool, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false, nil
	}
	files, err := s.load()
	if err != nil {
		return false, err
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	f := files[name]
	switch {
	case f != nil:
	case name == "", navigates(r) && !strings.HasPrefix(name, assets):
		f = files[index]
	default:
		return false, nil
	}
	f.send(w, r)
	return true, nil
}

// navigates reports whether a browser asks for a page. Programs do not name text/html, and
// learn that there is nothing.
func navigates(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (f *file) send(w http.ResponseWriter, r *http.Request) {
	h, body, etag := w.Header(), f.plain, `"`+f.etag+`"`
	if f.gzip != nil && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		body, etag = f.gzip, `"`+f.etag+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Security-Policy", Policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache") // kept, and asked for again: names have no hash in them
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", etag)
	if matches(r.Header.Get("If-None-Match"), etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // the client is gone when this fails
}

// matches reports whether a list of entity tags has one (RFC 9110 §13.1.2).
func matches(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == "*" || tag == etag {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether an Accept-Encoding allows gzip (RFC 9110 §12.5.3).
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(part, ";")
		if coding = strings.ToLower(strings.TrimSpace(coding)); coding != "gzip" && coding != "*" {
			continue
		}
		q, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		if weight, err := strconv.ParseFloat(q, 64); ok && (err != nil || weight == 0) {
			continue
		}
		return true
	}
	return false
}
