package upstream

import (
	"bufio"
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
)

// script is a connection without a network: each request that is written is met with the
// next answer, and behind the last one the reader has fail.
type script struct {
	net.Conn

	answers []string
	left    strings.Reader
	fail    error
	unwritt error // of Write
	undated error // of SetDeadline and SetReadDeadline
	written func()

	sent            strings.Builder
	deadline, reads time.Time
	closed          bool
}

func (s *script) Write(b []byte) (int, error) {
	if s.unwritt != nil {
		return 0, s.unwritt
	}
	if s.written != nil {
		s.written()
	}
	if len(s.answers) > 0 {
		s.left.Reset(s.answers[0])
		s.answers = s.answers[1:]
	}
	return s.sent.Write(b)
}

func (s *script) Read(b []byte) (int, error) {
	if n, _ := s.left.Read(b); n > 0 {
		return n, nil
	}
	return 0, s.fail
}

func (s *script) Close() error                      { s.closed = true; return nil }
func (s *script) SetDeadline(t time.Time) error     { s.deadline = t; return s.undated }
func (s *script) SetReadDeadline(t time.Time) error { s.reads = t; return s.undated }

func answer(status, headers, body string) string {
	return "HTTP/1.1 " + status + "\r\n" + headers + "\r\n" + body
}

const (
	ofEvents = "Content-Type: text/event-stream\r\n"
	ofLines  = "Content-Type: application/x-ndjson\r\n"
	ofJSON   = "Content-Type: application/json\r\n"
	inChunks = "Transfer-Encoding: chunked\r\n"
)

