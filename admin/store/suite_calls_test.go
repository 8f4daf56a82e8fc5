package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// testCalls: calls are logged once, numbered as they arrived, listed by time with every
// filter, and belong to their workspace.
func testCalls(t *testing.T, h harness) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	one := s.Workspace("one")
	var sequence uint64
	report := func(calls ...registry.UsageCall) {
		t.Helper()
		sequence++
		r := &registry.UsageReport{
			Epoch: "E", Sequence: sequence, Oldest: sequence, Minute: now.Truncate(time.Minute).Unix(), Posted: now, Calls: calls,
			Omitted: []registry.UsageOmitted{{Workspace: "one", Toolset: "ts_a", Calls: 3}, {Workspace: "one", Toolset: "ts_b", Calls: 1}, {Workspace: "one", Toolset: "ts_a", Calls: 1}},
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		for want := range slices.Values([]bool{true, false}) {
			if got, err := s.ApplyUsage(t.Context(), "edge_1", r); err != nil || got != want {
				t.Fatalf("applied %v, %v; want %v", got, err, want)
			}
		}
	}
	call := func(ws, tool string, ago time.Duration, change func(*registry.UsageCall)) registry.UsageCall {
		c := registry.UsageCall{
			Workspace: ws, Toolset: "ts_a", Tool: tool, At: now.Add(-ago), Revision: 7, Outcome: "ok", Credential: "none", CallerKind: "anonymous",
			Duration: 1500, Prepare: 100, Upstream: 1200, Shape: 150, Encode: 50, BytesBefore: 10, BytesAfter: 5, TokensBefore: 4, TokensAfter: 2,
		}
		if change != nil {
			change(&c)
		}
		return c
	}
	report(
		call("one", "b", 1*time.Minute, nil),
		call("two", "secret", time.Minute, nil),
		call("one", "a", 2*time.Minute, func(c *registry.UsageCall) {
			c.Outcome, c.Cause, c.Status, c.CallerKind, c.Caller = "tool_error", "http_404", 404, "token", "act_1"
			c.Captured, c.Arguments, c.Answer, c.Request, c.Trace = true, `{"x":1}`, "not found\n\u2028", `"r-1"`, "4bf92f3577b34da6a3ce929d0e0e4736"
		}),
	)
	// Later in the log, earlier in time: an edge that was cut off.
	report(call("one", "late", 3*time.Minute, func(c *registry.UsageCall) { c.Duration, c.Outcome, c.Cause = 3e6, "timeout", "timeout" }))
	list := func(f store.CallFilter) (names []string) {
		t.Helper()
		rows, next, err := one.Calls(t.Context(), &f, store.Page{Limit: 100})
		if err != nil || next != "" {
			t.Fatalf("%v, next %q", err, next)
		}
		for _, r := range rows {
			names = append(names, fmt.Sprintf("%s:%d", r.Tool, r.Seq))
		}
		return names
	}
	f := func(filter store.CallFilter, want ...string) {
		t.Helper()
		if got := list(filter); !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", filter, got, want)
		}
	}
	all := []string{"b:2", "a:1", "late:3"}
	f(store.CallFilter{}, all...)
	f(store.CallFilter{Tool: "a"}, "a:1")
	f(store.CallFilter{Toolset: "ts_a"}, all...)
	f(store.CallFilter{Toolset: "ts_b"})
	f(store.CallFilter{Failed: true}, "a:1", "late:3")
	f(store.CallFilter{Outcomes: []string{"ok", "timeout"}}, "b:2", "late:3")
	f(store.CallFilter{Caller: "act_1"}, "a:1")
	f(store.CallFilter{CallerKind: "anonymous"}, "b:2", "late:3")
	f(store.CallFilter{Cause: "http_404"}, "a:1")
	f(store.CallFilter{Request: `"r-1"`}, "a:1")
	f(store.CallFilter{Trace: "4bf92f3577b34da6a3ce929d0e0e4736"}, "a:1")
	f(store.CallFilter{Node: "edge_1"}, all...)
	f(store.CallFilter{Node: "local"})
	f(store.CallFilter{SlowerThan: 3 * time.Second}, "late:3")
	f(store.CallFilter{SlowerThan: 3*time.Second + time.Microsecond})
	f(store.CallFilter{From: now.Add(-2 * time.Minute)}, "b:2", "a:1")
	f(store.CallFilter{To: now.Add(-2 * time.Minute)}, "late:3")

	got, err := one.Call(t.Context(), "call_1")
	if err != nil || got.Arguments != `{"x":1}` || got.Answer != "not found\n\u2028" || !got.Captured || got.Status != 404 || got.Node != "edge_1" || got.Revision != 7 ||
		got.Prepare+got.Upstream+got.Shape+got.Encode != got.Duration || got.ID() != "call_1" || !got.At.Equal(now.Add(-2*time.Minute)) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []string{"call_4", "call_0", "call_-1", "1", "call_1x", "call_99999999999999999999"} {
		if _, err := one.Call(t.Context(), id); !problem.Is(err, problem.NotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	// Pages follow each other without a gap or a repetition, whatever arrives meanwhile.
	var paged []string
	p := store.Page{Limit: 1}
	for {
		rows, next, err := one.Calls(t.Context(), &store.CallFilter{}, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			paged = append(paged, fmt.Sprintf("%s:%d", r.Tool, r.Seq))
		}
		if len(paged) == 1 {
			report(call("one", "new", 0, nil), call("one", "same", time.Minute, nil))
		}
		if p.After = next; next == "" {
			break
		}
	}
	if !slices.Equal(paged, all) {
		t.Errorf("pages give %v, want %v", paged, all)
	}
	if _, _, err := one.Calls(t.Context(), &store.CallFilter{}, store.Page{After: "x"}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("a bad key: %v", err)
	}
	// Whoever follows gets each call once, as they arrived.
	after := func(seq uint64, f store.CallFilter, limit int, wantLast uint64, want ...uint64) {
		t.Helper()
		rows, last, err := one.CallsAfter(t.Context(), &f, seq, limit)
		got := make([]uint64, 0, len(rows))
		for _, r := range rows {
			got = append(got, r.Seq)
		}
		if err != nil || last != wantLast || !slices.Equal(got, want) {
			t.Errorf("after %d: %v, last %d, %v; want %v, last %d", seq, got, last, err, want, wantLast)
		}
	}
	after(0, store.CallFilter{}, 2, 2, 1, 2)
	after(2, store.CallFilter{}, 0, 5, 3, 4, 5)
	after(5, store.CallFilter{}, 0, 5)
	after(9, store.CallFilter{}, 0, 9)
	after(0, store.CallFilter{Failed: true}, 0, 5, 1, 3)
	after(0, store.CallFilter{Tool: "none"}, 0, 5)
	for _, x := range []struct {
		toolset string
		want    uint64
	}{{"", 15}, {"ts_a", 12}, {"ts_c", 0}} {
		if n, err := one.CallsOmitted(t.Context(), now.Add(-time.Hour), now.Add(time.Second), x.toolset); err != nil || n != x.want {
			t.Errorf("omitted of %q: %d, %v", x.toolset, n, err)
		}
	}
	// What is past its time goes; numbers are not used again.
	now = now.Add(store.DefaultCallLogAge - 90*time.Second)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	f(store.CallFilter{}, "new:5", "same:4", "b:2")
	now = now.Add(time.Hour)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	f(store.CallFilter{})
	report(call("one", "again", 0, nil))
	f(store.CallFilter{}, "again:6")
}

// testCallRows: the log of a workspace holds its bound, and one more drops the oldest.
func testCallRows(t *testing.T, h harness) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now }, func(o *store.Options) { o.CallLogRows = 5 })
	w := s.Workspace("one")
	for i := range uint64(6) {
		r := &registry.UsageReport{Epoch: "E", Sequence: i + 1, Oldest: 1, Minute: now.Unix(), Posted: now, Calls: []registry.UsageCall{
			{Workspace: "one", Toolset: "ts_a", Tool: "x", At: now, Outcome: "ok", Credential: "none", CallerKind: "anonymous"},
		}}
		if ok, err := s.ApplyUsage(t.Context(), "n", r); err != nil || !ok {
			t.Fatal(ok, err)
		}
		rows, _, err := w.Calls(t.Context(), &store.CallFilter{}, store.Page{})
		if err != nil || len(rows) != int(min(i+1, 5)) || rows[0].Seq != i+1 {
			t.Fatalf("after %d: %d rows, %v", i+1, len(rows), err)
		}
	}
}

