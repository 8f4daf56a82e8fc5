package enginepool

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/bytedance/sonic"
	"github.com/tetratelabs/wazero"
	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"github.com/sluicegate/sluice/plugins/engine"
)

type projector struct {
	impl string
	run  func(dst, in []byte) []byte
}

// projectors are the ways to project the list of issues, the baseline first.
func projectors(tb testing.TB, h *Pool) []projector {
	table, err := engine.Compile(issueProgram())
	if err != nil {
		tb.Fatal(err)
	}
	must := func(b []byte, err error) []byte {
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	var p fastjson.Parser
	return []projector{
		{"reference", func(dst, in []byte) []byte {
			out, _, err := engine.Reference(dst, table, in, engine.Limits{})
			return must(out, err)
		}},
		{"wasm", func(dst, in []byte) []byte {
			out, _, err := h.Transform(dst, table, in)
			return must(out, err)
		}},
		{"fastjson", func(dst, in []byte) []byte {
			v, err := p.ParseBytes(in)
			if err != nil {
				tb.Fatal(err)
			}
			return fastProject(dst, v, issueProgramModel.Root)
		}},
		{"sonic_typed", func(_, in []byte) []byte {
			var v []issue
			if err := sonic.Unmarshal(in, &v); err != nil {
				tb.Fatal(err)
			}
			return must(sonic.Marshal(v))
		}},
		{"gjson", func(dst, in []byte) []byte { return gjsonProject(dst, gjson.ParseBytes(in), issueProgramModel.Root) }},
		{"encodingjson", func(_, in []byte) []byte {
			var v any
			if err := json.Unmarshal(in, &v); err != nil {
				tb.Fatal(err)
			}
			return must(json.Marshal(mapProject(v, issueProgramModel.Root)))
		}},
	}
}

var issueProgramModel = issueProgram()

func fastProject(dst []byte, v *fastjson.Value, n *engine.Node) []byte {
	if n == nil {
		return v.MarshalTo(dst)
	}
	switch v.Type() {
	case fastjson.TypeArray:
		dst = append(dst, '[')
		a, _ := v.Array()
		for i, e := range a {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = fastProject(dst, e, n)
		}
		return append(dst, ']')
	case fastjson.TypeObject:
		dst = append(dst, '{')
		first := true
		for i := range n.Fields {
			f := &n.Fields[i]
			m := v.Get(f.Name)
			if m == nil {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(append(append(dst, '"'), f.Name...), '"', ':')
			dst = fastProject(dst, m, f.Node)
		}
		return append(dst, '}')
	}
	return v.MarshalTo(dst)
}

func gjsonProject(dst []byte, v gjson.Result, n *engine.Node) []byte {
	if n == nil || !v.IsObject() && !v.IsArray() {
		return append(dst, v.Raw...)
	}
	first := true
	comma := func() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
	}
	if v.IsArray() {
		dst = append(dst, '[')
		v.ForEach(func(_, e gjson.Result) bool {
			comma()
			dst = gjsonProject(dst, e, n)
			return true
		})
		return append(dst, ']')
	}
	dst = append(dst, '{')
	v.ForEach(func(k, m gjson.Result) bool {
		if f := fieldOf(n, k.Str); f != nil {
			comma()
			dst = append(append(dst, k.Raw...), ':')
			dst = gjsonProject(dst, m, f.Node)
		}
		return true
	})
	return append(dst, '}')
}

func mapProject(v any, n *engine.Node) any {
	if n == nil {
		return v
	}
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = mapProject(x[i], n)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(n.Fields))
		for i := range n.Fields {
			f := &n.Fields[i]
			if m, ok := x[f.Name]; ok {
				out[f.Name] = mapProject(m, f.Node)
			}
		}
		return out
	}
	return v
}

// TestProjectorsAgree makes sure the benchmark compares equals.
func TestProjectorsAgree(t *testing.T) {
	in := listIssues(30, 1950)
	if len(in) < 245_000 || len(in) > 250_000 {
		t.Fatalf("the workload has %d bytes, the benchmarks say 247 KB", len(in))
	}
	var want any
	for _, p := range projectors(t, newPool(t, Options{})) {
		var got any
		if err := json.Unmarshal(p.run(nil, in), &got); err != nil {
			t.Fatalf("%s: %v", p.impl, err)
		}
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s gives another result than the reference", p.impl)
		}
	}
}

// BenchmarkProject is the projection of GitHub-shaped lists of issues.
func BenchmarkProject(b *testing.B) {
	h := newPool(b, Options{})
	for _, s := range []struct {
		name    string
		n, body int
	}{{"7KB", 1, 50}, {"247KB", 30, 1950}} {
		in := listIssues(s.n, s.body)
		for _, p := range projectors(b, h) {
			b.Run("size="+s.name+"/impl="+p.impl, func(b *testing.B) {
				var dst []byte
				b.SetBytes(int64(len(in)))
				b.ReportAllocs()
				for b.Loop() {
					dst = p.run(dst[:0], in)
				}
			})
		}
	}
}

