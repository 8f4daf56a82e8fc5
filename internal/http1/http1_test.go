package http1_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/http1"
	"github.com/sluicegate/sluice/internal/http1/http1test"
)

const (
	headBytes = 16 << 10
	maxBody   = 1 << 20
)

// options are those of the tests, where nothing else is said.
func options(bodies bool) http1.Options {
	return http1.Options{HeadBytes: headBytes, HeadTime: 10 * time.Second, Bodies: bodies}
}

func listen(t testing.TB, o http1.Options) *http1.Listener {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return http1.Listen(ln, o)
}

// echo answers /next, and POST /echo with what it received, when the header X-Ask
// asks for that before anything of the body is read.
func echo(rc *fasthttp.RequestCtx) {
	c, ok := rc.Conn().(*http1.Conn)
	if !ok {
		panic("not one of ours")
	}
	defer func() {
		c.FreeBody()
		if !c.Drop() {
			rc.SetConnectionClose()
		}
	}()
	switch {
	case string(rc.Path()) == "/next":
		rc.SetBodyString("next")
	case string(rc.Request.Header.Peek("X-Refuse")) != "":
		rc.SetStatusCode(http.StatusUnauthorized)
	default:
		c.Admit()
		body, err := c.Body(maxBody)
		var e *http1.Error
		switch {
		case errors.As(err, &e):
			rc.SetStatusCode(e.Status)
		case errors.Is(err, http1.ErrTooLarge):
			rc.SetStatusCode(http.StatusRequestEntityTooLarge)
		case errors.Is(err, http1.ErrBusy):
			rc.SetStatusCode(http.StatusServiceUnavailable)
		case err != nil:
			rc.SetStatusCode(http.StatusRequestTimeout)
		default:
			rc.SetBody(append([]byte(strconv.FormatInt(c.Length(), 10)+" "+string(rc.Method())+" "+string(rc.RequestURI())+" "), body...))
		}
	}
}

// serveFast runs echo behind a Listener, as the gateway does.
func serveFast(t testing.TB, o http1.Options) *http1.Listener {
	t.Helper()
	ln := listen(t, o)
	s := &fasthttp.Server{
		Handler: echo, ReadBufferSize: headBytes, ReduceMemoryUsage: true, ReadTimeout: 20 * time.Second, CloseOnShutdown: true,
		Logger: quiet{}, ErrorHandler: func(rc *fasthttp.RequestCtx, err error) {
			if c, ok := rc.Conn().(*http1.Conn); ok {
				c.Drop()
			}
			rc.SetStatusCode(http.StatusBadRequest)
			if e := new(http1.Error); errors.As(err, &e) {
				rc.SetStatusCode(e.Status)
			}
		},
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(), <-done); err != nil {
			t.Error(err)
		}
	})
	return ln
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// serveNet runs the same behind net/http, as the admin listener does.
func serveNet(t testing.TB, o http1.Options) *http1.Listener {
	t.Helper()
	ln := listen(t, o)
	s := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ConnState: http1.ConnState,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/next" {
				fmt.Fprint(w, "next")
				return
			}
			if r.Header.Get("X-Refuse") != "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			fmt.Fprintf(w, "%d %s %s %s", r.ContentLength, r.Method, r.RequestURI, body)
		}),
	}
	return serveOn(t, ln, s)
}

// serveOn runs s until the test ends.
func serveOn(t testing.TB, ln *http1.Listener, s *http.Server) *http1.Listener {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return ln
}

// servers are the two kinds of server that stand behind a Listener.
var servers = []struct {
	name  string
	serve func(testing.TB, http1.Options) *http1.Listener
	raw   bool
}{{"fasthttp", serveFast, false}, {"net", serveNet, true}}

func TestSmuggling(t *testing.T) {
	if n := len(http1test.Cases()); n < 60 {
		t.Fatalf("%d cases", n)
	}
	for _, s := range servers {
		t.Run("server="+s.name, func(t *testing.T) {
			addr := s.serve(t, options(s.raw)).Addr().String()
			http1test.Check(t, http1test.Target{Addr: addr, Host: "gw.example", Path: "/echo", Next: "/next"})
			// A server that answers without reading the body must not take it for a request.
			http1test.Check(t, http1test.Target{Addr: addr, Host: "gw.example", Path: "/echo", Next: "/next", Head: "X-Refuse: 1\r\n"})
		})
	}
}

