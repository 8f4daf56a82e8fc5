package credentials

import (
	"bytes"
	"testing"
)

// TestOrdinary: a text with any byte that may part a secret, wherever it stands, is looked at
// closely.
func TestOrdinary(t *testing.T) {
	for n := range 70 {
		text := bytes.Repeat([]byte("a~ "), 24)[:n]
		if !ordinary(text) {
			t.Errorf("%q", text)
		}
		for i := range n {
			for c := range 256 {
				text := bytes.Clone(text)
				text[i] = byte(c)
				if got, want := ordinary(text), c >= ' ' && c <= '~' && c != '\\'; got != want {
					t.Fatalf("%q: %v, want %v", text, got, want)
				}
			}
		}
	}
}
