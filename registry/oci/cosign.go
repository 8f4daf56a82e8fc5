package oci

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// cosign's tag form (github.com/sigstore/cosign, specs/SIGNATURE_SPEC.md): the
// signatures of a manifest are an artifact of their own, whose tag is made of the
// manifest's digest.
const (
	cosignLayer      = "application/vnd.dev.cosign.simplesigning.v1+json"
	cosignAnnotation = "dev.cosignproject.cosign/signature"
	// maxCosignLayers: an artifact that many publishers signed.
	maxCosignLayers = 16
	// maxCosignPayload: a document of 250 bytes and what its signer adds.
	maxCosignPayload = 16 << 10
)

// cosignTag is the tag of the signatures of a manifest.
func cosignTag(manifest registry.Digest) string {
	return strings.ReplaceAll(string(manifest), ":", "-") + ".sig"
}

// CosignSignatures returns what cosign stored beside a manifest; none when there is
// nothing. What they say is not checked.
func (s *Store) CosignSignatures(ctx context.Context, repository string, manifest registry.Digest) ([]sign.CosignSignature, error) {
	d, err := s.Resolve(ctx, repository, cosignTag(manifest))
	if errors.Is(err, registry.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	raw, err := s.backend.FetchManifest(ctx, repository, d, MaxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("pull the signatures of %s: %w", manifest.Short(), err)
	}
	var m ocispec.Manifest
	if !d.Matches(raw) || json.Unmarshal(raw, &m) != nil {
		return nil, fmt.Errorf("pull the signatures of %s: %w", manifest.Short(), registry.ErrCorrupt)
	}
	var out []sign.CosignSignature
	for _, l := range m.Layers[:min(len(m.Layers), maxCosignLayers)] {
		sig, err := base64.StdEncoding.DecodeString(l.Annotations[cosignAnnotation])
		at := registry.Digest(l.Digest)
		if err != nil || l.MediaType != cosignLayer || !at.Valid() || l.Size < 0 || l.Size > maxCosignPayload {
			continue
		}
		payload, err := s.backend.FetchBlob(ctx, repository, at, l.Size)
		if err != nil {
			return nil, fmt.Errorf("pull a signature of %s: %w", manifest.Short(), err)
		}
		if at.Matches(payload) {
			out = append(out, sign.CosignSignature{Payload: payload, Signature: sig})
		}
	}
	return out, nil
}

// PushCosign stores a signature of a manifest where cosign looks for it. One that
// is there is replaced.
func (s *Store) PushCosign(ctx context.Context, repository string, manifest registry.Digest, sig sign.CosignSignature) error {
	config := []byte(`{"architecture":"","created":"0001-01-01T00:00:00Z","history":[{"created":"0001-01-01T00:00:00Z"}],"os":"","rootfs":{"type":"layers","diff_ids":["` +
		string(registry.DigestOf(sig.Payload)) + `"]},"config":{}}`)
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: MediaTypeManifest,
		Config: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: digest.Digest(registry.DigestOf(config)), Size: int64(len(config))},
		Layers: []ocispec.Descriptor{{
			MediaType: cosignLayer, Digest: digest.Digest(registry.DigestOf(sig.Payload)), Size: int64(len(sig.Payload)),
			Annotations: map[string]string{cosignAnnotation: base64.StdEncoding.EncodeToString(sig.Signature)},
		}},
	}
	raw, err := json.Marshal(&m)
	if err != nil {
		return fmt.Errorf("make the signature of %s: %w", manifest.Short(), err)
	}
	for _, b := range [][]byte{config, sig.Payload} {
		if err := s.backend.PutBlob(ctx, repository, registry.DigestOf(b), b); err != nil {
			return fmt.Errorf("push the signature of %s: %w", manifest.Short(), err)
		}
	}
	if err := s.backend.PutManifest(ctx, repository, cosignTag(manifest), registry.DigestOf(raw), MediaTypeManifest, raw); err != nil {
		return fmt.Errorf("push the signature of %s: %w", manifest.Short(), err)
	}
	return nil
}

// NewPlugin makes the artifact of a third-party plugin, as every publisher makes it.
func NewPlugin(module []byte, name, version string) (*Artifact, error) {
	return New(KindPlugin, module, map[string]string{"org.opencontainers.image.title": name, "org.opencontainers.image.version": version})
}
