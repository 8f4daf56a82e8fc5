package http1

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// stream is a connection from which bytes come in pieces of a size.
type stream struct {
	net.Conn
	b     []byte
	piece int
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.b[:min(s.piece, len(s.b))])
	s.b = s.b[n:]
	return n, nil
}

func (s *stream) Close() error                     { return nil }
func (s *stream) Write(p []byte) (int, error)      { return len(p), nil }
func (s *stream) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (s *stream) SetReadDeadline(time.Time) error  { return nil }
func (s *stream) SetWriteDeadline(time.Time) error { return nil }

// message is a request as a reader saw it.
type message struct{ line, host, body string }

const fuzzBody = 64 << 10

// ours reads requests up to the first that is refused.
func ours(b []byte, piece int, bodies bool) (out []message) {
	l := Listen(nil, Options{HeadBytes: 4 << 10, HeadTime: time.Minute, Bodies: bodies})
	c := &Conn{Conn: &stream{b: b, piece: piece}, l: l}
	p := make([]byte, 8<<10)
	for {
		if c.readHead() != nil {
			return out
		}
		line, _, _ := bytes.Cut(c.buf[c.head.start:c.head.line], []byte("\r\n"))
		m := message{line: string(line), host: string(c.buf[c.head.host.from:c.head.host.to])}
		if bodies { // what the server behind is given
			head := string(c.buf[c.r:c.handed])
			c.r, c.phase = c.head.line, inBody
			var raw []byte
			for {
				n, err := c.passBody(p)
				if err != nil {
					return out
				}
				if raw = append(raw, p[:n]...); n == 0 {
					break
				}
			}
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + string(raw))))
			if err != nil {
				return out
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic("the body that was let through is not read by net/http: " + err.Error())
			}
			m.body = string(body)
		} else {
			// Read as a server that wants the head alone.
			var head []byte
			for c.phase == passHead {
				n, err := c.Read(p)
				if err != nil {
					panic(err)
				}
				head = append(head, p[:n]...)
			}
			lower := strings.ToLower(string(head))
			if !strings.HasSuffix(lower, "\r\n\r\n") || strings.Contains(lower, "\r\ncontent-length:") || strings.Contains(lower, "\r\ntransfer-encoding:") || strings.Contains(lower, "\r\nexpect:") {
				panic("the head says how its body is framed: " + lower)
			}
			body, err := c.Body(fuzzBody)
			if err != nil {
				if l.BodyBytes() != 0 {
					panic("memory is charged for a body that was not read")
				}
				return out
			}
			m.body = string(body)
		}
		c.next()
		if l.BodyBytes() != 0 {
			panic("memory is charged for a body that is gone")
		}
		out = append(out, m)
	}
}

// FuzzFraming: what is let through net/http frames the same: the same requests, with
// the same targets, hosts and bodies, in whatever pieces they come.
func FuzzFraming(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /a?b=%20 HTTP/1.1\r\nHost: h:80\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"\r\nPOST http://h/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.0\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: [::1]:1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\nContent-Length : 3\r\n\r\nabc",
		"POST / HTTP/1.1\nHost: h\n\n",
	} {
		f.Add([]byte(s), 7)
		f.Add([]byte(s), 1000)
	}
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		piece = 1 + piece&0x3ff
		got := ours(bytes.Clone(b), piece, false)
		if again := ours(bytes.Clone(b), 1<<20, false); len(again) != len(got) {
			t.Fatalf("%d requests in pieces of %d, %d at once", len(got), piece, len(again))
		}
		r := bufio.NewReader(bytes.NewReader(b))
		for i, m := range got {
			if p, _ := r.Peek(2); string(p) == "\r\n" { // RFC 9112 §2.2; net/http does not
				_, _ = r.Discard(2)
			}
			req, err := http.ReadRequest(r)
			if err != nil {
				if strings.Contains(err.Error(), "trailer") || strings.Contains(err.Error(), "parse \"") {
					return // it refuses more of what a Trailer header and a URL may say
				}
				t.Fatalf("request %d, %q: net/http refuses it: %v", i, m.line, err)
			}
			if line := req.Method + " " + req.RequestURI + " " + req.Proto; line != m.line {
				t.Fatalf("request %d is %q, for net/http %q", i, m.line, line)
			}
			if req.URL.Host == "" && req.Host != m.host {
				t.Fatalf("request %d is for %q, for net/http %q", i, m.host, req.Host)
			}
			body, err := io.ReadAll(req.Body)
			if err != nil || string(body) != m.body {
				t.Fatalf("request %d has the body %q, for net/http %q, %v", i, m.body, body, err)
			}
		}
		for i, m := range ours(bytes.Clone(b), piece, true) {
			if i >= len(got) || m != got[i] {
				t.Fatalf("request %d is %q to a server that frames bodies itself", i, m)
			}
		}
	})
}
