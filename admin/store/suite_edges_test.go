package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testJoinTokens: a join token opens the door until it was revoked, has expired or was
// used up, whichever comes first, and no other one does.
func testJoinTokens(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	ws, ctx := s.Workspace("one"), t.Context()
	hash := func(name string) []byte { return []byte(strings.Repeat(name, 32)) }
	add := func(name string, uses uint64, expires time.Time) *store.JoinToken {
		row := &store.JoinToken{Name: name, Hash: hash(name), MaxUses: uses, ExpiresAt: store.Time{Time: expires}}
		update(t, ws, func(ctx context.Context, tx *store.Tx) error { return tx.AddJoinToken(ctx, row) })
		return row
	}
	good := func(name string, want bool) {
		t.Helper()
		row, err := s.JoinTokenByHash(ctx, hash(name))
		if want && (err != nil || row.Name != name) || !want && (row != nil || !problem.Is(err, problem.Unauthenticated)) {
			t.Errorf("token %s at %s: %+v, %v; want it to be good: %t", name, now.Format(time.TimeOnly), row, err, want)
		}
	}
	add("a", 0, time.Time{})
	add("e", 0, now.Add(time.Hour))
	used, revoked := add("u", 1, time.Time{}), add("r", 0, time.Time{})
	for _, name := range []string{"a", "e", "u", "r"} {
		good(name, true)
	}
	good("x", false)
	enrol := func(name string) error {
		return ws.Update(ctx, func(tx *store.Tx) error {
			return tx.Enrol(ctx, used.ID, &store.Edge{Name: name, TokenHash: hash(name), SealKey: hash("s"), SignKey: hash("g")})
		})
	}
	if err := enrol("1"); err != nil {
		t.Fatal(err)
	}
	good("u", false)
	if err := enrol("2"); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("an edge with a token that was used up: %v", err)
	}
	update(t, ws, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeJoinToken(ctx, revoked.ID) })
	good("r", false)
	now = now.Add(time.Hour - time.Second)
	good("e", true)
	now = now.Add(time.Second)
	good("e", false)
	good("a", true)
}

// testSavedEdges: an edge that is written must be there, in the workspace of who writes it;
// its token is good until it expires or the edge is revoked.
func testSavedEdges(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	ws, other, ctx := s.Workspace("one"), s.Workspace("two"), t.Context()
	join := &store.JoinToken{Name: "j", Hash: []byte(strings.Repeat("j", 32))}
	hash := []byte(strings.Repeat("e", 32))
	row := &store.Edge{Name: "e", TokenHash: hash, TokenExpires: store.Time{Time: now.Add(time.Hour)}, SealKey: []byte("seal"), SignKey: []byte("sign")}
	update(t, ws, func(ctx context.Context, tx *store.Tx) error { return tx.AddJoinToken(ctx, join) })
	update(t, ws, func(ctx context.Context, tx *store.Tx) error { return tx.Enrol(ctx, join.ID, row) })
	row.Status = `{"a":1}`
	update(t, ws, func(ctx context.Context, tx *store.Tx) error { return tx.SaveEdge(ctx, row) })
	if got, err := ws.Edge(ctx, row.ID); err != nil || got.Status != row.Status {
		t.Errorf("%+v, %v", got, err)
	}
	absent := *row
	absent.ID = "edge_none"
	for what, save := range map[string]func() error{
		"that is not there":    func() error { return ws.Update(ctx, func(tx *store.Tx) error { return tx.SaveEdge(ctx, &absent) }) },
		"of another workspace": func() error { return other.Update(ctx, func(tx *store.Tx) error { return tx.SaveEdge(ctx, row) }) },
	} {
		if err := save(); !problem.Is(err, problem.NotFound) {
			t.Errorf("an edge %s: %v", what, err)
		}
	}

	asks := func(want problem.Kind) {
		t.Helper()
		if got, err := s.EdgeByToken(ctx, hash); want == "" && (err != nil || got.ID != row.ID) || want != "" && !problem.Is(err, want) {
			t.Errorf("by token: %+v, %v; want %v", got, err, want)
		}
	}
	now = now.Add(time.Hour - time.Second)
	asks("")
	now = now.Add(time.Second)
	asks(problem.Unauthenticated)
	if got, err := s.EdgeByID(ctx, row.ID); err != nil || got.Name != "e" {
		t.Errorf("one that renews its token: %+v, %v", got, err)
	}
	if _, err := s.EdgeByID(ctx, absent.ID); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("one that is not there renews its token: %v", err)
	}
	row.RevokedAt = store.Time{Time: now}
	update(t, ws, func(ctx context.Context, tx *store.Tx) error { return tx.SaveEdge(ctx, row) })
	asks(problem.Forbidden)
	if _, err := s.EdgeByID(ctx, row.ID); !problem.Is(err, problem.Forbidden) {
		t.Errorf("one that was revoked renews its token: %v", err)
	}
}
