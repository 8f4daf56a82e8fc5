package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// testSchedules: a source is due when its time has come, one control plane takes it,
// and one that failed is tried again sooner.
func testSchedules(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, ctx := s.Workspace("one"), t.Context()
	ts := seed(t, w, "pets")
	due := func(expect int) []store.ToolsetSource {
		t.Helper()
		rows, err := s.DueSources(ctx)
		if err != nil || len(rows) != expect {
			t.Fatalf("%d are due, want %d, %v", len(rows), expect, err)
		}
		return rows
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutToolsetSource(ctx, &store.ToolsetSource{ToolsetID: ts.ID, Connector: "pets", ETag: "e", Overlays: "[]"})
	})
	now = now.Add(1000 * time.Hour)
	due(0)
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SetSchedule(ctx, ts.ID, "pets", time.Hour) })
	rows := due(1)
	if rows[0].WorkspaceID != "one" || rows[0].ETag != "e" || rows[0].Overlays != "[]" || rows[0].EverySeconds != 3600 {
		t.Fatalf("%+v", rows[0])
	}
	claim := func(w *store.Workspace, row store.ToolsetSource) (mine bool) {
		t.Helper()
		update(t, w, func(ctx context.Context, tx *store.Tx) (err error) {
			mine, err = tx.ClaimSource(ctx, &row)
			return err
		})
		return mine
	}
	if claim(s.Workspace("two"), rows[0]) || !claim(w, rows[0]) || claim(w, rows[0]) {
		t.Error("a source was claimed twice, or by another workspace")
	}
	due(0)
	for i := range int64(2) {
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.SourceFailed(ctx, ts.ID, "pets", "down")
			if n != i+1 {
				t.Errorf("failed %d times", n)
			}
			return err
		})
	}
	now = now.Add(15*time.Minute - time.Millisecond)
	due(0)
	now = now.Add(time.Millisecond)
	if rows = due(1); rows[0].Failures != 2 || rows[0].Fault != "down" {
		t.Errorf("%+v", rows[0])
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SourceChecked(ctx, ts.ID, "pets") })
	due(0)
	now = now.Add(time.Hour)
	update(t, w, func(ctx context.Context, tx *store.Tx) error { // read by a person: the schedule stays
		return tx.PutToolsetSource(ctx, &store.ToolsetSource{ToolsetID: ts.ID, Connector: "pets", ETag: "f"})
	})
	due(0)
	if row, err := w.ToolsetSource(ctx, ts.ID, "pets"); err != nil || row.Failures != 0 || row.Fault != "" || row.EverySeconds != 3600 || row.ETag != "f" {
		t.Errorf("%+v, %v", row, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SetSchedule(ctx, ts.ID, "pets", 0) })
	now = now.Add(1000 * time.Hour)
	due(0)
}
