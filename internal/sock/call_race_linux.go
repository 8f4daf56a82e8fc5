//go:build race

package sock

import (
	"errors"
	"syscall"
)

// The race detector is told by package syscall that what precedes a write happens before what
// follows the read of it, where both ends are in one process.

func read(fd uintptr, b []byte) (int, syscall.Errno) { return repeated(syscall.Read, fd, b) }

func write(fd uintptr, b []byte) (int, syscall.Errno) { return repeated(syscall.Write, fd, b) }

func repeated(call func(int, []byte) (int, error), fd uintptr, b []byte) (int, syscall.Errno) {
	watch.unseen()
	for {
		n, err := call(int(fd), b)
		errno, _ := errors.AsType[syscall.Errno](err)
		if errno != syscall.EINTR {
			return n, errno
		}
	}
}
