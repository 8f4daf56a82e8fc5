package textfilter

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppend(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(Append([]byte("|"), []byte(in))); got != "|"+want {
			t.Errorf("%+q became %+q, want %+q", in, got[1:], want)
		}
		if got := Clean(in); got != want {
			t.Errorf("Clean: %+q became %+q, want %+q", in, got, want)
		}
		if (Index([]byte(in)) < 0) != (in == want) {
			t.Errorf("%+q: Index says %d", in, Index([]byte(in)))
		}
	}
	same := func(in string) { t.Helper(); f(in, in) }

	same("")
	same("plain text\n\twith lines, ~!@#$ and more than thirty-two bytes of it in all")
	same("Zürich, 東京, Київ, Ελλάδα, 서울, ไทย")
	// Scripts that need joiners, and right-to-left text.
	same("می\u200cخواهم کتاب\u200cها") // Persian
	same("क्\u200dष श्\u200cर")        // Devanagari
	same("ശ്രീ അവന്\u200d ആണ്")        // Malayalam: a chillu at the end of a word
	same("ශ්\u200dරී ලංකාව")           // Sinhala
	same("שלום עולם, مرحبا بالعالم")
	same("۵\u200cمتری")
	// Emoji: sequences, styles, keycaps, skin tones, flags.
	same("👨\u200d👩\u200d👧\u200d👦 👁\ufe0f\u200d🗨\ufe0f ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 🧑🏽\u200d🚀 1\ufe0f\u20e3 #\ufe0f\u20e3 🇩🇪 ℹ\ufe0f ™\ufe0f ✈\ufe0e 🙂\u200d↔\ufe0f")

	// Zero-width and bidirectional characters.
	f("a\u200bb\u200ec\u200fd\u2060e\ufefff\u00adg\u061ch\u180ei\u034fj", "abcdefghij")
	f("\u202eabc\u202c \u2066x\u2069 \u206a\u2061\u2062\u2063\u2064", "abc x ")
	f("a\u200d b\u200c, \u200dc", "a b, c")
	f("a\u200c\u200d\u200c\u200db", "a\u200db")
	f("x\u3164y\uffa0z\u115f\u1160", "xyz")
	// Tags, variation selectors, private use, noncharacters, interlinear annotation.
	f("hi\U000e0069\U000e0067\U000e006e\U000e006f\U000e007f!", "hi!")
	f("😀\ufe0f\ufe0f\ufe01\U000e0100\U000e0101", "😀\ufe0f")
	f("a\ufe0fb\ufe00 1\ufe0f", "ab 1")
	f("\ue000\uf8ff\U000f0000\U0010fffd\ufdd0\ufffe\U0001ffff", "")
	f("\ufff9base\ufffanote\ufffb", "basenote")
	// Control characters and ANSI sequences.
	f("a\x00b\x07c\x08d\x7fe\u0080f", "abcdef")
	f("\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1H", "red ")
	f("\u009b31mred\u009b0m", "red")
	f("\x1b]0;title\x07x\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "xlink")
	f("\x1bPpayload\x1b\\a\x1b_b\u009cc\x1b(Bd\x1bce", "acde")
	f("\x1b]never ends", "never ends")
	f("\x1b]no\nend\x07", "no\nend")
	f("\x1b", "")
	f("a\x1b[999999", "a999999")
	f("one\r\ntwo\rthree\u0085four", "one\ntwo\nthree\nfour")
	f("\x1b]"+strings.Repeat("a", maxSequence-3)+"\x07b", "b")
	f("\x1b]"+strings.Repeat("a", maxSequence)+"\x07b", strings.Repeat("a", maxSequence)+"b")
	f("bad \xff\xe2\x80 bytes", "bad \ufffd\ufffd\ufffd bytes")
}

