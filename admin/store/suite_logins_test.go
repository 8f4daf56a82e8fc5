package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// testLogins: clients that were found, logins that are used once, and the tokens of
// callers, which open as nobody else's and go with their credential.
func testLogins(t *testing.T, h harness) {
	now := time.UnixMilli(1e12)
	st := h.open(t, func() time.Time { return now })
	w := st.Workspace("one")
	ts, ring := seed(t, w, "pets"), keyring(t)
	cred := &store.Credential{ToolsetID: ts.ID, Connector: "pets", AuthType: "oauth2", Shape: "{}"}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.SealCredential(ctx, ring, cred, secrets.Secret{})
	})
	for range 2 { // an insertion, then another version
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			return tx.SealOAuthClient(ctx, ring, cred.ID, secrets.New("client"))
		})
	}
	client, err := w.OAuthClient(t.Context(), cred.ID)
	if err != nil || client.Version != 2 {
		t.Fatalf("client %+v, %v", client, err)
	}

	login := &store.OAuthLogin{ID: "login_1", State: store.LoginPending, ExpiresAt: store.Time{Time: now.Add(time.Minute)}}
	seal := func(row *store.OAuthLogin) error {
		return w.Update(t.Context(), func(tx *store.Tx) error { return tx.SealOAuthLogin(t.Context(), ring, row, secrets.New("login")) })
	}
	if err := seal(login); err != nil {
		t.Fatal(err)
	}
	if err := seal(&store.OAuthLogin{ID: "login_1", ExpiresAt: login.ExpiresAt}); !problem.Is(err, problem.Conflict) {
		t.Errorf("a login that was used: %v", err)
	}
	stale := *login
	if err := seal(login); err != nil {
		t.Fatal(err)
	}
	if err := seal(&stale); !problem.Is(err, problem.Conflict) {
		t.Errorf("two who finish a login: %v", err)
	}
	if got, err := st.AnyOAuthLogin(t.Context(), "login_1"); err != nil || got.WorkspaceID != "one" {
		t.Errorf("login %+v, %v", got, err)
	}

	users := []*store.OAuthToken{
		{CredentialID: cred.ID, UserKey: "a", Kind: "token", Subject: "act_1", Version: 5},
		{CredentialID: cred.ID, UserKey: "b", Kind: "jwt", Issuer: "i", Subject: "s", Version: 5},
	}
	for _, u := range users {
		u.WorkspaceID = "one"
		if u.Sealed, err = ring.Seal(u.Record(), secrets.New("tokens of "+u.UserKey)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveOAuthToken(ctx, u) })
		}
	}
	if _, err := ring.Open(users[0].Record(), users[1].Sealed); err == nil {
		t.Error("the tokens of one caller open as another's")
	}
	if err := ring.Rotate(); err != nil {
		t.Fatal(err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.RewrapCredentials(ctx, ring)
		if n != 5 {
			t.Errorf("re-wrapped %d, want a secret, a client, two callers and a login", n)
		}
		return err
	})
	rows, next, err := w.UserTokens(t.Context(), cred.ID, store.Page{Limit: 1})
	if err != nil || len(rows) != 1 || next == "" || rows[0].Subject != "act_1" {
		t.Fatalf("first page %+v, %q, %v", rows, next, err)
	}
	if text, err := ring.Open(rows[0].Record(), rows[0].Sealed); err != nil || text.Reveal() != "tokens of a" {
		t.Errorf("re-wrapped: %v", err)
	}
	if other, err := st.Workspace("two").OAuthToken(t.Context(), cred.ID, "a"); other != nil || err != nil {
		t.Errorf("another workspace reads %+v, %v", other, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.DeleteTokenUser(ctx, "act_1")
		if n != 1 {
			t.Errorf("%d logins of the access token", n)
		}
		return err
	})
	now = now.Add(time.Minute)
	if _, err := st.AnyOAuthLogin(t.Context(), "login_1"); !problem.Is(err, problem.NotFound) {
		t.Errorf("a login whose time is over: %v", err)
	}
	if err := st.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.OAuthLogin(t.Context(), "login_1"); !problem.Is(err, problem.NotFound) {
		t.Errorf("a swept login: %v", err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { _, err := tx.KeepCredentials(ctx, ts.ID); return err })
	if left, err := w.OAuthToken(t.Context(), cred.ID, "b"); left != nil || err != nil {
		t.Errorf("without its credential: %+v, %v", left, err)
	}
	if left, err := w.OAuthClient(t.Context(), cred.ID); left != nil || err != nil {
		t.Errorf("without its credential: %+v, %v", left, err)
	}
}
