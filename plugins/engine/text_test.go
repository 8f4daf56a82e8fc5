package engine_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
)

const answer = `{"items":[` +
	`{"id":1,"name":"one","body":"x","state":"open","n":5,"owner":{"login":"ann","id":7},"labels":[{"name":"bug"},{"name":"ui"}],"closed":null},` +
	`{"id":2,"name":"two","body":"y","state":"closed","n":50,"owner":{"login":"bob","id":8},"labels":[],"a.b":1}` +
	`],"total":2}`

func TestParseMask(t *testing.T) {
	f := func(mask, want string) {
		t.Helper()
		n, err := engine.ParseMask(mask)
		if err != nil {
			t.Fatalf("%s: %v", mask, err)
		}
		got, _, err := engine.Reference(nil, compile(t, &engine.Program{Root: n}), []byte(answer), engine.Limits{})
		if err != nil || string(got) != want {
			t.Fatalf("%s\ngot  %s %v\nwant %s", mask, got, err, want)
		}
	}
	f("total", `{"total":2}`)
	f("items(id, owner.login)", `{"items":[{"id":1,"owner":{"login":"ann"}},{"id":2,"owner":{"login":"bob"}}]}`)
	f("items.id,items/owner/login", `{"items":[{"id":1,"owner":{"login":"ann"}},{"id":2,"owner":{"login":"bob"}}]}`)
	f("items(owner,owner.login)", `{"items":[{"owner":{"login":"ann","id":7}},{"owner":{"login":"bob","id":8}}]}`)
	f("items(owner,-owner.id)", `{"items":[{"owner":{"login":"ann"}},{"owner":{"login":"bob"}}]}`)
	f("items.*.login", `{"items":[{"id":1,"name":"one","body":"x","state":"open","n":5,"owner":{"login":"ann"},"labels":[{},{}],"closed":null},{"id":2,"name":"two","body":"y","state":"closed","n":50,"owner":{"login":"bob"},"labels":[],"a.b":1}]}`)
	f("-items.body,-items.labels,-items.owner,-items.closed,-items.n", `{"items":[{"id":1,"name":"one","state":"open"},{"id":2,"name":"two","state":"closed","a.b":1}],"total":2}`)
	f("total,-items.body", `{"total":2}`)
	f("*,-items", `{"total":2}`)
	f("*,items.`a.b`", `{"items":[{},{"a.b":1}],"total":2}`)
	f("*", strings.ReplaceAll(answer, " ", ""))
	f("items(id,-*)", `{"items":[{"id":1},{"id":2}]}`)

	bad := func(mask, want string) {
		t.Helper()
		_, err := engine.ParseMask(mask)
		if !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), want) {
			t.Fatalf("%q: got %v, want %q", mask, err, want)
		}
	}
	bad("", "column 1: field mask: expected a name, got the end")
	bad("a,,b", "column 3")
	bad("a(b", "expected , or )")
	bad("a)", `unexpected ")"`)
	bad("-a(b)", "has no brackets")
	bad("`a", "no closing backquote")
	bad("\xff", "not UTF-8")
	bad(strings.Repeat("a.", engine.MaxTextDepth)+"a", "nested deeper")
	bad(strings.Repeat("a", engine.MaxName+1), "name of 513 bytes")
	bad(strings.Repeat(" ", engine.MaxText+1), "8193 bytes")
	if _, err := engine.ParseMask(strings.Repeat("a.", engine.MaxTextDepth-1) + "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.ParseMask(strings.Repeat("a", engine.MaxName) + strings.Repeat(" ", engine.MaxText-engine.MaxName)); err != nil {
		t.Fatal(err)
	}
}

func TestParseWhere(t *testing.T) {
	f := func(where string, want ...int) {
		t.Helper()
		w, err := engine.ParseWhere(where)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		n := &engine.Node{DropRest: true, Fields: []engine.Field{{Name: "items", Node: &engine.Node{Where: w, DropRest: true, Fields: []engine.Field{{Name: "id"}}}}}}
		got, _, err := engine.Reference(nil, compile(t, &engine.Program{Root: n}), []byte(answer), engine.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		var v struct{ Items []struct{ ID int } }
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatal(err)
		}
		var ids []int
		for _, i := range v.Items {
			ids = append(ids, i.ID)
		}
		if !reflect.DeepEqual(ids, want) {
			t.Fatalf("%s keeps %v, want %v", where, ids, want)
		}
	}
	f(`state == "open"`, 1)
	f(`state = 'open'`, 1)
	f(`state != "open"`, 2)
	f(`n > 5`, 2)
	f(`n >= 5.0 and n<=50`, 1, 2)
	f(`n < 5 or labels.name contains "u"`, 1)
	f(`labels.name == "ui"`, 1)
	f(`not (labels.name in ("bug", "x"))`, 2)
	f(`NOT labels.name in ("bug") AND id in (1,2)`, 2)
	f(`closed is null`, 1, 2)
	f(`closed exists`, 1)
	f(`owner is not null and owner.login startswith 'b'`, 2)
	f(`name matches "?n*" or owner.id == 8 and n == 1`, 1)
	f("`a.b` == 1", 2)
	f(`owner.login >= "ann" and owner.login < "b"`, 1)

	bad := func(where, want string) {
		t.Helper()
		_, err := engine.ParseWhere(where)
		if !problem.Is(err, problem.InvalidArgument) || !strings.Contains(err.Error(), want) {
			t.Fatalf("%q: got %v, want %q", where, err, want)
		}
	}
	bad("", "expected a name")
	bad("a", "expected an operator")
	bad("a == ", "expected a number")
	bad("a == 01", "expected a number")
	bad("a == 1 b", `unexpected "b"`)
	bad("a > true", "ordering needs a number or a string")
	bad(`a contains 1`, "text comparison needs a string")
	bad(`a == 'x`, "no closing quote")
	bad(`a == "\x"`, "JSON string")
	bad(`(a == 1`, "expected and, or, or )")
	bad(`a in 1`, "expected ( after in")
	bad(`a in (1 2)`, "expected , or )")
	bad(`a is 1`, "expected null")
	bad(strings.Repeat("(", engine.MaxTextDepth+1), "nested deeper")
	bad(strings.Repeat("a.", engine.MaxPath)+"a == 1", "path of more than")
}

// FuzzText: what the parsers accept compiles, or fails with a bound.
func FuzzText(f *testing.F) {
	for _, s := range []string{"a,b(c,-d.*)", "-a", "*", "`x``y`.z", `a == "x" and not b in (1,2) or c is null`, `a.b matches '*x'`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := engine.ParseMask(s); err == nil {
			p := compile(t, &engine.Program{Root: n})
			if err := engine.Check(p); err != nil {
				t.Fatal(err)
			}
			if n2, err := engine.ParseMask(s + "," + s); len(s) < engine.MaxText/2 && (err != nil || string(compile(t, &engine.Program{Root: n2})) != string(p)) {
				t.Fatalf("%q said twice means something else (%v)", s, err)
			}
		} else if problem.As(err) == nil {
			t.Fatalf("%q: %v", s, err)
		}
		if w, err := engine.ParseWhere(s); err == nil {
			p, err := engine.Compile(&engine.Program{Root: &engine.Node{Where: w}})
			if err == nil {
				err = engine.Check(p)
			}
			if err != nil && !strings.Contains(err.Error(), "predicate terms") {
				t.Fatalf("%q: %v", s, err)
			}
		} else if problem.As(err) == nil {
			t.Fatalf("%q: %v", s, err)
		}
	})
}
