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
