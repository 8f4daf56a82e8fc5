package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testPasskeys: a passkey is found by its credential in all workspaces, belongs to one member,
// and ends with them.
func testPasskeys(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, other, ctx := s.Workspace("one"), s.Workspace("two"), t.Context()
	update := func(w *store.Workspace, fn func(tx *store.Tx) error) error { return w.Update(ctx, fn) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ben, ada := &store.Member{Email: "ben@example.com", Role: store.RoleEditor}, &store.Member{Email: "ada@example.com", Role: store.RoleAdmin}
	eve := &store.Member{Email: "eve@example.com", Role: store.RoleAdmin}
	must(update(w, func(tx *store.Tx) error { return errors.Join(tx.AddMember(ctx, ada), tx.AddMember(ctx, ben)) }))
	must(update(other, func(tx *store.Tx) error { return tx.AddMember(ctx, eve) }))
	row := &store.Passkey{MemberID: ben.ID, Credential: []byte("c1"), PublicKey: []byte("k"), Host: "localhost", Name: "Laptop", Transports: "internal,hybrid", SignCount: 5, Syncs: true}
	must(update(w, func(tx *store.Tx) error { return tx.AddPasskey(ctx, row) }))
	if can, err := w.CanSignIn(ctx); err != nil || !can {
		t.Errorf("nobody can sign in with it: %v, %v", can, err)
	}
	got, err := s.PasskeyByCredential(ctx, []byte("c1"))
	if err != nil || got.ID != row.ID || got.WorkspaceID != "one" || got.Name != "Laptop" || got.SignCount != 5 || !got.Syncs || got.Synced || got.Transports != "internal,hybrid" || !got.UsedAt.IsZero() || !got.DoubtedAt.IsZero() {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := s.PasskeyByCredential(ctx, []byte("c2")); !problem.Is(err, problem.NotFound) {
		t.Error(err)
	}
	// Nobody else registers it, in whichever workspace.
	err = update(other, func(tx *store.Tx) error {
		return tx.AddPasskey(ctx, &store.Passkey{MemberID: eve.ID, Credential: []byte("c1"), PublicKey: []byte("other")})
	})
	if !problem.Is(err, problem.Conflict) {
		t.Errorf("a credential of somebody else: %v", err)
	}
	for _, c := range []struct {
		w      *store.Workspace
		member string
		found  int
	}{{w, ben.ID, 1}, {w, ada.ID, 0}, {other, ben.ID, 0}} {
		rows, _, err := c.w.Passkeys(ctx, c.member, store.Page{})
		if err != nil || len(rows) != c.found {
			t.Errorf("%s %s: %v %v", c.w.ID(), c.member, rows, err)
		}
		if _, err := c.w.Passkey(ctx, c.member, row.ID); (err == nil) != (c.found == 1) || err != nil && !problem.Is(err, problem.NotFound) {
			t.Errorf("%s %s: %v", c.w.ID(), c.member, err)
		}
	}

	stale := *row
	row.Name = "Old laptop"
	must(update(w, func(tx *store.Tx) error { return tx.RenamePasskey(ctx, row) }))
	if err := update(w, func(tx *store.Tx) error { return tx.RenamePasskey(ctx, &stale) }); !errors.Is(err, store.ErrStale) {
		t.Errorf("renamed meanwhile: %v", err)
	}
	now = now.Add(time.Minute)
	use := *row
	use.SignCount, use.Synced, use.Name = 6, true, "not written"
	must(update(w, func(tx *store.Tx) error { return tx.UsePasskey(ctx, &use) }))
	use.SignCount = 5
	if err := update(w, func(tx *store.Tx) error { return tx.UsePasskey(ctx, &use) }); !problem.Is(err, problem.NotFound) {
		t.Errorf("an earlier counter: %v", err)
	}
	must(update(w, func(tx *store.Tx) error { return tx.DoubtPasskey(ctx, row.ID) }))
	got, err = s.PasskeyByCredential(ctx, []byte("c1"))
	if err != nil || got.Name != "Old laptop" || got.Version != 2 || got.SignCount != 6 || !got.Synced || !got.UsedAt.Equal(now) || !got.DoubtedAt.Equal(now) {
		t.Errorf("%+v %v", got, err)
	}

	for _, c := range []struct {
		w     *store.Workspace
		found int
	}{{w, 1}, {other, 0}} {
		if rows, err := c.w.DoubtedPasskeys(ctx); err != nil || len(rows) != c.found {
			t.Errorf("doubted passkeys of %s: %v %v", c.w.ID(), rows, err)
		}
	}

	// Removing it ends the sessions that passkeys opened, but the one that asks.
	open := func(hash, by string) *store.Session {
		t.Helper()
		row := &store.Session{Hash: []byte(hash), MemberID: ben.ID, OpenedBy: by, IdleAt: store.Time{Time: now.Add(time.Hour)}, ExpiresAt: store.Time{Time: now.Add(time.Hour)}}
		must(update(w, func(tx *store.Tx) error { return tx.AddSession(ctx, row) }))
		return row
	}
	mine := open("mine", store.OpenedByPasskey)
	open("lost", store.OpenedByPasskey)
	open("typed", store.OpenedByPassword)
	must(update(w, func(tx *store.Tx) error {
		n, err := tx.RemovePasskey(ctx, row, mine.ID)
		if n != 1 {
			t.Errorf("%d sessions end", n)
		}
		return err
	}))
	for hash, open := range map[string]bool{"mine": true, "lost": false, "typed": true} {
		if _, _, err := s.SessionByHash(ctx, []byte(hash)); (err == nil) != open {
			t.Errorf("%s: %v", hash, err)
		}
	}
	if err := update(w, func(tx *store.Tx) error { _, err := tx.RemovePasskey(ctx, row, ""); return err }); !problem.Is(err, problem.NotFound) {
		t.Errorf("removed before: %v", err)
	}
	if err := update(w, func(tx *store.Tx) error { return tx.UsePasskey(ctx, &use) }); !problem.Is(err, problem.NotFound) {
		t.Errorf("used after its end: %v", err)
	}
	must(update(w, func(tx *store.Tx) error {
		return tx.AddPasskey(ctx, &store.Passkey{MemberID: ben.ID, Credential: []byte("c3"), PublicKey: []byte("k")})
	}))
	must(update(w, func(tx *store.Tx) error { _, err := tx.RemoveMember(ctx, ben.ID, ben.Version); return err }))
	if _, err := s.PasskeyByCredential(ctx, []byte("c3")); !problem.Is(err, problem.NotFound) {
		t.Errorf("it outlives its member: %v", err)
	}
}
