package claim

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endAfter has the kernel end a connection whose sent bytes are not confirmed for d.
func endAfter(fd uintptr, d time.Duration) error {
	return os.NewSyscallError("setsockopt", syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds())))
}
