package redact

import (
	"strings"
	"testing"
)

// TestClasses: each byte has one class, and what is outside of ASCII has none.
func TestClasses(t *testing.T) {
	for c := range 256 {
		want := byte(0)
		switch b := string(rune(c)); {
		case c < 128 && strings.Contains("0123456789", b):
			want = 'd'
		case c < 128 && strings.Contains("abcdefghijklmnopqrstuvwxyz", b):
			want = 'a'
		case c < 128 && strings.Contains("ABCDEFGHIJKLMNOPQRSTUVWXYZ", b):
			want = 'A'
		}
		if got := classOf(byte(c)); got != want {
			t.Errorf("classOf(%q) = %q, want %q", byte(c), got, want)
		}
	}
}

// TestWords: a member is known by its words, however they are separated and numbered.
func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"last_name": "lastname", "Last-Name": "lastname", "last name": "lastname", "lastName2": "lastname", "a_b-c d10": "abcd", "": "", "2fa": "2fa", "42": "",
	} {
		if got := word(in); got != want {
			t.Errorf("word(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestPersons: an object is a person by the member it is in, in singular and plural, or
// by what it has; and a secret in it stays a secret, so that it is counted as one.
func TestPersons(t *testing.T) {
	for _, c := range []struct {
		personal         bool
		in, want         string
		redacted, masked int
	}{
		{true, `{"owner":{"name":"Ada"}}`, `{"owner":{"name":"[personal-1]"}}`, 0, 1},
		{true, `{"owners":[{"name":"Ada"}]}`, `{"owners":[{"name":"[personal-1]"}]}`, 0, 1},
		{true, `{"pet_owner":{"name":"Ada"}}`, `{"pet_owner":{"name":"[personal-1]"}}`, 0, 1},
		{true, `{"ownership":{"name":"Ada"}}`, `{"ownership":{"name":"Ada"}}`, 0, 0},
		{true, `{"x":{"name":"Ada","zip":"1"}}`, `{"x":{"name":"[personal-1]","zip":"[personal-2]"}}`, 0, 2},
		{true, `{"x":{"name":"Ada","price":"1"}}`, `{"x":{"name":"Ada","price":"1"}}`, 0, 0},
		{false, `{"owner":{"name":"Ada","email":"a@b.example"}}`, `{"owner":{"name":"Ada","email":"a@b.example"}}`, 0, 0},
		{true, `{"credentials":{"email":"a@b.example","name":"n","n":1}}`, `{"credentials":{"email":"[redacted-1]","name":"[redacted-2]","n":0}}`, 3, 0},
		{true, `{"email":{"token":"t","x":"y"}}`, `{"email":{"token":"[redacted-1]","x":"[personal-1]"}}`, 1, 1},
	} {
		d := Document{Personal: c.personal}
		got, err := d.JSON([]byte(c.in))
		if err != nil || string(got) != c.want || d.Redacted != c.redacted || d.Masked != c.masked {
			t.Errorf("%s became\n%s, %v (%d secrets, %d personal), want\n%s", c.in, got, err, d.Redacted, d.Masked, c.want)
		}
	}
}
