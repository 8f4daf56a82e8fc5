package jsonscan

import (
	"math/rand/v2"
	"testing"
)

// TestAppendStringOfRandomBytes compares the writer of whole answers, which copies eight
// bytes at once, with the one of short strings, which looks at each.
func TestAppendStringOfRandomBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "Z", "0", " ", `"`, `\`, "\n", "\t", "\r", "\b", "\x00", "\x1f", "\x7f", "\x80", "\xff", "é", "\u2028", "😀", "\xf0\x9f", "ordinary text "}
	for range 20_000 {
		var s []byte
		// Few kinds make long runs, also of what takes six bytes.
		kinds := 1 + r.IntN(len(alphabet))
		first := r.IntN(len(alphabet))
		for range r.IntN(60) {
			s = append(s, alphabet[(first+r.IntN(kinds))%len(alphabet)]...)
		}
		before := make([]byte, r.IntN(20), 20+r.IntN(40))
		want := AppendStringOf([]byte(string(before)), string(s))
		if got := AppendString(before, s); string(got) != string(want) {
			t.Fatalf("AppendString(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestAppendStringGrows(t *testing.T) {
	s := make([]byte, 100_000) // each becomes six bytes
	if got, plain := AppendPlain(nil, s); len(got) != 6*len(s)+2 || plain {
		t.Fatalf("%d bytes, plain %v", len(got), plain)
	}
}
