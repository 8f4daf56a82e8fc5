package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// benchMCPProxy compares calls of an MCP server of the official SDK through a toolset of
// the binary with direct ones, in MCP 2026-07-28. The three processes share the
// processors, as they would on one machine.
func benchMCPProxy(ctx context.Context, b *bench) error {
	// The server is told who asks, as clients do and as the gateway does: it reads that.
	const body = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_users","arguments":{"q":"x"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"bench","title":"Bench","version":"1"}}}}`
	server, n, err := b.proxyNode(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	defer n.Close()
	// measure returns calls a second, and what a call took of the processors.
	measure := func(addr, path string, connections int) (perSecond float64, ofServer, ofGateway time.Duration, err error) {
		l := &load{addr: addr, connections: connections, duration: mcpDuration / 3, want: []byte(`@example.com`)}
		l.request = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: get_users\r\nContent-Length: %d\r\n\r\n%s", path, addr, len(body), body)
		if _, _, err := l.run(ctx); err != nil { // warms up
			return 0, 0, 0, err
		}
		l.duration = mcpDuration
		before, err := cpuOf(server, n.child)
		if err != nil {
			return 0, 0, 0, err
		}
		calls, took, err := l.run(ctx)
		if err != nil {
			return 0, 0, 0, err
		}
		after, err := cpuOf(server, n.child)
		each := time.Duration(max(calls, 1))
		return float64(calls) / took.Seconds(), (after[0] - before[0]) / each, (after[1] - before[1]) / each, err
	}
	var ratios, added []float64
	for range b.count {
		var rates [4]float64
		var ofServer, ofGateway [4]time.Duration
		for i, m := range []struct {
			addr, path  string
			connections int
		}{
			{server.addr, "/", mcpConnections}, {n.gateway, "/t/acme", mcpConnections}, {server.addr, "/", 1}, {n.gateway, "/t/acme", 1},
		} {
			if rates[i], ofServer[i], ofGateway[i], err = measure(m.addr, m.path, m.connections); err != nil {
				return err
			}
		}
		b.logf("calls/s: direct %.0f, through the gateway %.0f; on one connection %.0f, %.0f; a call takes the server %s alone, %s behind the gateway, the gateway %s",
			rates[0], rates[1], rates[2], rates[3], ofServer[0], ofServer[1], ofGateway[1])
		ratios = append(ratios, rates[1]/rates[0])
		added = append(added, 1e3/rates[3]-1e3/rates[2])
	}
	b.report("mcp.proxy.vs_direct", median(ratios), fmt.Sprintf("%d connections", mcpConnections))
	b.report("mcp.proxy.added.ms", median(added), "one connection")
	return nil
}

// addServer makes a toolset of the MCP server at url and waits until it is served.
func (n *node) addServer(ctx context.Context, slug, url string) error {
	if err := n.poll(ctx, func() error { return n.api(ctx, http.MethodGet, "/v1/me", nil, nil) }); err != nil {
		return err
	}
	if err := n.api(ctx, http.MethodPost, "/v1/toolsets", map[string]any{
		"slug": slug, "source": map[string]any{"mcp": map[string]any{"url": url}}, "deploy": map[string]any{"untestedReason": "bench"},
	}, nil); err != nil {
		return err
	}
	return n.poll(ctx, func() error { _, err := n.list(ctx, slug); return err })
}

// cpuOf is the processor time that each child has used so far.
func cpuOf(children ...*child) ([]time.Duration, error) {
	out := make([]time.Duration, len(children))
	for i, c := range children {
		var err error
		if out[i], err = c.cpu(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
