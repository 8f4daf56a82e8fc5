package gateway

import "golang.org/x/sys/unix"

// hungUp asks the kernel whether the peer closed its half, without touching what
// it sent before: a TLS client says goodbye first, and a pipelined request may wait.
func hungUp(fd uintptr) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}
