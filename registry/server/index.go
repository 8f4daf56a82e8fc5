package server

import (
	"context"

	"github.com/sluicegate/sluice/registry"
)

// Descriptor is what the index knows of a manifest (OCI image specification,
// "Descriptor").
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       registry.Digest   `json:"digest"`
	Size         int64             `json:"size"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	Subject      registry.Digest   `json:"-"` // what it refers to; "" nothing
}

// Index knows what content cannot say about itself: which repository has which
// blobs and manifests, tags, and which manifests refer to which. Everything it
// acknowledged survives a crash; missing things give [registry.ErrNotFound].
// Repository names and tags were checked before it is called. [OpenFiles] is the
// implementation over files; a database may be another.
type Index interface {
	BlobIndex
	ManifestIndex
	TagIndex
}

// BlobIndex records which blobs a repository has.
type BlobIndex interface {
	LinkBlob(ctx context.Context, repository string, d registry.Digest) error
	HasBlob(ctx context.Context, repository string, d registry.Digest) (bool, error)
	UnlinkBlob(ctx context.Context, repository string, d registry.Digest) error
}

// ManifestIndex records manifests and who refers to whom.
type ManifestIndex interface {
	LinkManifest(ctx context.Context, repository string, m Descriptor) error
	// MediaType returns the media type a manifest was pushed with.
	MediaType(ctx context.Context, repository string, d registry.Digest) (string, error)
	// UnlinkManifest also removes m from the referrers of m.Subject and every
	// tag that points at it.
	UnlinkManifest(ctx context.Context, repository string, m Descriptor) error
	// Referrers lists what refers to subject, sorted by digest.
	Referrers(ctx context.Context, repository string, subject registry.Digest) ([]Descriptor, error)
}

// TagIndex records tags.
type TagIndex interface {
	SetTag(ctx context.Context, repository, tag string, d registry.Digest) error
	Tag(ctx context.Context, repository, tag string) (registry.Digest, error)
	DeleteTag(ctx context.Context, repository, tag string) error
	// Tags lists tags in lexical order behind after, at most limit; limit < 0 all.
	// A repository without tags gives an empty list, an unknown one ErrNotFound.
	Tags(ctx context.Context, repository, after string, limit int) ([]string, error)
}
