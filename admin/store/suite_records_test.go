package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

func keyring(t *testing.T) *secrets.Keyring {
	t.Helper()
	k, err := secrets.OpenFile(filepath.Join(t.TempDir(), "k"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func testCredentials(t *testing.T, h harness) {
	w := h.open(t, nil).Workspace("one")
	ts, ring := seed(t, w, "pets"), keyring(t)
	cred := &store.Credential{ToolsetID: ts.ID, Connector: "pets", AuthType: "header", Shape: `{"headerName":"X"}`, Last4: "abcd"}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.SealCredential(ctx, ring, cred, secrets.New("first"))
	})
	first := bytes.Clone(cred.Sealed)
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.SealCredential(ctx, ring, cred, secrets.New("second"))
	})
	rows, err := w.CredentialsOf(t.Context(), ts.ID, "pets")
	if err != nil || len(rows) != 1 || rows[0].Version != 2 {
		t.Fatalf("read %+v, %v", rows, err)
	}
	got := &rows[0]
	if s, err := ring.Open(got.Record(), got.Sealed); err != nil || s.Reveal() != "second" {
		t.Fatalf("opened %v", err)
	}
	if _, err := ring.Open(got.Record(), first); !errors.Is(err, secrets.ErrSealed) {
		t.Fatalf("an old value opens as the new version: %v", err)
	}
	oldID := ring.Current()
	if err := ring.Rotate(); err != nil {
		t.Fatal(err)
	}
	for want := range []int{1, 0} {
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.RewrapCredentials(ctx, ring)
			if n != 1-want {
				t.Errorf("pass %d re-wrapped %d", want, n)
			}
			return err
		})
	}
	if err := ring.Retire(); err != nil {
		t.Fatal(err)
	}
	if rows, err = w.CredentialsOf(t.Context(), ts.ID, "pets"); err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	got = &rows[0]
	if s, err := ring.Open(got.Record(), got.Sealed); err != nil || s.Reveal() != "second" || got.Version != 2 {
		t.Fatalf("after rotation from %s: %v", oldID, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		ok, err := tx.KeepCredentials(ctx, ts.ID)
		again, err2 := tx.KeepCredentials(ctx, ts.ID)
		if ok != 1 || again != 0 {
			t.Errorf("deleted %v, %v", ok, again)
		}
		return errors.Join(err, err2)
	})
}

