package jsonscan

import (
	"errors"
	"strings"
	"testing"
)

// TestCutOff: each beginning of a document is refused, says what is missing, and never
// makes the scanner look beyond its end.
func TestCutOff(t *testing.T) {
	const doc = `{"a\n":[1,-2.5e3,{"b":null},"\u00e9\\"],"c":{},"d":"x\t"}`
	for i := range len(doc) {
		// Of a buffer that goes on: what stands behind the end is not read.
		b := append([]byte(doc[:i]), `"}]}":0`...)[:i:i]
		if _, err := Parse(b, 0); err == nil {
			t.Errorf("%q is taken", b)
		}
	}
	for in, want := range map[string]string{
		`{`: "member name", `{"a":1,`: "member name", `{ `: "member name", `{a`: "member name", `{"a`: "string is not closed", `{"\q":1}`: "unknown escape",
		"{\"a\x01\":1}": "control character", `{"\u12":1}`: "four hexadecimal", `{"a"`: "expected :", `{"a":`: "expected a value", `{"a":1`: "not closed",
	} {
		_, err := Parse([]byte(in), 0)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(syntax.Msg, want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// TestEscapeAtTheEnd: an escape that is the last of a string means what it means elsewhere.
func TestEscapeAtTheEnd(t *testing.T) {
	for text, want := range map[string]string{`"\n"`: "\n", `"a\t"`: "a\t", `"\\"`: `\`, `"a\u00e9"`: "aé", `"\ud83d\ude00"`: "😀"} {
		v, err := Parse([]byte(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(v.AppendText(nil)); got != want || !v.EqualText(want) || v.EqualText(want+"x") {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

// TestTrustedBlank: of nothing but white space nothing is left, and nothing outside is read.
func TestTrustedBlank(t *testing.T) {
	for _, in := range []string{"", " ", "\n\t  ", "  1  "} {
		if got := string(Trusted([]byte(in)).Raw()); got != strings.TrimSpace(in) {
			t.Errorf("%q: %q", in, got)
		}
	}
}
