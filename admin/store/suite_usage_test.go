package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

func histogram(d ...time.Duration) []byte {
	var h rollup.Histogram
	for _, x := range d {
		h.Add(x)
	}
	return h.AppendBinary(nil)
}

func usageOf(ws, toolset, tool string, calls uint64) registry.UsageSeries {
	s := registry.UsageSeries{UsageKey: registry.UsageKey{Workspace: ws, Toolset: toolset, Tool: tool, Outcome: "ok", Credential: "none"}}
	s.Calls, s.Duration, s.Latency = calls, calls*1000, histogram(slices.Repeat([]time.Duration{time.Millisecond}, int(calls))...)
	return s
}

// testUsage: reports are applied once, in any order; what was applied adds up in
// minutes and hours.
func testUsage(t *testing.T, h harness) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	minute := now.Add(-5 * time.Minute).Unix()
	var sent uint64
	apply := func(node string, seq, oldest uint64, want bool, at int64) {
		t.Helper()
		r := &registry.UsageReport{Epoch: "E1", Sequence: seq, Oldest: oldest, Minute: at, Posted: now, Series: []registry.UsageSeries{
			usageOf("one", "ts_a", "list", seq), usageOf("one", "ts_a", "get", 1), usageOf("two", "ts_b", "list", 1000),
		}, Causes: []registry.UsageCause{{Workspace: "one", Toolset: "ts_a", Tool: "list", Cause: "timeout", Calls: seq}, {Workspace: "one", Toolset: "ts_a", Tool: "list", Cause: "timeout", Calls: 1}}}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		got, err := s.ApplyUsage(t.Context(), node, r)
		if err != nil || got != want {
			t.Fatalf("report %d of %s: %v, %v; want %v", seq, node, got, err, want)
		}
		if got {
			sent += seq
		}
	}
	apply("n1", 1, 1, true, minute)
	apply("n1", 1, 1, false, minute)
	apply("n1", 4, 1, true, minute+60) // before 2 and 3
	apply("n1", 4, 1, false, minute+60)
	apply("n1", 2, 1, true, minute)
	apply("n1", 3, 1, true, minute)
	apply("n1", 2, 1, false, minute)
	apply("n1", 9, 7, true, minute)    // 5 and 6 were lost at the node
	apply("n1", 6, 6, false, minute)   // and cannot come back
	apply("n1", 7, 7, true, minute+60) // 7 can
	apply("n2", 1, 1, true, minute)    // another node
	apply("n1", 10, 1, false, now.Add(-registry.UsageMinuteAge-time.Minute).Truncate(time.Minute).Unix())
	w := s.Workspace("one")
	for _, hours := range []bool{false, true} {
		q := &store.UsageQuery{From: now.Add(-2 * time.Hour), To: now.Add(time.Hour), Hours: hours, Group: store.UsageGroup{Tool: true}}
		points, err := w.Usage(t.Context(), q)
		if err != nil || len(points) != 2 {
			t.Fatalf("%d points, %v", len(points), err)
		}
		get, list := points[0], points[1]
		if get.Tool != "get" || get.Calls != 7 || list.Calls != sent || list.Toolset != "" || list.Latencies.Count() != sent || list.Duration != 1000*sent {
			t.Fatalf("hours %v: get %+v, list %+v; want 7 and %d", hours, get.UsageCounts, list.UsageCounts, sent)
		}
	}
	points, err := w.Usage(t.Context(), &store.UsageQuery{From: now.Add(-time.Hour), To: now, Step: time.Minute, Toolset: "ts_a", Tool: "list"})
	if err != nil || len(points) != 2 || points[0].Calls != 1+2+3+9+1 || points[1].Calls != 4+7 || !points[1].At.Equal(time.Unix(minute+60, 0)) {
		t.Fatalf("by minute: %+v, %v", points, err)
	}
	causes, err := w.UsageCauses(t.Context(), now.Add(-time.Hour), now, "", "", 10)
	if err != nil || len(causes) != 1 || causes[0].Calls != sent+7 || causes[0].Cause != "timeout" {
		t.Fatalf("causes: %+v, %v", causes, err)
	}
	if other, err := s.Workspace("three").Usage(t.Context(), &store.UsageQuery{From: now.Add(-time.Hour), To: now}); err != nil || len(other) != 0 {
		t.Fatalf("another workspace has %v, %v", other, err)
	}
	// A failed transaction marks nothing as applied.
	h.raw(t, `DROP TABLE usage_causes`)
	bad := &registry.UsageReport{Epoch: "E1", Sequence: 11, Oldest: 11, Minute: minute, Series: []registry.UsageSeries{usageOf("one", "ts_a", "list", 5)}, Causes: []registry.UsageCause{{Workspace: "one", Toolset: "ts_a", Tool: "list", Cause: "x", Calls: 1}}}
	if _, err := s.ApplyUsage(t.Context(), "n1", bad); err == nil {
		t.Fatal("applied without a table")
	}
	bad.Causes = nil
	if ok, err := s.ApplyUsage(t.Context(), "n1", bad); err != nil || !ok {
		t.Fatalf("after the fault: %v, %v", ok, err)
	}
}

