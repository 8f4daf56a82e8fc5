//go:build !race

package mcp

import (
	"testing"

	"github.com/valyala/fasthttp"
)

// TestServeAllocates nothing once the pools are warm: scanning, the header rules
// and writing the answer, in both eras.
func TestServeAllocates(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ts := newStub(t)
	f := func(name, body string, headers ...string) {
		t.Helper()
		rc := request(body, headers...)
		if s.Serve(rc, ts); rc.Response.StatusCode() != 200 {
			t.Fatalf("%s: %d %s", name, rc.Response.StatusCode(), rc.Response.Body())
		}
		if n := testing.AllocsPerRun(200, func() { s.Serve(rc, ts); rc.ResetUserValues() }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
	f("modern call", modernCall, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo")
	f("legacy call", legacyCall, "MCP-Protocol-Version", "2025-11-25")
	f("legacy list", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "MCP-Protocol-Version", "2025-11-25")
	ts.list = longList(1 << 20)
	f("long list", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "MCP-Protocol-Version", "2025-11-25")
	f("initialize", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)
}

// TestLongAfterShort: long answers allocate nothing, also where nearly all before were short.
// The pool that fasthttp has for bodies looks at 42,000 of them, and then drops longer ones.
func TestLongAfterShort(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ts := newStub(t)
	rc := request(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "MCP-Protocol-Version", "2025-11-25")
	serve := func() { // and what the server does behind a response
		s.Serve(rc, ts)
		rc.ResetUserValues()
		rc.Response.Reset()
	}
	for range 50_000 {
		serve()
	}
	ts.list = longList(shareFrom / 2)
	if n := testing.AllocsPerRun(200, serve); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestKeepOutput: the memory of a response is kept up to keepOutput.
func TestKeepOutput(t *testing.T) {
	for size, kept := range map[int]bool{keepOutput: true, keepOutput + 1: false} {
		o := &output{make([]byte, size)}
		if err := o.Close(); err != nil || len(o.b) != 0 || (o.b != nil) != kept {
			t.Errorf("of %d bytes %d are kept, %v", size, cap(o.b), err)
		}
	}
}

func BenchmarkServe(b *testing.B) {
	s, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	ts := newStub(b)
	for _, c := range []struct {
		name string
		rc   *fasthttp.RequestCtx
	}{
		{"era=modern", request(modernCall, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo")},
		{"era=legacy", request(legacyCall, "MCP-Protocol-Version", "2025-11-25")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.rc.Request.Body())))
			b.ReportAllocs()
			for b.Loop() {
				s.Serve(c.rc, ts)
				c.rc.ResetUserValues()
			}
			if c.rc.Response.StatusCode() != 200 {
				b.Fatal(string(c.rc.Response.Body()))
			}
		})
	}
}
