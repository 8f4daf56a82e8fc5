package turns

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestNumbers: a caller's calls wait one round more each; callers are told apart by their
// name and their share, and a caller that comes later begins behind what was served.
func TestNumbers(t *testing.T) {
	var l line
	add := func(share, caller string) uint64 {
		w := &waiter{share: share, caller: caller}
		if !l.add(w) {
			t.Fatal("no place")
		}
		return w.number
	}
	got := []uint64{add("a", "x"), add("a", "x"), add("a", "y"), add("b", "x"), add("a", "x")}
	if want := []uint64{1, 2, 1, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("numbers %d, want %d", got, want)
	}
	for _, want := range [][2]string{{"a", "x"}, {"a", "y"}, {"b", "x"}, {"a", "x"}} {
		if w := l.serve(nil); w == nil || w.share != want[0] || w.caller != want[1] || !w.held || len(w.granted) != 1 {
			t.Fatalf("%+v is next, want %s", w, want)
		}
	}
	if n := add("c", "z"); n != 3 || l.served != 2 {
		t.Errorf("behind what was served: number %d, served %d", n, l.served)
	}
	// Only what fits is served; where nothing does the line stays.
	if w := l.serve(func(*waiter) bool { return false }); w != nil || len(l.list) != 2 {
		t.Errorf("%+v is served, %d are left", w, len(l.list))
	}
	if w := l.serve(func(w *waiter) bool { return w.share == "c" }); w == nil || w.share != "c" {
		t.Errorf("%+v is served", w)
	}
}

// TestWhoMakesRoom: in a full line the last call of whoever has most of them waiting goes,
// and none does for a call that would wait as long.
func TestWhoMakesRoom(t *testing.T) {
	const half = MaxWaiting / 2
	f := func(what, comes string, gone int, callers ...string) {
		t.Helper()
		var l line
		var all []*waiter
		for _, caller := range callers {
			w := &waiter{caller: caller}
			if !l.add(w) {
				t.Fatalf("%s: no place for the call %d", what, len(all)+1)
			}
			all = append(all, w)
		}
		w := &waiter{caller: comes}
		if ok := l.add(w); ok != (gone >= 0) {
			t.Errorf("%s: there is room: %v", what, ok)
		}
		for i, o := range all {
			if o.refused != (i == gone) || slices.Contains(l.list, o) == o.refused || len(o.granted) != 0 != o.refused {
				t.Errorf("%s: call %d of %q is refused: %v", what, i, o.caller, o.refused)
			}
		}
		if want := min(len(all)+1, MaxWaiting); gone >= 0 && len(l.list) != want {
			t.Errorf("%s: %d wait, want %d", what, len(l.list), want)
		}
	}
	calls := func(caller string, n int) []string { return slices.Repeat([]string{caller}, n) }
	f("one below the bound", "a", MaxWaiting, calls("a", MaxWaiting-1)...)
	f("the caller with all", "a", -1, calls("a", MaxWaiting)...)
	f("the larger first", "c", half+1, append(calls("a", half+2), calls("b", half-2)...)...)
	f("the larger last", "c", MaxWaiting-1, append(calls("b", half-2), calls("a", half+2)...)...)
	f("two as large", "c", MaxWaiting-1, append(calls("a", half), calls("b", half)...)...)
	f("one that would wait as long", "b", -1, append(append(calls("a", half), calls("b", half-1)...), "c")...)
	f("one that would wait a round less", "b", half, append(append(calls("a", half+1), calls("b", half-2)...), "c")...)
}

