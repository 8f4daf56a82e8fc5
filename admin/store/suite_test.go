package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// harness opens an empty store of one database kind; the suite runs on each.
type harness struct {
	open func(t *testing.T, now func() time.Time, change ...func(*store.Options)) *store.Store
	// raw runs SQL beside the store, to inject faults and to tamper.
	raw func(t *testing.T, statement string)
	// empty makes an empty database of the same kind and returns its URL; nil: a file is.
	empty func(t *testing.T) string
	// full makes every insertion of a job fail.
	full []string
	// whole ends that.
	whole string
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	var path string
	suite(t, harness{
		full: []string{`CREATE TRIGGER full BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'disk full'); END`}, whole: `DROP TRIGGER full`,
		open: func(t *testing.T, now func() time.Time, change ...func(*store.Options)) *store.Store {
			t.Helper()
			path = filepath.Join(t.TempDir(), "a ?#%25.db")
			return openAt(t, path, now, change...)
		},
		raw: func(t *testing.T, statement string) {
			t.Helper()
			db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		},
	})
}

func openAt(t *testing.T, path string, now func() time.Time, change ...func(*store.Options)) *store.Store {
	t.Helper()
	if err := storetest.Prepare(path); err != nil {
		t.Fatal(err)
	}
	o := store.Options{Path: path, Now: now}
	for _, c := range change {
		c(&o)
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, ws := range []string{"one", "two"} {
		if err := s.EnsureWorkspace(t.Context(), ws, ws); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// suite is what every database must do.
func suite(t *testing.T, h harness) {
	f := func(name string, test func(*testing.T, harness)) {
		t.Run(name, func(t *testing.T) { test(t, h) })
	}
	f("toolset round trip", testToolset)
	f("stale writes", testStale)
	f("mistyped names", testMistyped)
	f("slugs", testSlugs)
	f("pages", testPages)
	f("isolation", testIsolation)
	f("edits and cascade", testCascade)
	f("revisions and tests", testRevisions)
	f("gathered records of a page", testGather)
	f("credentials", testCredentials)
	f("oauth tokens", testOAuthTokens)
	f("logins", testLogins)
	f("specifications and connectors", testConnectors)
	f("connectors of a toolset", testConnectorsOf)
	f("tokens", testTokens)
	f("administrators", testAdministrators)
	f("access of a toolset", testAccess)
	f("members", testMembers)
	f("join tokens", testJoinTokens)
	f("saved edges", testSavedEdges)
	f("sessions", testSessions)
	f("login links", testLoginLinks)
	f("passkeys", testPasskeys)
	f("previews", testPreviews)
	f("schedules", testSchedules)
	f("roll-outs", testTrials)
	f("figures", testFigures)
	f("marks of releases", testMarks)
	f("marks of changes", testChangeMarks)
	f("copies of drafts", testDrafts)
	f("jobs", testJobs)
	f("idempotency keys", testKeys)
	f("audit", testAudit)
	f("grants", testGrants)
	f("events", testEvents)
	f("digests", testDigests)
	f("alerts", testAlerts)
	f("alert rules", testAlertRules)
	f("callers", testCallers)
	f("times of callers", testCallerTimes)
	f("connector requests", testConnectorRequests)
	f("channels", testChannels)
	f("domains", testDomains)
	f("what the client of a certificate authority keeps", testACME)
	f("refused calls", testRefusedCalls)
	f("plugins", testPlugins)
	f("a failed transaction leaves nothing", testRollback)
	f("concurrent writers", testConcurrent)
	f("dump and load", testDump)
	f("usage", testUsage)
	f("bounds of usage", testUsageBounds)
	f("usage past its time", testUsageSweep)
	f("values are bound", testBoundValues)
	f("usage of many nodes", testUsageConcurrent)
	f("learned requests", testLearned)
	f("calls", testCalls)
	f("many calls", testManyCalls)
	f("bound of the call log", testCallRows)
}

func update(t *testing.T, w *store.Workspace, fn func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	if err := w.Update(t.Context(), func(tx *store.Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

// seed writes a connector and a toolset of it, live at revision 1.
func seed(t *testing.T, w *store.Workspace, slug string) *store.Toolset {
	t.Helper()
	ts := &store.Toolset{
		Slug: slug, Name: "Pets", Description: "d", Instructions: "i", SourceKind: "openapi", SourceURL: "https://api.example/openapi.json",
		SourceTitle: "Pets", Connector: "pets", ConnectorDigest: "sha256:c1", BaseURL: "https://api.example", Profile: "lossless",
		CacheSeconds: 5, EnabledTools: 2, DraftDigest: "sha256:d1", LiveDigest: "sha256:d1", LiveRepository: "one/toolsets/x", LiveRevision: 1,
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(
			tx.PutSpecification(ctx, &store.Specification{Digest: "sha256:s1", Name: "pets.yaml", Format: "yaml", SpecVersion: "3.1.0", Content: []byte("openapi: 3.1.0")}),
			tx.PutConnector(ctx, &store.Connector{Name: "pets", Title: "Pets", Kind: "custom", Source: "openapi"},
				&store.ConnectorVersion{Digest: "sha256:c1", Manifest: "sha256:m1", SpecDigest: "sha256:s1", Tools: 2, Report: "{}"}),
			tx.CreateToolset(ctx, ts),
		)
	})
	return ts
}

func testToolset(t *testing.T, h harness) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w := s.Workspace("one")
	ts := seed(t, w, "pets")
	if !strings.HasPrefix(ts.ID, "ts_") || ts.Version != 1 {
		t.Fatalf("created %s version %d", ts.ID, ts.Version)
	}
	got, err := w.Toolset(t.Context(), ts.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := *ts
	want.CreatedAt.Time, want.UpdatedAt.Time = now.Truncate(time.Millisecond), now.Truncate(time.Millisecond)
	if !reflect.DeepEqual(*got, want) {
		t.Fatalf("read %+v\nwant %+v", *got, want)
	}
	if bySlug, err := w.ToolsetBySlug(t.Context(), "pets"); err != nil || bySlug.ID != ts.ID {
		t.Fatalf("by slug: %v, %v", bySlug, err)
	}
	if _, err := w.Toolset(t.Context(), "ts_none"); !problem.Is(err, problem.NotFound) {
		t.Fatalf("unknown id: %v", err)
	}
	now = now.Add(time.Minute)
	got.Name, got.LiveRevision = "Other", 2
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveToolset(ctx, got) })
	again, err := w.Toolset(t.Context(), ts.ID)
	if err != nil || again.Version != 2 || got.Version != 2 || again.Name != "Other" || !again.UpdatedAt.After(again.CreatedAt.Time) {
		t.Fatalf("saved %+v, %v", again, err)
	}
	live, err := s.Live(t.Context(), "default")
	wantLive := []registry.ReleaseToolset{{ID: ts.ID, Workspace: "one", Slug: "pets", Revision: 2, Repository: "one/toolsets/x", Bundle: "sha256:d1"}}
	if err != nil || !reflect.DeepEqual(live, wantLive) {
		t.Fatalf("live: %v, %v", live, err)
	}
}

func testStale(t *testing.T, h harness) {
	w := h.open(t, nil).Workspace("one")
	ts := seed(t, w, "pets")
	a, b := *ts, *ts
	a.Name, b.Name = "A", "B"
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.SaveToolset(ctx, &a) })
	for name, fn := range map[string]func(*store.Tx) error{
		"save":   func(tx *store.Tx) error { return tx.SaveToolset(t.Context(), &b) },
		"delete": func(tx *store.Tx) error { return tx.DeleteToolset(t.Context(), ts.ID, 1) },
	} {
		if err := w.Update(t.Context(), fn); !problem.Is(err, problem.Precondition) || !errors.Is(err, store.ErrStale) {
			t.Errorf("stale %s: %v", name, err)
		}
	}
	if b.Version != 1 {
		t.Errorf("a refused save changed the record: version %d", b.Version)
	}
	if got, err := w.Toolset(t.Context(), ts.ID); err != nil || got.Name != "A" {
		t.Fatalf("after a stale save: %v, %v", got, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteToolset(ctx, ts.ID, 2) })
	if err := w.Update(t.Context(), func(tx *store.Tx) error { return tx.SaveToolset(t.Context(), &a) }); !problem.Is(err, problem.NotFound) {
		t.Errorf("save of a deleted toolset: %v", err)
	}
}

func testSlugs(t *testing.T, h harness) {
	s := h.open(t, nil)
	seed(t, s.Workspace("one"), "pets")
	other := seed(t, s.Workspace("two"), "pets2")
	err := s.Workspace("two").Update(t.Context(), func(tx *store.Tx) error {
		return tx.CreateToolset(t.Context(), &store.Toolset{Slug: "pets", Connector: "pets", ConnectorDigest: "sha256:c1"})
	})
	if !problem.Is(err, problem.Conflict) {
		t.Errorf("slug of another workspace: %v", err)
	}
	other.Slug = "pets"
	err = s.Workspace("two").Update(t.Context(), func(tx *store.Tx) error { return tx.SaveToolset(t.Context(), other) })
	if !problem.Is(err, problem.Conflict) {
		t.Errorf("renamed to a taken slug: %v", err)
	}
}

func testPages(t *testing.T, h harness) {
	w := h.open(t, nil).Workspace("one")
	var want []string
	for i := range 7 {
		want = append([]string{seed(t, w, fmt.Sprintf("pets-%d", i)).ID}, want...)
	}
	for _, limit := range []int{1, 2, 3, 7, 8} {
		var got []string
		for p := (store.Page{Limit: limit}); ; {
			rows, next, err := w.Toolsets(t.Context(), p)
			if err != nil || len(rows) > limit {
				t.Fatalf("limit %d: %d rows, %v", limit, len(rows), err)
			}
			for i := range rows {
				got = append(got, rows[i].ID)
			}
			if p.After = next; next == "" {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("limit %d: %v, want %v", limit, got, want)
		}
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		for range store.MaxLimit + 1 {
			if err := tx.AddJob(ctx, &store.Job{Kind: "k"}); err != nil {
				return err
			}
		}
		return nil
	})
	for limit, n := range map[int]int{0: store.DefaultLimit, -1: store.DefaultLimit, store.MaxLimit: store.MaxLimit, store.MaxLimit + 1: store.MaxLimit} {
		if rows, next, err := w.Jobs(t.Context(), store.Page{Limit: limit}); err != nil || len(rows) != n || next == "" {
			t.Errorf("limit %d: %d rows, next %q, %v; want %d", limit, len(rows), next, err, n)
		}
	}
}

// testIsolation gives one workspace every kind of record and asks for each of
// them, by its very key, through the handle of the other.
func testIsolation(t *testing.T, h harness) {
	s := h.open(t, nil)
	one, two := s.Workspace("one"), s.Workspace("two")
	ring := keyring(t)
	ts := seed(t, one, "pets")
	cred := &store.Credential{ToolsetID: ts.ID, Connector: "pets", AuthType: "header", Shape: "{}"}
	grant := &store.Grant{ToolsetID: ts.ID, Address: "127.0.0.1:80"}
	job, tok := &store.Job{Kind: "k"}, &store.Token{Name: "n", Role: store.RoleAdmin, Hash: bytes.Repeat([]byte{1}, 32)}
	update(t, one, func(ctx context.Context, tx *store.Tx) error {
		_, gerr := tx.AddGrant(ctx, grant)
		_, kerr := tx.BeginKey(ctx, &store.IdempotencyKey{TokenID: "t", Key: "k", Fingerprint: "f"})
		return errors.Join(gerr, kerr, tx.SealCredential(ctx, ring, cred, secrets.New("x")), tx.AddJob(ctx, job), tx.AddToken(ctx, tok),
			tx.ReplaceToolEdits(ctx, ts.ID, []store.ToolEdit{{Connector: "pets", Method: "GET", Path: "/a"}}),
			tx.AddRevision(ctx, &store.Revision{ToolsetID: ts.ID}), tx.AddTestRun(ctx, &store.TestRun{ToolsetID: ts.ID, Digest: "d"}),
			tx.Audit(ctx, &store.Audit{Action: "a"}))
	})
	ctx := t.Context()
	notFound := map[string]error{}
	_, notFound["toolset"] = two.Toolset(ctx, ts.ID)
	_, notFound["slug"] = two.ToolsetBySlug(ctx, "pets")
	_, notFound["credential"] = two.CredentialByID(ctx, cred.ID)
	_, notFound["grant"] = two.Grant(ctx, grant.ID)
	_, notFound["job"] = two.Job(ctx, job.ID)
	_, notFound["connector"] = two.Connector(ctx, "pets")
	_, notFound["version"] = two.ConnectorVersion(ctx, "pets", "sha256:c1")
	_, notFound["specification"] = two.Specification(ctx, "sha256:s1")
	for name, fn := range map[string]func(*store.Tx) error{
		"delete grant": func(tx *store.Tx) error { return tx.DeleteGrant(ctx, grant.ID) },
		"save":         func(tx *store.Tx) error { c := *ts; return tx.SaveToolset(ctx, &c) },
		"delete":       func(tx *store.Tx) error { return tx.DeleteToolset(ctx, ts.ID, ts.Version) },
		"revoke":       func(tx *store.Tx) error { return tx.RevokeToken(ctx, tok.ID) },
		"save cred":    func(tx *store.Tx) error { c := *cred; return tx.SaveCredentialShape(ctx, &c) },
		"reseal":       func(tx *store.Tx) error { c := *cred; return tx.SealCredential(ctx, ring, &c, secrets.New("y")) },
		"read in a tx": func(tx *store.Tx) error { _, err := tx.Toolset(ctx, ts.ID); return err },
	} {
		notFound[name] = two.Update(ctx, fn)
	}
	for name, err := range notFound {
		if !problem.Is(err, problem.NotFound) {
			t.Errorf("%s of another workspace: %v", name, err)
		}
	}
	count := func(name string, n int, err error) {
		t.Helper()
		if n != 0 || err != nil {
			t.Errorf("%s: the other workspace sees %d, %v", name, n, err)
		}
	}
	tss, _, err := two.Toolsets(ctx, store.Page{})
	count("toolsets", len(tss), err)
	edits, err := two.ToolEdits(ctx, ts.ID)
	count("edits", len(edits), err)
	revs, _, err := two.Revisions(ctx, ts.ID, store.Page{})
	count("revisions", len(revs), err)
	cons, _, err := two.Connectors(ctx, store.Page{})
	count("connectors", len(cons), err)
	vers, _, err := two.ConnectorVersions(ctx, "pets", store.Page{})
	count("versions", len(vers), err)
	creds, _, err := two.Credentials(ctx, store.Page{})
	count("credentials", len(creds), err)
	jobs, _, err := two.Jobs(ctx, store.Page{})
	count("jobs", len(jobs), err)
	log, _, err := two.AuditLog(ctx, store.Page{})
	count("audit", len(log), err)
	grants, err := two.Grants(ctx, "")
	count("grants", len(grants), err)
	ofToolset, err := two.CredentialsOf(ctx, ts.ID, "pets")
	count("credentials of a toolset", len(ofToolset), err)
	if r, err := two.LastTestRun(ctx, ts.ID, ""); r != nil || err != nil {
		t.Errorf("test run: %v, %v", r, err)
	}
	// Writes that name records of the other workspace change nothing of it.
	_ = two.Update(ctx, func(tx *store.Tx) error { return tx.ReplaceToolEdits(ctx, ts.ID, nil) })
	_ = two.Update(ctx, func(tx *store.Tx) error { _, err := tx.KeepCredentials(ctx, ts.ID); return err })
	_ = two.Update(ctx, func(tx *store.Tx) error { return tx.DropKey(ctx, "t", "k") })
	_ = two.Update(ctx, func(tx *store.Tx) error {
		return tx.CreateToolset(ctx, &store.Toolset{InWorkspace: store.InWorkspace{WorkspaceID: "one"}, ID: "ts_forged", Slug: "forged", Connector: "pets", ConnectorDigest: "sha256:c1"})
	})
	if _, err := one.Toolset(ctx, "ts_forged"); !problem.Is(err, problem.NotFound) {
		t.Errorf("a record was written into another workspace: %v", err)
	}
	if edits, err := one.ToolEdits(ctx, ts.ID); err != nil || len(edits) != 1 {
		t.Errorf("edits of the owner: %v, %v", edits, err)
	}
	if c, err := one.CredentialsOf(ctx, ts.ID, "pets"); err != nil || len(c) != 1 {
		t.Errorf("credential of the owner: %v, %v", c, err)
	}
	update(t, one, func(ctx context.Context, tx *store.Tx) error {
		if old, err := tx.BeginKey(ctx, &store.IdempotencyKey{TokenID: "t", Key: "k"}); err != nil || old == nil {
			t.Errorf("key of the owner: %v, %v", old, err)
		}
		return nil
	})
}

func testCascade(t *testing.T, h harness) {
	w := h.open(t, nil).Workspace("one")
	ts := seed(t, w, "pets")
	name := "list"
	edits := []store.ToolEdit{
		{Connector: "pets", Method: "POST", Path: "/b", Disabled: true},
		{Connector: "pets", Method: "GET", Path: "/a", Name: &name},
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.ReplaceToolEdits(ctx, ts.ID, edits) })
	got, err := w.ToolEdits(t.Context(), ts.ID)
	if err != nil || len(got) != 2 || *got[0].Name != "list" || got[0].Title != nil || !got[1].Disabled {
		t.Fatalf("edits: %+v, %v", got, err)
	}
	cred := &store.Credential{ToolsetID: ts.ID, Connector: "pets", AuthType: "header", Shape: "{}"}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.SealCredential(ctx, keyring(t), cred, secrets.New("x")), tx.AddRevision(ctx, &store.Revision{ToolsetID: ts.ID}))
	})
	update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteToolset(ctx, ts.ID, ts.Version) })
	if got, err := w.ToolEdits(t.Context(), ts.ID); err != nil || len(got) != 0 {
		t.Errorf("edits after delete: %v, %v", got, err)
	}
	if _, err := w.CredentialByID(t.Context(), cred.ID); !problem.Is(err, problem.NotFound) {
		t.Errorf("credential after delete: %v", err)
	}
	if revs, _, err := w.Revisions(t.Context(), ts.ID, store.Page{}); err != nil || len(revs) != 0 {
		t.Errorf("revisions after delete: %v, %v", revs, err)
	}
}

