package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// world is a runner with a clock of its own.
type world struct {
	t      *testing.T
	r      *Runner
	meter  *metering.Meter
	now    atomic.Int64 // nanoseconds since the start
	events []registry.PluginUnbound
}

// grace is short: a plugin that spins must have used its processor time before the call's
// patience of two seconds is over, also on a machine that gives it a tenth of a processor.
const grace = 50 * time.Millisecond

func newWorld(t *testing.T) *world {
	t.Helper()
	h, err := extism.New(extism.Options{Grace: grace, Functions: guest.Functions()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, meter: metering.New()}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.r, err = New(Options{
		Host: h, Meter: w.meter, Unbound: func(u registry.PluginUnbound) { w.events = append(w.events, u) },
		Now: func() time.Time { return start.Add(time.Duration(w.now.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.r.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) pass(d time.Duration) { w.now.Add(int64(d)) }

func moody(t *testing.T, mood string, limits *registry.UnbindLimits) *snapshot.Plugin {
	t.Helper()
	code, err := os.ReadFile("../../testdata/plugins/moody/moody.wasm")
	if err != nil {
		t.Fatal(err)
	}
	g, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	return &snapshot.Plugin{
		Workspace: "acme", Package: g, Key: mood,
		Ref: &registry.PluginRef{Name: "moody", Version: "1.0.0", Config: json.RawMessage(`{"mood":"` + mood + `"}`), Unbind: limits},
	}
}

func (w *world) call(p *snapshot.Plugin) error {
	w.t.Helper()
	out, err := w.r.Transform(w.t.Context(), []byte("x"), []byte(`{"a":1}`), p, &guest.Context{})
	if err == nil && string(out) != `x{"a":1}` && p.Key != "text" || err != nil && string(out) != "x" {
		w.t.Fatalf("%s gives %q with %v", p.Key, out, err)
	}
	return err
}

func (w *world) metrics() string {
	var b bytes.Buffer
	w.meter.WritePrometheus(&b)
	return b.String()
}

// TestUnbind: a plugin whose calls fail too often is left out, for longer each time,
// and comes back.
func TestUnbind(t *testing.T) {
	w := newWorld(t)
	p := moody(t, "fail", nil)
	for round, pause := range []time.Duration{Unbound, 2 * Unbound, 4 * Unbound, 8 * Unbound, longestUnbound, longestUnbound} {
		for i := range Window*DefaultErrorPercent/100 + 1 {
			var said *extism.PluginError
			if err := w.call(p); !errors.As(err, &said) || said.Message != "in a bad mood" {
				t.Fatalf("round %d, call %d: %v", round, i, err)
			}
		}
		if err := w.call(p); !errors.Is(err, ErrUnbound) {
			t.Fatalf("round %d: %v, want to be left out", round, err)
		}
		w.pass(pause - time.Second)
		if err := w.call(p); !errors.Is(err, ErrUnbound) {
			t.Fatalf("round %d: %v a second before the end", round, err)
		}
		w.pass(2 * time.Second)
	}
	if len(w.events) != 6 || w.events[0].Workspace != "acme" || w.events[0].Name != "moody" || w.events[0].Version != "1.0.0" ||
		!strings.Contains(w.events[0].Reason, "11 of 11 calls failed, the last: in a bad mood") {
		t.Errorf("reported %+v", w.events)
	}
	used := w.r.Usage()
	if len(used) != 1 || used[0].Calls != 66 || used[0].Errors != 66 || used[0].Unbound != 6 || used[0].BytesIn != 66*7 || used[0].BytesOut != 0 {
		t.Errorf("counted %+v", used)
	}
	if again := w.r.Usage(); len(again) != 0 {
		t.Errorf("counted twice: %+v", again)
	}
	m := w.metrics()
	for _, want := range []string{
		`sluice_plugin_failures_total{plugin="moody",cause="error"} 66`, `sluice_plugin_unbindings_total{plugin="moody"} 6`,
		`sluice_plugin_duration_seconds_count{plugin="moody",kind="filter"} 66`,
	} {
		if !strings.Contains(m, want) {
			t.Errorf("no %s in\n%s", want, m)
		}
	}
}

// TestUnbindLimits: the binding's own limits, at them and one past them.
func TestUnbindLimits(t *testing.T) {
	f := func(percent, failures int, out bool) {
		t.Helper()
		w := newWorld(t)
		p, bad := moody(t, "echo", &registry.UnbindLimits{ErrorPercent: percent}), errors.New("no JSON")
		for range Window - 1 {
			if err := w.call(p); err != nil {
				t.Fatal(err)
			}
		}
		for range failures {
			_ = w.r.Check(p, "", func() error { return bad })
		}
		if err := w.call(p); errors.Is(err, ErrUnbound) != out {
			t.Errorf("%d%%, %d of 20 failed: %v", percent, failures, err)
		}
	}
	f(10, 2, false)
	f(10, 3, true)
	f(0, 10, false) // the default
	f(0, 11, true)
	f(100, 20, false)
	f(1, 1, true)
}

// TestUnbindSlow: a mean that is too long, and one that is not.
func TestUnbindSlow(t *testing.T) {
	f := func(limits *registry.UnbindLimits, each time.Duration, out bool) {
		t.Helper()
		w := newWorld(t)
		p := moody(t, "echo", limits)
		now := w.r.o.Now()
		e := w.r.entry(p, now)
		for range Window {
			w.r.judge(e, e.records.of("", w.r.o.Now()), p, nil, now, time.Hour, each, 0, 0) // waiting is not its own
		}
		if err := w.call(p); errors.Is(err, ErrUnbound) != out {
			t.Errorf("%s each with %+v: %v", each, limits, err)
		}
		if out && !strings.Contains(w.events[0].Reason, "20 calls used") {
			t.Errorf("reported %+v", w.events)
		}
	}
	f(nil, 10*time.Millisecond+grace/2, false) // half of its deadline
	f(nil, 11*time.Millisecond+grace/2, true)
	f(&registry.UnbindLimits{MeanMilliseconds: 1}, time.Millisecond, false)
	f(&registry.UnbindLimits{MeanMilliseconds: 1}, 2*time.Millisecond, true)
}

// TestCheckCounts: what it takes to look at the outputs of a plugin is time of its own.
func TestCheckCounts(t *testing.T) {
	for each, out := range map[time.Duration]bool{900 * time.Microsecond: false, 3 * time.Millisecond: true} {
		w := newWorld(t)
		p := moody(t, "echo", &registry.UnbindLimits{MeanMilliseconds: 1})
		w.r.measure = func(check func() error) (time.Duration, error) { return each, check() }
		now := w.r.o.Now()
		e := w.r.entry(p, now)
		for range Window {
			if err := w.r.Check(p, "", func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			w.r.judge(e, e.records.of("", now), p, nil, now, 0, 0, 0, 0)
		}
		if err := w.call(p); errors.Is(err, ErrUnbound) != out {
			t.Errorf("%s each: %v", each, err)
		}
		if got := w.r.Usage(); !out && (len(got) != 1 || got[0].Micros < 18_000) {
			t.Errorf("%s each: counted %+v", each, got)
		}
	}
}

// TestOthersFaults: a plugin that had to wait for others is not left out, however often.
func TestOthersFaults(t *testing.T) {
	w := newWorld(t)
	p := moody(t, "echo", &registry.UnbindLimits{ErrorPercent: 1})
	now := w.r.o.Now()
	e := w.r.entry(p, now)
	for range 10 * Window {
		w.r.judge(e, &e.records.all, p, extism.ErrBusy, now, time.Hour, 0, 0, 0)
	}
	if err := w.call(p); err != nil || len(w.events) != 0 {
		t.Errorf("%v, reported %+v", err, w.events)
	}
}

// gone is a caller of tools that cannot make calls any more.
type gone struct{}

func (gone) CallTool(context.Context, guest.ToolCall) (guest.ToolResult, error) {
	return guest.ToolResult{}, errors.New("the client has gone")
}

// TestEndedWorkflow: a workflow that is ended because nobody makes its calls any more is not
// left out, however often.
func TestEndedWorkflow(t *testing.T) {
	w := newWorld(t)
	code, err := os.ReadFile("../../testdata/plugins/relay/relay.wasm")
	if err != nil {
		t.Fatal(err)
	}
	g, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{`{"tool":"item"}`, "{\"tool\":\"item\"}\n{\"tool\":\"item\"}"} {
		config, err := json.Marshal(map[string]string{"script": script})
		if err != nil {
			t.Fatal(err)
		}
		p := &snapshot.Plugin{Workspace: "acme", Package: g, Key: "relay", Ref: &registry.PluginRef{Name: "relay", Version: "1.0.0", Config: config, Unbind: &registry.UnbindLimits{ErrorPercent: 1}}}
		for range Window {
			if _, err := w.r.Transform(t.Context(), nil, []byte(`{}`), p, &guest.Context{Calls: guest.NewCalls(g, gone{})}); err == nil || errors.Is(err, ErrUnbound) {
				t.Fatalf("it ended with %v, reported %+v", err, w.events)
			}
		}
	}
}

// TestCauses: how calls fail is counted apart.
func TestCauses(t *testing.T) {
	w := newWorld(t)
	never := &registry.UnbindLimits{ErrorPercent: 100, MeanMilliseconds: 60_000}
	var trap *extism.TrapError
	if err := w.call(moody(t, "trap", never)); !errors.As(err, &trap) {
		t.Errorf("trap: %v", err)
	}
	if err := w.call(moody(t, "loop", never)); !errors.Is(err, extism.ErrDeadline) {
		t.Errorf("loop: %v", err)
	}
	text := moody(t, "text", never)
	if err := w.call(text); err != nil {
		t.Error(err)
	}
	_ = w.r.Check(text, "", func() error { return errors.New("no JSON") })
	bad := moody(t, "bad", never)
	for range 2 {
		if err := w.call(bad); problem.As(err) == nil || problem.As(err).Kind != problem.InvalidArgument {
			t.Errorf("a configuration that is not valid: %v", err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.r.Transform(gone, nil, []byte("{}"), moody(t, "loop", never), &guest.Context{}); err == nil {
		t.Error("the call goes on for a caller who gave up")
	}
	u := w.r.Usage()
	if len(u) != 1 || u[0].Calls != 3 || u[0].Traps != 1 || u[0].Deadlines != 1 || u[0].Errors != 1 {
		t.Errorf("counted %+v", u)
	}
	m := w.metrics()
	for cause, n := range map[string]string{"trap": "1", "deadline": "1", "output": "1", "load": "2"} {
		if want := `sluice_plugin_failures_total{plugin="moody",cause="` + cause + `"} ` + n; !strings.Contains(m, want) {
			t.Errorf("no %s in\n%s", want, m)
		}
	}
}

// TestIdle: what no call needs is let go, its counts are not.
func TestIdle(t *testing.T) {
	w := newWorld(t)
	if err := w.call(moody(t, "echo", nil)); err != nil {
		t.Fatal(err)
	}
	w.pass(rest + time.Minute) // another call sweeps: its instances are freed, it stays loaded
	if err := w.call(moody(t, "text", nil)); err != nil {
		t.Fatal(err)
	}
	if err := w.call(moody(t, "echo", nil)); err != nil {
		t.Fatal(err)
	}
	w.pass(idle + time.Minute)
	fail := moody(t, "fail", nil)
	if err := w.call(fail); err == nil {
		t.Fatal("it should fail")
	}
	w.r.mu.Lock()
	n := len(w.r.loaded)
	w.r.mu.Unlock()
	if n != 1 {
		t.Errorf("%d plugins are loaded", n)
	}
	if u := w.r.Usage(); len(u) != 1 || u[0].Calls != 4 || u[0].Errors != 1 {
		t.Errorf("counted %+v", u)
	}
}
