package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// testMarks: a mark of a group never goes back, and a release is compared with the
// newest revisions.
func testMarks(t *testing.T, h harness) {
	s, ctx := h.open(t, time.Now), t.Context()
	at := func(group string, epoch, revision uint64) {
		t.Helper()
		if e, r, err := s.ReleaseMark(ctx, group); err != nil || e != epoch || r != revision {
			t.Fatalf("%s is marked %d.%d, %v; want %d.%d", group, e, r, err, epoch, revision)
		}
	}
	mark := func(group string, epoch, revision uint64) {
		t.Helper()
		if err := s.MarkRelease(ctx, group, epoch, revision); err != nil {
			t.Fatal(err)
		}
	}
	at("default", 0, 0)
	mark("default", 1, 1)
	at("default", 1, 1)
	mark("default", 1, 7)
	mark("default", 1, 6)
	at("default", 1, 7)
	mark("other", 1, 2)
	mark("default", 2, 3)
	mark("default", 1, 9)
	at("default", 2, 3)
	at("other", 1, 2)

	w := s.Workspace("one")
	ts := seed(t, w, "pets")
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.AddRevision(ctx, &store.Revision{ToolsetID: ts.ID, Digest: "d", State: store.Published})
	})
	unknown := func(id string, revision uint64, want ...string) {
		t.Helper()
		got, err := s.Unknown(ctx, []registry.ReleaseToolset{{ID: id, Slug: "slug", Revision: revision}})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("revision %d of %s: unknown are %q, %v; want %q", revision, id, got, err, want)
		}
	}
	unknown(ts.ID, 1)
	unknown(ts.ID, 2, "slug")
	unknown("ts_never_seen", 1, "slug")
}
