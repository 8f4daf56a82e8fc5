package javascript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

func newHost(t testing.TB, grace time.Duration) *extism.Host {
	t.Helper()
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// serve builds a program and loads it as a gateway does; packed and bind are its halves.
func serve(t testing.TB, h *extism.Host, source string, change func(*manifest.Manifest)) *guest.Plugin {
	t.Helper()
	p := packed(t, source, change)
	return bind(t, h, p, `{}`)
}

func packed(t testing.TB, source string, change func(*manifest.Manifest)) *guest.Package {
	t.Helper()
	m := manifest.Manifest{FormatVersion: 1, Kind: manifest.Filter, Name: "test", Version: "1.0.0", Config: json.RawMessage(`{"type":"object"}`), Limits: &manifest.Limits{DeadlineMS: 5000}}
	if change != nil {
		change(&m)
	}
	k := Kind{Entry: "transform_response", Text: m.Output != nil && m.Output.Effect == manifest.EffectText, Memory: m.Limits.MemoryBytes}
	switch m.Kind {
	case manifest.Workflow:
		k.Entry = workflowEntry
	case manifest.Auth:
		k.Entry = authEntry
	}
	code, err := Build(t.Context(), []byte(source), k)
	if err != nil {
		t.Fatal(err)
	}
	if code, err = module.AppendCustom(nil, code, manifest.Section, m.Append(nil)); err != nil {
		t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bind(t testing.TB, h *extism.Host, p *guest.Package, config string) *guest.Plugin {
	t.Helper()
	g, err := guest.Load(h, p, guest.Options{Policy: guest.AuthorPolicy(p), Config: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func text(m *manifest.Manifest) { m.Output = &manifest.Output{Effect: manifest.EffectText} }

// replace lets a program answer what it likes.
func replace(m *manifest.Manifest) {
	m.Output = &manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{}`)}
}

func workflow(m *manifest.Manifest) {
	m.Kind, m.Capabilities = manifest.Workflow, &manifest.Capabilities{Tools: []string{"first", "second"}}
	m.Tool = &manifest.OfferedTool{Name: "x", Description: "x", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

// TestPrograms: what programs make of what they are given.
func TestPrograms(t *testing.T) {
	h := newHost(t, 10*time.Second)
	cases := []struct {
		name, source string // of a function
		kind, golden string
	}{
		{"a value", `a => ({n: a.items.length})`, "", `{"input":{"items":[1,2]},"output":{"n":2}}`},
		{"an async function", `async a => { await null; return [a] }`, "", `{"input":1,"output":[1]}`},
		{
			"whole numbers beyond 2^53", `a => a`, "",
			`{"input":{"a":12345678901234567890,"b":[-9007199254740993,9007199254740991],"s":"\u00000:12345678901234567","t":"\"9007199254740993"},` +
				`"output":{"a":12345678901234567890,"b":[-9007199254740993,9007199254740991],"s":"\u00000:12345678901234567","t":"\"9007199254740993"}}`,
		},
		{"they are BigInts", `a => [typeof a[0], typeof a[1], a[0] + 1n]`, "", `{"input":[9007199254740993,9007199254740991],"output":["bigint","number",9007199254740994]}`},
		{"in members of odd names", `a => a`, "", `{"input":{"__proto__":9007199254740993,"":9007199254740995},"output":{"__proto__":9007199254740993,"":9007199254740995}}`},
		{"strings", `a => a`, "", `{"input":"\ud83d\ude00 \u0000 ü","output":"\ud83d\ude00 \u0000 ü"}`},
		{"the configuration", `(a, call) => [call.config.mask, call.config.deep.a, call.config === call.config]`, "", `{"input":1,"output":["***",[1],true]}`},
		{
			"the context", `(a, c) => [c.tool, c.operation, c.status, c.contentType, c.inputType, c.part, c.arguments]`, "",
			`{"context":{"tool":"get_pet","operation":"GET /pets/{id}","status":206,"contentType":"application/json; charset=utf-8","arguments":{"id":7}},` +
				`"input":1,"output":["get_pet","GET /pets/{id}",206,"application/json; charset=utf-8","application/json","answer",{"id":7}]}`,
		},
		{"no tools in a filter", `() => [typeof tools, typeof ToolError]`, "", `{"input":1,"output":["undefined","undefined"]}`},
		{"text out of JSON", `a => "# " + a.title`, "text", `{"input":{"title":"x"},"outputText":"# x"}`},
		{"text in, text out", `s => s.toUpperCase()`, "", `{"context":{"inputType":"text/plain"},"inputText":"straße €","outputText":"STRASSE €"}`},
		{"bytes", `b => b.map(x => x + 1)`, "", `{"context":{"inputType":"image/png"},"inputText":"HAL","outputText":"IBM"}`},
		{"a failure", `a => { throw new TypeError("no " + a.pet) }`, "", `{"input":{"pet":"ü"},"error":"no ü"}`},
		{"something else thrown", `() => { throw 7 }`, "", `{"input":1,"error":"7"}`},
		{"nothing", `() => {}`, "", `{"input":1,"error":"the plugin returned nothing: return the answer"}`},
		{"a promise for ever", `() => new Promise(() => {})`, "", `{"input":1,"error":"the plugin awaits a promise that nothing settles"}`},
		{"recursion", `() => { const f = () => f() + 1; return f() }`, "", `{"input":1,"error":"Maximum call stack size exceeded"}`},
		{"memory", `() => "x".repeat(2 ** 29)`, "", `{"input":1,"error":"out of memory"}`},
		{"no time and no chance that were not granted", `() => [Date.now() > 0, Math.random() >= 0 && Math.random() < 1]`, "", `{"input":1,"output":[true,true]}`},
		{"state of the top level", `(() => { const table = new Map([["a", 1]]); return a => table.get(a) })()`, "", `{"input":"a","output":1}`},
		{"a class", `class { constructor() {} }`, "", `{"input":1,"error":"class constructors must be invoked with 'new'"}`},
		{
			"calls at once", `async args => {
				const [a, b] = await Promise.all([tools.first(args), tools.second({})]);
				return {a, b, again: await tools.first({id: b.id})};
			}`, "workflow",
			`{"input":{"q":1},"calls":[{"tool":"first","arguments":{"q":1},"value":[1]},{"tool":"second","arguments":{},"value":{"id":9007199254740993}},
			  {"tool":"first","arguments":{"id":9007199254740993},"text":"plain"}],"output":{"a":[1],"b":{"id":9007199254740993},"again":"plain"}}`,
		},
		{
			"a call that fails", `async () => {
				try { await tools.first() } catch (e) { return [e instanceof ToolError, e.name, e.tool, e.status, e.message] }
			}`, "workflow",
			`{"input":{},"calls":[{"tool":"first","arguments":{},"status":404,"error":"HTTP 404"}],"output":[true,"ToolError","first",404,"HTTP 404"]}`,
		},
		{
			"one that nobody catches", `() => tools.first()`, "workflow",
			`{"input":{},"calls":[{"tool":"first","arguments":{},"error":"gone"}],"error":"gone"}`,
		},
	}
	// One program has all functions of a kind, because each takes long to compile.
	source := map[string]string{}
	for i, c := range cases {
		source[c.kind] += fmt.Sprintf("f[%d] = %s;\n", i, c.source)
	}
	programs := map[string]*guest.Package{}
	for kind, change := range map[string]func(*manifest.Manifest){"": replace, "text": text, "workflow": workflow} {
		programs[kind] = packed(t, "const f = [];\n"+source[kind]+"export default (a, call) => f[call.config.i](a, call)", change)
		if err := bind(t, h, programs[kind], `{}`).Compile(t.Context()); err != nil { // keeps the compiled code
			t.Fatal(err)
		}
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := bind(t, h, programs[c.kind], fmt.Sprintf(`{"i":%d,"mask":"***","deep":{"a":[1]}}`, i))
			want, err := golden.Parse(c.name, []byte(c.golden))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second call of an instance is as the first
				if r := golden.Run(t.Context(), programs[c.kind], g, want); r.Diff != "" {
					t.Error(r.Diff)
				}
			}
		})
	}
}

// TestSourceErrors: what is wrong with a program is said with its place.
func TestSourceErrors(t *testing.T) {
	for source, want := range map[string]string{
		"export default a => {\n  let x = ;\n}":                                        "plugin.js:2:11: unexpected token in expression: ';'",
		"let y = 1;\nfoo();\nexport default () => y":                                   "plugin.js:2:1: foo is not defined",
		`import x from "y"; export default () => x`:                                    "plugin.js: could not load module 'y'",
		"const f = () => f(); f(); export default f":                                   "Maximum call stack size exceeded",
		"export const x = 1":                                                           "plugin.js: it has no function as its default export",
		"export const transformError = {}; export default () => 1":                     "plugin.js: what it exports as transformError is not a function",
		"export const transformArguments = null; export default () => 1":               "plugin.js: what it exports as transformArguments is not a function",
		"await new Promise(() => {}); export default () => 1":                          "plugin.js: its top level awaits what happens in calls only",
		"tools.x(); export default () => 1":                                            "plugin.js:1:1: tools is not defined",
		"throw new Error('ab'.repeat(9000)); export default () => 1":                   "abab",
		"let a = []; for (;;) a.push(new Uint8Array(1 << 20)); export default () => 1": "out of memory",
	} {
		_, err := Build(t.Context(), []byte(source), Kind{Entry: "transform_response"})
		if wrong, ok := errors.AsType[*SourceError](err); !ok || !strings.Contains(err.Error(), want) || len(wrong.Message) > maxMessage {
			t.Errorf("%.40q: %v, want %s", source, err, want)
		}
	}
}

// TestBounds: programs and what their top level leaves are bounded.
func TestBounds(t *testing.T) {
	k := Kind{Entry: "transform_response"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for n, ok := range map[int]bool{MaxSource: true, MaxSource + 1: false} {
		// What is short enough is not built either: the caller gave up.
		if _, err := Build(ctx, bytes.Repeat([]byte(" "), n), k); errors.Is(err, context.Canceled) != ok {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	code, err := Build(t.Context(), []byte(`const a = new Uint8Array(4 << 20); export default () => a.length`), k)
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.Parse(code)
	if err != nil || m.Memories[0].Min > maxPages {
		t.Errorf("%v, memory %v, want at most %d pages", err, m.Memories, maxPages)
	}
	start := time.Now()
	_, err = build(t.Context(), []byte(`for (;;); export default () => 1`), k, 50*time.Millisecond)
	if wrong, ok := errors.AsType[*SourceError](err); !ok || !strings.Contains(wrong.Message, "longer than 50ms") {
		t.Errorf("a top level without an end: %v after %v, of %v", err, time.Since(start), maxStart)
	}
}

// TestSame: the same program gives the same module, which has nothing that a plugin of its
// kind may not import.
func TestSame(t *testing.T) {
	source := []byte(`const r = [Math.random(), Date.now(), new Map([[1, {}]])]; export default () => r`)
	var made [][]byte
	for range 2 {
		code, err := Build(t.Context(), source, Kind{Entry: "transform_response"})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, code)
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("two modules of one program differ")
	}
	m, err := module.Parse(made[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range m.Imports {
		if i.Module == "extism:host/user" {
			t.Errorf("a filter imports %s", i.Name)
		}
	}
	if _, ok := m.Export("load"); ok || len(m.Exports) != 2 {
		t.Errorf("exports %v", m.Exports)
	}
}

// TestImports: what only other kinds may import is not in a module, and its functions are called by
// their numbers all the same.
func TestImports(t *testing.T) {
	for entry, want := range map[string][]string{
		"transform_response": nil,
		workflowEntry:        {"sluice_call"},
		authEntry:            {"sluice_derive", "sluice_sign", "sluice_token", "sluice_token_fetch"},
	} {
		code, err := Build(t.Context(), []byte(`export default () => 1`), Kind{Entry: entry})
		if err != nil {
			t.Fatal(err)
		}
		m, err := module.Parse(code)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range m.Imports {
			if i.Module == "extism:host/user" {
				got = append(got, i.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s imports %v, want %v", entry, got, want)
		}
	}
}

// TestOtherFunctions: transformError and transformArguments of a program are functions of the
// contract, where the program has them and its kind may.
func TestOtherFunctions(t *testing.T) {
	const source = `export default a => ({answer: a});
export const transformError = (e, c) => ({error: e, part: c.part});
export async function transformArguments(a, c) { return {...a, tool: c.tool, n: 12345678901234567890n} }`
	h := newHost(t, 10*time.Second)
	p := packed(t, source, replace)
	g := bind(t, h, p, `{}`)
	for part, want := range map[string]string{
		"answer": `{"answer":{"a":1}}`, guest.PartError: `{"error":{"a":1},"part":"error"}`, guest.PartArguments: `{"a":1,"tool":"t","n":12345678901234567890}`,
	} {
		c := (&golden.Context{Tool: "t", Part: part}).Guest()
		if out, err := g.Transform(t.Context(), nil, []byte(`{"a":1}`), c); err != nil || string(out) != want {
			t.Errorf("%s: %s, %v", part, out, err)
		}
	}
	for source, want := range map[string][2]bool{`export default a => a`: {}, `export default a => a; export const transformArguments = a => a`: {false, true}} {
		p := packed(t, source, nil)
		if got := [2]bool{p.Errors, p.Arguments}; got != want {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
	if p := packed(t, source, workflow); p.Errors || p.Arguments {
		t.Error("a workflow has functions of filters")
	}
}

// TestStops: a program that does not end is stopped, and the next call is served.
func TestStops(t *testing.T) {
	g := serve(t, newHost(t, 0), `export default a => { while (a.spin) {} ; if (a.pattern) /(a+)+$/.test("a".repeat(40) + "b"); return 1 }`, func(m *manifest.Manifest) { m.Limits.DeadlineMS = 50 })
	call := func(in string) (string, error) {
		out, err := g.Transform(t.Context(), nil, []byte(in), (&golden.Context{}).Guest())
		return string(out), err
	}
	for _, in := range []string{`{"spin":true}`, `{"pattern":true}`} {
		if _, err := call(in); !errors.Is(err, extism.ErrDeadline) {
			t.Errorf("%s: %v", in, err)
		}
	}
	if out, err := call(`{}`); err != nil || out != "1" {
		t.Errorf("afterwards: %s, %v", out, err)
	}
}

// BenchmarkCall is what a plugin in JavaScript takes for an answer of 20 KB.
func BenchmarkCall(b *testing.B) {
	var list []any
	for i := range 130 {
		list = append(list, map[string]any{"id": i, "name": "item", "status": "open", "price": 1.5, "owner": map[string]any{"email": "a@example.com", "address": map[string]any{"zip": "12345", "city": "Town"}}, "tags": []string{"a", "b"}})
	}
	in, err := json.Marshal(map[string]any{"items": list})
	if err != nil {
		b.Fatal(err)
	}
	for name, source := range map[string]string{
		"nothing": `export default () => 1`,
		"delete":  `export default a => { for (const i of a.items) delete i.owner.address; return a }`,
	} {
		b.Run(name, func(b *testing.B) {
			g := serve(b, newHost(b, time.Minute), source, nil)
			var out []byte
			for b.Loop() {
				if out, err = g.Transform(b.Context(), out[:0], in, (&golden.Context{}).Guest()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
