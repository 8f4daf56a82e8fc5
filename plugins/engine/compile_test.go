package engine_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

func sha(b []byte) [32]byte { return sha256.Sum256(b) }

// TestCompileBounds tries each bound at its limit and one past it.
func TestCompileBounds(t *testing.T) {
	f := func(what string, ok bool, n *engine.Node) {
		t.Helper()
		p, err := engine.Compile(&engine.Program{Root: n})
		if (err == nil) != ok {
			t.Fatalf("%s: error %v, want one: %v", what, err, !ok)
		}
		if err == nil {
			if err := engine.Check(p); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	nFields := func(n int) *engine.Node {
		x := &engine.Node{}
		for i := range n {
			x.Fields = append(x.Fields, engine.Field{Name: fmt.Sprint("field", i)})
		}
		return x
	}
	f("fields", true, nFields(engine.MaxFields))
	f("fields", false, nFields(engine.MaxFields+1))
	name := func(n int) *engine.Node {
		return &engine.Node{Fields: []engine.Field{{Name: strings.Repeat("n", n)}}}
	}
	f("name", true, name(engine.MaxName))
	f("name", false, name(engine.MaxName+1))
	suffixes := func(n, l int) *engine.Node {
		x := &engine.Node{}
		for i := range n {
			x.DropSuffixes = append(x.DropSuffixes, fmt.Sprintf("%0*d", l, i))
		}
		return x
	}
	f("suffixes", true, suffixes(engine.MaxSuffixes, 2))
	f("suffixes", false, suffixes(engine.MaxSuffixes+1, 2))
	f("suffix", true, suffixes(1, engine.MaxSuffix))
	f("suffix", false, suffixes(1, engine.MaxSuffix+1))
	f("empty suffix", false, &engine.Node{DropSuffixes: []string{""}})
	where := func(p *engine.Predicate) *engine.Node { return &engine.Node{Where: p} }
	leaf := &engine.Predicate{Cmp: engine.CmpExists}
	terms := func(n int) *engine.Predicate {
		p := &engine.Predicate{}
		for range n - 1 {
			p.And = append(p.And, leaf)
		}
		return p
	}
	f("terms", true, where(terms(engine.MaxOps)))
	f("terms", false, where(terms(engine.MaxOps+1)))
	deep := func(n int) *engine.Predicate {
		p := leaf
		for range n - 1 {
			p = &engine.Predicate{Not: p}
		}
		return p
	}
	f("nesting", true, where(deep(engine.MaxOpDepth)))
	f("nesting", false, where(deep(engine.MaxOpDepth+1)))
	path := func(n int) *engine.Predicate {
		return &engine.Predicate{Cmp: engine.CmpExists, Path: make([]string, n)}
	}
	f("path", true, where(path(engine.MaxPath)))
	f("path", false, where(path(engine.MaxPath+1)))
	value := func(n int) *engine.Predicate {
		return &engine.Predicate{Cmp: engine.CmpEq, Value: `"` + strings.Repeat("v", n-2) + `"`}
	}
	f("value", true, where(value(engine.MaxValue)))
	f("value", false, where(value(engine.MaxValue+1)))

	f("field twice", false, &engine.Node{Fields: []engine.Field{{Name: "a"}, {Name: "a"}}})
	f("two kinds", false, where(&engine.Predicate{Not: leaf, Cmp: engine.CmpExists}))
	f("no kind", false, where(&engine.Predicate{}))
	f("order of a boolean", false, where(&engine.Predicate{Cmp: engine.CmpLt, Value: "true"}))
	f("prefix of a number", false, where(&engine.Predicate{Cmp: engine.CmpPrefix, Value: "1"}))
	f("bad literal", false, where(&engine.Predicate{Cmp: engine.CmpEq, Value: "01"}))
	f("unknown rule", false, &engine.Node{Rules: 1 << 9})
	if _, err := engine.Compile(&engine.Program{Output: 9}); err == nil {
		t.Fatal("unknown output is accepted")
	}
}

// TestCompileJoinsEqualNodes: the size of a table depends on what it says, not
// on how the caller built it.
func TestCompileJoinsEqualNodes(t *testing.T) {
	user := func() *engine.Node { return fields("login", "id").Root }
	apart := &engine.Program{Root: &engine.Node{Fields: []engine.Field{{Name: "a", Node: user()}, {Name: "b", Node: user()}}}}
	one := user()
	shared := &engine.Program{Root: &engine.Node{Fields: []engine.Field{{Name: "b", Node: one}, {Name: "a", Node: one}}}}
	if !bytes.Equal(compile(t, apart), compile(t, shared)) {
		t.Error("equal programs give other bytes")
	}
	// A list of comments with comments, unrolled once and not at all.
	loop := &engine.Node{Fields: []engine.Field{{Name: "text"}}, DropRest: true}
	loop.Fields = append(loop.Fields, engine.Field{Name: "replies", Node: loop})
	unrolled := &engine.Node{Fields: []engine.Field{{Name: "text"}, {Name: "replies", Node: loop}}, DropRest: true}
	if !bytes.Equal(compile(t, &engine.Program{Root: loop}), compile(t, &engine.Program{Root: unrolled})) {
		t.Error("an unrolled loop gives other bytes")
	}
}

// TestTableSize keeps tables small: a connector holds one for each tool.
func TestTableSize(t *testing.T) {
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("some_field_%d", i))
	}
	if n := len(compile(t, fields(names...))); n > 400 {
		t.Errorf("ten fields take %d bytes", n)
	}
}

