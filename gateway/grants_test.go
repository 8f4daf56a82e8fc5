package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/upstreamtest"
)

// TestBlockedUpstream: the same call with and without a grant.
func TestBlockedUpstream(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.JSON(200, `{}`))
	o := gatewaytest.Options{}
	o.Dial.Grantable = true
	s := start(t, o)
	serve(t, s, up, nil, gatewaytest.Operation("get", "GET", "/"))
	_, body := post(t, s.URL("acme"), callBody("get", "{}"))
	if !strings.Contains(body, "a loopback address") || !strings.Contains(body, `"isError":true`) || !strings.Contains(body, "--allow-private-upstreams") || len(up.Requests()) != 0 {
		t.Fatalf("%s; %d requests", body, len(up.Requests()))
	}
	if err := s.Dialer.Grant("ts_acme", netip.MustParseAddrPort(up.Addr())); err != nil {
		t.Fatal(err)
	}
	if _, body := post(t, s.URL("acme"), callBody("get", "{}")); strings.Contains(body, "isError") {
		t.Fatal(body)
	}
}

// TestGrantIsOfOneToolset: of two toolsets with one upstream only the granted one reaches
// it, also over connections that are open, and neither after the grant was revoked.
func TestGrantIsOfOneToolset(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/", upstreamtest.JSON(200, `{}`))
	var calls atomic.Int64
	remote := sdk(func(r *http.Request) {
		if r.Method == http.MethodPost { // the session of a call before is ended in the background
			calls.Add(1)
		}
	})
	server := httptest.NewServer(remote)
	endWith(t, server)
	rest, err := gatewaytest.Connector("acme", up.URL, gatewaytest.Operation("get", "GET", "/"))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := gatewaytest.MCPConnector("notes", server.URL+"/mcp", `{"name":"echo","inputSchema":{"type":"object"}}`)
	if err != nil {
		t.Fatal(err)
	}
	o := gatewaytest.Options{}
	o.Dial.Grantable = true
	s := start(t, o)
	if err := s.Serve(gatewaytest.Toolset("one", 1, rest, nil), gatewaytest.Toolset("two", 1, rest, nil),
		gatewaytest.Toolset("three", 1, tools, nil), gatewaytest.Toolset("four", 1, tools, nil)); err != nil {
		t.Fatal(err)
	}
	reached := func(slug, tool string) bool {
		t.Helper()
		_, body := post(t, s.URL(slug), callBody(tool, "{}"))
		blocked := strings.Contains(body, "a loopback address")
		if !blocked && strings.Contains(body, `"isError":true`) {
			t.Fatalf("%s: %s", slug, body)
		}
		return !blocked
	}
	for _, f := range []struct {
		has, hasNot, tool, addr string
		asked                   func() int
	}{
		{"one", "two", "get", up.Addr(), func() int { return len(up.Requests()) }},
		{"three", "four", "echo", server.Listener.Addr().String(), func() int { return int(calls.Load()) }},
	} {
		at := netip.MustParseAddrPort(f.addr)
		if reached(f.has, f.tool) || reached(f.hasNot, f.tool) {
			t.Fatalf("%s is reached without a grant", f.addr)
		}
		if err := s.Dialer.Grant("ts_"+f.has, at); err != nil {
			t.Fatal(err)
		}
		if !reached(f.has, f.tool) { // the connection is kept
			t.Fatalf("%s does not reach %s with its grant", f.has, f.addr)
		}
		before := f.asked()
		if reached(f.hasNot, f.tool) || f.asked() != before {
			t.Errorf("%s reaches %s by the grant of %s", f.hasNot, f.addr, f.has)
		}
		s.Dialer.Revoke("ts_"+f.has, at)
		if reached(f.has, f.tool) || f.asked() != before {
			t.Errorf("%s reaches %s after the grant was revoked", f.has, f.addr)
		}
	}
}

// sdk is an MCP server of the official SDK with a tool echo; asked is called with each
// request.
func sdk(asked func(*http.Request)) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked(r)
		h.ServeHTTP(w, r)
	})
}
