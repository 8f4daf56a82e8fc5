package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"modernc.org/sqlite" // registers the driver "sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/sluicegate/sluice/admin/store/bound"
	"github.com/sluicegate/sluice/internal/problem"
)

// sqlitePragmas are set on every connection. synchronous=FULL is the promise of
// this package: with NORMAL a power cut loses the last commits (269 to 397 of
// them when it was measured), with FULL none.
const sqlitePragmas = "_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate"

// sqliteReaders is how many reads run at once. More would only compete for the
// same page cache.
const sqliteReaders = 4

// sqliteDialect keeps what bun knows of the rows of each table: it depends on their types
// only, and reading those for every database took as long as opening it.
var sqliteDialect = bound.SQLite{Dialect: sqlitedialect.New()}

func (s *Store) openSQLite(path string) error {
	// SQLite gives its -wal and -shm files the mode of the database file.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // the operator names the file
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	// In an SQLite URI these characters end the path or begin an escape.
	dsn := "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) + "?" + sqlitePragmas
	write, err := bound.Open("sqlite", dsn, '?')
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	write.SetMaxOpenConns(1)
	read, err := bound.Open("sqlite", dsn+"&_pragma=query_only(1)", '?')
	if err != nil {
		return errors.Join(fmt.Errorf("opening the database: %w", err), write.Close())
	}
	read.SetMaxOpenConns(sqliteReaders)
	s.write, s.read = bun.NewDB(write, sqliteDialect), bun.NewDB(read, sqliteDialect)
	return nil
}

// isUnique reports whether err is a violated UNIQUE or PRIMARY KEY constraint.
func isUnique(err error) bool {
	if isUniquePostgres(err) {
		return true
	}
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlitelib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlitelib.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// Check looks at the database itself: an SQLite file is read whole. It fails with
// [problem.Conflict] when it is damaged.
func (s *Store) Check(ctx context.Context) error {
	if s.postgres {
		return s.Ping(ctx) // a server looks after its own files
	}
	var result string
	if err := s.read.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return fmt.Errorf("checking the database: %w", err)
	}
	if result != "ok" {
		return problem.New(problem.Conflict, "the database is damaged: %.200s", result).Fix("restore a backup; the disk may be failing")
	}
	return nil
}
