package metering

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/registry"
)

func TestLoggedCall(t *testing.T) {
	m := New()
	tool := m.Tool(ToolID{Workspace: "w", Toolset: "ts_1", Slug: "s", Tool: "list"})
	at := time.Date(2026, 11, 21, 10, 0, 0, 123456789, time.UTC)
	args, answer := []byte(`{"user":"a","password":"hunter2secret"}`), []byte("see \x00 Bearer abcdefghijkl\xff")
	tool.Call(&Call{
		Outcome: ToolError, Credential: Refused, Status: 401, Cause: "http_401", Started: at, Revision: 7, CallerKind: "jwt", Caller: "ann\xff",
		Duration: 10 * time.Millisecond, Prepare: time.Millisecond, Upstream: 6 * time.Millisecond, Plugins: 2 * time.Millisecond, Encode: time.Millisecond,
		Before: answer, After: answer, Answer: answer, Text: true, Request: []byte(`"r"`), Trace: []byte("4bf92f3577b34da6a3ce929d0e0e4736"),
		Capture: CaptureFailed, Arguments: args,
	})
	tool.Call(&Call{Duration: time.Millisecond, Arguments: args, After: answer, Answer: answer, Capture: CaptureFailed, Request: []byte(strings.Repeat("1", registry.MaxUsageRequest+1)), Trace: []byte("short")})
	tool.Call(&Call{Duration: time.Millisecond, Arguments: args, After: answer, Answer: answer, Text: false, Capture: CaptureAll})
	clear(args)
	clear(answer) // nothing of a call is kept
	got := m.Drain().Calls
	if len(got) != 3 {
		t.Fatalf("%d calls", len(got))
	}
	want := registry.UsageCall{
		Workspace: "w", Toolset: "ts_1", Tool: "list", At: at.Truncate(time.Millisecond), Revision: 7, Outcome: "tool_error", Cause: "http_401",
		Credential: "refused", Status: 401, CallerKind: "jwt", Caller: "ann\uFFFD", Request: `"r"`, Trace: "4bf92f3577b34da6a3ce929d0e0e4736",
		Duration: 10000, Prepare: 1000, Upstream: 6000, Shape: 2000, Encode: 1000, BytesBefore: 26, BytesAfter: 26,
		Captured: true, Arguments: `{"user":"a","password":[redacted]}`, Answer: "see   Bearer [redacted]\uFFFD",
	}
	if !reflect.DeepEqual(got[0], want) {
		t.Errorf("%+v\nwant\n%+v", got[0], want)
	}
	if c := got[1]; c.Captured || c.Request != "" || c.Trace != "" || c.CallerKind != "anonymous" || time.Since(c.At) > time.Minute {
		t.Errorf("%+v", c)
	}
	if c := got[2]; !c.Captured || c.Answer != "" || c.Arguments == "" {
		t.Errorf("an answer that is not text: %+v", c)
	}
	if rest := m.Drain(); len(rest.Calls) != 0 || len(rest.Omitted) != 0 {
		t.Errorf("again: %+v", rest)
	}
	// A test of a draft is in no log.
	m.Tool(ToolID{Workspace: "w", Slug: "s", Tool: "list"}).Call(&Call{})
	if rest := m.Drain(); len(rest.Calls) != 0 {
		t.Errorf("a draft: %+v", rest.Calls)
	}
}

// TestLogBounds: of calls that worked as many as there is room for, of failures more;
// what is not in the log is counted.
func TestLogBounds(t *testing.T) {
	for round := range 3 { // both windows, and the first again
		m := New()
		tool := m.Tool(ToolID{Workspace: "w", Toolset: "ts_1", Slug: "s", Tool: "list"})
		for range round {
			tool.Call(&Call{})
			m.Drain()
		}
		for range MaxLogged - loggedFailures {
			tool.Call(&Call{})
		}
		if u := m.Drain(); len(u.Calls) != MaxLogged-loggedFailures || len(u.Omitted) != 0 {
			t.Fatalf("at the limit: %d calls, %v", len(u.Calls), u.Omitted)
		}
		for range MaxLogged - loggedFailures + 2 {
			tool.Call(&Call{})
		}
		for range loggedFailures + 1 {
			tool.Call(&Call{Outcome: Timeout})
		}
		u := m.Drain()
		if len(u.Calls) != MaxLogged || len(u.Omitted) != 1 || u.Omitted[0] != (registry.UsageOmitted{Workspace: "w", Toolset: "ts_1", Calls: 3}) {
			t.Fatalf("beyond: %d calls, %v", len(u.Calls), u.Omitted)
		}
	}
}

// TestLogHammer: whoever calls while the log is drained, each call is in the log or
// counted as omitted, once.
func TestLogHammer(t *testing.T) {
	m := New()
	const workers, each = 4, 20000
	var wg sync.WaitGroup
	for i := range workers {
		tool := m.Tool(ToolID{Workspace: "w", Toolset: "ts_1", Slug: "s", Tool: fmt.Sprint(i)})
		wg.Go(func() {
			for k := range each {
				tool.Call(&Call{Revision: uint64(k) + 1, Outcome: Outcome(k % 2)})
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	seen, calls, omitted := map[string]bool{}, uint64(0), uint64(0)
	take := func() {
		u := m.Drain()
		for i := range u.Calls {
			c := &u.Calls[i]
			if key := fmt.Sprint(c.Tool, c.Revision); seen[key] || c.Revision == 0 || c.Outcome != Outcome((c.Revision-1)%2).String() {
				t.Errorf("call %s of %s: %+v", key, c.Tool, c)
			} else {
				seen[key] = true
			}
		}
		for _, o := range u.Omitted {
			omitted += o.Calls
		}
		for i := range u.Series {
			calls += u.Series[i].Calls
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		take()
	}
	take()
	if calls != workers*each || uint64(len(seen))+omitted != calls {
		t.Errorf("%d calls: %d are logged and %d omitted", calls, len(seen), omitted)
	}
}

// TestRunsOfScripts: the run of a script is reported as it is, unless redaction would change
// it or there is no room, and then it says which.
func TestRunsOfScripts(t *testing.T) {
	m := New()
	tool := m.Tool(ToolID{Workspace: "w", Toolset: "ts_1", Slug: "s", Tool: "run_code"})
	call := func(code string, capture Capture) {
		tool.Call(&Call{Outcome: OK, Text: true, Capture: capture, Inner: true, Script: "sha256:x", Run: &registry.ScriptRun{Code: code}})
	}
	call("return 1", CaptureAll)
	call("return 1", CaptureFailed)
	call(`const password = "hunter2hunter2"`, CaptureAll)
	for range maxCaptured/registry.MaxScript + 1 {
		call(strings.Repeat("1;", registry.MaxScript/2), CaptureAll)
	}
	u := m.Drain()
	for i, want := range []string{`{"code":"return 1"}`, "", `{"withheld":"personal"}`} {
		if got := string(u.Calls[i].Run); got != want {
			t.Errorf("run %d: %s, want %s", i, got, want)
		}
	}
	if got := string(u.Calls[len(u.Calls)-1].Run); got != `{"withheld":"room"}` {
		t.Errorf("beyond the room: %.40s", got)
	}
	if c := u.Calls[0]; !c.Inner || c.Script != "sha256:x" {
		t.Errorf("%+v", c)
	}
	if s := u.Series[0]; s.Inner != s.Calls {
		t.Errorf("%d inner of %d calls", s.Inner, s.Calls)
	}
}
