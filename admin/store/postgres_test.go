//go:build unix

package store_test

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestPostgreSQL runs the suite on a real server, with a database for each test.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	admin := storetest.Postgres(t)
	exec := func(t *testing.T, url, statement string) {
		t.Helper()
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	n, current := 0, ""
	create := func(t *testing.T, options string) string {
		t.Helper()
		n++
		name := "test" + strconv.Itoa(n)
		exec(t, admin, "CREATE DATABASE "+name+options)
		return admin[:len(admin)-len("postgres?sslmode=disable")] + name + "?sslmode=disable"
	}
	empty := func(t *testing.T) string { t.Helper(); return create(t, "") }
	// Most of the time of a test would go into migrations: they are made once, in the
	// database that the others are copies of.
	ready := empty(t)
	made, err := store.Open(t.Context(), store.Options{URL: ready})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	suite(t, harness{
		empty: empty,
		full: []string{
			`CREATE FUNCTION disk_full() RETURNS trigger AS $$ BEGIN RAISE 'disk full'; END $$ LANGUAGE plpgsql`,
			`CREATE TRIGGER disk_full BEFORE INSERT ON jobs EXECUTE FUNCTION disk_full()`,
		},
		whole: `DROP TRIGGER disk_full ON jobs`,
		open: func(t *testing.T, now func() time.Time, change ...func(*store.Options)) *store.Store {
			t.Helper()
			current = create(t, " TEMPLATE test1")
			o := store.Options{URL: current, Now: now}
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
		},
		raw: func(t *testing.T, statement string) { t.Helper(); exec(t, current, statement) },
	})
}

// TestPostgreSQLStandby: a server that only reads is named at the start.
func TestPostgreSQLStandby(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	made, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = store.Open(t.Context(), store.Options{URL: url + "&default_transaction_read_only=on", Claim: true})
	if p := problem.As(err); p == nil || p.Kind != problem.Unavailable || !strings.HasPrefix(p.Place.File, "127.0.0.1:") || !strings.Contains(p.Detail, "read-only") || !strings.Contains(p.Remedy, "primary") {
		t.Errorf("%v", err)
	}
}

// TestPostgreSQLFull: the row of the probe takes no more room than before, so a full disk of the
// server is known from other statements. It is told for half a minute.
func TestPostgreSQLFull(t *testing.T) {
	t.Parallel()
	now := time.Now()
	url := storetest.Postgres(t)
	s, err := store.Open(t.Context(), store.Options{URL: url, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), `CREATE FUNCTION disk_full() RETURNS trigger AS $$ BEGIN RAISE 'no space' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql;
		CREATE TRIGGER disk_full BEFORE INSERT ON workspaces EXECUTE FUNCTION disk_full()`); err != nil {
		t.Fatal(err)
	}
	if err := s.Health(t.Context()); err != nil {
		t.Fatalf("before any statement met it: %v", err)
	}
	if err := s.EnsureWorkspace(t.Context(), "one", "one"); !problem.Is(store.Fault(err), problem.Unavailable) {
		t.Fatalf("%v", err)
	}
	for after, full := range map[time.Duration]bool{0: true, 29 * time.Second: true, 30 * time.Second: false} {
		began := now
		now = now.Add(after)
		if err := s.Health(t.Context()); (err != nil) != full || full && !strings.Contains(err.Error(), "disk of the database server is full") {
			t.Errorf("after %s: %v", after, err)
		}
		now = began
	}
}

func TestPostgreSQLUnreachable(t *testing.T) {
	for _, url := range []string{"postgres://sluice:hunter2@127.0.0.1:1/x?sslmode=disable&connect_timeout=2", "postgres://u:hunter2@[::bad/"} {
		_, err := store.Open(t.Context(), store.Options{URL: url})
		p := problem.As(err)
		if p == nil || p.Remedy == "" {
			t.Fatalf("%v", err)
		}
		if p.Kind == problem.Unavailable && p.Place.File != "127.0.0.1:1" {
			t.Errorf("the error does not say which server: %v", err)
		}
		if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, "hunter2") {
			t.Errorf("the error shows the password: %s", text)
		}
	}
}
