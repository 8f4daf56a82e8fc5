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
		for i := range without.boxes {
			x := &without.boxes[i]
			n := &without.nodes[x.id]
			if n.flags&twinKeys != 0 {
				guessed++
			}
			x.twin, n.flags = -1, n.flags&^twinKeys
		}
		if with.nodes[0].flags&filled == 0 {
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

// sameTree fails where two readers of a document see different values.
func sameTree(t *testing.T, got, want *tree) {
	t.Helper()
	if len(got.nodes) != len(want.nodes) || len(got.boxes) != len(want.boxes) {
		t.Fatalf("%d values in %d containers, want %d in %d: %.500s", len(got.nodes), len(got.boxes), len(want.nodes), len(want.boxes), want.b)
	}
	for i := range want.nodes {
		x, y := &got.nodes[i], &want.nodes[i]
		same := x.start == y.start && x.end == y.end && x.kind == y.kind && x.next == y.next && x.flags&^twinKeys == y.flags&^twinKeys
		if same && x.container() {
			a, b := got.boxOf(x), want.boxOf(y)
			same = a.id == b.id && a.in == b.in && a.size == b.size && a.end == b.end && a.tail == b.tail
		}
		if !same || string(got.name(x)) != string(want.name(y)) {
			t.Fatalf("value %d is %+v, want %+v, of %.500s", i, *x, *y, want.b)
		}
	}
}

// TestAgain: an object that is read by the one before it is what it is when it is read by itself,
// with the marks of vector instructions and without.
func TestAgain(t *testing.T) {
	read := func(doc []byte, credit int8, marks bool) *tree {
		tr := &tree{b: doc}
		if marks {
			tr.marks = jsonscan.AppendMarks(nil, doc)
		}
		if !tr.read(credit) {
			t.Fatalf("cannot be read: %.500s", doc)
		}
		return tr
	}
	check := func(doc []byte) {
		t.Helper()
		want := read(doc, 0, false)
		sameTree(t, read(doc, firstCredit, false), want)
		sameTree(t, read(doc, firstCredit, true), want)
	}
	for seed := range uint64(1000) {
		g := newGenerator(seed)
		doc := g.document()
		check(doc)
		check(jsonscan.AppendMinified(nil, doc))
		check(g.uniform())
	}
	// It is read so: of like objects all is found, of others nothing.
	for second, want := range map[string]bool{`{"a":22,"b":["y z"]}`: true, `{"a":null,"b":["y"]}`: true, `{"a":2,"b":["y","z"]}`: false, `{"a":2,"c":["y"]}`: false, `{"a":[],"b":["y"]}`: false} {
		first := `[{"a":1,"b":["x"]},`
		tr := read([]byte(first+second+"]"), 0, true)
		whole := len(tr.nodes)
		tr.nodes, tr.boxes = tr.nodes[:5], tr.boxes[:3]
		end := tr.again(1, len(first))
		if want && (end != len(first)+len(second) || len(tr.nodes) != whole) || !want && (end != 0 || len(tr.nodes) != 5) {
			t.Errorf("%s is read again until %d, %d values", second, end, len(tr.nodes))
		}
	}
	// What stands between two values is compared to its last byte, of any length, at the end of
	// the document too.
	values := []string{`1`, `-2.5e3`, `true`, `null`, `""`, `"a"`, `"a b"`, `"a\"b"`, `"x)"`, `[]`, `{}`, `[1]`, `{"k":1}`, `"` + strings.Repeat("long ", 20) + `"`}
	for n := range 24 {
		name := strings.Repeat("n", n)
		for _, first := range values {
			for _, second := range values {
				check([]byte(`[{"` + name + `":` + first + `,"m":{"o":[` + first + `]}},{"` + name + `":` + second + `,"m":{"o":[` + second + `]}},{"` + name + `":` + second + `}]`))
				check([]byte(`[{"` + name + `": ` + first + `},{"` + name + `":` + second + ` },{"` + name + `":` + second + `}]`))
			}
		}
		for at := range name {
			other := name[:at] + "m" + name[at+1:]
			check([]byte(`[{"` + name + `":1,"` + other + `":"2"},{"` + other + `":1,"` + name + `":"2"},{"` + name + `":1,"` + name + `":"2"}]`))
		}
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
