package oci

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// TagLatest is the tag that points at the newest release of a group.
const TagLatest = "latest"

// DefaultPoll is how often a Source looks at the tag when nobody wakes it: the
// safety net under a lost wake-up, one small read.
const DefaultPoll = 2 * time.Second

// ReleaseRepository is the repository of the releases of a group.
func ReleaseRepository(group string) string { return "releases/" + group }

// Source watches the releases of one group in a registry and fetches what they
// name. It checks hashes; signatures are the follower's business. It may be used
// by many goroutines.
type Source struct {
	store      *Store
	repository string
	poll       time.Duration

	mu       sync.Mutex
	changed  chan struct{} // closed by Wake and replaced
	manifest registry.Digest
	envelope registry.Digest // layer of manifest
}

// NewSource watches the group's releases in a store. poll 0 means [DefaultPoll].
func NewSource(store *Store, group string, poll time.Duration) *Source {
	if poll <= 0 {
		poll = DefaultPoll
	}
	return &Source{store: store, repository: ReleaseRepository(group), poll: poll, changed: make(chan struct{})}
}

// Wake makes every waiting Release look at once. The publisher calls it.
func (s *Source) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Release returns the envelope of the newest release as soon as its digest is
// not known. It waits until ctx ends, then returns [registry.ErrUnchanged].
// Errors of the registry are returned at once.
func (s *Source) Release(ctx context.Context, known registry.Digest) ([]byte, error) {
	tick := time.NewTicker(s.poll)
	defer tick.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		envelope, err := s.newest(ctx, known)
		if !errors.Is(err, registry.ErrUnchanged) {
			return envelope, err
		}
		select {
		case <-ctx.Done():
			return nil, registry.ErrUnchanged
		case <-changed:
		case <-tick.C:
		}
	}
}

func (s *Source) newest(ctx context.Context, known registry.Digest) ([]byte, error) {
	d, err := s.store.Resolve(ctx, s.repository, TagLatest)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	same := known != "" && d == s.manifest && known == s.envelope
	s.mu.Unlock()
	if same {
		return nil, registry.ErrUnchanged
	}
	a, err := s.store.Pull(ctx, s.repository, d, KindRelease)
	if err != nil {
		return nil, fmt.Errorf("read the newest release: %w", err)
	}
	s.mu.Lock()
	s.manifest, s.envelope = d, a.layerDigest
	s.mu.Unlock()
	if a.layerDigest == known {
		return nil, registry.ErrUnchanged
	}
	return a.layer, nil
}

// Artifact fetches and verifies an artifact; see [Store.Pull].
func (s *Source) Artifact(ctx context.Context, repository string, d registry.Digest, kind Kind) (*Artifact, error) {
	return s.store.Pull(ctx, repository, d, kind)
}
