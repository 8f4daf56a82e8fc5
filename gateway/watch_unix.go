//go:build unix && !linux

package gateway

import "golang.org/x/sys/unix"

// hungUp peeks: the end of the stream is all that is left to read. A client that
// sent something after its request, as TLS ones do, is not noticed; the deadline
// of the call covers it.
func hungUp(fd uintptr) bool {
	var b [1]byte
	n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return n == 0 && err == nil || err == unix.ECONNRESET
}
