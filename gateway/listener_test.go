package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/http1/http1test"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

const jsonHead = "Content-Type: application/json\r\n"

// door starts a gateway with the toolset "acme" behind an access document.
func door(t testing.TB, o gatewaytest.Options, doc *registry.AccessDocument) (s *gatewaytest.Stack, up *upstreamtest.Server, addr string) {
	t.Helper()
	up = upstreamtest.New(t)
	s = start(t, o)
	if err := s.Serve(guarded(t, up, 1, doc, getItem())); err != nil {
		t.Fatal(err)
	}
	return s, up, s.Gateway.Addr().String()
}

// TestSmuggling: every request whose framing can be read in two ways gets one answer
// and the end of its connection, whether its sender is let in or not.
func TestSmuggling(t *testing.T) {
	for name, doc := range map[string]*registry.AccessDocument{"open": nil, "token": tokens(tokenGrant("a"))} {
		t.Run("access="+name, func(t *testing.T) {
			_, _, addr := door(t, gatewaytest.Options{}, doc)
			http1test.Check(t, http1test.Target{Addr: addr, Host: "localhost", Path: "/t/acme", Next: "/livez", Head: jsonHead})
		})
	}
	t.Run("unknown toolset", func(t *testing.T) {
		_, _, addr := door(t, gatewaytest.Options{}, nil)
		http1test.Check(t, http1test.Target{Addr: addr, Host: "localhost", Path: "/t/nope", Next: "/livez", Head: jsonHead})
	})
}

// TestPathAsItIs: a toolset has one path. What a proxy in front would have to clean up
// first, to see which toolset is meant, is nobody's.
func TestPathAsItIs(t *testing.T) {
	_, _, addr := door(t, gatewaytest.Options{}, nil)
	status := func(target string) int {
		t.Helper()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		body := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\n%sAccept: application/json, text/event-stream\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", target, addr, jsonHead, len(body), body)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for _, target := range []string{"/t/acme", "/t/acme?a=/../b", "http://" + addr + "/t/acme"} {
		if got := status(target); got != http.StatusOK {
			t.Errorf("%s: %d", target, got)
		}
	}
	for _, target := range []string{
		"//t/acme", "/t//acme", "/t/x/../acme", "/x/../t/acme", "/./t/acme", "/t/./acme", "/t%2facme", "/t%2Facme", "/%74/acme", "/t/%61cme", "/t/acme/..%2facme", "/t/x%2f..%2facme", "/t/%2e/acme",
		"http://" + addr + "//t/acme",
	} {
		if got := status(target); got != http.StatusNotFound && got != http.StatusBadRequest {
			t.Errorf("%s: %d", target, got)
		}
	}
}

// peer is one connection to a gateway, from an address of this machine.
type peer struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, addr, from string) *peer {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 20 * time.Second}
	c, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &peer{t, c, bufio.NewReader(c)}
}

