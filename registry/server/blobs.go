package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// staleAfter is how old a temporary file must be before it counts as left over
// by a crash: no upload of a blob that fits the limits takes an hour.
const staleAfter = time.Hour

// putParallel is how many files of one batch are written and synced at a time;
// disks group concurrent syncs, and 8 is where that stops helping.
const putParallel = 8

// Blobs is a directory of content named by its SHA-256: blobs/sha256/<hex>, as
// in the OCI image layout. Content is never changed once it has its name.
type Blobs struct {
	sys  atomicfile.System
	dir  string   // …/blobs/sha256
	root *os.Root // dir: reads cannot leave it, whatever a digest holds
	// mu is held for reading while a content that is there is made young, and for
	// writing while an old one is removed.
	mu sync.RWMutex
}

// OpenBlobs opens or makes the content directory below root and removes
// temporary files a crash left behind. sys nil means the operating system.
func OpenBlobs(root string, sys atomicfile.System) (*Blobs, error) {
	if sys == nil {
		sys = atomicfile.OS
	}
	b := &Blobs{sys: sys, dir: filepath.Join(root, "blobs", "sha256")}
	if err := atomicfile.MkdirAll(sys, b.dir, 0o700); err != nil {
		return nil, err
	}
	if err := removeStale(sys, b.dir); err != nil {
		return nil, err
	}
	var err error
	if b.root, err = os.OpenRoot(b.dir); err != nil {
		return nil, fmt.Errorf("open the contents: %w", err)
	}
	return b, nil
}

func removeStale(sys atomicfile.System, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read directory %s: %w", dir, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = sys.Remove(filepath.Join(dir, e.Name())) // what stays costs space only
		}
	}
	return nil
}

func (b *Blobs) path(d registry.Digest) string { return filepath.Join(b.dir, d.Hex()) }

// Fetch implements [ContentReader].
func (b *Blobs) Fetch(_ context.Context, d registry.Digest, limit int64) ([]byte, error) {
	if !d.Valid() {
		return nil, registry.ErrDigest
	}
	f, err := b.root.Open(d.Hex())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", d, registry.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d, err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d, err)
	}
	if info.Size() > limit {
		return nil, problem.New(problem.TooLarge, "the content %s has %d bytes, the limit is %d", d.Short(), info.Size(), limit)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", d, err)
	}
	return data, nil
}

// Blob is content and its digest.
type Blob struct {
	Digest registry.Digest
	Data   []byte
}

// Put stores blobs durably, together: the directory is synced once. A blob that
// is there already is compared, and replaced when what is stored differs, so a
// put heals. It refuses a blob that does not have its digest with
// [registry.ErrCorrupt] before anything is written. It keeps no data.
func (b *Blobs) Put(ctx context.Context, blobs ...Blob) error {
	for _, x := range blobs {
		if !x.Digest.Matches(x.Data) {
			return fmt.Errorf("put %.80s: %w", x.Digest, registry.ErrCorrupt)
		}
	}
	pending := make([]*atomicfile.Pending, len(blobs))
	defer func() {
		for _, p := range pending {
			if p != nil {
				p.Discard()
			}
		}
	}()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(putParallel)
	for i, x := range blobs {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if again, err := b.again(x); again || err != nil {
				return err
			}
			p, err := atomicfile.Create(b.sys, b.path(x.Digest), 0o444)
			if err != nil {
				return err
			}
			pending[i] = p
			if _, err := p.Write(x.Data); err != nil {
				return fmt.Errorf("write %s: %w", x.Digest, err)
			}
			return p.Rename()
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("put content: %w", err)
	}
	// Also when every blob was there: another goroutine may have renamed one and
	// not yet synced, and this call promises durability too.
	if err := b.sys.SyncDir(b.dir); err != nil {
		return fmt.Errorf("sync %s: %w", b.dir, err)
	}
	return nil
}