// testOAuthTokens: tokens belong to a credential, go with it, and stay readable
// when the key-encryption key changes.
func testOAuthTokens(t *testing.T, h harness) {
	st := h.open(t, nil)
	w := st.Workspace("one")
	ts, ring := seed(t, w, "pets"), keyring(t)
	creds := []*store.Credential{
		{ToolsetID: ts.ID, Connector: "pets", Position: 1, AuthType: "oauth2", Shape: "{}"},
		{ToolsetID: ts.ID, Connector: "pets", Position: 0, AuthType: "oidc", Shape: "{}"},
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.SealCredential(ctx, ring, creds[0], secrets.Secret{}), tx.SealCredential(ctx, ring, creds[1], secrets.New("s")))
	})
	rows, err := w.CredentialsOf(t.Context(), ts.ID, "pets")
	if err != nil || len(rows) != 2 || rows[0].ID != creds[1].ID || rows[1].ID != creds[0].ID {
		t.Fatalf("the list is %+v, %v", rows, err)
	}
	id := creds[0].ID
	if tok, err := w.OAuthToken(t.Context(), id, ""); tok != nil || err != nil {
		t.Fatalf("before the first: %v, %v", tok, err)
	}
	tok := &store.OAuthToken{CredentialID: id, Version: 7, ExpiresAt: store.Time{Time: time.UnixMilli(1000)}}
	tok.WorkspaceID = "one"
	if tok.Sealed, err = ring.Seal(tok.Record(), secrets.New("kept")); err != nil {
		t.Fatal(err)
	}
	login := &store.OAuthLogin{ID: "login_1", Purpose: store.LoginCredential, CredentialID: id, ExpiresAt: store.Time{Time: time.UnixMilli(5)}}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.SealOAuthLogin(ctx, ring, login, secrets.New("kept"))
	})
	for range 2 { // an insertion, then an update
		update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveOAuthToken(ctx, tok) })
	}
	f := func(ms int64, want int) {
		t.Helper()
		if got, err := st.ExpiringTokens(t.Context(), time.UnixMilli(ms), 10); err != nil || len(got) != want {
			t.Fatalf("before %d ms %d tokens expire, want %d (%v)", ms, len(got), want, err)
		}
	}
	f(1000, 0)
	f(1001, 1)
	if err := ring.Rotate(); err != nil {
		t.Fatal(err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.RewrapCredentials(ctx, ring)
		if n != 4 {
			t.Errorf("re-wrapped %d, want two secrets, tokens and a login", n)
		}
		return err
	})
	if err := ring.Retire(); err != nil {
		t.Fatal(err)
	}
	got, err := w.OAuthToken(t.Context(), id, "")
	if err != nil || got.Version != 7 {
		t.Fatalf("read %+v, %v", got, err)
	}
	if err := st.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	over, err := w.CredentialLogin(t.Context(), id)
	if err != nil || over == nil {
		t.Fatalf("a login that never came back was forgotten: %v", err)
	}
	for _, v := range []struct {
		sealed []byte
		rec    secrets.Record
	}{{got.Sealed, got.Record()}, {over.Sealed, over.Record()}} {
		if s, err := ring.Open(v.rec, v.sealed); err != nil || s.Reveal() != "kept" {
			t.Fatalf("%s does not open: %v", v.rec.Key, err)
		}
	}
	if tok, err := st.Workspace("two").OAuthToken(t.Context(), id, ""); tok != nil || err != nil {
		t.Fatalf("another workspace reads it: %v, %v", tok, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.KeepCredentials(ctx, ts.ID, creds[1].ID)
		if n != 1 {
			t.Errorf("removed %d, want 1", n)
		}
		return err
	})
	if tok, err := w.OAuthToken(t.Context(), id, ""); tok != nil || err != nil {
		t.Fatalf("the tokens outlive their credential: %v, %v", tok, err)
	}
	if l, err := w.CredentialLogin(t.Context(), id); l != nil || err != nil {
		t.Fatalf("the login outlives its credential: %v, %v", l, err)
	}
}

func testConnectors(t *testing.T, h harness) {
	w := h.open(t, nil).Workspace("one")
	seed(t, w, "pets")
	spec, err := w.Specification(t.Context(), "sha256:s1")
	if err != nil || string(spec.Content) != "openapi: 3.1.0" || spec.SizeBytes != 14 {
		t.Fatalf("specification %+v, %v", spec, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(
			// The digest names the content: a second write of it changes nothing.
			tx.PutSpecification(ctx, &store.Specification{Digest: "sha256:s1", Content: []byte("other")}),
			tx.PutSpecification(ctx, &store.Specification{Digest: "sha256:s2", Content: []byte("v2")}),
			tx.PutConnector(ctx, &store.Connector{Name: "pets", Title: "Pets 2", Kind: "custom", Source: "openapi"},
				&store.ConnectorVersion{Digest: "sha256:c2", SpecDigest: "sha256:s2"}),
			tx.PutConnector(ctx, &store.Connector{Name: "pets", Title: "Pets 3"},
				&store.ConnectorVersion{Digest: "sha256:c1", SpecDigest: "sha256:s2", Version: "forged"}))
	})
	if spec, err = w.Specification(t.Context(), "sha256:s1"); err != nil || string(spec.Content) != "openapi: 3.1.0" {
		t.Errorf("overwritten specification: %+v, %v", spec, err)
	}
	c, err := w.Connector(t.Context(), "pets")
	if err != nil || c.Title != "Pets 3" || c.LatestDigest != "sha256:c1" || c.Kind != "custom" {
		t.Errorf("connector %+v, %v", c, err)
	}
	if v, err := w.ConnectorVersion(t.Context(), "pets", "sha256:c1"); err != nil || v.Version != "" || v.SpecDigest != "sha256:s1" {
		t.Errorf("overwritten version: %+v, %v", v, err)
	}
	if vs, next, err := w.ConnectorVersions(t.Context(), "pets", store.Page{Limit: 1}); err != nil || len(vs) != 1 || next != "sha256:c1" {
		t.Errorf("versions %v, %q, %v", vs, next, err)
	}
	err = w.Update(t.Context(), func(tx *store.Tx) error {
		return tx.PutSpecification(t.Context(), &store.Specification{Digest: "sha256:big", Content: make([]byte, store.MaxSpecificationBytes+1)})
	})
	if !problem.Is(err, problem.TooLarge) {
		t.Errorf("one byte past the bound: %v", err)
	}
}

