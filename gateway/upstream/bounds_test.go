package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/upstreamtest"
)

// TestDefaults: what the documentation says of a client without options.
func TestDefaults(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.Echo())
	base := mustBase(t, up.URL)
	f := func(o Options, want string) {
		t.Helper()
		up.Forget()
		c := newClient(t, o)
		if _, _, err := do(t, c, base, http.MethodGet, "/", Limits{}, nil); err != nil {
			t.Fatal(err)
		}
		if got := up.Requests()[0].Header.Get("User-Agent"); got != want {
			t.Errorf("User-Agent %q, want %q", got, want)
		}
	}
	f(Options{}, "sluice")
	f(Options{UserAgent: "sluice/1.2"}, "sluice/1.2")
	var x Exchange
	defer x.Reset()
	x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte("/")))
	x.Request.Header.SetUserAgent("the agent's")
	up.Forget()
	if err := newClient(t, Options{}).Do(&x, base, Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	if got := up.Requests()[0].Header.Get("User-Agent"); got != "the agent's" {
		t.Errorf("a request's own User-Agent became %q", got)
	}
	if DefaultMaxConns != 256 || newClient(t, Options{}).opts.MaxConns != 256 || newClient(t, Options{MaxConns: 7}).opts.MaxConns != 7 {
		t.Error("connections to one host are not bounded by 256, or by what was asked for")
	}
}

// TestKeepBody: the memory of a body is kept for the next one, up to keepBody.
func TestKeepBody(t *testing.T) {
	for size, kept := range map[int]bool{keepBody: true, keepBody + 1: false} {
		var x Exchange
		x.response.SwapBody(make([]byte, size))
		x.Reset()
		if (x.body != nil) != kept || len(x.body) != 0 {
			t.Errorf("of %d bytes %d are kept", size, cap(x.body))
		}
		mark := x.body
		x.lend()
		if got := x.response.Body(); cap(got) != cap(mark) || x.body != nil {
			t.Errorf("the next body has room for %d bytes, not %d", cap(got), cap(mark))
		}
	}
}

// TestEmptyStream: a stream of events that says it has no bytes is at its end, although
// the connection stays open.
func TestEmptyStream(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Length", "0")
	}))
	c, base := newClient(t, Options{}), mustBase(t, up.URL)
	var x Exchange
	defer x.Reset()
	x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte("/")))
	if err := c.Do(&x, base, Limits{Deadline: time.Now().Add(2 * time.Second)}, nil); err != nil {
		t.Fatal(err)
	}
	if body := x.Body(); len(body) != 0 || x.GoesOn {
		t.Errorf("body %q, the stream goes on: %v", body, x.GoesOn)
	}
}

// TestEnded: a last byte that comes together with the end is one that was left.
func TestEnded(t *testing.T) {
	for text, want := range map[string]bool{"": true, "x": false, "xy": false} {
		if got := ended(iotest.DataErrReader(strings.NewReader(text))); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if ended(iotest.ErrReader(errors.New("reset"))) || !ended(iotest.ErrReader(fmt.Errorf("body: %w", io.EOF))) {
		t.Error("a fault is taken for the end, or the end for a fault")
	}
}

// TestCancelledBeforeItBegan: nothing is sent for a call that was cancelled.
func TestCancelledBeforeItBegan(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.Echo())
	var c Cancel
	c.Cancel()
	_, _, err := do(t, newClient(t, Options{}), mustBase(t, up.URL), http.MethodGet, "/", Limits{Cancel: &c}, nil)
	if !problem.Is(err, problem.Cancelled) || len(up.Requests()) != 0 {
		t.Errorf("%v, %d requests", err, len(up.Requests()))
	}
}

// closes notes that it was closed.
type closes struct {
	net.Conn

	closed bool
}

func (c *closes) Close() error { c.closed = true; return c.Conn.Close() }

