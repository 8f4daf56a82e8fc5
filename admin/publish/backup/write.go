package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// Options of a backup.
type Options struct {
	Store      *store.Store    // required; opened with Existing
	Dir        string          // data directory. Required
	Recipients []age.Recipient // who can open it; at least one
	// Registry is that of Dir. nil: the artifacts are in another registry, which keeps
	// its own backups.
	Registry *server.Store
	Program  string // version
	Now      time.Time
}

// Write writes a backup: the records of one moment, and everything in the registry that
// the registry knew at that moment or a little later. It uses a bounded amount of
// memory, and nothing is collected from the registry meanwhile. When it fails, what was
// written is of no use.
func Write(ctx context.Context, w io.Writer, o Options) (_ *Summary, err error) {
	if o.Store == nil || o.Dir == "" || len(o.Recipients) == 0 {
		return nil, errors.New("backup: a store, a directory and a recipient are required")
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	if o.Registry != nil {
		release, err := server.Hold(ctx, filepath.Join(o.Dir, dirRegistry))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	sealed, err := age.Encrypt(w, o.Recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt the backup: %w", err)
	}
	b := &writer{ctx: ctx, tar: tar.NewWriter(sealed), made: o.Now, hash: sha256.New(), named: map[string]bool{}}
	b.sum.Made = o.Now
	live, err := b.records(ctx, root, o)
	if err != nil {
		return nil, err
	}
	if o.Registry != nil {
		if err := b.registry(ctx, root, o.Registry, live); err != nil {
			return nil, err
		}
	} else if err := b.file(root, dirRegistry+"/content"); err != nil {
		return nil, err
	}
	last := end{Records: b.sum.Records, Files: b.sum.Files, Bytes: b.sum.Bytes, Sum: hex.EncodeToString(b.hash.Sum(nil)), Absent: b.absent}
	if err := b.json(nameEnd, &last); err != nil {
		return nil, err
	}
	if err := errors.Join(b.tar.Close(), sealed.Close()); err != nil {
		return nil, fmt.Errorf("write the backup: %w", err)
	}
	return &b.sum, nil
}

type writer struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one Write
	tar    *tar.Writer
	made   time.Time
	hash   hash.Hash // of every entry
	sum    Summary
	named  map[string]bool // hex digests that the index names
	absent []string
}

// records writes the head, the records of one moment, and the keys that belong to them.
// It returns the bundles that were live at that moment.
func (b *writer) records(ctx context.Context, root *os.Root, o Options) ([]store.Bundle, error) {
	moment, err := o.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = moment.Close() }() // only read
	// The keys right after the moment: a rotation adds its key before it uses it, and
	// removes one a minute after it did.
	files, err := readKeys(root)
	if err != nil {
		return nil, err
	}
	head := Head{Format: format, Version: formatVersion, Made: o.Now, Program: o.Program}
	if head.Keys, err = headKeys(ctx, moment, files); err != nil {
		return nil, err
	}
	if head.Keys.Outside {
		b.sum.Outside = head.Keys.Sealing
	}
	live, err := moment.LiveBundles(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.json(nameHead, head); err != nil {
		return nil, err
	}
	records := &chunks{b: b}
	if b.sum.Records, err = moment.Dump(ctx, records); err != nil {
		return nil, err
	}
	if err := records.flush(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := b.entry(name, int64(len(files[name])), bytes.NewReader(files[name])); err != nil {
			return nil, err
		}
		b.count(int64(len(files[name])))
	}
	return live, nil
}

// readKeys reads the directory of keys.
func readKeys(root *os.Root) (map[string][]byte, error) {
	entries, err := fs.ReadDir(root.FS(), dirKeys)
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	out := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") || strings.Contains(e.Name(), ".new-") {
			continue // being made
		}
		if len(out) == maxKeyFiles {
			return nil, problem.New(problem.InvalidArgument, "the directory of keys has more than %d files", maxKeyFiles).Fix("remove what does not belong there")
		}
		name := path.Join(dirKeys, e.Name())
		f, err := root.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the keys: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(f, maxKeyFileBytes+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read the keys: %w", err)
		}
		if len(data) > maxKeyFileBytes {
			return nil, problem.New(problem.InvalidArgument, "the key file has more than %d bytes", maxKeyFileBytes).At(name, 0, 0, "").Fix("remove it if it is not a key")
		}
		out[name] = data
	}
	return out, nil
}

// entry writes one file, which must have as many bytes as was said.
func (b *writer) entry(name string, size int64, r io.Reader) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: b.made, Format: tar.FormatPAX}
	if err := b.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	sumHead(b.hash, name, size)
	if _, err := io.CopyN(io.MultiWriter(b.tar, b.hash), r, size); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// sumHead begins an entry in the sum of all.
func sumHead(h hash.Hash, name string, size int64) {
	fmt.Fprintf(h, "%d %s %d\n", len(name), name, size)
}

func (b *writer) count(bytes int64) {
	b.sum.Files++
	b.sum.Bytes += bytes
}