func testTokens(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	hash := bytes.Repeat([]byte{7}, 32)
	tok := &store.Token{Name: "cli", Role: store.RoleAdmin, Hash: hash, ExpiresAt: store.Time{Time: now.Add(time.Hour)}}
	update(t, s.Workspace("two"), func(ctx context.Context, tx *store.Tx) error { return tx.AddToken(ctx, tok) })
	err := s.Workspace("one").Update(t.Context(), func(tx *store.Tx) error {
		return tx.AddToken(t.Context(), &store.Token{Hash: hash})
	})
	if !problem.Is(err, problem.Conflict) {
		t.Errorf("same token in another workspace: %v", err)
	}
	if err := s.Workspace("one").Update(t.Context(), func(tx *store.Tx) error {
		return tx.AddToken(t.Context(), &store.Token{Hash: hash[:31]})
	}); err == nil {
		t.Error("a short hash was stored")
	}
	f := func(when string, hash []byte, ok bool) {
		t.Helper()
		got, err := s.TokenByHash(t.Context(), hash)
		if ok && (err != nil || got.WorkspaceID != "two" || got.ID != tok.ID) || !ok && !problem.Is(err, problem.Unauthenticated) {
			t.Errorf("%s: %+v, %v", when, got, err)
		}
	}
	f("valid", hash, true)
	f("unknown", bytes.Repeat([]byte{8}, 32), false)
	now = now.Add(time.Hour - time.Nanosecond)
	f("last moment", hash, true)
	now = now.Add(time.Nanosecond)
	f("expired", hash, false)
	now = now.Add(-time.Minute)
	update(t, s.Workspace("two"), func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, tok.ID) })
	f("revoked", hash, false)
}

func testJobs(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w := s.Workspace("one")
	a, b := &store.Job{Kind: "toolset.create"}, &store.Job{Kind: "toolset.create"}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.AddJob(ctx, a), tx.AddJob(ctx, b))
	})
	a.State, a.Result, a.Resource = store.JobSucceeded, `{"x":1}`, "/v1/toolsets/ts_1"
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveJob(ctx, a) })
	a.State = store.JobFailed
	if err := w.Update(t.Context(), func(tx *store.Tx) error { return tx.SaveJob(t.Context(), a) }); !problem.Is(err, problem.Conflict) {
		t.Errorf("an ended job was written: %v", err)
	}
	if n, err := s.Recover(t.Context(), `{"code":"unavailable"}`); err != nil || n != 1 {
		t.Fatalf("Recover = %d, %v", n, err)
	}
	if got, err := w.Job(t.Context(), b.ID); err != nil || got.State != store.JobFailed || got.Error == "" {
		t.Errorf("left behind: %+v, %v", got, err)
	}
	if got, err := w.Job(t.Context(), a.ID); err != nil || got.State != store.JobSucceeded || got.Result != `{"x":1}` {
		t.Errorf("finished before: %+v, %v", got, err)
	}
	now = now.Add(7 * 24 * time.Hour)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, _, err := w.Jobs(t.Context(), store.Page{}); err != nil || len(rows) != 2 {
		t.Errorf("swept at the limit: %v, %v", rows, err)
	}
	now = now.Add(time.Millisecond)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, _, err := w.Jobs(t.Context(), store.Page{}); err != nil || len(rows) != 0 {
		t.Errorf("not swept: %v, %v", rows, err)
	}
}

