package store_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// BenchmarkTransaction writes a job and its audit record in one durable transaction,
// as most requests of the API do, against the same statements on database/sql with
// the same settings of SQLite.
func BenchmarkTransaction(b *testing.B) {
	b.Run("impl=baseline", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "raw.db")
		s, err := store.Open(b.Context(), store.Options{Path: path}) // the same schema
		if err != nil {
			b.Fatal(err)
		}
		if err := s.EnsureWorkspace(b.Context(), "one", "one"); err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		db.SetMaxOpenConns(1)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := rawTransaction(db, i); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("impl=sluice", func(b *testing.B) {
		s, err := store.Open(b.Context(), store.Options{Path: filepath.Join(b.TempDir(), "s.db")})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		if err := s.EnsureWorkspace(b.Context(), "one", "one"); err != nil {
			b.Fatal(err)
		}
		w := s.Workspace("one")
		b.ReportAllocs()
		for b.Loop() {
			err := w.Update(b.Context(), func(tx *store.Tx) error {
				if err := tx.AddJob(b.Context(), &store.Job{Kind: "create", Phase: "x"}); err != nil {
					return err
				}
				return tx.Audit(b.Context(), &store.Audit{Action: "toolset.create", Resource: "ts_1", After: `{"name":"x"}`})
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func rawTransaction(db *sql.DB, i int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit this does nothing
	now := time.Now().UnixMilli()
	if _, err := tx.Exec(`INSERT INTO jobs (workspace_id, id, kind, state, phase, resource, result, error, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?)`,
		"one", fmt.Sprintf("job_%026d", i), "create", "running", "x", "", "", "", now, now); err != nil {
		return err
	}
	var seq uint64
	var hash []byte
	if err := tx.QueryRow(`SELECT seq, hash FROM audit_records WHERE workspace_id = ? ORDER BY seq DESC LIMIT 1`, "one").Scan(&seq, &hash); err != nil && err != sql.ErrNoRows {
		return err
	}
	if hash == nil {
		hash = []byte{}
	}
	sum := sha256.Sum256(hash)
	if _, err := tx.Exec(`INSERT INTO audit_records (workspace_id, seq, id, at, actor_type, actor_id, actor_ip, action, resource, before_json, after_json, digest, reason, request_id, outcome, previous, hash) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		"one", seq+1, fmt.Sprintf("aud_%026d", i), now, "", "", "", "toolset.create", "ts_1", "", `{"name":"x"}`, "", "", "", "", hash, sum[:]); err != nil {
		return err
	}
	return tx.Commit()
}
