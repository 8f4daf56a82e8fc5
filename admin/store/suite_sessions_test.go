package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// testSessions: a session is found by its hash until it ends, with the role that its member
// has at that moment, and ends with the member.
func testSessions(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, other, ctx := s.Workspace("one"), s.Workspace("two"), t.Context()
	update := func(w *store.Workspace, fn func(context.Context, *store.Tx) error) {
		t.Helper()
		if err := w.Update(ctx, func(tx *store.Tx) error { return fn(ctx, tx) }); err != nil {
			t.Fatal(err)
		}
	}
	ben := &store.Member{Email: "ben@example.com", Role: store.RoleEditor}
	admin := &store.Token{Name: "local", Role: store.RoleAdmin, Hash: make([]byte, 32)}
	update(w, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.AddMember(ctx, &store.Member{Email: "ada@example.com", Role: store.RoleAdmin}), tx.AddMember(ctx, ben), tx.AddToken(ctx, admin))
	})
	if can, err := w.CanSignIn(ctx); err != nil || can {
		t.Errorf("%v, %v", can, err)
	}
	open := func(hash, member, token string) *store.Session {
		t.Helper()
		row := &store.Session{
			Hash: []byte(hash), MemberID: member, TokenID: token, OpenedBy: store.OpenedByLink, SetsPassword: member != "", Address: "192.0.2.1", Agent: "Firefox",
			IdleAt: store.Time{Time: now.Add(time.Hour)}, ExpiresAt: store.Time{Time: now.Add(2 * time.Hour)},
		}
		update(w, func(ctx context.Context, tx *store.Tx) error { return tx.AddSession(ctx, row) })
		return row
	}
	bens, local := open("ben", ben.ID, ""), open("local", "", admin.ID)
	row, as, err := s.SessionByHash(ctx, []byte("ben"))
	if err != nil || row.ID != bens.ID || as.ID != bens.ID || as.Role != store.RoleEditor || as.MemberID != ben.ID || as.WorkspaceID != "one" || as.Name != "ben@example.com" {
		t.Errorf("%+v %+v %v", row, as, err)
	}
	if _, as, err := s.SessionByHash(ctx, []byte("local")); err != nil || as.Role != store.RoleAdmin || as.Name != "local" || as.Hash != nil {
		t.Errorf("%+v %v", as, err)
	}
	if _, _, err := s.SessionByHash(ctx, []byte("none")); !problem.Is(err, problem.Unauthenticated) {
		t.Error(err)
	}
	if can, err := w.CanSignIn(ctx); err != nil || !can {
		t.Errorf("%v, %v", can, err)
	}
	if can, err := other.CanSignIn(ctx); err != nil || can {
		t.Errorf("another workspace: %v, %v", can, err)
	}
	if rows, _, err := other.Sessions(ctx, "", "", store.Page{}); err != nil || len(rows) != 0 {
		t.Errorf("sessions of another workspace: %v %v", rows, err)
	}
	if _, err := other.Session(ctx, bens.ID); !problem.Is(err, problem.NotFound) {
		t.Errorf("a session of another workspace: %v", err)
	}
	update(other, func(ctx context.Context, tx *store.Tx) error {
		ok, err := tx.EndSession(ctx, bens.ID)
		if ok {
			t.Error("it ends a session of another workspace")
		}
		return err
	})
	for _, c := range []struct {
		member, token string
		want          []string
	}{{"", "", []string{local.ID, bens.ID}}, {ben.ID, "", []string{bens.ID}}, {"", admin.ID, []string{local.ID}}} {
		rows, _, err := w.Sessions(ctx, c.member, c.token, store.Page{})
		var ids []string
		for i := range rows {
			ids = append(ids, rows[i].ID)
		}
		if fmt.Sprint(ids) != fmt.Sprint(c.want) || err != nil {
			t.Errorf("%q %q: %v, want %v", c.member, c.token, ids, c.want)
		}
	}

	// A password takes the right to set one without it from the sessions of the member.
	for _, hash := range []string{"$1", "$2"} {
		update(w, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutPassword(ctx, &store.Password{MemberID: ben.ID, Hash: hash})
		})
	}
	if row, _, err := s.SessionByHash(ctx, []byte("ben")); err != nil || row.SetsPassword {
		t.Errorf("%+v %v", row, err)
	}
	for _, c := range []struct {
		workspace, email string
		found            int
	}{{"", "BEN@example.com", 1}, {"one", "ben@example.com", 1}, {"two", "ben@example.com", 0}, {"", "ada@example.com", 0}, {"", "none@example.com", 0}} {
		rows, err := s.PasswordsByEmail(ctx, c.workspace, c.email)
		if err != nil || len(rows) != c.found || c.found == 1 && (rows[0].Hash != "$2" || rows[0].MemberID != ben.ID) {
			t.Errorf("%+v: %+v %v", c, rows, err)
		}
	}

	// At the limit and one past it.
	first := open("n0", ben.ID, "") // with bens: two
	for i := 1; i < store.MaxSessions-1; i++ {
		open(fmt.Sprintf("n%d", i), ben.ID, "")
	}
	if _, _, err := s.SessionByHash(ctx, []byte("ben")); err != nil {
		t.Errorf("session %d ends the first: %v", store.MaxSessions, err)
	}
	open("more", ben.ID, "")
	if _, _, err := s.SessionByHash(ctx, []byte("ben")); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("session %d does not end the first: %v", store.MaxSessions+1, err)
	}
	if _, _, err := s.SessionByHash(ctx, []byte("n0")); err != nil {
		t.Error(err)
	}

	// One that ended is not touched back to life.
	update(w, func(ctx context.Context, tx *store.Tx) error { _, err := tx.EndSession(ctx, first.ID); return err })
	update(w, func(ctx context.Context, tx *store.Tx) error { return tx.TouchSession(ctx, first) })
	if _, _, err := s.SessionByHash(ctx, []byte("n0")); !problem.Is(err, problem.Unauthenticated) {
		t.Error(err)
	}
	update(w, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.RemoveMember(ctx, ben.ID, ben.Version)
		if n != 0 {
			t.Errorf("%d tokens", n)
		}
		return err
	})
	if rows, err := s.PasswordsByEmail(ctx, "", "ben@example.com"); err != nil || len(rows) != 0 {
		t.Errorf("a password outlives its member: %v %v", rows, err)
	}
	if rows, _, err := w.Sessions(ctx, "", "", store.Page{}); err != nil || len(rows) != 1 || rows[0].ID != local.ID {
		t.Errorf("%+v %v", rows, err)
	}

	// Idle, touched, and over.
	now = now.Add(59 * time.Minute)
	local.SeenAt, local.IdleAt = store.Time{Time: now}, store.Time{Time: now.Add(3 * time.Hour)}
	update(w, func(ctx context.Context, tx *store.Tx) error { return tx.TouchSession(ctx, local) })
	now = now.Add(time.Hour)
	if _, _, err := s.SessionByHash(ctx, []byte("local")); err != nil {
		t.Error(err)
	}
	now = now.Add(time.Minute)
	if _, _, err := s.SessionByHash(ctx, []byte("local")); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("past its end: %v", err)
	}
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Session(ctx, local.ID); !problem.Is(err, problem.NotFound) {
		t.Errorf("the sweep leaves it: %v", err)
	}
}

