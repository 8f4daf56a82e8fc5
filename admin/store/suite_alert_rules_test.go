package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// testAlertRules: rules are of their workspace, unique by name and toolset, and a change is
// seen by the mark; the mark of a minute of usage changes with each report.
func testAlertRules(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, ctx := s.Workspace("one"), t.Context()
	mark := func() string {
		t.Helper()
		m, err := w.AlertRulesMark(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := mark()
	row := &store.AlertRule{Name: "mine", Document: "{}"}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddAlertRule(ctx, row) })
	added := mark()
	err := w.Update(ctx, func(tx *store.Tx) error { return tx.AddAlertRule(ctx, &store.AlertRule{Name: "mine", Document: "{}"}) })
	if !problem.Is(err, problem.Conflict) {
		t.Errorf("the same again: %v", err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		row.Document = `{"severity":"info"}`
		return tx.SaveAlertRule(ctx, row)
	})
	changed := mark()
	if before == added || added == changed {
		t.Errorf("marks %q, %q, %q", before, added, changed)
	}
	if got, err := w.NamedAlertRule(ctx, "mine"); err != nil || got.Document != row.Document {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := w.AlertRule(ctx, "mine", "ts_1"); !problem.Is(err, problem.NotFound) {
		t.Errorf("of a toolset: %v", err)
	}
	if rows, err := s.Workspace("two").AlertRules(ctx); err != nil || len(rows) != 0 {
		t.Errorf("another workspace has %d rules, %v", len(rows), err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAlertRule(ctx, row.ID) })
	if rows, err := w.AlertRules(ctx); err != nil || len(rows) != 0 {
		t.Errorf("%d rules, %v", len(rows), err)
	}

	minute := now.Truncate(time.Minute)
	report := func(seq uint64, outcome, cause string) {
		t.Helper()
		r := &registry.UsageReport{Epoch: "E", Sequence: seq, Oldest: 1, Minute: minute.Unix(), Posted: now, Series: []registry.UsageSeries{{
			UsageKey:    registry.UsageKey{Workspace: "one", Toolset: "ts_1", Tool: "list", Outcome: outcome, Credential: "none"},
			UsageCounts: registry.UsageCounts{Calls: 3, TokensAfter: 30, Upstream: 7},
		}}}
		if cause != "" {
			r.Causes = []registry.UsageCause{{Workspace: "one", Toolset: "ts_1", Tool: "list", Cause: cause, Calls: 3}}
		}
		if _, err := s.ApplyUsage(ctx, "edge", r); err != nil {
			t.Fatal(err)
		}
	}
	report(1, "ok", "")
	report(2, "timeout", "timeout")
	marks, err := w.UsageMarks(ctx, minute)
	if err != nil || len(marks) != 1 || marks[minute.Unix()] != 2 {
		t.Errorf("marks %v, %v", marks, err)
	}
	seen := map[string]uint64{}
	err = w.MinuteUsage(ctx, minute.Unix(), func(m *store.MinuteSeries) { seen[m.Outcome] += m.Calls + m.TokensAfter + m.Upstream })
	if err != nil || seen["ok"] != 40 || seen["timeout"] != 40 {
		t.Errorf("%v, %v", seen, err)
	}
	if c, err := w.MinuteCauses(ctx, minute.Unix()); err != nil || len(c) != 1 || c[0].Cause != "timeout" || c[0].Calls != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	sums, err := w.UsageTotals(ctx, minute.Truncate(time.Hour), now.Add(time.Minute))
	if err != nil || len(sums) != 1 || sums[0].Calls != 6 || sums[0].Errors != 3 || sums[0].Tokens != 60 {
		t.Errorf("%+v, %v", sums, err)
	}
}