// TestDetach: Cancel closes the connections of exchanges that run, and leaves one that
// went back to its pool to whoever has it next.
func TestDetach(t *testing.T) {
	for detached := range 3 {
		var c Cancel
		var conns []*closes
		for range 3 {
			a, b := net.Pipe()
			t.Cleanup(func() { _ = b.Close() })
			conns = append(conns, &closes{Conn: a})
			if !c.attach(conns[len(conns)-1]) {
				t.Fatal("not attached")
			}
		}
		c.detach(conns[detached])
		c.Cancel()
		for i, conn := range conns {
			if conn.closed == (i == detached) {
				t.Errorf("detached %d: connection %d closed: %v", detached, i, conn.closed)
			}
		}
	}
}

func TestSize(t *testing.T) {
	f := func(n int64, want string) {
		t.Helper()
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
	f(0, "0 bytes")
	f(1<<20-1, "1048575 bytes")
	f(1<<20, "1 MiB")
	f(1<<20+1, "1048577 bytes")
	f(16<<20, "16 MiB")
}

// TestCancelAgain: a Cancel that was reset knows nothing of the call before.
func TestCancelAgain(t *testing.T) {
	a, b := net.Pipe()
	t.Cleanup(func() { _ = b.Close() })
	conn := &closes{Conn: a}
	var c Cancel
	if !c.attach(conn) {
		t.Fatal("not attached")
	}
	c.Reset()
	c.Cancel()
	if conn.closed || !c.Cancelled() || c.attach(conn) {
		t.Errorf("closed %v, cancelled %v", conn.closed, c.Cancelled())
	}
	c.Reset()
	if c.Cancelled() || !c.attach(conn) {
		t.Error("still cancelled after Reset")
	}
}

// TestHostsInUse: hosts note when they were used, since those that are not are closed.
func TestHostsInUse(t *testing.T) {
	c := newClient(t, Options{})
	before := time.Now().Unix()
	h, err := c.host(hostKey{addr: "api.example:443", tls: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.lastUsed.Load(); got < before || got > time.Now().Unix() {
		t.Errorf("last used at %d, want %d", got, before)
	}
}

// TestChunkedStream: the pieces that a stream is sent in are no part of it.
func TestChunkedStream(t *testing.T) {
	up := upstreamtest.New(t)
	lines := []string{`{"a":1}` + "\n", `{"a":2}` + "\n", `{"a":3}` + "\n"}
	up.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, line := range lines {
			_, _ = io.WriteString(w, line)
			w.(http.Flusher).Flush()
		}
	}))
	_, body, err := do(t, newClient(t, Options{}), mustBase(t, up.URL), http.MethodGet, "/", Limits{}, nil)
	if err != nil || body != strings.Join(lines, "") {
		t.Errorf("%q, %v", body, err)
	}
}

// TestMaxInterim: so many answers 1xx are skipped; one more is not an answer.
func TestMaxInterim(t *testing.T) {
	for n, want := range map[int]error{maxInterim: nil, maxInterim + 1: errInterim} {
		in := strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", n) + "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
		var h fasthttp.ResponseHeader
		if err := readHeader(&h, bufio.NewReader(strings.NewReader(in))); !errors.Is(err, want) || err == nil && h.StatusCode() != 200 {
			t.Errorf("%d interim answers: %v, status %d", n, err, h.StatusCode())
		}
	}
}

// TestCancelTells: what waits for the cancellation is told once it comes, and at once when
// it came before; not after it stopped to wait.
func TestCancelTells(t *testing.T) {
	var c Cancel
	told := 0
	stop := c.After(func() { told++ })
	c.Cancel()
	if told != 1 {
		t.Errorf("told %d times of the cancellation", told)
	}
	stop()
	c.Cancel()
	if told != 1 {
		t.Errorf("told %d times after it stopped to wait", told)
	}
	var inner, outer int // a script that runs a workflow
	c.Reset()
	stopOuter := c.After(func() { outer++ })
	c.After(func() { inner++ })()
	c.Cancel()
	if inner != 0 || outer != 1 {
		t.Errorf("told %d times after it stopped to wait, and %d times while it waited", inner, outer)
	}
	stopOuter()
	c.After(func() { told++ })
	if told != 2 {
		t.Error("one that comes late is not told")
	}
}