func (p *peer) send(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.Conn, s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) answer() (status int, header http.Header, body string) {
	p.t.Helper()
	resp, err := http.ReadResponse(p.r, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// ended reports whether the gateway closed the connection.
func (p *peer) ended() bool {
	_, err := p.r.Peek(1)
	return err == io.EOF
}

func postHead(path string, length int, more string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more + "Content-Length: " + strconv.Itoa(length) + "\r\n\r\n"
}

// TestAccessBeforeBody: whoever is refused is refused on the headers: not one byte of
// the body is sent here, and the answer comes.
func TestAccessBeforeBody(t *testing.T) {
	small := tokenGrant("small")
	small.Limits = &registry.RateLimits{RequestBytes: 1000}
	doc := tokens(tokenGrant("a"), small)
	doc.Limits = &registry.RateLimits{RequestBytes: 2000}
	_, _, addr := door(t, gatewaytest.Options{MaxRequest: 10_000}, doc)
	const a, b = "Authorization: Bearer slt_a\r\n", "Authorization: Bearer slt_small\r\n"
	const chunked = "POST /t/acme HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
	for _, c := range []struct {
		name, head string
		status     int
	}{
		{"no token", postHead("/t/acme", 4<<20, jsonHead), 401},
		{"no token, chunks", chunked + jsonHead + "\r\n", 401},
		{"no token, waiting", postHead("/t/acme", 4<<20, jsonHead+"Expect: 100-continue\r\n"), 401},
		{"wrong token", postHead("/t/acme", 4<<20, jsonHead+"Authorization: Bearer slt_x\r\n"), 401},
		{"unknown toolset", postHead("/t/nope", 4<<20, jsonHead+a), 404},
		{"another path", postHead("/", 4<<20, jsonHead+a), 404},
		{"another Origin", postHead("/t/acme", 1000, jsonHead+a+"Origin: https://evil.example\r\n"), 403},
		{"another method", strings.Replace(postHead("/t/acme", 1000, jsonHead+a), "POST", "PUT", 1), 405},
		{"another type", postHead("/t/acme", 1000, "Content-Type: text/plain\r\n"+a), 415},
		{"larger than the toolset's limit", postHead("/t/acme", 2001, jsonHead+a), 413},
		{"larger than the token's limit", postHead("/t/acme", 1001, jsonHead+b), 413},
	} {
		p := dial(t, addr, "127.0.0.1")
		p.send(c.head)
		if status, _, _ := p.answer(); status != c.status || !p.ended() {
			t.Errorf("%s: %d, want %d and the end", c.name, status, c.status)
		}
	}
	// Chunks have no length to be judged by; they are read up to the limit.
	ping := func(n int) string {
		const s = `{"jsonrpc":"2.0","id":1,"method":"ping"`
		return s + strings.Repeat(" ", n-len(s)-1) + "}"
	}
	for _, c := range []struct{ n, status int }{{1000, 200}, {1001, 413}} {
		p := dial(t, addr, "127.0.0.1")
		p.send(chunked + jsonHead + b + "\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", c.n, ping(c.n)))
		if status, _, _ := p.answer(); status != c.status {
			t.Errorf("chunks of %d bytes of 1000: %d, want %d", c.n, status, c.status)
		}
	}
	// A refused body that came with its head leaves the connection as it is.
	p := dial(t, addr, "127.0.0.1")
	p.send(postHead("/t/acme", 100, jsonHead) + ping(100))
	if status, _, _ := p.answer(); status != 401 {
		t.Fatalf("without a token: %d", status)
	}
	p.send(postHead("/t/acme", 100, jsonHead+a) + ping(100))
	if status, _, body := p.answer(); status != 200 {
		t.Fatalf("the same connection with a token: %d %s", status, body)
	}
	// Who waits to be told is told when it is let in.
	p = dial(t, addr, "127.0.0.1")
	p.send(postHead("/t/acme", 100, jsonHead+a+"Expect: 100-continue\r\n"))
	if status, _, _ := p.answer(); status != 100 {
		t.Fatalf("waiting with a token: %d", status)
	}
	p.send(ping(100))
	if status, _, _ := p.answer(); status != 200 {
		t.Fatalf("and going on: %d", status)
	}
}

// metric is the value of a series, 0 when it is not there.
func metric(s *gatewaytest.Stack, series string) float64 {
	var b bytes.Buffer
	s.Gateway.WritePrometheus(&b)
	for line := range strings.Lines(b.String()) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return v
		}
	}
	return 0
}