// testUsageAhead: reports far ahead of a missing one are refused, not forgotten.
func testUsageBounds(t *testing.T, h harness) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	ahead := "["
	for i := range 10000 {
		ahead += fmt.Sprintf("%d,", i+3)
	}
	h.raw(t, `INSERT INTO usage_nodes (node, epoch, floor, ahead, updated_at) VALUES ('n', 'E', 1, '`+ahead[:len(ahead)-1]+`]', 0)`)
	r := &registry.UsageReport{Epoch: "E", Sequence: 20000, Oldest: 1, Minute: now.Unix(), Series: []registry.UsageSeries{usageOf("one", "ts", "x", 1)}}
	if _, err := s.ApplyUsage(t.Context(), "n", r); !problem.Is(err, problem.Conflict) {
		t.Fatalf("one past the limit: %v", err)
	}
	r.Sequence = 2
	if ok, err := s.ApplyUsage(t.Context(), "n", r); err != nil || !ok {
		t.Fatalf("the missing one: %v, %v", ok, err)
	}
	r.Sequence = 20000
	if ok, err := s.ApplyUsage(t.Context(), "n", r); err != nil || !ok {
		t.Fatalf("after it: %v, %v", ok, err)
	}
}

// testUsageSweep: what is past its time goes, and nothing else.
func testUsageSweep(t *testing.T, h harness) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w := s.Workspace("one")
	r := &registry.UsageReport{Epoch: "E", Sequence: 1, Oldest: 1, Minute: now.Unix(), Series: []registry.UsageSeries{usageOf("one", "ts", "x", 1)}}
	for i := range 31 {
		r.Samples = append(r.Samples[:0], registry.UsageSample{Workspace: "one", Toolset: "ts", Tool: "x", Outcome: "timeout", Cause: "timeout", At: now, Text: fmt.Sprint(i)})
		r.Sequence = uint64(i + 1)
		if i == 30 {
			break
		}
		if ok, err := s.ApplyUsage(t.Context(), "n", r); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	f := func(later time.Duration, minutes, hours uint64, samples int) {
		t.Helper()
		now = now.Add(later)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, table := range []bool{false, true} {
			points, err := w.Usage(t.Context(), &store.UsageQuery{From: time.Unix(0, 0), To: now.Add(time.Hour), Hours: table})
			want, got := minutes, uint64(0)
			if table {
				want = hours
			}
			if len(points) > 0 {
				got = points[0].Calls
			}
			if err != nil || got != want {
				t.Errorf("after %v, hours %v: %d calls, %v; want %d", later, table, got, err, want)
			}
		}
		if rows, err := w.UsageSamples(t.Context(), time.Unix(0, 0), now.Add(time.Hour), "", "", 5000); err != nil || len(rows) != samples {
			t.Errorf("after %v: %d samples, %v; want %d", later, len(rows), err, samples)
		}
	}
	f(0, 30, 30, 30)
	f(8*24*time.Hour, 30, 30, 0)
	f(28*24*time.Hour, 0, 30, 0)
	f(366*24*time.Hour, 0, 0, 0)
}

// testUsageConcurrent: nodes that post at once, and one report by two at once.
func testUsageConcurrent(t *testing.T, h harness) {
	s := h.open(t, time.Now)
	minute := time.Now().Truncate(time.Minute).Unix()
	const nodes, each = 4, 6
	var wg sync.WaitGroup
	for n := range nodes {
		wg.Go(func() {
			order := append(rand.Perm(each), rand.Perm(each)...) // twice, in any order
			for _, i := range order {
				r := &registry.UsageReport{Epoch: "E", Sequence: uint64(i + 1), Oldest: 1, Minute: minute, Series: []registry.UsageSeries{
					usageOf("one", "ts", "x", 1), usageOf("two", "ts", "x", 1),
				}}
				if n%2 == 1 {
					slices.Reverse(r.Series)
				}
				// Two nodes are one, posting at the same time.
				if _, err := s.ApplyUsage(t.Context(), fmt.Sprint("n", n/2), r); err != nil && !errors.Is(err, t.Context().Err()) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, ws := range []string{"one", "two"} {
		p, err := s.Workspace(ws).Usage(t.Context(), &store.UsageQuery{From: time.Unix(0, 0), To: time.Now().Add(time.Hour)})
		if err != nil || len(p) != 1 || p[0].Calls != nodes/2*each || p[0].Latencies.Count() != nodes/2*each {
			t.Errorf("%s: %+v, %v; want %d calls", ws, p, err, nodes/2*each)
		}
	}
}