func testKeys(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w := s.Workspace("one")
	begin := func() (old *store.IdempotencyKey) {
		update(t, w, func(ctx context.Context, tx *store.Tx) (err error) {
			old, err = tx.BeginKey(ctx, &store.IdempotencyKey{TokenID: "tok", Key: "k", Fingerprint: "f1"})
			return err
		})
		return old
	}
	if begin() != nil {
		t.Fatal("a new key is taken")
	}
	if old := begin(); old == nil || old.State != store.KeyRunning || old.Fingerprint != "f1" {
		t.Fatalf("while it runs: %+v", old)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.EndKey(ctx, &store.IdempotencyKey{TokenID: "tok", Key: "k", Status: 201, Sealed: []byte("done")})
	})
	if old := begin(); old == nil || old.State != store.KeyDone || old.Status != 201 || string(old.Sealed) != "done" || old.Fingerprint != "f1" {
		t.Fatalf("after it ended: %+v", old)
	}
	now = now.Add(store.IdempotencyTTL - time.Millisecond)
	if begin() == nil {
		t.Fatal("forgotten before its time")
	}
	now = now.Add(time.Millisecond)
	if begin() != nil {
		t.Fatal("kept past its time")
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.DropKey(ctx, "tok", "k") })
	if begin() != nil {
		t.Fatal("a freed key is taken")
	}
	if _, err := s.Recover(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if begin() != nil {
		t.Fatal("a key of a dead process is taken")
	}
}

func testAudit(t *testing.T, h harness) {
	w := h.open(t, nil).Workspace("one")
	for i := range 5 {
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(
				tx.Audit(ctx, &store.Audit{ActorType: "token", ActorID: "tok_1", Action: fmt.Sprintf("a%d", i), Reason: "because", After: `{"x":1}`}),
				tx.Audit(ctx, &store.Audit{Action: fmt.Sprintf("b%d", i)}))
		})
	}
	if n, err := w.VerifyAudit(t.Context()); err != nil || n != 10 {
		t.Fatalf("VerifyAudit = %d, %v", n, err)
	}
	rows, next, err := w.AuditLog(t.Context(), store.Page{Limit: 3})
	if err != nil || rows[0].Action != "b4" || rows[2].Seq != 8 {
		t.Fatalf("newest first: %+v, %v", rows, err)
	}
	if rows, _, err = w.AuditLog(t.Context(), store.Page{Limit: 3, After: next}); err != nil || rows[0].Seq != 7 {
		t.Fatalf("second page: %+v, %v", rows, err)
	}
	for name, tamper := range map[string]struct{ do, undo string }{
		"changed":  {`UPDATE audit_records SET reason = 'other' WHERE seq = 5`, `UPDATE audit_records SET reason = 'because' WHERE seq = 5`},
		"removed":  {`UPDATE audit_records SET seq = 60 WHERE seq = 6`, `UPDATE audit_records SET seq = 6 WHERE seq = 60`},
		"actor":    {`UPDATE audit_records SET actor_id = 'tok_2' WHERE seq = 3`, `UPDATE audit_records SET actor_id = 'tok_1' WHERE seq = 3`},
		"appended": {`INSERT INTO audit_records SELECT workspace_id, 11, 'aud_x', at, actor_type, actor_id, actor_ip, action, resource, before_json, after_json, digest, reason, request_id, outcome, hash, hash FROM audit_records WHERE seq = 10`, `DELETE FROM audit_records WHERE seq = 11`},
	} {
		h.raw(t, tamper.do)
		if _, err := w.VerifyAudit(t.Context()); !problem.Is(err, problem.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
		h.raw(t, tamper.undo)
		if _, err := w.VerifyAudit(t.Context()); err != nil {
			t.Fatalf("%s undone: %v", name, err)
		}
	}
}

