package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
)

// checkQuoted compares what is written while a document is validated with what is
// written of it afterwards.
func checkQuoted(t *testing.T, dst, doc []byte, depth int) {
	t.Helper()
	v, wantMinified, wantErr := ParseMinified(doc, depth)
	before := bytes.Clone(dst)
	out, minified, plain, err := ParseQuoted(dst, doc, depth)
	switch {
	case (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error():
		t.Fatalf("%q: %v, want %v", doc, err, wantErr)
	case err == nil && minified != wantMinified:
		t.Fatalf("%q: minified %v, want %v", doc, minified, wantMinified)
	case err != nil || !minified || len(v.Raw()) < len(doc): // around the value, or in it
		if !bytes.Equal(out, before) || plain {
			t.Fatalf("%q: %q, plain %v: want nothing", doc, out, plain)
		}
		return
	}
	want, wantPlain := AppendPlain(bytes.Clone(before), doc)
	if !bytes.Equal(out, want) || plain != wantPlain {
		t.Fatalf("%q: %q, plain %v, want %q, plain %v", doc, out, plain, want, wantPlain)
	}
}

func TestParseQuoted(t *testing.T) {
	long := string(bytes.Repeat([]byte("0123456789"), 10))
	for _, doc := range []string{
		`1`, `""`, `"a"`, `{}`, `[]`, `{"a":1}`, `{"":""}`, `["\\","\"","\/","\u0041\n","\\\""]`, `"` + long + `"`, `{"` + long + `":"` + long + `"}`,
		`["1234567","12345678","123456789","123456789012345","1234567890123456","12345678901234567"]`, `[111111111111111,"a",2222222222222222,"b",33333333333333333,"c"]`,
		`"é"`, `"a` + "\x7f" + `"`, `"1234567` + "\x7f" + `"`, `"` + long + "\u200b" + `"`,
		``, ` 1`, "1\n", `[1, 2]`, "{\n}", `{"a":"b"`, `["a",]`, `"a`, `"\x"`, "\"\x01\"", "\"\xff\"", `[[[1]]]`,
	} {
		for _, room := range []int{0, 1, 1000} {
			dst := make([]byte, 3, 3+room)
			copy(dst, "abc")
			checkQuoted(t, dst, []byte(doc), 2)
		}
	}
}

// TestParseQuotedRandom covers strings of every length beside each other, with and without
// escapes, which are copied in different ways.
func TestParseQuotedRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	alphabet := []string{"a", "Z", `\"`, `\\`, `\n`, `\u00e9`, "é", "\u2028", "\x7f", "ordinary text "}
	for range 20_000 {
		doc := []byte{'['}
		for i := range r.IntN(8) {
			if i > 0 {
				doc = append(doc, ',')
			}
			for range r.IntN(3) {
				doc = append(doc, `123456789112345678911,`[r.IntN(20):]...)
			}
			doc = append(doc, '"')
			kinds := 1 + r.IntN(len(alphabet))
			for range r.IntN(20) {
				doc = append(doc, alphabet[r.IntN(kinds)]...)
			}
			doc = append(doc, '"')
		}
		doc = append(doc, ']')
		if !json.Valid(doc) {
			t.Fatalf("not JSON: %q", doc)
		}
		checkQuoted(t, make([]byte, r.IntN(5), 5+r.IntN(60)), doc, 0)
	}
}

func TestParseQuotedKeepsMemory(t *testing.T) {
	for _, doc := range []string{`{"a": "` + string(make([]byte, 100)) + `"}`, `["a", "b", "` + string(bytes.Repeat([]byte("x"), 100)) + `"]`} {
		out, _, _, err := ParseQuoted(nil, []byte(doc), 0)
		var syntax *SyntaxError
		if len(out) != 0 || cap(out) < len(doc) || err != nil && !errors.As(err, &syntax) {
			t.Fatalf("%d bytes of %d, %v: the next document would allocate again", len(out), cap(out), err)
		}
	}
}
