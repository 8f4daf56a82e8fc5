package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// Files of the cache directory.
const (
	dirContent = "content" // packs

	fileCurrent  = "release.dsse.json"  // the live release
	filePrevious = "previous.dsse.json" // the one before it
	fileRatchet  = "ratchet.json"       // positions and keys; no secret
)

const maxRatchetBytes = 1 << 20 // 64 keys and their marks have under 32 KiB

// memory is the content of fileRatchet. It is this node's own note and believed
// as it is; who can change it can change the anchor keys as well.
type memory struct {
	sign.State

	// Signers are the keys that verified the two releases on disk: the newer one
	// may have ended the trust in the key that signed the older.
	Signers []registry.TrustedKey `json:"signers"`
}

// cache is the node's directory. It is an oci.Backend for reading.
type cache struct {
	dir   string
	sys   atomicfile.System
	packs *packs // nil when the directory cannot be used at all
	store *oci.Store
	err   error // why packs is nil

	saved []*holding // content of the release on disk
}

func openCache(dir string, sys atomicfile.System) *cache {
	if sys == nil {
		sys = atomicfile.OS
	}
	c := &cache{dir: dir, sys: sys}
	if c.err = atomicfile.MkdirAll(sys, dir, 0o700); c.err == nil {
		c.packs, c.err = openPacks(filepath.Join(dir, dirContent), sys)
	}
	c.store = oci.NewStore(c)
	return c
}

// Kept is the cache as a registry for reading: what this node serves. Nothing of it is checked.
func (f *Follower) Kept() oci.Backend { return f.cache }

// remembered reads the notes of a former run: nil without an error when there
// are none.
func (c *cache) remembered(group string) (*memory, error) {
	text, err := readFile(filepath.Join(c.dir, fileRatchet), maxRatchetBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.err
	}
	if err != nil {
		return nil, err
	}
	var m memory
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(c.dir, fileRatchet), err)
	}
	if m.Group != group {
		return nil, fmt.Errorf("the cache %s is of group %.80q, this node belongs to %q", c.dir, m.Group, group)
	}
	if _, err := sign.NewTrust(m.Trusted, registry.UseRelease); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(c.dir, fileRatchet), err)
	}
	return &m, c.err
}

func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("read %s: larger than %d bytes", path, limit)
	}
	return b, nil
}

// Load makes the persisted release live, or the one before it when that does not
// verify or is incomplete, without asking the source. It returns what is wrong
// with the cache; without any persisted release that is nil and the follower is
// not ready. Run calls it when it was not called before.
func (f *Follower) Load(ctx context.Context) error {
	f.loaded = true
	var faults []error
	for _, name := range []string{fileCurrent, filePrevious} {
		env, err := readFile(filepath.Join(f.cache.dir, name), oci.MaxEnvelopeBytes)
		if errors.Is(err, fs.ErrNotExist) && (name == filePrevious || !f.cache.has(filePrevious)) {
			continue
		}
		if err == nil {
			err = f.restore(ctx, env)
		}
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = fmt.Errorf("persisted release %s: %w", name, err)
		f.log.LogAttrs(ctx, slog.LevelWarn, "persisted release is not usable", slog.Any("error", err))
		faults = append(faults, err)
	}
	err := errors.Join(faults...)
	if err != nil {
		f.setCache(err)
	}
	return err
}

// settle opens the connectors that Load left for later, before the node follows.
// What is damaged on disk is fetched again, and written at the next save. When the
// source cannot give it, the release before is made live if it is whole.
func (f *Follower) settle(ctx context.Context) {
	if f.live == nil || f.cache.packs == nil {
		return
	}
	err := f.loader.settle(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("persisted release %d.%d: %w", f.live.Release().Epoch, f.live.Release().Revision, err)
		f.log.LogAttrs(ctx, slog.LevelWarn, "persisted release is not usable", slog.Any("error", err))
		f.setCache(err)
		if env, rerr := readFile(filepath.Join(f.cache.dir, filePrevious), oci.MaxEnvelopeBytes); rerr == nil {
			if rerr = f.restore(ctx, env); rerr == nil {
				rerr = f.loader.settle(ctx)
			}
			if rerr != nil {
				f.log.LogAttrs(ctx, slog.LevelWarn, "nor is the one before it", slog.Any("error", rerr))
			}
		}
	}
	f.cache.saved = f.loader.content()
	for d, a := range f.loader.take() {
		if f.loader.needs(d) {
			f.unsaved[d], f.dirty = a, true
		}
	}
	f.cache.packs.release()
}

