package oci

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// TestMaxManifestBytes: a manifest as large is made, a byte more is refused.
func TestMaxManifestBytes(t *testing.T) {
	made := func(n int) (*Artifact, error) {
		return New(KindPlugin, []byte("x"), map[string]string{"a": strings.Repeat("x", n)})
	}
	a, err := made(0)
	if err != nil {
		t.Fatal(err)
	}
	room := MaxManifestBytes - len(a.manifest)
	if a, err = made(room); err != nil || len(a.manifest) != MaxManifestBytes {
		t.Errorf("at the limit: %v", err)
	}
	if _, err = made(room + 1); !problem.Is(err, problem.TooLarge) {
		t.Errorf("one past it: %v", err)
	}
}

// TestListOfManifestsBound: a part of a list is not taken for the whole: signatures that
// are there would be missing.
func TestListOfManifestsBound(t *testing.T) {
	d := registry.DigestOf([]byte("x"))
	list := []byte(`{"schemaVersion":2,"manifests":[{"digest":"` + string(d) + `"}]}`)
	for n, ok := range map[int]bool{MaxManifestBytes: true, MaxManifestBytes + 1: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(append(bytes.Repeat([]byte(" "), n-len(list)), list...))
		}))
		r, err := NewRemote(RemoteOptions{URL: s.URL, Client: s.Client()})
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Referrers(t.Context(), "a/b", d)
		if ok != (err == nil && len(found) == 1) || !ok && !problem.Is(err, problem.TooLarge) {
			t.Errorf("%d bytes: %v, %v", n, found, err)
		}
		s.Close()
	}
}

// TestMaxConfigBytes: what a manifest may say of its configuration.
func TestMaxConfigBytes(t *testing.T) {
	a, err := New(KindPlugin, []byte("x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, ok := range map[int64]bool{maxConfigBytes: true, maxConfigBytes + 1: false, -1: false} {
		var m ocispec.Manifest
		if err := json.Unmarshal(a.manifest, &m); err != nil {
			t.Fatal(err)
		}
		m.Config.Size = n
		b, err := json.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := parseManifest(b, KindPlugin); (err == nil) != ok {
			t.Errorf("a configuration of %d bytes: %v", n, err)
		}
	}
}

// signatures is a registry that has what cosign stored, in any number and size.
type signatures struct {
	Backend

	manifest []byte
	payload  []byte
}

func (s signatures) ResolveTag(context.Context, string, string) (registry.Digest, error) {
	return registry.DigestOf(s.manifest), nil
}

func (s signatures) FetchManifest(context.Context, string, registry.Digest, int64) ([]byte, error) {
	return s.manifest, nil
}

func (s signatures) FetchBlob(context.Context, string, registry.Digest, int64) ([]byte, error) {
	return s.payload, nil
}

// TestCosignBounds: so many signatures of so many bytes are looked at.
func TestCosignBounds(t *testing.T) {
	f := func(layers, size, want int) {
		t.Helper()
		s := signatures{payload: bytes.Repeat([]byte("p"), size)}
		var m ocispec.Manifest
		for range layers {
			m.Layers = append(m.Layers, ocispec.Descriptor{
				MediaType: cosignLayer, Digest: digest.Digest(registry.DigestOf(s.payload)), Size: int64(size),
				Annotations: map[string]string{cosignAnnotation: base64.StdEncoding.EncodeToString([]byte("sig"))},
			})
		}
		var err error
		if s.manifest, err = json.Marshal(&m); err != nil {
			t.Fatal(err)
		}
		got, err := NewStore(s).CosignSignatures(t.Context(), "a/b", registry.DigestOf([]byte("x")))
		if err != nil || len(got) != want {
			t.Errorf("%d signatures of %d bytes: %d, %v; want %d", layers, size, len(got), err, want)
		}
	}
	f(maxCosignLayers, 10, maxCosignLayers)
	f(maxCosignLayers+1, 10, maxCosignLayers)
	f(1, maxCosignPayload, 1)
	f(1, maxCosignPayload+1, 0)
}

// referrers is a registry that lists any number of bundles.
type referrers struct {
	Backend

	n       int
	subject registry.Digest
}

func (s referrers) Referrers(context.Context, string, registry.Digest) ([]registry.Digest, error) {
	var out []registry.Digest
	for i := range s.n {
		out = append(out, registry.DigestOf(s.manifest(i)))
	}
	return out, nil
}

func (s referrers) manifest(i int) []byte {
	return fmt.Appendf(nil, `{"n":%d,"subject":{"digest":%q},"layers":[{"mediaType":%q,"digest":%q,"size":1}]}`, i, s.subject, sign.MediaTypeBundle, registry.DigestOf([]byte("b")))
}

func (s referrers) FetchManifest(_ context.Context, _ string, d registry.Digest, _ int64) ([]byte, error) {
	for i := range s.n {
		if b := s.manifest(i); registry.DigestOf(b) == d {
			return b, nil
		}
	}
	return nil, registry.ErrNotFound
}

func (referrers) FetchBlob(context.Context, string, registry.Digest, int64) ([]byte, error) {
	return []byte("b"), nil
}

// TestMaxReferrers: so many things that refer to an artifact are looked at.
func TestMaxReferrers(t *testing.T) {
	subject := registry.DigestOf([]byte("x"))
	for n, want := range map[int]int{maxReferrers: maxReferrers, maxReferrers + 1: maxReferrers} {
		got, err := NewStore(referrers{n: n, subject: subject}).CosignBundles(t.Context(), "a/b", subject)
		if err != nil || len(got) != want {
			t.Errorf("%d referrers: %d are looked at, %v; want %d", n, len(got), err, want)
		}
		var index ocispec.Index
		for i := range n {
			index.Manifests = append(index.Manifests, ocispec.Descriptor{Digest: digest.FromString(fmt.Sprint(i))})
		}
		b, err := json.Marshal(&index)
		if err != nil {
			t.Fatal(err)
		}
		if got := listed(b); len(got) != want {
			t.Errorf("a list of %d: %d are read, want %d", n, len(got), want)
		}
	}
}