// talk sends raw, ends its side and returns everything that comes back, as
// "status body" of each answer.
func talk(t testing.TB, addr, raw string) []string {
	t.Helper()
	var out []string
	for _, a := range http1test.Talk(t, addr, raw) {
		out = append(out, strings.TrimSpace(strconv.Itoa(a.Status)+" "+a.Body))
	}
	return out
}

// TestHonest: what is unusual and allowed is served, and framed as it says.
func TestHonest(t *testing.T) {
	const end = "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"
	for _, s := range servers {
		t.Run("server="+s.name, func(t *testing.T) {
			addr := s.serve(t, options(s.raw)).Addr().String()
			f := func(name, raw string, want ...string) {
				t.Helper()
				if got := talk(t, addr, raw+end); strings.Join(got, "|") != strings.Join(append(want, "200 next"), "|") {
					t.Errorf("%s: %q, want %q and the next", name, got, want)
				}
			}
			post := func(lines string) string { return "POST /echo HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n" }
			f("no body", post(""), "200 0 POST /echo")
			f("a length", post("Content-Length: 2\r\n")+"{}", "200 2 POST /echo {}")
			f("a length of nought", post("Content-Length: 0\r\n"), "200 0 POST /echo")
			f("zeros in front", post("Content-Length: 000000000000000002\r\n")+"{}", "200 2 POST /echo {}")
			f("white space around", post("Content-Length: \t 2 \t\r\n")+"{}", "200 2 POST /echo {}")
			f("no white space", post("Content-Length:2\r\n")+"{}", "200 2 POST /echo {}")
			f("other letters", post("cOnTeNt-LeNgTh: 2\r\n")+"{}", "200 2 POST /echo {}")
			f("chunks", post("Transfer-Encoding: chunked\r\n")+"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", "200 -1 POST /echo {}")
			f("chunks in other letters", post("transfer-encoding: CHUNKED\r\n")+"2\r\n{}\r\n0\r\n\r\n", "200 -1 POST /echo {}")
			f("extensions", post("Transfer-Encoding: chunked\r\n")+"2;a=b;c=\"d e\\\"\\\\\"\r\n{}\r\n0;x\r\n\r\n", "200 -1 POST /echo {}")
			f("an extension of the longest", post("Transfer-Encoding: chunked\r\n")+"2;"+strings.Repeat("x", 255)+"\r\n{}\r\n0\r\n\r\n", "200 -1 POST /echo {}")
			f("a size of fifteen digits", post("Transfer-Encoding: chunked\r\n")+"000000000000002\r\n{}\r\n0\r\n\r\n", "200 -1 POST /echo {}")
			f("trailers", post("Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n")+"2\r\n{}\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n", "200 -1 POST /echo {}")
			f("no chunk but the last", post("Transfer-Encoding: chunked\r\n")+"0\r\n\r\n", "200 -1 POST /echo")
			f("a request as a body", post("Content-Length: "+strconv.Itoa(len(end))+"\r\n")+end, "200 "+strconv.Itoa(len(end))+" POST /echo "+strings.TrimSpace(end))
			f("an empty line first", "\r\n"+post("Content-Length: 2\r\n")+"{}", "200 2 POST /echo {}")
			f("absolute form", "POST http://H/echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", "200 2 POST http://H/echo {}")
			f("a port", "POST /echo HTTP/1.1\r\nHost: h:65535\r\nContent-Length: 2\r\n\r\n{}", "200 2 POST /echo {}")
			f("an IPv6 address", "POST /echo HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 2\r\n\r\n{}", "200 2 POST /echo {}")
			f("an escape", "POST /echo?%c3%A9 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", "200 2 POST /echo?%c3%A9 {}")
			f("other letters in a value", post("X: caf\xc3\xa9\r\nContent-Length: 2\r\n")+"{}", "200 2 POST /echo {}")
			f("an empty value", post("X:\r\nContent-Length: 2\r\n")+"{}", "200 2 POST /echo {}")
			f("a method of thirty-two letters", strings.Repeat("G", 32)+" /echo HTTP/1.1\r\nHost: h\r\n\r\n", "200 0 "+strings.Repeat("G", 32)+" /echo")
			f("the largest body", post("Content-Length: "+strconv.Itoa(maxBody)+"\r\n")+strings.Repeat("x", maxBody), "200 "+strconv.Itoa(maxBody)+" POST /echo "+strings.Repeat("x", maxBody))
			f("a large body of one chunk", post("Transfer-Encoding: chunked\r\n")+fmt.Sprintf("%x\r\n", maxBody)+strings.Repeat("x", maxBody)+"\r\n0\r\n\r\n", "200 -1 POST /echo "+strings.Repeat("x", maxBody))
			f("a large body of many chunks", post("Transfer-Encoding: chunked\r\n")+strings.Repeat("400\r\n"+strings.Repeat("y", 1024)+"\r\n", 100)+"0\r\n\r\n", "200 -1 POST /echo "+strings.Repeat("y", 100<<10))
			f("chunks of a byte", post("Transfer-Encoding: chunked\r\n")+strings.Repeat("1\r\nz\r\n", 9000)+"0\r\n\r\n", "200 -1 POST /echo "+strings.Repeat("z", 9000))
			pad := headBytes - len(post("X: \r\nContent-Length: 2\r\n"))
			f("the largest head", post("X: "+strings.Repeat("h", pad)+"\r\nContent-Length: 2\r\n")+"{}", "200 2 POST /echo {}")
			if got := talk(t, addr, post("X: "+strings.Repeat("h", pad+1)+"\r\nContent-Length: 2\r\n")+"{}"); len(got) != 1 || !strings.HasPrefix(got[0], "431") {
				t.Errorf("a head one byte larger: %q", got)
			}
			// HTTP/1.0 ends the connection.
			if got := talk(t, addr, "POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}"); len(got) != 1 || got[0] != "200 2 POST /echo {}" {
				t.Errorf("HTTP/1.0: %q", got)
			}
		})
	}
}

