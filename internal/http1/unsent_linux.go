package http1

import (
	"net"

	"golang.org/x/sys/unix"
)

// unsentBytes of answers are kept in the kernel for a connection beyond those that are on
// their way to its client. The kernel would keep megabytes for each client that asks and
// does not read, in memory that this process is charged with and does not see. An
// answer that is longer is written as it is taken, which takes some 0.2 ms longer on
// loopback.
const unsentBytes = 256 << 10

// boundUnsent bounds what the kernel keeps of what is written to nc. Where it cannot, as
// on a Unix socket, all is as it was.
func boundUnsent(nc net.Conn) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentBytes)
		})
	}
}
