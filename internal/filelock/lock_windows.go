package filelock

import (
	"errors"
	"fmt"
	"syscall"
)

// errSharing is ERROR_SHARING_VIOLATION: somebody has the file open in a way that
// excludes this one.
const errSharing = syscall.Errno(32)

// Exclusive opens a file that nobody else may open meanwhile, or fails at once. The
// file is made when it does not exist. unlock is called once.
func Exclusive(path string) (unlock func() error, err error) {
	return open(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0)
}

// Shared opens a file that nobody may open exclusively meanwhile, or fails at once. The
// file is made when it does not exist. unlock is called once.
func Shared(path string) (unlock func() error, err error) {
	return open(path, syscall.GENERIC_READ, syscall.FILE_SHARE_READ)
}

func open(path string, access, share uint32) (func() error, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	h, err := syscall.CreateFile(name, access, share, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharing) {
		err = ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() error { return syscall.CloseHandle(h) }, nil
}
