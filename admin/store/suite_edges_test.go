package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testJoinTokens: a join token opens the door until it was revoked or has expired, and no
// other one does. One that was used up is found, for the edge that used it and lost the
// answer: that one gets the token it asks with now, and nobody else gets in.
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
	edge := func(name, token string) *store.Edge {
		return &store.Edge{Name: name, TokenHash: hash(token), SealKey: hash("s"), SignKey: hash("g"), TokenExpires: store.Time{Time: now.Add(24 * time.Hour)}}
	}
	enrol := func(w *store.Workspace, join string, row *store.Edge) error {
		return w.Update(ctx, func(tx *store.Tx) error { return tx.Enrol(ctx, join, row) })
	}
	for what, join := range map[string]string{"that is not there": "join_none", "of another workspace": used.ID} {
		w := ws
		if join == used.ID {
			w = s.Workspace("two")
		}
		if err := enrol(w, join, edge("1", "0")); !problem.Is(err, problem.Unauthenticated) {
			t.Errorf("an edge joins with a token %s: %v", what, err)
		}
	}
	first := edge("1", "1")
	if err := enrol(ws, used.ID, first); err != nil {
		t.Fatal(err)
	}
	good("u", true)
	again := edge("1", "2")
	if err := enrol(ws, used.ID, again); err != nil || again.ID != first.ID {
		t.Errorf("an edge that lost the answer: %q, want %q, %v", again.ID, first.ID, err)
	}
	if got, err := s.EdgeByToken(ctx, hash("2")); err != nil || got.ID != first.ID {
		t.Errorf("by the token it asks with now: %+v, %v", got, err)
	}
	if _, err := s.EdgeByToken(ctx, hash("1")); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("by the token before: %v", err)
	}
	others := map[string]*store.Edge{}
	for what, change := range map[string]func(*store.Edge){
		"another key to sign": func(e *store.Edge) { e.SignKey = hash("G") },
		"another key to seal": func(e *store.Edge) { e.SealKey = hash("S") },
		"another name":        func(e *store.Edge) { e.Name = "2" },
		"other labels":        func(e *store.Edge) { e.SetLabels("one", store.Labels{"a": "b"}) },
		"every workspace":     func(e *store.Edge) { e.AllWorkspaces = true },
	} {
		others[what] = edge("1", "3")
		change(others[what])
	}
	update(t, ws, func(ctx context.Context, tx *store.Tx) error {
		first.SeenAt.Time = now.Add(time.Second)
		return tx.SaveEdge(ctx, first)
	})
	others["what has asked since"] = edge("1", "3")
	for what, row := range others {
		if err := enrol(ws, used.ID, row); !problem.Is(err, problem.Unauthenticated) {
			t.Errorf("an edge with %s joins with a token that was used up: %v", what, err)
		}
	}
	update(t, ws, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeJoinToken(ctx, revoked.ID) })
	good("r", false)
	if err := enrol(ws, revoked.ID, edge("9", "9")); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("an edge with a token that was revoked meanwhile: %v", err)
	}
	for what, w := range map[string]*store.Workspace{"twice": ws, "of another workspace": s.Workspace("two")} {
		id := revoked.ID
		if w != ws {
			id = used.ID
		}
		if err := w.Update(ctx, func(tx *store.Tx) error { return tx.RevokeJoinToken(ctx, id) }); !problem.Is(err, problem.NotFound) {
			t.Errorf("revoking a token %s: %v", what, err)
		}
	}
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