// TestWithdraw: who gives up waiting leaves the line, or has what it waited for, or was
// refused.
func TestWithdraw(t *testing.T) {
	var l line
	first, second := &waiter{caller: "a"}, &waiter{caller: "a"}
	if !l.add(first) || !l.add(second) {
		t.Fatal("no place")
	}
	if l.withdraw(first) || len(l.list) != 1 || l.list[0] != second {
		t.Error("one that gave up still waits")
	}
	l.serve(nil)
	if !l.withdraw(second) || len(second.granted) != 0 {
		t.Error("one that was served gave up")
	}
	refused := &waiter{refused: true, granted: make(chan struct{}, 1)}
	refused.granted <- struct{}{}
	if l.withdraw(refused) || len(refused.granted) != 0 {
		t.Error("one that was refused was served")
	}
}

// TestShares: a share lasts until all left it, and there are as many turns as processors
// but one.
func TestShares(t *testing.T) {
	q := NewQueue()
	s := q.Join("a")
	if q.Join("a") != s || q.Join("b") == s {
		t.Error("names do not tell shares apart")
	}
	q.Part(s)
	if q.Join("a") != s {
		t.Error("a share ends before all left it")
	}
	q.Part(s)
	q.Part(s)
	if len(q.shares) != 1 || q.Join("a") == s {
		t.Error("a share that all left is kept")
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for n, want := range map[int]int{1: 1, 2: 1, 3: 2, 5: 4} {
		runtime.GOMAXPROCS(n)
		if q := NewQueue(); q.Turns() != want || q.free != want || q.Taken() != 0 {
			t.Errorf("of %d processors %d turns, %d free", n, q.Turns(), q.free)
		}
	}
}

// TestRests: a caller is suspect from its last call that was stopped, is known once, and
// rests no longer than it is said.
func TestRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		s := q.Join("a")
		stop := func() {
			var turn Turn
			turn.Enter(q, s, "x")
			turn.Stopped(time.Second)
			turn.Give()
		}
		if s.rest("x") != 0 {
			t.Error("nobody's call was stopped")
		}
		stop()
		time.Sleep(suspectFor - time.Millisecond)
		if s.rest("x") != 0 || s.rest("y") != 0 {
			t.Errorf("it rests for %v", s.rest("x"))
		}
		stop()
		if s.rest("x") != longestRest || s.rest("y") != 0 || len(s.suspect) != 1 {
			t.Errorf("it rests for %v, %d callers are known", s.rest("x"), len(s.suspect))
		}
		time.Sleep(longestRest)
		if s.rest("x") != 0 {
			t.Error("it rests for too long")
		}
		now := time.Now()
		if at := now.Add(suspectFor - longestRest); !s.suspects("x", at.Add(-1)) || s.suspects("x", at) {
			t.Error("it is suspect for another time than from its last call")
		}
	})
}

