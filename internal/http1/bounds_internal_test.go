package http1

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
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

// failing is a listener whose Accept fails with each of errs in turn.
type failing struct {
	given
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) == 0 {
		return nil, net.ErrClosed
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

// TestAcceptGoesOn: what passes by itself, such as too many open files, does not end the
// listener, and makes room; everything else does.
func TestAcceptGoesOn(t *testing.T) {
	broken := errors.New("broken")
	wrap := func(e error) error { return &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", e)} }
	ln := &failing{errs: []error{wrap(syscall.EMFILE), wrap(syscall.ECONNABORTED), wrap(syscall.ENFILE), broken}}
	var evicted int
	l := Listen(ln, Options{HeadBytes: 1 << 10, HeadTime: time.Second, Refused: func(r Reason) {
		if r == Evicted {
			evicted++
		}
	}})
	for range 3 {
		a, b := net.Pipe()
		t.Cleanup(func() { _ = a.Close() })
		c := &Conn{Conn: b, l: l}
		l.conns[c] = struct{}{}
	}
	if _, err := l.Accept(); !errors.Is(err, broken) || evicted != 3 || l.Open() != 0 {
		t.Errorf("Accept: %v; %d of 3 waiting connections were closed, %d are left", err, evicted, l.Open())
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
}

// TestCloseEndsAccept: a listener that is closed while it waits for room ends at once.
func TestCloseEndsAccept(t *testing.T) {
	l := Listen(&failing{errs: []error{syscall.EMFILE}}, Options{HeadBytes: 1 << 10, HeadTime: time.Second})
	select {
	case <-l.done:
		t.Fatal("done before it was closed")
	default:
	}
	for range 2 { // again is not a panic
		_ = l.Close()
	}
	select {
	case <-l.done:
	default:
		t.Error("closed, and whoever waits for it is not told")
	}
}

// TestOldestIsEvicted: of strangers the one that waits longest goes, before any that was
// let in; a connection that is served never does.
func TestOldestIsEvicted(t *testing.T) {
	l := Listen(given{make(chan net.Conn)}, Options{HeadBytes: 1 << 10, HeadTime: time.Second})
	add := func(since int64, known bool, state int32) *Conn {
		a, b := net.Pipe()
		t.Cleanup(func() { _ = a.Close() })
		c := &Conn{Conn: b, l: l}
		c.since.Store(since)
		c.known.Store(known)
		c.state.Store(state)
		l.conns[c] = struct{}{}
		return c
	}
	add(1, false, busy)
	known := add(2, true, waiting)
	first, second := add(3, false, waiting), add(4, false, waiting)
	for _, want := range []*Conn{first, second, known} {
		if !l.evictLocked(l.conns) || want.state.Load() != closed {
			t.Fatalf("another one was closed than that of %d", want.since.Load())
		}
	}
	if l.evictLocked(l.conns) || l.Open() != 1 {
		t.Error("a connection that is served was closed")
	}
}

// TestCountedAgain: a connection that was closed while its request ran is taken out of those of
// its address a second time; others of the address, which came meanwhile, still count.
func TestCountedAgain(t *testing.T) {
	l := Listen(given{make(chan net.Conn)}, Options{HeadBytes: 1 << 10, HeadTime: time.Second, ConnsPerAddress: 1, Refused: func(Reason) {}})
	addr := netip.MustParseAddr("192.0.2.7")
	open := func() *Conn {
		a, b := net.Pipe()
		t.Cleanup(func() { _ = a.Close() })
		c := &Conn{Conn: b, l: l, proxied: true}
		c.state.Store(busy)
		l.conns[c] = struct{}{}
		return c
	}
	first, second, third := open(), open(), open()
	if !first.From(addr) || second.From(addr) {
		t.Fatal("not one connection of the address, as it should be")
	}
	l.forget(first)
	if !second.From(addr) {
		t.Fatal("a connection that was closed counts")
	}
	first.release()
	if third.From(addr) {
		t.Error("the one that is open does not count any more")
	}
	second.release()
	if !third.From(addr) || len(l.peers) != 1 {
		t.Error("a request that ended counts")
	}
}
