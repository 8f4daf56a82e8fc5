package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

const (
	// uploadLifetime is how long an upload nobody touches is kept.
	uploadLifetime = 24 * time.Hour
	// maxUploads open at a time in one store; a push of an image uses a few.
	maxUploads = 256
	// maxUploadsOfOne namespace, the first part of the names of repositories, so that nobody
	// takes all places of the others.
	maxUploadsOfOne = 64
	// maxUploadBytes of all open uploads together, and maxUploadBytesOfOne of those of one
	// namespace: sixteen of the largest blobs, which is more than a push sends at a time.
	maxUploadBytes      = 4 * maxUploadBytesOfOne
	maxUploadBytesOfOne = 16 * MaxBlobBytes
	// minFree is how much of the disk uploads leave to the records and to what the node
	// publishes itself, with room for a blob that is copied from its upload.
	minFree = 1 << 30
)

var (
	// errUploadUnknown: no such upload in this repository.
	errUploadUnknown = errors.New("the upload is not known")
	// errUploadRange: a chunk does not start where the last one ended.
	errUploadRange = errors.New("the chunk does not start at the end of the upload")
)

// uploads keeps blobs that arrive in pieces: one file each below
// uploads/<hash of the namespace>-<hash of the repository>, so that an upload is never seen
// from another repository. The file is the session; its size is the offset. Nothing of it is
// promised to survive, clients start again.
type uploads struct {
	dir     string
	root    *os.Root // dir
	content ContentWriter
	free    func(dir string) (int64, bool) // as [Options.Free]

	mu    sync.Mutex
	busy  map[string]bool  // uploads a request is working on
	bytes map[string]int64 // of open uploads, by what namespaceOf says
	total int64            // of bytes
}

func openUploads(root string, sys atomicfile.System, content ContentWriter, free func(string) (int64, bool)) (*uploads, error) {
	u := &uploads{dir: filepath.Join(root, "uploads"), content: content, free: free, busy: map[string]bool{}, bytes: map[string]int64{}}
	if err := atomicfile.MkdirAll(sys, u.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if u.root, err = os.OpenRoot(u.dir); err != nil {
		return nil, fmt.Errorf("open the uploads: %w", err)
	}
	if err := u.measure(); err != nil {
		return u, err
	}
	_, _, err = u.expire("") // which takes what it removes off what was measured
	return u, err
}

// measure adds up the uploads that were open when the node was stopped.
func (u *uploads) measure() error {
	err := fs.WalkDir(u.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err //nolint:wrapcheck // below
		}
		u.count(spaceOf(path), info.Size())
		return nil
	})
	if err != nil {
		return fmt.Errorf("measure the open uploads: %w", err)
	}
	return nil
}

// expire removes old uploads and counts the others, and those of them that are in a namespace.
func (u *uploads) expire(namespace string) (open, inside int, err error) {
	err = fs.WalkDir(u.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // removed meanwhile
		}
		if time.Since(info.ModTime()) > uploadLifetime {
			if u.root.Remove(path) == nil { // else it is tried again at the next upload
				u.count(spaceOf(path), -info.Size())
			}
			return nil
		}
		open++
		if strings.HasPrefix(path, namespace) {
			inside++
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("look for old uploads: %w", err)
	}
	return open, inside, nil
}

// namespaceOf begins the names of the folders of a repository's namespace.
func namespaceOf(repository string) string {
	namespace, _, _ := strings.Cut(repository, "/")
	sum := sha256.Sum256([]byte(namespace))
	return hex.EncodeToString(sum[:8]) + "-"
}

// spaceOf is what namespaceOf says for the namespace of an upload's path.
func spaceOf(path string) string {
	space, _, _ := strings.Cut(path, "-")
	return space + "-"
}

// count adds to the bytes of a namespace's open uploads.
func (u *uploads) count(space string, n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(space, n)
}

// add is count for who holds mu.
func (u *uploads) add(space string, n int64) {
	u.total += n
	if u.bytes[space] += n; u.bytes[space] <= 0 {
		delete(u.bytes, space)
	}
}

// room fails when the disk is nearly full.
func (u *uploads) room() error {
	if u.free == nil {
		return nil
	}
	if free, known := u.free(u.dir); known && free < minFree {
		return problem.New(problem.Unavailable, "less than %d MiB are free on the registry's disk", minFree>>20).Fix("make room; what is pushed must leave some to the node")
	}
	return nil
}

// take counts bytes that an upload of a namespace is about to write, and fails when there
// is no room for them.
func (u *uploads) take(space string, n int64) error {
	if err := u.room(); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.bytes[space]+n > maxUploadBytesOfOne:
		return problem.New(problem.Unavailable, "the open uploads of the namespace have %d MiB, which is the most", maxUploadBytesOfOne>>20).Fix("finish or cancel some, or wait")
	case u.total+n > maxUploadBytes:
		return problem.New(problem.Unavailable, "the open uploads have %d MiB, which is the most", maxUploadBytes>>20).Fix("finish or cancel some, or wait")
	}
	u.add(space, n)
	return nil
}