func testRevisions(t *testing.T, h harness) {
	w := h.open(t, nil).Workspace("one")
	ts := seed(t, w, "pets")
	for n := uint64(1); n <= 12; n++ {
		rev := &store.Revision{ToolsetID: ts.ID, Digest: fmt.Sprint(n)}
		update(t, w, func(ctx context.Context, tx *store.Tx) error { return tx.AddRevision(ctx, rev) })
		if rev.N != n {
			t.Fatalf("revision %d got number %d", n, rev.N)
		}
	}
	rows, next, err := w.Revisions(t.Context(), ts.ID, store.Page{Limit: 5})
	if err != nil || len(rows) != 5 || rows[0].N != 12 || next != "8" {
		t.Fatalf("page 1: %v, %q, %v", rows, next, err)
	}
	if rows, _, err = w.Revisions(t.Context(), ts.ID, store.Page{Limit: 5, After: next}); err != nil || rows[0].N != 7 {
		t.Fatalf("page 2: %v, %v", rows, err)
	}
	if _, _, err = w.Revisions(t.Context(), ts.ID, store.Page{After: "x"}); !problem.Is(err, problem.InvalidArgument) {
		t.Fatalf("foreign cursor: %v", err)
	}
	for _, c := range []struct {
		n      uint64
		digest string
		want   uint64 // 0: none
	}{{12, "12", 11}, {12, "11", 10}, {7, "x", 6}, {2, "1", 0}, {1, "x", 0}} {
		rev, err := w.LastRevisionBefore(t.Context(), ts.ID, c.n, c.digest)
		if c.want == 0 && !problem.Is(err, problem.NotFound) || c.want != 0 && (err != nil || rev.N != c.want) {
			t.Errorf("before %d, but not %s: %+v, %v", c.n, c.digest, rev, err)
		}
	}
	other := seed(t, w, "shops")
	if rev, err := w.LastRevisionBefore(t.Context(), other.ID, 99, "x"); !problem.Is(err, problem.NotFound) {
		t.Errorf("of another toolset: %+v, %v", rev, err)
	}
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		return tx.AddRevision(ctx, &store.Revision{ToolsetID: other.ID})
	})
	seen := map[string]bool{}
	for after := ""; ; {
		rows, next, err := w.Published(t.Context(), store.Page{Limit: 5, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if i > 0 && rows[i].CreatedAt.After(rows[i-1].CreatedAt.Time) {
				t.Errorf("revision %d of %s comes after an older one", rows[i].N, rows[i].ToolsetID)
			}
			seen[fmt.Sprint(rows[i].ToolsetID, rows[i].N)] = true
		}
		if after = next; next == "" {
			break
		}
	}
	if len(seen) != 13 {
		t.Errorf("%d of 13 revisions of two toolsets are listed", len(seen))
	}
	if rows, _, err := w.Published(t.Context(), store.Page{Filter: "toolsetId:" + other.ID}); err != nil || len(rows) != 1 {
		t.Errorf("revisions of one toolset: %v, %v", rows, err)
	}
	if r, err := w.LastTestRun(t.Context(), ts.ID, "d1"); r != nil || err != nil {
		t.Fatalf("no test yet: %v, %v", r, err)
	}
	for i, d := range []string{"d1", "d2", "d1"} {
		update(t, w, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddTestRun(ctx, &store.TestRun{ToolsetID: ts.ID, Digest: d, Tool: fmt.Sprint(i), Passed: i == 2, Outcome: "{}"})
		})
	}
	for digest, tool := range map[string]string{"d1": "2", "d2": "1", "": "2"} {
		if r, err := w.LastTestRun(t.Context(), ts.ID, digest); err != nil || r.Tool != tool || r.Passed != (tool == "2") {
			t.Errorf("last test of %q: %+v, %v", digest, r, err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	s := openAt(t, path, nil)
	for _, name := range []string{"s.db", "s.db-wal", "s.db-shm"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if ids, err := s.Workspaces(t.Context()); err != nil || !reflect.DeepEqual(ids, []string{"one", "two"}) {
		t.Errorf("workspaces %v, %v", ids, err)
	}
	seed(t, s.Workspace("one"), "pets")
	again := openAt(t, path, nil) // the schema is there: nothing to migrate
	if _, err := again.Workspace("one").ToolsetBySlug(t.Context(), "pets"); err != nil {
		t.Error(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), store.Options{Path: path}); !problem.Is(err, problem.Conflict) {
		t.Errorf("a newer schema: %v", err)
	}
	if _, err := store.Open(t.Context(), store.Options{}); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("no path: %v", err)
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, bytes.Repeat([]byte("not a database\n"), 200), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), store.Options{Path: text}); err == nil {
		t.Error("a text file was opened")
	}
}
