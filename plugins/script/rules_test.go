package script

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/sluicegate/sluice/plugins/turns"
)

// TestBoundsOfTheCaller: a caller lowers and raises a bound up to the most.
func TestBoundsOfTheCaller(t *testing.T) {
	for _, c := range []struct{ n, want int }{{-1, 8}, {0, 8}, {1, 1}, {8, 8}, {64, 64}, {65, 64}, {math.MaxInt, 64}} {
		if got := limit(c.n, DefaultAtOnce, MaxAtOnce); got != c.want {
			t.Errorf("%d: %d, want %d", c.n, got, c.want)
		}
	}
	for given, want := range map[time.Duration]time.Duration{0: OwnTime, 1: 1, MaxOwnTime: MaxOwnTime, MaxOwnTime + 1: MaxOwnTime} {
		if got := ownTime(given, OwnTime); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	for given, want := range map[time.Duration]time.Duration{0: OwnTime, -1: OwnTime, time.Minute: time.Minute} {
		e := New(Options{OwnTime: given})
		if e.o.OwnTime != want || e.queue == nil || e.log == nil {
			t.Errorf("an engine of %s: %s", given, e.o.OwnTime)
		}
	}
	q := turns.NewQueue()
	if e := New(Options{Turns: q}); e.queue != q {
		t.Error("the turns are not shared")
	}
}

// TestSleepTime: a timer runs for as long as it says, at most a minute; what is not a time is
// over at once.
func TestSleepTime(t *testing.T) {
	for ms, want := range map[float64]time.Duration{
		0: 0, -1: 0, math.Inf(-1): 0, 1: time.Millisecond, 0.5: time.Millisecond / 2, 59999: time.Minute - time.Millisecond, 60000: time.Minute, 60001: time.Minute, math.Inf(1): time.Minute, 1e300: time.Minute,
	} {
		if got := sleepTime(ms); got != want {
			t.Errorf("%g ms: %s", ms, got)
		}
	}
	if got := sleepTime(math.NaN()); got != 0 {
		t.Errorf("not a number: %s", got)
	}
}

// TestLogOfARun: the pieces of a line are one line, of which the first part is kept; so many
// lines are kept, and the rest are counted.
func TestLogOfARun(t *testing.T) {
	r := &run{}
	r.log(-1, []byte("a"))
	r.log(-1, []byte("b"))
	r.log(0, nil)
	r.log(-1, []byte(strings.Repeat("x", maxLogLine-1)))
	r.log(-1, []byte("yz"))
	r.log(-1, []byte("z"))
	r.log(1, nil)
	if len(r.result.Logs) != 2 || r.result.Logs[0] != "ab" || r.result.Logs[1] != strings.Repeat("x", maxLogLine-1)+"y" {
		t.Errorf("%d lines: %.20q", len(r.result.Logs), r.result.Logs)
	}
	for range maxLogLines {
		r.log(0, nil)
	}
	if len(r.result.Logs) != maxLogLines || r.result.LogsDropped != 2 {
		t.Errorf("%d lines, %d dropped", len(r.result.Logs), r.result.LogsDropped)
	}
}

// TestEndOfARun: a value up to the bound, an error with its place in the script, and the end
// of its time before what it said of that.
func TestEndOfARun(t *testing.T) {
	for n, ok := range map[int]bool{0: true, 1: true, maxValue: true, maxValue + 1: false} {
		r := &run{}
		r.done(make([]byte, n))
		if (r.err == nil) != ok || ok && len(r.result.Value) != n || (r.result.Value == nil) != (n == 0 || !ok) {
			t.Errorf("a value of %d bytes: %d are kept, %v", n, len(r.result.Value), r.err)
		}
	}
	value := []byte("1")
	r := &run{lines: 3, before: 1}
	r.done(value)
	value[0] = '2'
	if string(r.result.Value) != "1" {
		t.Error("the value is the module's memory")
	}
	r.fail([]byte("TypeError: x"), []byte("    at f (script.js:4:7)\n"), 1)
	if e, ok := errors.AsType[*Error](r.err); !ok || e.Line != 2 || e.Column != 7 || e.Message != "TypeError: x" {
		t.Errorf("%+v", r.err)
	}
	r = &run{stopped: true}
	if r.fail([]byte("InternalError: interrupted"), nil, 0); !errors.Is(r.err, ErrDeadline) {
		t.Errorf("%v", r.err)
	}
}

// TestPlacesOfErrors: lines count from the first of the script, those of what stands before
// it are left out, and what lies behind the last one is at its end.
func TestPlacesOfErrors(t *testing.T) {
	for i, c := range []struct {
		stack         string
		before, lines int
		line, column  int
		frames        string
	}{
		{"", 0, 1, 0, 0, ""},
		{"    at f (script.js:1:5)\n", 0, 1, 1, 5, "    at f (script.js:1:5)"},
		{"    at f (script.js:3:5)\n", 2, 1, 1, 5, "    at f (script.js:1:5)"},
		{"    at f (script.js:2:5)\n", 2, 1, 0, 0, ""},
		{"    at f (script.js:5:5)\n", 2, 2, 2, 1, "    at f (script.js:2:1)"},
		{"    at f (script.js:4:5)\n", 2, 2, 2, 5, "    at f (script.js:2:5)"},
		{"    at p (prelude.js:9:9)\n    at f (script.js:1:2)\n    at g (script.js:2:3)\n", 0, 2, 1, 2, "    at f (script.js:1:2)\n    at g (script.js:2:3)"},
		{"    at f (script.js:x:5)\n", 0, 1, 0, 0, ""},
		{"    at f (script.js:1:x)\n", 0, 1, 1, 0, "    at f (script.js:1:0)"},
		{"    at f (script.js:-1:5)\n", 0, 1, 0, 0, ""},
		{"    at f (native)\n", 0, 1, 0, 0, ""},
	} {
		e := newError("Error: x", c.stack, c.before, c.lines)
		if e.Line != c.line || e.Column != c.column || e.Stack != c.frames {
			t.Errorf("%d: line %d, column %d, %q", i, e.Line, e.Column, e.Stack)
		}
		want := "Error: x"
		if c.line > 0 {
			want = fmt.Sprintf("Error: x (line %d, column %d)", c.line, c.column)
		}
		if e.Error() != want {
			t.Errorf("%d: %s", i, e.Error())
		}
	}
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"aä", 3, "aä"}, {"aä", 2, "a"}, {"ä", 1, ""}, {"", 0, ""}, {"a\xff", 9, "a\uFFFD"}, {"abc", 0, ""},
	} {
		if got := clip(c.text, c.n); got != c.want {
			t.Errorf("%q in %d bytes: %q", c.text, c.n, got)
		}
	}
}

