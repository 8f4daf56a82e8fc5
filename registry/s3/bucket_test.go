package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/s3"
	"github.com/sluicegate/sluice/registry/server/contenttest"
)

// store is an S3 server that others wrote, in this process. change may stand in the
// way of requests.
func store(t testing.TB, change func(http.Handler) http.Handler) (url string, backend *s3mem.Backend) {
	t.Helper()
	backend = s3mem.New()
	if err := backend.CreateBucket("artifacts"); err != nil {
		t.Fatal(err)
	}
	h := gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	if change != nil {
		h = change(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, backend
}

func options(t testing.TB, url string) s3.Options {
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id=AKID\naws_secret_access_key=canary-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s3.Options{
		Endpoint: url, Bucket: "artifacts", Prefix: "sluice/one/", PathStyle: true, Transport: &http.Transport{}, TempDir: t.TempDir(), CredentialsFile: file,
	}
}

func open(t testing.TB, o s3.Options) *s3.Bucket {
	t.Helper()
	b, err := s3.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBucket(t *testing.T) {
	contenttest.Run(t, func(t testing.TB) contenttest.Subject {
		url, backend := store(t, nil)
		return contenttest.Subject{
			Content: open(t, options(t, url)), Grain: time.Second,
			Overwrite: func(t testing.TB, d registry.Digest, data []byte) {
				if _, err := backend.PutObject("artifacts", "sluice/one/blobs/sha256/"+d.Hex(), map[string]string{}, bytes.NewReader(data), int64(len(data)), nil); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

// Two control planes in one bucket do not see each other's contents.
func TestPrefixes(t *testing.T) {
	url, _ := store(t, nil)
	one := open(t, options(t, url))
	o := options(t, url)
	o.Prefix = "sluice/two/"
	two := open(t, o)
	x := contenttest.Blob("x")
	if err := one.Put(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if err := two.Verify(t.Context(), x.Digest); !errors.Is(err, registry.ErrNotFound) {
		t.Fatalf("seen through another prefix: %v", err)
	}
	err := two.Walk(t.Context(), func(d registry.Digest, _ int64, _ time.Time) error { return errors.New(d.Short()) })
	if err != nil {
		t.Fatalf("listed through another prefix: %v", err)
	}
}

// Large contents go up in parts, and a part that fails is sent again.
func TestPartsAreSentAgain(t *testing.T) {
	var parts, failed atomic.Int64
	url, _ := store(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") && parts.Add(1)%2 == 0 {
				failed.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	b := open(t, options(t, url))
	big := bytes.Repeat([]byte("0123456789abcdef"), 40<<20/16)
	d := registry.DigestOf(big)
	if err := b.PutReader(t.Context(), d, bytes.NewReader(big)); err != nil {
		t.Fatal(err)
	}
	if failed.Load() == 0 || parts.Load() < 4 {
		t.Fatalf("%d parts, %d failed: the test proves nothing", parts.Load(), failed.Load())
	}
	if err := b.Verify(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// A store that fails is reported with what to do and without its words or the key.
func TestFaults(t *testing.T) {
	const words = "internal words of the store"
	status, code := http.StatusForbidden, "SignatureDoesNotMatch"
	var broken atomic.Bool
	url, _ := store(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !broken.Load() {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>"+words+"</Message></Error>")
		})
	})
	b := open(t, options(t, url))
	broken.Store(true)
	check := func(want problem.Kind) {
		t.Helper()
		x := contenttest.Blob("x")
		_, ferr := b.Fetch(t.Context(), x.Digest, 9)
		_, serr := b.Size(t.Context(), x.Digest)
		_, kerr := b.Keep(t.Context(), x.Digest)
		for what, err := range map[string]error{"Put": b.Put(t.Context(), x), "Fetch": ferr, "Keep": kerr, "Walk": b.Walk(t.Context(), nil), "Size": serr} {
			if what == "Size" && err != nil { // an answer to HEAD has no words
				continue
			}
			if !problem.Is(err, want) {
				t.Errorf("%s: %v; want %s", what, err, want)
				continue
			}
			if text := err.Error(); strings.Contains(text, words) || strings.Contains(text, "canary") {
				t.Errorf("%s says too much: %s", what, text)
			}
		}
		if gone, err := b.DeleteOld(t.Context(), time.Now(), x.Digest); len(gone) > 0 || err == nil {
			t.Errorf("DeleteOld = %v, %v", gone, err)
		}
	}
	check(problem.Forbidden)
	status, code = http.StatusBadRequest, "Strange"
	check(problem.Unavailable)
	if _, err := s3.Open(t.Context(), options(t, url)); err == nil {
		t.Error("a store that fails was opened")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Put(ctx, contenttest.Blob("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	url, _ := store(t, nil)
	f := func(what string, change func(*s3.Options)) {
		t.Helper()
		o := options(t, url)
		change(&o)
		if b, err := s3.Open(t.Context(), o); err == nil || b != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("no bucket", func(o *s3.Options) { o.Bucket = "" })
	f("a path", func(o *s3.Options) { o.Bucket = "a/../b" })
	f("a bucket that is not there", func(o *s3.Options) { o.Bucket = "absent" })
	f("not a URL", func(o *s3.Options) { o.Endpoint = "ftp://x" })
	f("a password in the URL", func(o *s3.Options) { o.Endpoint = "https://u:p@host" })
	f("a prefix that is a path", func(o *s3.Options) { o.Prefix = "../x" })
	f("a prefix past the limit", func(o *s3.Options) { o.Prefix = strings.Repeat("x", 513) })
	f("no transport", func(o *s3.Options) { o.Transport = nil })
	f("no credentials", func(o *s3.Options) { o.CredentialsFile += ".absent" })
	o := options(t, url)
	o.Prefix = strings.Repeat("x", 512)
	open(t, o)
}
