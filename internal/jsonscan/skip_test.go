package jsonscan

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestSkipString: the end of a string is where a walk byte by byte finds it, whatever
// runs of quotes and backslashes fall where.
// TestMinifiedStrings: white space inside of strings stays, also behind empty ones.
func TestMinifiedStrings(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(AppendMinified([]byte(">"), []byte(in))); got != ">"+want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	f(`[ "" , " a " , "" , "\" " ]`, `[""," a ","","\" "]`)
	f(`{ "" : "" , " " : [ ] }`, `{"":""," ":[]}`)
	f(`""`, `""`)
	f(" 1 ", "1")
}

func TestSkipString(t *testing.T) {
	slow := func(b []byte, i int) int {
		for ; i < len(b); i++ {
			switch b[i] {
			case '"':
				return i + 1
			case '\\':
				i++
			}
		}
		return len(b)
	}
	check := func(b []byte, i int) {
		t.Helper()
		if got, want := skipString(b, i), slow(b, i); got != want {
			t.Fatalf("from %d of %q: %d, want %d", i, b, got, want)
		}
	}
	// Bytes that differ from a quote or a backslash by one bit or by one are taken for
	// them by tests of whole words.
	special := []byte{'"', '\\', '\\', '#', '!', 0xa2, 0xdc, ']', '[', 0x80, 0}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		b := bytes.Repeat([]byte{'x'}, r.IntN(80))
		for i := range b {
			if r.IntN(3) == 0 {
				b[i] = special[r.IntN(len(special))]
			}
		}
		check(b, r.IntN(len(b)+1))
	}
	// Beyond the stretches that are looked at in different ways.
	for n := range 700 {
		for _, end := range []string{`"`, `\"`, `\\"`, `\\\"`, `\\\\"`, ``} {
			check(append(append(bytes.Repeat([]byte{'x'}, n), end...), `yyyyyyyyy"`...), 0)
			check(append(append(bytes.Repeat([]byte(`\"x`), n/3), end...), `yyyyyyyyy"`...), 0)
		}
	}
}
