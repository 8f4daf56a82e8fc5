package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestInMemory: the directory for temporary files is empty, and the same for a checkout.
func TestInMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		if dir := inMemory(memoryDir, "a"); dir != "" {
			t.Errorf("%s is a directory in memory", dir)
		}
		return
	}
	if got := inMemory(filepath.Join(t.TempDir(), "none"), "a"); got != "" {
		t.Errorf("a directory that is not there has %s", got)
	}
	if available() < 1<<20 {
		t.Errorf("%d bytes of memory are available", available())
	}
	dir := t.TempDir()
	first := inMemory(dir, "a")
	if first == "" {
		t.Skip("no room in memory here")
	}
	if err := os.WriteFile(filepath.Join(first, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again, other := inMemory(dir, "a"), inMemory(dir, "b")
	if left, _ := os.ReadDir(again); again != first || len(left) != 0 {
		t.Errorf("a second run has %s with %d files, the first %s", again, len(left), first)
	}
	if other == first || !strings.HasPrefix(other, dir) {
		t.Errorf("another checkout has %s, like the first", other)
	}
}