func (b *writer) json(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return b.entry(name, int64(len(data)), bytes.NewReader(data))
}

// file writes one small file of the data directory; one that is not there is none.
func (b *writer) file(root *os.Root, name string) error {
	data, err := root.ReadFile(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := b.entry(name, int64(len(data)), bytes.NewReader(data)); err != nil {
		return err
	}
	b.count(int64(len(data)))
	return nil
}

// Directories of a repository in the index, in the order in which they are read. What
// is pushed meanwhile is linked in the opposite order, so that a tag that was read has
// its manifest among those that are read after it, and a manifest its blobs.
var indexOrder = []string{"_tags", "_manifests", "_referrers", "_blobs"}

// registry writes the index and every content that it, or a live toolset, names.
func (b *writer) registry(ctx context.Context, root *os.Root, files *server.Store, live []store.Bundle) error {
	// Where the contents were is left out: restored, they are in the directory.
	if err := b.file(root, dirRegistry+"/oci-layout"); err != nil {
		return err
	}
	manifests := map[string]bool{}
	for _, part := range indexOrder {
		if err := b.index(root, part, manifests); err != nil {
			return fmt.Errorf("read the index of the registry: %w", err)
		}
	}
	needed := map[string]string{} // by whom
	artifacts := oci.NewStore(files)
	for _, l := range live {
		c, err := publish.ReadContent(ctx, artifacts, l.Repository, registry.Digest(l.Digest))
		if err != nil {
			return lacking(l.Repository, err)
		}
		for _, d := range c.Digests {
			needed[d.Hex()], b.named[d.Hex()] = l.Repository, true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.named)) {
		err := b.content(ctx, files.Content(), name)
		switch {
		case err == nil:
		case !errors.Is(err, registry.ErrNotFound) && !errors.Is(err, registry.ErrCorrupt):
			return err
		case needed[name] != "":
			return lacking(needed[name], err)
		default:
			if err := b.lacks(name, err); err != nil {
				return err
			}
		}
	}
	b.sum.Absent = len(b.absent)
	return nil
}

// lacks notes that the registry has not got a content that nothing live needs.
func (b *writer) lacks(name string, cause error) error {
	if len(b.absent) == maxAbsent {
		return problem.New(problem.Unavailable, "more than %d contents of the registry are missing or damaged", maxAbsent).Fix("look with: sluice doctor DIR").Because(cause)
	}
	b.absent = append(b.absent, name)
	return nil
}

// lacking says that something live cannot be backed up.
func lacking(repository string, err error) error {
	if !errors.Is(err, registry.ErrNotFound) && !errors.Is(err, registry.ErrCorrupt) {
		return err
	}
	return problem.New(problem.Unavailable, "the registry lacks a content that the live toolset of %s needs: %s", repository, err).
		Fix("look with: sluice doctor DIR; deploy the toolset again, or restore a backup").Because(err)
}

// index writes one part of every repository's index.
func (b *writer) index(root *os.Root, part string, manifests map[string]bool) error {
	return fs.WalkDir(root.FS(), dirIndex, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), "_") && d.Name() != part:
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), atomicfile.TempPrefix):
			return nil
		}
		base := path.Base(name)
		switch part {
		case "_tags":
			text, err := root.ReadFile(filepath.FromSlash(name))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if d, err := registry.ParseDigest(string(text)); err == nil {
				b.named[d.Hex()] = true
			}
			if err := b.entry(name, int64(len(text)), bytes.NewReader(text)); err != nil {
				return err
			}
			b.count(int64(len(text)))
			return nil
		case "_manifests":
			manifests[base], b.named[base] = true, true
		case "_referrers":
			if !manifests[base] {
				return nil // its manifest is still being pushed
			}
		default:
			b.named[base] = true
		}
		return b.file(root, name)
	})
}

// content writes one content, which is checked before.
func (b *writer) content(ctx context.Context, from server.Content, name string) error {
	d, err := registry.ParseDigest("sha256:" + name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, registry.ErrNotFound)
	}
	f, err := from.Open(ctx, d)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	n, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", d, err)
	}
	if err := b.entry(path.Join(dirContents, name), n, f); err != nil {
		return err
	}
	b.count(n)
	return nil
}

// chunks cuts the records into entries.
type chunks struct {
	b   *writer
	buf bytes.Buffer
	n   int
}

// Write keeps p until there is enough for an entry.
func (c *chunks) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), chunk-c.buf.Len())
		c.buf.Write(rest[:n])
		rest = rest[n:]
		if c.buf.Len() == chunk {
			if err := c.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (c *chunks) flush() error {
	if c.buf.Len() == 0 {
		return nil
	}
	c.n++
	c.b.sum.Bytes += int64(c.buf.Len())
	err := c.b.entry(fmt.Sprintf("%s%06d", dirRecords, c.n), int64(c.buf.Len()), &c.buf)
	c.buf.Reset()
	return err
}