func testGrants(t *testing.T, h harness) {
	w := h.open(t, nil).Workspace("one")
	pets, shop := seed(t, w, "pets"), seed(t, w, "shop")
	ids := map[string]bool{}
	for i, want := range []bool{true, false, true} {
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			row := &store.Grant{ToolsetID: []string{pets.ID, pets.ID, shop.ID}[i], Address: "127.0.0.1:9000", Host: "localhost", Reason: "named on run"}
			added, err := tx.AddGrant(ctx, row)
			if added != want {
				t.Errorf("AddGrant = %v, want %v", added, want)
			}
			ids[row.ID] = true
			return err
		})
	}
	if len(ids) != 2 {
		t.Errorf("ids %v: the grant that was there must be named", ids)
	}
	list := func(toolset string, n int) []store.Grant {
		t.Helper()
		rows, err := w.Grants(t.Context(), toolset)
		if err != nil || len(rows) != n {
			t.Fatalf("grants of %q: %v, %v; want %d", toolset, rows, err, n)
		}
		return rows
	}
	list("", 2)
	g := list(pets.ID, 1)[0]
	if got, err := w.Grant(t.Context(), g.ID); err != nil || got.Host != "localhost" || got.Reason != "named on run" {
		t.Errorf("Grant = %+v, %v", got, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteGrant(ctx, g.ID) })
	if _, err := w.Grant(t.Context(), g.ID); !problem.Is(err, problem.NotFound) {
		t.Errorf("a deleted grant: %v", err)
	}
	for i := range store.MaxGrants {
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AddGrant(ctx, &store.Grant{ToolsetID: pets.ID, Address: fmt.Sprintf("10.0.0.1:%d", i+1)})
			return err
		})
	}
	err := w.Update(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.AddGrant(t.Context(), &store.Grant{ToolsetID: pets.ID, Address: "10.0.0.2:80"}); !problem.Is(err, problem.Conflict) {
			t.Errorf("one grant beyond the most: %v", err)
		}
		return tx.DeleteToolset(t.Context(), pets.ID, pets.Version)
	})
	if err != nil {
		t.Fatal(err)
	}
	list("", 1) // they end with their toolset
}

func testRollback(t *testing.T, h harness) {
	s := h.open(t, nil)
	w := s.Workspace("one")
	ts := seed(t, w, "pets")
	boom := errors.New("boom")
	write := func(tx *store.Tx) error {
		ctx := t.Context()
		c := *ts
		c.Name = "changed"
		return errors.Join(tx.SaveToolset(ctx, &c), tx.Audit(ctx, &store.Audit{Action: "x"}), tx.AddJob(ctx, &store.Job{Kind: "x"}),
			tx.CreateToolset(ctx, &store.Toolset{Slug: "other", Connector: "pets", ConnectorDigest: "sha256:c1"}))
	}
	check := func(name string) {
		t.Helper()
		got, err := w.Toolset(t.Context(), ts.ID)
		log, _, err2 := w.AuditLog(t.Context(), store.Page{})
		jobs, _, err3 := w.Jobs(t.Context(), store.Page{})
		_, err4 := w.ToolsetBySlug(t.Context(), "other")
		if err := errors.Join(err, err2, err3); err != nil || got.Name != "Pets" || len(log)+len(jobs) != 0 || !problem.Is(err4, problem.NotFound) {
			t.Fatalf("%s left something behind: %+v, %d, %d, %v, %v", name, got, len(log), len(jobs), err4, err)
		}
	}
	if err := w.Update(t.Context(), func(tx *store.Tx) error { return errors.Join(write(tx), boom) }); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	check("an error")
	func() {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("the panic became %v", v)
			}
		}()
		_ = w.Update(t.Context(), func(tx *store.Tx) error { _ = write(tx); panic("boom") })
	}()
	check("a panic")
	ctx, cancel := context.WithCancel(t.Context())
	if err := w.Update(ctx, func(tx *store.Tx) error { err := write(tx); cancel(); return err }); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	check("a cancelled context")
	for _, statement := range h.full {
		h.raw(t, statement)
	}
	if err := w.Update(t.Context(), write); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Fatalf("a database fault: %v", err)
	}
	check("a database fault")
	h.raw(t, h.whole)
	if err := w.Update(t.Context(), write); err != nil { // control: the same writes work
		t.Fatal(err)
	}
}

