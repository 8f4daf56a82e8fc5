package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/usage"
	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

// testCallers: the calls of a report are added to the minute and the hour of who made them, of
// as many callers as are told apart in an hour.
func testCallers(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, ctx := s.Workspace("one"), t.Context()
	seq := uint64(0)
	report := func(calls ...registry.UsageCall) {
		t.Helper()
		seq++
		for i := range calls {
			c := &calls[i]
			if c.Workspace, c.Toolset, c.At = "one", "ts_1", now; c.Outcome == "" {
				c.Outcome = "ok"
			}
		}
		r := &registry.UsageReport{Epoch: "E", Sequence: seq, Oldest: 1, Minute: now.Truncate(time.Minute).Unix(), Posted: now, Calls: calls}
		if applied, err := s.ApplyUsage(ctx, "edge", r); err != nil || !applied {
			t.Fatalf("applied %v, %v", applied, err)
		}
		if applied, err := s.ApplyUsage(ctx, "edge", r); err != nil || applied {
			t.Fatalf("applied again %v, %v", applied, err)
		}
	}
	call := func(kind, caller, tool, outcome string) registry.UsageCall {
		return registry.UsageCall{CallerKind: kind, Caller: caller, Tool: tool, Outcome: outcome, TokensAfter: 10}
	}
	text := func(rows []store.CallerUsage, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		out := make([]string, len(rows))
		for i, r := range rows {
			out[i] = fmt.Sprintf("%s %s %s: %d %d %d", r.Tool, r.CallerKind, r.Caller, r.Calls, r.Errors, r.Tokens)
		}
		return strings.Join(out, ", ")
	}
	report(call("jwt", "ann", "list", ""), call("jwt", "ann", "list", "timeout"), call("token", "act_1", "get", ""), call("anonymous", "", "list", ""))
	report(call("jwt", "ann", "get", ""))
	minute, hour := now.Truncate(time.Minute).Unix(), now.Truncate(time.Hour)
	if got, want := text(w.MinuteCallers(ctx, minute)), "get jwt ann: 1 0 10, get token act_1: 1 0 10, list jwt ann: 2 1 20"; got != want {
		t.Errorf("the minute has %s, want %s", got, want)
	}
	now = now.Add(time.Minute)
	report(call("jwt", "ann", "list", ""))
	if got, want := text(w.CallerTotals(ctx, hour, now)), " jwt ann: 4 1 40,  token act_1: 1 0 10"; got != want {
		t.Errorf("the hour has %s, want %s", got, want)
	}
	if rows, err := s.Workspace("two").MinuteCallers(ctx, minute); err != nil || len(rows) != 0 {
		t.Errorf("another workspace has %d, %v", len(rows), err)
	}
	// Two are there, so MaxCallers-2 more are told apart, and those that are stay so.
	var many []registry.UsageCall
	for i := range usage.MaxCallers {
		many = append(many, call("jwt", fmt.Sprintf("u%06d", i), "list", ""))
	}
	report(many[:usage.MaxCallers-2]...)
	rows, err := w.CallerTotals(ctx, hour, now)
	if err != nil || len(rows) != usage.MaxCallers || slices.ContainsFunc(rows, func(r store.CallerUsage) bool { return r.CallerKind == store.CallerOther }) {
		t.Errorf("%d callers, %v", len(rows), err)
	}
	report(append(many[usage.MaxCallers-3:], call("jwt", "ann", "list", ""))...)
	rows, err = w.CallerTotals(ctx, hour, now)
	others := slices.IndexFunc(rows, func(r store.CallerUsage) bool { return r.CallerKind == store.CallerOther })
	if err != nil || len(rows) != usage.MaxCallers+1 || others < 0 || rows[others].Calls != 2 || rows[others].Caller != "" {
		t.Errorf("%d callers, others %d, %v", len(rows), others, err)
	}
	if i := slices.IndexFunc(rows, func(r store.CallerUsage) bool { return r.Caller == "ann" }); rows[i].Calls != 5 {
		t.Errorf("ann: %+v", rows[i])
	}
	now = now.Add(time.Hour) // there is room again
	report(call("jwt", "u999999", "list", ""))
	if got, want := text(w.CallerTotals(ctx, hour.Add(time.Hour), now)), " jwt u999999: 1 0 10"; got != want {
		t.Errorf("the next hour has %s, want %s", got, want)
	}
}

// testCallerTimes: how long the calls of a caller took in a minute is added up from report to
// report, and of waiting only what waited.
func testCallerTimes(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	call := func(caller string, took, waited uint64) registry.UsageCall {
		return registry.UsageCall{Workspace: "one", Toolset: "ts_1", Tool: "get", At: now, Outcome: "ok", CallerKind: "jwt", Caller: caller, Duration: took, Upstream: waited}
	}
	slow, cached := call("ann", 3_000_000, 2_000_000), call("ann", 1000, 0)
	for i, calls := range [][]registry.UsageCall{{slow}, {slow, cached, slow, call("bob", 1000, 900)}, {call("bob", 1<<61, 1)}} {
		r := &registry.UsageReport{Epoch: "E", Sequence: uint64(i) + 1, Oldest: 1, Minute: now.Truncate(time.Minute).Unix(), Posted: now, Calls: calls}
		if applied, err := s.ApplyUsage(t.Context(), "edge", r); err != nil || !applied {
			t.Fatalf("applied %v, %v", applied, err)
		}
	}
	// An edge that says the most of each call, in each of many, makes no sum that cannot be read.
	most := call("eve", registry.MaxUsageCount, registry.MaxUsageCount)
	most.TokensAfter = registry.MaxUsageCount
	for i := range 3 {
		r := &registry.UsageReport{Epoch: "F", Sequence: uint64(i) + 1, Oldest: 1, Minute: now.Truncate(time.Minute).Unix(), Posted: now, Calls: slices.Repeat([]registry.UsageCall{most}, 4096)}
		if applied, err := s.ApplyUsage(t.Context(), "edge", r); err != nil || !applied {
			t.Fatalf("applied %v, %v", applied, err)
		}
	}
	rows, err := s.Workspace("one").MinuteCallers(t.Context(), now.Truncate(time.Minute).Unix())
	if err != nil || len(rows) != 3 || rows[2].Tokens != 3*registry.MaxUsageCount || rows[2].Duration != 3*registry.MaxUsageCount {
		t.Fatalf("%+v, %v", rows, err)
	}
	var took, waited, bob rollup.Histogram
	if err := errors.Join(took.MergeBinary(rows[0].Latency), waited.MergeBinary(rows[0].UpstreamLatency), bob.MergeBinary(rows[1].Latency)); err != nil {
		t.Fatal(err)
	}
	if r := &rows[0]; r.Duration != 9_001_000 || r.Upstream != 6_000_000 || took.Count() != 4 || waited.Count() != 3 || waited.Quantile(0.5).Round(time.Second) != 2*time.Second {
		t.Errorf("%+v: %d took %s, %d waited %s", r, took.Count(), took.Quantile(0.9), waited.Count(), waited.Quantile(0.5))
	}
	if r := &rows[1]; r.Calls != 2 || bob.Count() != 2 || bob.Quantile(1) < 1000*time.Second {
		t.Errorf("%+v: the longest of %d took %s", r, bob.Count(), bob.Quantile(1))
	}
}
