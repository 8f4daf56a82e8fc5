package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

const (
	format        = "sluice-backup"
	formatVersion = 1

	nameHead    = "backup.json"
	nameEnd     = "end.json"
	dirRecords  = "records/"
	dirKeys     = "keys"
	dirRegistry = "registry"

	// chunk of the records in one entry: its size stands before it.
	chunk = 4 << 20
)

// Head is what a backup says of itself.
type Head struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Made    time.Time `json:"made"`
	Program string    `json:"program"` // version
}

// Summary is what was written or restored.
type Summary struct {
	Made    time.Time `json:"made"`
	Records int64     `json:"records"`
	Files   int64     `json:"files"` // keys and contents
	Bytes   int64     `json:"bytes"` // of records and files
}

// Options of a backup.
type Options struct {
	Store      *store.Store    // required; opened with Existing
	Dir        string          // data directory. Required
	Recipients []age.Recipient // who can open it; at least one
	// Content is where the registry's contents are. Default: in Dir.
	Content server.Content
	// Elsewhere: the artifacts are in another registry, which keeps its own backups.
	Elsewhere bool
	Program   string // version
	Now       time.Time
}

// Write writes a backup. When it fails, what was written is of no use.
func Write(ctx context.Context, w io.Writer, o Options) (*Summary, error) {
	if o.Store == nil || o.Dir == "" || len(o.Recipients) == 0 {
		return nil, errors.New("backup: a store, a directory and a recipient are required")
	}
	sealed, err := age.Encrypt(w, o.Recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt the backup: %w", err)
	}
	b := &writer{ctx: ctx, tar: tar.NewWriter(sealed), made: o.Now, have: map[string]bool{}, elsewhere: o.Content != nil}
	b.sum.Made = o.Now
	if err := b.json(nameHead, Head{Format: format, Version: formatVersion, Made: o.Now, Program: o.Program}); err != nil {
		return nil, err
	}
	records := &chunks{b: b}
	if b.sum.Records, err = o.Store.Dump(ctx, records); err != nil {
		return nil, err
	}
	if err := records.flush(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	for _, dir := range []string{dirKeys, dirRegistry} {
		if err := b.tree(root, dir); err != nil {
			return nil, fmt.Errorf("read %s: %w", dir, err)
		}
	}
	if o.Content != nil {
		if err := b.contents(ctx, o.Content); err != nil {
			return nil, fmt.Errorf("read the contents of the registry: %w", err)
		}
	}
	if !o.Elsewhere {
		if err := b.complete(ctx, o.Store); err != nil {
			return nil, err
		}
	}
	if err := b.json(nameEnd, &b.sum); err != nil {
		return nil, err
	}
	if err := errors.Join(b.tar.Close(), sealed.Close()); err != nil {
		return nil, fmt.Errorf("write the backup: %w", err)
	}
	return &b.sum, nil
}

type writer struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one Write
	tar  *tar.Writer
	made time.Time
	sum  Summary
	have map[string]bool // hex digests of the contents that were written
	// elsewhere: the contents are not in the directory.
	elsewhere bool
}

func (b *writer) entry(name string, size int64, r io.Reader) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: b.made, Format: tar.FormatPAX}
	if err := b.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := io.CopyN(b.tar, r, size); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (b *writer) json(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return b.entry(name, int64(len(data)), bytes.NewReader(data))
}

// tree writes the files of a directory that does not have to exist. A file that goes
// meanwhile was garbage; complete says when it was not.
func (b *writer) tree(root *os.Root, dir string) error {
	return fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && name == path.Join(dirRegistry, "uploads"):
			return fs.SkipDir // what is being pushed is pushed again
		case b.elsewhere && name == path.Join(dirRegistry, "content"):
			return nil // says where contents are that are in this backup
		case d.IsDir() && b.elsewhere && name == path.Join(dirRegistry, "blobs"):
			return fs.SkipDir // of a time before the contents went elsewhere
		case !d.Type().IsRegular() || strings.HasPrefix(d.Name(), atomicfile.TempPrefix):
			return nil
		}
		f, err := root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := b.entry(name, info.Size(), f); err != nil {
			return err
		}
		b.sum.Files++
		b.sum.Bytes += info.Size()
		b.have[path.Base(name)] = true
		return nil
	})
}

// contents writes what is kept elsewhere, as the registry's directory would hold it.
func (b *writer) contents(ctx context.Context, c server.Content) error {
	return c.Walk(ctx, func(d registry.Digest, _ int64, _ time.Time) error {
		f, err := c.Open(ctx, d)
		if errors.Is(err, registry.ErrNotFound) {
			return nil // it was garbage
		}
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
		if err := b.entry(path.Join(dirRegistry, "blobs", "sha256", d.Hex()), n, f); err != nil {
			return err
		}
		b.sum.Files++
		b.sum.Bytes += n
		b.have[d.Hex()] = true
		return nil
	})
}

// complete checks that the contents which the records name are in the backup: they
// could have been collected after the records were read.
func (b *writer) complete(ctx context.Context, st *store.Store) error {
	ids, err := st.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		for page := (store.Page{Limit: store.MaxLimit}); ; {
			rows, next, err := st.Workspace(id).Toolsets(ctx, page)
			if err != nil {
				return err
			}
			for i := range rows {
				digest := rows[i].LiveDigest
				if _, hex, ok := strings.Cut(digest, ":"); ok && !b.have[hex] && !rows[i].CreatedAt.After(b.made) && !rows[i].UpdatedAt.After(b.made) {
					return problem.New(problem.Unavailable, "the registry does not have %s, which toolset %s serves", digest, rows[i].Slug).
						Fix("run the backup again; if it says the same, look with: sluice doctor DIR")
				}
			}
			if next == "" {
				break
			}
			page.After = next
		}
	}
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
	c.buf.Write(p)
	if c.buf.Len() >= chunk {
		if err := c.flush(); err != nil {
			return 0, err
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
