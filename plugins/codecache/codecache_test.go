package codecache

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// answer is a module with two functions, of which f returns 42.
var answer = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x05\x01\x60\x00\x01\x7f" + // type: () -> i32
	"\x03\x03\x02\x00\x00" + // two functions of it
	"\x07\x05\x01\x01f\x00\x01" + // export f, the second
	"\x0a\x0b\x02\x04\x00\x41\x07\x0b\x04\x00\x41\x2a\x0b")

// run compiles the module from a cache and returns what f says.
func run(t *testing.T, c *Cache) (uint64, error) {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler().WithCompilationCache(c.CompilationCache))
	defer func() { _ = r.Close(t.Context()) }()
	m, err := c.Compile(t.Context(), r, answer)
	if err != nil {
		return 0, err
	}
	i, err := r.InstantiateModule(t.Context(), m, wazero.NewModuleConfig())
	if err != nil {
		return 0, err
	}
	out, err := i.ExportedFunction("f").Call(t.Context())
	if err != nil {
		return 0, err
	}
	return out[0], nil
}

func open(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return c
}

// files are those of native code in a directory.
func files(t *testing.T, c *Cache) (all []string) {
	t.Helper()
	if err := c.each(func(file string) error { all = append(all, file); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDamagedFiles: whichever byte of a file is another, of the code or of what wazero
// keeps with it without a checksum, the module is compiled again and does what it did.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	if got, err := run(t, first); err != nil || got != 42 {
		t.Fatalf("%d, %v", got, err)
	}
	all := files(t, first)
	if len(all) != 1 {
		t.Fatalf("files: %q", all)
	}
	sound, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range sound {
		damaged := append([]byte(nil), sound...)
		damaged[i] ^= 0x21
		if err := os.WriteFile(all[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		c := open(t, dir)
		if left := files(t, c); len(left) != 0 {
			t.Fatalf("byte %d of %d: the damaged file stays", i, len(sound))
		}
		if got, err := run(t, c); err != nil || got != 42 {
			t.Fatalf("byte %d of %d: %d, %v", i, len(sound), got, err)
		}
	}
	if err := os.WriteFile(all[0], sound[:len(sound)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, open(t, dir)); err != nil || got != 42 {
		t.Errorf("half of the file: %d, %v", got, err)
	}
	// As it was written, it is used.
	before, err := os.Stat(all[0])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, open(t, dir)); err != nil || got != 42 {
		t.Errorf("%d, %v", got, err)
	}
	if after, err := os.Stat(all[0]); err != nil || !os.SameFile(before, after) {
		t.Errorf("a sound file was written again: %v", err)
	}
}

// TestDamagedMeanwhile: a file that changes after the cache was opened is found when wazero
// refuses it.
func TestDamagedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, open(t, dir)); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir)
	file := files(t, c)[0]
	if err := os.WriteFile(file, []byte("WAZEVO"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, c); err != nil || got != 42 {
		t.Errorf("%d, %v", got, err)
	}
	if b, err := os.ReadFile(file + sumEnding); err != nil || len(b) == 0 {
		t.Errorf("no checksum of the new file: %v", err)
	}
}

// TestNoChecksum: what a process that ended left without a checksum is compiled again, and
// what another is writing is left alone.
func TestNoChecksum(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, open(t, dir)); err != nil {
		t.Fatal(err)
	}
	file := files(t, open(t, dir))[0]
	writing := file + ".1.tmp"
	if err := os.WriteFile(writing, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file + sumEnding); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir)
	if left := files(t, c); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := os.Stat(writing); err != nil {
		t.Error(err)
	}
	if got, err := run(t, c); err != nil || got != 42 {
		t.Errorf("%d, %v", got, err)
	}
}

// TestInvalidModule: a fault of the module itself is told, and no sound file is lost by it.
func TestInvalidModule(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, open(t, dir)); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir)
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler().WithCompilationCache(c.CompilationCache))
	defer func() { _ = r.Close(t.Context()) }()
	if _, err := c.Compile(t.Context(), r, []byte("\x00asm\x01\x00\x00\x00\x63")); err == nil {
		t.Error("compiled")
	}
	if left := files(t, c); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
	var none *Cache
	if _, err := none.Compile(t.Context(), r, answer); err != nil {
		t.Errorf("without a cache: %v", err)
	}
}

// TestUnusableDirectory: the error names it.
func TestUnusableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "cache")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
}

// TestCompilerPanics: what the compiler panics with is an error, also where it was tried again
// because a file was damaged.
func TestCompilerPanics(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	for _, damaged := range []bool{false, true} {
		if damaged {
			if err := os.WriteFile(filepath.Join(dir, "damaged"), []byte("code"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := c.Compile(t.Context(), nil, answer) // there is no runtime
		if m != nil || err == nil || !strings.Contains(err.Error(), "the module cannot be compiled") {
			t.Errorf("damaged %t: %v, %v", damaged, m, err)
		}
	}
	if left := files(t, c); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// TestEachFileIsSealed: what is compiled later gets its checksum too, and is not compiled again
// at the next start.
func TestEachFileIsSealed(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	for i := range 3 {
		module := bytes.Clone(answer)
		module[len(module)-2] += byte(i) // what f says
		r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler().WithCompilationCache(c.CompilationCache))
		if _, err := c.Compile(t.Context(), r, module); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if before, after := len(files(t, c)), len(files(t, open(t, dir))); before != 3 || after != 3 {
		t.Errorf("%d files, of which a start keeps %d", before, after)
	}
}