// TestReadEvents: which answers are read as they come, what becomes of the others, and when
// the connection may be used again.
func TestReadEvents(t *testing.T) {
	broken := errors.New("not wanted")
	const most = 8
	for _, c := range []struct {
		what, answer string
		reads        int // bytes that Events reads; -1: all
		fails        error
		undated      error
		events       string // what it got; "-": it was not called
		body         string
		used         bool // the connection is not used again
		err          error
	}{
		{"chunks", answer("200 OK", ofEvents+inChunks, "9\r\ndata: 1\n\n\r\n0\r\n\r\n"), -1, nil, nil, "data: 1\n\n", "", false, nil},
		{"chunks and trailers", answer("200 OK", ofEvents+inChunks+"Trailer: A\r\n", "9\r\ndata: 1\n\n\r\n0\r\nA: b\r\n\r\n"), -1, nil, nil, "data: 1\n\n", "", false, nil},
		{"chunks, all but the end read", answer("200 OK", ofEvents+inChunks, "9\r\ndata: 1\n\n\r\n0\r\n\r\n"), 9, nil, nil, "data: 1\n\n", "", false, nil},
		{"chunks, left early", answer("200 OK", ofEvents+inChunks, "9\r\ndata: 1\n\n\r\n0\r\n\r\n"), 4, nil, nil, "data", "", true, nil},
		{"chunks, left before a line end", answer("200 OK", ofEvents+inChunks, "9\r\ndata: 1\n\n\r\n0\r\n\r\n"), 7, nil, nil, "data: 1", "", true, nil},
		{"an announced length and a line end", answer("200 OK", ofEvents+"Content-Length: 9\r\n", "data: 1\n\n\r\n"), -1, nil, nil, "data: 1\n\n", "", true, nil},
		{"other in chunks, too long", answer("200 OK", ofJSON+inChunks, "9\r\n123456789\r\n0\r\n\r\n"), -1, nil, nil, "-", "", false, fasthttp.ErrBodyTooLarge},
		{"chunks without their end", answer("200 OK", ofEvents+inChunks, "9\r\ndata: 1\n\n\r\n"), 9, nil, nil, "data: 1\n\n", "", true, nil},
		{"chunks without the end of trailers", answer("200 OK", ofEvents+inChunks, "9\r\ndata: 1\n\n\r\n0\r\n"), 9, nil, nil, "data: 1\n\n", "", true, nil},
		{"no time to wait for the end", answer("200 OK", ofEvents+inChunks, "9\r\ndata: 1\n\n\r\n0\r\n\r\n"), 9, nil, broken, "data: 1\n\n", "", true, nil},
		{"an announced length", answer("200 OK", ofEvents+"Content-Length: 9\r\n", "data: 1\n\nmore"), -1, nil, nil, "data: 1\n\n", "", true, nil},
		{"a length of nothing", answer("200 OK", ofEvents+"Content-Length: 0\r\n", "more"), -1, nil, nil, "", "", true, nil},
		{"to the end of the connection", answer("200 OK", ofEvents, "data: 1\n\n"), -1, nil, nil, "data: 1\n\n", "", true, nil},
		{"refused", answer("200 OK", ofEvents+inChunks, "9\r\ndata: 1\n\n\r\n0\r\n\r\n"), -1, broken, nil, "data: 1\n\n", "", false, broken},
		{"an error of the server", answer("500 Bad", ofEvents+"Content-Length: 1\r\n", "x"), -1, nil, nil, "x", "", true, nil},
		{"no content", answer("204 No Content", ofEvents, "more"), -1, nil, nil, "-", "", false, nil},
		{"not modified", answer("304 Not Modified", ofEvents, "more"), -1, nil, nil, "-", "", false, nil},
		{"other", answer("200 OK", ofJSON+"Content-Length: 2\r\n", "{}"), -1, nil, nil, "-", "{}", false, nil},
		{"other, as long as it may be", answer("200 OK", ofJSON+"Content-Length: 8\r\n", "12345678"), -1, nil, nil, "-", "12345678", false, nil},
		{"other, too long", answer("200 OK", ofJSON+"Content-Length: 9\r\n", "123456789"), -1, nil, nil, "-", "", false, fasthttp.ErrBodyTooLarge},
		{"other in chunks", answer("200 OK", ofJSON+inChunks, "2\r\n{}\r\n0\r\n\r\n"), -1, nil, nil, "-", "{}", false, nil},
		{"other in chunks, cut off", answer("200 OK", ofJSON+inChunks, "2\r\n{}\r\n0\r\n"), -1, nil, nil, "-", "{}", false, io.ErrUnexpectedEOF},
		{"packed", answer("200 OK", ofEvents+"Content-Encoding: gzip\r\nContent-Length: 1\r\n", "x"), -1, nil, nil, "-", "x", false, nil},
		{"no answer", "", -1, nil, nil, "-", "", false, io.EOF},
	} {
		conn := &script{fail: io.EOF, undated: c.undated}
		x, got := &Exchange{}, "-"
		x.Events = func(_ int, body io.Reader) error {
			if x.reading != conn {
				t.Errorf("%s: while it is read its time cannot be extended", c.what)
			}
			if c.reads >= 0 {
				body = io.LimitReader(body, int64(c.reads))
			}
			b, err := io.ReadAll(body)
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			got = string(b)
			return c.fails
		}
		br := bufio.NewReader(strings.NewReader(c.answer))
		err := x.readEvents(conn, br, most)
		if (err == nil) != (c.err == nil) || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.what, err, c.err)
		}
		if got != c.events || x.reading != nil {
			t.Errorf("%s: events %q, want %q", c.what, got, c.events)
		}
		if body := string(x.response.Body()); body != c.body && err == nil {
			t.Errorf("%s: body %q, want %q", c.what, body, c.body)
		}
		if used := x.response.ConnectionClose(); used != c.used {
			t.Errorf("%s: the connection is used up: %v", c.what, used)
		}
		if left := time.Until(conn.reads); !conn.reads.IsZero() && left > lingerEvents {
			t.Errorf("%s: the end is waited for %v", c.what, left)
		}
	}
}

// TestExtend: the time of an answer is extended while it is read, and never afterwards.
func TestExtend(t *testing.T) {
	conn, at := &script{}, time.Now().Add(time.Hour)
	x := &Exchange{}
	x.Extend(at)
	x.reading = conn
	x.Extend(at)
	if !conn.reads.Equal(at) {
		t.Errorf("extended until %v", conn.reads)
	}
}

