package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testConnectorRequests: lists are by votes and age, a person has one vote, and a
// workspace sees its own.
func testConnectorRequests(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { now = now.Add(time.Second); return now })
	w, ctx := s.Workspace("one"), t.Context()
	var ids []string
	for _, name := range []string{"first", "second", "third"} {
		row := &store.ConnectorRequest{Name: name, State: "open", Comments: "[]", RequestedBy: "ann"}
		update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddConnectorRequest(ctx, row) })
		ids = append(ids, row.ID)
	}
	vote := func(id, who string, give, changes bool) {
		t.Helper()
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			changed, err := tx.Vote(ctx, id, who, give)
			if changed != changes {
				t.Errorf("the vote of %s for %s: changed %v", who, id, changed)
			}
			return err
		})
	}
	vote(ids[2], "bob", true, true)
	vote(ids[2], "bob", true, false)
	vote(ids[2], "ann", true, true)
	vote(ids[1], "ann", true, true)
	vote(ids[0], "ann", false, false)
	names := func(states []string, limit int64) string {
		t.Helper()
		var out []string
		for p := (store.Page{Limit: int(limit)}); ; {
			rows, next, err := w.ConnectorRequests(ctx, states, p)
			if err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				out = append(out, rows[i].Name)
			}
			if p.After = next; next == "" {
				return strings.Join(out, " ")
			}
		}
	}
	for limit := int64(1); limit < 4; limit++ {
		if got := names(nil, limit); got != "third second first" {
			t.Errorf("pages of %d: %s", limit, got)
		}
	}
	vote(ids[2], "bob", false, true)
	vote(ids[2], "ann", false, true)
	if got := names(nil, 2); got != "second first third" {
		t.Errorf("after votes were taken back: %s", got)
	}
	if voters, err := w.ConnectorVoters(ctx, ids[1], store.Time{}); err != nil || !slices.Equal(voters, []string{"ann"}) {
		t.Errorf("%v, %v", voters, err)
	}
	if voters, err := w.ConnectorVoters(ctx, ids[1], store.Time{Time: now}); err != nil || len(voters) != 0 {
		t.Errorf("since now: %v, %v", voters, err)
	}
	if voted, err := w.VotedFor(ctx, "ann"); err != nil || !slices.Equal(voted, []string{ids[1]}) {
		t.Errorf("%v, %v", voted, err)
	}
	if _, _, err := w.ConnectorRequests(ctx, nil, store.Page{After: "x"}); !problem.Is(err, problem.InvalidArgument) {
		t.Error(err)
	}

	row, err := w.ConnectorRequest(ctx, ids[1])
	if err != nil || row.Votes != 1 {
		t.Fatalf("%+v, %v", row, err)
	}
	stale := *row
	row.State, row.Votes = "planned", 77
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveConnectorRequest(ctx, row) })
	if row, err := w.ConnectorRequest(ctx, ids[1]); err != nil || row.State != "planned" || row.Votes != 1 {
		t.Errorf("%+v, %v", row, err)
	}
	if err := w.Update(ctx, func(tx *store.Tx) error { return tx.SaveConnectorRequest(ctx, &stale) }); !errors.Is(err, store.ErrStale) {
		t.Errorf("a stale write: %v", err)
	}
	if got := names([]string{"planned", "declined"}, 10); got != "second" {
		t.Errorf("of a state: %s", got)
	}
	if all, recent, err := w.CountConnectorRequests(ctx, "ann", row.CreatedAt); err != nil || all != 3 || recent != 1 {
		t.Errorf("%d, %d, %v", all, recent, err)
	}
	two := s.Workspace("two")
	if rows, _, err := two.ConnectorRequests(ctx, nil, store.Page{}); err != nil || len(rows) != 0 {
		t.Errorf("another workspace: %+v, %v", rows, err)
	}
	if _, err := two.ConnectorRequest(ctx, ids[0]); !problem.Is(err, problem.NotFound) {
		t.Error(err)
	}
}
