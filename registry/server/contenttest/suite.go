package contenttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// Subject is an empty content store under test.
type Subject struct {
	Content server.Content
	// Overwrite changes what is stored under d behind the back of Content.
	Overwrite func(t testing.TB, d registry.Digest, data []byte)
	// Grain is what its times are exact to.
	Grain time.Duration
}

// Blob is a content and its digest.
func Blob(s string) server.Blob {
	return server.Blob{Digest: registry.DigestOf([]byte(s)), Data: []byte(s)}
}

// Run runs the suite; open makes a fresh subject.
func Run(t *testing.T, open func(t testing.TB) Subject) {
	t.Run("put and read", func(t *testing.T) { putAndRead(t, open(t)) })
	t.Run("refuse other content", func(t *testing.T) { refuseOther(t, open(t)) })
	t.Run("damage", func(t *testing.T) { damage(t, open(t)) })
	t.Run("stream", func(t *testing.T) { stream(t, open(t)) })
	t.Run("age", func(t *testing.T) { age(t, open(t)) })
	t.Run("collect under publishing", func(t *testing.T) { collect(t, open(t)) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func putAndRead(t *testing.T, s Subject) {
	c, ctx := s.Content, t.Context()
	x, y := Blob("content"), Blob("")
	must(t, c.Put(ctx, x, y, x))
	must(t, c.Put(ctx))
	if got, err := c.Fetch(ctx, x.Digest, 7); err != nil || string(got) != "content" {
		t.Fatalf("Fetch = %q, %v", got, err)
	}
	if _, err := c.Fetch(ctx, x.Digest, 6); !problem.Is(err, problem.TooLarge) {
		t.Fatalf("one byte past the limit: %v", err)
	}
	if got, err := c.Fetch(ctx, y.Digest, 0); err != nil || len(got) != 0 {
		t.Fatalf("the empty blob: %q, %v", got, err)
	}
	if n, err := c.Size(ctx, x.Digest); err != nil || n != 7 {
		t.Fatalf("Size = %d, %v", n, err)
	}
	f, err := c.Open(ctx, x.Digest)
	must(t, err)
	if _, err := f.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(f)
	if err != nil || string(rest) != "tent" {
		t.Fatalf("read from 3: %q, %v", rest, err)
	}
	must(t, f.Close())
	seen := map[registry.Digest]int64{}
	must(t, c.Walk(ctx, func(d registry.Digest, n int64, _ time.Time) error { seen[d] = n; return nil }))
	if len(seen) != 2 || seen[x.Digest] != 7 || seen[y.Digest] != 0 {
		t.Fatalf("Walk saw %v", seen)
	}
	stop := errors.New("enough")
	if err := c.Walk(ctx, func(registry.Digest, int64, time.Time) error { return stop }); !errors.Is(err, stop) {
		t.Fatalf("Walk that is stopped: %v", err)
	}
	none := Blob("none").Digest
	for what, err := range map[string]error{
		"Fetch": second(c.Fetch(ctx, none, 9)), "Size": second(c.Size(ctx, none)), "Open": second(c.Open(ctx, none)), "Verify": c.Verify(ctx, none),
	} {
		if !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s of what is missing: %v; want ErrNotFound", what, err)
		}
	}
	for what, err := range map[string]error{
		"Fetch": second(c.Fetch(ctx, "sha256:../../x", 9)), "Size": second(c.Size(ctx, "sha256:../../x")), "Open": second(c.Open(ctx, "sha256:../../x")),
		"PutReader": c.PutReader(ctx, "sha256:../../x", strings.NewReader("x")),
	} {
		if !errors.Is(err, registry.ErrDigest) {
			t.Errorf("%s of a digest that is a path: %v; want ErrDigest", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func empty(t testing.TB, c server.Content) {
	t.Helper()
	must(t, c.Walk(context.Background(), func(d registry.Digest, n int64, _ time.Time) error {
		return fmt.Errorf("%s (%d bytes) was stored", d.Short(), n)
	}))
}

func refuseOther(t *testing.T, s Subject) {
	x := Blob("x")
	x.Data = []byte("y")
	if err := s.Content.Put(t.Context(), Blob("good"), x); !errors.Is(err, registry.ErrCorrupt) {
		t.Fatalf("%v; want ErrCorrupt", err)
	}
	if err := s.Content.PutReader(t.Context(), x.Digest, strings.NewReader("y")); !errors.Is(err, registry.ErrCorrupt) {
		t.Fatalf("%v; want ErrCorrupt", err)
	}
	if err := s.Content.PutReader(t.Context(), x.Digest, io.MultiReader(strings.NewReader("x"), failing{})); err == nil || errors.Is(err, registry.ErrCorrupt) {
		t.Fatalf("a reader that fails behind the right bytes: %v", err)
	}
	empty(t, s.Content)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the line broke") }

func damage(t *testing.T, s Subject) {
	c, x := s.Content, Blob("the content")
	f := func(what string, stored []byte) {
		t.Helper()
		must(t, c.Put(t.Context(), x))
		s.Overwrite(t, x.Digest, stored)
		if err := c.Verify(t.Context(), x.Digest); !errors.Is(err, registry.ErrCorrupt) {
			t.Fatalf("%s: Verify = %v", what, err)
		}
		if r, err := c.Open(t.Context(), x.Digest); r != nil || !errors.Is(err, registry.ErrCorrupt) {
			t.Fatalf("%s: Open = %v, %v", what, r, err)
		}
		must(t, c.Put(t.Context(), x))
		if got, err := c.Fetch(t.Context(), x.Digest, 100); err != nil || !bytes.Equal(got, x.Data) {
			t.Fatalf("%s: after Put Fetch = %q, %v", what, got, err)
		}
	}
	f("empty", nil)
	f("half", x.Data[:5])
	f("one bit", []byte("the c0ntent"))
	f("longer", append(bytes.Clone(x.Data), 0))
}

// stream puts what is larger than one part of an upload.
func stream(t *testing.T, s Subject) {
	c, ctx := s.Content, t.Context()
	big := make([]byte, 21<<20)
	for i := range big {
		big[i] = byte(i * i >> 3)
	}
	d := registry.DigestOf(big)
	must(t, c.PutReader(ctx, d, bytes.NewReader(big)))
	must(t, c.Verify(ctx, d))
	if n, err := c.Size(ctx, d); err != nil || n != int64(len(big)) {
		t.Fatalf("Size = %d, %v", n, err)
	}
	whole := server.Blob{Digest: registry.DigestOf(big[1:]), Data: big[1:]}
	must(t, c.Put(ctx, whole))
	if got, err := c.Fetch(ctx, whole.Digest, int64(len(big))); err != nil || !bytes.Equal(got, big[1:]) {
		t.Fatalf("%d of %d bytes, %v", len(got), len(big)-1, err)
	}
	must(t, c.PutReader(ctx, registry.DigestOf(nil), strings.NewReader("")))
	must(t, c.Verify(ctx, registry.DigestOf(nil)))
	endless := io.LimitReader(zeros{}, server.MaxBlobBytes+1)
	if err := c.PutReader(ctx, d, endless); !problem.Is(err, problem.TooLarge) {
		t.Fatalf("one byte past the limit: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func age(t *testing.T, s Subject) {
	c, ctx := s.Content, t.Context()
	x := Blob("x")
	before := time.Now().Add(-s.Grain - time.Second)
	must(t, c.Put(ctx, x))
	after := time.Now().Add(s.Grain + time.Second)
	older := func(d registry.Digest, at time.Time, want bool) {
		t.Helper()
		if got, err := c.OlderThan(ctx, d, at); err != nil || got != want {
			t.Fatalf("OlderThan = %v, %v; want %v", got, err, want)
		}
	}
	older(x.Digest, before, false)
	older(x.Digest, after, true)
	older(Blob("none").Digest, before, true)
	if ok, err := c.Keep(ctx, x.Digest); !ok || err != nil {
		t.Fatalf("Keep = %v, %v", ok, err)
	}
	if ok, err := c.Keep(ctx, Blob("none").Digest); ok || err != nil {
		t.Fatalf("Keep of what is missing = %v, %v", ok, err)
	}
	must(t, c.Verify(ctx, x.Digest))
	y := Blob("y")
	must(t, c.Put(ctx, y))
	if gone, err := c.DeleteOld(ctx, before, x.Digest, y.Digest); len(gone) != 0 || err != nil {
		t.Fatalf("DeleteOld of young contents = %v, %v", gone, err)
	}
	must(t, c.Verify(ctx, x.Digest))
	if gone, err := c.DeleteOld(ctx, after); len(gone) != 0 || err != nil {
		t.Fatalf("DeleteOld of none = %v, %v", gone, err)
	}
	if _, err := c.DeleteOld(ctx, after, "sha256:../../x"); !errors.Is(err, registry.ErrDigest) {
		t.Fatalf("DeleteOld of a digest that is a path: %v; want ErrDigest", err)
	}
	none := Blob("none").Digest
	if gone, err := c.DeleteOld(ctx, after, x.Digest, none, y.Digest); !slices.Equal(gone, []registry.Digest{x.Digest, none, y.Digest}) || err != nil {
		t.Fatalf("DeleteOld = %v, %v", gone, err)
	}
	empty(t, c)
}

// collect lets publishers push artifacts, some of them again and again, beside a
// collector that may take everything older than a moment: what a push that returned
// within that moment promised is there.
func collect(t *testing.T, s Subject) {
	back, err := server.Open(server.Options{Dir: t.TempDir(), Content: s.Content})
	must(t, err)
	st := oci.NewStore(back)
	// Long enough for the slowest push of a loaded machine between its first and its
	// last file.
	const grace = 2 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), grace+2*s.Grain+2*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for p := range 3 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				text := fmt.Sprintf("artifact %d", i%3) // the same ones, by all publishers
				if p == 0 {
					text = fmt.Sprintf("artifact of its own %d", i)
				}
				a, err := oci.New(oci.KindPlugin, []byte(text), nil)
				if err != nil {
					t.Error(err)
					return
				}
				started := time.Now()
				err = st.Push(context.WithoutCancel(ctx), "acme/plugins/x", "", a)
				if err == nil {
					_, err = st.Pull(context.WithoutCancel(ctx), "acme/plugins/x", a.Digest(), oci.KindPlugin)
				}
				if err != nil && time.Since(started) < grace {
					t.Errorf("pushed and gone: %v", err)
					return
				}
			}
		})
	}
	collected := 0
	for ctx.Err() == nil {
		r, err := back.Collect(context.WithoutCancel(ctx), server.CollectOptions{Before: time.Now().Add(-grace), Releases: 1})
		must(t, err)
		collected += r.Blobs
	}
	wg.Wait()
	if collected == 0 {
		t.Fatal("nothing was collected: the test proves nothing")
	}
}