// TestBodyBudget: bodies of callers who were let in take a bounded memory, of all
// addresses and of each, and small calls are served beside it.
func TestBodyBudget(t *testing.T) {
	const size = 128 << 10 // 4 of them for one address, 16 for all
	s, _, addr := door(t, gatewaytest.Options{MaxRequest: size}, nil)
	const held = `sluice_http_body_bytes{listener="gateway"}`
	half := strings.Repeat(" ", size-1)
	var open []*peer
	for i := range 4 { // all but the last byte: each holds its buffer
		p := dial(t, addr, "127.0.0.2")
		p.send(postHead("/t/acme", size, jsonHead) + half)
		open = append(open, p)
		for metric(s, held) != float64((i+1)*size) {
			runtime.Gosched() // until it has arrived
		}
	}
	p := dial(t, addr, "127.0.0.2")
	p.send(postHead("/t/acme", size, jsonHead) + half)
	if status, h, _ := p.answer(); status != 503 || h.Get("Retry-After") == "" {
		t.Fatalf("the fifth large body of an address: %d, Retry-After %q", status, h.Get("Retry-After"))
	}
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		p := dial(t, addr, from)
		p.send(postHead("/t/acme", 40, jsonHead) + `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if status, _, body := p.answer(); status != 200 {
			t.Errorf("a small call from %s meanwhile: %d %s", from, status, body)
		}
	}
	p = dial(t, addr, "127.0.0.3")
	p.send(postHead("/t/acme", size, jsonHead) + half + "1")
	if status, _, body := p.answer(); status != 400 { // it is read, and is not a message
		t.Errorf("a large body from another address: %d %s", status, body)
	}
	for _, p := range open {
		p.send("1")
		if status, _, body := p.answer(); status != 400 {
			t.Errorf("a body that was being read: %d %s", status, body)
		}
	}
	if got := metric(s, held); got != 0 {
		t.Errorf("%v bytes are held afterwards", got)
	}
	if got := metric(s, `sluice_http_refused_total{listener="gateway",reason="bodies"}`); got != 1 {
		t.Errorf("%v bodies were counted as refused", got)
	}
}

// TestConnectionBudget: connections that only wait make room for new ones, those with
// a call do not, and who finds no room is told when to come again.
func TestConnectionBudget(t *testing.T) {
	const most = 8 // 6 of them of one address
	s, up, addr := door(t, gatewaytest.Options{MaxConns: most}, nil)
	release := make(chan struct{})
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { close(release) }) })
	arrived := make(chan struct{}, most)
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, "{}")
	}))
	call := callBody("get_item", `{"id":1}`)
	// Strangers that say nothing, more than there is room for.
	for i := range 3 * most {
		dial(t, addr, "127.0.0."+strconv.Itoa(2+i%4))
	}
	var calls []*peer
	for i := range most {
		p := dial(t, addr, "127.0.1."+strconv.Itoa(1+i/4))
		p.send(postHead("/t/acme", len(call), jsonHead) + call)
		<-arrived
		calls = append(calls, p)
	}
	if got := metric(s, `sluice_http_connections{listener="gateway"}`); got != most {
		t.Errorf("%v connections, want %d", got, most)
	}
	p := dial(t, addr, "127.0.0.1")
	if status, h, _ := p.answer(); status != 503 || h.Get("Retry-After") == "" || !p.ended() {
		t.Errorf("one more, when all have calls: %d, Retry-After %q", status, h.Get("Retry-After"))
	}
	once.Do(func() { close(release) })
	for _, p := range calls {
		if status, _, body := p.answer(); status != 200 {
			t.Errorf("a call: %d %s", status, body)
		}
	}
	// Now they only wait.
	p = dial(t, addr, "127.0.0.1")
	p.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if status, _, _ := p.answer(); status != 200 {
		t.Errorf("when all only wait: %d", status)
	}
	if metric(s, `sluice_http_refused_total{listener="gateway",reason="evicted"}`) == 0 ||
		metric(s, `sluice_http_refused_total{listener="gateway",reason="connections"}`) != 1 {
		t.Error("what was turned away was not counted")
	}
}

// TestAddressBudget: one address takes no more than its share.
func TestAddressBudget(t *testing.T) {
	const most = 8 // 6 of them of one address
	_, up, addr := door(t, gatewaytest.Options{MaxConns: most}, nil)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	arrived := make(chan struct{}, most)
	up.Handle("GET /items/{id}", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	call := callBody("get_item", `{"id":1}`)
	for range 6 {
		p := dial(t, addr, "127.0.0.2")
		p.send(postHead("/t/acme", len(call), jsonHead) + call)
		<-arrived
	}
	p := dial(t, addr, "127.0.0.2")
	if status, _, _ := p.answer(); status != 503 {
		t.Errorf("the seventh of an address: %d", status)
	}
	p = dial(t, addr, "127.0.0.3")
	p.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if status, _, _ := p.answer(); status != 200 {
		t.Errorf("another address: %d", status)
	}
}

// TestUnauthenticatedSenders is the small form of TestChaosSenders: many senders of
// large bodies without a token are refused unread, and a caller beside them sees
// nothing of it.
func TestUnauthenticatedSenders(t *testing.T) {
	s, up, addr := door(t, gatewaytest.Options{}, tokens(tokenGrant("a")))
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, `{"id":1}`))
	body := strings.Repeat(" ", 1<<20)
	var senders sync.WaitGroup
	refused := make(chan int, 200)
	for i := range cap(refused) {
		senders.Go(func() {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 2, byte(1+i%20))}}
			c, err := d.DialContext(t.Context(), "tcp", addr)
			if err != nil {
				return
			}
			defer c.Close()
			go func() { _, _ = io.WriteString(c, postHead("/t/acme", len(body), jsonHead)+body) }() // until it is closed
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				_ = resp.Body.Close()
				refused <- resp.StatusCode
			}
		})
	}
	for range 50 {
		if status, answer := post(t, s.URL("acme"), callBody("get_item", `{"id":1}`), "Authorization", "Bearer slt_a"); status != 200 {
			t.Errorf("a caller with a token: %d %s", status, answer)
		}
		if held := metric(s, `sluice_http_body_bytes{listener="gateway"}`); held != 0 {
			t.Fatalf("%v bytes of bodies are held", held)
		}
	}
	senders.Wait()
	close(refused)
	n := 0
	for status := range refused {
		if n++; status != 401 && status != 503 {
			t.Errorf("a sender without a token: %d", status)
		}
	}
	if n == 0 {
		t.Error("no sender got an answer")
	}
}
