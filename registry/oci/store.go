package oci

import (
	"context"
	"fmt"
	"regexp"

	"github.com/sluicegate/sluice/registry"
)

// Backend is a registry as this package needs it. What it returns is not
// believed. Every method may be called from many goroutines; a Put that returned
// nil has to survive a crash. Missing things give an error with [registry.ErrNotFound].
type Backend interface {
	// FetchBlob returns the bytes stored for d, at most limit, the caller owns them.
	FetchBlob(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error)
	// FetchManifest is FetchBlob for manifests.
	FetchManifest(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error)
	// PutBlob stores b, whose digest is d. It does not keep b.
	PutBlob(ctx context.Context, repository string, d registry.Digest, b []byte) error
	// PutManifest stores an OCI manifest after the blobs it names, and the tag for
	// it unless tag is empty. It does not keep b.
	PutManifest(ctx context.Context, repository, tag string, d registry.Digest, mediaType string, b []byte) error
	// Referrers lists the manifests that refer to subject, the first 64 at least; none,
	// or an error with [registry.ErrNotFound], when there is nothing.
	Referrers(ctx context.Context, repository string, subject registry.Digest) ([]registry.Digest, error)
	// ResolveTag returns what a tag points at.
	ResolveTag(ctx context.Context, repository, tag string) (registry.Digest, error)
}

// Store pushes and pulls artifacts.
type Store struct {
	backend Backend
	spare   Backend // nil: none
	healed  func(repository string, d registry.Digest, err error)
}

// NewStore makes a Store over a registry.
func NewStore(b Backend) *Store { return &Store{backend: b} }

// OCI Distribution Specification 1.1 "Pulling manifests"
var tagPattern = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)

// ValidTag reports whether s may be a tag.
func ValidTag(s string) bool { return tagPattern.MatchString(s) }

// Push stores an artifact in a repository, layer first and tag last, so that
// whoever sees the tag or the manifest finds everything it names. tag may be
// empty. When it returns nil, all of it is durable.
func (s *Store) Push(ctx context.Context, repository, tag string, a *Artifact) error {
	if !registry.ValidRepository(repository) {
		return fmt.Errorf("push: %.80q is not a repository name", repository)
	}
	if tag != "" && !ValidTag(tag) {
		return fmt.Errorf("push to %s: %.80q is not a tag", repository, tag)
	}
	if err := s.backend.PutBlob(ctx, repository, registry.DigestOf(a.config), a.config); err != nil {
		return fmt.Errorf("push the configuration of %s: %w", repository, err)
	}
	if err := s.backend.PutBlob(ctx, repository, a.layerDigest, a.layer); err != nil {
		return fmt.Errorf("push %s to %s: %w", a.layerDigest.Short(), repository, err)
	}
	if err := s.backend.PutManifest(ctx, repository, tag, a.manifestDigest, MediaTypeManifest, a.manifest); err != nil {
		return fmt.Errorf("push manifest %s to %s: %w", a.manifestDigest.Short(), repository, err)
	}
	return nil
}

// Tag points another tag at an artifact that was pushed to the repository. When it returns
// nil, the tag is durable.
func (s *Store) Tag(ctx context.Context, repository, tag string, a *Artifact) error {
	if !registry.ValidRepository(repository) || !ValidTag(tag) {
		return fmt.Errorf("tag %.80s:%.80s: not a reference", repository, tag)
	}
	if err := s.backend.PutManifest(ctx, repository, tag, a.manifestDigest, MediaTypeManifest, a.manifest); err != nil {
		return fmt.Errorf("tag manifest %s of %s: %w", a.manifestDigest.Short(), repository, err)
	}
	return nil
}

// Pull returns the artifact whose OCI manifest has the digest, after checking
// that it is of the kind and that manifest and layer have their digests. Errors:
// [registry.ErrNotFound], [registry.ErrCorrupt], *problem.Error of kind invalid_plugin for a
// manifest that is not ours, or what the backend said.
func (s *Store) Pull(ctx context.Context, repository string, d registry.Digest, want Kind) (*Artifact, error) {
	a, err := pull(ctx, s.backend, repository, d, want)
	if err == nil || s.spare == nil || ctx.Err() != nil {
		return a, err
	}
	return s.heal(ctx, repository, d, want, err)
}

func pull(ctx context.Context, from fetcher, repository string, d registry.Digest, want Kind) (*Artifact, error) {
	if !registry.ValidRepository(repository) {
		return nil, fmt.Errorf("pull: %.80q is not a repository name", repository)
	}
	if !d.Valid() {
		return nil, fmt.Errorf("pull from %s: %w", repository, registry.ErrDigest)
	}
	at := repository + "@" + string(d)
	manifest, err := from.FetchManifest(ctx, repository, d, MaxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("pull %s: %w", at, err)
	}
	if !d.Matches(manifest) {
		return nil, fmt.Errorf("pull manifest %s (%d bytes received): %w", at, len(manifest), registry.ErrCorrupt)
	}
	layer, config, annotations, err := parseManifest(manifest, want)
	if err != nil {
		return nil, fmt.Errorf("pull %s: %w", at, err)
	}
	a := &Artifact{
		kind: want, manifest: manifest, manifestDigest: d,
		layerDigest: registry.Digest(layer.Digest), annotations: annotations,
	}
	a.layer, err = from.FetchBlob(ctx, repository, a.layerDigest, layer.Size)
	if err != nil {
		return nil, fmt.Errorf("pull layer %s of %s: %w", a.layerDigest.Short(), at, err)
	}
	if int64(len(a.layer)) != layer.Size || !a.layerDigest.Matches(a.layer) {
		return nil, fmt.Errorf("pull layer %s of %s (%d of %d bytes received): %w",
			a.layerDigest.Short(), at, len(a.layer), layer.Size, registry.ErrCorrupt)
	}
	// The configuration decides nothing. Ours follows from the layer and need not
	// be fetched; somebody else's is, so that the artifact can be pushed on whole.
	if c := configFor(config.MediaType, a.layerDigest); registry.DigestOf(c) == registry.Digest(config.Digest) {
		a.config = c
		return a, nil
	}
	a.config, err = from.FetchBlob(ctx, repository, registry.Digest(config.Digest), config.Size)
	if err != nil {
		return nil, fmt.Errorf("pull the configuration of %s: %w", at, err)
	}
	if !registry.Digest(config.Digest).Matches(a.config) {
		return nil, fmt.Errorf("pull the configuration of %s: %w", at, registry.ErrCorrupt)
	}
	return a, nil
}

// Resolve returns the manifest digest a tag points at, or an error with [registry.ErrNotFound].
func (s *Store) Resolve(ctx context.Context, repository, tag string) (registry.Digest, error) {
	if !registry.ValidRepository(repository) || !ValidTag(tag) {
		return "", fmt.Errorf("resolve %.80s:%.80s: not a reference", repository, tag)
	}
	d, err := s.backend.ResolveTag(ctx, repository, tag)
	if err != nil {
		return "", fmt.Errorf("resolve %s:%s: %w", repository, tag, err)
	}
	return d, nil
}