// TestErrorsOfTools: what a script catches of a call that failed.
func TestErrorsOfTools(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("no"), `{"tool":"shop.get","message":"no"}`},
		{&ToolError{Tool: "inner", Status: 404, Message: "none"}, `{"tool":"inner","status":404,"message":"none"}`},
		{fmt.Errorf("call: %w", &ToolError{Tool: "inner", Message: "none"}), `{"tool":"inner","message":"none"}`},
	} {
		if got := string(appendToolError("shop.get", c.err)); got != c.want {
			t.Errorf("%v: %s", c.err, got)
		}
	}
}

// answers calls a function for each tool.
type answers func(ctx context.Context, path string, arguments []byte) ([]byte, error)

func (answers) Names(string) []string { return nil }

func (f answers) Call(ctx context.Context, path string, arguments []byte) ([]byte, error) {
	return f(ctx, path, arguments)
}

// TestOpenCalls: a script has so many calls, and so many that are open with its timers; each
// has a place of its own until it is waited for, and arguments of its own.
func TestOpenCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &run{ctx: ctx, maxCalls: 2, atOnce: make(chan struct{}, 1), ended: make(chan event, maxOpen)}
		running, most := 0, 0
		r.tools = answers(func(ctx context.Context, path string, arguments []byte) ([]byte, error) {
			running++
			most = max(most, running)
			time.Sleep(time.Second)
			running--
			return append([]byte(path+" "), arguments...), nil
		})
		args := []byte("1")
		first := r.submit([]byte("a"), args)
		args[0] = '2'
		second := r.submit([]byte("b"), args)
		if first != 0 || second != 1 || r.submit([]byte("c"), nil) != tooMany || r.calls != 2 {
			t.Errorf("places %d and %d of %d calls", first, second, r.calls)
		}
		got := map[string]bool{}
		for range 2 {
			e := <-r.ended
			got[fmt.Sprintf("%d %s %v %v", e.place, e.answer, e.failed, e.late)] = true
		}
		if most != 1 || !got["0 a 1 false false"] || !got["1 b 2 false false"] {
			t.Errorf("%d at once, answers %v", most, got)
		}
		for n := range maxSleeps {
			if place := r.sleep(float64(maxSleeps - n)); place != int32(n+2) {
				t.Errorf("timer %d has the place %d", n, place)
			}
		}
		if r.sleep(1) != tooManyOpen || len(r.asleep) != maxSleeps {
			t.Errorf("%d timers", len(r.asleep))
		}
		begun := time.Now()
		if e := r.next(); e.place != maxSleeps+1 || e.failed || string(e.answer) != "null" || time.Since(begun) != time.Millisecond {
			t.Errorf("the first timer: %+v after %s", e, time.Since(begun))
		}
		time.Sleep(time.Hour) // all others are late
		for n := maxSleeps; n > 1; n-- {
			if e := r.next(); e.place != int32(n) {
				t.Errorf("place %d ends, want %d", e.place, n)
			}
		}
		for n := range r.open {
			r.open[n] = true
		}
		r.calls, r.asleep = 0, nil
		if r.submit([]byte("a"), nil) != tooManyOpen || r.sleep(1) != tooManyOpen || r.calls != 0 || len(r.asleep) != 0 {
			t.Errorf("with no place: %d calls, %d timers", r.calls, len(r.asleep))
		}
		cancel()
		r.work.Wait()
	})
}

