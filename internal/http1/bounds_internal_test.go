package http1

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// halfway notes that its sending side was closed, and has nothing to read.
type halfway struct {
	stream
	ended bool
}

func (h *halfway) CloseWrite() error         { h.ended = true; return nil }
func (*halfway) Read([]byte) (int, error)    { return 0, io.EOF }
func (*halfway) SetDeadline(time.Time) error { return nil }
func (*halfway) LocalAddr() net.Addr         { return &net.UnixAddr{} }

// TestMaxLingering: so many connections are read on for a while after their answer; one
// more is closed at once, and none counts when it is closed.
func TestMaxLingering(t *testing.T) {
	for n, want := range map[int64]bool{maxLingering - 1: true, maxLingering: false} { // before this one
		l := Listen(given{make(chan net.Conn)}, Options{HeadBytes: 1 << 10, HeadTime: time.Second})
		l.lingering.Store(n)
		h := &halfway{}
		c := &Conn{Conn: h, l: l}
		c.linger.Store(true)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if h.ended != want || l.lingering.Load() != n {
			t.Errorf("%d linger: another does %v, want %v; %d after it", n, h.ended, want, l.lingering.Load())
		}
	}
}

// TestMaxRefusing: so many clients are told at a time that there is no room; others are
// closed unanswered, so that telling costs a bounded number of goroutines.
func TestMaxRefusing(t *testing.T) {
	for n, want := range map[int64]bool{maxRefusing - 1: true, maxRefusing: false} { // before this one
		l := Listen(given{make(chan net.Conn)}, Options{HeadBytes: 1 << 10, HeadTime: time.Second})
		l.refusing.Store(n)
		client, server := net.Pipe()
		l.refuse(server, Reason(""))
		b, err := io.ReadAll(client)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Fatal(err)
		}
		if got := len(b) > 0; got != want {
			t.Errorf("%d are being told: another is %v, want %v: %q", n, got, want, b)
		}
	}
}
