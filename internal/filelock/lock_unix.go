//go:build !windows

package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Exclusive takes the lock on a file that nobody else may hold, or fails at once. The
// file is made with mode 0600 when it does not exist. unlock is called once.
func Exclusive(path string) (unlock func() error, err error) { return lock(path, syscall.LOCK_EX) }

// Shared takes the lock on a file together with others that share it, or fails at once
// when somebody holds it exclusively. The file is made with mode 0600 when it does not
// exist. unlock is called once.
func Shared(path string) (unlock func() error, err error) { return lock(path, syscall.LOCK_SH) }

func lock(path string, how int) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, os.ErrPermission) {
		// A file that is there can be locked without writing to it.
		if r, rerr := os.Open(path); rerr == nil {
			f, err = r, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing is locked
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return f.Close, nil
}
