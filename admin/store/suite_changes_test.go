package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// testChangeMarks: the mark of a kind of records changes with them, and only in their workspace.
func testChangeMarks(t *testing.T, h harness) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	s, ctx := h.open(t, func() time.Time { return now }), t.Context()
	w := s.Workspace("one")
	marks := func(w *store.Workspace) []string {
		t.Helper()
		got, err := w.ChangeMarks(ctx)
		if err != nil || len(got) != len(store.Subjects) {
			t.Fatalf("%q, %v; want %d marks", got, err, len(store.Subjects))
		}
		return got
	}
	last, other := marks(w), marks(s.Workspace("two"))
	changed := func(what string, want ...string) {
		t.Helper()
		got, differ := marks(w), []string(nil)
		for i, m := range got {
			if m != last[i] {
				differ = append(differ, store.Subjects[i])
			}
		}
		if !slices.Equal(differ, want) {
			t.Errorf("%s: the marks of %q differ; want %q", what, differ, want)
		}
		last = got
	}
	changed("nothing")

	job := &store.Job{Kind: "k"}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddJob(ctx, job) })
	changed("a job begins", "jobs")
	job.State, job.Result = store.JobSucceeded, "{}"
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveJob(ctx, job) })
	changed("a job ends in the millisecond in which it began", "jobs")

	alert := &store.Alert{Key: "k/1", Kind: "k", Severity: "info", State: "firing", Document: "{}", Since: store.Time{Time: now}}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddAlert(ctx, alert) })
	changed("an alert", "alerts")
	alert.State, alert.ResolvedAt = "resolved", store.Time{Time: now}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveAlert(ctx, alert) })
	changed("it is resolved", "alerts")

	ts := seed(t, w, "pets")
	changed("a toolset", "toolsets")
	ts.Name = "Other"
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveToolset(ctx, ts) })
	changed("another name", "toolsets")
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteToolset(ctx, ts.ID, ts.Version) })
	changed("no toolset", "toolsets")

	report := func(sequence uint64, minute time.Time) {
		t.Helper()
		r := &registry.UsageReport{Epoch: "E1", Sequence: sequence, Oldest: 1, Minute: minute.Unix(), Posted: now, Series: []registry.UsageSeries{usageOf("one", "ts_a", "list", 1)}}
		if _, err := s.ApplyUsage(ctx, "n1", r); err != nil {
			t.Fatal(err)
		}
	}
	report(1, now)
	changed("usage", "usage")
	report(2, now)
	changed("more usage of that minute", "usage")
	report(3, now.Truncate(time.Hour).Add(-2*time.Hour))
	changed("late usage", "usage")

	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.Audit(ctx, &store.Audit{Action: "a"}) })
	changed("a line of the audit log", "records")
	if got := marks(s.Workspace("two")); !slices.Equal(got, other) {
		t.Errorf("the marks of another workspace are %q; they were %q", got, other)
	}
}
