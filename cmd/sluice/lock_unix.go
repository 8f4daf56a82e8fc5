//go:build !windows

package main

import (
	"fmt"
	"os"
	"syscall"
)

// lockExclusive takes the lock on a file, or fails at once when another process
// has it. The lock goes with the process, however it ends.
func lockExclusive(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return f.Close, nil
}
