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

// TestAppendUnescaped: the values stay, each string has the fewest escapes, and what is no
// JSON stays as it is.
func TestAppendUnescaped(t *testing.T) {
	for in, want := range map[string]string{
		``:                           ``,
		`"a"`:                        `"a"`,
		`{"\u0061":"\u0062\/c"}`:     `{"a":"b/c"}`,
		`"\u0022\u005c\u000A\u0001"`: `"\"\\\n\u0001"`,
		`"\\u0061\\\u0061"`:          `"\\u0061\\a"`,
		`"\ud83d\ude00"`:             `"😀"`,
		`"\ud83d\u0061\ude00"`:       `"\ud83da\ude00"`,
		`"\b\f\n\r\t\"\\"`:           `"\b\f\n\r\t\"\\"`,
		`"\ufffd\u00e9\u20AC"`:       `"\ufffdé€"`,
		`"\u001f\u0020\u0021\u007f"`: `"\u001f !` + "\x7f" + `"`,
		`\`:                          `\`,
		`"\`:                         `"\`,
		`"\u`:                        `"\u`,
		`"\u00`:                      `"\u00`,
		`"\u00g0\x"`:                 `"\u00g0\x"`,
		`"\ud83d\u00`:                `"\ud83d\u00`,
	} {
		b := []byte(in)
		if got := string(AppendUnescaped(nil, b)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		if got := string(AppendUnescaped(b[:0], b)); got != want {
			t.Errorf("%s in its place: %s, want %s", in, got, want)
		}
	}
}
