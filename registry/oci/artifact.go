package oci

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Kind is what an artifact is: the artifactType of its OCI manifest.
type Kind string

// The kinds of artifacts.
const (
	KindPlugin  Kind = "application/vnd.sluice.plugin.v1"  // a connector or any other plugin module
	KindToolset Kind = "application/vnd.sluice.toolset.v1" // a toolset bundle module
	KindRelease Kind = "application/vnd.sluice.release.v1" // a signed release
	KindAccess  Kind = "application/vnd.sluice.access.v1"  // a signed access document
	KindCatalog Kind = "application/vnd.sluice.catalog.v1" // a signed catalog of pre-built connectors
)

// Media types of layers and configurations.
const (
	MediaTypeManifest   = ocispec.MediaTypeImageManifest
	MediaTypeWasm       = "application/wasm"
	MediaTypeWasmConfig = "application/vnd.wasm.config.v0+json"
	MediaTypeDSSE       = "application/vnd.dsse.envelope.v1+json"
	MediaTypeEmpty      = ocispec.MediaTypeEmptyJSON
)

// Bounds of an artifact.
const (
	// MaxManifestBytes is the size of an OCI manifest. Ours have under 1 KB;
	// 4 MiB is what registries must accept (OCI Distribution Specification).
	MaxManifestBytes = 4 << 20
	// MaxModuleBytes is the size of a wasm layer: the manifest section may have
	// 64 MB, the programs and the engine some more.
	MaxModuleBytes = 96 << 20
	// MaxEnvelopeBytes is a release of registry.MaxReleaseBytes in base64 with
	// its signatures.
	MaxEnvelopeBytes = registry.MaxReleaseBytes/3*4 + 64<<10
	// MaxCatalogBytes is a signed catalog: the built-in one has 300 KB.
	MaxCatalogBytes = 12 << 20
	// maxConfigBytes of a configuration; ours have 150 bytes.
	maxConfigBytes = 64 << 10
)

// layout says what manifests of a kind look like.
type layout struct {
	layer, config string
	max           int64
}

var layouts = map[Kind]layout{
	KindPlugin:  {MediaTypeWasm, MediaTypeWasmConfig, MaxModuleBytes},
	KindToolset: {MediaTypeWasm, MediaTypeWasmConfig, MaxModuleBytes},
	KindRelease: {MediaTypeDSSE, MediaTypeEmpty, MaxEnvelopeBytes},
	KindAccess:  {MediaTypeDSSE, MediaTypeEmpty, MaxEnvelopeBytes},
	KindCatalog: {MediaTypeDSSE, MediaTypeEmpty, MaxCatalogBytes},
}

// Artifact is a verified OCI manifest with its one verified layer. Only this
// package makes one that is not empty. Immutable; slices it returns are shared
// and must not be changed.
type Artifact struct {
	kind           Kind
	manifest       []byte
	manifestDigest registry.Digest
	layer          []byte
	layerDigest    registry.Digest
	config         []byte
	annotations    map[string]string
}

// Kind is the artifact's type.
func (a *Artifact) Kind() Kind { return a.kind }

// Manifest is the OCI manifest as stored.
func (a *Artifact) Manifest() []byte { return a.manifest }

// Digest is the digest of the OCI manifest: what a release and a toolset name.
func (a *Artifact) Digest() registry.Digest { return a.manifestDigest }

// Layer is the content: the module, or the DSSE envelope.
func (a *Artifact) Layer() []byte { return a.layer }

// LayerDigest is the digest of Layer.
func (a *Artifact) LayerDigest() registry.Digest { return a.layerDigest }

// Config is the configuration blob.
func (a *Artifact) Config() []byte { return a.config }

// Annotations are those of the OCI manifest; the caller owns the copy. Nothing
// about an artifact is decided by them.
func (a *Artifact) Annotations() map[string]string { return maps.Clone(a.annotations) }

