package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testPreviews: a toolset has one preview, which ends by itself, and keeps its draft in
// the registry until then.
func testPreviews(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, ctx := s.Workspace("one"), t.Context()
	ts := seed(t, w, "pets")
	put := func(w *store.Workspace, toolset, id, digest string) error {
		return w.Update(ctx, func(tx *store.Tx) error {
			return tx.PutPreview(ctx, &store.Preview{
				ToolsetID: toolset, ID: id, Digest: digest, Repository: "one/toolsets/pets", Envelope: []byte{1}, ExpiresAt: store.Time{Time: now.Add(time.Hour)},
			})
		})
	}
	if err := put(w, ts.ID, "a", "sha256:p1"); err != nil {
		t.Fatal(err)
	}
	if err := put(w, ts.ID, "b", "sha256:p2"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PreviewByID(ctx, "a"); !problem.Is(err, problem.NotFound) {
		t.Errorf("a preview that was replaced: %v", err)
	}
	if row, err := s.PreviewByID(ctx, "b"); err != nil || row.ToolsetID != ts.ID || row.WorkspaceID != "one" || len(row.Envelope) != 1 {
		t.Errorf("%+v, %v", row, err)
	}
	if _, err := s.Workspace("two").Preview(ctx, ts.ID, store.Time{Time: now}); !problem.Is(err, problem.NotFound) {
		t.Errorf("a preview of another workspace: %v", err)
	}
	needs := func(digest string) (ok bool) {
		t.Helper()
		bundles, err := s.NeededBundles(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bundles {
			ok = ok || b.Digest == digest
		}
		return ok
	}
	if needs("sha256:p1") || !needs("sha256:p2") {
		t.Error("the registry keeps the wrong draft")
	}
	// At the limit and one past it.
	for i := range store.MaxPreviews {
		other := seed(t, w, fmt.Sprintf("pets-%d", i))
		err := put(w, other.ID, fmt.Sprintf("c%d", i), "sha256:p3")
		if past := i == store.MaxPreviews-1; (err != nil) != past || past && !problem.Is(err, problem.Conflict) {
			t.Fatalf("preview %d: %v", i+2, err)
		}
	}
	now = now.Add(time.Hour)
	if _, err := s.PreviewByID(ctx, "b"); !problem.Is(err, problem.NotFound) {
		t.Errorf("an expired preview: %v", err)
	}
	if needs("sha256:p2") {
		t.Error("the registry keeps the draft of an expired preview")
	}
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	end := func() error { return w.Update(ctx, func(tx *store.Tx) error { return tx.EndPreview(ctx, ts.ID) }) }
	if err := end(); !problem.Is(err, problem.NotFound) {
		t.Errorf("a swept preview: %v", err)
	}
	if err := put(w, ts.ID, "d", "sha256:p4"); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if err := put(w, ts.ID, "e", "sha256:p4"); err != nil {
		t.Fatal(err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteToolset(ctx, ts.ID, ts.Version) })
	if _, err := s.PreviewByID(ctx, "e"); !problem.Is(err, problem.NotFound) {
		t.Errorf("a preview of a deleted toolset: %v", err)
	}
}