// TestConnectionIsUsedUp: a connection on which something follows the answer, or that the
// server wants closed, is not used again: what follows would be taken for the answer to
// somebody else's request.
func TestConnectionIsUsedUp(t *testing.T) {
	for what, answer := range map[string]string{
		"events of an announced length": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: 1\n\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstale",
		"a server that closes":          "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		conns := make(chan int, 10)
		go func() {
			for n := 1; ; n++ {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				conns <- n
				go func() {
					defer func() { _ = c.Close() }()
					br := bufio.NewReader(c)
					for {
						r, err := http.ReadRequest(br)
						if err != nil {
							return
						}
						_ = r.Body.Close()
						if _, err := io.WriteString(c, answer); err != nil {
							return
						}
					}
				}()
			}
		}()
		c, base := newClient(t, Options{}), mustBase(t, "http://"+ln.Addr().String())
		for range 2 {
			if _, body, err := do(t, c, base, http.MethodPost, "/", Limits{}, nil); err != nil || strings.Contains(body, "stale") {
				t.Errorf("%s: %q, %v", what, body, err)
			}
		}
		_ = ln.Close()
		if n := len(conns); n != 2 {
			t.Errorf("%s: %d connections for two requests", what, n)
		}
	}
}

// TestTrailerCutOff: an answer that ends before its trailers do is broken, and is not
// asked for again: the server has done what it was asked.
func TestTrailerCutOff(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.Bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"))
	for _, events := range []bool{false, true} {
		up.Forget()
		c, base := newClient(t, Options{}), mustBase(t, up.URL)
		var x Exchange
		if events {
			x.Events = func(int, io.Reader) error { return nil }
		}
		x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte("/")))
		err := c.Do(&x, base, Limits{Deadline: time.Now().Add(5 * time.Second)}, nil)
		x.Reset()
		if n := len(up.Requests()); err == nil || n != 1 {
			t.Errorf("events %v: %v after %d requests, want one", events, err, n)
		}
	}
}

// TestUnreadStreamUsesUp: a stream that was left before its announced end leaves nothing
// behind for the next request.
func TestUnreadStreamUsesUp(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	conns := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns <- c
			go func() {
				br := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					_ = r.Body.Close()
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\n")
				}
			}()
		}
	}()
	c, base := newClient(t, Options{}), mustBase(t, "http://"+ln.Addr().String())
	for range 2 {
		var x Exchange
		x.Events = func(int, io.Reader) error { return nil } // it has what it wants
		x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte("/")))
		if err := c.Do(&x, base, Limits{Deadline: time.Now().Add(5 * time.Second)}, nil); err != nil {
			t.Error(err)
		}
		x.Reset()
	}
	if n := len(conns); n != 2 {
		t.Errorf("%d connections for two requests", n)
	}
	for range len(conns) {
		_ = (<-conns).Close()
	}
}

// TestMaxStanding: so many streams to one host stay open; one more is refused, and a call
// has a connection all the same.
func TestMaxStanding(t *testing.T) {
	c := newClient(t, Options{MaxConns: 1, Dial: func(string, time.Duration) (net.Conn, error) { return &net.TCPConn{}, nil }})
	h, err := c.host(hostKey{addr: "a:1", class: 1, standing: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxStanding + 1 {
		if _, err := h.client.AcquireConn(time.Nanosecond, false); (err == nil) != (n < maxStanding) {
			t.Fatalf("stream %d: %v", n+1, err)
		}
	}
	if h, err = c.host(hostKey{addr: "a:1", class: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := h.client.AcquireConn(time.Nanosecond, false); err != nil {
		t.Errorf("a call beside all streams: %v", err)
	}
}

// TestStandingIsApart: a stream that stays open takes no connection away from calls.
func TestStandingIsApart(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/stall", up.Stall())
	c, base := newClient(t, Options{MaxConns: 1}), mustBase(t, up.URL)
	var x Exchange
	x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte("/stall")))
	x.Standing = true
	ended := make(chan error, 1)
	go func() { ended <- c.Do(&x, base, Limits{Deadline: time.Now().Add(time.Second)}, nil) }()
	for len(up.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if status, _, err := do(t, c, base, "GET", "/", Limits{Deadline: time.Now().Add(500 * time.Millisecond)}, nil); err != nil || status == 0 {
		t.Errorf("a call beside a stream: %d, %v", status, err)
	}
	<-ended
}
