package oci

import (
	"context"

	"github.com/sluicegate/sluice/registry"
)

// WithSpare is the store with another place to look for what its registry lost or
// changed. An artifact that is whole with what stands there is pushed again, and healed
// is told with the error of that push: the artifact is good in any case.
func (s *Store) WithSpare(spare Backend, healed func(repository string, d registry.Digest, err error)) *Store {
	return &Store{backend: s.backend, spare: spare, healed: healed}
}

// heal pulls an artifact that the registry does not have whole; cause says why.
func (s *Store) heal(ctx context.Context, repository string, d registry.Digest, want Kind, cause error) (*Artifact, error) {
	a, err := pull(ctx, either{s.backend, s.spare}, repository, d, want)
	if err != nil {
		return nil, cause
	}
	s.healed(repository, d, s.Push(ctx, repository, "", a))
	return a, nil
}

// Holder is a Backend that fetches content by its digest alone, whatever repository has it, and
// can say what others get who ask by the name of a repository.
type Holder interface {
	// Holds reports whether a repository has a manifest and blobs. It does not read them.
	Holds(ctx context.Context, repository string, manifest registry.Digest, blobs ...registry.Digest) (bool, error)
}

// Mend pushes an artifact that was pulled from a repository again where the registry lost what
// [Store.Pull] does not need: the repository's index, or the configuration of the artifact.
func (s *Store) Mend(ctx context.Context, repository string, a *Artifact) (mended bool, err error) {
	config := registry.DigestOf(a.config)
	b, err := s.backend.FetchBlob(ctx, repository, config, int64(len(a.config)))
	whole := err == nil && config.Matches(b)
	if h, ok := s.backend.(Holder); ok && whole {
		if whole, err = h.Holds(ctx, repository, a.manifestDigest, config, a.layerDigest); err != nil {
			return false, err
		}
	}
	if whole {
		return false, nil
	}
	return true, s.Push(ctx, repository, "", a)
}

// fetcher is the part of a Backend that an artifact is pulled with.
type fetcher interface {
	FetchBlob(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error)
	FetchManifest(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error)
}

// either fetches from the first place, and from the spare one what is not whole there.
type either struct{ first, spare fetcher }

func (e either) FetchBlob(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	b, err := e.first.FetchBlob(ctx, repository, d, limit)
	if err == nil && d.Matches(b) {
		return b, nil
	}
	return e.spare.FetchBlob(ctx, repository, d, limit)
}

func (e either) FetchManifest(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	b, err := e.first.FetchManifest(ctx, repository, d, limit)
	if err == nil && d.Matches(b) {
		return b, nil
	}
	return e.spare.FetchManifest(ctx, repository, d, limit)
}
