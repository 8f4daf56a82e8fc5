package server

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// Content keeps bytes by their digest. [Blobs] keeps them in a directory; package
// s3 in a bucket. What a Put acknowledged is durable; missing things give
// [registry.ErrNotFound]. Every method may be called from many goroutines.
type Content interface {
	ContentReader
	ContentWriter
	ContentKeeper
}

// ContentReader reads contents.
type ContentReader interface {
	// Fetch returns what is stored under d, unchecked, at most limit bytes, else
	// problem.TooLarge. The caller owns the bytes.
	Fetch(ctx context.Context, d registry.Digest, limit int64) ([]byte, error)
	// Open opens what is stored under d once all of it was hashed: other bytes give
	// [registry.ErrCorrupt] and no reader. The caller closes it.
	Open(ctx context.Context, d registry.Digest) (io.ReadSeekCloser, error)
	// Verify hashes what is stored under d: nil, ErrNotFound or [registry.ErrCorrupt].
	Verify(ctx context.Context, d registry.Digest) error
	// Size is how many bytes are stored under d.
	Size(ctx context.Context, d registry.Digest) (int64, error)
}

// ContentWriter takes contents in.
type ContentWriter interface {
	// Put stores blobs durably and makes them young; one that is damaged heals. What
	// does not have its digest is refused with [registry.ErrCorrupt] before anything
	// is stored. It keeps no data.
	Put(ctx context.Context, blobs ...Blob) error
	// PutReader is Put for one blob that is read to its end, of which at most
	// [MaxBlobBytes] are taken.
	PutReader(ctx context.Context, d registry.Digest, r io.Reader) error
}

// ContentKeeper decides between what stays and what is collected.
type ContentKeeper interface {
	// Keep makes a content young that something is about to name, and reports
	// whether it is there.
	Keep(ctx context.Context, d registry.Digest) (bool, error)
	// OlderThan reports whether a content was last made young before a time; one that
	// is missing is.
	OlderThan(ctx context.Context, d registry.Digest, t time.Time) (bool, error)
	// DeleteOld removes those contents that are older than a time, unless they are made
	// young at this moment, and returns them and those that are missing. When it fails,
	// some may be gone.
	DeleteOld(ctx context.Context, t time.Time, all ...registry.Digest) (gone []registry.Digest, err error)
	// Walk calls fn for everything that is stored, in no order, until fn fails.
	Walk(ctx context.Context, fn func(d registry.Digest, size int64, modified time.Time) error) error
}

// read is Fetch and a check of the hash; other bytes are dropped and give
// [registry.ErrCorrupt].
func read(ctx context.Context, c ContentReader, d registry.Digest, limit int64) ([]byte, error) {
	data, err := c.Fetch(ctx, d, limit)
	if err != nil {
		return nil, err
	}
	if !d.Matches(data) {
		return nil, fmt.Errorf("%s (%d bytes stored): %w", d, len(data), registry.ErrCorrupt)
	}
	return data, nil
}
