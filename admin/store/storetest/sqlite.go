package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Exec runs statements on an SQLite database that another one may have open.
func Exec(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, execErr := db.ExecContext(t.Context(), s); execErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", s, execErr))
		}
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
