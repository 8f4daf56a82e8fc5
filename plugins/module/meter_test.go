package module

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

var errStopped = errors.New("out of quanta")

// guests returns small modules: the C plugins of package extism, and the engine.
func guests(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"../extism/*.wasm", "../extism/testdata/*.wasm", "../engine/*.wasm"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			out[n] = b
		}
	}
	return out
}

// world runs modules whose imports are all answered by functions that return 0.
type world struct {
	runtime wazero.Runtime
	refills int
	budget  int // refills until the module is stopped
	amount  int32
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{runtime: wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(64)), amount: 1000}
	t.Cleanup(func() { _ = w.runtime.Close(context.Background()) })
	b := w.runtime.NewHostModuleBuilder(MeterModule)
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
		if w.refills++; w.refills > w.budget {
			panic(errStopped)
		}
		stack[0] = uint64(uint32(w.amount))
	}), nil, []api.ValueType{api.ValueTypeI32}).Export(MeterName)
	if _, err := b.Instantiate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// provide answers the imports of a compiled module that are functions.
func (w *world) provide(t testing.TB, c wazero.CompiledModule) (done func(), ok bool) {
	t.Helper()
	builders := map[string]wazero.HostModuleBuilder{}
	for _, f := range c.ImportedFunctions() {
		mod, name, _ := f.Import()
		if mod == MeterModule {
			continue
		}
		if builders[mod] == nil {
			builders[mod] = w.runtime.NewHostModuleBuilder(mod)
		}
		n := len(f.ResultTypes())
		builders[mod].NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) { clear(stack[:n]) }), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	var made []api.Module
	done = func() {
		for _, m := range made {
			_ = m.Close(t.Context())
		}
	}
	for _, b := range builders {
		m, err := b.Instantiate(t.Context())
		if err != nil {
			return done, false
		}
		made = append(made, m)
	}
	return done, true
}

// outcome of calling every export in order on one instance.
type outcome struct {
	results []uint64
	errs    []string
	memory  uint64
	stopped bool
}

func (w *world) run(t testing.TB, code []byte, budget int) (o outcome, ok bool) {
	t.Helper()
	ctx := t.Context()
	w.refills, w.budget = 0, budget
	c, err := w.runtime.CompileModule(ctx, code)
	if err != nil {
		return o, false
	}
	defer c.Close(ctx)
	done, ok := w.provide(t, c)
	defer done()
	if !ok {
		return o, false
	}
	m, err := w.runtime.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if errors.Is(err, errStopped) {
		return outcome{stopped: true}, true
	}
	if err != nil {
		return o, false
	}
	defer m.Close(ctx)
	var names []string
	for n := range m.ExportedFunctionDefinitions() {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		f := m.ExportedFunction(n)
		args := make([]uint64, len(f.Definition().ParamTypes()))
		for i := range args {
			args[i] = uint64(i + 3)
		}
		res, err := f.Call(ctx, args...)
		if errors.Is(err, errStopped) {
			o.stopped = true
			return o, true
		}
		o.results = append(o.results, res...)
		text := ""
		if err != nil {
			text, _, _ = bytesCut(err.Error())
		}
		o.errs = append(o.errs, text)
	}
	if mem := m.Memory(); len(c.ExportedMemories()) > 0 {
		b, _ := mem.Read(0, mem.Size())
		h := fnv.New64a()
		_, _ = h.Write(b)
		o.memory = h.Sum64()
	}
	return o, true
}

func bytesCut(s string) (string, string, bool) {
	a, b, ok := bytes.Cut([]byte(s), []byte("\n"))
	return string(a), string(b), ok
}

