package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// TempPrefix starts the name of every temporary file, so that what a crash left
// behind can be told from content and removed.
const TempPrefix = ".tmp-"

// System is what writing needs of a file system. [OS] is the real one; tests
// give one that records or forgets.
type System interface {
	// CreateTemp makes a new file of mode 0600 in dir, as os.CreateTemp.
	CreateTemp(dir, pattern string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(dir string, perm fs.FileMode) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
}

// File is a temporary file being written.
type File interface {
	io.Writer
	Name() string
	Chmod(perm fs.FileMode) error
	Sync() error
	Close() error
}

// OS is the operating system's file system.
var OS System = osSystem{}

type osSystem struct{}

func (osSystem) CreateTemp(dir, pattern string) (File, error) { return os.CreateTemp(dir, pattern) }
func (osSystem) Rename(from, to string) error                 { return os.Rename(from, to) }
func (osSystem) Remove(name string) error                     { return os.Remove(name) }
func (osSystem) Mkdir(dir string, perm fs.FileMode) error     { return os.Mkdir(dir, perm) }

func (osSystem) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// Write replaces path by a file with this content and mode on the operating
// system's file system. It does not keep data. On an error the old file is
// still there, unless only the last fsync of the directory failed: then either
// may be there after a power cut.
func Write(path string, data []byte, perm fs.FileMode) error {
	return WriteOn(OS, path, data, perm)
}

// WriteOn is [Write] on a given file system.
func WriteOn(sys System, path string, data []byte, perm fs.FileMode) error {
	p, err := Create(sys, path, perm)
	if err != nil {
		return err
	}
	if _, err := p.Write(data); err != nil {
		p.Discard()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return p.Commit()
}

// Pending is a file being written that nobody sees yet. It is used by one
// goroutine and ends with Commit or Discard.
type Pending struct {
	sys  System
	file File
	path string
	perm fs.FileMode
	done bool
}

// Create starts a file that Commit will put at path.
func Create(sys System, path string, perm fs.FileMode) (*Pending, error) {
	file, err := sys.CreateTemp(filepath.Dir(path), TempPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("create a file beside %s: %w", path, err)
	}
	return &Pending{sys: sys, file: file, path: path, perm: perm}, nil
}

// Write appends to the pending file.
func (p *Pending) Write(b []byte) (int, error) { return p.file.Write(b) }

// Commit makes the content durable and visible at its path. The pending file is
// gone afterwards, whatever it returns.
func (p *Pending) Commit() error {
	if err := p.Rename(); err != nil {
		return err
	}
	if err := p.sys.SyncDir(filepath.Dir(p.path)); err != nil {
		return fmt.Errorf("sync the directory of %s: %w", p.path, err)
	}
	return nil
}

// Rename is Commit without the last step: the content is complete and visible,
// but the name is durable only once the directory was synced. It is for callers
// that put many files into one directory and sync it once.
func (p *Pending) Rename() error {
	if p.done {
		return fmt.Errorf("commit %s: %w", p.path, os.ErrClosed)
	}
	if err := p.file.Chmod(p.perm); err != nil {
		p.Discard()
		return fmt.Errorf("set the mode of %s: %w", p.path, err)
	}
	if err := p.file.Sync(); err != nil {
		p.Discard()
		return fmt.Errorf("sync %s: %w", p.path, err)
	}
	p.done = true
	err := p.file.Close()
	if err == nil {
		err = p.sys.Rename(p.file.Name(), p.path)
	}
	if err != nil {
		_ = p.sys.Remove(p.file.Name()) // the error before it says more
		return fmt.Errorf("put %s in place: %w", p.path, err)
	}
	return nil
}

// Discard removes the pending file; after Commit it does nothing.
func (p *Pending) Discard() {
	if p.done {
		return
	}
	p.done = true
	_ = p.file.Close()              // nothing of it is wanted
	_ = p.sys.Remove(p.file.Name()) // a left-over is removed at the next start
}

// MkdirAll makes dir and the parents it lacks and makes each durable in its
// parent. Directories that exist are left as they are.
func MkdirAll(sys System, dir string, perm fs.FileMode) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(sys, parent, perm); err != nil {
			return err
		}
	}
	if err := sys.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	if err := sys.SyncDir(parent); err != nil {
		return fmt.Errorf("sync directory %s: %w", parent, err)
	}
	return nil
}

// Remove deletes a file durably. A file that is not there is no error.
func Remove(sys System, path string) error {
	if err := sys.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := sys.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("sync the directory of %s: %w", path, err)
	}
	return nil
}

// RemoveIn is [Remove] for files of one directory, which is synced once.
func RemoveIn(sys System, dir string, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := sys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", path, err)
		}
	}
	if err := sys.SyncDir(dir); err != nil {
		return fmt.Errorf("sync the directory %s: %w", dir, err)
	}
	return nil
}
