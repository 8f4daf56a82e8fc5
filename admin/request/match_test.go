package request

import "testing"

func TestMatches(t *testing.T) {
	f := func(header string, version uint64, want bool) {
		t.Helper()
		if Matches(header, version) != want {
			t.Errorf("matches(%q, %d) != %v", header, version, want)
		}
	}
	f(`"v3"`, 3, true)
	f(`"v3"`, 33, false)
	f(`"v1", "v3"`, 3, true)
	f(`*`, 3, true)
	f(`W/"v3"`, 3, false)
	f(`v3`, 3, false)
	f(``, 3, false)
}

func TestCutText(t *testing.T) {
	f := func(in string, n int, want string, cut bool) {
		t.Helper()
		if got, c := CutText([]byte(in), n); got != want || c != cut {
			t.Errorf("cutText(%q, %d) = %q, %v; want %q, %v", in, n, got, c, want, cut)
		}
	}
	f("abcdef", 6, "abcdef", false)
	f("abcdefg", 6, "abcdef", true)
	f("aéé", 4, "aé", true)
	f("a\xff", 9, "a\uFFFD", false)
	f("", 0, "", false)
}
