//go:build linux || darwin

package sock

import (
	"net"
	"syscall"
)

// Quiet reports that nothing has come on a connection that was not read: neither bytes nor
// its end. It does not wait. c is a TCP connection or, as of package tls, has one in it; any
// other one is quiet, and all are on systems other than Linux and macOS.
func Quiet(c net.Conn) bool {
	for {
		in, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = in.NetConn()
	}
	of, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return false // it is closed
	}
	quiet := false
	err = raw.Control(func(fd uintptr) {
		_, _, errno := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errno == syscall.EAGAIN || errno == syscall.EINTR
	})
	return err == nil && quiet
}
