package credentials

import (
	"testing"

	"github.com/valyala/fasthttp"
)

// TestCharacters tries the readers of single characters on both sides of each range:
// a secret is found by them in whatever form an API repeats it.
func TestCharacters(t *testing.T) {
	for c := range 256 {
		b := byte(c)
		digit, small, big := b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z'
		if got := plain(b); got != (digit || small || big) {
			t.Errorf("plain(%q) = %v", b, got)
		}
		want := b
		if big {
			want = b - 'A' + 'a'
		}
		if got := lower(b); got != want {
			t.Errorf("lower(%q) = %q", b, got)
		}
		value := -1
		switch {
		case digit:
			value = int(b - '0')
		case b >= 'a' && b <= 'f':
			value = int(b-'a') + 10
		case b >= 'A' && b <= 'F':
			value = int(b-'A') + 10
		}
		if got := hex(b); got != value {
			t.Errorf("hex(%q) = %d, want %d", b, got, value)
		}
	}

	f := func(text string, want byte, next int) {
		t.Helper()
		if c, n := character([]byte(text), 0); c != want || n != next {
			t.Errorf("character(%q) = %q, %d; want %q, %d", text, c, n, want, next)
		}
	}
	f("", 0, 0)
	f("a", 'a', 1)
	f(`\`, 0, 0)
	f(`\"`, '"', 2)
	f(`\\"`, '"', 3)
	f(`\u0041`, 'A', 6)
	f(`\\u00e9`, 0xe9, 7)
	f(`u0041`, 'u', 1) // no escape
	f(`\u004`, 'u', 2)
	f(`\u1041`, 'u', 2) // a letter of another script
	f(`\u0141`, 'u', 2)
	f(`\u00g1`, 'u', 2)
	f(`\u004g`, 'u', 2)

	g := func(name string, c byte, fold, want bool) {
		t.Helper()
		if got := refers(name, c, fold); got != want {
			t.Errorf("refers(%q, %q, %v) = %v", name, c, fold, got)
		}
	}
	g("#65", 'A', false, true)
	g("#x41", 'A', false, true)
	g("#X41", 'A', false, true)
	g("#65", 'a', true, true)
	g("#65", 'a', false, false)
	g("#321", 'A', false, false) // 65 + 256
	g("#", 'A', false, false)
	g("#x", 'A', false, false)
	g("", 'A', false, false)
	g("amp", '&', false, true)
	g("lt", '&', false, false)
}

// TestStripQuery takes a parameter off, whatever is around it, and leaves the others
// as they are written.
func TestStripQuery(t *testing.T) {
	f := func(query, want string) {
		t.Helper()
		var req fasthttp.Request
		req.SetRequestURI("http://h/x?" + query)
		StripQuery(&req, "k")
		if got := string(req.URI().QueryString()); got != want {
			t.Errorf("%q became %q, want %q", query, got, want)
		}
	}
	f("", "")
	f("k", "")
	f("k=1", "")
	f("a=1&k=2&b=%2F", "a=1&b=%2F")
	f("k=1&k=2", "")
	f("%6b=1&a", "a")
	f("kk=1", "kk=1")
	f("a", "a")
}
