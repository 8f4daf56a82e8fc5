package guest

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestSubset: a part of a document is one without members and items, in any order and with
// other values of the same types.
func TestSubset(t *testing.T) {
	f := func(in, out, want string) {
		t.Helper()
		p := &Package{Manifest: &manifest.Manifest{Kind: manifest.Filter}}
		err := p.CheckEffect([]byte(in), []byte(out), true)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s of %s: %v, want %q", out, in, err, want)
		}
	}
	f(`{"a":1,"b":{"c":"x"}}`, `{"b":{}}`, "")
	f(`{"a":1}`, `{}`, "")
	f(`{"mail":"ada@example.com"}`, `{"mail":"***"}`, "")
	f(`[{"a":1},{"b":2},{"a":3}]`, `[{"b":2},{"a":3}]`, "")
	f(`[{"a":1},{"b":2}]`, `[{"b":2},{"a":1}]`, "")
	f(`{"a\u0062":1}`, `{"ab":2}`, "")
	f(`{"ab":1}`, `{"a\u0062":2}`, "")
	f(`{"x":[1,null]}`, `{"x":[null]}`, "")
	f(`{"a":1}`, `{"a":1,"b":2}`, "/b is a member that did not come")
	f(`{"a":{"b":1}}`, `{"a":{"c":1}}`, "/a/c is a member that did not come")
	f(`{"a":1}`, `{"a":"1"}`, "/a is a value of the type string")
	f(`{"a":1}`, `{"a":null}`, "/a is a value of the type null")
	f(`{"a":1}`, `[]`, "it is a value of the type array")
	f(`[1]`, `[1,2]`, "it has 2 items, more than the 1 that came")
	f(`[]`, `[1]`, "/* is a value of the type number")
	f(`{"a":1}`, `{"`+strings.Repeat("x", 2*maxWhere)+`":1}`, strings.Repeat("x", maxWhere-1)+" is a member")
	p := &Package{Manifest: &manifest.Manifest{Kind: manifest.Filter, Output: &manifest.Output{Effect: manifest.EffectReplace, Schema: []byte(`{"type":"object","required":["n"]}`)}}}
	if err := p.CheckEffect([]byte(`[]`), []byte(`{"n":1}`), true); err != nil {
		t.Error(err)
	}
	if err := p.CheckEffect([]byte(`[]`), []byte(`{}`), true); err == nil || !strings.Contains(err.Error(), "does not follow its schema") {
		t.Error(err)
	}
	if err := p.CheckEffect([]byte(`[]`), []byte(`{}`), false); err != nil {
		t.Errorf("of metadata: %v", err)
	}
}

func BenchmarkSubset(b *testing.B) {
	in := []byte(`{"items":[` + strings.Repeat(`{"id":1,"name":"Ada","mail":"ada@example.com","tags":["a","b"],"owner":{"id":2,"name":"x"}},`, 300) + `{"id":1}]}`)
	out := []byte(`{"items":[` + strings.Repeat(`{"id":1,"name":"Ada"},`, 300) + `{"id":1}]}`)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if err := subset(in, out); err != nil {
			b.Fatal(err)
		}
	}
}