// BenchmarkProjectSmall is a short answer, where the cost of the call shows.
func BenchmarkProjectSmall(b *testing.B) {
	table, err := engine.Compile(&engine.Program{Root: &engine.Node{Fields: []engine.Field{{Name: "login"}, {Name: "id"}, {Name: "type"}}, DropRest: true}})
	if err != nil {
		b.Fatal(err)
	}
	compareImpls(b, "size=2KB", listAccounts(2), table)
}

// compareImpls runs one program in both implementations.
func compareImpls(b *testing.B, name string, in, table []byte) {
	h := newPool(b, Options{})
	run := func(impl string, f func(dst []byte) ([]byte, engine.Stats, error)) {
		b.Run(name+"/impl="+impl, func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, _, err = f(dst[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("reference", func(dst []byte) ([]byte, engine.Stats, error) {
		return engine.Reference(dst, table, in, engine.Limits{})
	})
	run("wasm", func(dst []byte) ([]byte, engine.Stats, error) { return h.Transform(dst, table, in) })
}

// BenchmarkKeep keeps more: the long bodies, everything, everything by rules.
func BenchmarkKeep(b *testing.B) {
	in := listIssues(30, 1950)
	for _, w := range []struct {
		name string
		p    *engine.Program
	}{{"bodies", issueProgram("body")}, {"all", &engine.Program{}}, {"rules", rulesProgram()}} {
		table, err := engine.Compile(w.p)
		if err != nil {
			b.Fatal(err)
		}
		compareImpls(b, "work="+w.name+"/size=247KB", in, table)
	}
}

// BenchmarkScale is the throughput by size.
func BenchmarkScale(b *testing.B) {
	h := newPool(b, Options{})
	table, err := engine.Compile(issueProgram())
	if err != nil {
		b.Fatal(err)
	}
	for _, kb := range []int{1, 8, 64, 512, 3900, 60000} { // the last runs on the Go reference
		in := listIssues(1+kb/9, 2700)
		b.Run(fmt.Sprintf("size=%dKB/impl=wasm", kb), func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				dst, _, _ = h.Transform(dst[:0], table, in)
			}
		})
	}
}

const connectors = 1000

// connectorModules are modules of ten operations of ten fields each, all different.
func connectorModules(tb testing.TB) [][]byte {
	modules := make([][]byte, connectors)
	for i := range modules {
		programs := make([][]byte, 10)
		for k := range programs {
			n := &engine.Node{DropRest: true}
			for f := range 10 {
				n.Fields = append(n.Fields, engine.Field{Name: fmt.Sprintf("field_%d_%d", f, (i*10+k)%9973)})
			}
			t, err := engine.Compile(&engine.Program{Root: n})
			if err != nil {
				tb.Fatal(err)
			}
			programs[k] = t
		}
		m, err := engine.Link(programs, "sluice.manifest", []byte(`{"formatVersion":1}`))
		if err != nil {
			tb.Fatal(err)
		}
		modules[i] = m
	}
	return modules
}

// BenchmarkLoad1000 loads connectors to the point where a call could run: each
// module compiled by itself, and Sluice's way, one engine and tables as bytes.
func BenchmarkLoad1000(b *testing.B) {
	modules := connectorModules(b)
	b.Run("impl=separate_modules", func(b *testing.B) {
		for b.Loop() {
			before := residentKB()
			rt := wazero.NewRuntimeWithConfig(b.Context(), wazero.NewRuntimeConfigCompiler())
			for _, m := range modules {
				if _, err := rt.CompileModule(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(residentKB()-before)/connectors, "rss-KB/connector")
			_ = rt.Close(b.Context())
		}
	})
	b.Run("impl=sluice", func(b *testing.B) {
		for b.Loop() {
			before := residentKB()
			h := newPool(b, Options{})
			kept := make([][][]byte, 0, connectors)
			for _, m := range modules {
				l, err := engine.Open(m, "sluice.manifest")
				if err != nil {
					b.Fatal(err)
				}
				l.Detach()
				kept = append(kept, l.Programs)
			}
			b.ReportMetric(float64(residentKB()-before)/connectors, "rss-KB/connector")
			runtime.KeepAlive(kept)
			_ = h.Close(b.Context())
		}
	})
}

// residentKB is the resident memory of this process after a collection, where
// the system tells it; 0 elsewhere.
func residentKB() int {
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	var kb int
	_, _ = fmt.Sscan(rest, &kb)
	return kb
}
