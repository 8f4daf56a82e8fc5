package compress

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestTwins: what the reader guesses by the value before spares work and changes nothing.
func TestTwins(t *testing.T) {
	guessed := 0
	for seed := range uint64(500) {
		g := newGenerator(seed)
		doc := g.document()
		if seed%2 == 0 {
			doc = jsonscan.AppendMinified(nil, doc)
		}
		var with, without encoder
		with.reset(nil)
		without.reset(nil)
		if !with.build(doc) || !without.build(doc) {
			t.Fatalf("seed %d cannot be read: %.200s", seed, doc)
		}
		for i := range without.nodes {
			n := &without.nodes[i]
			if n.flags&twinKeys != 0 {
				guessed++
			}
			n.twin, n.flags = -1, n.flags&^twinKeys
		}
		if !with.nodes[0].container() || with.nodes[0].size == 0 {
			continue
		}
		a, b := with.document(), without.document()
		if a != b || string(with.out) != string(without.out) {
			t.Fatalf("seed %d: with guesses\n%s\nwithout\n%s\nof %s", seed, with.out, without.out, doc)
		}
	}
	if guessed < 2500 {
		t.Errorf("the keys of only %d objects were guessed", guessed)
	}
}

// TestStringFlags: a string is seen alike whether it is walked or searched, wherever the
// byte stands that decides.
func TestStringFlags(t *testing.T) {
	plain := func(s string) nodeFlags {
		if strings.Contains(s, `\`) {
			return escaped
		}
		var f nodeFlags
		if strings.Contains(s, " ") {
			f |= blanks
		}
		if s != "" && !strings.ContainsAny(s, ")]}") && !strings.ContainsAny(s[:1], `"([{=!# `) && !strings.HasSuffix(s, " ") && s != "1" {
			f |= bare
		}
		return f
	}
	for _, n := range []int{0, 1, 2, 15, longString - 2, longString - 1, longString, longString + 1, longString + 15, 3 * longString} {
		for _, odd := range []string{"", " ", ")", "]", "}", "(", "[", "=", "#", `\"`, `\\`, `\\\"`, `\u0041`, "é", "1"} {
			for _, at := range []int{0, 1, n / 2, n - 1, n} {
				if at < 0 || at > n {
					continue
				}
				s := strings.Repeat("x", at) + odd + strings.Repeat("y", n-at)
				var tr tree
				if !tr.build([]byte(`{"k":"`+s+`","z":")"}`)) || len(tr.nodes) != 3 {
					t.Fatalf("%q: %d values", s, len(tr.nodes))
				}
				if got := string(tr.raw(&tr.nodes[1])); got != s {
					t.Errorf("%q is read as %q", s, got)
				}
				if got := tr.nodes[1].flags; got != plain(s) {
					t.Errorf("%q has the flags %b, want %b", s, got, plain(s))
				}
			}
		}
	}
	var tr tree
	for _, s := range []string{`"`, `"a`, `"a\`, `"a\"`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":"`, `["` + strings.Repeat("x", 3*longString), `["` + strings.Repeat(`\"`, longString)} {
		if tr.build([]byte(s)) {
			t.Errorf("%.20q… is read as JSON", s)
		}
	}
}

// TestLongStringsStayJSON: where table text leaves out a few bytes of a long string, no
// text is counted; the same few bytes of a short document are worth a count.
func TestLongStringsStayJSON(t *testing.T) {
	doc := func(n int) []byte {
		return []byte(`{"items":[{"id":1,"body":"` + strings.Repeat("word ", n) + `"},{"id":2,"body":""}],"next_page_of_all":null}`)
	}
	for n, counted := range map[int]bool{10: true, 4000: false} {
		if _, form, c := choose(nil, doc(n), Auto, &Estimated); counted != (c >= 0) || !counted && form != JSON {
			t.Errorf("a string of %d words is written as %s, %d tokens", n, form, c)
		}
	}
}

// TestBegins finds the next member of a twin by its key, of any length, and by nothing else.
func TestBegins(t *testing.T) {
	for k := range 14 {
		key := strings.Repeat("k", k)
		twin := `{"x":0,"` + key + `":1,"more":"and more"}`
		for next, same := range map[string]bool{
			`,"` + key + `":2}`: k <= 12, `,"` + key + `" :2}`: false, `, "` + key + `":2}`: false,
			`,"` + key + `k":2}`: false, `,"` + key + `"}:2}`: false, `}"` + key + `":2}`: false, `,'` + key + `":2}`: false,
		} {
			b := []byte(twin + next + "                ")
			if got := begins(b, len(twin), 8, k); got != same {
				t.Errorf("%s after %s: %v", next, twin, got)
			}
			if begins([]byte(twin+next), len(twin), 8, k) && !same {
				t.Errorf("%s at the end", next)
			}
		}
		if k > 0 {
			b := []byte(twin + `,"` + key[1:] + `l":2} and what follows`)
			if begins(b, len(twin), 8, k) {
				t.Errorf("%s: another key", b)
			}
		}
	}
}
