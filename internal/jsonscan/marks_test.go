package jsonscan

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestMarks compares the marks of this processor with what they say, of every byte and at every
// place of a block.
func TestMarks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	documents := [][]byte{nil, every, []byte(`{"a b":"\"c)",` + "\n" + `"d":[1,true]}`)}
	for n := range 200 {
		b := make([]byte, n)
		for i := range b {
			b[i] = every[r.IntN(256)]
			if r.IntN(2) == 0 {
				b[i] = "\"\\ )]},:\n\x1f\x80z="[r.IntN(13)]
			}
		}
		documents = append(documents, b)
	}
	for _, b := range documents {
		before := []Marks{{Quotes: 1}, {Ends: 2}}
		got := AppendMarks(before, b)
		if got[0] != before[0] || got[1] != before[1] {
			t.Fatalf("what was there became %v", got[:2])
		}
		if got = got[2:]; len(got) != len(b)/blockSize+2 {
			t.Fatalf("%d bytes have %d marks", len(b), len(got))
		}
		padded := append(bytes.Clone(b), strings.Repeat(" ", len(got)*blockSize-len(b))...)
		for k, m := range got {
			block := (*[blockSize]byte)(padded[k*blockSize:])
			if want := marksIn(block); m != want {
				t.Fatalf("%q has %x, want %x", block, m, want)
			}
			for i, c := range block {
				is := func(mask uint64) bool { return mask>>i&1 == 1 }
				special := c == '\\' || c == ')' || c == ']' || c == '}' || c < ' '
				if is(m.Quotes) != (c == '"' || c == '\\') || is(m.Special) != special || is(m.Blanks) != (c == ' ') ||
					is(m.Ends) != (special || c == ' ' || c == ',') {
					t.Fatalf("byte %d of %q is marked as %x", i, block, m)
				}
			}
		}
	}
}
