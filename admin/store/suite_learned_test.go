package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// testLearned: requests are added once for each report, fade, are bounded, and stay
// deleted.
func testLearned(t *testing.T, h harness) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w := s.Workspace("one")
	ts := seed(t, w, "pets").ID
	seq := uint64(0)
	report := func(found ...registry.UsageFound) *registry.UsageReport {
		seq++
		r := &registry.UsageReport{Epoch: "E1", Sequence: seq, Oldest: 1, Minute: now.Truncate(time.Minute).Unix(), Posted: now, Found: found}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	apply := func(r *registry.UsageReport, want bool) {
		t.Helper()
		if got, err := s.ApplyUsage(t.Context(), "n1", r); err != nil || got != want {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
	}
	saw := func(path, query string, calls uint64) registry.UsageFound {
		return registry.UsageFound{Workspace: "one", Toolset: ts, Method: "GET", Path: path, Query: query, Calls: calls}
	}
	learned := func() map[string]float64 {
		t.Helper()
		rows, err := w.Learned(t.Context(), ts)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for i := range rows {
			out[rows[i].Path+" "+rows[i].Query] = rows[i].Uses()
		}
		return out
	}
	f := func(want map[string]float64) {
		t.Helper()
		if got := learned(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	r := report(saw("/a", "Find  it", 1), saw("/a", "other", 1), saw("/b", "find it", 1))
	apply(r, true)
	apply(r, false) // the same report again
	f(map[string]float64{"/a Find  it": 1, "/a other": 1, "/b find it": 1})
	// Case and spaces do not matter; a report adds at most three uses of each.
	apply(report(saw("/a", "find IT", 1), saw("/a", "other", 1000)), true)
	f(map[string]float64{"/a Find  it": 2, "/a other": 4, "/b find it": 1})
	now = now.Add(store.LearnedHalfLife)
	f(map[string]float64{"/a Find  it": 1, "/a other": 2, "/b find it": .5})
	apply(report(saw("/a", "other", 1)), true)
	f(map[string]float64{"/a Find  it": 1, "/a other": 3, "/b find it": .5})

	// What is deleted is gone and stays so.
	rows, err := w.Learned(t.Context(), ts)
	if err != nil || len(rows) != 3 || rows[0].Query != "other" {
		t.Fatal(rows, err)
	}
	if err := w.Update(t.Context(), func(tx *store.Tx) error { return tx.BlockLearned(t.Context(), rows[:1]) }); err != nil {
		t.Fatal(err)
	}
	apply(report(saw("/a", "Other", 3)), true)
	f(map[string]float64{"/a Find  it": 1, "/b find it": .5})

	// The most used of a tool stay; those of another tool are not pushed out.
	var many []registry.UsageFound
	for i := range store.MaxLearnedOfTool {
		many = append(many, saw("/a", fmt.Sprintf("request %d", i), 2))
	}
	apply(report(many...), true)
	got := learned()
	if len(got) != store.MaxLearnedOfTool+1 || got["/b find it"] != .5 || got["/a Find  it"] != 0 {
		t.Errorf("%d requests: %v", len(got), got)
	}

	// Time takes the rest, but not what is blocked; a toolset that is gone takes all.
	now = now.Add(5 * store.LearnedHalfLife)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	f(map[string]float64{})
	apply(report(saw("/a", "other", 3), saw("/a", "fresh", 1)), true)
	f(map[string]float64{"/a fresh": 1})
	apply(&registry.UsageReport{Epoch: "E2", Sequence: 1, Oldest: 1, Minute: now.Truncate(time.Minute).Unix(), Posted: now, Found: []registry.UsageFound{
		{Workspace: "one", Toolset: "ts_gone", Method: "GET", Path: "/a", Query: "x y z", Calls: 1},
	}}, true)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, err := w.Learned(t.Context(), "ts_gone"); err != nil || len(rows) != 0 {
		t.Errorf("of no toolset: %v, %v", rows, err)
	}
	f(map[string]float64{"/a fresh": 1})

	// The same operation of two connectors is two tools, and each goes alone.
	of := func(connector string) registry.UsageFound {
		found := saw("/both", "which is it", 1)
		found.Connector = connector
		return found
	}
	apply(report(of("one"), of("two"), of("two")), true)
	connectors := func() (out []string) {
		rows, err := w.Learned(t.Context(), ts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			out = append(out, fmt.Sprint(rows[i].Connector, " ", rows[i].Path, " ", rows[i].Uses()))
		}
		return out
	}
	if got := fmt.Sprint(connectors()); got != "[ /a 1 one /both 1 two /both 2]" {
		t.Errorf("learned %s", got)
	}
	if err := w.Update(t.Context(), func(tx *store.Tx) error { return tx.DeleteLearned(t.Context(), ts, "one") }); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(connectors()); got != "[ /a 1 two /both 2]" {
		t.Errorf("left %s", got)
	}
}
