package http1

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// wire is a connection of an address from which bytes come piece by piece, and that
// keeps what is written to it.
type wire struct {
	stream
	addr      netip.Addr
	wrote     strings.Builder
	broken    bool // for writing
	deadlines int
	closed    int
}

func (w *wire) Write(p []byte) (int, error) {
	if w.broken {
		return 0, io.ErrClosedPipe
	}
	return w.wrote.Write(p)
}
func (w *wire) RemoteAddr() net.Addr            { return &net.TCPAddr{IP: w.addr.AsSlice()} }
func (w *wire) SetReadDeadline(time.Time) error { w.deadlines++; return nil }
func (w *wire) Close() error                    { w.closed++; return nil }

// from is a connection of an address that sends b.
func from(addr, b string) *wire {
	return &wire{stream: stream{b: []byte(b), piece: 1 << 20}, addr: netip.MustParseAddr(addr)}
}

func newListener(o Options) *Listener {
	o.HeadBytes, o.HeadTime = 4<<10, time.Minute
	return Listen(given{make(chan net.Conn)}, o)
}

// serveHead hands the head of the next request to the server, and returns it.
func serveHead(t *testing.T, c *Conn) string {
	t.Helper()
	var head []byte
	p := make([]byte, 8<<10)
	for !strings.HasSuffix(string(head), "\r\n\r\n") {
		n, err := c.Read(p)
		if err != nil {
			t.Fatalf("%q, %v", head, err)
		}
		head = append(head, p[:n]...)
	}
	return string(head)
}

