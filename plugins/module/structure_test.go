package module

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
)

// oneFunction is a module whose function has so many locals and this body.
func oneFunction(locals int, body string) []byte {
	sec := func(id byte, payload []byte) []byte { return AppendSection(nil, id, payload) }
	decl := append(binary.AppendUvarint([]byte{1}, uint64(locals)), I32)
	code := append(decl, body...)
	code = append(code, opEnd)
	code = append(binary.AppendUvarint([]byte{1}, uint64(len(code))), code...)
	m := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range [][]byte{sec(secType, []byte("\x01\x60\x00\x00")), sec(SectionFunction, []byte("\x01\x00")), sec(SectionMemory, []byte("\x01\x00\x01")), sec(SectionCode, code)} {
		m = append(m, s...)
	}
	return m
}

func leb(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// withGlobals is a module with so many globals more, all constants ("\x00") or none ("\x01").
func withGlobals(n int, mutable string, code []byte) []byte {
	var out []byte
	if err := Sections(code, func(s Section) error {
		if s.ID == SectionCode {
			out = AppendSection(out, secGlobal, []byte(leb(n)+times(n, "\x7f"+mutable+"\x41\x00\x0b")))
		}
		out = AppendSection(out, s.ID, s.Payload)
		return nil
	}); err != nil {
		panic(err)
	}
	return append([]byte(header), out...)
}

const (
	block, loop, iff, end = "\x02\x40", "\x03\x40", "\x04\x40", "\x0b"
	one                   = "\x41\x01"             // i32.const 1
	load                  = "\x41\x00\x28\x00\x00" // what lies at 0
)

func times(n int, s string) string { return strings.Repeat(s, n) }

// nestedLoops are so many loops in each other, each of which sets one of so many locals.
func nestedLoops(loops, locals int) []byte {
	var b strings.Builder
	for i := range loops {
		b.WriteString(loop + load + "\x21" + leb(i%locals))
	}
	for i := range loops {
		b.WriteString("\x20" + leb(i%locals) + "\x0d\x00" + end)
	}
	return oneFunction(locals, b.String())
}

// TestStructure: what would take a compiler long is refused, at each bound by one, and
// what is just within compiles.
func TestStructure(t *testing.T) {
	ops := func(n int) []byte { return oneFunction(0, times(n-1, "\x01")) } // nop; the end is one
	depth := func(n int) []byte { return oneFunction(0, times(n-1, block)+times(n-1, end)) }
	branches := func(n int) []byte { return oneFunction(0, times(n/2, one+"\x0d\x00")+times(n%2, block+end)) }
	live := func(n int) []byte { // so many values over 600 blocks, and the rest over one more
		const height = MaxLive / 600
		return oneFunction(0, times(n-MaxLive, one+block+end)+times(height-(n-MaxLive), one)+times(600, block+end)+times(height, "\x1a"))
	}
	nested := func(n int) []byte { return oneFunction(100, times(n, loop)+times(n, end)) }
	deepest := 1 // loops in each other, of 100 locals
	for (deepest+1)*(deepest+2)/2*100 <= MaxNested {
		deepest++
	}
	reloads := func(n int) []byte { // of a function with 1,000 calls
		const calls = 1000
		return withGlobals(n/calls-meterGlobals, "\x01", oneFunction(0, times(calls-meterCalls+n%calls, "\x10\x00")))
	}
	types := func(n int) []byte {
		return AppendSection([]byte("\x00asm\x01\x00\x00\x00"), secType, append(append([]byte{1, 0x60}, leb(n)...), times(n, "\x7f")+"\x00"...))
	}
	for _, c := range []struct {
		name  string
		of    func(int) []byte
		bound int
		says  string
	}{
		{"instructions", ops, MaxInstructions, "instructions, more than"},
		{"depth", depth, MaxDepth, "blocks in each other, more than"},
		{"branches", branches, MaxBranches, "branches, more than"},
		{"values", live, MaxLive, "values that live over its branches, more than"},
		{"nested loops", nested, deepest, "locals in nested loops, more than"},
		{"reloads", reloads, MaxReloads, "globals to read again behind calls, more than"},
		{"values of a type", types, MaxValues, "a function type of"},
	} {
		if _, err := Meter(nil, c.of(c.bound)); err != nil {
			t.Errorf("%s at the bound: %v", c.name, err)
		}
		if _, err := Meter(nil, c.of(c.bound+1)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s past the bound: %v", c.name, err)
		} else if remedy := Remedy(err); c.name != "values of a type" && !strings.Contains(remedy, "optimisation") {
			t.Errorf("%s past the bound: %s", c.name, remedy)
		}
	}
	for name, code := range map[string][]byte{
		"50,000 nested blocks":           oneFunction(0, times(50_000, block)+times(50_000, end)),
		"5,000 nested ifs":               oneFunction(0, times(5_000, one+iff)+times(5_000, end)),
		"5,000 loops":                    oneFunction(0, times(5_000, loop+end)),
		"a straight line of 7.5 MB":      oneFunction(0, times(1_000_000, load+"\x1a")),
		"1,000 values over 1,000 blocks": oneFunction(0, times(1_000, load)+times(1_000, block+end)+times(1_000, "\x1a")),
		"1,000 locals in 1,000 loops":    nestedLoops(1000, 1000),
		"400 locals in 400 loops":        nestedLoops(400, 400),
		"30 KB of calls, 1,000 globals":  withGlobals(1000, "\x01", oneFunction(0, times(10_000, "\x10\x00"))),
		"a table of 10,000 targets":      oneFunction(0, block+load+"\x0e"+leb(10_000)+times(10_001, "\x00")+end),
	} {
		if _, err := Meter(nil, code); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
}

// TestStructureTogether: functions that are each within the bounds are refused when
// there are too many.
func TestStructureTogether(t *testing.T) {
	var s shape
	s.start(0, 0, 0)
	s.instructions, s.branches, s.live = MaxInstructions, MaxBranches, MaxLive
	many := MaxWork/s.work() + 1
	body := "\x00" + times(MaxBranches/2, one+"\x0d\x00") + end
	code := leb(many*6) + times(many*6, leb(len(body))+body)
	m := []byte("\x00asm\x01\x00\x00\x00")
	m = AppendSection(m, secType, []byte("\x01\x60\x00\x00"))
	m = AppendSection(m, SectionFunction, []byte(leb(many*6)+times(many*6, "\x00")))
	m = AppendSection(m, SectionCode, []byte(code))
	if _, err := Meter(nil, m); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "too long to compile") {
		t.Errorf("%d functions: %v", many*6, err)
	}
}

// TestReloads: only globals that can be set are read again, whatever calls: calls, calls
// through a table, loops, and what grows or fills memory, behind which the meter calls.
func TestReloads(t *testing.T) {
	const globals, most = 1000 - meterGlobals, MaxReloads/1000 - meterCalls
	for name, c := range map[string]struct {
		one string
		ok  bool
	}{
		"nothing":          {"\x01", true},
		"calls":            {"\x10\x00", false},
		"calls by a table": {"\x41\x00\x11\x00\x00", false},
		"loops":            {loop + end, false},
		"memory.grow":      {one + "\x40\x00\x1a", false},
		"memory.fill":      {one + one + one + "\xfc\x0b\x00", false},
	} {
		for mutable, always := range map[string]bool{"\x00": true, "\x01": false} {
			_, err := Meter(nil, withGlobals(globals, mutable, oneFunction(0, times(most+1, c.one))))
			if ok := c.ok || always; (err == nil) != ok {
				t.Errorf("%s, globals that can be set: %t: %v", name, !always, err)
			}
		}
	}
}

// TestManyFunctionsOfManyGlobals: each declares all of them again.
func TestManyFunctionsOfManyGlobals(t *testing.T) {
	const n = MaxItems
	m := []byte(header)
	m = AppendSection(m, secType, []byte("\x01\x60\x00\x00"))
	m = AppendSection(m, SectionFunction, []byte(leb(n)+times(n, "\x00")))
	m = AppendSection(m, SectionCode, []byte(leb(n)+times(n, "\x02\x00"+end)))
	_, without, err := Prepare(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	_, constants, err := Prepare(nil, withGlobals(MaxGlobals, "\x00", m))
	if want := time.Duration(n*MaxGlobals/declaredGlobals) * 100; err != nil || constants-without != want {
		t.Errorf("constants: %s more, want %s: %v", constants-without, want, err)
	}
	if _, err := Meter(nil, withGlobals(MaxGlobals, "\x01", m)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "too long to compile") {
		t.Error(err)
	}
}

// FuzzStructure: whatever a function's body is, it is refused or metered, alike each
// time, and what is valid stays so.
func FuzzStructure(f *testing.F) {
	f.Add(uint8(3), []byte(load+iff+one+"\x21\x00"+end))
	f.Add(uint8(1), []byte(block+one+"\x0e\x01\x00\x00"+end))
	f.Add(uint8(0), []byte(one+"\x0d\x00\x00"))
	f.Fuzz(func(t *testing.T, locals uint8, body []byte) {
		code := oneFunction(int(locals), string(body))
		out, err := Meter(nil, code)
		if err != nil {
			return
		}
		if _, err := Meter(nil, code); err != nil {
			t.Fatalf("the second time: %v", err)
		}
		r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
		defer r.Close(context.Background())
		plain, err := r.CompileModule(t.Context(), code)
		if err != nil {
			return
		}
		_ = plain.Close(t.Context())
		b := r.NewHostModuleBuilder(MeterModule)
		b.NewFunctionBuilder().WithFunc(func() int32 { return 0 }).Export(MeterName)
		if _, err := b.Instantiate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.CompileModule(t.Context(), out); err != nil {
			t.Fatalf("metered it is not valid: %v", err)
		}
	})
}

// TestPlaceOnTheStackIsBounded: what a function that calls others costs for its place on
// the stack grows with it up to maxFrameUnits, and no further.
func TestPlaceOnTheStackIsBounded(t *testing.T) {
	// Where a function begins it takes its room: global.get 1, i32.const, i32.sub, global.set 1.
	place := func(nops int) int {
		metered, err := Meter(nil, calling(1, 1000, times(250, block+end)+times(nops, "\x01")+"\x10\x00"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range metered {
			b := metered[i:]
			if len(b) > 11 && b[0] == opGlobalGet && b[1] == 1 && b[2] == opI32Const && b[8] == opI32Sub && b[9] == opGlobalSet && b[10] == 1 {
				units := 0
				for at, c := range b[3:8] {
					units |= int(c&0x7f) << (7 * at)
				}
				return units
			}
		}
		t.Fatal("no function takes room for its place on the stack")
		return 0
	}
	fill := maxFrameUnits - place(0)
	if fill < 1 {
		t.Fatalf("the function without fill costs %d units already", maxFrameUnits-fill)
	}
	for more, want := range map[int]int{-1: maxFrameUnits - 1, 0: maxFrameUnits, 1: maxFrameUnits} {
		if got := place(fill + more); got != want {
			t.Errorf("a function of %d units costs %d for its place, want %d", maxFrameUnits+more, got, want)
		}
	}
}
