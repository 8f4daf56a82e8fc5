package jscalls

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func told(s *Script) string {
	var out []string
	for _, c := range s.Calls {
		one := c.Path
		switch {
		case c.Known && c.Open:
			one += fmt.Sprint(c.Names, "…")
		case c.Known:
			one += fmt.Sprint(c.Names)
		case c.Made:
			one += "(?)"
		}
		out = append(out, one)
	}
	if s.Dynamic {
		out = append(out, "dynamic")
	}
	if s.Own {
		out = append(out, "own")
	}
	return strings.Join(out, " ")
}

func TestFind(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{`await tools.shop.list({state: "open", 'page': 1, [k]: 2, ...rest})`, "shop.list[state page]…"},
		{`tools.shop.get({id})`, "shop.get[id]"},
		{`tools.shop.get({id, body: {a: [1, {b: 2}], c: f(1, 2)}, q: x => ({y: 1})}, 2)`, "shop.get[id body q]"},
		{`tools.shop.list()`, "shop.list[]"},
		{`tools["shop"]["list"]({})`, "shop.list[]"},
		{`tools.list(a)`, "list(?)"},
		{`ids.map(tools.shop.get)`, "shop.get"},
		{`tools.shop.get?.({a: 1})`, "shop.get"},
		{`tools.shop.get({get a() { return 1 }, async b() {}, c: 1})`, "shop.get[c]…"},
		{`tools.shop.get({get: 1, async: 2})`, "shop.get[get async]"},
		{"// tools.a.b()\n/* tools.c.d() */ 'tools.e.f()'; tools.g.h({})", "g.h[]"},
		{"`x ${tools.a.b({x: `${tools.c.d({y: 1})}`})} y`", "a.b[x] c.d[y]"},
		{`x = /tools.a.b({})[/]/.test(s) / tools.c.d({})`, "c.d[]"},
		{`return /tools.a.b()/g`, ""},
		{`const {shop} = tools; shop.list({})`, "dynamic"},
		{`const s = tools.shop; s.list()`, "dynamic"},
		{`for (const g of Object.keys(tools)) tools[g].x()`, "dynamic"},
		{`const tools = {a: {b() {}}}; tools.a.b({z: 1})`, "dynamic own"},
		{`[1].map((tools) => tools.a.b())`, "dynamic own"},
		{`x.tools.a.b({}); y = {tools: 1}`, ""},
		{`tools.a.b({x: 1`, "a.b(?)"},
		{"tools.a.b({x: 'a\nb'})", "a.b(?)"},
		{`tools.a.b({1: 2})`, "a.b[]…"},
	} {
		if got := told(Find(tt.code)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.code, got, tt.want)
		}
	}
	s := Find("let a = 1;\n  tools.x.y({}); args.id + args['long name'] + args.id + b.args.no")
	if c := s.Calls[0]; c.Line != 2 || c.Column != 3 {
		t.Errorf("the call stands at %d:%d", c.Line, c.Column)
	}
	if !reflect.DeepEqual(s.Arguments, []string{"id", "long name"}) {
		t.Errorf("arguments %q", s.Arguments)
	}
}

// TestFindBounds: at the bounds everything is found, past them the script says that there is
// more.
func TestFindBounds(t *testing.T) {
	many := func(n int) *Script { return Find(strings.Repeat("tools.a.b();", n)) }
	if s := many(MaxCalls); len(s.Calls) != MaxCalls || s.Dynamic {
		t.Errorf("%d calls, dynamic %t", len(s.Calls), s.Dynamic)
	}
	if s := many(MaxCalls + 1); len(s.Calls) != MaxCalls || !s.Dynamic {
		t.Errorf("%d calls, dynamic %t", len(s.Calls), s.Dynamic)
	}
	nested := func(n int) *Script {
		return Find(strings.Repeat("`${", n) + "tools.a.b()" + strings.Repeat("}`", n))
	}
	if s := nested(maxTemplates); len(s.Calls) != 1 || s.Dynamic {
		t.Error(told(s))
	}
	if s := nested(maxTemplates + 1); len(s.Calls) != 0 || !s.Dynamic {
		t.Error(told(s))
	}
}

func TestReplace(t *testing.T) {
	for _, tt := range []struct {
		code, value, want string
		count             int
	}{
		{`f({state: "open", x: 'open', y: "opened"})`, `"open"`, `f({state: args.p, x: args.p, y: "opened"})`, 2},
		{"f(`open`, `open ${1}`)", `"open"`, "f(args.p, `open ${1}`)", 1},
		{`f({5: 5, a: 55, b: 5.5, c: x5, d: 5})`, `5`, `f({5: args.p, a: 55, b: 5.5, c: x5, d: args.p})`, 2},
		{`f(true, x.true, "true")`, `true`, `f(args.p, x.true, "true")`, 1},
		{`o["open"]; ({"open": 1})`, `"open"`, `o["open"]; ({"open": 1})`, 0},
		{`a // open "open"`, `"open"`, `a // open "open"`, 0},
	} {
		got, count := Replace(tt.code, json.RawMessage(tt.value), "args.p")
		if got != tt.want || count != tt.count {
			t.Errorf("%s with %s: %d %s", tt.code, tt.value, count, got)
		}
	}
}

// FuzzFind: a script is untrusted.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"tools.a.b({c:1})", "`${`${tools.a.b()}`}`", "/[/]/", "'\\", "tools[", "args.x"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, code string) {
		s := Find(code)
		_ = slices.Clone(s.Calls)
		Replace(code, json.RawMessage(`"a"`), "b")
	})
}
