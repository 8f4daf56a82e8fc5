package extism

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/turns"
)

// TestTurns: while all turns are taken, a call that runs for long waits for one and is
// stopped at its deadline or when its caller gives up; a short call needs none.
func TestTurns(t *testing.T) {
	h := newHost(t, Options{Functions: []Function{waitFunction(func(*Caller) {})}})
	if got, want := h.queue.Turns(), max(1, runtime.GOMAXPROCS(0)-1); got != want {
		t.Fatalf("%d plugins may run for long at once, want %d", got, want)
	}
	others := make([]turns.Turn, h.queue.Turns())
	for n := range others {
		others[n].Enter(h.queue, h.queue.Join("others"), "")
		if err := others[n].Take(t.Context(), time.Now()); err != nil {
			t.Fatal("no turn is free")
		}
	}
	short := load(t, h, Spec{Name: "short", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Deadline: 30 * time.Millisecond}})
	if _, err := short.Call(t.Context(), nil, Call{Export: "spin"}); !errors.Is(err, ErrBusy) {
		t.Errorf("spin: %v, want ErrBusy", err)
	}
	long := load(t, h, Spec{Name: "long", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Deadline: time.Minute}})
	if out, err := long.Call(t.Context(), nil, Call{Export: "echo", Input: []byte("x")}); err != nil || string(out) != "x" {
		t.Errorf("a short call: %q %v", out, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := long.Call(ctx, nil, Call{Export: "spin"}); !errors.Is(err, ErrDeadline) {
		t.Errorf("a caller that gave up: %v, want ErrDeadline", err)
	}
	if n := h.queue.Taken(); n != h.queue.Turns() {
		t.Fatalf("%d turns are taken, want %d: a call gave one away that it did not have", n, h.queue.Turns())
	}
	loops := load(t, h, Spec{Name: "loops", Code: longCall(), Limits: Limits{Deadline: time.Minute}, Grants: Grants{Functions: []string{"wait"}}})
	done := make(chan error)
	go func() {
		_, err := loops.Call(t.Context(), nil, Call{Export: "f"})
		done <- err
	}()
	for n := range others {
		others[n].Give()
	}
	if err := <-done; err != nil {
		t.Errorf("a call that got its turn: %v", err)
	}
}

// longCall is a module whose function f runs for some 500 quanta, so that a fast machine takes a turn for it too, and then waits:
//
//	(func (export "f") (local i32)
//	  loop (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 20000000) i32.lt_u br_if 0 end
//	  (drop (call $wait (i64.const 0))))
func longCall() []byte {
	body := "\x01\x01\x7f\x03\x40\x20\x00\x41\x01\x6a\x22\x00\x41\x80\xda\xc4\x09\x49\x0d\x00\x0b\x42\x00\x10\x00\x1a\x0b"
	return wasm(sec(1, "\x02\x60\x00\x00\x60\x01\x7e\x01\x7e"), sec(2, "\x01\x10"+userModule+"\x04wait\x00\x01"), sec(3, "\x01\x00"),
		sec(7, "\x01\x01f\x00\x01"), sec(10, "\x01"+string(rune(len(body)))+body))
}

// TestTurnsAreGivenBack: however a call ends, and while it waits for something else, its
// turn is another's.
func TestTurnsAreGivenBack(t *testing.T) {
	var h *Host
	var before, waiting int
	h = newHost(t, Options{Functions: []Function{waitFunction(func(c *Caller) {
		before = h.queue.Taken()
		c.Await(func(context.Context) { waiting = h.queue.Taken() })
	})}})
	waits := load(t, h, Spec{Name: "waits", Code: longCall(), Limits: Limits{Deadline: time.Minute}, Grants: Grants{Functions: []string{"wait"}}})
	if _, err := waits.Call(t.Context(), nil, Call{Export: "f"}); err != nil {
		t.Fatal(err)
	}
	if before != 1 || waiting != 0 {
		t.Errorf("%d turns taken before it waits and %d while it does, want 1 and 0", before, waiting)
	}
	hostile := load(t, h, Spec{Name: "hostile", Code: ourPlugin(t, "hostile.wasm"), Limits: Limits{Deadline: 60 * time.Millisecond}})
	for _, export := range []string{"spin", "fill", "recurse_calls", "storm", "alloc_free", "grow"} {
		_, _ = hostile.Call(t.Context(), nil, Call{Export: export})
		if n := h.queue.Taken(); n != 0 {
			t.Fatalf("after %s %d turns are taken", export, n)
		}
	}
}

func waitFunction(f func(c *Caller)) Function {
	return Function{Name: "wait", Params: 1, Results: 1, Call: func(c *Caller, stack []uint64) { f(c); stack[0] = 0 }}
}
