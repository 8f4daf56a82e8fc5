package sock

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// maxPiece is read or written by one system call: the collector waits for the end of one
// that the scheduler does not see, and 64 KB are copied in some microseconds.
const maxPiece = 64 << 10

// Conn is a TCP connection. Its methods may be called by several goroutines, as those of
// [net.TCPConn] may.
type Conn struct {
	*net.TCPConn
	raw syscall.RawConn
	in  half
	out half
}

// half is one direction of a connection. The function that makes the system calls is made
// once: a closure for each would be garbage.
type half struct {
	mu  sync.Mutex // held while the rest is used
	try func(fd uintptr) bool
	buf []byte
	n   int // bytes done
	err error
}

// New returns c as a connection whose system calls the scheduler does not see, and c
// itself where it is none of TCP.
func New(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c // it was closed: its next use says so
	}
	x := &Conn{TCPConn: tcp, raw: raw}
	x.in.try, x.out.try = x.in.read, x.out.write
	return x
}

// Read implements [net.Conn].
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return c.TCPConn.Read(p)
	}
	n, err := c.in.do("read", p[:min(len(p), maxPiece)], c, c.raw.Read)
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

// Write implements [net.Conn].
func (c *Conn) Write(p []byte) (int, error) {
	return c.out.do("write", p, c, c.raw.Write)
}

// do has wait call h.try with the descriptor, until it says that it is done.
func (h *half) do(op string, p []byte, c *Conn, wait func(func(uintptr) bool) error) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf, h.n, h.err = p, 0, nil
	err := wait(h.try)
	h.buf = nil
	if e, ok := errors.AsType[*net.OpError](err); ok {
		e.Op = op // "raw-read" is nothing that an operator knows
	} else if h.err != nil {
		err = &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(op, h.err)}
	}
	return h.n, err
}

// read makes one read of what is there; false: there is nothing yet.
func (h *half) read(fd uintptr) bool {
	n, errno := read(fd, h.buf)
	if errno == syscall.EAGAIN {
		return false
	}
	if h.n = n; errno != 0 {
		h.n, h.err = 0, errno
	}
	return true
}

// write writes as much as there is room for; false: some is left.
func (h *half) write(fd uintptr) bool {
	for h.n < len(h.buf) {
		n, errno := write(fd, h.buf[h.n:min(len(h.buf), h.n+maxPiece)])
		switch errno {
		case 0:
			h.n += n
		case syscall.EAGAIN:
			return false
		default:
			h.err = errno
			return true
		}
	}
	return true
}
