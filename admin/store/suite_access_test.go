package store_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testAdministrators counts who could still administer: a workspace must not be left
// with tokens that have ended.
func testAdministrators(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w := s.Workspace("one")
	want := func(when string, n int) {
		t.Helper()
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			if got, err := tx.Administrators(ctx); err != nil || got != n {
				t.Errorf("%s: %d, %v; want %d", when, got, err, n)
			}
			return nil
		})
	}
	add := func(w *store.Workspace, hash byte, role string, expires time.Time) *store.Token {
		t.Helper()
		tok := &store.Token{Name: "t", Role: role, Hash: bytes.Repeat([]byte{hash}, 32), ExpiresAt: store.Time{Time: expires}}
		update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddToken(ctx, tok) })
		return tok
	}
	want("none", 0)
	forever := add(w, 1, store.RoleAdmin, time.Time{})
	add(w, 2, store.RoleAdmin, now.Add(time.Hour))
	add(w, 3, store.RoleViewer, time.Time{})
	add(s.Workspace("two"), 4, store.RoleAdmin, time.Time{})
	want("two of this workspace", 2)
	now = now.Add(time.Hour - time.Nanosecond)
	want("at the last moment", 2)
	now = now.Add(time.Nanosecond)
	want("expired", 1)
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, forever.ID) })
	want("revoked", 0)
}

// testAccess writes who may open a toolset, and reads tokens under their toolset only.
func testAccess(t *testing.T, h harness) {
	s := h.open(t, time.Now)
	w := s.Workspace("one")
	ts, other := seed(t, w, "pets"), seed(t, w, "shop")
	save := func(row *store.ToolsetAccess) error {
		return w.Update(t.Context(), func(tx *store.Tx) error { return tx.SaveAccess(t.Context(), row) })
	}
	one := &store.ToolsetAccess{ToolsetID: ts.ID, Mode: "token"}
	if err := save(one); err != nil || one.Version != 1 {
		t.Fatalf("version %d, %v", one.Version, err)
	}
	// Two read version 1; the second to write is told.
	a, b := *one, *one
	a.Mode, b.Mode = "none", "jwt"
	if err := save(&a); err != nil {
		t.Fatal(err)
	}
	if err := save(&b); !problem.Is(err, problem.Precondition) || !errors.Is(err, store.ErrStale) {
		t.Errorf("a write over another: %v", err)
	}
	if err := save(&store.ToolsetAccess{ToolsetID: ts.ID, Mode: "jwt"}); !errors.Is(err, store.ErrStale) {
		t.Errorf("a first write over another: %v", err)
	}
	if got, err := w.Access(t.Context(), ts.ID); err != nil || got.Mode != "none" || got.Version != 2 {
		t.Errorf("%+v, %v; want the first write", got, err)
	}
	if got, err := s.Workspace("two").Access(t.Context(), ts.ID); err == nil && got != nil {
		t.Errorf("another workspace reads %+v", got)
	}

	tok := &store.AccessToken{ToolsetID: ts.ID, Name: "n", Hash: bytes.Repeat([]byte{9}, 32)}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddAccessToken(ctx, tok) })
	if got, err := w.AccessToken(t.Context(), ts.ID, tok.ID); err != nil || got.ID != tok.ID {
		t.Errorf("%+v, %v", got, err)
	}
	f := func(what string, w *store.Workspace, toolset string) {
		t.Helper()
		if got, err := w.AccessToken(t.Context(), toolset, tok.ID); !problem.Is(err, problem.NotFound) {
			t.Errorf("%s reads %+v, %v", what, got, err)
		}
		err := w.Update(t.Context(), func(tx *store.Tx) error { return tx.RevokeAccessToken(t.Context(), toolset, tok.ID) })
		if !problem.Is(err, problem.NotFound) {
			t.Errorf("%s revokes: %v", what, err)
		}
	}
	f("another toolset", w, other.ID)
	f("another workspace", s.Workspace("two"), ts.ID)
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeAccessToken(ctx, ts.ID, tok.ID) })
	for _, n := range []int{31, 33} {
		if err := w.Update(t.Context(), func(tx *store.Tx) error {
			return tx.AddAccessToken(t.Context(), &store.AccessToken{ToolsetID: ts.ID, Hash: bytes.Repeat([]byte{8}, n)})
		}); err == nil {
			t.Errorf("a hash of %d bytes was stored", n)
		}
	}
}
