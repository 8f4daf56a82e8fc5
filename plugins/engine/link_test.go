package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
)

const section = "sluice.manifest"

func compile(t testing.TB, p *engine.Program) []byte {
	t.Helper()
	b, err := engine.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fields(names ...string) *engine.Program {
	n := &engine.Node{DropRest: true}
	for _, s := range names {
		n.Fields = append(n.Fields, engine.Field{Name: s})
	}
	return &engine.Program{Root: n}
}

func TestLinkOpen(t *testing.T) {
	a, b := compile(t, fields("a")), compile(t, fields("b", "long name"))
	var many [][]byte
	for i := range 2000 {
		many = append(many, compile(t, fields(fmt.Sprint("field", i))))
	}
	f := func(programs [][]byte, manifest string) {
		t.Helper()
		m, err := engine.Link(programs, section, []byte(manifest))
		if err != nil {
			t.Fatal(err)
		}
		again, err := engine.Link(programs, section, []byte(manifest))
		if err != nil || !bytes.Equal(m, again) {
			t.Fatalf("linking twice gives other bytes (%v)", err)
		}
		l, err := engine.Open(m, section)
		if err != nil {
			t.Fatal(err)
		}
		if l.Version != engine.Version || string(l.Manifest) != manifest || len(l.Programs) != len(programs) {
			t.Fatalf("opened version %d, %d programs, manifest %q", l.Version, len(l.Programs), l.Manifest)
		}
		for i := range programs {
			if !bytes.Equal(l.Programs[i], programs[i]) {
				t.Fatalf("program %d differs", i)
			}
		}
		l.Detach()
		clear(m) // the module is let go
		l.Detach()
		for i := range programs {
			p := l.Programs[i]
			if !bytes.Equal(p, programs[i]) || cap(p) != len(p) {
				t.Fatalf("program %d differs when it is detached, or can grow into the next", i)
			}
			if first := slices.IndexFunc(programs, func(q []byte) bool { return bytes.Equal(q, programs[i]) }); &p[0] != &l.Programs[first][0] {
				t.Fatalf("programs %d and %d no longer share their bytes", i, first)
			}
		}
	}
	f(nil, "{}")
	f([][]byte{a}, "{}")
	f([][]byte{a, b, a, a}, `{"x":"SLPS"}`)
	f(many, "{}")

	one, _ := engine.Link([][]byte{b}, section, []byte("{}"))
	three, _ := engine.Link([][]byte{b, b, b}, section, []byte("{}"))
	if len(three)-len(one) > 32 {
		t.Errorf("equal programs are stored more than once: %d and %d bytes", len(one), len(three))
	}
}

func TestLinkRefuses(t *testing.T) {
	a := compile(t, fields("a"))
	f := func(programs [][]byte, section, manifest string) {
		t.Helper()
		if m, err := engine.Link(programs, section, []byte(manifest)); err == nil {
			t.Fatalf("linked %d bytes, want an error", len(m))
		}
	}
	f([][]byte{a}, section, "") // an empty payload is refused by readers
	f([][]byte{a}, "", "{}")
	f([][]byte{a[:len(a)-16]}, section, "{}")
	f(make([][]byte, engine.MaxPrograms+1), section, "{}")
}

func TestOpenRefuses(t *testing.T) {
	m, err := engine.Link([][]byte{compile(t, fields("a", "b"))}, section, []byte(`{"name":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(b []byte, why string) {
		t.Helper()
		if _, err := engine.Open(b, section); !problem.Is(err, problem.InvalidPlugin) {
			t.Fatalf("%s: got %v, want an invalid_plugin problem", why, err)
		}
	}
	refused(nil, "nothing")
	refused([]byte("\x00asm\x01\x00\x00\x00"), "empty module")
	code, _ := engine.Code(engine.Version)
	refused(code, "bare engine")
	refused(append(bytes.Clone(m), 0, 3, 1, 'x', 'y'), "a further custom section")
	// Every flipped bit before the manifest is found, unless it makes another
	// program that is valid: that is another module, not a damaged one.
	tail := len(`{"name":"x"}`)
	for i := range len(m) - tail {
		c := bytes.Clone(m)
		c[i] ^= 1
		l, err := engine.Open(c, section)
		if err != nil {
			refused(c, "flipped bit")
			continue
		}
		if again, err := engine.Link(l.Programs, section, l.Manifest); err != nil || !bytes.Equal(again, c) || bytes.Equal(l.Programs[0], compile(t, fields("a", "b"))) {
			t.Fatalf("a flipped bit at %d of %d is accepted (%v)", i, len(m), err)
		}
	}
	for n := range len(m) - tail {
		refused(m[:n], "cut off")
	}
}

// TestStandalone runs a program of a linked module without any of our code but
// the module itself: what it exports is enough.
func TestStandalone(t *testing.T) {
	var programs [][]byte
	for i := range 300 { // more than a page
		programs = append(programs, compile(t, fields("a", fmt.Sprint("b", i))))
	}
	m, err := engine.Link(programs, section, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	code, err := rt.CompileModule(ctx, m)
	if err != nil {
		t.Fatalf("the module is not valid: %v", err)
	}
	if s := code.CustomSections(); len(s) != 1 || s[0].Name() != section || string(s[0].Data()) != "{}" {
		t.Fatalf("custom sections: %v", s)
	}
	if len(code.ImportedFunctions()) != 0 || len(code.ImportedMemories()) != 0 {
		t.Fatal("the module imports something")
	}
	mod, err := rt.InstantiateModule(ctx, code, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string, args ...uint64) uint32 {
		t.Helper()
		r, err := mod.ExportedFunction(name).Call(ctx, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return api.DecodeU32(r[0])
	}
	if call("version") != engine.Version || call("programs") != 300 || call("program", 300) != 0 {
		t.Fatal("version or number of programs is wrong")
	}
	in := []byte(`[{"a": 1, "b7": [2, 3], "c": 4}]`)
	base := call("reserve", 4096)
	mem := mod.Memory()
	control := make([]byte, 112)
	for i, v := range []uint32{call("program", 7), base + 128, uint32(len(in)), base + 1024, 2048, 64} {
		binary.LittleEndian.PutUint32(control[4*i:], v)
	}
	binary.LittleEndian.PutUint64(control[24:], 100000)
	mem.Write(base, control)
	mem.Write(base+128, in)
	if s := call("run", uint64(base)); s != 0 {
		t.Fatalf("status %d", s)
	}
	n, _ := mem.ReadUint32Le(base + 36)
	out, _ := mem.Read(base+1024, n)
	if want := `[{"a":1,"b7":[2,3]}]`; string(out) != want {
		t.Fatalf("got %s, want %s", out, want)
	}
	if p, _ := mem.Read(call("program", 299), uint32(len(programs[299]))); !bytes.Equal(p, programs[299]) {
		t.Fatal("the last program was overwritten")
	}
}

// TestEngineBytes makes sure the committed engine is the one that was hashed;
// build.sh --check proves that it comes from engine.c.
func TestEngineBytes(t *testing.T) {
	code, ok := engine.Code(engine.Version)
	sum, err := os.ReadFile("engine.wasm.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if want, _, _ := strings.Cut(string(sum), " "); !ok || fmt.Sprintf("%x", sha(code)) != want {
		t.Fatalf("engine.wasm is not the one of engine.wasm.sha256: run make engine")
	}
	if _, ok := engine.Code(engine.Version + 1); ok {
		t.Fatal("there is a next version")
	}
}

// FuzzOpen: what Open accepts is exactly what Link gives.
func FuzzOpen(f *testing.F) {
	for _, programs := range [][][]byte{nil, {compile(f, fields("a"))}, {compile(f, fields("a")), compile(f, fields("b"))}} {
		m, err := engine.Link(programs, section, []byte("{}"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m[bytes.Index(m, []byte("SLPS"))-300:], true)
		f.Add(m, false)
	}
	bare, err := engine.Link(nil, section, []byte("{}"))
	if err != nil {
		f.Fatal(err)
	}
	prefix := bare[:bytes.Index(bare, []byte("SLPS"))-300]
	f.Fuzz(func(t *testing.T, m []byte, tail bool) {
		m = bytes.Clone(m) // it is cleared below
		if tail {          // the fuzzer need not find the engine's code
			m = append(bytes.Clone(prefix), m...)
		}
		l, err := engine.Open(m, section)
		if err != nil {
			if !problem.Is(err, problem.InvalidPlugin) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		again, err := engine.Link(l.Programs, section, l.Manifest)
		if err != nil || !bytes.Equal(again, m) {
			t.Fatalf("opened what Link does not give: %v", err)
		}
		want := bytes.Clone(m)
		l.Manifest = bytes.Clone(l.Manifest)
		l.Detach()
		clear(m)
		if again, err = engine.Link(l.Programs, section, l.Manifest); err != nil || !bytes.Equal(again, want) {
			t.Fatalf("detached programs differ: %v", err)
		}
	})
}

// FuzzCheck: a table that passes runs on any input without reading outside, and
// its errors are those that are documented.
func FuzzCheck(f *testing.F) {
	for _, p := range []*engine.Program{
		{},
		fields("a"),
		fields("a", "b", "customer_billing_address_line", "customer_mailing_address_line"),
		{Root: &engine.Node{Rules: engine.DropNull | engine.KeyLinks, Limit: 2, MaxString: 10, Where: &engine.Predicate{Or: []*engine.Predicate{
			{Cmp: engine.CmpEq, Path: []string{"a", "b"}, Value: "1"}, {Not: &engine.Predicate{Cmp: engine.CmpGlob, Value: `"x*"`}},
		}}}},
	} {
		f.Add(compile(f, p), []byte(`[{"a":{"b":1},"x_url":null,"customer_billing_address_line":"y"}]`))
	}
	f.Fuzz(func(t *testing.T, table, in []byte) {
		if err := engine.Check(table); err != nil {
			if !errors.Is(err, engine.ErrTable) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		out, _, err := engine.Reference(nil, table, in, engine.Limits{})
		if err != nil && err != engine.ErrNotJSON && err != engine.ErrDepth && err != engine.ErrFuel && err != engine.ErrTooLarge {
			t.Fatalf("unknown error %v", err)
		}
		if len(out) > 2*len(in)+2 {
			t.Fatalf("%d bytes from %d", len(out), len(in))
		}
	})
}
