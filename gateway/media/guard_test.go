package media

import (
	"strings"
	"testing"
)

// TestBare: what keeps scripts of other sites from reading an answer is no part of it.
func TestBare(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{")]}'\n{\"a\":1}", "\n{\"a\":1}"},
		{")]}',\n[1]", "\n[1]"},
		{" \r\n)]}'{}", "{}"},
		{"while(1);[1]", "[1]"},
		{"while (1); {}", " {}"},
		{"for (;;);{\"a\":1}", `{"a":1}`},
		{"throw 1; < don't be evil' >{\"a\":1}", `{"a":1}`},
		{"throw 1; <don't be evil>[]", `[]`},
		{"{}&& {\"a\":1}", ` {"a":1}`},
		{"&&&START&&&[1]", "[1]"},
		{"{}", "{}"},
		{"{} ", "{} "},
		{`{"a":")]}'"}`, `{"a":")]}'"}`},
		{"[1]", "[1]"},
		{"", ""},
		{"while(1);", "while(1);"},
		{"while(1);x", "while(1);x"},
		{"while(1);\"text\"", "while(1);\"text\""},
		{"while(2);[1]", "while(2);[1]"},
		{")]}", ")]}"},
		{strings.Repeat(" ", maxGuard-5) + ")]}',[1]", "[1]"},
		{strings.Repeat(" ", maxGuard-3) + ")]}',[1]", strings.Repeat(" ", maxGuard-3) + ")]}',[1]"}, // too far
	} {
		const asJSON = "application/json; charset=utf-8"
		if is, got := Bare([]byte(asJSON), []byte(c.body)); string(got) != c.want || string(is) != asJSON {
			t.Errorf("%q: %s %q, want %q", c.body, is, got, c.want)
		}
		if is, got := Bare([]byte("text/plain"), []byte(c.body)); string(got) != c.body || string(is) != "text/plain" {
			t.Errorf("text %q: %s %q", c.body, is, got)
		}
	}
}

// TestLines: several documents that come as one of JSON are a stream of them.
func TestLines(t *testing.T) {
	for body, stream := range map[string]bool{
		"{\"a\":1}\n{\"a\":2}\n":         true,
		"{\"a\":1}\r\n\r\n{\"a\":2}\r\n": true,
		"{\"a\":1}\n{":                   true, // cut by who sent it
		"{\"a\":1}\n":                    false,
		"{\n\"a\":{}\n}":                 false,
		"{\"a\":[{}\n,{}]}":              false,
		"{\"a\":1}\ntext":                false,
		"[1]\n[2]":                       false,
	} {
		want := "application/json"
		if stream {
			want = string(typeLines)
		}
		if is, got := Bare([]byte("application/json"), []byte(body)); string(is) != want || string(got) != body {
			t.Errorf("%q: %s %q", body, is, got)
		}
	}
}
