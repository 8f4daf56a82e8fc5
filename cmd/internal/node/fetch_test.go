package node

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestFetchFile: a file that an agent names comes with its type and name, bounded,
// and never from this machine or its network.
func TestFetchFile(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a/cat.png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("png"))
		case "/exact":
			_, _ = w.Write(make([]byte, maxFetchedFile))
		case "/more":
			_, _ = w.Write(make([]byte, maxFetchedFile+1))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	f := files{srv.Client(), "test"}
	data, media, name, err := f.FetchFile(t.Context(), srv.URL+"/a/cat.png?x=1")
	if err != nil || string(data) != "png" || media != "image/png" || name != "cat.png" {
		t.Errorf("%q %s %s %v", data, media, name, err)
	}
	if data, _, _, err = f.FetchFile(t.Context(), srv.URL+"/exact"); err != nil || len(data) != maxFetchedFile {
		t.Errorf("%d bytes: %v", len(data), err)
	}
	refused := func(f files, url, words string) {
		t.Helper()
		if _, _, _, err := f.FetchFile(t.Context(), url); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", url, err, words)
		}
	}
	refused(f, srv.URL+"/more", "more than 16 MiB")
	refused(f, srv.URL+"/none", "answered 404")
	refused(f, "file:///etc/passwd", "not an http")
	refused(f, "http://u:secret@a.example", "without credentials")
	guarded, err := newFiles("test")
	if err != nil {
		t.Fatal(err)
	}
	refused(guarded, srv.URL+"/a/cat.png", "only public addresses")
	refused(guarded, "http://169.254.169.254/latest", "only public addresses")
}