// counted is the file of an upload: what is written to it is counted first.
type counted struct {
	u     *uploads
	space string
	file  *os.File
}

// Write implements [io.Writer].
func (c *counted) Write(p []byte) (int, error) {
	if err := c.u.take(c.space, int64(len(p))); err != nil {
		return 0, err
	}
	n, err := c.file.Write(p)
	if err != nil {
		c.u.count(c.space, int64(n-len(p)))
		err = fmt.Errorf("write an upload: %w", err)
	}
	return n, err
}

func (u *uploads) path(repository, id string) (string, error) {
	if b, err := hex.DecodeString(id); err != nil || len(b) != 16 {
		return "", errUploadUnknown
	}
	sum := sha256.Sum256([]byte(repository))
	return filepath.Join(u.dir, namespaceOf(repository)+hex.EncodeToString(sum[:8]), id), nil
}

// start opens an upload and returns its id.
func (u *uploads) start(repository string) (string, error) {
	open, inside, err := u.expire(namespaceOf(repository))
	if err != nil {
		return "", err
	}
	if inside >= maxUploadsOfOne {
		namespace, _, _ := strings.Cut(repository, "/")
		return "", problem.New(problem.Unavailable, "%d uploads of %s are open", inside, namespace).Fix("finish or cancel some, or wait")
	}
	if open >= maxUploads {
		return "", problem.New(problem.Unavailable, "%d uploads are open", open).Fix("finish or cancel some, or wait")
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	id := hex.EncodeToString(b[:])
	path, err := u.path(repository, id)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("start an upload: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("start an upload: %w", err)
	}
	return id, f.Close()
}

// hold makes this request the only one that works on an upload.
func (u *uploads) hold(repository, id string) (path string, release func(), err error) {
	path, err = u.path(repository, id)
	if err != nil {
		return "", nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return "", nil, errUploadUnknown
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.busy[path] {
		return "", nil, errUploadRange
	}
	u.busy[path] = true
	return path, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.busy, path)
	}, nil
}

// offset is how many bytes an upload has.
func (u *uploads) offset(repository, id string) (int64, error) {
	path, err := u.path(repository, id)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, errUploadUnknown
	}
	return info.Size(), nil
}

// appendTo adds a chunk that has to start at from; from -1 is wherever the
// upload is. A chunk that breaks off leaves the upload as it was.
func (u *uploads) appendTo(repository, id string, from int64, body io.Reader) (offset int64, err error) {
	path, release, err := u.hold(repository, id)
	if err != nil {
		return 0, err
	}
	defer release()
	return u.appendFile(namespaceOf(repository), path, from, body)
}

func (u *uploads) appendFile(space, path string, from int64, body io.Reader) (offset int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return 0, errUploadUnknown
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("continue an upload: %w", err)
	}
	if from >= 0 && from != at {
		return at, errUploadRange
	}
	n, err := io.Copy(&counted{u, space, f}, io.LimitReader(body, MaxBlobBytes-at+1))
	if err == nil && at+n > MaxBlobBytes {
		err = problem.New(problem.TooLarge, "the blob has more than %d bytes", MaxBlobBytes)
	}
	if err != nil {
		if f.Truncate(at) == nil { // the client is told that the chunk was not taken
			u.count(space, -n)
		}
		return at, err
	}
	return at + n, nil
}

// finish adds the last chunk, checks the digest and makes the upload a durable
// blob. An upload whose digest is wrong is gone, as the client has to start again.
func (u *uploads) finish(ctx context.Context, repository, id string, from int64, body io.Reader, d registry.Digest) error {
	path, release, err := u.hold(repository, id)
	if err != nil {
		return err
	}
	defer release()
	if _, err := u.appendFile(namespaceOf(repository), path, from, body); err != nil {
		return err
	}
	if err := u.room(); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return errUploadUnknown
	}
	defer func() { _ = f.Close() }() // only read
	err = u.content.PutReader(ctx, d, f)
	if err == nil || errors.Is(err, registry.ErrCorrupt) {
		_ = u.remove(namespaceOf(repository), path) // expires otherwise
	}
	return err
}

// cancel removes an upload.
func (u *uploads) cancel(repository, id string) error {
	path, release, err := u.hold(repository, id)
	if err != nil {
		return err
	}
	defer release()
	if err := u.remove(namespaceOf(repository), path); err != nil {
		return fmt.Errorf("cancel an upload: %w", err)
	}
	return nil
}

// remove removes the file of an upload of a namespace.
func (u *uploads) remove(space, path string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		u.count(space, -info.Size())
	}
	return err //nolint:wrapcheck // the callers do
}
