//go:build unix

package storetest

import (
	"errors"
	"testing"
)

// Postgres starts a real server for the test, without sync to disk, and returns the URL
// of its maintenance database. The server refuses to run as root, so root runs it as the
// user "postgres". The test is skipped where PostgreSQL is not installed.
func Postgres(t testing.TB) string {
	t.Helper()
	s, err := StartServer(t.Context())
	if errors.Is(err, ErrNoPostgres) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.URL("postgres")
}