// TestReadBody: what is a stream and what is not, and what has no body.
func TestReadBody(t *testing.T) {
	const most = 8
	for _, c := range []struct {
		what, answer, body, left string
		used                     bool
		err                      error
	}{
		{"no content", answer("204 No Content", ofLines, "more"), "", "more", false, nil},
		{"not modified", answer("304 Not Modified", ofLines, "more"), "", "more", false, nil},
		{"another protocol", answer("101 Switching Protocols", "", "more"), "", "more", false, nil},
		{"JSON", answer("200 OK", ofJSON+"Content-Length: 2\r\n", "{}more"), "{}", "more", false, nil},
		{"JSON in chunks", answer("200 OK", ofJSON+inChunks, "2\r\n{}\r\n0\r\n\r\nmore"), "{}", "more", false, nil},
		{"JSON in chunks, cut off", answer("200 OK", ofJSON+inChunks, "2\r\n{}\r\n0\r\n"), "{}", "", false, io.ErrUnexpectedEOF},
		{"JSON, too long", answer("200 OK", ofJSON+inChunks, "9\r\n123456789\r\n0\r\n\r\n"), "", "", false, fasthttp.ErrBodyTooLarge},
		{"lines of a length", answer("200 OK", ofLines+"Content-Length: 3\r\n", "{}\nmore"), "{}\n", "more", false, nil},
		{"lines of no length", answer("200 OK", ofLines+"Content-Length: 0\r\n", "more"), "", "more", false, nil},
		{"lines in chunks", answer("200 OK", ofLines+inChunks, "3\r\n{}\n\r\n1\r\n{\r\n0\r\n\r\nmore"), "{}\n{", "more", false, nil},
		{"lines in chunks, trailers cut off", answer("200 OK", ofLines+inChunks, "3\r\n{}\n\r\n0\r\n"), "{}\n", "", false, io.ErrUnexpectedEOF},
		{"lines to the end", answer("200 OK", ofLines, "{}\n{}"), "{}\n{}", "", true, nil},
		{"as many as may be", answer("200 OK", ofLines, "1234567\n"), "1234567\n", "", true, nil},
		{"one more", answer("200 OK", ofLines, "12345678\n"), "", "", true, fasthttp.ErrBodyTooLarge},
		{"no answer", "", "", "", false, io.EOF},
	} {
		x, conn := &Exchange{}, &script{}
		br := bufio.NewReader(strings.NewReader(c.answer))
		err := x.readBody(conn, br, &Limits{Deadline: time.Now().Add(time.Minute)}, most)
		left, _ := io.ReadAll(br)
		if (err == nil) != (c.err == nil) || !errors.Is(err, c.err) || err == nil && (string(x.response.Body()) != c.body || string(left) != c.left) {
			t.Errorf("%s: %q, left %q, %v; want %q, %q, %v", c.what, x.response.Body(), left, err, c.body, c.left, c.err)
		}
		if used := x.response.ConnectionClose(); used != c.used || x.GoesOn {
			t.Errorf("%s: used up %v, goes on %v", c.what, used, x.GoesOn)
		}
	}
}

// TestReadStream: a stream that has not ended in time is given as far as its events are
// whole, a packed one as it is; any other fault is one.
func TestReadStream(t *testing.T) {
	other, late := errors.New("reset"), error(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}) // as connections say it
	for _, c := range []struct {
		what, sent string
		packed     bool
		fail       error
		body       string
		goesOn     bool
		err        error
	}{
		{"whole events", "a\nb\n", false, late, "a\nb\n", true, nil},
		{"half of one", "a\nb", false, late, "a\n", true, nil},
		{"none whole", "a", false, late, "", false, os.ErrDeadlineExceeded},
		{"nothing", "", false, late, "", false, os.ErrDeadlineExceeded},
		{"packed", "ab", true, late, "ab", true, nil},
		{"packed, nothing", "", true, late, "", false, os.ErrDeadlineExceeded},
		{"broken", "a\n", false, other, "", false, other},
		{"ended", "a\nb", false, io.EOF, "a\nb", false, nil},
	} {
		x, conn := &Exchange{}, &script{fail: c.fail}
		conn.left.Reset(c.sent)
		x.response.Header.SetContentLength(-2)
		if c.goesOn {
			x.response.Header.SetContentLength(-1) // in chunks, which would be read on
		}
		if c.packed {
			x.response.Header.SetContentEncoding("gzip")
		}
		err := x.readStream(conn, bufio.NewReader(conn), conn, "\n", &Limits{Deadline: time.Now().Add(time.Minute)}, 100)
		if (err == nil) != (c.err == nil) || !errors.Is(err, c.err) || x.GoesOn != c.goesOn || err == nil && (string(x.response.Body()) != c.body || !x.response.ConnectionClose()) {
			t.Errorf("%s: %q, goes on %v, %v", c.what, x.response.Body(), x.GoesOn, err)
		}
	}
	// A tenth of the time is left for what comes after, two seconds at most.
	for left, rest := range map[time.Duration]time.Duration{10 * time.Second: time.Second, 20 * time.Second: maxStreamRest, time.Minute: maxStreamRest} {
		x, conn, deadline := &Exchange{}, &script{fail: io.EOF}, time.Now().Add(left)
		x.response.Header.SetContentLength(-2)
		if err := x.readStream(conn, bufio.NewReader(conn), conn, "\n", &Limits{Deadline: deadline}, 100); err != nil {
			t.Error(err)
		}
		if got := deadline.Sub(conn.reads); got > rest || got < rest-100*time.Millisecond {
			t.Errorf("of %v are %v left, want %v", left, got, rest)
		}
	}
	x, conn := &Exchange{}, &script{undated: other, fail: io.EOF}
	if err := x.readStream(conn, bufio.NewReader(conn), conn, "\n", &Limits{Deadline: time.Now().Add(time.Minute)}, 100); !errors.Is(err, other) {
		t.Errorf("a connection that takes no deadline: %v", err)
	}
}

