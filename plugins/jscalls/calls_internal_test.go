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
	if !reflect.DeepEqual(s.Arguments, []Argument{{"id", false}, {"long name", false}}) {
		t.Errorf("arguments %v", s.Arguments)
	}
}

// TestFindArguments: what a script reads of its arguments, and what it can do without.
func TestFindArguments(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{`return args.id`, "id"},
		{`return args.n ?? 2`, "n?"},
		{`return args.n || 2`, "n?"},
		{`args.n && f(args.n)`, "n?"},
		{`args.n | 2`, "n"},
		{`args.n ? 1 : 2`, "n?"},
		{`args?.n`, "n?"},
		{`args.o?.p`, "o?"},
		{`if (args.n) f()`, "n?"},
		{`if (!args["n"]) f()`, "n?"},
		{`typeof args.n === 'string'`, "n?"},
		{`args.n === undefined`, "n?"},
		{`args.n != null`, "n?"},
		{`args.n === 2`, "n"},
		{`f(args.n); const n = args.n ?? 1`, "n?"},
		{"`${args.a}${args.b ?? ''}`", "a b?"},
		{`const {id, n = 2, c: d, 'e f': g = [1, {h: 2}], i: {j}} = args`, "id n? c e f? i"},
		{`const {id, ...rest} = args`, "id …"},
		{`async ({id, n = 2} = {}) => tools.a.b({id, n})`, "id n?"},
		{`({id}) => id`, "id"},
		{`async ({id, n}) => tools.a.b({id, n: n ?? 1})`, "id n?"},
		{`const {id, n: many} = args; return many || id`, "id n?"},
		{`({n}) => x.n ?? 1`, "n"},
		{`export default async function main({id}) { return id }`, "id"},
		{`async (input) => input.id + input.args`, "id args"},
		{`(args) => args.id`, "id"},
		{`(args, _) => args.id`, "id"},
		{`input => input?.id`, "id?"},
		{`function f(x) { return x.id }`, "id"},
		{"(x) => `${x.id}`", "id"},
		{`(async () => args.id)()`, "id"},
		{`tools.a.b(args)`, "…"},
		{`tools.a.b({...args, id: args.id})`, "… id"},
		{`const args = {a: 1}; args.a`, "a"},
		{`x.args.id; y = {args: 1}`, ""},
		{`[{id: 1}].map(({id}) => id)`, ""},
		{`= args`, "…"},
		{`}= args`, "…"},
		{`{a`, ""},
		{`({a`, ""},
	} {
		s, got := Find(tt.code), []string{}
		if s.OpenArguments {
			got = append(got, "…")
		}
		for _, a := range s.Arguments {
			if a.Optional {
				a.Name += "?"
			}
			got = append(got, a.Name)
		}
		want := strings.Fields(strings.ReplaceAll(tt.want, "e f?", "e_f?"))
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], " ", "_")
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", tt.code, got, want)
		}
	}
	for n, open := range map[int]bool{maxPattern: false, maxPattern + 1: true} {
		// {a,a,…} = args, with n tokens between the braces and the first of them
		if s := Find("const {" + strings.Repeat("a,", n/2) + strings.Repeat("a", n%2) + "} = args"); s.OpenArguments != open {
			t.Errorf("%d tokens: open %t", n, s.OpenArguments)
		}
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
	for _, s := range []string{"tools.a.b({c:1})", "`${`${tools.a.b()}`}`", "/[/]/", "'\\", "tools[", "args.x", "({a = 1}) => a", "const {a, ...b} = args ?? args.c"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, code string) {
		s := Find(code)
		_ = slices.Clone(s.Calls)
		Replace(code, json.RawMessage(`"a"`), "b")
	})
}
