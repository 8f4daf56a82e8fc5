package extism

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// TestTrapInEachExport: whatever runs of a module may trap or loop (its start function,
// what starts its language, its entry point): the call fails, each time anew, and other
// plugins of the host are served.
func TestTrapInEachExport(t *testing.T) {
	const traps, loops, ends = "\x00\x0b", "\x03\x40\x0c\x00\x0b\x0b", "\x0b"
	// A module whose function 0 is the entry point "f", and 1 is called name, or is the
	// start function when there is no name.
	build := func(entry, name, body string) []byte {
		function := func(body string) string { return string(rune(len(body)+1)) + "\x00" + body }
		exports, start := "\x01\x01f\x00\x00", sec(8, "\x01")
		if name != "" {
			exports, start = "\x02\x01f\x00\x00"+string(rune(len(name)))+name+"\x00\x01", ""
		}
		types, second := "\x02\x60\x00\x00\x60\x02\x7f\x7f\x00", "\x00"
		if name == "hs_init" {
			second = "\x01"
		}
		return wasm(sec(1, types), sec(3, "\x02\x00"+second), sec(7, exports), start, sec(10, "\x02"+function(entry)+function(body)))
	}
	for _, interrupt := range []bool{false, true} {
		h := newHost(t, Options{Interrupt: interrupt})
		good := load(t, h, Spec{Name: "good", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Deadline: time.Minute}})
		for _, c := range []struct{ entry, name, body string }{
			{traps, "g", ends},
			{loops, "g", ends},
			{ends, "", traps},
			{ends, "", loops},
			{ends, "_initialize", traps},
			{ends, "_initialize", loops},
			{ends, "__wasm_call_ctors", traps},
			{ends, "__wasm_call_ctors", loops},
			{ends, "hs_init", traps},
			{ends, "hs_init", loops},
			{ends, "g", ends},
		} {
			p := load(t, h, Spec{Name: "bad", Code: build(c.entry, c.name, c.body), Limits: Limits{Deadline: 20 * time.Millisecond}})
			again := 2
			if c.body == loops {
				again = 1 // it has half a second to start
			}
			for range again {
				_, err := p.Call(t.Context(), nil, Call{Export: "f"})
				for wait := time.Now().Add(10 * time.Second); errors.Is(err, ErrBusy) && time.Now().Before(wait); {
					_, err = p.Call(t.Context(), nil, Call{Export: "f"}) // on a busy machine 20 ms pass in the line
				}
				switch {
				case c.entry == traps || c.body == traps:
					if _, ok := errors.AsType[*TrapError](err); !ok {
						t.Errorf("interrupt %v, %s traps: %v", interrupt, c.name, err)
					}
				case c.entry == loops || c.body == loops:
					if !errors.Is(err, ErrDeadline) {
						t.Errorf("interrupt %v, %s loops: %v", interrupt, c.name, err)
					}
				case err != nil:
					t.Errorf("interrupt %v, nothing is wrong: %v", interrupt, err)
				}
			}
			if out, err := good.Call(t.Context(), nil, Call{Export: "echo", Input: []byte("still here")}); err != nil || string(out) != "still here" {
				t.Fatalf("interrupt %v, after %q: %q %v", interrupt, c.name, out, err)
			}
			p.Close()
		}
	}
}

// TestMutatedModules: modules with some bytes changed are refused, fail or work, in
// their time and memory; a plugin beside them gives the same as ever.
func TestMutatedModules(t *testing.T) {
	h := newHost(t, Options{})
	good := load(t, h, Spec{Name: "good", Code: ourPlugin(t, "speed.wasm"), Limits: Limits{Deadline: time.Minute}})
	input := bytes.Repeat([]byte("workspace one "), 100)
	r := rand.New(rand.NewPCG(8, 2026)) // the same mutations each time
	refused, failed, worked := 0, 0, 0
	for n := range 400 {
		code := bytes.Clone(ourPlugin(t, []string{"speed.wasm", "hostile.wasm"}[n%2]))
		for range 1 + r.IntN(4) {
			code[8+r.IntN(len(code)-8)] = byte(r.Uint32())
		}
		p, err := h.Load(Spec{Name: "mutant", Code: code, Limits: Limits{Deadline: 10 * time.Millisecond, Output: 1 << 20}})
		if err != nil {
			refused++
			continue
		}
		for _, export := range []string{"echo", "vars"} {
			out, err := p.Call(t.Context(), nil, Call{Export: export, Input: []byte("workspace two")})
			if err != nil {
				failed++
			} else {
				worked++
			}
			if len(out) > 1<<20 || bytes.Contains(out, []byte("workspace one")) {
				t.Fatalf("mutant %d gave %d bytes, or what another plugin got", n, len(out))
			}
		}
		p.Close()
		if n%20 == 0 {
			if out, err := good.Call(t.Context(), nil, Call{Export: "echo", Input: input}); err != nil || !bytes.Equal(out, input) {
				t.Fatalf("beside mutant %d: %d bytes, %v", n, len(out), err)
			}
		}
	}
	t.Logf("%d were refused; of the calls of others %d failed and %d worked", refused, failed, worked)
	if refused == 0 || failed == 0 || worked == 0 {
		t.Error("the mutations are all of one kind")
	}
}
