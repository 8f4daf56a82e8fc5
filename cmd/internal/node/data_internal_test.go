package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDirProbe: each place of a data directory that is written to is looked at, and goes on
// when it can be written again.
func TestDirProbe(t *testing.T) {
	for _, place := range []string{"", "registry/blobs/sha256", "registry/repositories", "audit", "edge", "usage"} {
		dir, now := t.TempDir(), time.Unix(1e9, 0)
		p := newDirProbe(filepath.Join(dir, "data"))
		p.Now = func() time.Time { return now }
		at := filepath.Join(dir, "data", place)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o600); err != nil { // nothing can be written in a file
			t.Fatal(err)
		}
		if err := p.Result(t.Context()); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%q: %v", place, err)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		now = now.Add(probeAgain)
		if err := p.Result(t.Context()); err != nil {
			t.Errorf("%q, when it can be written again: %v", place, err)
		}
		if left, err := os.ReadDir(at); err != nil || place != "" && len(left) > 0 {
			t.Errorf("%q: %v are left, %v", place, left, err)
		}
	}
}