// PutReader is Put for one blob that is read from r to its end: what does not
// have the digest is dropped with [registry.ErrCorrupt].
func (b *Blobs) PutReader(ctx context.Context, d registry.Digest, r io.Reader) error {
	if !d.Valid() {
		return registry.ErrDigest
	}
	p, err := atomicfile.Create(b.sys, b.path(d), 0o444)
	if err != nil {
		return err
	}
	defer p.Discard()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(p, h), io.LimitReader(r, MaxBlobBytes+1))
	if err != nil {
		return fmt.Errorf("put %s: %w", d, err)
	}
	if n > MaxBlobBytes {
		return problem.New(problem.TooLarge, "the blob has more than %d bytes", MaxBlobBytes)
	}
	if registry.DigestOfSum(h.Sum(nil)) != d {
		return fmt.Errorf("put %s (%d bytes received): %w", d, n, registry.ErrCorrupt)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.Commit()
}

// again reports whether a content is stored already, and keeps it from being
// collected.
func (b *Blobs) again(x Blob) (bool, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.same(x) {
		return false, nil
	}
	return true, b.touch(x.Digest)
}

func (b *Blobs) same(x Blob) bool {
	info, err := b.root.Stat(x.Digest.Hex())
	if err != nil || info.Size() != int64(len(x.Data)) {
		return false
	}
	data, err := b.root.ReadFile(x.Digest.Hex())
	return err == nil && bytes.Equal(data, x.Data)
}

// Size implements [ContentReader].
func (b *Blobs) Size(_ context.Context, d registry.Digest) (int64, error) {
	if !d.Valid() {
		return 0, registry.ErrDigest
	}
	info, err := b.root.Stat(d.Hex())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: %w", d, registry.ErrNotFound)
	}
	if err != nil {
		return 0, fmt.Errorf("look for %s: %w", d, err)
	}
	return info.Size(), nil
}

// Verify implements [ContentReader].
func (b *Blobs) Verify(ctx context.Context, d registry.Digest) error {
	f, err := b.Open(ctx, d)
	if err != nil {
		return err
	}
	return f.Close()
}

// Open implements [ContentReader].
func (b *Blobs) Open(_ context.Context, d registry.Digest) (io.ReadSeekCloser, error) {
	if !d.Valid() {
		return nil, registry.ErrDigest
	}
	f, err := b.root.Open(d.Hex())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", d, registry.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d, err)
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err == nil && registry.DigestOfSum(h.Sum(nil)) != d {
		err = registry.ErrCorrupt
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, fmt.Errorf("read %s: %w", d, err)
	}
	return f, nil
}

// Delete removes the content of d durably; content that is not there is no error.
func (b *Blobs) Delete(d registry.Digest) error {
	if !d.Valid() {
		return registry.ErrDigest
	}
	return atomicfile.Remove(b.sys, b.path(d))
}

// Walk implements [ContentKeeper].
func (b *Blobs) Walk(_ context.Context, fn func(d registry.Digest, size int64, modified time.Time) error) error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return fmt.Errorf("read directory %s: %w", b.dir, err)
	}
	for _, e := range entries {
		d, err := registry.ParseDigest("sha256:" + e.Name())
		if err != nil {
			continue // a temporary file
		}
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		if err := fn(d, info.Size(), info.ModTime()); err != nil {
			return err
		}
	}
	return nil
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

// DeleteOld implements [ContentKeeper]: the directory is synced once.
func (b *Blobs) DeleteOld(ctx context.Context, t time.Time, all ...registry.Digest) ([]registry.Digest, error) {
	for _, d := range all {
		if !d.Valid() {
			return nil, registry.ErrDigest
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var gone []registry.Digest
	var names []string
	for _, d := range all {
		old, err := b.OlderThan(ctx, d, t)
		if err != nil {
			return nil, err
		}
		if old {
			gone, names = append(gone, d), append(names, d.Hex())
		}
	}
	if err := atomicfile.RemoveIn(b.sys, b.dir, names...); err != nil {
		return nil, err
	}
	return gone, nil
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
