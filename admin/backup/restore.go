package backup

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
)

// RestoreOptions of a restore.
type RestoreOptions struct {
	Dir        string         // data directory; it does not exist or is empty. Required
	Database   store.Options  // an empty database
	Identities []age.Identity // one of them opens the backup
}

// Restore makes a data directory and the records of a backup. It fails with
// [problem.Conflict] when something is there already, and with
// [problem.InvalidArgument] when the backup cannot be opened or is not whole: then
// what was made so far must be removed before it is tried again.
func Restore(ctx context.Context, r io.Reader, o RestoreOptions) (*Summary, error) {
	entries, err := os.ReadDir(o.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the data directory: %w", err)
	}
	if len(entries) > 0 {
		return nil, problem.New(problem.Conflict, "the directory %s is not empty", o.Dir).Fix("name a new one with --data")
	}
	plain, err := age.Decrypt(r, o.Identities...)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the backup cannot be opened with this key").
			Fix("give the identity of one of its recipients, or its passphrase").Because(err)
	}
	if err := atomicfile.MkdirAll(atomicfile.OS, o.Dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	defer func() { _ = root.Close() }() // files are closed one by one
	s := &restorer{ctx: ctx, root: root, tar: tar.NewReader(plain), database: o.Database, dirs: map[string]bool{}}
	if err := s.run(); err != nil {
		return nil, err
	}
	for dir := range s.dirs {
		if err := atomicfile.OS.SyncDir(filepath.Join(o.Dir, filepath.FromSlash(dir))); err != nil {
			return nil, fmt.Errorf("sync %s: %w", dir, err)
		}
	}
	return &s.sum, nil
}

type restorer struct {
	ctx      context.Context //nolint:containedctx // it lives as long as one Restore
	root     *os.Root
	tar      *tar.Reader
	database store.Options
	dirs     map[string]bool // that hold restored names
	sum      Summary
}

func damaged(why string, err error) error {
	return problem.New(problem.InvalidArgument, "the backup is damaged or not whole: %s", why).Fix("use another backup").Because(err)
}

func (s *restorer) run() error {
	h, err := s.next()
	if err != nil {
		return err
	}
	var head Head
	if h.Name != nameHead || json.NewDecoder(s.tar).Decode(&head) != nil || head.Format != format {
		return damaged("it does not begin as one", nil)
	}
	if head.Version != formatVersion {
		return problem.New(problem.Conflict, "the backup has format %d, this program knows %d", head.Version, formatVersion).Fix("use the newer program")
	}
	s.sum.Made = head.Made
	if h, err = s.next(); err != nil {
		return err
	}
	records := &recordReader{s: s, header: h}
	if s.sum.Records, err = store.Load(s.ctx, s.database, records); err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, records); err != nil || n > 0 {
		return damaged("something follows its records", err)
	}
	for h = records.header; h.Name != nameEnd; {
		if err := s.file(h); err != nil {
			return err
		}
		if h, err = s.next(); err != nil {
			return err
		}
	}
	var end Summary
	if json.NewDecoder(s.tar).Decode(&end) != nil || end.Records != s.sum.Records || end.Files != s.sum.Files || end.Bytes != s.sum.Bytes {
		return damaged("it does not hold what it says", nil)
	}
	return nil
}

func (s *restorer) next() (*tar.Header, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	h, err := s.tar.Next()
	if err != nil {
		return nil, damaged("it ends early", err)
	}
	if h.Typeflag != tar.TypeReg || path.Clean(h.Name) != h.Name {
		return nil, damaged("it holds something that is no file", nil)
	}
	return h, nil
}

// file writes one file of keys or registry.
func (s *restorer) file(h *tar.Header) (err error) {
	if !strings.HasPrefix(h.Name, dirKeys+"/") && !strings.HasPrefix(h.Name, dirRegistry+"/") {
		return damaged("it holds a file that does not belong there", nil)
	}
	dir := path.Dir(h.Name)
	if err := s.root.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	for d := dir; d != "."; d = path.Dir(d) {
		s.dirs[d] = true
	}
	s.dirs["."] = true
	perm := os.FileMode(0o600)
	if strings.HasPrefix(h.Name, dirRegistry+"/blobs/") {
		perm = 0o444 // contents never change; the directory is the owner's
	}
	f, err := s.root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return fmt.Errorf("restore %s: %w", h.Name, err)
	}
	n, err := io.Copy(f, s.tar)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("restore %s: %w", h.Name, err)
	}
	s.sum.Files++
	s.sum.Bytes += n
	return nil
}

// recordReader joins the entries of the records; header is the first that is none.
type recordReader struct {
	s      *restorer
	header *tar.Header
}

func (r *recordReader) Read(p []byte) (int, error) {
	for strings.HasPrefix(r.header.Name, dirRecords) {
		n, err := r.s.tar.Read(p)
		r.s.sum.Bytes += int64(n)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if r.header, err = r.s.next(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}
