package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicegate/sluice/internal/filelock"
)

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	take := func(lock func(string) (func() error, error)) func() {
		t.Helper()
		unlock, err := lock(path)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := unlock(); err != nil {
				t.Error(err)
			}
		}
	}
	refused := func(lock func(string) (func() error, error)) {
		t.Helper()
		if _, err := lock(path); !errors.Is(err, filelock.ErrLocked) {
			t.Errorf("%v; want it locked", err)
		}
	}
	one := take(filelock.Exclusive)
	refused(filelock.Exclusive)
	refused(filelock.Shared)
	one()
	one, two := take(filelock.Shared), take(filelock.Shared)
	refused(filelock.Exclusive)
	one()
	refused(filelock.Exclusive)
	two()
	take(filelock.Exclusive)()

	// A fault of the file system is not a lock.
	if _, err := filelock.Exclusive(filepath.Join(path, "below-a-file")); err == nil || errors.Is(err, filelock.ErrLocked) {
		t.Errorf("%v", err)
	}
	if _, err := filelock.Exclusive(filepath.Join(t.TempDir(), "none", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