// TestConnectionsOfAnAddress: each address has its share of connections, and a smaller
// one of those on which nobody was let in; a closed connection takes part in none.
func TestConnectionsOfAnAddress(t *testing.T) {
	var refused []Reason
	l := newListener(Options{ConnsPerAddress: 3, Strangers: 2, Refused: func(r Reason) { refused = append(refused, r) }})
	open := func(addr string) (*Conn, *wire) {
		t.Helper()
		w := from(addr, "")
		c := &Conn{Conn: w, l: l}
		c.state.Store(busy) // makes room for no other
		if why := l.enterLocked(c); why != "" {
			return nil, w
		}
		return c, w
	}
	const a, b = "192.0.2.1", "192.0.2.2"
	first, _ := open(a)
	second, _ := open(a)
	if third, _ := open(a); first == nil || second == nil || third != nil {
		t.Fatal("two strangers of an address have room, and a third has none")
	}
	if other, _ := open(b); other == nil {
		t.Fatal("another address has no room")
	}
	first.Admit()
	first.Admit()
	third, _ := open(a)
	if third == nil {
		t.Fatal("a connection on which somebody was let in counts as a stranger")
	}
	third.Admit()
	second.Admit()
	if fourth, _ := open(a); fourth != nil {
		t.Fatal("an address has more connections than it may have")
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	if third, _ = open(a); third == nil {
		t.Fatal("a closed connection counts")
	}
	third.Admit()
	if fourth, _ := open(a); fourth != nil {
		t.Fatal("when one is closed the others of its address no longer count")
	}
	for _, c := range []*Conn{first, second, third} {
		if !c.known.Load() {
			t.Error("a connection on which somebody was let in makes room like a stranger's")
		}
		for range 2 { // again is no harm
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if c.state.Load() != closed {
			t.Error("a closed connection may be closed for another")
		}
	}
	if l.Open() != 1 || len(l.peers) != 1 {
		t.Errorf("%d connections are open, of %d addresses", l.Open(), len(l.peers))
	}
	again, _ := open(a)
	if again == nil {
		t.Fatal("closed connections count")
	}
	again.state.Store(waiting)
	again.since.Store(1)
	if c, _ := open(a); c == nil || again.state.Load() == closed {
		t.Error("a connection was closed although there is room")
	}
	if c, _ := open(a); c == nil || again.state.Load() != closed || again.Conn.(*wire).closed != 1 {
		t.Error("the connection that waits does not make room for another of its address")
	}
	if len(refused) != 1 || refused[0] != Evicted {
		t.Errorf("told %v", refused)
	}
}

// TestRequestsOfAProxy: the requests on a connection of a reverse proxy are counted by
// the clients for which it asks, one after the other, and the proxy by nothing.
func TestRequestsOfAProxy(t *testing.T) {
	proxy := netip.MustParseAddr("192.0.2.9")
	var refused []Reason
	l := newListener(Options{
		ConnsPerAddress: 1, Strangers: 1, BodyBytesPerAddress: firstBuffer,
		Proxy:   func(a netip.Addr) bool { return a == proxy },
		Refused: func(r Reason) { refused = append(refused, r) },
	})
	const request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	open := func(addr string) *Conn {
		t.Helper()
		c := l.admit(from(addr, strings.Repeat(request, 3)))
		if c == nil {
			t.Fatal("no room for a connection of the proxy")
		}
		return c
	}
	client := netip.MustParseAddr("198.51.100.1")
	one, two := open("192.0.2.9"), open("192.0.2.9")
	serveHead(t, one)
	serveHead(t, two)
	if !one.From(client) || one.known.Load() {
		t.Error("the request of a client is refused, or the client is known before it was let in")
	}
	if two.From(client) || len(refused) != 1 || refused[0] != Address {
		t.Errorf("a second request of the client at the same time is served; told %v", refused)
	}
	if !two.From(netip.MustParseAddr("198.51.100.2")) {
		t.Error("the request of another client is refused")
	}
	serveHead(t, one) // its next request, of nobody yet
	if one.peer != nil || !one.known.Load() {
		t.Error("the last client still counts, or the proxy is a stranger")
	}
	if !two.From(client) || len(l.peers) != 1 {
		t.Errorf("a client whose request ended still counts: %d addresses", len(l.peers))
	}
	_ = two.Close()
	if two.From(client) || len(l.peers) != 0 {
		t.Errorf("a closed connection counts: %d addresses", len(l.peers))
	}
	direct := l.admit(from("192.0.2.1", request))
	if direct == nil || !direct.From(client) || direct.peer == nil || direct.peer.addr != netip.MustParseAddr("192.0.2.1") {
		t.Error("a client that is not a proxy says on whose behalf it asks")
	}
}

// TestMemoryOfBodies: what is refused is charged to nobody, of an address or of all.
func TestMemoryOfBodies(t *testing.T) {
	l := newListener(Options{BodyBytes: 10, BodyBytesPerAddress: 4})
	a, b := &peer{}, &peer{}
	for _, step := range []struct {
		p    *peer
		n    int64
		want bool
	}{{a, 4, true}, {a, 1, false}, {b, 4, true}, {nil, 2, true}, {nil, 1, false}, {b, 1, false}} {
		if got := l.charge(step.p, step.n); got != step.want {
			t.Errorf("%d bytes: %v", step.n, got)
		}
	}
	if a.bodies.Load() != 4 || b.bodies.Load() != 4 || l.BodyBytes() != 10 {
		t.Errorf("charged %d and %d of %d", a.bodies.Load(), b.bodies.Load(), l.BodyBytes())
	}
	l.discharge(a, 4)
	l.discharge(b, 4)
	l.discharge(nil, 2)
	if a.bodies.Load() != 0 || b.bodies.Load() != 0 || l.BodyBytes() != 0 {
		t.Error("memory that was given back is charged")
	}
}

// TestEveryBodyIsCharged: the memory of each body of a connection counts, and is given back
// before the next request.
func TestEveryBodyIsCharged(t *testing.T) {
	l := newListener(Options{BodyBytesPerAddress: firstBuffer})
	const size = smallBuffer + 1 // more than comes with the head
	c := l.admit(from("192.0.2.1", strings.Repeat("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2049\r\n\r\n"+strings.Repeat("x", size), 3)))
	for range 3 {
		serveHead(t, c)
		body, err := c.Body(size)
		if err != nil || len(body) != size || l.BodyBytes() != firstBuffer || c.peer.bodies.Load() != firstBuffer {
			t.Errorf("%d bytes, %v; charged are %d", len(body), err, l.BodyBytes())
		}
		c.FreeBody()
		if l.BodyBytes() != 0 {
			t.Errorf("%d bytes are charged afterwards", l.BodyBytes())
		}
	}
}

// lastly is a connection whose last bytes come with its end.
type lastly struct{ *wire }

func (l lastly) Read(p []byte) (int, error) {
	n, err := l.wire.Read(p)
	if len(l.b) == 0 {
		err = io.EOF
	}
	return n, err
}

// TestBytesBeforeTheEnd: what comes together with the end of a connection is read.
func TestBytesBeforeTheEnd(t *testing.T) {
	for _, piece := range []int{1, 1 << 20} {
		w := from("192.0.2.1", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}")
		w.piece = piece
		c := newListener(Options{}).admit(lastly{w})
		serveHead(t, c)
		if body, err := c.Body(2); err != nil || string(body) != "{}" {
			t.Errorf("in pieces of %d: %q, %v", piece, body, err)
		}
	}
}

// TestBrokenWrite: behind a write that failed nothing more is said through TLS.
func TestBrokenWrite(t *testing.T) {
	w := from("192.0.2.1", "")
	c := newListener(Options{}).admit(w)
	if _, err := c.Write([]byte("x")); err != nil || c.plain.Load() {
		t.Errorf("%v; taken for broken: %v", err, c.plain.Load())
	}
	w.broken = true
	if _, err := c.Write([]byte("x")); err == nil || !c.plain.Load() {
		t.Errorf("%v; taken for broken: %v", err, c.plain.Load())
	}
}

// TestAppendAnswer: an answer is whole, and says when to come again where that is known.
func TestAppendAnswer(t *testing.T) {
	for retry, want := range map[int]string{
		0: "before HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: 5\r\n\r\ntext\n",
		1: "before HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 5\r\n\r\ntext\n",
	} {
		if got := string(appendAnswer([]byte("before "), 503, "text", retry)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestContinueIsSaidOnce: a client that waits is told to go on once, and one whose body is
// on its way is not. One that cannot be told gets an error, and holds no memory.
func TestContinueIsSaidOnce(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
	for _, c := range []struct {
		name, raw string
		told      bool
		broken    bool
	}{{"waits", head, true, false}, {"begins", head + "ab", false, false}, {"is done", head + "abcd", false, false}, {"is gone", head, false, true}} {
		l := newListener(Options{})
		w := from("192.0.2.1", c.raw)
		w.broken = c.broken
		conn := l.admit(w)
		if got := serveHead(t, conn); strings.Contains(got, "Content-Length") || strings.Contains(got, "Expect") {
			t.Errorf("%s: the server gets %q", c.name, got)
		}
		w.b = append(w.b, "abcd"[max(0, len(c.raw)-len(head)):]...)
		body, err := conn.Body(4)
		if c.broken {
			if !errors.Is(err, io.ErrClosedPipe) || len(w.b) != 4 {
				t.Errorf("%s: %q, %v; %d bytes are left", c.name, body, err, len(w.b))
			}
		} else if string(body) != "abcd" || err != nil {
			t.Errorf("%s: %q, %v", c.name, body, err)
		}
		if told := w.wrote.String() == "HTTP/1.1 100 Continue\r\n\r\n"; told != c.told || !told && w.wrote.Len() > 0 {
			t.Errorf("%s: it is told %q", c.name, w.wrote.String())
		}
		conn.FreeBody()
		conn.FreeBody()
		if l.BodyBytes() != 0 {
			t.Errorf("%s: %d bytes are charged", c.name, l.BodyBytes())
		}
	}
}

// TestBodyEndsEarly: a body that ends before its length, or in the middle of a chunk, is
// an error, and its memory is free.
func TestBodyEndsEarly(t *testing.T) {
	for _, raw := range []string{"Content-Length: 5\r\n\r\nabcd", "Content-Length: 5\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\nabcd", "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n", "Transfer-Encoding: chunked\r\n\r\n"} {
		l := newListener(Options{})
		c := l.admit(from("192.0.2.1", "POST / HTTP/1.1\r\nHost: h\r\n"+raw))
		serveHead(t, c)
		if body, err := c.Body(10); !errors.Is(err, io.ErrUnexpectedEOF) || l.BodyBytes() != 0 {
			t.Errorf("%q: %q, %v; %d bytes are charged", raw, body, err, l.BodyBytes())
		}
		if c.Drop() || !c.linger.Load() {
			t.Errorf("%q: the connection may serve another request", raw)
		}
	}
}

// TestDrop: the connection serves the next request when the whole body had come, and
// only then; behind malformed framing never.
func TestDrop(t *testing.T) {
	const next = "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"
	for raw, want := range map[string]bool{
		"\r\n":                          true,
		"Content-Length: 2\r\n\r\n{}":   true,
		"Content-Length: 200\r\n\r\n{}": false,
		"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n":         true,
		"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n": true,
		"Transfer-Encoding: chunked\r\n\r\n200\r\n{}":                    false,
		"Transfer-Encoding: chunked\r\n\r\n2\r\n{}x":                     false,
	} {
		c := newListener(Options{}).admit(from("192.0.2.1", "POST / HTTP/1.1\r\nHost: h\r\n"+raw+next))
		serveHead(t, c)
		if got := c.Drop(); got != want || c.linger.Load() == want {
			t.Errorf("%q: the body had come: %v; lingers: %v", raw, got, c.linger.Load())
			continue
		}
		if want {
			if head := serveHead(t, c); head != next {
				t.Errorf("%q: the next request is %q", raw, head)
			}
		} else if n, err := c.Read(make([]byte, 10)); n != 0 || !errors.Is(err, errUnread) {
			t.Errorf("%q: %d bytes more, %v", raw, n, err)
		}
	}
	c := newListener(Options{}).admit(from("192.0.2.1", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz"))
	serveHead(t, c)
	if _, err := c.Body(10); !errors.Is(err, errChunk) || c.Drop() {
		t.Errorf("behind malformed framing the connection goes on: %v", err)
	}
}

// TestHeadTime: from its first byte on a head has its time once, however it comes.
func TestHeadTime(t *testing.T) {
	w := from("192.0.2.1", "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	w.piece = 1
	c := newListener(Options{}).admit(w)
	serveHead(t, c)
	if w.deadlines != 1 {
		t.Errorf("its deadline was set %d times", w.deadlines)
	}
}

// TestDetached: what comes behind the head of a connection that was given away is read as
// it is, what is in the buffer first.
func TestDetached(t *testing.T) {
	for _, rest := range []string{"", "\x81\x05not HTTP"} {
		w := from("192.0.2.1", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"+rest)
		c := newListener(Options{}).admit(w)
		serveHead(t, c)
		c.Detach()
		if (c.in == nil) != (rest == "") {
			t.Errorf("%q: the buffer is kept: %v", rest, c.in != nil)
		}
		w.b = append(w.b, "more"...)
		var got []byte
		for len(got) < len(rest)+len("more") {
			p := make([]byte, 3)
			n, err := c.Read(p)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p[:n]...)
		}
		if string(got) != rest+"more" {
			t.Errorf("%q", got)
		}
	}
}

// TestPipelinesTakeTurns: with one processor, a connection on which many requests came at
// once serves them in turn with another, one by one.
func TestPipelinesTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const requests = 200
	one := "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
	l := newListener(Options{})
	var order []int // guarded by mu
	var mu sync.Mutex
	var both sync.WaitGroup
	start := make(chan struct{})
	for i := range 2 {
		c := l.admit(from("192.0.2."+strconv.Itoa(i+1), strings.Repeat(one, requests)))
		both.Go(func() {
			<-start
			for range requests {
				serveHead(t, c)
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			}
		})
	}
	close(start)
	both.Wait()
	turns := 0
	for i := 1; i < len(order); i++ {
		if order[i] != order[i-1] {
			turns++
		}
	}
	if turns < requests {
		t.Errorf("two connections with %d requests each took %d turns", requests, turns)
	}
}
