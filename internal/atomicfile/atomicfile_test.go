package atomicfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
)

func TestWriteReplacesWithMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, want := range []string{"one", "", "a longer text"} {
		if err := atomicfile.Write(path, []byte(want), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Fatalf("read back %q, %v; want %q", got, err, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Fatalf("mode %v, %v; want 0640", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("left %v behind, %v", entries, err)
	}
}

// The order of steps is the promise; this is what a reviewer checks first.
func TestWriteOrder(t *testing.T) {
	dir := t.TempDir()
	disk := atomicfiletest.New(dir)
	if err := atomicfile.WriteOn(disk, filepath.Join(dir, "f"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, op := range disk.Ops() {
		verb, _, _ := strings.Cut(op, " ")
		got = append(got, verb)
	}
	if g, want := strings.Join(got, " "), "create write sync rename syncdir"; g != want {
		t.Fatalf("steps %q, want %q", g, want)
	}
}

// acknowledged writes the same path three times and reports whether the last
// acknowledged content is what a power cut leaves.
func acknowledged(t *testing.T, change func(*atomicfiletest.Disk), crash atomicfiletest.Crash) bool {
	t.Helper()
	dir := t.TempDir()
	disk := atomicfiletest.New(dir)
	change(disk)
	path := filepath.Join(dir, "sub", "f")
	if err := atomicfile.MkdirAll(disk, filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"first", "second", "third"} {
		if err := atomicfile.WriteOn(disk, path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	after := t.TempDir()
	if err := disk.PowerCut(after, crash); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(after, "sub", "f"))
	return err == nil && string(got) == "third"
}

func TestWriteSurvivesPowerCut(t *testing.T) {
	for _, crash := range []atomicfiletest.Crash{atomicfiletest.NamesLost, atomicfiletest.NamesKept} {
		if !acknowledged(t, func(*atomicfiletest.Disk) {}, crash) {
			t.Errorf("crash %d: the acknowledged content is gone", crash)
		}
	}
	// Negative controls: without each sync the same test must see the loss.
	if acknowledged(t, func(d *atomicfiletest.Disk) { d.DropDirSync = true }, atomicfiletest.NamesLost) {
		t.Error("dropping the fsync of the directory is not noticed")
	}
	if acknowledged(t, func(d *atomicfiletest.Disk) { d.DropFileSync = true }, atomicfiletest.NamesKept) {
		t.Error("dropping the fsync of the file is not noticed")
	}
}

// A disk that fails at any step leaves the old content or the new, whole.
func TestWriteFailsAtEveryStep(t *testing.T) {
	before, after := []byte("before"), []byte("after")
	for n := 1; ; n++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		disk := atomicfiletest.New(dir)
		if err := atomicfile.WriteOn(disk, path, before, 0o600); err != nil {
			t.Fatal(err)
		}
		disk.FailAt = len(disk.Ops()) + n
		err := atomicfile.WriteOn(disk, path, after, 0o600)
		if err == nil {
			if n < 6 {
				t.Fatalf("only %d steps", n)
			}
			return
		}
		if !errors.Is(err, atomicfiletest.ErrInjected) {
			t.Fatalf("step %d: %v", n, err)
		}
		got, rerr := os.ReadFile(path)
		if rerr != nil || !bytes.Equal(got, before) && !bytes.Equal(got, after) {
			t.Fatalf("step %d left %q, %v", n, got, rerr)
		}
		cut := t.TempDir()
		if err := disk.PowerCut(cut, atomicfiletest.NamesLost); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(cut, "f")); err != nil || !bytes.Equal(got, before) {
			t.Fatalf("step %d: power cut left %q, %v; want the old content", n, got, err)
		}
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	p, err := atomicfile.Create(atomicfile.OS, filepath.Join(dir, "f"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p.Discard()
	if err := p.Commit(); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("commit after discard: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Fatalf("left %v", entries)
	}
}

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := atomicfile.Write(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds nothing, which is not an error
		if err := atomicfile.Remove(atomicfile.OS, path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("still there: %v", err)
	}
}
