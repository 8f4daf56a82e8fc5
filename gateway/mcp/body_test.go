package mcp

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// longList is a list of tools with at least n bytes.
func longList(n int) []byte {
	return []byte(`[{"name":"echo","description":"` + strings.Repeat("long ", n/5+1) + `"}]`)
}

const listMessage = `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`

// TestLongListsAreShared between the responses: none of them has a copy, and each has
// the same bytes as one that has.
func TestLongListsAreShared(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ts := newStub(t)
	f := func(body, want string, shared bool, headers ...string) {
		t.Helper()
		for _, read := range []func(*fasthttp.Response) ([]byte, error){
			func(r *fasthttp.Response) ([]byte, error) { // to a connection
				var out bytes.Buffer
				n, err := r.BodyStream().(io.WriterTo).WriteTo(&out)
				if int(n) != out.Len() {
					t.Errorf("WriteTo returned %d for %d bytes", n, out.Len())
				}
				return out.Bytes(), err
			},
			func(r *fasthttp.Response) ([]byte, error) { // piece by piece
				return io.ReadAll(struct{ io.Reader }{r.BodyStream()})
			},
		} {
			rc := request(body, headers...)
			s.Serve(rc, ts)
			if rc.Response.IsBodyStream() != shared {
				t.Fatalf("%.80s: shared %t, want %t", body, rc.Response.IsBodyStream(), shared)
			}
			if !shared {
				if got := string(rc.Response.Body()); got != want {
					t.Errorf("%.80s:\ngot  %.200s\nwant %.200s", body, got, want)
				}
				return
			}
			got, err := read(&rc.Response)
			if string(got) != want || err != nil {
				t.Errorf("%.80s: %v\ngot  %.200s\nwant %.200s", body, err, got, want)
			}
			if n := rc.Response.Header.ContentLength(); n != len(want) {
				t.Errorf("%.80s: Content-Length %d, want %d", body, n, len(want))
			}
			if err := rc.Response.CloseBodyStream(); err != nil {
				t.Error(err)
			}
		}
	}
	one := func(id int) string { return fmt.Sprintf(listMessage, id) }
	answer := func(id int) string {
		return `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"result":{"tools":` + string(ts.list) + `}}`
	}
	ts.list = longList(shareFrom)[:shareFrom-1]
	f(one(1), answer(1), false, "MCP-Protocol-Version", "2025-11-25")
	ts.list = longList(shareFrom)[:shareFrom]
	f(one(1), answer(1), true, "MCP-Protocol-Version", "2025-11-25")

	ping := `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	pong := `{"jsonrpc":"2.0","id":7,"result":{}}`
	f("["+strings.Join([]string{one(1), ping, one(2), one(3), one(4), one(5), one(6)}, ",")+"]",
		"["+strings.Join([]string{answer(1), pong, answer(2), answer(3), answer(4), answer(5), answer(6)}, ",")+"]", true)
	f("["+ping+","+one(1)+"]", "["+pong+","+answer(1)+"]", true)

	ts.next = "two"
	f(one(1), strings.Replace(answer(1), "}}", `,"nextCursor":"two"}}`, 1), true, "MCP-Protocol-Version", "2025-11-25")
	f(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"two"}}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, false,
		"MCP-Protocol-Version", "2025-11-25")
}
