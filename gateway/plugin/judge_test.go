package plugin

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestJudgeWindows: failures of one window say nothing about the next one, waiting for others
// says nothing at all, and a window without a reason makes the next pause short again.
func TestJudgeWindows(t *testing.T) {
	w := newWorld(t)
	p := moody(t, "echo", nil)
	now := w.r.o.Now()
	e := w.r.entry(p, now)
	rec := e.records.of("ada", now)
	judge := func(n int, err error) {
		for range n {
			w.r.judge(e, rec, p, err, now, time.Millisecond, time.Millisecond, 1, 1)
		}
	}
	failed := errors.New("failed")
	const most = Window * DefaultErrorPercent / 100
	for range 5 {
		judge(most, failed)
		judge(Window-most, nil)
	}
	if len(w.events) != 0 {
		t.Errorf("half of the calls of each window failed: %+v", w.events)
	}
	for _, err := range []error{extism.ErrBusy, fmt.Errorf("waiting: %w", extism.ErrBusy), extism.ErrClosed} {
		judge(3*Window, err)
	}
	if len(w.events) != 0 {
		t.Errorf("calls waited for others: %+v", w.events)
	}
	pause := func(want time.Duration) {
		t.Helper()
		judge(most+1, failed)
		if len(w.events) == 0 || w.events[len(w.events)-1].Until != now.Add(want).Unix() {
			t.Errorf("reported %+v, want a pause of %s", w.events, want)
		}
		now = now.Add(want)
	}
	pause(Unbound)
	pause(2 * Unbound)
	judge(Window-2, nil) // the call that left it out was the first of this window
	judge(1, failed)     // the last one decides
	pause(4 * Unbound)
	judge(Window, nil)
	pause(Unbound)
}

// TestWhatWorkflowsSay: what a workflow says is for the agent and no fault of it, and of another
// plugin it is one; that it traps, or takes too long, always is.
func TestWhatWorkflowsSay(t *testing.T) {
	trap, said := &extism.TrapError{Reason: "unreachable"}, &extism.PluginError{Message: "no such order"}
	for _, c := range []struct {
		kind  manifest.Kind
		err   error
		fault bool
	}{{manifest.Workflow, trap, true}, {manifest.Workflow, extism.ErrDeadline, true}, {manifest.Workflow, said, false}, {manifest.Auth, trap, true}, {manifest.Auth, said, true}} {
		w := newWorld(t)
		p := moody(t, "echo", nil)
		p.Package.Manifest.Kind = c.kind
		now := w.r.o.Now()
		e := w.r.entry(p, now)
		for range Window {
			w.r.judge(e, e.records.of("ada", now), p, fmt.Errorf("called: %w", c.err), now, time.Millisecond, time.Millisecond, 1, 1)
		}
		if (len(w.events) > 0) != c.fault {
			t.Errorf("%s that ended with %q: reported %+v", c.kind, c.err, w.events)
		}
	}
}

// TestCauseOfWrapped: the cause is known also below what says where it happened.
func TestCauseOfWrapped(t *testing.T) {
	e := newEntry(moody(t, "echo", nil), nil, grace)
	for err, want := range map[error]string{
		extism.ErrDeadline: "deadline", extism.ErrTooLarge: "output", &extism.TrapError{}: "trap", errors.New("x"): "error",
	} {
		if got, below := e.cause(err), e.cause(fmt.Errorf("calling it: %w", err)); got != want || below != want {
			t.Errorf("%v: %s, wrapped %s; want %s", err, got, below, want)
		}
	}
	if e.deadlines.Load() != 2 || e.traps.Load() != 2 || e.errors.Load() != 4 {
		t.Errorf("counted %d deadlines, %d traps, %d errors", e.deadlines.Load(), e.traps.Load(), e.errors.Load())
	}
}

// TestOutOnce: calls that run together and all fail leave the plugin out once.
func TestOutOnce(t *testing.T) {
	var c record
	now := time.Unix(1_800_000_000, 0)
	until := now.Add(Unbound)
	if !c.out(now, until) || c.out(now, until.Add(time.Hour)) || c.out(until.Add(-1), until.Add(time.Hour)) {
		t.Error("a plugin that is left out was left out again")
	}
	if c.times.Load() != 1 || c.unbound.Load() != until.UnixNano() {
		t.Errorf("left out %d times, until %d", c.times.Load(), c.unbound.Load())
	}
	if !c.out(until, until.Add(2*Unbound)) || c.times.Load() != 2 {
		t.Error("the time is over, and it is not left out again")
	}
}

// TestActiveCallers: whoever called in the last five minutes counts among the callers that a
// plugin is not left out for, and is not forgotten.
func TestActiveCallers(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var r records
	for i := range outForAll {
		r.of(fmt.Sprint("out", i), now).unbound.Store(now.Add(time.Second).UnixNano())
	}
	for i := range outForAll {
		r.of(fmt.Sprint("good", i), now)
	}
	if !r.outForMost(now) {
		t.Error("half of the callers are not most")
	}
	last := r.of("late", now.Add(-Unbound+1)) // it called just in time
	if r.outForMost(now) {
		t.Error("a caller of the last five minutes does not count")
	}
	last.used.Store(now.Add(-Unbound).UnixNano())
	if !r.outForMost(now) {
		t.Error("a caller from before the last five minutes counts")
	}
	r.forget(now)
	if r.named["late"] == nil {
		t.Error("a caller of five minutes ago is forgotten")
	}
	r.forget(now.Add(1))
	if r.named["late"] != nil || r.named["out0"] == nil || r.named["good0"] == nil {
		t.Error("the wrong callers are forgotten")
	}
}

// TestRestAgain: an entry that is used stays, and rests each time that no call needs it.
func TestRestAgain(t *testing.T) {
	w := newWorld(t)
	p, other := moody(t, "echo", nil), moody(t, "text", nil)
	e := w.r.entry(p, w.r.o.Now())
	e.rest() // it was not loaded
	for range 3 {
		w.pass(idle - time.Minute)
		if w.r.entry(other, w.r.o.Now()); !e.resting.Load() {
			t.Error("a plugin that no call needs does not rest")
		}
		if got := w.r.entry(p, w.r.o.Now()); got != e || e.resting.Load() {
			t.Error("a plugin that is called was let go, or is said to rest")
		}
	}
}
