//go:build unix

package catalog_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicegate/sluice/plugins/catalog"
)

// TestPipe: a pipe among the entries is a fault of its own, and nobody waits for its other end.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "library.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, faults, err := catalog.Open(dir)
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0].Error(), "not a regular file") {
		t.Errorf("faults %v, error %v; want one of the pipe", faults, err)
	}
}
