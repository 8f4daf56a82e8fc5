package atomicfiletest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/internal/atomicfile"
)

// ErrInjected is what an operation returns that was told to fail.
var ErrInjected = errors.New("injected fault")

// Crash says which unsynced changes a power cut keeps. File systems may do
// either, so content has to be right after both.
type Crash int

// The two extremes.
const (
	// NamesLost keeps a name only if its directory was synced after it.
	NamesLost Crash = iota
	// NamesKept keeps every name at once; content that was not synced is empty.
	NamesKept
)

// Disk is an atomicfile.System below one directory, which is taken as durable.
// It may be used by many goroutines.
type Disk struct {
	// DropFileSync and DropDirSync make fsync do nothing: negative controls.
	DropFileSync, DropDirSync bool
	// FailAt makes the n-th operation (from 1) and all later ones fail with
	// ErrInjected, as a disk that went away. 0: none.
	FailAt int
	// Fault is asked before each operation, named as [Disk.Ops] names it; its error is
	// what the operation returns. nil: none fails. It is called by one goroutine at a time.
	Fault func(op string) error

	root string

	mu   sync.Mutex
	ops  []string
	live map[string]*node // what the process sees
	disk map[string]*node // what survives
}

type node struct {
	dir    bool
	perm   fs.FileMode
	data   []byte
	synced []byte
}

var _ atomicfile.System = (*Disk)(nil)

// New makes a Disk below root, which must exist.
func New(root string) *Disk {
	return &Disk{root: filepath.Clean(root), live: map[string]*node{}, disk: map[string]*node{}}
}

// Open is [New] with what is in root, taken as durable.
func Open(root string) (*Disk, error) {
	d := New(root)
	err := filepath.WalkDir(d.root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == d.root {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		n := &node{dir: e.IsDir(), perm: info.Mode().Perm()}
		if !n.dir {
			if n.data, err = os.ReadFile(name); err != nil { //nolint:gosec // a directory of a test
				return err
			}
			n.synced = n.data
		}
		d.live[name], d.disk[name] = n, n
		return nil
	})
	return d, err
}

// Root is the directory that the disk is below.
func (d *Disk) Root() string { return d.root }

// Ops returns what was done, one line each: "create DIR", "write", "sync NAME",
// "rename TO", "syncdir DIR", "mkdir DIR", "remove NAME", relative to the root.
func (d *Disk) Ops() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.ops...)
}

func (d *Disk) rel(path string) string {
	r, err := filepath.Rel(d.root, path)
	if err != nil || strings.HasPrefix(r, "..") {
		panic(fmt.Sprintf("BUG: %s is not below %s", path, d.root))
	}
	return r
}

// stepLocked records an operation and reports whether it has to fail.
func (d *Disk) stepLocked(op, path string) error {
	d.ops = append(d.ops, op+" "+d.rel(path))
	if d.FailAt > 0 && len(d.ops) >= d.FailAt {
		return ErrInjected
	}
	if d.Fault != nil {
		return d.Fault(d.ops[len(d.ops)-1])
	}
	return nil
}

// CreateTemp makes a file that is not synced.
func (d *Disk) CreateTemp(dir, pattern string) (atomicfile.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.stepLocked("create", dir); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	n := &node{perm: 0o600}
	d.live[f.Name()] = n
	return &file{File: f, disk: d, node: n}, nil
}

// Rename changes the name the process sees.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.stepLocked("rename", to); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	d.live[to] = d.live[from]
	delete(d.live, from)
	return nil
}

// Remove removes the name the process sees.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.stepLocked("remove", name); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil {
		return err
	}
	delete(d.live, name)
	return nil
}

// Mkdir makes a directory that is not durable yet.
func (d *Disk) Mkdir(dir string, perm fs.FileMode) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.stepLocked("mkdir", dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, perm); err != nil {
		return err
	}
	d.live[dir] = &node{dir: true, perm: perm}
	return nil
}

// SyncDir makes the names in dir durable.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dir = filepath.Clean(dir); !strings.HasPrefix(dir+"/", d.root+"/") {
		return nil // the parents of the root are durable
	}
	if err := d.stepLocked("syncdir", dir); err != nil {
		return err
	}
	if d.DropDirSync {
		return nil
	}
	in := func(name string) bool { // names are clean; comparing them is quicker than cutting them
		return len(name) > len(dir) && name[len(dir)] == filepath.Separator && name[:len(dir)] == dir &&
			strings.IndexByte(name[len(dir)+1:], filepath.Separator) < 0
	}
	for name := range d.disk {
		if in(name) && d.live[name] == nil {
			delete(d.disk, name)
		}
	}
	for name, n := range d.live {
		if in(name) {
			d.disk[name] = n
		}
	}
	return nil
}

// PowerCut writes what a power cut now would leave into dir, which is empty. The
// disk may be used on.
func (d *Disk) PowerCut(dir string, c Crash) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := d.disk
	if c == NamesKept {
		names = d.live
	}
	for name, n := range names {
		if !reachable(names, d.root, name) {
			continue
		}
		to := filepath.Join(dir, d.rel(name))
		if n.dir {
			if err := os.MkdirAll(to, 0o700); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(to, n.synced, n.perm); err != nil {
			return err
		}
	}
	return nil
}

func reachable(names map[string]*node, root, name string) bool {
	for p := filepath.Dir(name); p != root; p = filepath.Dir(p) {
		if names[p] == nil {
			return false
		}
	}
	return true
}

type file struct {
	*os.File

	disk *Disk
	node *node
}

func (f *file) Write(b []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.stepLocked("write", f.Name()); err != nil {
		return 0, err
	}
	n, err := f.File.Write(b)
	f.node.data = append(f.node.data, b[:n]...)
	return n, err
}

func (f *file) Chmod(perm fs.FileMode) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.node.perm = perm
	return f.File.Chmod(perm)
}

func (f *file) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.stepLocked("sync", f.Name()); err != nil {
		return err
	}
	if !f.disk.DropFileSync {
		f.node.synced = append([]byte(nil), f.node.data...)
	}
	return nil
}
