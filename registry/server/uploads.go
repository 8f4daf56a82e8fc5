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

	mu   sync.Mutex
	busy map[string]bool // uploads a request is working on
}

func openUploads(root string, sys atomicfile.System, content ContentWriter) (*uploads, error) {
	u := &uploads{dir: filepath.Join(root, "uploads"), content: content, busy: make(map[string]bool)}
	if err := atomicfile.MkdirAll(sys, u.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if u.root, err = os.OpenRoot(u.dir); err != nil {
		return nil, fmt.Errorf("open the uploads: %w", err)
	}
	_, _, err = u.expire("")
	return u, err
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
			_ = u.root.Remove(path) // tried again at the next upload
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
	return appendFile(path, from, body)
}

func appendFile(path string, from int64, body io.Reader) (offset int64, err error) {
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
	n, err := io.Copy(f, io.LimitReader(body, MaxBlobBytes-at+1))
	if err == nil && at+n > MaxBlobBytes {
		err = problem.New(problem.TooLarge, "the blob has more than %d bytes", MaxBlobBytes)
	}
	if err != nil {
		_ = f.Truncate(at) // the client is told that the chunk was not taken
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
	if _, err := appendFile(path, from, body); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return errUploadUnknown
	}
	defer func() { _ = f.Close() }() // only read
	err = u.content.PutReader(ctx, d, f)
	if err == nil || errors.Is(err, registry.ErrCorrupt) {
		_ = os.Remove(path) // expires otherwise
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
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("cancel an upload: %w", err)
	}
	return nil
}
