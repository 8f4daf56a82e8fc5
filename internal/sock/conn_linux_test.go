package sock

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pair is both ends of a TCP connection; ours is one of New.
func pair(t testing.TB) (ours net.Conn, theirs *net.TCPConn) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ours = New(c)
	t.Cleanup(func() { _ = ours.Close(); _ = s.Close() })
	if runtime.GOOS == "linux" {
		if _, is := ours.(*net.TCPConn); is {
			t.Fatal("New gives the connection of package net")
		}
	}
	return ours, s.(*net.TCPConn)
}

// TestPassesEverything: what is written in one call arrives whole, also beyond the piece that
// one system call moves and beyond what the kernel keeps.
func TestPassesEverything(t *testing.T) {
	for _, size := range []int{1, maxPiece - 1, maxPiece, maxPiece + 1, 3*maxPiece + 7, 16 << 20} {
		ours, theirs := pair(t)
		want := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
		for _, way := range []struct {
			from io.WriteCloser
			to   io.Reader
		}{{ours, theirs}, {theirs, ours}} {
			var wg sync.WaitGroup
			wg.Go(func() {
				if n, err := way.from.Write(want); n != size || err != nil {
					t.Errorf("wrote %d of %d: %v", n, size, err)
				}
			})
			got := make([]byte, size)
			if _, err := io.ReadFull(way.to, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes did not come as they were sent: %v", size, err)
			}
			wg.Wait()
		}
	}
}

// TestReadsOnePiece: one read gives at most maxPiece, and all of it when it is there.
func TestReadsOnePiece(t *testing.T) {
	for _, size := range []int{maxPiece, maxPiece + 1} {
		ours, theirs := pair(t)
		if _, err := theirs.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		_ = theirs.CloseWrite()
		all := 0
		for b := make([]byte, 4*maxPiece); ; {
			n, err := ours.Read(b)
			if all += n; errors.Is(err, io.EOF) {
				break
			}
			if err != nil || n > maxPiece && runtime.GOOS == "linux" {
				t.Fatalf("a read gave %d: %v", n, err)
			}
		}
		if all != size {
			t.Errorf("%d bytes of %d came", all, size)
		}
	}
}

// TestErrorsOfNet: errors are those of package net, by kind and by name.
func TestErrorsOfNet(t *testing.T) {
	ours, theirs := pair(t)
	b := make([]byte, 8)
	if n, err := ours.Read(nil); n != 0 || err != nil {
		t.Errorf("a read of nothing: %d, %v", n, err)
	}
	if n, err := ours.Write(nil); n != 0 || err != nil {
		t.Errorf("a write of nothing: %d, %v", n, err)
	}
	_ = ours.SetReadDeadline(time.Unix(1, 0))
	_, err := ours.Read(b)
	if e, ok := errors.AsType[*net.OpError](err); !ok || !e.Timeout() || e.Op != "read" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("behind the deadline: %v", err)
	}
	_ = ours.SetReadDeadline(time.Time{})
	if _, err := theirs.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	if n, err := ours.Read(b); string(b[:n]) != "end" || err != nil {
		t.Errorf("read %q, %v", b[:n], err)
	}
	_ = theirs.SetLinger(0) // it ends with a reset
	_ = theirs.Close()
	_, err = ours.Read(b)
	if e, ok := errors.AsType[*net.OpError](err); !errors.Is(err, syscall.ECONNRESET) || !ok || e.Op != "read" {
		t.Errorf("behind a reset: %v", err)
	}
	if _, err = ours.Write(b); !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a write behind a reset: %v", err)
	}
	_ = ours.Close()
	if _, err = ours.Read(b); !errors.Is(err, net.ErrClosed) {
		t.Errorf("behind Close: %v", err)
	}
	for _, p := range [][]byte{b, nil} {
		if n, err := ours.Write(p); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write of %d behind Close: %d, %v", len(p), n, err)
		}
	}
}

// TestEndsFromOutside: Close and a deadline end a read and a write that wait.
func TestEndsFromOutside(t *testing.T) {
	for name, end := range map[string]func(net.Conn) error{
		"close":    net.Conn.Close,
		"deadline": func(c net.Conn) error { return c.SetDeadline(time.Unix(1, 0)) },
	} {
		ours, _ := pair(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			if n, err := ours.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("%s: a read gave %d, %v", name, n, err)
			}
		})
		wg.Go(func() {
			if n, err := ours.Write(make([]byte, 64<<20)); n == 64<<20 || err == nil {
				t.Errorf("%s: a write gave %d, %v", name, n, err)
			}
		})
		if err := end(ours); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

// TestWritesDoNotMix: writes of several goroutines arrive one after the other.
func TestWritesDoNotMix(t *testing.T) {
	ours, theirs := pair(t)
	const writers, size = 4, 300 << 10
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			if _, err := ours.Write(bytes.Repeat([]byte{byte('a' + i)}, size)); err != nil {
				t.Error(err)
			}
		})
	}
	got := make([]byte, writers*size)
	if _, err := io.ReadFull(theirs, got); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for part := range writers {
		if b := got[part*size : (part+1)*size]; bytes.Count(b, b[:1]) != size {
			t.Errorf("part %d is of several writes", part)
		}
	}
}

// TestOtherConnections: what is none of TCP, or was closed, stays what it is.
func TestOtherConnections(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if New(a) != a {
		t.Error("a pipe was wrapped")
	}
	if none := new(net.TCPConn); New(none) != net.Conn(none) {
		t.Error("a connection without a descriptor was wrapped")
	}
	ours, theirs := pair(t)
	if _, ok := ours.(syscall.Conn); !ok {
		t.Error("the descriptor cannot be reached")
	}
	if _, ok := ours.(interface{ CloseWrite() error }); !ok {
		t.Error("one direction cannot be closed")
	}
	_ = theirs.Close()
	if _, err := New(theirs).Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write to what was closed: %v", err)
	}
}

// TestNoGarbage: reading and writing allocate nothing.
func TestNoGarbage(t *testing.T) {
	ours, theirs := pair(t)
	b := make([]byte, 64)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := ours.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(theirs, b); err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(ours, b); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Errorf("%.1f allocations for a write and a read", n)
	}
}

// TestAttention: the first call is seen; those after it are not until the timer has run twice
// without one in between.
func TestAttention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a attention
		for range 2 {
			if a.unseen() {
				t.Fatal("the first call, or that after a pause, went unseen")
			}
			for range 3 {
				time.Sleep(beatEvery)
				synctest.Wait()
				if !a.unseen() {
					t.Fatal("a call while there are others was seen")
				}
			}
			time.Sleep(2 * beatEvery)
			synctest.Wait()
		}
	})
}