// agree meters a module and compares it with itself. It reports whether the module
// could be run at all.
func agree(t testing.TB, w *world, what string, code []byte) bool {
	t.Helper()
	metered, err := Meter(nil, code)
	if errors.Is(err, ErrUnmeterable) || errors.Is(err, ErrInvalid) {
		return false // out of bounds of ours
	}
	c, cerr := w.runtime.CompileModule(t.Context(), code)
	if cerr != nil {
		return false // then nothing is promised but not to crash
	}
	_ = c.Close(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if c, err := w.runtime.CompileModule(t.Context(), metered); err != nil {
		t.Fatalf("%s is valid, metered it is not: %v", what, err)
	} else {
		_ = c.Close(t.Context())
	}
	fine, _, err := prepareWith(nil, code, nil, 0, 0) // as large functions are
	if err != nil {
		t.Fatalf("%s: block by block: %v", what, err)
	}
	got, ok := w.run(t, metered, 300)
	if !ok || got.stopped {
		return ok
	}
	want, ok := w.run(t, code, 0)
	same := func(got outcome) bool {
		return ok && slices.Equal(got.results, want.results) && slices.Equal(got.errs, want.errs) && got.memory == want.memory
	}
	if !same(got) {
		t.Fatalf("%s: metered %v %q %x, as it was %v %q %x (%v)", what, got.results, got.errs, got.memory, want.results, want.errs, want.memory, ok)
	}
	if got, ran := w.run(t, fine, 3000); !ran || got.stopped || !same(got) {
		t.Fatalf("%s: metered block by block %v %q %x (%v, %v), as it was %v %q %x", what, got.results, got.errs, got.memory, ran, got.stopped, want.results, want.errs, want.memory)
	}
	return true
}

// TestMeterAgrees: modules and mutations of them compute the same when metered.
func TestMeterAgrees(t *testing.T) {
	w := newWorld(t)
	rng := rand.New(rand.NewPCG(1, 2))
	ran := 0
	modules := guests(t)
	for _, name := range slices.Sorted(maps.Keys(modules)) { // so that the seed says which mutations are tried
		code := modules[name]
		if !agree(t, w, name, code) {
			t.Errorf("%s did not run", name)
		}
		for range 150 {
			m := bytes.Clone(code)
			for range 1 + rng.IntN(3) {
				m[rng.IntN(len(m))] = byte(rng.Uint32())
			}
			if agree(t, w, "a mutation of "+name, m) {
				ran++
			}
		}
	}
	if ran < 20 {
		t.Errorf("only %d mutations ran", ran)
	}
}

// FuzzMeter: no input crashes, and what is valid stays valid and computes the same.
func FuzzMeter(f *testing.F) {
	for _, code := range guests(f) {
		if len(code) < 4<<10 {
			f.Add(code)
		}
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		if m, err := Parse(code); err == nil {
			again, err := AppendCustom(nil, code, "x", []byte("y"))
			if err != nil {
				t.Fatal(err)
			}
			if p, err := Parse(again); err != nil || len(p.Exports) != len(m.Exports) {
				t.Fatalf("with a custom section: %v", err)
			}
		}
		agree(t, newWorld(t), "input", code)
	})
}

// TestMeterCounts: a loop pays for its rounds, recursion for its calls, a bulk
// operation for its size.
func TestMeterCounts(t *testing.T) {
	code, err := os.ReadFile("../extism/testdata/hostile.wasm")
	if err != nil {
		t.Fatal(err)
	}
	metered, err := Meter(nil, code)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Meter(nil, code)
	if err != nil || !bytes.Equal(again, metered) {
		t.Fatal("metering twice gives other bytes")
	}
	fine, _, err := prepareWith(nil, code, nil, 0, 0) // as large functions are
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, metered %d, block by block %d", len(code), len(metered), len(fine))
	stops(t, metered)
	stops(t, fine)
}

// stops runs the exports of hostile.wasm that never end.
func stops(t *testing.T, metered []byte) {
	t.Helper()
	w := newWorld(t)
	c, err := w.runtime.CompileModule(t.Context(), metered)
	if err != nil {
		t.Fatal(err)
	}
	done, _ := w.provide(t, c)
	defer done()
	for _, export := range []string{"spin", "recurse_calls", "fill", "drip", "storm"} {
		m, err := w.runtime.InstantiateModule(t.Context(), c, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		w.refills, w.budget = 0, 30
		if _, err := m.ExportedFunction(export).Call(t.Context()); !errors.Is(err, errStopped) {
			t.Errorf("%s: %v, want to be stopped", export, err)
		}
		_ = m.Close(t.Context())
	}
}

// TestMeterInterpreter: a function that is left out runs without a refill, what it calls
// does not, and a module without it is refused.
func TestMeterInterpreter(t *testing.T) {
	code, err := os.ReadFile("../extism/testdata/hostile.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := MeterInterpreter(nil, code, "nothing"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a module without the function: %v", err)
	}
	for name, exempt := range map[string]string{"all counted": "", "echo left out": "echo"} {
		metered, err := Meter(nil, code)
		if exempt != "" {
			metered, err = MeterInterpreter(nil, code, exempt)
		}
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t)
		c, err := w.runtime.CompileModule(t.Context(), metered)
		if err != nil {
			t.Fatal(err)
		}
		done, _ := w.provide(t, c)
		m, err := w.runtime.InstantiateModule(t.Context(), c, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		w.refills, w.budget = 0, 30
		if _, err := m.ExportedFunction("spin").Call(t.Context()); !errors.Is(err, errStopped) {
			t.Errorf("%s: a function that is counted ran on: %v", name, err)
		}
		done()
	}
	free, err := MeterInterpreter(nil, code, "spin")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Meter(nil, code)
	if err != nil || len(free) >= len(all) {
		t.Errorf("without the charges of spin the module has %d bytes, with them %d", len(free), len(all))
	}
}

