package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testDrafts: copies of drafts are kept by name, bounded, and go with their toolset.
func testDrafts(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, ctx := s.Workspace("one"), t.Context()
	ts := seed(t, w, "pets")
	put := func(kind, name, document string) {
		t.Helper()
		now = now.Add(time.Second)
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutDraftCopy(ctx, &store.DraftCopy{ToolsetID: ts.ID, Kind: kind, Name: name, Digest: "d", Document: document})
		})
	}
	count := func(kind string, want int, newest string) {
		t.Helper()
		rows, err := w.DraftCopies(ctx, ts.ID, kind)
		if err != nil || len(rows) != want || want > 0 && rows[0].Name != newest {
			t.Fatalf("%d copies of kind %s, %v; want %d, the newest %s", len(rows), kind, err, want, newest)
		}
	}
	put(store.CopyKept, "a", "{}")
	put(store.CopyKept, "a", `{"x":1}`)
	put(store.CopyPublished, "a", "{}")
	count(store.CopyKept, 1, "a")
	if row, err := w.DraftCopy(ctx, ts.ID, store.CopyKept, "a"); err != nil || row.Document != `{"x":1}` {
		t.Fatalf("%+v, %v", row, err)
	}
	if _, err := s.Workspace("two").DraftCopy(ctx, ts.ID, store.CopyKept, "a"); !problem.Is(err, problem.NotFound) {
		t.Fatalf("another workspace: %v", err)
	}
	for i := range store.MaxDraftCopies {
		put(store.CopyKept, fmt.Sprintf("n%02d", i), "{}")
	}
	count(store.CopyKept, store.MaxDraftCopies, fmt.Sprintf("n%02d", store.MaxDraftCopies-1))
	if _, err := w.DraftCopy(ctx, ts.ID, store.CopyKept, "a"); !problem.Is(err, problem.NotFound) {
		t.Fatalf("the oldest stayed: %v", err)
	}
	count(store.CopyPublished, 1, "a")
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.DropDraftCopy(ctx, ts.ID, store.CopyPublished, "a")
	})
	count(store.CopyPublished, 0, "")
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.Toolset(ctx, ts.ID)
		if err != nil {
			return err
		}
		return tx.DeleteToolset(ctx, ts.ID, row.Version)
	})
	count(store.CopyKept, 0, "")
}