// testManyCalls: a report with more calls of each workspace than one statement takes is logged
// whole, the calls of a workspace in the order of their times.
func testManyCalls(t *testing.T, h harness) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	const each = table.Chunk + 1
	r := &registry.UsageReport{Epoch: "E", Sequence: 1, Oldest: 1, Minute: now.Unix(), Posted: now}
	for i := range each {
		for _, ws := range []string{"two", "one"} {
			r.Calls = append(r.Calls, registry.UsageCall{
				Workspace: ws, Toolset: "ts_a", Tool: fmt.Sprintf("%s%d", ws, each-i), At: now.Add(-time.Duration(i) * time.Second), Outcome: "ok", Credential: "none", CallerKind: "anonymous",
			})
		}
	}
	if ok, err := s.ApplyUsage(t.Context(), "n", r); err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, ws := range []string{"one", "two"} {
		rows, last, err := s.Workspace(ws).CallsAfter(t.Context(), &store.CallFilter{}, 0, table.Chunk)
		if err == nil {
			more, _, err2 := s.Workspace(ws).CallsAfter(t.Context(), &store.CallFilter{}, last, table.Chunk)
			rows, err = append(rows, more...), err2
		}
		if err != nil || len(rows) != each {
			t.Fatalf("%s: %d rows, %v", ws, len(rows), err)
		}
		for i, c := range rows {
			if want := fmt.Sprintf("%s%d", ws, i+1); c.Seq != uint64(i+1) || c.Tool != want {
				t.Fatalf("row %d of %s is %s:%d, want %s", i, ws, c.Tool, c.Seq, want)
			}
		}
	}
}