// TestConnections: when the connection of one exchange is used for the next, and that its
// deadline is the call's.
func TestConnections(t *testing.T) {
	ok := answer("200 OK", "Content-Length: 2\r\n", "ok")
	for _, c := range []struct {
		what   string
		answer string
		change func(x *Exchange, c *Cancel)
		dials  int
		body   string
	}{
		{"plain", ok, nil, 1, "ok"},
		{"in chunks", answer("200 OK", inChunks, "2\r\nok\r\n0\r\n\r\n"), nil, 1, "ok"},
		{"no content", answer("204 No Content", "", ""), nil, 1, ""},
		{"the server closes", answer("200 OK", "Connection: close\r\nContent-Length: 2\r\n", "ok"), nil, 2, "ok"},
		{"something follows", ok + "x", nil, 2, "ok"},
		{"the request closes", ok, func(x *Exchange, _ *Cancel) { x.Request.SetConnectionClose() }, 2, "ok"},
		{"a head", answer("200 OK", "Content-Length: 2\r\n", ""), func(x *Exchange, _ *Cancel) { x.Request.Header.SetMethod("HEAD") }, 1, ""},
		{"events", answer("200 OK", ofEvents+inChunks, "1\r\nx\r\n0\r\n\r\n"), func(x *Exchange, _ *Cancel) {
			x.Events = func(_ int, r io.Reader) error { _, err := io.ReadAll(r); return err }
		}, 1, ""},
		{"cancelled while it ran", answer("200 OK", ofEvents+inChunks, "1\r\nx\r\n0\r\n\r\n"), func(x *Exchange, c *Cancel) {
			x.Events = func(_ int, r io.Reader) error { _, err := io.ReadAll(r); c.Cancel(); return err }
		}, 2, ""},
	} {
		var conns []*script
		client := newClient(t, Options{Dial: func(string, time.Duration) (net.Conn, error) {
			conns = append(conns, &script{answers: []string{c.answer, c.answer}, fail: io.EOF})
			return conns[len(conns)-1], nil
		}})
		base := mustBase(t, "http://api.example")
		for range 2 {
			var x Exchange
			var cancel Cancel
			x.Request.SetRequestURIBytes(base.AppendURL(nil, []byte("/")))
			if c.change != nil {
				c.change(&x, &cancel)
			}
			deadline := time.Now().Add(time.Minute)
			if err := client.Do(&x, base, Limits{Deadline: deadline, Cancel: &cancel}, nil); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			if got := string(x.Body()); got != c.body {
				t.Errorf("%s: body %q", c.what, got)
			}
			if got := conns[len(conns)-1].deadline; !got.Equal(deadline) {
				t.Errorf("%s: the deadline is %v, want %v", c.what, got, deadline)
			}
			if len(cancel.conns) != 0 {
				t.Errorf("%s: the connection may still be closed for the call that ended", c.what)
			}
			x.Reset()
		}
		if len(conns) != c.dials || conns[0].closed != (c.dials == 2) {
			t.Errorf("%s: %d connections, the first closed %v", c.what, len(conns), conns[0].closed)
		}
	}
}

