package jsonscan

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestEscapeBlocks: a string is written with blocks of bytes as it is without them, whatever
// stands where in a block and whatever room there is.
func TestEscapeBlocks(t *testing.T) {
	if !escapesBlocks {
		t.Skip("this processor has no SSSE3")
	}
	defer func() { escapesBlocks = true }()
	check := func(s []byte, before, room int) {
		t.Helper()
		dst := func() []byte { return append(make([]byte, 0, before+room), "0123456789abcdef"[:before]...) }
		escapesBlocks = false
		want, wantPlain := AppendPlain(dst(), s)
		escapesBlocks = true
		got, plain := AppendPlain(dst(), s)
		if !bytes.Equal(got, want) || plain != wantPlain {
			t.Fatalf("%q behind %d bytes with room for %d: %q, plain %v, want %q, plain %v", s, before, room, got, plain, want, wantPlain)
		}
		var text string
		if err := json.Unmarshal(got[before:], &text); err != nil || text != strings.ToValidUTF8(string(s), "\uFFFD") && !strings.Contains(text, "\uFFFD") {
			t.Fatalf("%q is read as %q, %v", got, text, err)
		}
	}
	for n := range 70 {
		for _, c := range []string{`"`, `\`, "\n", "\t", "\b", "\v", "\x00", "\x1f", "\x20", "\x7f", "\x80", "é", "字"} {
			check([]byte(strings.Repeat("x", n)+c+strings.Repeat("y", 40)), n%17, n)
			check([]byte(strings.Repeat(c, n)), 0, 2*n)
			check([]byte(strings.Repeat(c, n)+"字"+strings.Repeat(c, n)), 1, n)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	alphabet := []string{"a", "Z", `"`, `"`, `\`, "\n", "\t", "\x01", "é", "\u2028", "\x7f", "\xff", "ordinary text "}
	for range 20_000 {
		kinds, first := 1+r.IntN(len(alphabet)), r.IntN(len(alphabet))
		var s []byte
		for range r.IntN(60) {
			s = append(s, alphabet[(first+r.IntN(kinds)*r.IntN(2))%len(alphabet)]...)
		}
		check(s, r.IntN(17), r.IntN(300))
	}
}
