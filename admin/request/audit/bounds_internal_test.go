package audit

import (
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry/sign"
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

// TestHeadIsNotTakenBack: of records that are reported out of their order the newest one is signed,
// in each workspace for itself.
func TestHeadIsNotTakenBack(t *testing.T) {
	key, err := sign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	k := &Keeper{dir: t.TempDir(), key: key, log: slog.New(slog.DiscardHandler), last: map[string]uint64{}}
	k.advance("one", 5, []byte("e"))
	before, err := k.Head("one")
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{4, 5} {
		k.advance("one", seq, []byte("d"))
		if after, err := k.Head("one"); err != nil || string(after) != string(before) {
			t.Errorf("the head of record %d in the place of that of record 5: %v", seq, err)
		}
	}
	k.advance("two", 1, []byte("a"))
	k.advance("one", 6, []byte("f"))
	if after, err := k.Head("one"); err != nil || string(after) == string(before) || k.last["one"] != 6 || k.last["two"] != 1 {
		t.Errorf("%v, %v", k.last, err)
	}
}
