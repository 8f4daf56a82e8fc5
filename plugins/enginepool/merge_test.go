package enginepool

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/sluicegate/sluice/plugins/engine"
)

// TestMergeAgrees compares one merged pass with two passes on generated programs
// and inputs, and a table read back with the one it was read from.
func TestMergeAgrees(t *testing.T) {
	merged := 0
	for seed := range uint64(12000 / rounds) {
		p, q := randomProgram(seed), randomProgram(seed*31+7)
		q.Documents = engine.OneDocument
		if mergeAgrees(t, p, q, randomJSON(seed)) {
			merged++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if merged < 1000/rounds {
		t.Fatalf("only %d pairs could be merged", merged)
	}
}

// mergeAgrees reports whether the pair was merged and could be compared.
func mergeAgrees(t *testing.T, p, q *engine.Program, in []byte) bool {
	t.Helper()
	first, err := engine.Compile(p)
	if err != nil {
		return false
	}
	second, err := engine.Compile(q)
	if err != nil {
		return false
	}
	back, err := engine.Decompile(first)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := engine.Compile(back); err != nil || !bytes.Equal(again, first) {
		t.Errorf("a table read back compiles to another: %v", err)
	}
	m, err := engine.Merge(p, q)
	if err != nil {
		if !errors.Is(err, engine.ErrMerge) {
			t.Error(err)
		}
		return false
	}
	one, err := engine.Compile(m)
	if err != nil {
		return false // past a bound of tables
	}
	if p.Documents == engine.OneDocument && !json.Valid(in) {
		return false // how far a fault is seen depends on what is looked at
	}
	mid, _, err := engine.Reference(nil, first, in, engine.Limits{})
	if err != nil || !json.Valid(mid) {
		return false
	}
	want, _, err := engine.Reference(nil, second, mid, engine.Limits{})
	if err != nil {
		return false
	}
	got, _, err := engine.Reference(nil, one, in, engine.Limits{})
	if errors.Is(err, engine.ErrNotJSON) && p.Documents == engine.DocumentStream {
		return false // a literal that is left out swallows a document that touches it
	}
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s\nfirst gives %s\nmerged %s, %v\nwant   %s", in, mid, got, err, want)
	}
	return true
}

func TestMergeCases(t *testing.T) {
	f := func(first, second, in, want string) {
		t.Helper()
		a, err := engine.ParseMask(first)
		if err != nil {
			t.Fatal(err)
		}
		b, err := engine.ParseMask(second)
		if err != nil {
			t.Fatal(err)
		}
		m, err := engine.Merge(&engine.Program{Root: withLimit(a)}, &engine.Program{Root: b})
		if err != nil {
			t.Fatal(err)
		}
		program, err := engine.Compile(m)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := engine.Reference(nil, program, []byte(in), engine.Limits{})
		if err != nil || string(got) != want {
			t.Fatalf("%s then %s on %s: %s, %v; want %s", first, second, in, got, err, want)
		}
	}
	f("-b", "a,b", `[{"a":1,"b":2},{"a":3},{"a":4}]`, `[{"a":1},{"a":3}]`)
	f("a,b", "*,-b", `[{"a":1,"b":2,"c":3}]`, `[{"a":1}]`)
	f("user.id,user.name", "user(name,url)", `[{"user":{"id":1,"name":"n","url":"u"}}]`, `[{"user":{"name":"n"}}]`)
}

// withLimit keeps two rows.
func withLimit(n *engine.Node) *engine.Node {
	c := *n
	c.Limit = 2
	return &c
}

// FuzzMerge compares one merged pass with two.
func FuzzMerge(f *testing.F) {
	f.Add(uint64(1), uint64(2), []byte(`[{"a":1,"b":[null,{"a":"http://x"}]}]`))
	f.Fuzz(func(t *testing.T, p, q uint64, in []byte) {
		second := randomProgram(q)
		second.Documents = engine.OneDocument
		mergeAgrees(t, randomProgram(p), second, in)
	})
}

// TestOver lays masks over a default projection.
func TestOver(t *testing.T) {
	user := &engine.Node{DropSuffixes: []string{"_url"}}
	def := &engine.Node{Rules: engine.DropNull, DropSuffixes: []string{"_url"}, Fields: []engine.Field{
		{Name: "secret", Drop: true}, {Name: "user", Node: user},
	}}
	def.Rest = def
	const in = `[{"id":1,"gone":null,"html_url":"h","secret":5,"user":{"id":2,"a_url":"u"},"x":{"y_url":1,"z":2}}]`
	f := func(mask, want string) {
		t.Helper()
		m, err := engine.ReadMask(mask)
		if err != nil {
			t.Fatal(err)
		}
		program, err := engine.Compile(&engine.Program{Root: m.Over(def)})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := engine.Reference(nil, program, []byte(in), engine.Limits{})
		if err != nil || string(got) != want {
			t.Fatalf("%s: %s, %v; want %s", mask, got, err, want)
		}
	}
	f("*", in)
	f("id,html_url", `[{"id":1,"html_url":"h"}]`)
	f("gone,secret", `[{"gone":null,"secret":5}]`)
	f("user", `[{"user":{"id":2}}]`)
	f("user.*", `[{"user":{"id":2,"a_url":"u"}}]`)
	f("user(id,a_url)", `[{"user":{"id":2,"a_url":"u"}}]`)
	f("-user", `[{"id":1,"x":{"z":2}}]`)
	f("-x.z", `[{"id":1,"user":{"id":2},"x":{}}]`)
	f("*,-user", `[{"id":1,"gone":null,"html_url":"h","secret":5,"x":{"y_url":1,"z":2}}]`)
	f("x,-x.z", `[{"x":{}}]`)
}
