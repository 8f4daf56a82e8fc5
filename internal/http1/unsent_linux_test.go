package http1

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestUnsent: of what is written to a client that does not read, the kernel takes what is
// bounded for the connection and what its client holds itself, and no megabytes.
func TestUnsent(t *testing.T) {
	below, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(below, Options{HeadBytes: 4 << 10, HeadTime: time.Minute})
	t.Cleanup(func() { _ = l.Close() })
	client, err := (&net.Dialer{Control: smallWindow}).DialContext(t.Context(), "tcp", below.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	raw, err := c.(*Conn).NetConn().(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	// Write until the kernel takes no more: nothing here waits.
	taken, full := 0, false
	part := make([]byte, 4<<10)
	if err := raw.Write(func(fd uintptr) bool {
		for !full {
			n, err := unix.Write(int(fd), part)
			if full = err != nil; !full {
				taken += n
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if taken < unsentBytes || taken > 4*unsentBytes {
		t.Errorf("the kernel took %d bytes for a client that reads nothing, the bound is %d", taken, unsentBytes)
	}
	// What was taken arrives, and all that is written later.
	if n, err := io.ReadFull(client, make([]byte, taken)); err != nil {
		t.Fatalf("%d of %d bytes: %v", n, taken, err)
	}
	sent := make(chan error, 1)
	go func() { _, err := c.Write(make([]byte, 1<<20)); sent <- err }()
	if n, err := io.ReadFull(client, make([]byte, 1<<20)); err != nil {
		t.Fatalf("%d bytes: %v", n, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// smallWindow makes a client take little that it does not read.
func smallWindow(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10) }); e != nil {
		return e
	}
	return err
}
