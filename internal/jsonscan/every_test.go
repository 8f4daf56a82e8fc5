package jsonscan

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// every calls f with each text of at most n of the parts, in between of two others.
func every(parts []string, n int, before, behind string, f func(doc []byte)) {
	buf := []byte(before)
	var add func(left int)
	add = func(left int) {
		f(append(slices.Clip(buf), behind...))
		if left == 0 {
			return
		}
		for _, p := range parts {
			at := len(buf)
			buf = append(buf, p...)
			add(left - 1)
			buf = buf[:at]
		}
	}
	add(n)
}

func bytesOf(s string) []string { return strings.Split(s, "") }

// TestEveryShortDocument: what encoding/json takes is taken, with the same meaning, and
// nothing else: of all short texts of the characters that matter and their neighbours.
func TestEveryShortDocument(t *testing.T) {
	both := func(doc []byte) {
		// What neither takes is most of it: no need to look twice.
		if _, err := Parse(doc, 64); err != nil && !json.Valid(doc) {
			return
		}
		compare(t, doc)
	}
	n := 5
	if testing.Short() {
		n = 3
	}
	every(bytesOf("-+.eE0159/:"), n, "", "", both)
	every(bytesOf("-+.eE0159/:"), n-2, "[1", "9]", both)
	every(bytesOf(`{}[]":,1a `), n, "", "", both)
	every(bytesOf(`{}[]":,1a `), n-1, `{"b":`, `}`, both)
	every(bytesOf(`{}[]":,1a `), n-1, `[`, `,"\""]`, both)
	for pad := range 18 { // strings are read eight bytes at a time
		text := strings.Repeat("x", pad)
		every([]string{`\`, `"`, "u", "n", "/", "\x1f", " ", "!", "#", "]", "[", "\x7f", "é", "00e9", "d83d", "D83D", "dE00"}, min(n-2, 2), `"`+text, `"`, both)
		every([]string{`\`, `"`, "x", "\x1f"}, n-1, `["`+text, `",1]`, both)
	}
	for _, in := range []string{
		`"\ud83d\ude00"`, `"\ud83dxude00"`, `"\ud83d\nde00"`, `"\ud83d\u0041"`, `"\ud83d\u"`, `"\ud83d\ude0"`, `"\ud83d\ud83d\ude00"`, `"\ude00\ud83d"`,
		`"\ud83d/ude00"`, `"\ud83dabcdef"`, `"\ud83d\"de00"`, `"\ud83d"`, `"a\ud83d\ude00b\ud83d"`,
	} {
		both([]byte(in))
	}
}

// TestEveryByte: at each place of a document each byte means what it means for encoding/json.
func TestEveryByte(t *testing.T) {
	for _, doc := range []string{
		`true`, `false`, `null`, `-10.25e+19`, `{"a" : "b\u00e9" , "c" : [ true , false , null , 9 ] }`, `"\u09aF\uAf90\b\f\n\r\t\/\\"`, `[0,-0,1e9,0.0]`, `"twelve bytes, and more"`,
	} {
		for i := range len(doc) {
			compare(t, []byte(doc[:i]))
			for c := range 256 {
				compare(t, []byte(doc[:i]+string([]byte{byte(c)})+doc[i+1:]))
			}
		}
	}
}

// TestEqualText: a string is its text and no other one, however it is escaped.
func TestEqualText(t *testing.T) {
	every([]string{"a", `\n`, `\\`, `\u00e9`, "é", `\ud83d\ude00`, "😀", `\"`}, 3, `"`, `"`, func(doc []byte) {
		var text string
		if err := json.Unmarshal(doc, &text); err != nil {
			t.Fatal(err)
		}
		v := Trusted(doc)
		others := []string{text + "x", text + "\\", "x" + text, string(v.inner())}
		for i := range len(text) {
			others = append(others, text[:i], text[i+1:], text[:i]+"x"+text[i+1:], text[:i]+`\`+text[i:])
		}
		if !v.EqualText(text) {
			t.Fatalf("%s is not %q", doc, text)
		}
		for _, o := range others {
			if v.EqualText(o) != (o == text) {
				t.Fatalf("%s is %q: %v", doc, o, v.EqualText(o))
			}
		}
		plain, ok := v.Plain()
		if escaped := strings.Contains(string(doc), `\`); ok == escaped || ok && string(plain) != text {
			t.Fatalf("%s is plain: %q, %v", doc, plain, ok)
		}
	})
}

// TestOtherKinds: a method that does not fit the kind of a value finds nothing.
func TestOtherKinds(t *testing.T) {
	for _, in := range []string{"", "null", "true", "false", "12321", "-1", `"1,2"`, `"\"a\":1"`, `["a",1,"b",2]`, `[1,[2]]`, `{"a":1,"b":2}`, `{"1":"2"}`, `""`, "[]", "{}"} {
		v := Trusted([]byte(in))
		k := v.Kind()
		members, elements := 0, 0
		for it := v.Members(); it.Next(); {
			members++
		}
		for it := v.Elements(); it.Next(); {
			elements++
		}
		if (members > 0) != (k == Object && in != "{}") || (elements > 0) != (k == Array && in != "[]") || v.Len() != members+elements {
			t.Errorf("%s: %d members, %d elements, length %d", in, members, elements, v.Len())
		}
		if _, ok := v.Plain(); ok && k != String {
			t.Errorf("%s is plain", in)
		}
		if _, ok := v.Int64(); ok != (k == Number) {
			t.Errorf("%s is an integer: %v", in, ok)
		}
		if is, ok := v.Bool(); is != (in == "true") || ok != (k == Bool) {
			t.Errorf("%s is a boolean: %v, %v", in, is, ok)
		}
		for _, s := range []string{"", "ru", "ul", "232", "als", `"a",1,"b",2`} {
			if v.EqualText(s) != (in == `""` && s == "") {
				t.Errorf("%s is the text %q", in, s)
			}
		}
	}
}

// TestMinified: white space outside of strings is noticed, and what is below a space is none.
func TestMinified(t *testing.T) {
	for in, want := range map[string]bool{
		`1`: true, ` 1 `: true, `[1,2]`: true, `[ 1]`: false, `[1 ]`: false, `[1,2 ]`: false, `[1, 2]`: false, `[1 ,2]`: false, "[\n]": false, "[\t1]": false, "[1\r]": false,
		`{"a b":"c d"}`: true, `{ "a":1}`: false, `{"a" :1}`: false, `{"a": 1}`: false, `{"a":1 }`: false, `{"a":1 ,"b":2}`: false, `{"a":1, "b":2}`: false, `{ }`: false, `{}`: true,
	} {
		if _, got, err := ParseMinified([]byte(in), 0); got != want || err != nil {
			t.Errorf("%q is minified: %v, %v", in, got, err)
		}
	}
	for _, depth := range []int{-1, 0} {
		if _, err := Parse([]byte(strings.Repeat("[", DefaultMaxDepth)+strings.Repeat("]", DefaultMaxDepth)), depth); err != nil {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
	for n := 1; n < 4; n++ {
		if _, err := Parse([]byte(strings.Repeat("[", n)+strings.Repeat("]", n)), 2); errors.Is(err, ErrDepth) != (n > 2) {
			t.Errorf("depth %d of 2: %v", n, err)
		}
	}
}

// TestWhereUTF8Ends: the first byte that belongs to no character is named, and the
// replacement character itself is one.
func TestWhereUTF8Ends(t *testing.T) {
	for in, want := range map[string]int{"\"\uFFFD\xff\"": 4, "\xff": 0, "\"a\xe2\x82\"": 2, "\"é\xc3": 3, "\"\uFFFDé\x80": 6} {
		_, err := Parse([]byte(in), 0)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset != want || !strings.Contains(syntax.Msg, "UTF-8") {
			t.Errorf("%q: %v, want byte %d", in, err, want)
		}
	}
	if got := badUTF8([]byte("a\uFFFD")); got != 4 {
		t.Errorf("%d", got)
	}
}

// TestEveryLongestList: of all short documents, the list and its elements are those that
// the iterators find, at every depth and number of elements.
func TestEveryLongestList(t *testing.T) {
	n := 5
	if testing.Short() {
		n = 3
	}
	parts := []string{"{", "}", "[", "]", `"a":`, `"b]"`, ",", "1", " "}
	every(parts, n, "", "", func(doc []byte) { compareList(t, doc) })
	every(parts, n-1, `{"a":`, `}`, func(doc []byte) { compareList(t, doc) })
	every(parts, n-1, `{"a":{"b":[1],"c":`, `}}`, func(doc []byte) { compareList(t, doc) })
	for deep, want := range map[int]string{-1: `[0]`, 0: `[0]`, 1: `[1,1]`, 2: `[2,2,2]`, 3: `[2,2,2]`} {
		doc := []byte(` {"a":[0],"b":{"a":[1,1],"c":{"a":[2,2,2]}}}`)
		if l := LongestList(doc, deep, nil, 3); string(doc[l.From:l.To]) != want {
			t.Errorf("%d deep: %s, want %s", deep, doc[l.From:l.To], want)
		}
	}
	for _, in := range []string{"", " ", "[", "{", "1", `"[1]"`, " [1]", " {}"} {
		b := []byte(in + "[1,2,3]")[:len(in):len(in)] // what stands behind is not read
		l := LongestList(b, 2, nil, 3)
		if want := strings.TrimSpace(in); want == "[1]" != (l.Count == 1) {
			t.Errorf("%q: %+v", in, l)
		}
	}
}

// TestEveryAppendedByte: each byte is written as encoding/json reads it, wherever it falls
// among the eight that are looked at at once.
func TestEveryAppendedByte(t *testing.T) {
	for c := range 256 {
		for i := range 17 {
			s := strings.Repeat("x", i) + string([]byte{byte(c)}) + strings.Repeat("y", 16-i)
			got, plain := AppendPlain(nil, []byte(s))
			var back string
			if err := json.Unmarshal(got, &back); err != nil || back != strings.ToValidUTF8(s, "\uFFFD") || string(got) != string(AppendStringOf(nil, s)) {
				t.Fatalf("%q became %s: %v", s, got, err)
			}
			if want := c >= 0x20 && c < 0x7f || c == '\n' || c == '\t'; plain != want {
				t.Fatalf("%q is plain: %v", s, plain)
			}
			if c < 0x20 && len(got) > 2+16+6 || c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' && string(got) != `"`+s+`"` {
				t.Fatalf("%q is escaped too much: %s", s, got)
			}
		}
	}
	// One that is not plain does not become so by what follows.
	for _, s := range []string{"é\n", "\x01\t", "\b\"", "\r\n"} {
		if _, plain := AppendPlain(nil, []byte(s)); plain {
			t.Errorf("%q is plain", s)
		}
	}
}
