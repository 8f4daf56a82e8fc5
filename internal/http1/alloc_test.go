//go:build !race

package http1

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// again is a connection that sends one request for ever.
type again struct {
	net.Conn
	b  []byte
	at int
}

func (a *again) Read(p []byte) (int, error) {
	n := copy(p, a.b[a.at:])
	a.at = (a.at + n) % len(a.b)
	return n, nil
}

func (a *again) SetReadDeadline(time.Time) error { return nil }

const usual = "POST /t/acme HTTP/1.1\r\nHost: localhost:7300\r\nUser-Agent: client/1.0\r\nAccept: application/json, text/event-stream\r\n" +
	"Content-Type: application/json\r\nAuthorization: Bearer slt_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nMCP-Protocol-Version: 2026-07-28\r\n" +
	"Mcp-Method: tools/call\r\nMcp-Name: get_item\r\nContent-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

// serveOne is what a server and a handler do with one request.
func serveOne(t testing.TB, c *Conn, p []byte) {
	for {
		if _, err := c.Read(p); err != nil {
			t.Fatal(err)
		}
		if c.phase == inBody {
			break
		}
	}
	if b, err := c.Body(1 << 20); err != nil || len(b) != 40 || !c.Drop() {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	c.FreeBody()
}

func framedOf(request string) (*Conn, []byte) {
	l := Listen(nil, Options{HeadBytes: 16 << 10, HeadTime: time.Minute, BodyBytes: 1 << 20, BodyBytesPerAddress: 1 << 20})
	return &Conn{Conn: &again{b: []byte(request)}, l: l, peer: &peer{}}, make([]byte, 16<<10)
}

// TestReadAllocates nothing: heads that fit the small buffer and those that do not,
// with bodies that came with them, that came later, and in chunks.
func TestReadAllocates(t *testing.T) {
	for name, request := range map[string]string{
		"usual":      usual,
		"large head": strings.Replace(usual, "slt_", "slt_"+strings.Repeat("a", 4000), 1),
		"chunks":     strings.Replace(strings.Replace(usual, "Content-Length: 40", "Transfer-Encoding: chunked", 1), "\r\n\r\n", "\r\n\r\n28\r\n", 1) + "\r\n0\r\n\r\n",
	} {
		c, p := framedOf(request)
		serveOne(t, c, p)
		if n := testing.AllocsPerRun(100, func() { serveOne(t, c, p) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// BenchmarkFasthttp is the baseline: the head as the server behind reads it.
func BenchmarkFasthttp(b *testing.B) {
	var h fasthttp.RequestHeader
	r := bufio.NewReaderSize(&again{b: []byte(usual[:strings.Index(usual, "{")])}, 16<<10)
	b.SetBytes(int64(len(usual)))
	b.ReportAllocs()
	for b.Loop() {
		if err := h.Read(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	c, p := framedOf(usual)
	b.SetBytes(int64(len(usual)))
	b.ReportAllocs()
	for b.Loop() {
		serveOne(b, c, p)
	}
}
