package credentials

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/textfilter"
)

// TestOrdinary: a text with any byte that may part a secret, wherever it stands, is looked at
// closely; one with a control character has one.
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
				if got, want := hasControl(text), c < ' ' && c != '\t' && c != '\n' && c != '\r'; got != want {
					t.Fatalf("%q has a control character: %v", text, got)
				}
				if got, want := ordinary(text), c >= ' ' && c <= '~' && c != '\\'; got != want {
					t.Fatalf("%q: %v, want %v", text, got, want)
				}
			}
		}
	}
}

// TestSplitsSeesAll: each character that is removed before somebody reads a text, wherever it
// stands, is one that may split a secret; what stays is none.
func TestSplitsSeesAll(t *testing.T) {
	for _, front := range []string{"", "abcdefgh", `abcdefgh\`, "{abcdefgh", `{abcdefgh\`, "[abcdefgh", `[abcdefgh\`, `{"a":"`} {
		for r := rune(0); r <= utf8.MaxRune; r++ {
			if r > 0x2fff && r&0xff == 0x80 { // of the blocks behind, one part each
				r += 0x70
			}
			text := []byte(front + string(r) + "xyz12345")
			removed := string(textfilter.Append(nil, text)) == front+"xyz12345"
			if ordinary(text) && removed || !ordinary(text) && removed && !splits(text) {
				t.Errorf("%+q splits nothing", text)
			}
			if ordinary(text) && splits(text) {
				t.Errorf("%+q splits something", text)
			}
		}
	}
}