// restore verifies a persisted release with the keys that verified it before and
// makes it live from the cache alone.
func (f *Follower) restore(ctx context.Context, env []byte) error {
	keys := f.ratchet.State().Trusted
	if m, err := f.cache.remembered(f.opts.Group); err == nil && m != nil {
		keys = append(keys, m.Signers...)
	}
	trust, err := sign.NewTrust(keys, registry.UseRelease)
	if err != nil {
		return err
	}
	r, err := sign.VerifyRelease(env, trust)
	if err != nil {
		return err
	}
	if r.Release().Group != f.opts.Group {
		return fmt.Errorf("the release is of group %.80q, this node belongs to %q", r.Release().Group, f.opts.Group)
	}
	next, err := f.loader.load(ctx, r.Release(), r.Digest(), false)
	if err != nil {
		return err
	}
	if err := f.apply(r, next); err != nil {
		return err
	}
	f.cache.saved, f.dirty = f.loader.content(), !f.notes
	f.setSaved(r)
	// Without notes of a former run this release is what is remembered from here
	// on; with them its position is known already and nothing changes.
	if len(f.ratchet.State().Marks) == 0 {
		_, err = f.ratchet.Accept(env)
	}
	return err
}

// persist writes the live release and what it needs: content first, so that a
// release on disk is complete, then the notes, then the release that was on disk
// as the previous one, then the release. Nothing is lost when it fails at any
// point; it is tried again at the next answer of the source.
func (f *Follower) persist() error {
	c := f.cache
	if c.packs == nil {
		fresh := openCache(c.dir, c.sys)
		if fresh.err != nil {
			return fresh.err
		}
		c.packs, c.err = fresh.packs, nil
	}
	c.packs.release()
	var contents []content
	for _, a := range f.unsaved {
		contents = append(contents, content{a.Digest(), a.Manifest()}, content{a.LayerDigest(), a.Layer()},
			content{registry.DigestOf(a.Config()), a.Config()})
	}
	if len(contents) > 0 {
		if err := c.packs.add(contents); err != nil {
			return err
		}
	}
	m := memory{State: f.ratchet.State(), Signers: []registry.TrustedKey{f.live.Signer()}}
	if f.saved != nil {
		m.Signers = append(m.Signers, f.saved.Signer())
	}
	text, err := json.Marshal(&m)
	if err != nil {
		return fmt.Errorf("encode the notes: %w", err)
	}
	if err := atomicfile.WriteOn(c.sys, filepath.Join(c.dir, fileRatchet), text, 0o600); err != nil {
		return err
	}
	c.clearWay(filePrevious, fileCurrent)
	if f.saved != nil && f.saved.Digest() != f.live.Digest() {
		if err := atomicfile.WriteOn(c.sys, filepath.Join(c.dir, filePrevious), f.saved.Envelope(), 0o600); err != nil {
			return err
		}
	}
	if err := atomicfile.WriteOn(c.sys, filepath.Join(c.dir, fileCurrent), f.live.Envelope(), 0o600); err != nil {
		return err
	}
	clear(f.unsaved)
	f.dirty, f.notes = false, true
	if f.saved != nil && f.saved.Digest() == f.live.Digest() {
		return nil // only the notes were missing
	}
	f.setSaved(f.live)
	before := c.saved
	c.saved = f.loader.content()
	return c.packs.sweep(before, c.saved)
}

// clearWay moves aside what is not a file where a file has to be written: a damaged
// file system, or a mount that went wrong. What cannot be moved fails the write.
func (c *cache) clearWay(names ...string) {
	for _, name := range names {
		path := filepath.Join(c.dir, name)
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			_ = c.sys.Rename(path, path+".unusable-"+strconv.FormatInt(time.Now().UnixNano(), 36))
		}
	}
}

func (f *Follower) setSaved(r *sign.Release) {
	f.saved = r
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Saved = r.Digest()
}

// holds reports whether the content of d is there, damaged or not.
func (c *cache) holds(d registry.Digest) bool { return c.packs != nil && c.packs.has(d) }

func (c *cache) has(name string) bool {
	_, err := os.Stat(filepath.Join(c.dir, name))
	return err == nil
}

// errReadOnly is what a put into the cache through package oci would give: the
// follower writes content itself, in one batch, after the swap.
var errReadOnly = errors.New("the cache is written by the follower only")

// FetchBlob reads content; package oci checks it.
func (c *cache) FetchBlob(_ context.Context, _ string, d registry.Digest, limit int64) ([]byte, error) {
	if c.packs == nil {
		return nil, fmt.Errorf("%w: the cache cannot be used", registry.ErrNotFound)
	}
	return c.packs.get(d, limit)
}

// FetchManifest is FetchBlob.
func (c *cache) FetchManifest(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	return c.FetchBlob(ctx, repository, d, limit)
}

// PutBlob is not used.
func (c *cache) PutBlob(context.Context, string, registry.Digest, []byte) error { return errReadOnly }

// PutManifest is not used.
func (c *cache) PutManifest(context.Context, string, string, registry.Digest, string, []byte) error {
	return errReadOnly
}

// Referrers is not used: signatures were checked before a release named anything.
func (c *cache) Referrers(context.Context, string, registry.Digest) ([]registry.Digest, error) {
	return nil, registry.ErrNotFound
}

// ResolveTag is not used: a release names exact content.
func (c *cache) ResolveTag(context.Context, string, string) (registry.Digest, error) {
	return "", registry.ErrNotFound
}