// TestBrokenConnections: each fault of a connection is told as what it is, closes it, and is
// tried again for a method that may be.
func TestBrokenConnections(t *testing.T) {
	timeout, reset := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	for what, c := range map[string]struct {
		conn  script
		kind  problem.Kind
		dials int
	}{
		"no answer in time":           {script{fail: timeout}, problem.Timeout, 1},
		"half an answer in time":      {script{answers: []string{"HTTP/1.1 200 OK\r\nContent-Le"}, fail: timeout}, problem.Timeout, 1},
		"reset":                       {script{fail: reset}, problem.Unreachable, maxAttempts},
		"reset in an answer":          {script{answers: []string{answer("200 OK", "Content-Length: 3\r\n", "ok")}, fail: reset}, problem.Unreachable, maxAttempts},
		"reset in chunks":             {script{answers: []string{answer("200 OK", inChunks, "2\r\no")}, fail: reset}, problem.Unreachable, maxAttempts},
		"no chunk":                    {script{answers: []string{answer("200 OK", inChunks, "zz\r\no")}, fail: io.EOF}, problem.UpstreamMalformed, 1},
		"closed":                      {script{fail: io.EOF}, problem.Unreachable, maxAttempts},
		"no request in time":          {script{unwritt: timeout}, problem.Timeout, 1},
		"it takes no request":         {script{unwritt: io.EOF}, problem.Unreachable, maxAttempts},
		"it takes no deadline":        {script{undated: io.EOF, answers: []string{answer("200 OK", "Content-Length: 0\r\n", "")}}, problem.Unreachable, maxAttempts},
		"too many before the answer":  {script{answers: []string{strings.Repeat(answer("103 Early", "", ""), maxInterim+1)}, fail: io.EOF}, problem.UpstreamMalformed, 1},
		"so many that may be before":  {script{answers: []string{strings.Repeat(answer("103 Early", "", ""), maxInterim) + answer("200 OK", "Content-Length: 0\r\n", "")}, fail: io.EOF}, "", 1},
		"less than what is announced": {script{answers: []string{answer("200 OK", "Content-Length: 3\r\n", "ok")}, fail: io.EOF}, problem.UpstreamMalformed, 1},
	} {
		for _, method := range []string{"GET", "POST"} {
			var conns []*script
			client := newClient(t, Options{Dial: func(string, time.Duration) (net.Conn, error) {
				s := &script{answers: c.conn.answers, fail: c.conn.fail, unwritt: c.conn.unwritt, undated: c.conn.undated}
				conns = append(conns, s)
				return s, nil
			}})
			_, _, err := do(t, client, mustBase(t, "http://api.example"), method, "/", Limits{}, nil)
			want := c.dials
			if method == "POST" {
				want = 1
			}
			if c.kind == "" && err != nil || c.kind != "" && !problem.Is(err, c.kind) || len(conns) != want {
				t.Errorf("%s, %s: %v after %d connections, want %s after %d", what, method, err, len(conns), c.kind, want)
			}
			if middle := err != nil && strings.Contains(err.Error(), "in the middle of its answer"); middle != strings.HasPrefix(what, "reset in") {
				t.Errorf("%s, %s: %v", what, method, err)
			}
			if conns[0].closed != (c.kind != "") {
				t.Errorf("%s, %s: closed %v", what, method, conns[0].closed)
			}
		}
	}
	// Nothing is dialed for a call whose time is up, nor for one that was cancelled while
	// it waited for its connection anything sent.
	var conn *script
	var cancel Cancel
	client := newClient(t, Options{MaxConns: 1, Dial: func(string, time.Duration) (net.Conn, error) {
		cancel.Cancel()
		conn = &script{fail: io.EOF, answers: []string{answer("200 OK", "Content-Length: 2\r\n", "ok")}}
		return conn, nil
	}})
	if _, _, err := do(t, client, mustBase(t, "http://api.example"), "GET", "/", Limits{Deadline: time.Now()}, nil); !problem.Is(err, problem.Timeout) || conn != nil {
		t.Errorf("%v, dialed %v", err, conn != nil)
	}
	if _, _, err := do(t, client, mustBase(t, "http://api.example"), "GET", "/", Limits{Cancel: &cancel}, nil); !problem.Is(err, problem.Cancelled) || conn.sent.Len() != 0 {
		t.Errorf("%v, sent %q", err, conn.sent.String())
	}
	// The connection is free for the next call.
	if _, body, err := do(t, client, mustBase(t, "http://api.example"), "GET", "/", Limits{}, nil); err != nil || body != "ok" {
		t.Errorf("%q, %v", body, err)
	}
	// It is closed when the client is, and when its pool makes room.
	if client.Close(); !conn.closed {
		t.Error("an idle connection is open after Close")
	}
	if _, _, err := do(t, client, mustBase(t, "http://api.example"), "GET", "/", Limits{}, nil); err != nil {
		t.Error(err)
	}
	if client.evictLocked(); !conn.closed || len(client.hosts) != 0 {
		t.Error("an idle connection is open though its pool is gone")
	}

	// What was cancelled while it ran is not tried again.
	var again Cancel
	dials := 0
	client = newClient(t, Options{Dial: func(string, time.Duration) (net.Conn, error) {
		dials++
		return &script{fail: io.EOF, written: again.Cancel}, nil
	}})
	if _, _, err := do(t, client, mustBase(t, "http://api.example"), "GET", "/", Limits{Cancel: &again}, nil); !problem.Is(err, problem.Cancelled) || dials != 1 {
		t.Errorf("%v after %d connections", err, dials)
	}
	// A pool is in use while an exchange runs.
	var x Exchange
	client = newClient(t, Options{Dial: func(string, time.Duration) (net.Conn, error) {
		return &script{fail: io.EOF, answers: []string{answer("200 OK", ofEvents+inChunks, "0\r\n\r\n")}}, nil
	}})
	running := func() (n int64) {
		for _, h := range client.hosts {
			n += h.running.Load()
		}
		return n
	}
	x.Request.SetRequestURI("http://api.example/")
	x.Events = func(_ int, r io.Reader) error {
		if n := running(); n != 1 {
			t.Errorf("%d exchanges run", n)
		}
		_, err := io.ReadAll(r)
		return err
	}
	if err := client.Do(&x, mustBase(t, "http://api.example"), Limits{}, nil); err != nil || running() != 0 {
		t.Errorf("%v, %d exchanges run", err, running())
	}
}