// TestCheckRefuses changes each byte of a table: Check accepts only what a
// program can mean, and never panics.
func TestCheckRefuses(t *testing.T) {
	good := compile(t, &engine.Program{Root: &engine.Node{
		Fields: []engine.Field{{Name: "a", Node: fields("x", "y").Root}, {Name: "b"}}, DropSuffixes: []string{"_url"},
		Where: &engine.Predicate{And: []*engine.Predicate{{Cmp: engine.CmpEq, Path: []string{"a"}, Value: "1"}, {Cmp: engine.CmpPrefix, Value: `"p"`}}},
	}})
	refused := 0
	for i := range good {
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			b := bytes.Clone(good)
			if b[i] == v {
				continue
			}
			b[i] = v
			err := engine.Check(b)
			if err == nil {
				_, _, _ = engine.Reference(nil, b, []byte(`[{"a":[{"x":1,"y":2}],"b":"p","c_url":null}]`), engine.Limits{})
				continue
			}
			if !errors.Is(err, engine.ErrTable) {
				t.Fatalf("byte %d = %#x: %v", i, v, err)
			}
			refused++
		}
	}
	if refused < len(good) {
		t.Errorf("only %d of %d changes are refused", refused, 5*len(good))
	}
	for n := range good {
		if engine.Check(good[:n]) == nil {
			t.Fatalf("accepts the first %d bytes", n)
		}
	}
}

