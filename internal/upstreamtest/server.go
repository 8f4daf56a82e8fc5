package upstreamtest

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// maxRecorded bounds the body of a recorded request.
const maxRecorded = 1 << 20

// Request is what the server received.
type Request struct {
	Method string
	Target string // path and query as on the wire
	Host   string
	Header http.Header
	Body   []byte // at most 1 MiB
}

// Server is a running upstream.
type Server struct {
	*httptest.Server

	mux  *http.ServeMux
	mu   sync.Mutex
	got  []Request // guarded by mu
	done chan struct{}
}

// New starts a server without routes: everything is a 404 in JSON.
func New(t testing.TB) *Server {
	t.Helper()
	s := newServer(t)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.cleanup(t)
	return s
}

// NewTLS starts a server with a certificate that only [httptest.Server.Client]
// trusts.
func NewTLS(t testing.TB) *Server {
	t.Helper()
	s := newServer(t)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug) // clients that refuse the certificate are the point
	s.StartTLS()
	s.cleanup(t)
	return s
}

func newServer(testing.TB) *Server {
	return &Server{mux: http.NewServeMux(), done: make(chan struct{})}
}

func (s *Server) cleanup(t testing.TB) {
	t.Cleanup(func() {
		close(s.done)
		s.CloseClientConnections()
		s.Close()
	})
}

// Addr is the "host:port" of the server.
func (s *Server) Addr() string { return s.Listener.Addr().String() }

// Handle adds a route in the form of [http.ServeMux]: "GET /items/{id}".
func (s *Server) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxRecorded))
	s.mu.Lock()
	s.got = append(s.got, Request{Method: r.Method, Target: r.RequestURI, Host: r.Host, Header: r.Header.Clone(), Body: body})
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	if _, pattern := s.mux.Handler(r); pattern == "" {
		JSON(http.StatusNotFound, `{"message":"no such route"}`).ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Requests returns what arrived so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// Forget drops the requests recorded so far.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = nil
}

// JSON answers with a status and a JSON text.
func JSON(status int, body string) http.Handler { return Text(status, "application/json", body) }

// Text answers with a status, a content type ("": none) and a body.
func Text(status int, contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if contentType == "" {
			w.Header()["Content-Type"] = nil
		} else {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// Echo answers with the request as JSON: method, target, headers, body.
func Echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		//nolint:gosec // a JSON answer of a test server, not a page
		_, _ = fmt.Fprintf(w, `{"method":%q,"target":%q,"authorization":%q,"contentType":%q,"body":%q}`,
			r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), body)
	})
}

// Redirect answers with a status and a Location.
func Redirect(status int, location string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	})
}

// Stall answers nothing until the client gives up or the test ends.
func (s *Server) Stall() http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler)
	})
}

// Drip starts a JSON answer and sends one byte of it each interval, without end.
func (s *Server) Drip(interval time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `["`)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if _, err := io.WriteString(w, "x"); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			case <-s.done:
				panic(http.ErrAbortHandler)
			}
		}
	})
}

// Huge answers with n bytes of valid JSON, in chunks or with a Content-Length.
func Huge(n int64, chunked bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !chunked {
			w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
		}
		writeHuge(w, n)
	})
}

func writeHuge(w io.Writer, n int64) {
	block := bytes.Repeat([]byte("x"), 64<<10)
	_, _ = io.WriteString(w, `"`)
	for left := n - 2; left > 0; {
		m := min(left, int64(len(block)))
		if _, err := w.Write(block[:m]); err != nil {
			return
		}
		left -= m
	}
	_, _ = io.WriteString(w, `"`)
}

// Bomb answers with n bytes of JSON behind a content encoding, gzip or deflate: a
// thousandth of that on the wire.
func Bomb(n int64, encoding string) http.Handler {
	var b bytes.Buffer
	var z io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "deflate" {
		z = zlib.NewWriter(&b)
	}
	writeHuge(z, n)
	_ = z.Close()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", encoding)
		_, _ = w.Write(b.Bytes())
	})
}

// Truncate announces more than it sends, then closes the connection.
func Truncate(announced int, body string) http.Handler {
	return raw(func(c net.Conn) {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", announced, body)
	})
}

// Close closes the connection instead of answering.
func Close() http.Handler { return raw(func(net.Conn) {}) }

// Reset resets the connection (RST) instead of answering.
func Reset() http.Handler {
	return raw(func(c net.Conn) {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
	})
}

// Bytes answers with bytes that need not be HTTP.
func Bytes(b string) http.Handler {
	return raw(func(c net.Conn) { _, _ = io.WriteString(c, b) })
}

// raw hands a handler the connection and closes it afterwards.
func raw(f func(net.Conn)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer c.Close()
		f(c)
	})
}

// Sequence answers each request with the next handler; the last one stays.
func Sequence(handlers ...http.Handler) http.Handler {
	var mu sync.Mutex
	next := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[next]
		next = min(next+1, len(handlers)-1)
		mu.Unlock()
		h.ServeHTTP(w, r)
	})
}
