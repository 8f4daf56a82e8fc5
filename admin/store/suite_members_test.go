package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testMembers: members have one address each, are written by version, the last
// administrator stays, and their tokens do what they may at that moment.
func testMembers(t *testing.T, h harness) {
	s := h.open(t, nil)
	w, other := s.Workspace("one"), s.Workspace("two")
	ctx := t.Context()
	anna := &store.Member{Email: "Anna@Example.com", Role: store.RoleAdmin}
	ben := &store.Member{Email: "ben@example.com", Name: "Ben", Role: store.RoleEditor}
	add := func(w *store.Workspace, m *store.Member) error {
		return w.Update(ctx, func(tx *store.Tx) error { return tx.AddMember(ctx, m) })
	}
	if err := errors.Join(add(w, anna), add(w, ben), add(other, &store.Member{Email: "anna@example.com", Role: store.RoleViewer})); err != nil {
		t.Fatal(err)
	}
	if err := add(w, &store.Member{Email: "ANNA@example.com", Role: store.RoleViewer}); !problem.Is(err, problem.Conflict) {
		t.Errorf("the same address: %v", err)
	}
	if err := add(w, &store.Member{Email: "c@example.com", Role: "root"}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("a role that is none: %v", err)
	}
	if m, err := w.Member(ctx, "ANNA@example.com"); err != nil || m.ID != anna.ID || m.Email != "anna@example.com" || m.Version != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := other.Member(ctx, ben.ID); !problem.Is(err, problem.NotFound) {
		t.Errorf("a member of another workspace: %v", err)
	}
	rows, next, err := w.Members(ctx, store.Page{Limit: 1})
	if err != nil || len(rows) != 1 || rows[0].ID != ben.ID || next != ben.ID {
		t.Fatalf("%+v, %q, %v", rows, next, err)
	}
	if rows, next, err = w.Members(ctx, store.Page{Limit: 1, After: next}); err != nil || len(rows) != 1 || rows[0].ID != anna.ID || next != "" {
		t.Fatalf("%+v, %q, %v", rows, next, err)
	}

	token := func(b byte, m *store.Member, role string) func() (string, error) {
		t.Helper()
		hash := []byte(strings.Repeat(string(b), 32))
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddToken(ctx, &store.Token{Name: "t", Role: role, MemberID: m.ID, Hash: hash})
		})
		return func() (string, error) {
			row, err := s.TokenByHash(ctx, hash)
			if err != nil {
				return "", err
			}
			return row.Role, nil
		}
	}
	f := func(what string, read func() (string, error), want string) {
		t.Helper()
		if got, err := read(); got != want || (err == nil) != (want != "") || err != nil && !problem.Is(err, problem.Unauthenticated) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, want)
		}
	}
	bens, annas, small := token('b', ben, store.RoleEditor), token('a', anna, store.RoleAdmin), token('v', anna, store.RoleViewer)
	f("an editor", bens, store.RoleEditor)
	f("an administrator", annas, store.RoleAdmin)
	f("a smaller token", small, store.RoleViewer)

	save := func(m *store.Member, role string) error {
		next := *m
		next.Role = role
		err := w.Update(ctx, func(tx *store.Tx) error { return tx.SaveMember(ctx, &next) })
		if err == nil {
			*m = next
		}
		return err
	}
	if err := save(anna, store.RoleEditor); !problem.Is(err, problem.Conflict) {
		t.Errorf("the last administrator was demoted: %v", err)
	}
	if err := w.Update(ctx, func(tx *store.Tx) error { _, err := tx.RemoveMember(ctx, anna.ID, anna.Version); return err }); !problem.Is(err, problem.Conflict) {
		t.Errorf("the last administrator was removed: %v", err)
	}
	f("after refusals", annas, store.RoleAdmin)
	stale := *ben
	if err := save(ben, store.RoleAdmin); err != nil || ben.Version != 2 {
		t.Fatal(ben, err)
	}
	f("promoted beyond the token", bens, store.RoleEditor)
	if err := save(&stale, store.RoleViewer); !problem.Is(err, problem.Precondition) || !errors.Is(err, store.ErrStale) {
		t.Errorf("a stale write: %v", err)
	}
	if err := w.Update(ctx, func(tx *store.Tx) error { _, err := tx.RemoveMember(ctx, stale.ID, 1); return err }); !errors.Is(err, store.ErrStale) {
		t.Errorf("a stale removal: %v", err)
	}
	// Ben is an administrator, and no token of his can administer.
	if err := save(anna, store.RoleViewer); !problem.Is(err, problem.Conflict) {
		t.Errorf("the last token of an administrator lost its power: %v", err)
	}
	bens2 := token('B', ben, store.RoleAdmin)
	if err := save(anna, store.RoleViewer); err != nil {
		t.Fatal(err)
	}
	f("demoted", annas, store.RoleViewer)
	revoked := int64(-1)
	update(t, w, func(ctx context.Context, tx *store.Tx) (err error) {
		revoked, err = tx.RemoveMember(ctx, anna.ID, anna.Version)
		return err
	})
	if revoked != 2 {
		t.Errorf("revoked %d", revoked)
	}
	f("removed", annas, "")
	f("removed", small, "")
	f("another's", bens2, store.RoleAdmin)
	if err := save(anna, store.RoleViewer); !problem.Is(err, problem.NotFound) {
		t.Errorf("a write of a removed member: %v", err)
	}
	if m, err := other.Member(ctx, "anna@example.com"); err != nil || m.Role != store.RoleViewer {
		t.Errorf("the other workspace has %+v, %v", m, err)
	}
}