// TestTakes: who takes its next turn gives the one it has to who waits, waits as long as it
// may, and fails at once where too many wait.
func TestTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		q.turns, q.free = 1, 1
		s := q.Join("a")
		enter := func(caller string) *Turn {
			w := &Turn{}
			w.Enter(q, s, caller)
			return w
		}
		enter("")
		start := time.Now()
		until := start.Add(time.Minute)
		first, second := enter("x"), enter("y")
		if err := first.Begin(t.Context(), until); err != nil {
			t.Fatal(err)
		}
		took := make(chan error)
		go func() { took <- second.Begin(t.Context(), until) }()
		synctest.Wait()
		go func() { took <- first.Take(t.Context(), until) }()
		err := <-took
		synctest.Wait()
		if err != nil || !second.held || first.held || len(q.ring) != 1 {
			t.Errorf("who takes turns keeps its own: %v", err)
		}
		// Who has to wait too long fails then, and waits no more.
		third := enter("z")
		if err := third.Begin(t.Context(), start.Add(time.Second)); !errors.Is(err, ErrBusy) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if len(q.ring) != 1 || len(s.waiting.list) != 1 {
			t.Errorf("%d shares and %d calls wait", len(q.ring), len(s.waiting.list))
		}
		second.Give()
		if err := <-took; err != nil || !first.held || len(q.ring) != 0 || q.Taken() != 1 {
			t.Errorf("%v, %d shares wait", err, len(q.ring))
		}

		// A share is in the ring as long as calls of it wait.
		failed := make(chan error, MaxWaiting+1)
		for range 3 {
			go func() { failed <- enter("greedy").Take(t.Context(), until) }()
		}
		synctest.Wait()
		for left := 2; left >= 0; left-- {
			first.held = true
			first.Give()
			err := <-failed
			synctest.Wait()
			if err != nil || len(s.waiting.list) != left || len(q.ring) != min(left, 1) {
				t.Errorf("%v: %d calls and %d shares wait, want %d", err, len(s.waiting.list), len(q.ring), left)
			}
		}
		for range MaxWaiting {
			go func() { failed <- enter("greedy").Take(t.Context(), until) }()
		}
		synctest.Wait()
		at := time.Now()
		if err := enter("greedy").Take(t.Context(), until); !errors.Is(err, ErrBusy) || time.Since(at) > 0 {
			t.Errorf("where too many wait: %v after %v", err, time.Since(at))
		}
		go func() { took <- enter("modest").Take(t.Context(), until) }()
		synctest.Wait()
		if len(failed) != 1 || !errors.Is(<-failed, ErrBusy) {
			t.Error("the call that made room is not told")
		}
		first.held = true
		first.Give()
		if err := <-failed; err != nil {
			t.Error(err)
		}
		first.held = true
		first.Give()
		if err := <-took; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour) // the others have waited too long
		synctest.Wait()
		if len(q.ring) != 0 || len(s.waiting.list) != 0 {
			t.Errorf("%d shares and %d calls wait", len(q.ring), len(s.waiting.list))
		}
	})
}

// TestGivingUpAsItComes: who gives up just as its turn or place comes has it, or it is free
// for another.
func TestGivingUpAsItComes(t *testing.T) {
	q := NewQueue()
	q.turns, q.free = 1, 1
	s := q.Join("a")
	p := NewPlaces(1, 1, 1)
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		var first, second Turn
		first.Enter(q, s, "x")
		second.Enter(q, s, "y")
		if err := first.Take(ctx, time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if err := p.Take(ctx, time.Minute, "", ""); err != nil {
			t.Fatal(err)
		}
		took, placed := make(chan error), make(chan error)
		go func() { took <- second.Take(ctx, time.Now().Add(time.Minute)) }()
		go func() { placed <- p.Take(ctx, time.Minute, "", "") }()
		for waiting := 0; waiting < 2; runtime.Gosched() {
			q.mu.Lock()
			p.mu.Lock()
			waiting = len(s.waiting.list) + len(p.line.list)
			p.mu.Unlock()
			q.mu.Unlock()
		}
		cancel()
		first.Give()
		p.Give("", "")
		if err := <-took; (err == nil) != second.held || (err == nil) != (q.Taken() == 1) {
			t.Fatalf("%v, it has a turn: %v, taken %d", err, second.held, q.Taken())
		}
		second.Give()
		if err := <-placed; (err == nil) != (p.Taken() == 1) {
			t.Fatalf("%v, %d places taken", err, p.Taken())
		} else if err == nil {
			p.Give("", "")
		}
	}
}

