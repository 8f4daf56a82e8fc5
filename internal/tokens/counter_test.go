package tokens_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicegate/sluice/internal/tokens"
)

// counterTexts are those of the fixtures, and random ones of all classes of bytes.
func counterTexts(t *testing.T) [][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	var out [][]byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, bytes.Repeat(b, 1+20_000/max(len(b), 1)))
	}
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"word", "Word", "ABC", "aB", "1", "12345", " ", "  ", "\n", " \n\t ", `","`, "{", "\\n", "é", "字", "😀", "\xff", "\xe2\x80", "_x", ".", "ffff0000"}
	for range 20 {
		var b []byte
		for len(b) < 30_000 {
			part := parts[r.IntN(len(parts))]
			for range 1 + r.IntN(3)*r.IntN(3) {
				b = append(b, part...)
			}
		}
		out = append(out, b)
	}
	return append(out, bytes.Repeat([]byte(" "), 9000), bytes.Repeat([]byte("a"), 9000), bytes.Repeat([]byte(" \n"), 9000), bytes.Repeat([]byte("\xff"), 9000))
}

// TestCounter: what a text costs does not depend on the texts before it.
func TestCounter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, text := range counterTexts(t) {
		var c tokens.Counter
		last := []byte(nil)
		for range 60 {
			// It begins as the last one, goes on as the text does, or otherwise.
			b := append([]byte(nil), text[:r.IntN(len(text)+1)]...)
			b = append(b, []string{"", "]", "]}", " x", "7", "\n", "\x80", "a,b"}[r.IntN(8)]...)
			if r.IntN(4) == 0 {
				for _, n := range []int{-1, 0, r.IntN(len(text)), tokens.Estimate(b) - 1, tokens.Estimate(b)} {
					if got, want := c.Exceeds(b, n), tokens.Exceeds(b, n); got != want {
						t.Fatalf("%d bytes exceed %d: %v, want %v", len(b), n, got, want)
					}
				}
				last = b
				continue
			}
			same := 0
			for same < min(len(b), len(last)) && b[same] == last[same] {
				same++
			}
			if r.IntN(4) == 0 {
				same = r.IntN(same + 1)
			}
			if got, want := c.Estimate(b, same), tokens.Estimate(b); got != want {
				t.Fatalf("%d bytes, of which %d are known, are %d tokens, want %d", len(b), same, got, want)
			}
			last = b
		}
		c.Reset(0)
		if got, want := c.Estimate(text, 0), tokens.Estimate(text); got != want {
			t.Fatalf("after a reset: %d, want %d", got, want)
		}
	}
}
