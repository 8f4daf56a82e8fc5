package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

const (
	// MaxBlobBytes is the size of one blob. The largest we make is a module of 96 MiB.
	MaxBlobBytes = 128 << 20
	// MaxManifestBytes of one manifest: what a registry must accept at least (OCI
	// Distribution Specification 1.1, "Pushing manifests").
	MaxManifestBytes = 4 << 20
)

// Options configure a Store.
type Options struct {
	Dir   string // root of the store. Required; made with mode 0700 when missing
	Index Index  // Default: files below Dir
	// Content keeps the blobs. Default: a directory below Dir.
	Content Content
	System  atomicfile.System // Default: the operating system's file system
	// Free is how many bytes are free on the disk of a directory, when that is known: what
	// is pushed leaves some to the node. Default: nobody looks.
	Free func(dir string) (free int64, known bool)
}

// Store is a registry over content and an index. It is an oci.Backend.
type Store struct {
	dir     string
	content Content
	index   Index
	uploads *uploads

	// links is held for reading while something is linked whose content was just made young,
	// and for writing while a collection makes sure that a content is old or gone and
	// unlinks it.
	links sync.RWMutex
	known map[registry.Digest]*linked // manifests that a collection has read; of the one that runs
}

// Open opens or makes a store.
func Open(opts Options) (*Store, error) {
	if opts.Dir == "" {
		return nil, errors.New("open the registry: no directory is given")
	}
	sys := opts.System
	if sys == nil {
		sys = atomicfile.OS
	}
	if err := atomicfile.MkdirAll(sys, opts.Dir, 0o700); err != nil {
		return nil, err
	}
	s := &Store{dir: opts.Dir, content: opts.Content, index: opts.Index}
	var err error
	if s.content == nil {
		if s.content, err = OpenBlobs(opts.Dir, sys); err != nil {
			return nil, err
		}
	}
	if s.index == nil {
		if s.index, err = OpenFiles(opts.Dir, sys); err != nil {
			return nil, err
		}
	}
	if s.uploads, err = openUploads(opts.Dir, sys, s.content, opts.Free); err != nil {
		return nil, err
	}
	// The marker of an OCI image layout, for people and tools that look inside.
	marker := filepath.Join(opts.Dir, "oci-layout")
	if _, err := os.Stat(marker); err != nil {
		if err := atomicfile.WriteOn(sys, marker, []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o600); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Content is the content of the store.
func (s *Store) Content() Content { return s.content }

// Index is the index of the store.
func (s *Store) Index() Index { return s.index }

// FetchBlob returns what is stored for d, unchecked and whatever repository has
// it: who asks in this process names exact content. Remote callers go through
// the handler, which asks the index.
func (s *Store) FetchBlob(ctx context.Context, _ string, d registry.Digest, limit int64) ([]byte, error) {
	return s.content.Fetch(ctx, d, limit)
}

// FetchManifest is FetchBlob: manifests are content too.
func (s *Store) FetchManifest(ctx context.Context, _ string, d registry.Digest, limit int64) ([]byte, error) {
	return s.content.Fetch(ctx, d, limit)
}

// Holds implements oci.Holder: whether remote callers find the manifest and the blobs in the repository.
func (s *Store) Holds(ctx context.Context, repository string, manifest registry.Digest, blobs ...registry.Digest) (bool, error) {
	mediaType, err := s.index.MediaType(ctx, repository, manifest)
	if errors.Is(err, registry.ErrNotFound) || err == nil && !manifestType(mediaType) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, d := range blobs {
		if has, err := s.index.HasBlob(ctx, repository, d); err != nil || !has {
			return false, err
		}
	}
	return true, nil
}

// PutBlob stores content and then links it into the repository.
func (s *Store) PutBlob(ctx context.Context, repository string, d registry.Digest, b []byte) error {
	if !registry.ValidRepository(repository) {
		return fmt.Errorf("put a blob: %.80q is not a repository name", repository)
	}
	if len(b) > MaxBlobBytes {
		return problem.New(problem.TooLarge, "the blob has %d bytes, the limit is %d", len(b), MaxBlobBytes)
	}
	if err := s.content.Put(ctx, Blob{Digest: d, Data: b}); err != nil {
		return err
	}
	return s.linkBlob(ctx, repository, d)
}

// linkBlob links a blob whose content was stored before.
func (s *Store) linkBlob(ctx context.Context, repository string, d registry.Digest) error {
	s.links.RLock()
	defer s.links.RUnlock()
	return s.index.LinkBlob(ctx, repository, d)
}

// PutManifest stores a manifest, links it, and sets its tag last. It refuses a
// manifest that is not a JSON object of the OCI form, and one that names blobs or
// manifests the repository does not have, with a *problem.Error.
func (s *Store) PutManifest(ctx context.Context, repository, tag string, d registry.Digest, mediaType string, b []byte) error {
	_, err := s.putManifest(ctx, repository, tag, d, mediaType, b)
	return err
}

func (s *Store) putManifest(ctx context.Context, repository, tag string, d registry.Digest, mediaType string, b []byte) (Descriptor, error) {
	if !registry.ValidRepository(repository) {
		return Descriptor{}, fmt.Errorf("put a manifest: %.80q is not a repository name", repository)
	}
	if len(b) > MaxManifestBytes {
		return Descriptor{}, problem.New(problem.TooLarge, "the manifest has %d bytes, the limit is %d", len(b), MaxManifestBytes)
	}
	m, err := readManifest(b, mediaType)
	if err != nil {
		return Descriptor{}, err
	}
	if err := s.complete(ctx, repository, m); err != nil {
		return Descriptor{}, err
	}
	if err := s.content.Put(ctx, Blob{Digest: d, Data: b}); err != nil {
		return Descriptor{}, err
	}
	desc := m.describe(d, mediaType, int64(len(b)))
	s.links.RLock()
	defer s.links.RUnlock()
	if err := s.index.LinkManifest(ctx, repository, desc); err != nil {
		return Descriptor{}, err
	}
	if tag != "" {
		if err := s.index.SetTag(ctx, repository, tag, d); err != nil {
			return Descriptor{}, err
		}
	}
	return desc, nil
}

// Referrers lists the manifests that refer to subject.
func (s *Store) Referrers(ctx context.Context, repository string, subject registry.Digest) ([]registry.Digest, error) {
	all, err := s.index.Referrers(ctx, repository, subject)
	out := make([]registry.Digest, len(all))
	for i := range all {
		out[i] = all[i].Digest
	}
	return out, err
}

// ResolveTag returns what a tag points at.
func (s *Store) ResolveTag(ctx context.Context, repository, tag string) (registry.Digest, error) {
	return s.index.Tag(ctx, repository, tag)
}

// Media types of manifests (OCI image specification and Docker's, which tools
// still push).
const (
	typeManifest       = "application/vnd.oci.image.manifest.v1+json"
	typeIndex          = "application/vnd.oci.image.index.v1+json"
	typeDockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	typeDockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	typeEmpty          = "application/vnd.oci.empty.v1+json"
)

// anyManifest is the part of manifests and indexes that a registry looks at.
type anyManifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        *reference        `json:"config"`
	Layers        []reference       `json:"layers"`
	Manifests     []reference       `json:"manifests"`
	Subject       *reference        `json:"subject"`
	Annotations   map[string]string `json:"annotations"`
}

type reference struct {
	MediaType string   `json:"mediaType"`
	Digest    string   `json:"digest"`
	URLs      []string `json:"urls"`
}

func (m *anyManifest) isIndex() bool {
	return m.MediaType == typeIndex || m.MediaType == typeDockerList
}

// describe makes the descriptor as the referrers API shows it: artifactType
// falls back to the configuration's type (OCI Distribution 1.1, "Listing Referrers").
func (m *anyManifest) describe(d registry.Digest, mediaType string, size int64) Descriptor {
	out := Descriptor{MediaType: mediaType, Digest: d, Size: size, ArtifactType: m.ArtifactType, Annotations: m.Annotations}
	if out.ArtifactType == "" && m.Config != nil && m.Config.MediaType != typeEmpty {
		out.ArtifactType = m.Config.MediaType
	}
	if m.Subject != nil {
		out.Subject = registry.Digest(m.Subject.Digest)
	}
	return out
}

func readManifest(b []byte, mediaType string) (*anyManifest, error) {
	fail := func(format string, args ...any) (*anyManifest, error) {
		return nil, problem.New(problem.InvalidArgument, format, args...)
	}
	if !manifestType(mediaType) {
		return fail("the media type %.120q is not a manifest's", mediaType)
	}
	var m anyManifest
	if err := json.Unmarshal(b, &m); err != nil {
		return fail("the manifest cannot be read: %.200s", err.Error())
	}
	if m.SchemaVersion != 2 {
		return fail("the manifest has schema version %d, not 2", m.SchemaVersion)
	}
	if m.MediaType != "" && m.MediaType != mediaType {
		return fail("the manifest says %.120q and was sent as %q", m.MediaType, mediaType)
	}
	m.MediaType = mediaType
	if !m.isIndex() && m.Config == nil {
		return fail("the manifest has no configuration")
	}
	for _, r := range append(append(append([]reference{}, m.Layers...), m.Manifests...), m.optional()...) {
		if !registry.Digest(r.Digest).Valid() {
			return fail("the manifest names %.120q, which is not a sha256 digest", r.Digest)
		}
	}
	return &m, nil
}

func manifestType(mediaType string) bool {
	switch mediaType {
	case typeManifest, typeIndex, typeDockerManifest, typeDockerList:
		return true
	}
	return false
}

// optional returns the references that may be missing.
func (m *anyManifest) optional() []reference {
	var out []reference
	if m.Config != nil {
		out = append(out, *m.Config)
	}
	if m.Subject != nil {
		out = append(out, *m.Subject)
	}
	return out
}

// complete checks that the repository has what a manifest names. A subject may
// come later; a layer with URLs is kept elsewhere.
func (s *Store) complete(ctx context.Context, repository string, m *anyManifest) error {
	missing := func(d string) error {
		return problem.New(problem.NotFound, "the manifest names %s, which is not in %s", d, repository).
			Because(registry.ErrNotFound).Fix("push it before the manifest")
	}
	blobs := m.Layers
	if m.Config != nil {
		blobs = append([]reference{*m.Config}, blobs...)
	}
	for _, r := range blobs {
		if len(r.URLs) > 0 {
			continue
		}
		ok, err := s.index.HasBlob(ctx, repository, registry.Digest(r.Digest))
		if err != nil {
			return err
		}
		if ok {
			ok, err = s.content.Keep(ctx, registry.Digest(r.Digest))
		}
		if err != nil {
			return err
		}
		if !ok {
			return missing(r.Digest)
		}
	}
	for _, r := range m.Manifests {
		ok, err := s.keepManifest(ctx, repository, registry.Digest(r.Digest))
		if err != nil {
			return err
		}
		if !ok {
			return missing(r.Digest)
		}
	}
	return nil
}

// keepManifest makes the content of a manifest young that an index is about to name, so
// that no collection removes it, and reports whether the repository has it.
func (s *Store) keepManifest(ctx context.Context, repository string, d registry.Digest) (bool, error) {
	s.links.RLock() // a collection looks at the age and unlinks in one step
	defer s.links.RUnlock()
	if _, err := s.index.MediaType(ctx, repository, d); errors.Is(err, registry.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return s.content.Keep(ctx, d)
}