func TestReference(t *testing.T) {
	f := func(n *engine.Node, in, want string) {
		t.Helper()
		got, st, err := engine.Reference(nil, compile(t, &engine.Program{Root: n}), []byte(in), engine.Limits{})
		if err != nil || string(got) != want || st.In != uint64(len(in)) || st.Out != uint64(len(got)) {
			t.Fatalf("%s\ngot  %s %v\nwant %s", in, got, err, want)
		}
	}
	ab := fields("a", "b").Root
	f(nil, ` {"a" : [ 1 , 2.50 ] } `, `{"a":[1,2.50]}`)
	f(nil, "\xef\xbb\xbf[]", `[]`)
	f(ab, `{"c":1,"b":2,"a":3,"d":4}`, `{"b":2,"a":3}`)
	f(ab, `[[{"a":1}],{"x":0},5,"s"]`, `[[{"a":1}],{},5,"s"]`)
	f(ab, `{"a":1,"a":2}`, `{"a":1}`)
	f(ab, `{"\u0061":1,"b":"\ud800"}`, `{"\u0061":1,"b":"\ud800"}`)
	f(ab, `{"a":12345678901234567890.10,"b":1e+05}`, `{"a":12345678901234567890.10,"b":1e+05}`)
	f(&engine.Node{Rules: engine.DropNull | engine.DropEmpty | engine.DropFalse | engine.DropURL | engine.KeyLinks},
		`{"a":null,"b":"","c":{},"d":[ ],"e":false,"f":"https:\/\/x","g":"https://x is down","_links":{"self":1},"b_url":1,"h":0,"i":[null]}`,
		`{"g":"https://x is down","h":0,"i":[null]}`)
	f(&engine.Node{Fields: []engine.Field{{Name: "a", Exempt: true}, {Name: "c_url"}}, Rules: engine.DropNull | engine.KeyLinks},
		`{"a":null,"b":null,"c_url":1,"d_url":2}`, `{"a":null,"c_url":1}`)
	f(&engine.Node{MaxString: 10}, `["short","exactly 10","0123456789abcdefghijkl","ab\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"]`,
		`["short","exactly 10","0123456789…[+12]","ab\u00e9…[+30]"]`)
	f(&engine.Node{Offset: 1, Limit: 2}, `[1,2,3,4,[5,6,7,8]]`, `[2,3]`)
	f(&engine.Node{MaxNumbers: 2}, `{"a":[1,2]}`, `{"a":[1,2]}`)
	cap2 := &engine.Node{MaxNumbers: 2}
	f(cap2, `[0.25, -1e3 , 0.0625,0.125]`, `[0.25,-1e3,"…[+2]"]`)
	f(cap2, `[0.25,-1e3,0.0625]`, `[0.25,-1e3,0.0625]`) // no shorter
	f(cap2, `[0.25,-1e3,0.000000000625]`, `[0.25,-1e3,"…[+1]"]`)
	f(cap2, `[0.25,-1e3]`, `[0.25,-1e3]`) // at the cap
	f(cap2, `[[1.25,2.25,3.333333333,4.25],["x",2,3,444444444444444]]`, `[[1.25,2.25,"…[+2]"],["x",2,3,444444444444444]]`)

	lone := &engine.Node{Rules: engine.DropNull | engine.DropURL | engine.KeepLone, DropSuffixes: []string{"_url"}}
	f(lone, `{"id":null,"url" : "https://a/b","c_url": "https://c"}`, `{"url":"https://a/b","c_url":"https://c"}`)
	f(lone, `{"url":"https://a/b","id":1,"c_url":"https://c"}`, `{"id":1}`)
	f(lone, `{"c_url":"/relative"}`, `{}`)
	f(&engine.Node{Rules: engine.DropNull | engine.DropURL, Fields: []engine.Field{{Name: "a", KeepURL: true}, {Name: "b", KeepURL: true}}},
		`{"a":"https://a","b":null,"c":"https://c"}`, `{"a":"https://a"}`)
	f(lone, `{"a":"http://1","b":"http://2","c":"http://3","d":"http://4","e":"http://5"}`, `{"a":"http://1","b":"http://2","c":"http://3","d":"http://4"}`)
	f(&engine.Node{Where: &engine.Predicate{Not: &engine.Predicate{Cmp: engine.CmpEq, Path: []string{"s"}, Value: `"x"`}}},
		`[{"s":"x"},{"s":"\u0078"},{"s":["y","x"]},{"s":"y"},{}]`, `[{"s":"y"},{}]`)
	f(&engine.Node{Where: &engine.Predicate{Cmp: engine.CmpGt, Path: []string{"n"}, Value: `100`}},
		`[{"n":1e2},{"n":1.01e2},{"n":99999999999999999999},{"n":"200"},{"n":-101}]`, `[{"n":1.01e2},{"n":99999999999999999999}]`)

	p := compile(t, &engine.Program{Root: ab, Documents: engine.DocumentStream})
	for in, want := range map[string]string{
		"{\"a\":1,\"c\":2}\n{\"b\":3}\n": `[{"a":1},{"b":3}]`,
		"\x1e{\"a\":1}\n\x1e[1]\n":       `[{"a":1},[1]]`,
		`{}{}"x"1 2`:                     `[{},{},"x",1,2]`,
		"":                               `[]`,
	} {
		if got, _, err := engine.Reference(nil, p, []byte(in), engine.Limits{}); err != nil || string(got) != want {
			t.Errorf("stream %q gives %s %v, want %s", in, got, err, want)
		}
	}
}

