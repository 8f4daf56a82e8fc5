package main

import (
	"fmt"
	"syscall"
)

// lockExclusive opens a file that nobody else may open meanwhile, or fails at once
// when another process has it open. The lock goes with the process.
func lockExclusive(path string) (unlock func() error, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	const share = 0 // with nobody
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, share, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() error { return syscall.CloseHandle(h) }, nil
}
