package store_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestDamagedPages: whichever table's first page is overwritten, what opening the database
// and the statements after it report is that this file is damaged, or nothing.
func TestDamagedPages(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	s, err := store.Open(ctx, store.Options{Path: good})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", good)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	roots := map[string]int64{}
	if err := db.QueryRow(`PRAGMA page_size`).Scan(&size); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"goose_db_version", "workspaces", "write_probe"} {
		var page int64
		if err := db.QueryRow(`SELECT rootpage FROM sqlite_master WHERE name = ?`, table).Scan(&page); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		roots[table] = page
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for table, page := range roots {
		b := append([]byte(nil), whole...)
		copy(b[(page-1)*size:], strings.Repeat("\xaa", 64))
		path := filepath.Join(dir, table+".db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(ctx, store.Options{Path: path})
		if err == nil {
			err = s.Explain(s.EnsureWorkspace(ctx, "default", "Default"))
			if err == nil {
				err = s.Health(ctx)
			}
			if cerr := s.Close(); cerr != nil {
				t.Errorf("%s: %v", table, cerr)
			}
		}
		if p := problem.As(err); p == nil || !strings.Contains(p.Detail, "damaged") || !strings.Contains(p.Remedy, "restore a backup") {
			t.Errorf("%s: %v", table, err)
		} else if p.Place.File != path && table != "write_probe" {
			t.Errorf("%s: the fault names the file %q", table, p.Place.File)
		}
	}
}