// testLoginLinks: a link is good once, until it expires or another is made for the same
// member or token, and no longer than they are.
func testLoginLinks(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w, ctx := s.Workspace("one"), t.Context()
	ada, token := &store.Member{Email: "ada@example.com", Role: store.RoleEditor}, &store.Token{Name: "local", Role: store.RoleAdmin, Hash: make([]byte, 32)}
	err := w.Update(ctx, func(tx *store.Tx) error { return errors.Join(tx.AddMember(ctx, ada), tx.AddToken(ctx, token)) })
	if err != nil {
		t.Fatal(err)
	}
	put := func(hash, member, token string) {
		t.Helper()
		row := &store.LoginLink{Hash: []byte(hash), MemberID: member, TokenID: token, ExpiresAt: store.Time{Time: now.Add(time.Minute)}}
		if err := w.Update(ctx, func(tx *store.Tx) error { return tx.PutLoginLink(ctx, row) }); err != nil {
			t.Fatal(err)
		}
	}
	take := func(hash string) error {
		row, err := s.LoginLinkByHash(ctx, []byte(hash))
		if err != nil {
			return err
		}
		return s.Workspace(row.WorkspaceID).Update(ctx, func(tx *store.Tx) error { return tx.TakeLoginLink(ctx, row) })
	}
	put("a1", ada.ID, "")
	put("t1", "", token.ID)
	put("a2", ada.ID, "")
	for _, c := range []struct {
		hash string
		good bool
	}{{"a1", false}, {"a2", true}, {"a2", false}, {"t1", true}, {"none", false}} {
		if err := take(c.hash); (err == nil) != c.good || !c.good && !problem.Is(err, problem.NotFound) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	put("a3", ada.ID, "")
	put("t3", "", token.ID)
	now = now.Add(time.Minute)
	if err := take("a3"); !problem.Is(err, problem.NotFound) {
		t.Errorf("expired: %v", err)
	}
	if err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.LoginLinkByHash(ctx, []byte("t3")); !problem.Is(err, problem.NotFound) {
		t.Errorf("the sweep leaves it: %v", err)
	}
	put("a4", ada.ID, "")
	put("t4", "", token.ID)
	err = w.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.RemoveMember(ctx, ada.ID, ada.Version)
		return errors.Join(err, tx.RevokeToken(ctx, token.ID))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{"a4", "t4"} {
		if err := take(hash); !problem.Is(err, problem.NotFound) {
			t.Errorf("%s: a link outlives whom it is for: %v", hash, err)
		}
	}
}
