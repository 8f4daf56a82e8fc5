package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// maxReferrers that are looked at: an artifact that many publishers signed, with other
// documents beside the signatures.
const maxReferrers = 64

// referrersTag is the tag of the index that stands in for the referrers of a manifest
// in registries without that end point (OCI Distribution Specification 1.1, "Referrers
// Tag Schema").
func referrersTag(subject registry.Digest) string {
	return strings.ReplaceAll(string(subject), ":", "-")
}

// bundleManifest is the part of a referrer that is looked at.
type bundleManifest struct {
	ArtifactType string               `json:"artifactType"`
	Config       ocispec.Descriptor   `json:"config"`
	Layers       []ocispec.Descriptor `json:"layers"`
	Subject      *ocispec.Descriptor  `json:"subject"`
}

// CosignBundles returns the Sigstore bundles that refer to a manifest; none when there
// is nothing. What they say is not checked.
func (s *Store) CosignBundles(ctx context.Context, repository string, manifest registry.Digest) ([][]byte, error) {
	found, err := s.backend.Referrers(ctx, repository, manifest)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the signatures of %s: %w", manifest.Short(), err)
	}
	var out [][]byte
	for _, d := range found[:min(len(found), maxReferrers)] {
		raw, err := s.backend.FetchManifest(ctx, repository, d, MaxManifestBytes)
		if errors.Is(err, registry.ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("pull a signature of %s: %w", manifest.Short(), err)
		}
		var m bundleManifest
		if !d.Matches(raw) || json.Unmarshal(raw, &m) != nil || m.Subject == nil || string(m.Subject.Digest) != string(manifest) || len(m.Layers) != 1 {
			continue
		}
		l := m.Layers[0]
		at := registry.Digest(l.Digest)
		if l.MediaType != sign.MediaTypeBundle || !at.Valid() || l.Size < 0 || l.Size > sign.MaxBundleBytes {
			continue
		}
		b, err := s.backend.FetchBlob(ctx, repository, at, l.Size)
		if err != nil {
			return nil, fmt.Errorf("pull a signature of %s: %w", manifest.Short(), err)
		}
		if at.Matches(b) {
			out = append(out, b)
		}
	}
	return out, nil
}

// PushBundle stores a Sigstore bundle as a referrer of a manifest, as cosign does with
// --new-bundle-format. size is that of the manifest.
func (s *Store) PushBundle(ctx context.Context, repository string, manifest registry.Digest, size int64, bundle []byte) error {
	config := []byte("{}")
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: MediaTypeManifest, ArtifactType: sign.MediaTypeBundle,
		Config:      ocispec.Descriptor{MediaType: MediaTypeEmpty, Digest: digest.Digest(registry.DigestOf(config)), Size: int64(len(config))},
		Layers:      []ocispec.Descriptor{{MediaType: sign.MediaTypeBundle, Digest: digest.Digest(registry.DigestOf(bundle)), Size: int64(len(bundle))}},
		Subject:     &ocispec.Descriptor{MediaType: MediaTypeManifest, Digest: digest.Digest(manifest), Size: size},
		Annotations: map[string]string{"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": sign.PredicateSign},
	}
	raw, err := json.Marshal(&m)
	if err != nil {
		return fmt.Errorf("make the signature of %s: %w", manifest.Short(), err)
	}
	for _, b := range [][]byte{config, bundle} {
		if err := s.backend.PutBlob(ctx, repository, registry.DigestOf(b), b); err != nil {
			return fmt.Errorf("push the signature of %s: %w", manifest.Short(), err)
		}
	}
	d := registry.DigestOf(raw)
	if err := s.backend.PutManifest(ctx, repository, "", d, MediaTypeManifest, raw); err != nil {
		return fmt.Errorf("push the signature of %s: %w", manifest.Short(), err)
	}
	found, err := s.backend.Referrers(ctx, repository, manifest)
	if err == nil {
		if slices.Contains(found, d) {
			return nil
		}
	} else if !errors.Is(err, registry.ErrNotFound) {
		return fmt.Errorf("look for the signatures of %s: %w", manifest.Short(), err)
	}
	// The registry does not list it, so the index that clients look at instead does.
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, have := range append(found, d) {
		b := raw
		if have != d {
			if b, err = s.backend.FetchManifest(ctx, repository, have, MaxManifestBytes); err != nil {
				return fmt.Errorf("pull a referrer of %s: %w", manifest.Short(), err)
			}
		}
		var r bundleManifest
		if err := json.Unmarshal(b, &r); err != nil {
			return fmt.Errorf("read a referrer of %s: %w", manifest.Short(), err)
		}
		index.Manifests = append(index.Manifests, ocispec.Descriptor{MediaType: MediaTypeManifest, ArtifactType: r.ArtifactType, Digest: digest.Digest(have), Size: int64(len(b))})
	}
	if raw, err = json.Marshal(&index); err != nil {
		return fmt.Errorf("make the list of referrers of %s: %w", manifest.Short(), err)
	}
	if err := s.backend.PutManifest(ctx, repository, referrersTag(manifest), registry.DigestOf(raw), index.MediaType, raw); err != nil {
		return fmt.Errorf("list the signature of %s: %w", manifest.Short(), err)
	}
	return nil
}

// listed reads the digests that an index of referrers names.
func listed(b []byte) []registry.Digest {
	var index ocispec.Index
	if json.Unmarshal(b, &index) != nil {
		return nil
	}
	var out []registry.Digest
	for _, m := range index.Manifests[:min(len(index.Manifests), maxReferrers)] {
		if d := registry.Digest(m.Digest); d.Valid() {
			out = append(out, d)
		}
	}
	return out
}
