package sock

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// TestReset: a connection that the peer reset reads nothing, not fewer bytes than none, and
// says what happened; so does what is written to it.
func TestReset(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := New(server)
	defer func() { _ = c.Close() }()
	if err := errors.Join(client.(*net.TCPConn).SetLinger(0), client.Close()); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 8)); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if n, err := c.Write([]byte("text")); n != 0 || !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
}