func TestAppendJSON(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got := string(AppendJSON([]byte("|"), []byte(in)))
		if got != "|"+want {
			t.Errorf("%s\nbecame %s\n  want %s", in, got[1:], want)
		}
		if (IndexJSON([]byte(in)) < 0) && in != want {
			t.Errorf("%s: IndexJSON finds nothing", in)
		}
	}
	same := func(in string) { t.Helper(); f(in, in) }
	same(`{"a":1,"b":[true,null,"x\n\t\"\\\/\u00e9"]}`)
	same(`{ "a" : "Zürich 東京 \u6771 \ud83d\ude00" }` + "\n")
	same(`"می\u200cخواهم"`) // an escape that is legitimate keeps its form
	same(`{"text":"the escape \\u200b is shown, so is \\\\u202e"}`)
	f(`"a\u200bb"`, `"ab"`)
	f(`"a\u200Bb`+"\u200b"+`"`, `"ab"`)
	f(`{"k\u200b":"\udb40\udc41\udb40\udc42x","n":1.50,"m":"\/"}`, `{"k":"x","n":1.50,"m":"\/"}`)
	f(`["\u001b[31mred\u001b[0m","\b\f\u0000"]`, `["red",""]`)
	f(`"a\r\nb\rc"`, `"a\nb\nc"`)
	f(`"\ud800 \udc00 \ud83d"`, `"� � �"`)
	f(`"\\\u200b\\"`, `"\\\\"`)
	f(`"x","y\u202e":1`, `"x","y":1`) // members without their braces
	f(`{"`+strings.Repeat("a", 100)+`":"`+strings.Repeat("b", 100)+`\u202e"}`, `{"`+strings.Repeat("a", 100)+`":"`+strings.Repeat("b", 100)+`"}`)
	for _, broken := range []string{`"`, `"\`, `"\u`, `"\u20`, `"abc`, `\u200b"`, "\"\u200b", `"\ud83d`, `"\ud83d\ude`} {
		AppendJSON(nil, []byte(broken)) // stays inside
	}
}

func FuzzAppend(f *testing.F) {
	for _, s := range []string{"a\u200db", "\x1b[31mx", "👨\u200d👩", "1\ufe0f\u20e3", "\r\n\r", "\xff\x1b]x\x07", "ന്\u200d\u200b\u200d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Append(nil, []byte(s))
		if !utf8.Valid(once) {
			t.Fatalf("%+q: %+q is not UTF-8", s, once)
		}
		if twice := Append(nil, once); string(twice) != string(once) {
			t.Fatalf("%+q: once %+q, twice %+q", s, once, twice)
		}
		if at := Index(once); at >= 0 {
			t.Fatalf("%+q: %+q is not clean at %d", s, once, at)
		}
		if at := Index([]byte(s)); at < 0 && string(once) != s || at >= 0 && string(once) == s {
			t.Fatalf("%+q: Index says %d, it became %+q", s, at, once)
		}
	})
}

func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{`{"a\u200b":["\ud83d\ude00\u200d","\r\n",1e3]}`, `"\udb40\udc41"`, "\"\u202e\"", `[[],{},"\u001b[1m"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once := AppendJSON(nil, raw) // whatever it is: it stays inside
		if !utf8.Valid(raw) || !json.Valid(raw) {
			return
		}
		if !json.Valid(once) {
			t.Fatalf("%s became %s, which is not JSON", raw, once)
		}
		if twice := AppendJSON(nil, once); string(twice) != string(once) {
			t.Fatalf("%s: once %s, twice %s", raw, once, twice)
		}
		if got, want := tokensOf(t, once), tokensOf(t, raw); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s became %s: %v, want %v", raw, once, got, want)
		}
	})
}

// tokensOf are the tokens of a document, its strings as this package treats text.
func tokensOf(t *testing.T, raw []byte) []json.Token {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var out []json.Token
	for {
		tok, err := d.Token()
		if err != nil {
			return out
		}
		if s, ok := tok.(string); ok {
			tok = Clean(s)
		}
		out = append(out, tok)
	}
}
