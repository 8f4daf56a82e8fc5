package mcp

import "testing"

// TestSameInteger compares a header with the argument that it must repeat.
func TestSameInteger(t *testing.T) {
	f := func(a, b string, want bool) {
		t.Helper()
		if sameInteger([]byte(a), []byte(b)) != want || sameInteger([]byte(b), []byte(a)) != want {
			t.Errorf("%q and %q: want %v", a, b, want)
		}
	}
	f("1", "1", true)
	f("7.0", "7", true)
	f("007", "7", true)
	f("0", "-0", true)
	f("-12", "-12.00", true)
	f("12", "-12", false)
	f("12", "13", false)
	f("12", "120", false)
	f("12.5", "12.5", false) // no integer
	for _, bad := range []string{"", "-", ".", "1.", ".0", "1e2", "+1", " 1", "1/", "1:", "--1"} {
		f("1", bad, false)
		f(bad, bad, false)
	}
}
