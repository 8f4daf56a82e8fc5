package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

// staged is a backup that was restored into a directory of its own.
type staged struct {
	dir    string
	head   Head
	sum    Summary
	absent []string // hex digests of contents that the backup says it lacks
}

// restoreInto restores a backup into a directory that is empty. Every entry is compared
// with its sum and every content with its digest. durable syncs each file.
func restoreInto(ctx context.Context, r io.Reader, dir string, ids []age.Identity, durable bool) (*staged, error) {
	plain, err := age.Decrypt(r, ids...)
	if _, mismatch := errors.AsType[*age.NoIdentityMatchError](err); err != nil && !mismatch {
		return nil, problem.New(problem.InvalidArgument, "the file is not a backup, or its beginning is damaged").
			Fix("name a file that sluice backup wrote").Because(err)
	}
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the backup cannot be opened with this key").
			Fix("give the identity of one of its recipients, or its passphrase").Because(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of the restore: %w", err)
	}
	defer func() { _ = root.Close() }() // files are closed one by one
	s := &restorer{ctx: ctx, root: root, tar: tar.NewReader(plain), hash: sha256.New(), durable: durable, out: &staged{dir: dir}}
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.out, nil
}

type restorer struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one restore
	root    *os.Root
	tar     *tar.Reader
	hash    hash.Hash // of every entry so far
	durable bool
	out     *staged
}

func damaged(why string, err error) error {
	return problem.New(problem.InvalidArgument, "the backup is damaged or not whole: %s", why).Fix("use another backup").Because(err)
}

func (s *restorer) run() error {
	h, err := s.next()
	if err != nil {
		return err
	}
	head := &s.out.head
	if h.Name != nameHead || h.Size > maxEndBytes || json.NewDecoder(s).Decode(head) != nil || head.Format != format {
		return damaged("it does not begin as one", nil)
	}
	if head.Version < 1 || head.Version > formatVersion {
		return problem.New(problem.Conflict, "the backup has format %d, this program knows up to %d", head.Version, formatVersion).Fix("use the newer program")
	}
	s.out.sum.Made = head.Made
	if h, err = s.next(); err != nil {
		return err
	}
	records := &recordReader{s: s, header: h}
	if s.out.sum.Records, err = store.Load(s.ctx, store.Options{Path: filepath.Join(s.out.dir, fileDatabase)}, records); err != nil {
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
	return s.end(h)
}

// end compares what was read with what the end says.
func (s *restorer) end(h *tar.Header) error {
	got := &s.out.sum
	var last end
	if h.Size > maxEndBytes || json.NewDecoder(s.tar).Decode(&last) != nil || last.Records != got.Records || last.Files != got.Files || last.Bytes != got.Bytes {
		return damaged("it does not hold what it says", nil)
	}
	if s.out.head.Version > 1 && last.Sum != hex.EncodeToString(s.hash.Sum(nil)) {
		return damaged("its sum is another", nil)
	}
	if _, err := s.tar.Next(); !errors.Is(err, io.EOF) {
		return damaged("something follows its end", err)
	}
	s.out.absent, got.Absent = last.Absent, len(last.Absent)
	return nil
}

// Read reads the entry and sums it.
func (s *restorer) Read(p []byte) (int, error) {
	n, err := s.tar.Read(p)
	s.hash.Write(p[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged("it ends early, or was changed", err)
	}
	return n, err
}

func (s *restorer) next() (*tar.Header, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	// What was not read of the entry before is part of the sum.
	if _, err := io.Copy(io.Discard, s); err != nil {
		return nil, damaged("it ends early", err)
	}
	h, err := s.tar.Next()
	if err != nil {
		return nil, damaged("it ends early", err)
	}
	if h.Typeflag != tar.TypeReg || path.Clean(h.Name) != h.Name {
		return nil, damaged("it holds something that is not a file", nil)
	}
	// A sparse file is gigabytes of zeros in a few bytes of the archive; we write none.
	for name := range h.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return nil, damaged("it holds a sparse file", nil)
		}
	}
	if h.Name != nameEnd {
		sumHead(s.hash, h.Name, h.Size)
	}
	return h, nil
}

// file writes one file of keys or registry.
func (s *restorer) file(h *tar.Header) (err error) {
	if !strings.HasPrefix(h.Name, dirKeys+"/") && !strings.HasPrefix(h.Name, dirRegistry+"/") {
		return damaged("it holds a file that does not belong there", nil)
	}
	if h.Size > mostOf(h.Name) {
		return damaged("it holds a file that is larger than any of its kind", nil)
	}
	if err := s.root.MkdirAll(path.Dir(h.Name), 0o700); err != nil {
		return fmt.Errorf("make %s: %w", path.Dir(h.Name), err)
	}
	content, isContent := strings.CutPrefix(h.Name, dirContents+"/")
	perm := os.FileMode(0o600)
	if isContent {
		perm = 0o444 // contents never change; the directory is the owner's
	}
	f, err := s.root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return fmt.Errorf("restore %s: %w", h.Name, err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), s)
	if err == nil && s.durable {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if problem.As(err) != nil { // of the archive
		return err
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", h.Name, err)
	}
	if isContent && registry.DigestOfSum(sum.Sum(nil)).Hex() != content {
		return damaged("the content "+content+" is another than its name says", nil)
	}
	s.out.sum.Files++
	s.out.sum.Bytes += n
	return nil
}

// mostOf is the size of the largest file that there is by its name.
func mostOf(name string) int64 {
	if strings.HasPrefix(name, dirKeys+"/") {
		return maxKeyFileBytes
	}
	return server.MaxBlobBytes // files of the index are smaller
}

// recordReader joins the entries of the records; header is the first that is none.
type recordReader struct {
	s      *restorer
	header *tar.Header
}

// Read implements [io.Reader]. The end of one entry, which the archive may tell together
// with the last bytes of it, is not the end of the records.
func (r *recordReader) Read(p []byte) (int, error) {
	for strings.HasPrefix(r.header.Name, dirRecords) {
		n, err := r.s.Read(p)
		r.s.out.sum.Bytes += int64(n)
		if err != nil && !errors.Is(err, io.EOF) {
			return n, damaged("it ends early", err)
		}
		if n > 0 {
			return n, nil
		}
		if err == nil {
			continue
		}
		if r.header, err = r.s.next(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}
