package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestMaxDeniedPath: so much of the path of a refused request is recorded.
func TestMaxDeniedPath(t *testing.T) {
	for n, want := range map[int]string{maxDeniedPath: "", maxDeniedPath + 1: "…"} {
		path := "/v1/" + strings.Repeat("a", n-len("/v1/"))
		if got := deniedPath(path); got != path[:maxDeniedPath]+want {
			t.Errorf("a path of %d bytes: %q", n, got)
		}
	}
}

// TestMaxHeadBytes: a head as large is read, a byte more is refused.
func TestMaxHeadBytes(t *testing.T) {
	for n, ok := range map[int]bool{maxHeadBytes: true, maxHeadBytes + 1: false} {
		name := filepath.Join(t.TempDir(), "head")
		if err := os.WriteFile(name, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := readHead(name)
		if ok != (err == nil && len(b) == n) || !ok && !problem.Is(err, problem.InvalidRelease) {
			t.Errorf("%d bytes: %d are read, %v", n, len(b), err)
		}
	}
}