// TestUnpack: the limit holds before and after decompression, to the byte.
func TestUnpack(t *testing.T) {
	const text = "data: 1\n\ndata: 2\n\nda"
	gz, br, fl := fasthttp.AppendGzipBytes(nil, []byte(text)), fasthttp.AppendBrotliBytes(nil, []byte(text)), fasthttp.AppendDeflateBytes(nil, []byte(text))
	var unwrapped bytes.Buffer
	fw, _ := flate.NewWriter(&unwrapped, flate.BestSpeed)
	_, _ = fw.Write([]byte(text))
	_ = fw.Close()
	raw := unwrapped.Bytes()
	for _, c := range []struct {
		encoding, body string
		limit          int
		goesOn         bool
		want           string
		kind           problem.Kind
	}{
		{"", text, len(text), false, text, ""},
		{"", text, len(text) - 1, false, "", problem.UpstreamTooLarge},
		{"identity", text, 100, false, text, ""},
		{" Identity ", text, 100, false, text, ""},
		{"gzip", "", 100, false, "", ""},
		{"gzip", string(gz), 100, false, text, ""},
		{" GZIP ", string(gz), 100, false, text, ""},
		{"x-gzip", string(gz), 100, false, text, ""},
		{"br", string(br), 100, false, text, ""},
		{"deflate", string(fl), 100, false, text, ""},
		{"deflate", string(raw), 100, false, text, ""},
		{"deflate", "\x78\x03\x00\xfc\xffabc\x01\x00\x00\xff\xff", 100, false, "abc", ""}, // it begins nearly as zlib does
		{"deflate", string(raw), len(text) - 1, false, "", problem.UpstreamTooLarge},
		{"deflate", string(raw[:len(raw)-3]), 100, false, "", problem.UpstreamMalformed},
		{"br", string(gz), 100, false, "", problem.UpstreamMalformed},
		{"gzip", text, 100, false, text, ""}, // a proxy unpacked it and left the header
		{"gzip", text, len(text) - 1, false, "", problem.UpstreamTooLarge},
		{"gzip", text + "\x00", 100, false, "", problem.UpstreamMalformed},
		{"utf-8", text, 100, false, text, ""},
		{"zstd", "(\xb5/\xfd", 100, false, "", problem.UpstreamMalformed},
		{"zstd", text, 100, true, "", problem.UpstreamMalformed},
		{"", string(gz), 100, false, text, ""}, // gzip that does not say so
		{"", string(gz[:len(gz)-9]), 100, false, "", problem.UpstreamMalformed},
		{"", string(gz), len(text) - 1, false, "", problem.UpstreamTooLarge},
		{"gzip", string(gz[:len(gz)-9]), 100, false, "", problem.UpstreamMalformed},
		{"gzip", string(gz), 100, true, "data: 1\n\ndata: 2\n\n", ""},
		{"gzip", string(gz[:len(gz)-9]), 100, true, "data: 1\n\ndata: 2\n\n", ""},
		{"gzip", string(gz[:10]), 100, true, "", problem.Timeout},
		{"gzip", text, 100, true, "", problem.UpstreamMalformed},
		{"br", ";", 100, false, "", ""}, // nothing, packed as something that reads as text
		{"br", string(br[:len(br)-3]), 100, true, "data: 1\n\ndata: 2\n\n", ""},
		{"br", "\xff\xff" + text, 100, true, "", problem.UpstreamMalformed},
		{"deflate", text, 100, true, "", problem.UpstreamMalformed},
	} {
		var x Exchange
		x.response.SetBodyString(c.body)
		x.response.Header.SetContentType("text/event-stream")
		x.response.Header.SetContentEncoding(c.encoding)
		x.GoesOn = c.goesOn
		err := x.unpack("a:1", Limits{MaxBody: int64(c.limit)})
		if c.kind == "" && (err != nil || string(x.Body()) != c.want) || c.kind != "" && !problem.Is(err, c.kind) {
			t.Errorf("%q of %q, limit %d: %q, %v", c.encoding, c.body, c.limit, x.Body(), err)
		}
		if c.kind == problem.Timeout && x.GoesOn {
			t.Error("a stream without a whole event goes on")
		}
	}
	// Whatever part of a packed stream has come, it is given or not in time, never broken.
	for encoding, packed := range map[string][]byte{"gzip": gz, "br": br, "deflate": fl, "Deflate": raw} {
		for n := 1; n <= len(packed); n++ {
			var x Exchange
			x.response.SetBody(packed[:n])
			x.response.Header.SetContentType("text/event-stream")
			x.response.Header.SetContentEncoding(encoding)
			x.GoesOn = true
			if err := x.unpack("a:1", Limits{MaxBody: 100}); err != nil && !problem.Is(err, problem.Timeout) || err == nil && !strings.HasPrefix(text, string(x.Body())) {
				t.Errorf("%d bytes of %s: %q, %v", n, encoding, x.Body(), err)
			}
		}
	}
	zeros := strings.Repeat("0", 1000)
	packed := fasthttp.AppendGzipBytes(nil, []byte(zeros))
	for limit, ok := range map[int64]bool{1000: true, 999: false} {
		var x Exchange
		x.response.SetBody(packed)
		x.response.Header.SetContentEncoding("gzip")
		if err := x.unpack("a:1", Limits{MaxBody: limit}); ok && (err != nil || string(x.Body()) != zeros) || !ok && !problem.Is(err, problem.UpstreamTooLarge) {
			t.Errorf("limit %d: %d bytes, %v", limit, len(x.Body()), err)
		}
		for range 2 { // memory of one answer takes the next
			x.ResetAnswer()
			if x.packed || x.GoesOn || x.Redirects != 0 || len(x.Body()) != 0 || x.Status() != 200 {
				t.Error("something is left of an answer")
			}
		}
	}
}

// TestReset: nothing of an exchange is left for the next, but memory of usual size.
func TestReset(t *testing.T) {
	for over := range 2 {
		x := &Exchange{plain: make([]byte, keepBody+over), packed: true, Redirects: 3, Repeatable: true, Standing: true, GoesOn: true}
		x.Events = func(int, io.Reader) error { return nil }
		x.Request.SetBodyString("body")
		x.Request.Header.Set("A", "b")
		x.response.SetStatusCode(500)
		x.response.Header.Set("A", "b")
		x.Reset()
		if x.packed || x.Redirects != 0 || x.Repeatable || x.Standing || x.GoesOn || x.Events != nil || len(x.plain) != 0 {
			t.Errorf("left: %+v", x)
		}
		if (cap(x.plain) > 0) != (over == 0) {
			t.Errorf("%d bytes are kept", cap(x.plain))
		}
		if len(x.Request.Body()) != 0 || x.Request.Header.Peek("A") != nil || x.Status() != 200 || x.Header("A") != nil || len(x.Body()) != 0 {
			t.Error("something is left of the request or its answer")
		}
	}
}
