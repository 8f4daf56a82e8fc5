package extism

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

// TestTurns: while all turns are taken, a call that runs for long waits for one and is
// stopped at its deadline or when its caller gives up; a short call needs none.
func TestTurns(t *testing.T) {
	h := newHost(t, Options{Functions: []Function{waitFunction(func(*Caller) {})}})
	if got, want := h.turns, max(1, runtime.GOMAXPROCS(0)-1); got != want {
		t.Fatalf("%d plugins may run for long at once, want %d", got, want)
	}
	others := make([]turn, h.turns)
	for n := range others {
		h.queue.enter(&others[n], h.queue.join("others"))
		if has, _ := h.queue.ask(&others[n]); !has {
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
	if n := h.queue.taken(h.turns); n != h.turns {
		t.Fatalf("%d turns are taken, want %d: a call gave one away that it did not have", n, h.turns)
	}
	loops := load(t, h, Spec{Name: "loops", Code: longCall(), Limits: Limits{Deadline: time.Minute}, Grants: Grants{Functions: []string{"wait"}}})
	done := make(chan error)
	go func() {
		_, err := loops.Call(t.Context(), nil, Call{Export: "f"})
		done <- err
	}()
	for n := range others {
		h.queue.give(&others[n])
	}
	if err := <-done; err != nil {
		t.Errorf("a call that got its turn: %v", err)
	}
}

// longCall is a module whose function f runs for some 50 quanta and then waits:
//
//	(func (export "f") (local i32)
//	  loop (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 2000000) i32.lt_u br_if 0 end
//	  (drop (call $wait (i64.const 0))))
func longCall() []byte {
	body := "\x01\x01\x7f\x03\x40\x20\x00\x41\x01\x6a\x22\x00\x41\x80\x89\xfa\x00\x49\x0d\x00\x0b\x42\x00\x10\x00\x1a\x0b"
	return wasm(sec(1, "\x02\x60\x00\x00\x60\x01\x7e\x01\x7e"), sec(2, "\x01\x10"+userModule+"\x04wait\x00\x01"), sec(3, "\x01\x00"),
		sec(7, "\x01\x01f\x00\x01"), sec(10, "\x01"+string(rune(len(body)))+body))
}

// TestTurnsAreGivenBack: however a call ends, and while it waits for something else, its
// turn is another's.
func TestTurnsAreGivenBack(t *testing.T) {
	var h *Host
	var before, waiting int
	h = newHost(t, Options{Functions: []Function{waitFunction(func(c *Caller) {
		before = h.queue.taken(h.turns)
		c.Await(func(context.Context) { waiting = h.queue.taken(h.turns) })
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
		if n := h.queue.taken(h.turns); n != 0 {
			t.Fatalf("after %s %d turns are taken", export, n)
		}
	}
}

func waitFunction(f func(c *Caller)) Function {
	return Function{Name: "wait", Params: 1, Results: 1, Call: func(c *Caller, stack []uint64) { f(c); stack[0] = 0 }}
}

// TestTurnsAreFair: a share with one call that waits gets its turn next but one, whatever
// number of calls of another wait; and no more than so many wait.
func TestTurnsAreFair(t *testing.T) {
	q := newQueue(1)
	greedy := q.join("greedy")
	calls := make([]turn, 2+maxWaiting)
	for n := range calls {
		if free := q.enter(&calls[n], greedy); free != (n == 0) {
			t.Fatalf("call %d of a share runs without a turn: %v", n, free)
		}
	}
	for n := range calls {
		has, waits := q.ask(&calls[n])
		if has != (n == 0) || waits != (n > 0 && n <= maxWaiting) {
			t.Fatalf("call %d: has its turn %v, waits %v", n, has, waits)
		}
	}
	var modest turn
	if !q.enter(&modest, q.join("modest")) {
		t.Error("the only call of a share needs a turn")
	}
	if _, waits := q.ask(&modest); !waits {
		t.Fatal("it does not wait")
	}
	q.give(&calls[0])
	if !calls[1].held {
		t.Fatal("the first that waited has no turn")
	}
	q.give(&calls[1])
	if !modest.held || calls[2].held {
		t.Fatal("the share with one call is not next")
	}
	q.give(&modest)
	if !calls[2].held || !q.withdraw(&calls[2]) || q.withdraw(&calls[3]) {
		t.Error("who gives up waiting has, or has not, got its turn meanwhile")
	}
	q.give(&calls[2])
	if calls[3].held || !calls[4].held {
		t.Error("who gave up got a turn")
	}
}
