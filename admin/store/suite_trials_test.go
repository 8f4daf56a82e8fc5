package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// testTrials: as many roll-outs run in all workspaces together as gateways count, and not one
// more; a toolset has one; and a report is added to its roll-out once, however often it comes.
func testTrials(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	one, two := s.Workspace("one"), s.Workspace("two")
	first := seed(t, one, "first")
	var last store.Trial
	update(t, one, func(ctx context.Context, tx *store.Tx) error {
		last = store.Trial{ToolsetID: first.ID, Mode: registry.TrialCanary, Percent: 10, Changes: "[]", Thresholds: "{}"}
		if err := tx.AddTrial(ctx, &last); err != nil {
			return err
		}
		for i := 1; i < registry.MaxTrials; i++ {
			ts := *first
			ts.ID, ts.Slug = "", fmt.Sprint("toolset-", i)
			if err := tx.CreateToolset(ctx, &ts); err != nil {
				return err
			}
			if err := tx.AddTrial(ctx, &store.Trial{ToolsetID: ts.ID, Mode: registry.TrialShadow, Changes: "[]", Thresholds: "{}"}); err != nil {
				return err
			}
		}
		return nil
	})
	if rows, err := s.RunningTrials(t.Context()); err != nil || len(rows) != registry.MaxTrials {
		t.Fatalf("%d roll-outs run, %v", len(rows), err)
	}
	other := seed(t, two, "other")
	start := func() error {
		return two.Update(t.Context(), func(tx *store.Tx) error {
			return tx.AddTrial(t.Context(), &store.Trial{ToolsetID: other.ID, Mode: registry.TrialShadow, Changes: "[]", Thresholds: "{}"})
		})
	}
	if err := start(); !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), "1000 roll-outs run in this installation") {
		t.Errorf("one roll-out past the bound: %v", err)
	}
	update(t, one, func(ctx context.Context, tx *store.Tx) error {
		return tx.EndTrial(ctx, &last, store.TrialAborted, "", 0)
	})
	if err := start(); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	if err := start(); !problem.Is(err, problem.Conflict) || strings.Contains(err.Error(), "installation") == strings.Contains(err.Error(), "of this toolset") {
		t.Errorf("a second one of the toolset: %v", err)
	}
	// The counts of two nodes are added up; what is posted again, and late, is added once.
	rows, err := two.Trials(t.Context(), other.ID)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d roll-outs, %v", len(rows), err)
	}
	count := func(node string, sequence, calls uint64, applied bool) {
		t.Helper()
		side := registry.TrialSide{Calls: calls, Errors: 1, Latency: histogram(slices.Repeat([]time.Duration{time.Millisecond}, int(calls))...)}
		r := &registry.UsageReport{Epoch: "E1", Sequence: sequence, Oldest: 1, Minute: now.Unix(), Posted: now, Trials: []registry.UsageTrial{
			{Workspace: "two", Toolset: other.ID, Trial: rows[0].ID, TrialCounts: registry.TrialCounts{Candidate: side, Skipped: 2}},
			{Workspace: "two", Toolset: other.ID, Trial: "roll_gone", TrialCounts: registry.TrialCounts{Candidate: side}},
		}}
		if got, err := s.ApplyUsage(t.Context(), node, r); err != nil || got != applied {
			t.Fatalf("report %d of %s: %v, %v", sequence, node, got, err)
		}
	}
	count("n1", 1, 10, true)
	count("n2", 1, 20, true)
	count("n1", 1, 10, false)
	update(t, two, func(ctx context.Context, tx *store.Tx) error {
		return tx.EndTrial(ctx, &rows[0], store.TrialRolledBack, "worse", 0)
	})
	count("n2", 2, 5, true)
	count("n2", 2, 5, false)
	row, err := two.Trial(t.Context(), other.ID, rows[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	n, err := row.Counted()
	if err != nil || n.Candidate.Calls != 35 || n.Candidate.Errors != 3 || n.Skipped != 6 || row.State != store.TrialRolledBack {
		t.Errorf("%s, %+v, %v", row.State, n, err)
	}
	if q, err := n.Candidate.Quantile(0.5); err != nil || q == 0 {
		t.Errorf("a median of %g, %v", q, err)
	}
}
