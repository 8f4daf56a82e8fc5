package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
)

// testFigures: the counts are over all workspaces, and the age of a toolset is that of its
// oldest key.
func testFigures(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	ctx, ring := t.Context(), keyring(t)
	empty, err := s.Figures(ctx, []string{"none"}, 10)
	if err != nil || len(empty.Jobs)+len(empty.Alerts)+len(empty.Deliveries)+len(empty.Sources)+len(empty.Keys) > 0 {
		t.Fatalf("%+v, %v", empty, err)
	}
	for i, workspace := range []string{"one", "two"} {
		w := s.Workspace(workspace)
		ts := seed(t, w, "pets-"+workspace)
		now = now.Add(time.Hour)
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			for range 2 {
				if err := tx.AddJob(ctx, &store.Job{Kind: "create"}); err != nil {
					return err
				}
			}
			for _, auth := range []string{"header", "oauth2"} {
				now = now.Add(time.Minute)
				if err := tx.SealCredential(ctx, ring, &store.Credential{ToolsetID: ts.ID, Connector: "pets", AuthType: auth, Shape: "{}"}, secrets.New("k")); err != nil {
					return err
				}
			}
			if err := tx.PutToolsetSource(ctx, &store.ToolsetSource{ToolsetID: ts.ID, Connector: "pets", Overlays: "[]"}); err != nil {
				return err
			}
			if err := tx.SetSchedule(ctx, ts.ID, "pets", time.Hour); err != nil {
				return err
			}
			if i == 1 {
				_, err := tx.SourceFailed(ctx, ts.ID, "pets", "down")
				return err
			}
			return nil
		})
	}
	f, err := s.Figures(ctx, []string{"oauth2"}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if want := []store.Counted{{"create", store.JobRunning, 4}}; !slices.Equal(f.Jobs, want) {
		t.Errorf("jobs %+v, want %+v", f.Jobs, want)
	}
	if want := []store.Counted{{"", "failing", 1}, {"", "ok", 1}}; !slices.Equal(f.Sources, want) {
		t.Errorf("sources %+v, want %+v", f.Sources, want)
	}
	first := store.Time{Time: time.Date(2026, 3, 1, 13, 1, 0, 0, time.UTC)}
	if want := []store.KeyAge{{"pets-one", first}, {"pets-two", store.Time{Time: first.Add(62 * time.Minute)}}}; !slices.Equal(f.Keys, want) {
		t.Errorf("keys %+v, want %+v", f.Keys, want)
	}
	if f, err = s.Figures(ctx, []string{"oauth2"}, 1); err != nil || len(f.Keys) != 1 || f.Keys[0].Slug != "pets-one" {
		t.Errorf("the oldest key is %+v, %v", f.Keys, err)
	}
}
