//go:build !race

package sock

import (
	"syscall"
	"unsafe"
)

func read(fd uintptr, b []byte) (int, syscall.Errno) { return transfer(syscall.SYS_READ, fd, b) }

func write(fd uintptr, b []byte) (int, syscall.Errno) { return transfer(syscall.SYS_WRITE, fd, b) }

// transfer makes the system call for b, which is not empty. The descriptor is one of those
// of package net, which never block.
func transfer(call, fd uintptr, b []byte) (int, syscall.Errno) {
	for {
		var n uintptr
		var errno syscall.Errno
		if watch.unseen() {
			n, _, errno = syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))) //nolint:gosec // b lives until the call returns, as package unsafe says of this form
		} else {
			n, _, errno = syscall.Syscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))) //nolint:gosec // as above
		}
		if errno != syscall.EINTR {
			return int(n), errno
		}
	}
}
