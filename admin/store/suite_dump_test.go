package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

func dump(t *testing.T, s *store.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sortedLines: databases list rows and tables in an order of their own.
func sortedLines(b []byte) []string {
	lines := strings.Split(string(b), "\n")
	slices.Sort(lines)
	return lines
}

// testDump: a dump is loaded into an empty database of either kind, and what is
// there then is the same; what is not a whole dump is refused and leaves nothing.
func testDump(t *testing.T, h harness) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	s := h.open(t, func() time.Time { return now })
	w := s.Workspace("one")
	ts := seed(t, w, "pets")
	update(t, w, func(ctx context.Context, tx *store.Tx) error {
		join := &store.JoinToken{Name: "j ☃ \"'\\", Hash: bytes.Repeat([]byte{0xff, 0}, 16), AllWorkspaces: true}
		return errors.Join(tx.AddJoinToken(ctx, join), tx.Audit(ctx, &store.Audit{Action: "x", After: `{"a":1}`}), tx.Audit(ctx, &store.Audit{Action: "y"}))
	})
	r := &registry.UsageReport{Epoch: "E", Sequence: 1, Oldest: 1, Minute: now.Unix(), Series: []registry.UsageSeries{usageOf("one", ts.ID, "x", 7)}}
	if _, err := s.ApplyUsage(t.Context(), "n", r); err != nil {
		t.Fatal(err)
	}
	whole := dump(t, s)
	for _, name := range []string{"toolsets", "specifications", "audit_records", "usage_hours", "edge_join_tokens"} {
		if !strings.Contains(string(whole), `{"table":"`+name+`"`) {
			t.Errorf("no table %s", name)
		}
	}
	check := func(opts store.Options) {
		t.Helper()
		opts.Now = func() time.Time { return now }
		rows, err := store.Load(t.Context(), opts, bytes.NewReader(whole))
		if err != nil || rows < 10 {
			t.Fatal(rows, err)
		}
		opts.Existing = true
		back, err := store.Open(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = back.Close() }()
		if got := dump(t, back); !slices.Equal(sortedLines(got), sortedLines(whole)) {
			t.Errorf("dumped again it is\n%s\nit was\n%s", got, whole)
		}
		got, err := back.Workspace("one").Toolset(t.Context(), ts.ID)
		if err != nil || got.Slug != ts.Slug || got.LiveDigest != ts.LiveDigest {
			t.Errorf("the toolset is %+v, %v", got, err)
		}
		if n, err := back.Workspace("one").VerifyAudit(t.Context()); err != nil || n != 2 {
			t.Errorf("audit: %d, %v", n, err)
		}
		opts.Existing = false
		if _, err := store.Load(t.Context(), opts, bytes.NewReader(whole)); !problem.Is(err, problem.Conflict) {
			t.Errorf("into a database that is not empty: %v", err)
		}
	}
	check(store.Options{Path: filepath.Join(t.TempDir(), "other.db")})
	if h.empty != nil {
		check(store.Options{URL: h.empty(t)})
	}
	bad := func(text string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "bad.db")
		if _, err := store.Load(t.Context(), store.Options{Path: path}, strings.NewReader(text)); !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
	text := string(whole)
	lines := strings.SplitAfter(text, "\n")
	bad("")
	bad("{}\n")
	for _, n := range []int{len(text) / 4, len(text) / 2, len(text) - len(lines[len(lines)-2]), len(text) - 1} {
		bad(text[:n])
	}
	bad(strings.Replace(text, `"rows":`, `"rows":1`, 1))
	bad(strings.Replace(text, `"columns":["`, `"columns":["x\" --`, 1))
	bad(strings.Replace(text, `{"table":"`, `{"table":"x`, 1))
	bad(lines[0] + "[1]\n")
	newer := strings.Replace(text, `"schema":`, `"schema":9`, 1)
	if _, err := store.Load(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "new.db")}, strings.NewReader(newer)); !problem.Is(err, problem.Conflict) {
		t.Errorf("of a newer program: %v", err)
	}
}

// TestExisting: a database is looked at and not made or migrated.
func TestExisting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.db")
	if _, err := store.Open(t.Context(), store.Options{Path: path, Existing: true}); !problem.Is(err, problem.NotFound) {
		t.Errorf("one that is not there: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), store.Options{Path: path, Existing: true}); !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), "schema 0") {
		t.Errorf("one without a schema: %v", err)
	}
	openAt(t, path, time.Now)
	s, err := store.Open(t.Context(), store.Options{Path: path, Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

// TestBeforeRelease: databases and backups of versions before the first release are
// refused with what to do, and nothing is made or changed.
func TestBeforeRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))`,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1), (1, 1), (143, 1)`, `CREATE TABLE workspaces (id TEXT)`,
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string, err error, wants ...string) {
		t.Helper()
		p := problem.As(err)
		if p == nil || p.Kind != problem.Conflict {
			t.Fatalf("%s: %v", what, err)
		}
		for _, want := range append(wants, "before the first release", "sluice export", "new data directory", "sluice import") {
			if !strings.Contains(p.Detail+p.Remedy, want) {
				t.Errorf("%s: %q, %q do not say %q", what, p.Detail, p.Remedy, want)
			}
		}
	}
	for _, existing := range []bool{false, true} {
		_, err := store.Open(t.Context(), store.Options{Path: path, Existing: existing})
		refused("a database", err, "schema 143")
	}
	tables := 0
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'`).Scan(&tables); err != nil || tables != 2 {
		t.Errorf("the old database has %d tables, %v", tables, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "new.db")
	_, err = store.Load(t.Context(), store.Options{Path: empty}, strings.NewReader(`{"format":"sluice-records","version":1,"schema":86}`+"\n"+`{"end":true,"rows":0}`+"\n"))
	refused("a backup", err, "schema 86", "restore it with the old version")
	if _, err := os.Stat(empty); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused backup made a database: %v", err)
	}
}
