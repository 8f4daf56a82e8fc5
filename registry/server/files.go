package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/registry"
)

// Directories of a repository in the file index. No part of a repository name
// starts with an underscore, so they never meet a repository below this one.
const (
	dirBlobs     = "_blobs"     // <hex>: empty file
	dirManifests = "_manifests" // <hex>: media type
	dirTags      = "_tags"      // <tag>: digest
	dirReferrers = "_referrers" // <hex of subject>/<hex>: descriptor
)

// maxIndexFileBytes of one file of the index: a descriptor with its annotations.
const maxIndexFileBytes = 4 << 20

// Files is an Index over files below <root>/repositories, one small file for
// each fact, replaced atomically.
type Files struct {
	sys  atomicfile.System
	dir  string
	root *os.Root // dir: reads cannot leave it, whatever a name holds

	mu   sync.Mutex
	made map[string]bool // directories this process knows to be durable
}

var _ Index = (*Files)(nil)

// OpenFiles opens or makes the index below root. sys nil means the operating system.
func OpenFiles(root string, sys atomicfile.System) (*Files, error) {
	if sys == nil {
		sys = atomicfile.OS
	}
	f := &Files{sys: sys, dir: filepath.Join(root, "repositories"), made: make(map[string]bool)}
	if err := atomicfile.MkdirAll(sys, f.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if f.root, err = os.OpenRoot(f.dir); err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	return f, nil
}

// ensure makes a directory below f.dir and syncs every parent once a process: a
// directory that exists may have been made by a run that ended before its sync.
func (f *Files) ensure(dir string) error {
	f.mu.Lock()
	known := f.made[dir]
	f.mu.Unlock()
	if known || dir == f.dir {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := f.ensure(parent); err != nil {
		return err
	}
	if err := f.sys.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	if err := f.sys.SyncDir(parent); err != nil {
		return fmt.Errorf("sync directory %s: %w", parent, err)
	}
	f.mu.Lock()
	f.made[dir] = true
	f.mu.Unlock()
	return nil
}

// path is where a fact of a repository lies, relative to f.dir. The parts are
// digests in hex and tags, which were checked.
func (f *Files) path(repository string, parts ...string) string {
	if !registry.ValidRepository(repository) {
		panic(fmt.Sprintf("BUG: the index is asked for repository %q", repository))
	}
	return filepath.Join(append([]string{filepath.FromSlash(repository)}, parts...)...)
}

// exists tells what is not there from what cannot be looked at.
func (f *Files) exists(path string) (bool, error) {
	_, err := f.root.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (f *Files) remove(path string) error {
	return atomicfile.Remove(f.sys, filepath.Join(f.dir, path))
}

func (f *Files) write(path string, data []byte) error {
	path = filepath.Join(f.dir, path)
	put := func() error {
		if err := f.ensure(filepath.Dir(path)); err != nil {
			return err
		}
		return atomicfile.WriteOn(f.sys, path, data, 0o600)
	}
	err := put()
	if errors.Is(err, fs.ErrNotExist) { // somebody removed a directory that this process made
		f.mu.Lock()
		clear(f.made)
		f.mu.Unlock()
		err = put()
	}
	return err
}

func (f *Files) read(path, what string) ([]byte, error) {
	file, err := f.root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", what, registry.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxIndexFileBytes+1))
	if err == nil && len(data) > maxIndexFileBytes {
		err = fmt.Errorf("the index file has more than %d bytes", maxIndexFileBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return data, nil
}

// LinkBlob records that the repository has the blob.
func (f *Files) LinkBlob(_ context.Context, repository string, d registry.Digest) error {
	path := f.path(repository, dirBlobs, d.Hex())
	if has, err := f.exists(path); err != nil {
		return fmt.Errorf("look for blob %s of %s: %w", d, repository, err)
	} else if has {
		return f.sys.SyncDir(filepath.Join(f.dir, filepath.Dir(path))) // another writer may not have synced it yet
	}
	return f.write(path, nil)
}

// HasBlob reports whether the repository has the blob.
func (f *Files) HasBlob(_ context.Context, repository string, d registry.Digest) (bool, error) {
	return f.exists(f.path(repository, dirBlobs, d.Hex()))
}

// UnlinkBlob removes a blob from the repository.
func (f *Files) UnlinkBlob(_ context.Context, repository string, d registry.Digest) error {
	return f.remove(f.path(repository, dirBlobs, d.Hex()))
}

// LinkManifest records a manifest, and what it refers to before that: whoever
// sees the manifest also finds it among the referrers.
func (f *Files) LinkManifest(_ context.Context, repository string, m Descriptor) error {
	if m.Subject != "" {
		text, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("encode a descriptor: %w", err)
		}
		if err := f.write(f.path(repository, dirReferrers, m.Subject.Hex(), m.Digest.Hex()), text); err != nil {
			return err
		}
	}
	return f.write(f.path(repository, dirManifests, m.Digest.Hex()), []byte(m.MediaType))
}

// MediaType returns the media type a manifest was pushed with.
func (f *Files) MediaType(_ context.Context, repository string, d registry.Digest) (string, error) {
	text, err := f.read(f.path(repository, dirManifests, d.Hex()), repository+"@"+string(d))
	return string(text), err
}

// UnlinkManifest removes a manifest, its tags and its entry among referrers.
func (f *Files) UnlinkManifest(ctx context.Context, repository string, m Descriptor) error {
	tags, err := f.Tags(ctx, repository, "", -1)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	facts := Facts{Manifests: []Descriptor{m}}
	for _, tag := range tags {
		if d, err := f.Tag(ctx, repository, tag); err == nil && d == m.Digest {
			facts.Tags = append(facts.Tags, tag)
		}
	}
	return f.Unlink(ctx, repository, facts)
}

// Referrers lists what refers to subject, sorted by digest.
func (f *Files) Referrers(_ context.Context, repository string, subject registry.Digest) ([]Descriptor, error) {
	dir := f.path(repository, dirReferrers, subject.Hex())
	names, err := f.list(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the referrers of %s: %w", subject, err)
	}
	out := make([]Descriptor, 0, len(names))
	for _, name := range names {
		text, err := f.read(filepath.Join(dir, name), name)
		if errors.Is(err, registry.ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		var d Descriptor
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("read the descriptor %s of %s: %w", name, repository, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// SetTag points a tag at a manifest.
func (f *Files) SetTag(_ context.Context, repository, tag string, d registry.Digest) error {
	return f.write(f.path(repository, dirTags, tag), []byte(d))
}

// Tag returns what a tag points at.
func (f *Files) Tag(_ context.Context, repository, tag string) (registry.Digest, error) {
	text, err := f.read(f.path(repository, dirTags, tag), repository+":"+tag)
	if err != nil {
		return "", err
	}
	d, err := registry.ParseDigest(string(text))
	if err != nil {
		return "", fmt.Errorf("read tag %s:%s: %w: %w", repository, tag, registry.ErrCorrupt, err)
	}
	return d, nil
}

// DeleteTag removes a tag; one that is not there is [registry.ErrNotFound].
func (f *Files) DeleteTag(ctx context.Context, repository, tag string) error {
	if _, err := f.Tag(ctx, repository, tag); errors.Is(err, registry.ErrNotFound) {
		return err
	}
	return f.remove(f.path(repository, dirTags, tag))
}

// Tags lists tags in lexical order behind after.
func (f *Files) Tags(_ context.Context, repository, after string, limit int) ([]string, error) {
	names, err := f.list(f.path(repository, dirTags))
	if errors.Is(err, fs.ErrNotExist) {
		var has bool
		if has, err = f.exists(f.path(repository, dirManifests)); has {
			return []string{}, nil
		}
		if err == nil {
			return nil, fmt.Errorf("%s: %w", repository, registry.ErrNotFound)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list the tags of %s: %w", repository, err)
	}
	i, found := slices.BinarySearch(names, after)
	if found {
		i++
	}
	names = names[i:]
	if limit >= 0 && len(names) > limit {
		names = names[:limit]
	}
	return names, nil
}

// list lists a directory in lexical order without temporary files.
func (f *Files) list(dir string) ([]string, error) {
	entries, err := fs.ReadDir(f.root.FS(), filepath.ToSlash(dir))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
