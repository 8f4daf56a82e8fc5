package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/registry"
)

var _ Enumerator = (*Files)(nil)

// EachManifest implements [Enumerator].
func (f *Files) EachManifest(ctx context.Context, fn func(string, registry.Digest) error) error {
	return f.walk(ctx, dirManifests, fn)
}

// EachBlob implements [Enumerator].
func (f *Files) EachBlob(ctx context.Context, fn func(string, registry.Digest) error) error {
	return f.walk(ctx, dirBlobs, fn)
}

// Unlink implements [Enumerator]: each directory is synced once.
func (f *Files) Unlink(_ context.Context, repository string, facts Facts) error {
	if err := f.removeIn(f.path(repository, dirTags), facts.Tags...); err != nil {
		return err
	}
	var manifests, blobs []string
	for _, m := range facts.Manifests {
		if m.Subject != "" {
			if err := f.removeIn(f.path(repository, dirReferrers, m.Subject.Hex()), m.Digest.Hex()); err != nil {
				return err
			}
		}
		manifests = append(manifests, m.Digest.Hex())
	}
	for _, d := range facts.Blobs {
		blobs = append(blobs, d.Hex())
	}
	if err := f.removeIn(f.path(repository, dirManifests), manifests...); err != nil {
		return err
	}
	return f.removeIn(f.path(repository, dirBlobs), blobs...)
}

func (f *Files) removeIn(dir string, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	if has, err := f.exists(dir); err != nil {
		return fmt.Errorf("look for %s: %w", dir, err)
	} else if !has {
		return nil
	}
	return atomicfile.RemoveIn(f.sys, filepath.Join(f.dir, dir), names...)
}

// walk calls fn for each digest in the directories of a kind.
func (f *Files) walk(ctx context.Context, kind string, fn func(repository string, d registry.Digest) error) error {
	err := fs.WalkDir(f.root.FS(), ".", func(at string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case e.IsDir():
			if base := path.Base(at); strings.HasPrefix(base, "_") && base != kind {
				return fs.SkipDir
			}
			return nil
		}
		if dir := path.Dir(at); path.Base(dir) == kind {
			d, err := registry.ParseDigest("sha256:" + path.Base(at))
			if err != nil {
				return nil //nolint:nilerr // a temporary file
			}
			return fn(path.Dir(dir), d)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the index: %w", err)
	}
	return nil
}