// calling is a module that exports run, which calls a function of the body so many times; the
// function has as many locals.
func calling(times, locals int, body string) []byte {
	sec := func(id byte, payload string) string { return string(id) + leb(len(payload)) + payload }
	fn := func(locals int, code string) string {
		b := "\x01" + leb(locals) + "\x7f" + code + end
		return leb(len(b)) + b
	}
	run := loop + "\x10\x00" + "\x20\x00\x41\x01\x6a\x22\x00" + "\x41" + string(appendSigned(times)) + "\x48\x0d\x00" + end // call 0; i++; while i < times
	return []byte("\x00asm\x01\x00\x00\x00" + sec(secType, "\x01\x60\x00\x00") + sec(SectionFunction, "\x02\x00\x00") + sec(SectionMemory, "\x01\x00\x01") +
		sec(SectionExport, "\x01\x03run\x00\x01") + sec(SectionCode, "\x02"+fn(locals, body)+fn(1, run)))
}

func appendSigned(n int) []byte {
	b := []byte{0, 0, 0, 0, 0}
	putCost(b, 0, uint32(n))
	return b
}

// TestMeterLarge: a large function or loop pays for what ran of it, not for all it has, and
// gives its place on the stack back; recursion and loops without end are stopped all the
// same.
func TestMeterLarge(t *testing.T) {
	const rounds = 10_000
	unused := iff + times(8000, "\x01") + end // 8,000 instructions that do not run
	branches := times(300, block+end)
	for name, c := range map[string]struct {
		code []byte
		most int // refills of a quantum, 0: without end
	}{
		"a function that returns early":   {calling(rounds, 1, "\x41\x00"+unused), 3},
		"a loop with a large body":        {calling(1, 1, loop+"\x41\x00"+unused+"\x20\x00\x41\x01\x6a\x22\x00\x41"+string(appendSigned(rounds))+"\x48\x0d\x00"+end), 3},
		"a large place on the stack":      {calling(rounds, 500, branches), 30},
		"one that returns":                {calling(rounds, 500, branches+block+one+iff+"\x0f"+end+end), 30},
		"one that leaves by a branch":     {calling(rounds, 500, branches+block+one+"\x0d\x01"+end), 30},
		"one that runs out of its room":   {calling(1, 500, branches+"\x10\x00"), 0},
		"a large function without an end": {calling(1, 1, "\x41\x00"+unused+"\x10\x00"), 0},
		"a large loop without an end":     {calling(1, 1, loop+"\x41\x00"+unused+"\x0c\x00"+end), 0},
	} {
		metered, err := Meter(nil, c.code)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w := newWorld(t)
		w.amount = 1 << 18
		w.budget = 200
		if c.most == 0 {
			w.amount, w.budget = 1000, 30
		}
		compiled, err := w.runtime.CompileModule(t.Context(), metered)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := w.runtime.InstantiateModule(t.Context(), compiled, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, err = m.ExportedFunction("run").Call(t.Context())
		switch {
		case c.most == 0 && !errors.Is(err, errStopped):
			t.Errorf("%s: %v, want to be stopped", name, err)
		case c.most > 0 && (err != nil || w.refills > c.most):
			t.Errorf("%s: %d refills, want at most %d; %v", name, w.refills, c.most, err)
		}
	}
}
