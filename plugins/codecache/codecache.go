// Package codecache keeps the native code of WebAssembly modules in files, and runs none
// that was damaged.
//
// wazero checks only a part of what it reads: a file with one changed byte is refused at
// each start, makes it panic, or is run with functions that begin elsewhere. So each file
// has a checksum beside it, which is compared when the cache is opened; what differs, and
// what has none because the process ended in between, is removed and compiled again. The
// checksum is against accidents: whoever may write into the directory has the node.
package codecache

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
)

// sumEnding ends the name of a file with the checksum of another.
const sumEnding = ".crc32c"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Cache is a directory of native code, which several may share. It is safe for concurrent
// use. A nil Cache keeps nothing.
type Cache struct {
	wazero.CompilationCache
	dir string

	mu     sync.Mutex // held while files are looked at
	sealed time.Time  // when the directories had last changed before all files got a checksum
}

// Open opens the cache in a directory, which it makes. It fails when the directory cannot
// be used, or has damaged files that cannot be removed.
func Open(dir string) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making compilation cache: %w", err)
	}
	c := &Cache{dir: dir}
	_, err := c.check()
	if err == nil {
		c.CompilationCache, err = wazero.NewCompilationCacheWithDir(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("opening compilation cache %s: %w", dir, err)
	}
	return c, nil
}

// Compile compiles a module with a runtime that was made with the cache, or takes its code
// from there. A panic of the compiler is an error: modules come from outside, and wazero
// has panicked on invalid ones.
func (c *Cache) Compile(ctx context.Context, r wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
	m, err := compile(ctx, r, wasm)
	if c == nil {
		return m, err
	}
	if err != nil {
		if removed, cerr := c.check(); cerr != nil || removed == 0 {
			return nil, err
		}
		if m, err = compile(ctx, r, wasm); err != nil {
			return nil, err
		}
	}
	c.seal()
	return m, nil
}

func compile(ctx context.Context, r wazero.Runtime, wasm []byte) (m wazero.CompiledModule, err error) {
	defer func() {
		if v := recover(); v != nil {
			m, err = nil, fmt.Errorf("the module cannot be compiled: %v", v)
		}
	}()
	return r.CompileModule(ctx, wasm)
}

// check removes the files that are not as they were written, and says how many.
func (c *Cache) check() (removed int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.each(func(file string) error {
		now, err := sum(file)
		if err == nil {
			if then, rerr := os.ReadFile(file + sumEnding); rerr == nil && string(then) == now {
				return nil
			}
		}
		removed++
		return errors.Join(ignoreAbsent(os.Remove(file)), ignoreAbsent(os.Remove(file+sumEnding)))
	})
	return removed, err
}

// seal gives files that are new their checksums. One that cannot be written is no fault:
// the file is compiled again at the next start.
func (c *Cache) seal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.changed()
	if changed.Equal(c.sealed) {
		return // a thousand plugins of a warm cache are one look at its files
	}
	_ = c.each(func(file string) error {
		if _, err := os.Lstat(file + sumEnding); err == nil {
			return nil
		}
		if now, err := sum(file); err == nil {
			_ = os.WriteFile(file+sumEnding, []byte(now), 0o600)
		}
		return nil
	})
	c.sealed = changed
}

// changed is when the directory, or one in it, last got or lost a file.
func (c *Cache) changed() (last time.Time) {
	in, _ := filepath.Glob(filepath.Join(c.dir, "*"))
	for _, path := range append(in, c.dir) {
		if d, err := os.Stat(path); err == nil && d.IsDir() && d.ModTime().After(last) {
			last = d.ModTime()
		}
	}
	return last
}

// each calls f with every file of native code. Those that are being written end in .tmp.
func (c *Cache) each(f func(file string) error) error {
	return filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process removed it
			return nil
		case err != nil:
			return err
		case !d.Type().IsRegular(), strings.HasSuffix(path, sumEnding), strings.HasSuffix(path, ".tmp"):
			return nil
		}
		return f(path)
	})
}

func sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := crc32.New(castagnoli)
	n, err := io.Copy(h, f)
	return fmt.Sprintf("%08x %d\n", h.Sum32(), n), err
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
