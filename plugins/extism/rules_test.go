package extism

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/sluicegate/sluice/plugins/turns"
)

// TestLimitsByDefault: what is not said, or is none, has its default; what is said stays.
func TestLimitsByDefault(t *testing.T) {
	def := Limits{Memory: 8 << 20, Deadline: 100 * time.Millisecond, Output: 16 << 20, Variables: 1 << 20, HTTPResponse: 4 << 20, Concurrent: 32, Idle: 4}
	one := Limits{Memory: 1, Deadline: 1, Output: 1, Variables: 1, HTTPResponse: 1, Concurrent: 1, Idle: 1}
	none := Limits{Memory: -1, Deadline: -1, Output: -1, Variables: -1, HTTPResponse: -1, Concurrent: -1, Idle: -1}
	for what, c := range map[string]struct{ in, want Limits }{"nothing": {Limits{}, def}, "the least": {one, one}, "less than nothing": {none, def}} {
		if got := c.in.withDefaults(); got != c.want {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestMemoryClasses: the smallest class that holds the memory, and none past the largest.
func TestMemoryClasses(t *testing.T) {
	for _, c := range []struct {
		memory, class int
		ok            bool
	}{
		{1, 0, true}, {8 << 20, 0, true}, {8<<20 + 1, 1, true}, {32 << 20, 1, true}, {32<<20 + 1, 2, true}, {128 << 20, 2, true}, {128<<20 + 1, 0, false},
	} {
		if class, ok := (Limits{Memory: c.memory}).class(); class != c.class || ok != c.ok {
			t.Errorf("%d bytes: class %d, %v", c.memory, class, ok)
		}
	}
}

// denial is why f is denied; "": it is not.
func denial(f func()) (reason string) {
	defer func() {
		if d, ok := recover().(*denied); ok {
			reason = d.Error()
		}
	}()
	f()
	return ""
}

type memoryOf struct {
	api.Memory

	size uint32
}

func (m memoryOf) Size() uint32 { return m.size }

// TestStackOfAClass: a stack may have a quarter of the class, and with the plugin's memory
// no more than the class and what does not count.
func TestStackOfAClass(t *testing.T) {
	const class = 8 << 20
	for _, c := range []struct {
		stack, memory int
		noMemory, ok  bool
	}{
		{0, class, false, true},
		{freeStack, class, false, true},
		{freeStack, 4 * class, false, true},
		{freeStack + 8, class - 8, false, true},
		{freeStack + 8, class, false, false},
		{class / stackShare, 0, true, true},
		{class/stackShare + 8, 0, true, false},
		{class / stackShare, class - class/stackShare + freeStack, false, true},
		{class / stackShare, class - class/stackShare + freeStack + 1, false, false},
	} {
		i := &Instance{p: &Plugin{limits: Limits{Memory: class}}, running: function{stack: reflect.ValueOf(make([]uint64, c.stack/8))}}
		if !c.noMemory {
			i.memory = memoryOf{size: uint32(c.memory)}
		}
		if got := denial(i.checkStack); (got == "") != c.ok || got != "" && !strings.Contains(got, "its stack has") {
			t.Errorf("a stack of %d beside a memory of %d: %q", c.stack, c.memory, got)
		}
	}
	if n := (&function{}).stackBytes(); n != 0 {
		t.Errorf("no stack has %d bytes", n)
	}
	// Where this wazero had none, none is found.
	for name, f := range map[string]api.Function{"no pointer": named{}, "another field": &named{}, "no slice": &stackless{}} {
		if got := newFunction(f); got.stack.IsValid() {
			t.Errorf("%s: a stack of %v", name, got.stack)
		}
	}
}

type named struct{ api.Function }

type stackless struct {
	api.Function

	stack int //nolint:unused // found by its name
}

// TestWhoGetsNoTurn: that there was no place is told as that, and everything else as the end
// of the time.
func TestWhoGetsNoTurn(t *testing.T) {
	deadline := time.Unix(1e9, 0)
	for _, c := range []struct{ said, want error }{{nil, nil}, {turns.ErrBusy, ErrBusy}, {context.Canceled, ErrDeadline}, {context.DeadlineExceeded, ErrDeadline}} {
		i := &Instance{ctx: &callContext{Context: t.Context()}, deadline: deadline}
		err := i.takeTurn(func(ctx context.Context, until time.Time) error {
			if ctx != i.ctx || !until.Equal(deadline) {
				t.Errorf("waits until %v", until)
			}
			return c.said
		})
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%v: %v, want %v", c.said, err, c.want)
		}
	}
}

// levels is what a logger was told.
type levels struct {
	slog.Handler

	said *[]slog.Level
}

func (levels) Enabled(context.Context, slog.Level) bool { return true }

func (l levels) Handle(_ context.Context, r slog.Record) error {
	*l.said = append(*l.said, r.Level)
	return nil
}

// TestLevelsOfLines: a line that a plugin writes is logged at its level, an error of a
// plugin as a warning, and a level that is none as the nearest. Who takes the lines gets
// them as they are, and the log none.
func TestLevelsOfLines(t *testing.T) {
	var said []slog.Level
	i := &Instance{p: &Plugin{h: &Host{log: slog.New(levels{said: &said})}}}
	for _, level := range []int{-1, 0, 1, 2, 3, 4, 5, 1 << 30} {
		i.emit(level, "x")
	}
	const trace = slog.LevelDebug - 4
	if want := []slog.Level{trace, trace, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelWarn, slog.LevelWarn, slog.LevelWarn}; !slices.Equal(said, want) {
		t.Errorf("logged at %v, want %v", said, want)
	}
	var lines []string
	i.p.spec.Log = func(level int, line string) { lines = append(lines, line+string(rune('0'+level))) }
	i.emit(3, "a")
	i.emit(0, "b")
	if !slices.Equal(lines, []string{"a3", "b0"}) || len(said) != 8 {
		t.Errorf("lines %q, %d logged", lines, len(said))
	}
}

// TestCallerOfAFunction: what a host function sees of the call that it serves.
func TestCallerOfAFunction(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	i := &Instance{ctx: &callContext{Context: t.Context()}, deadline: deadline, data: 7}
	c := &Caller{i}
	ctx, cancel := c.Context()
	defer cancel()
	if until, ok := ctx.Deadline(); !ok || !until.Equal(deadline) || c.Data() != 7 {
		t.Errorf("until %v, data %v", until, c.Data())
	}
	if got := denial(func() { c.Stop("100 % no") }); !strings.Contains(got, "100 % no") {
		t.Errorf("stopped with %q", got)
	}
	if got := i.write(nil); got != 0 {
		t.Errorf("nothing is at %d", got)
	}
}

// TestWhatAPluginReads: a setting of the call goes before one of the plugin, and what is
// nowhere is none; what a variable was set to is there until it is removed; a place that is
// none ends the call.
func TestWhatAPluginReads(t *testing.T) {
	text := func(i *Instance, f func([]uint64), name string) string {
		stack := []uint64{i.write([]byte(name))}
		f(stack)
		b, _ := i.block(stack[0])
		return string(b)
	}
	ended(t, "settings", inPlugin(t, Limits{}, func(i *Instance) {
		i.p.spec.Config = map[string]string{"a": "of the plugin", "b": "of the plugin"}
		for name, want := range map[string]string{"a": "of the plugin", "c": "", "": ""} {
			if got := text(i, i.configGet, name); got != want {
				t.Errorf("without settings of the call %s is %q", name, got)
			}
		}
		i.config = func(name string) (string, bool) { return "of the call", name == "a" }
		for name, want := range map[string]string{"a": "of the call", "b": "of the plugin", "c": ""} {
			if got := text(i, i.configGet, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		// And variables.
		for _, value := range []string{"one", "another", ""} {
			stack := []uint64{i.write([]byte("v")), i.write([]byte(value))}
			i.varSet(stack)
			if got := text(i, i.varGet, "v"); got != value || text(i, i.varGet, "w") != "" {
				t.Errorf("v is %q, want %q", got, value)
			}
		}
		if len(i.vars) != 0 || i.varBytes != 0 {
			t.Errorf("%d variables of %d bytes are left", len(i.vars), i.varBytes)
		}
		i.configGet([]uint64{0}) // no name
	}), "")
	ended(t, "a place that is none", inPlugin(t, Limits{}, func(i *Instance) { i.configGet([]uint64{1 << 20}) }), "the name of a setting is not a block")
	ended(t, "a place that is none", inPlugin(t, Limits{}, func(i *Instance) { i.varSet([]uint64{i.write([]byte("v")), 1 << 20}) }), "the value of a variable is not a block")
}

// TestLinesOfACall: the lines of the levels that are wanted, as many and as long as the
// bounds say.
func TestLinesOfACall(t *testing.T) {
	ended(t, "lines", inPlugin(t, Limits{}, func(i *Instance) {
		i.p.spec.LogLevel = 2
		for level, want := range map[int]int{0: 0, 1: 0, 2: maxLogLines, 4: maxLogLines} {
			var lines []string
			i.p.spec.Log = func(_ int, line string) { lines = append(lines, line) }
			i.lines = 0
			for n := range maxLogLines + 1 {
				i.logLine([]uint64{uint64(level), i.write([]byte(strings.Repeat("l", maxLogLine+n%2)))})
			}
			if len(lines) != want {
				t.Errorf("%d lines of level %d, want %d", len(lines), level, want)
			}
			for _, line := range lines {
				if line != strings.Repeat("l", maxLogLine) {
					t.Errorf("a line of %d bytes", len(line))
				}
			}
		}
	}), "")
}