// TestLargestInput: the default cap at its limit and one past it.
func TestLargestInput(t *testing.T) {
	in := bytes.Repeat([]byte(" "), engine.DefaultMaxInput+1)
	copy(in, `{"a":1,"b":[2]}`)
	p := compile(t, fields("b"))
	if out, _, err := engine.Reference(nil, p, in[:engine.DefaultMaxInput], engine.Limits{}); err != nil || string(out) != `{"b":[2]}` {
		t.Errorf("at the limit: %.50s %v", out, err)
	}
	if _, _, err := engine.Reference(nil, p, in, engine.Limits{}); err != engine.ErrTooLarge {
		t.Errorf("one past the limit: %v", err)
	}
}

func TestReferenceErrors(t *testing.T) {
	f := func(n *engine.Node, in string, lim engine.Limits, want error) {
		t.Helper()
		got, _, err := engine.Reference([]byte("kept"), compile(t, &engine.Program{Root: n}), []byte(in), lim)
		if err != want || string(got) != "kept" {
			t.Fatalf("%q: got %q %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", " ", "{", "[1,]", "{,}", `{"a"}`, `{"a":}`, "nul", "NaN", "01", "1.", "-", "+1", "'a'", "\"\n\"", `"\x"`, `"\u12"`, "<html>", "{} {}", "1 2", "\x00", `{"a":1]`} {
		f(nil, in, engine.Limits{}, engine.ErrNotJSON)
	}
	f(nil, "[[[]]]", engine.Limits{MaxDepth: 2}, engine.ErrDepth)
	f(nil, "[1,2]", engine.Limits{MaxInput: 4}, engine.ErrTooLarge)
	f(nil, "[1,2]", engine.Limits{Fuel: 2}, engine.ErrFuel)
	for _, lim := range []engine.Limits{{MaxDepth: 1}, {MaxInput: 5}, {Fuel: 3}} { // exactly enough
		if _, _, err := engine.Reference(nil, compile(t, &engine.Program{}), []byte("[1,2]"), lim); err != nil {
			t.Errorf("%+v: %v", lim, err)
		}
	}
}

// TestEqualPredicates: nodes that differ share a predicate, so that many of them stay below
// what a program holds.
func TestEqualPredicates(t *testing.T) {
	where := &engine.Predicate{Or: []*engine.Predicate{{Cmp: engine.CmpEq, Path: []string{"rel"}, Value: `"next"`}, {Not: &engine.Predicate{Cmp: engine.CmpExists, Path: []string{"rel"}}}}}
	root := &engine.Node{}
	for i := range engine.MaxOps {
		name := fmt.Sprintf("m%d", i)
		root.Fields = append(root.Fields, engine.Field{Name: name, Node: &engine.Node{Where: where, Fields: []engine.Field{{Name: name, Drop: true}}}})
	}
	table, err := engine.Compile(&engine.Program{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := engine.Reference(nil, table, []byte(`{"m0":[{"rel":"self"},{"rel":"next","m0":1}],"m7":[{"m7":1,"x":2},{"rel":"up"}]}`), engine.Limits{})
	if err != nil || string(out) != `{"m0":[{"rel":"next"}],"m7":[{"x":2}]}` {
		t.Errorf("%s, %v", out, err)
	}
}