// TestUnread: a body that is answered unread ends the connection unless it had come,
// and the answer arrives.
func TestUnread(t *testing.T) {
	addr := serveFast(t, options(false)).Addr().String()
	const refused = "POST /echo HTTP/1.1\r\nHost: h\r\nX-Refuse: 1\r\n"
	const end = "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"
	f := func(name, raw string, want ...string) {
		t.Helper()
		if got := talk(t, addr, raw); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f("a small body", refused+"Content-Length: 2\r\n\r\n{}"+end, "401", "200 next")
	f("small chunks", refused+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"+end, "401", "200 next")
	f("a body that does not come", refused+"Content-Length: 2000000\r\n\r\n", "401")
	f("a body of requests", refused+"Content-Length: 2000000\r\n\r\n"+strings.Repeat(end, 1000), "401")
	f("a body that waits", refused+"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", "401")
	f("a body that is larger than allowed", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: "+strconv.Itoa(maxBody+1)+"\r\n\r\n"+end, "413")
	f("chunks that are larger than allowed", "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"+fmt.Sprintf("%x\r\n", maxBody+1)+end, "413")
}

// TestContinue: a client that waits is told to go on when its body is wanted, and
// only then.
func TestContinue(t *testing.T) {
	addr := serveFast(t, options(false)).Addr().String()
	f := func(lines string, want ...string) {
		t.Helper()
		if got := talk(t, addr, "POST /echo HTTP/1.1\r\nHost: h\r\n"+lines); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
	f("Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", "100", "408") // it never comes
	f("Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n{}", "200 2 POST /echo {}")
	f("Expect: 100-continue\r\nX-Refuse: 1\r\nContent-Length: 2\r\n\r\n", "401")
	f("Expect: 100-continue\r\n\r\n", "200 0 POST /echo")
}

// TestBodyBytes: memory for bodies is bounded for all and for each address, and is
// free again afterwards.
func TestBodyBytes(t *testing.T) {
	var refused atomic.Int64
	o := options(false)
	o.BodyBytes, o.BodyBytesPerAddress = 64<<10, 32<<10
	o.Refused = func(r http1.Reason) {
		if r == http1.Bodies {
			refused.Add(1)
		}
	}
	ln := serveFast(t, o)
	post := func(n int) string {
		t.Helper()
		got := talk(t, ln.Addr().String(), "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: "+strconv.Itoa(n)+"\r\n\r\n"+strings.Repeat("x", n))
		if len(got) != 1 {
			t.Fatalf("%d bytes: %q", n, got)
		}
		return got[0][:3]
	}
	if got := post(16 << 10); got != "200" {
		t.Errorf("a body of the first buffer: %s", got)
	}
	if got := post(32 << 10); got != "200" {
		t.Errorf("a body of all there is for an address: %s", got)
	}
	if got := post(32<<10 + 1); got != "503" || refused.Load() != 1 {
		t.Errorf("a body of too large a buffer: %s, %d refused", got, refused.Load())
	}
	if got := post(16 << 10); got != "200" || ln.BodyBytes() != 0 {
		t.Errorf("afterwards: %s, %d bytes are held", got, ln.BodyBytes())
	}
}