// TestAnswersOfCalls: an answer up to the bound; that a call was late ends the run and is no
// error for the script.
func TestAnswersOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		answer       []byte
		err          error
		failed, late bool
		says         string
	}{
		"an answer":     {[]byte("1"), nil, false, false, "1"},
		"the longest":   {make([]byte, maxAnswer), nil, false, false, ""},
		"a byte more":   {make([]byte, maxAnswer+1), nil, true, false, "too large for a script"},
		"an error":      {nil, errors.New("no"), true, false, `"message":"no"`},
		"over its time": {nil, fmt.Errorf("call: %w", context.DeadlineExceeded), true, true, ""},
	} {
		r := &run{ctx: t.Context(), maxCalls: 1, atOnce: make(chan struct{}, 1), ended: make(chan event, 1)}
		r.tools = answers(func(context.Context, string, []byte) ([]byte, error) { return c.answer, c.err })
		r.submit([]byte("shop.get"), nil)
		e := <-r.ended
		if e.failed != c.failed || e.late != c.late || !strings.Contains(string(e.answer), c.says) || !c.failed && len(e.answer) != len(c.answer) {
			t.Errorf("%s: failed %v, late %v, %.100s", name, e.failed, e.late, e.answer)
		}
	}
}

// TestWhyARunWasCutOff: each cause by its name, and what cannot be told as memory.
func TestWhyARunWasCutOff(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	e := New(Options{})
	for i, c := range []struct {
		ctx       context.Context
		err, want error
	}{
		{t.Context(), fmt.Errorf("x: %w", ErrDeadline), ErrDeadline},
		{t.Context(), ErrBusy, ErrBusy},
		{t.Context(), turns.ErrBusy, ErrBusy},
		{over, context.Canceled, context.Canceled},
		{t.Context(), context.Canceled, ErrMemory},
		{over, errors.New("x"), ErrMemory},
		{t.Context(), context.DeadlineExceeded, context.DeadlineExceeded},
		{t.Context(), sys.NewExitError(1), ErrClosed},
		{t.Context(), errBroken, ErrMemory},
	} {
		if got := (&run{e: e, ctx: c.ctx}).failure(c.err); !errors.Is(got, c.want) {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
	if line := argumentsLine([]byte(`{"a":"</script>\u2028"}`)); strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "const args=JSON.parse(\"{") {
		t.Errorf("arguments are %s", line)
	}
}

// TestAfterARunThatWasCutOff: its instance, stopped in the middle of something, serves no other
// script; that of a script that failed by itself does. Neither leaves a share behind.
func TestAfterARunThatWasCutOff(t *testing.T) {
	e := New(Options{OwnTime: 20 * time.Millisecond})
	kept := e.queue.Join("a") // a share that somebody else is in, too
	for _, c := range []struct {
		code string
		want error
		idle int
	}{
		{"1+1", nil, 1}, {"throw 1", nil, 1}, {"const s = 'x'.repeat(2e5); for (;;) s.indexOf('xxxxxxxxxxy')", ErrDeadline, 0},
	} {
		_, err := e.Run(t.Context(), Script{Code: c.code, Share: "a", Caller: "theirs", Tools: answers(nil)})
		if thrown, _ := errors.AsType[*Error](err); thrown == nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.code, err, c.want)
		}
		if len(e.idle) != c.idle {
			t.Errorf("%s: %d instances wait for the next run, want %d", c.code, len(e.idle), c.idle)
		}
	}
	// The share knows who was stopped, once: what that left behind is work that no turn pays for.
	if known := reflect.ValueOf(kept).Elem().FieldByName("suspect"); known.Len() != 1 || known.Index(0).FieldByName("caller").String() != "theirs" {
		t.Errorf("stopped callers of the share: %v", known)
	}
	// Calls and timers that ended leave their places: more may follow than are open at once.
	timers := fmt.Sprintf("for (let i = 0; i <= %d; i++) await new Promise(r => setTimeout(r, 0)); 'done'", maxOpen)
	if r, err := e.Run(t.Context(), Script{Code: timers, OwnTime: 5 * time.Second, Tools: answers(nil)}); err != nil || string(r.Value) != `"done"` {
		t.Errorf("one timer behind the other: %s, %v", r.Value, err)
	}
	// A script whose caller has gone is not computed to its end.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r, err := e.Run(ctx, Script{Code: "for (;;);", OwnTime: MaxOwnTime, Tools: answers(nil)}); !errors.Is(err, context.DeadlineExceeded) || r.Used > MaxOwnTime/2 {
		t.Errorf("a script whose caller has gone: %v after %s", err, r.Used)
	}
	e.queue.Part(kept)
	share := e.queue.Join("a")
	if share == kept {
		t.Error("a run did not leave its share")
	}
	e.queue.Part(share)
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.Close(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
	if _, err := e.Run(t.Context(), Script{Code: "1", Tools: answers(nil)}); !errors.Is(err, ErrClosed) {
		t.Errorf("a script of an engine that is closed: %v", err)
	}
}
