package oci_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

func open(t testing.TB) (*oci.Store, *server.Store, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := server.Open(server.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return oci.NewStore(s), s, dir
}

func artifact(t testing.TB, kind oci.Kind, layer string) *oci.Artifact {
	t.Helper()
	a, err := oci.New(kind, []byte(layer), map[string]string{"org.opencontainers.image.title": "x"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPushPull(t *testing.T) {
	store, _, _ := open(t)
	for _, kind := range []oci.Kind{oci.KindPlugin, oci.KindToolset, oci.KindRelease, oci.KindAccess, oci.KindCatalog} {
		a := artifact(t, kind, "content of "+string(kind))
		if err := store.Push(t.Context(), "acme/plugins/x", "v1", a); err != nil {
			t.Fatal(err)
		}
		d, err := store.Resolve(t.Context(), "acme/plugins/x", "v1")
		if err != nil || d != a.Digest() {
			t.Fatalf("Resolve = %s, %v; want %s", d, err, a.Digest())
		}
		got, err := store.Pull(t.Context(), "acme/plugins/x", d, kind)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Layer(), a.Layer()) || !bytes.Equal(got.Manifest(), a.Manifest()) || !bytes.Equal(got.Config(), a.Config()) ||
			got.LayerDigest() != a.LayerDigest() || got.Kind() != kind || got.Annotations()["org.opencontainers.image.title"] != "x" {
			t.Fatalf("pulled %+v, pushed %+v", got, a)
		}
		// Pulled artifacts can be pushed on whole.
		other, _, _ := open(t)
		if err := other.Push(t.Context(), "b/c", "", got); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Pull(t.Context(), "b/c", d, kind); err != nil {
			t.Fatal(err)
		}
	}
}

// The bytes of an OCI manifest are a format: digests of toolsets depend on them.
func TestManifestBytes(t *testing.T) {
	a := artifact(t, oci.KindPlugin, "x")
	const want = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"artifactType":"application/vnd.sluice.plugin.v1",` +
		`"config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"sha256:a3bdc20149f8fd2e44df4ddf421d6f28a76aa052c3db4fe98906b75fb6c38740","size":128},` +
		`"layers":[{"mediaType":"application/wasm","digest":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","size":1}],` +
		`"annotations":{"org.opencontainers.image.title":"x"}}`
	if string(a.Manifest()) != want {
		t.Fatalf("manifest\n%s\nwant\n%s", a.Manifest(), want)
	}
	var config struct {
		Architecture, OS string
		LayerDigests     []registry.Digest
	}
	if err := json.Unmarshal(a.Config(), &config); err != nil || config.Architecture != "wasm" || config.LayerDigests[0] != a.LayerDigest() {
		t.Fatalf("configuration %s, %v", a.Config(), err)
	}
}

// tampered returns other bytes than are stored.
type tampered struct {
	*server.Store

	manifest, blob func([]byte) []byte
}

func (b tampered) FetchManifest(ctx context.Context, r string, d registry.Digest, n int64) ([]byte, error) {
	x, err := b.Store.FetchManifest(ctx, r, d, n)
	if b.manifest != nil && err == nil {
		x = b.manifest(x)
	}
	return x, err
}

func (b tampered) FetchBlob(ctx context.Context, r string, d registry.Digest, n int64) ([]byte, error) {
	x, err := b.Store.FetchBlob(ctx, r, d, n)
	if b.blob != nil && err == nil {
		x = b.blob(x)
	}
	return x, err
}

func TestPullReturnsOnlyVerified(t *testing.T) {
	store, backend, _ := open(t)
	a, swapped := artifact(t, oci.KindPlugin, "the content"), artifact(t, oci.KindPlugin, "another one")
	if err := store.Push(t.Context(), "a/b", "", a); err != nil {
		t.Fatal(err)
	}
	f := func(what string, b tampered) {
		t.Helper()
		b.Store = backend
		got, err := oci.NewStore(b).Pull(t.Context(), "a/b", a.Digest(), oci.KindPlugin)
		if got != nil || !errors.Is(err, registry.ErrCorrupt) {
			t.Fatalf("%s: %v, %v; want nothing and ErrCorrupt", what, got, err)
		}
	}
	to := func(b []byte) func([]byte) []byte { return func([]byte) []byte { return b } }
	f("another manifest", tampered{manifest: to(swapped.Manifest())})
	f("no manifest", tampered{manifest: to(nil)})
	f("half a manifest", tampered{manifest: func(b []byte) []byte { return b[:len(b)/2] }})
	f("a manifest with a space", tampered{manifest: func(b []byte) []byte { return append(b, ' ') }})
	f("another layer of the same size", tampered{blob: to([]byte("the c0ntent"))})
	f("half a layer", tampered{blob: func(b []byte) []byte { return b[:len(b)/2] }})
	f("an empty layer", tampered{blob: to(nil)})
	f("a longer layer", tampered{blob: func(b []byte) []byte { return append(b, 0) }})
	if _, err := oci.NewStore(tampered{Store: backend}).Pull(t.Context(), "a/b", a.Digest(), oci.KindPlugin); err != nil {
		t.Fatalf("the control: %v", err)
	}
}

func TestPullRefusesOtherForms(t *testing.T) {
	store, backend, _ := open(t)
	a := artifact(t, oci.KindPlugin, "x")
	if err := store.Push(t.Context(), "a/b", "", a); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Pull(t.Context(), "a/b", a.Digest(), oci.KindToolset); !problem.Is(err, problem.InvalidPlugin) {
		t.Fatalf("a plugin pulled as a toolset: %v", err)
	}
	if _, err := store.Pull(t.Context(), "a/b", registry.DigestOf([]byte("no")), oci.KindPlugin); !errors.Is(err, registry.ErrNotFound) {
		t.Fatalf("a manifest that is not there: %v", err)
	}
	if _, err := store.Pull(t.Context(), "a//b", a.Digest(), oci.KindPlugin); err == nil {
		t.Fatal("a repository that has no name")
	}
	if _, err := store.Pull(t.Context(), "a/b", "sha256:1", oci.KindPlugin); !errors.Is(err, registry.ErrDigest) {
		t.Fatal("a digest that is none")
	}
	// Manifests with the right digest and the wrong content.
	f := func(old, replacement string) {
		t.Helper()
		m := strings.Replace(string(a.Manifest()), old, replacement, 1)
		if m == string(a.Manifest()) {
			t.Fatalf("%q is not in the manifest", old)
		}
		d := registry.DigestOf([]byte(m))
		if err := backend.Content().Put(t.Context(), server.Blob{Digest: d, Data: []byte(m)}); err != nil {
			t.Fatal(err)
		}
		if got, err := store.Pull(t.Context(), "a/b", d, oci.KindPlugin); got != nil || !problem.Is(err, problem.InvalidPlugin) {
			t.Fatalf("%s -> %s: %v, %v", old, replacement, got, err)
		}
	}
	f(`"schemaVersion":2`, `"schemaVersion":1`)
	f(`"mediaType":"application/wasm"`, `"mediaType":"text/html"`)
	f(`application/vnd.wasm.config.v0+json`, `application/json`)
	f(`"layers":[`, `"layers":[{"mediaType":"application/wasm","digest":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","size":1},`)
	f(`"size":1}]`, `"size":-1}]`)
	f(`"size":1}]`, fmt.Sprintf(`"size":%d}]`, oci.MaxModuleBytes+1))
	f(`sha256:2d71`, `sha512:2d71`)
	f(`{"schemaVersion"`, `["schemaVersion"`)
}

// A layer larger than the manifest says is not even read.
func TestPullRefusesLargerLayer(t *testing.T) {
	store, _, dir := open(t)
	a := artifact(t, oci.KindPlugin, "x")
	if err := store.Push(t.Context(), "a/b", "", a); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "blobs", "sha256", a.LayerDigest().Hex())
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Pull(t.Context(), "a/b", a.Digest(), oci.KindPlugin); !problem.Is(err, problem.TooLarge) {
		t.Fatalf("%v; want too_large", err)
	}
}

func TestLayerLimit(t *testing.T) {
	if _, err := oci.New(oci.KindRelease, make([]byte, oci.MaxEnvelopeBytes), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := oci.New(oci.KindRelease, make([]byte, oci.MaxEnvelopeBytes+1), nil); !problem.Is(err, problem.TooLarge) {
		t.Fatalf("one byte past the limit: %v", err)
	}
	if _, err := oci.New("text/plain", nil, nil); err == nil {
		t.Fatal("a kind that is none")
	}
}

// countingBackend counts pulls of manifests: an unchanged release costs none.
type countingBackend struct {
	*server.Store

	manifests int
}

func (b *countingBackend) FetchManifest(ctx context.Context, r string, d registry.Digest, n int64) ([]byte, error) {
	b.manifests++
	return b.Store.FetchManifest(ctx, r, d, n)
}

func TestSource(t *testing.T) {
	_, s, _ := open(t)
	backend := &countingBackend{Store: s}
	store := oci.NewStore(backend)
	source := oci.NewSource(store, "north", time.Hour)
	if _, err := source.Release(t.Context(), ""); !errors.Is(err, registry.ErrNotFound) {
		t.Fatalf("no release yet: %v", err)
	}
	push := func(content string) *oci.Artifact {
		a := artifact(t, oci.KindRelease, content)
		if err := store.Push(t.Context(), oci.ReleaseRepository("north"), oci.TagLatest, a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	first := push("one")
	got, err := source.Release(t.Context(), "")
	if err != nil || string(got) != "one" {
		t.Fatalf("Release = %q, %v", got, err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Hour)
		defer cancel()
		source := oci.NewSource(store, "north", time.Hour)
		if _, err := source.Release(ctx, ""); err != nil {
			t.Fatal(err)
		}
		before := backend.manifests
		if _, err := source.Release(ctx, first.LayerDigest()); !errors.Is(err, registry.ErrUnchanged) {
			t.Fatalf("nothing new: %v", err)
		}
		if backend.manifests != before {
			t.Fatalf("waiting fetched %d manifests", backend.manifests-before)
		}
	})
	// Woken, it sees the new one without waiting for the poll.
	done := make(chan string)
	go func() {
		b, err := source.Release(t.Context(), first.LayerDigest())
		if err != nil {
			t.Error(err)
		}
		done <- string(b)
	}()
	push("two")
	for woken := false; !woken; {
		source.Wake()
		select {
		case got := <-done:
			if got != "two" {
				t.Fatalf("woke up to %q", got)
			}
			woken = true
		default:
		}
	}
	if a, err := source.Artifact(t.Context(), "releases/north", first.Digest(), oci.KindRelease); err != nil || string(a.Layer()) != "one" {
		t.Fatalf("Artifact = %v, %v", a, err)
	}
}

// Bundles are found by the referrers of the registry, or by the tag that stands in.
func TestBundles(t *testing.T) {
	f := func(t *testing.T, back oci.Backend) {
		t.Helper()
		st := oci.NewStore(back)
		a := artifact(t, oci.KindPlugin, "signed")
		if err := st.Push(t.Context(), "a/b", "v1", a); err != nil {
			t.Fatal(err)
		}
		if got, err := st.CosignBundles(t.Context(), "a/b", a.Digest()); err != nil || len(got) != 0 {
			t.Fatalf("before: %d, %v", len(got), err)
		}
		for _, b := range []string{`{"first":1}`, `{"second":2}`, `{"second":2}`} {
			if err := st.PushBundle(t.Context(), "a/b", a.Digest(), int64(len(a.Manifest())), []byte(b)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := st.CosignBundles(t.Context(), "a/b", a.Digest())
		if err != nil || len(got) != 2 {
			t.Fatalf("%q, %v", got, err)
		}
	}
	_, back, _ := open(t)
	t.Run("referrers", func(t *testing.T) { f(t, back) })
	_, back, _ = open(t)
	t.Run("tag", func(t *testing.T) { f(t, withoutReferrers{back}) })
}

// withoutReferrers is a registry of the time before the end point: clients look at a
// tag.
type withoutReferrers struct{ *server.Store }

func (b withoutReferrers) Referrers(ctx context.Context, repository string, subject registry.Digest) ([]registry.Digest, error) {
	d, err := b.ResolveTag(ctx, repository, strings.ReplaceAll(string(subject), ":", "-"))
	if err != nil {
		return nil, err
	}
	raw, err := b.FetchManifest(ctx, repository, d, 1<<20)
	if err != nil {
		return nil, err
	}
	var index struct {
		Manifests []struct{ Digest registry.Digest }
	}
	err = json.Unmarshal(raw, &index)
	var out []registry.Digest
	for _, m := range index.Manifests {
		out = append(out, m.Digest)
	}
	return out, err
}