func testConcurrent(t *testing.T, h harness) {
	s := h.open(t, nil)
	w := s.Workspace("one")
	ts := seed(t, w, "pets")
	const writers, each = 8, 15
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < each; {
				cur, err := w.Toolset(t.Context(), ts.ID)
				if err != nil {
					t.Error(err)
					return
				}
				cur.CacheSeconds++
				err = w.Update(t.Context(), func(tx *store.Tx) error {
					return errors.Join(tx.SaveToolset(t.Context(), cur), tx.Audit(t.Context(), &store.Audit{Action: "inc"}))
				})
				switch {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrStale):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	got, err := w.Toolset(t.Context(), ts.ID)
	if err != nil || got.CacheSeconds != ts.CacheSeconds+writers*each || got.Version != 1+writers*each {
		t.Fatalf("lost updates: %+v, %v", got, err)
	}
	if n, err := w.VerifyAudit(t.Context()); err != nil || n != writers*each {
		t.Fatalf("audit: %d, %v", n, err)
	}
}

// testBoundValues: text that means something in SQL, or to what binds it, is stored as
// it is, and finds what it names and nothing else.
func testBoundValues(t *testing.T, h harness) {
	s := h.open(t, nil)
	w := s.Workspace("one")
	values := []string{
		"", "'", "''", `\`, `\'`, "'; DELETE FROM audit_records; --", "$1", "?1", "?", "?0", "%s", "/* */", "\x01", "\x01s\x01", "\x01bAA==\x01",
		"\r\n\t", "\x7f", "E'\\x00'", "\u2028", "\U0001F600", "NULL", strings.Repeat("'", 70000),
	}
	hash := func(v string) []byte {
		sum := sha256.Sum256([]byte(v))
		return sum[:]
	}
	for _, v := range values {
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.AddToken(ctx, &store.Token{Name: v, Role: store.RoleViewer, Hash: hash(v)}); err != nil {
				return err
			}
			return tx.Audit(ctx, &store.Audit{ActorType: "token", Action: "x.y", Before: v, Reason: v, Outcome: "ok"})
		})
	}
	for _, v := range values {
		row, err := s.TokenByHash(t.Context(), hash(v))
		if err != nil || row.Name != v {
			t.Errorf("%.40q came back as %+v, %v", v, row, err)
		}
		if _, err := w.Toolset(t.Context(), v); !problem.Is(err, problem.NotFound) {
			t.Errorf("a toolset named %.40q: %v", v, err)
		}
	}
	rows, _, err := w.AuditLog(t.Context(), store.Page{Limit: store.MaxLimit})
	if err != nil || len(rows) != len(values) {
		t.Fatalf("%d records, %v", len(rows), err)
	}
	for i := range rows {
		if want := values[len(values)-1-i]; rows[i].Before != want || rows[i].Reason != want {
			t.Errorf("record %d has %.40q, want %.40q", i, rows[i].Before, want)
		}
	}
	if n, err := w.VerifyAudit(t.Context()); err != nil || n != uint64(len(values)) {
		t.Errorf("%d records, %v", n, err)
	}
}