// TestHolders: places are counted by share and caller, and given back by both.
func TestHolders(t *testing.T) {
	p := NewPlaces(10, 5, 3)
	take := func(share, caller string) bool { return p.Take(t.Context(), 0, share, caller) == nil }
	for _, who := range [][2]string{{"a", "x"}, {"a", "x"}, {"b", "x"}, {"a", "y"}, {"x", "a"}} {
		if !take(who[0], who[1]) {
			t.Fatalf("no place for %s", who)
		}
	}
	check := func(want ...holder) {
		t.Helper()
		n := 0
		for _, h := range want {
			n += h.places
			if !slices.Contains(p.held, h) {
				t.Errorf("%+v is not among %+v", h, p.held)
			}
		}
		if len(p.held) != len(want) || p.Taken() != n {
			t.Errorf("%+v hold %d places", p.held, p.Taken())
		}
	}
	check(holder{"a", "x", 2}, holder{"b", "x", 1}, holder{"a", "y", 1}, holder{"x", "a", 1})
	p.Give("b", "x")
	check(holder{"a", "x", 2}, holder{"a", "y", 1}, holder{"x", "a", 1})
	p.Give("a", "y")
	check(holder{"a", "x", 2}, holder{"x", "a", 1})
	p.Give("a", "x")
	check(holder{"a", "x", 1}, holder{"x", "a", 1})

	// What was waited for is held by who waited.
	p = NewPlaces(1, 1, 1)
	w := &waiter{share: "s", caller: "c"}
	if !take("a", "x") || !p.line.add(w) {
		t.Fatal("no place")
	}
	p.Give("a", "x")
	check(holder{"s", "c", 1})
	// A place is not for one whose share has all that it may have.
	p = NewPlaces(2, 1, 1)
	w = &waiter{share: "s", caller: "c"}
	if !take("s", "x") || !take("a", "y") || !p.line.add(w) {
		t.Fatal("no place")
	}
	if p.Give("a", "y"); w.held {
		t.Error("a share has more places than it may have")
	}
	if p.Give("s", "x"); !w.held {
		t.Error("a place that fits is not given")
	}
	for places, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 3, 8: 6, 32: 24} {
		if got := Part(places); got != want {
			t.Errorf("the part of %d is %d, want %d", places, got, want)
		}
	}
}

// TestMeasure: what a function uses of a processor, and its error.
func TestMeasure(t *testing.T) {
	failed := errors.New("x")
	took, err := Measure(func() error {
		begin := time.Now()
		thread, mark := threadTime()
		for {
			if _, now := threadTime(); thread != 0 && now-mark >= 2*time.Millisecond || thread == 0 && time.Since(begin) >= 2*time.Millisecond {
				return failed
			}
		}
	})
	if err != failed || took < 2*time.Millisecond {
		t.Errorf("%v, %v", took, err)
	}
}

// TestClock: the processor's time counts where it is known, the wall clock's otherwise, and
// no stretch for more than longestStretch.
func TestClock(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var c Clock
	stretch := func(change func()) time.Duration {
		c.Reset()
		c.Begin(true)
		c.since = c.since.Add(-3 * time.Millisecond) // as if it had waited
		change()
		c.End()
		if c.thread != 0 || c.Stretch() > time.Minute {
			t.Error("the next stretch has not begun")
		}
		return c.Used()
	}
	if thread, _ := threadTime(); thread != 0 {
		if used := stretch(func() {}); used >= 3*time.Millisecond {
			t.Errorf("what passes while it waits counts: %v", used)
		}
		if used := stretch(func() { c.mark -= time.Millisecond }); used < time.Millisecond || used >= 3*time.Millisecond {
			t.Errorf("a millisecond of the processor is %v", used)
		}
		if used := stretch(func() { c.mark -= time.Hour }); used != longestStretch {
			t.Errorf("an hour is %v", used)
		}
	}
	for what, change := range map[string]func(){
		"on another thread": func() { c.thread++ }, "on a thread of the same name": func() { c.mark += time.Hour }, "by the wall clock": func() { c.thread = 0 },
	} {
		if used := stretch(change); used < 3*time.Millisecond || used > longestStretch {
			t.Errorf("%s: %v", what, used)
		}
	}
	c.Reset()
	c.Begin(false)
	if c.thread != 0 {
		t.Error("the processor's time is asked for though nobody wants it")
	}
	c.since = c.since.Add(-time.Hour)
	c.End()
	c.Begin(false)
	c.since = c.since.Add(-time.Hour)
	c.End()
	if c.Used() != 2*longestStretch {
		t.Errorf("two long stretches are %v", c.Used())
	}
}