// New makes the artifact of a kind around a layer: the same layer and
// annotations give the same bytes. It keeps layer. It fails with
// [problem.TooLarge] when the layer is larger than its kind allows.
func New(kind Kind, layer []byte, annotations map[string]string) (*Artifact, error) {
	l, ok := layouts[kind]
	if !ok {
		return nil, fmt.Errorf("make an artifact: unknown kind %.80q", string(kind))
	}
	if int64(len(layer)) > l.max {
		return nil, problem.New(problem.TooLarge, "the content has %d bytes, the limit is %d", len(layer), l.max)
	}
	a := &Artifact{kind: kind, layer: layer, layerDigest: registry.DigestOf(layer), annotations: maps.Clone(annotations)}
	a.config = configFor(l.config, a.layerDigest)
	m := ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    MediaTypeManifest,
		ArtifactType: string(kind),
		Config:       ocispec.Descriptor{MediaType: l.config, Digest: digest.Digest(registry.DigestOf(a.config)), Size: int64(len(a.config))},
		Layers:       []ocispec.Descriptor{{MediaType: l.layer, Digest: digest.Digest(a.layerDigest), Size: int64(len(layer))}},
		Annotations:  annotations,
	}
	var err error
	if a.manifest, err = json.Marshal(&m); err != nil {
		return nil, fmt.Errorf("make an artifact: %w", err)
	}
	if len(a.manifest) > MaxManifestBytes {
		return nil, problem.New(problem.TooLarge, "the OCI manifest has %d bytes, the limit is %d", len(a.manifest), MaxManifestBytes)
	}
	a.manifestDigest = registry.DigestOf(a.manifest)
	return a, nil
}

// configFor is the configuration blob: the empty object, or for a module what
// the Wasm OCI layout asks for, without a time so that equal modules stay equal.
func configFor(mediaType string, layer registry.Digest) []byte {
	if mediaType == MediaTypeEmpty {
		return []byte("{}")
	}
	return []byte(`{"architecture":"wasm","os":"wasip1","layerDigests":["` + string(layer) + `"]}`)
}

// parseManifest checks an OCI manifest whose digest was verified and returns the
// descriptors of its layer and configuration.
func parseManifest(b []byte, want Kind) (layer, config ocispec.Descriptor, annotations map[string]string, err error) {
	fail := func(format string, args ...any) (ocispec.Descriptor, ocispec.Descriptor, map[string]string, error) {
		return ocispec.Descriptor{}, ocispec.Descriptor{}, nil, problem.New(problem.InvalidPlugin, format, args...)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return fail("the OCI manifest cannot be read: %.200s", err.Error())
	}
	l, ok := layouts[want]
	switch {
	case !ok:
		return fail("unknown kind of artifact %.80q", string(want))
	case m.SchemaVersion != 2 || m.MediaType != MediaTypeManifest:
		return fail("not an OCI image manifest of schema version 2")
	case m.ArtifactType != string(want):
		return fail("the artifact is a %.80q, not a %q", m.ArtifactType, string(want))
	case len(m.Layers) != 1 || m.Layers[0].MediaType != l.layer:
		return fail("the artifact must have one layer of type %s", l.layer)
	case m.Config.MediaType != l.config:
		return fail("the configuration is a %.80q, not a %q", m.Config.MediaType, l.config)
	case m.Layers[0].Size < 0 || m.Layers[0].Size > l.max:
		return fail("the layer has %d bytes, the limit is %d", m.Layers[0].Size, l.max)
	case m.Config.Size < 0 || m.Config.Size > maxConfigBytes:
		return fail("the configuration has %d bytes, the limit is %d", m.Config.Size, maxConfigBytes)
	case !registry.Digest(m.Layers[0].Digest).Valid() || !registry.Digest(m.Config.Digest).Valid():
		return fail("the OCI manifest names content by something other than sha256")
	}
	return m.Layers[0], m.Config, m.Annotations, nil
}
