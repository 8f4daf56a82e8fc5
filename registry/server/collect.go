package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// Enumerator is an Index that can list what it knows; collection needs it.
type Enumerator interface {
	// EachManifest calls fn for every manifest of every repository until fn fails.
	// What is linked meanwhile may or may not be among them.
	EachManifest(ctx context.Context, fn func(repository string, d registry.Digest) error) error
	// Repositories lists the repositories that have blobs.
	Repositories(ctx context.Context) ([]string, error)
}

// CollectOptions say what stays.
type CollectOptions struct {
	// Needed are manifests that stay, whatever their tags.
	Needed map[registry.Digest]bool
	// Before: what was written, or pushed again, after this time stays, but for releases
	// that have their tag: a newer one took their place.
	Before time.Time
	// Releases is how many releases of each group stay, the newest, however young the others
	// are. At least 1.
	Releases int
}

// Collected is what a collection did.
type Collected struct {
	Manifests, Blobs int
	Bytes            int64
	Kept             int // contents that stay
}

// Collect removes manifests without a tag that are not needed, releases beyond
// the newest, and contents that no manifest names, if they are old enough. It may
// run while everything else goes on, but for what [Hold] holds: then it fails with
// [problem.Unavailable].
func (s *Store) Collect(ctx context.Context, o CollectOptions) (_ Collected, err error) {
	done, err := s.collecting()
	if err != nil {
		return Collected{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return s.collect(ctx, o)
}

func (s *Store) collect(ctx context.Context, o CollectOptions) (Collected, error) {
	var out Collected
	index, ok := s.index.(Enumerator)
	if !ok {
		return out, errors.New("collect: the index of this registry cannot be listed")
	}
	type entry struct {
		repository string
		digest     registry.Digest
	}
	var all []entry
	tagged := map[string]map[registry.Digest]bool{}
	// Releases beyond the newest ones, and what they are made of.
	superseded, past := map[registry.Digest]bool{}, map[registry.Digest]bool{}
	err := index.EachManifest(ctx, func(repository string, d registry.Digest) error {
		all = append(all, entry{repository, d})
		return nil
	})
	if err != nil {
		return out, err
	}
	for _, e := range all {
		if tagged[e.repository] == nil {
			if tagged[e.repository], err = s.keptTags(ctx, e.repository, o.Releases, superseded); err != nil {
				return out, err
			}
		}
	}
	marked := map[registry.Digest]bool{}
	for _, e := range all {
		b, err := s.content.Fetch(ctx, e.digest, MaxManifestBytes)
		if err != nil && !errors.Is(err, registry.ErrNotFound) {
			return out, err
		}
		mediaType, merr := s.index.MediaType(ctx, e.repository, e.digest)
		if errors.Is(merr, registry.ErrNotFound) {
			continue // removed meanwhile
		}
		if merr != nil {
			return out, merr
		}
		var m *anyManifest
		if err == nil {
			m, _ = readManifest(b, mediaType) // one that cannot be read names nothing
		}
		referred := m != nil && m.Subject != nil // signatures and the like stay with what they are about
		stays := o.Needed[e.digest] || tagged[e.repository][e.digest] || referred
		if !stays && !superseded[e.digest] {
			old, err := s.content.OlderThan(ctx, e.digest, o.Before)
			if err != nil {
				return out, err
			}
			stays = !old
		}
		if !stays {
			desc := Descriptor{Digest: e.digest, MediaType: mediaType}
			if err := s.index.UnlinkManifest(ctx, e.repository, desc); err != nil {
				return out, err
			}
			out.Manifests++
			if superseded[e.digest] && m != nil {
				past[e.digest] = true
				for _, r := range m.Layers {
					past[registry.Digest(r.Digest)] = true
				}
			}
			continue
		}
		marked[e.digest] = true
		if m == nil {
			continue
		}
		for _, r := range append(append(append([]reference{}, m.Layers...), m.Manifests...), m.optional()...) {
			marked[registry.Digest(r.Digest)] = true
		}
	}
	repositories, err := index.Repositories(ctx)
	if err != nil {
		return out, err
	}
	err = s.content.Walk(ctx, func(d registry.Digest, size int64, _ time.Time) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if marked[d] {
			out.Kept++
			return nil
		}
		before := o.Before
		if past[d] {
			before = time.Now() // each release is content of its own: its number is in it
		}
		gone, err := s.content.DeleteOld(ctx, d, before)
		if err != nil {
			return err
		}
		if !gone {
			out.Kept++
			return nil
		}
		out.Blobs++
		out.Bytes += size
		for _, r := range repositories {
			if err := s.index.UnlinkBlob(ctx, r, d); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// keptTags are the manifests whose tags keep them. In a repository of releases
// that is "latest" and the newest ones, and the others are added to superseded;
// elsewhere every tag counts.
func (s *Store) keptTags(ctx context.Context, repository string, releases int, superseded map[registry.Digest]bool) (map[registry.Digest]bool, error) {
	tags, err := s.index.Tags(ctx, repository, "", -1)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return nil, err
	}
	var past []string
	if strings.HasPrefix(repository, "releases/") {
		slices.SortFunc(tags, func(a, b string) int {
			ea, ra := position(a)
			eb, rb := position(b)
			return -registry.Compare(ea, ra, eb, rb)
		})
		kept := []string{}
		for _, t := range tags {
			if e, _ := position(t); e == 0 || len(kept) < max(releases, 1) {
				kept = append(kept, t)
			} else {
				past = append(past, t)
			}
		}
		tags = kept
	}
	out := make(map[registry.Digest]bool, len(tags))
	if err := s.tagged(ctx, repository, past, superseded); err != nil {
		return nil, err
	}
	return out, s.tagged(ctx, repository, tags, out)
}

// tagged adds to a set what tags point at.
func (s *Store) tagged(ctx context.Context, repository string, tags []string, to map[registry.Digest]bool) error {
	for _, t := range tags {
		d, err := s.index.Tag(ctx, repository, t)
		if errors.Is(err, registry.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		to[d] = true
	}
	return nil
}

// position reads a release's tag, <epoch>.<revision>; 0, 0 for another.
func position(tag string) (epoch, revision uint64) {
	e, r, ok := strings.Cut(tag, ".")
	epoch, err1 := strconv.ParseUint(e, 10, 64)
	revision, err2 := strconv.ParseUint(r, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0
	}
	return epoch, revision
}

// OlderThan implements [ContentKeeper].
func (b *Blobs) OlderThan(_ context.Context, d registry.Digest, t time.Time) (bool, error) {
	info, err := b.root.Stat(d.Hex())
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", d, err)
	}
	return info.ModTime().Before(t), nil
}

// DeleteOld implements [ContentKeeper].
func (b *Blobs) DeleteOld(ctx context.Context, d registry.Digest, t time.Time) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, err := b.OlderThan(ctx, d, t); err != nil || !old {
		return false, err
	}
	return true, b.Delete(d)
}

// touch makes a content young that is pushed again and there already.
func (b *Blobs) touch(d registry.Digest) error {
	now := time.Now()
	if err := b.root.Chtimes(d.Hex(), now, now); err != nil {
		return fmt.Errorf("keep %s: %w", d, err)
	}
	return nil
}

// Keep implements [ContentKeeper].
func (b *Blobs) Keep(_ context.Context, d registry.Digest) (bool, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	err := b.touch(d)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// EachManifest implements [Enumerator].
func (f *Files) EachManifest(ctx context.Context, fn func(string, registry.Digest) error) error {
	return f.walk(ctx, dirManifests, func(repository, name string) error {
		d, err := registry.ParseDigest("sha256:" + name)
		if err != nil {
			return nil //nolint:nilerr // a temporary file
		}
		return fn(repository, d)
	})
}

// Repositories implements [Enumerator].
func (f *Files) Repositories(ctx context.Context) ([]string, error) {
	var out []string
	err := f.walk(ctx, dirBlobs, func(repository, _ string) error {
		if len(out) == 0 || out[len(out)-1] != repository {
			out = append(out, repository)
		}
		return nil
	})
	return out, err
}

// walk calls fn for each file in the directories of a kind.
func (f *Files) walk(ctx context.Context, kind string, fn func(repository, name string) error) error {
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
			return fn(path.Dir(dir), path.Base(at))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the index: %w", err)
	}
	return nil
}
