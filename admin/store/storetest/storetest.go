// Package storetest gives tests databases that are migrated already: with the race
// detector the migrations take most of the time of a short test.
package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/sluicegate/sluice/admin/store"
)

// migrated is an empty database of the newest schema, made once.
var migrated = sync.OnceValues(func() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "storetest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "empty.db")
	s, err := store.Open(context.Background(), store.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // which writes the log back into the file
		return nil, err
	}
	return os.ReadFile(path)
})

// Prepare puts an empty database of the newest schema at path, where there is none.
func Prepare(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := migrated()
	if err != nil {
		return err
	}
	return os.WriteFile(path, db, 0o600)
}
