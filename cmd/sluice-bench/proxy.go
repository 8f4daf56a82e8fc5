package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/registry"
)

func init() {
	roles["mcp-proxy"] = serveMCPProxy
}

// benchMCPProxy compares calls of an MCP server of the official SDK through the
// gateway with direct ones, in MCP 2026-07-28. The three processes share the
// processors, as they would on one machine.
func benchMCPProxy(ctx context.Context, b *bench) error {
	// The server is told who asks, as clients do and as the gateway does: it reads that.
	const body = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_users","arguments":{"q":"x"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"bench","title":"Bench","version":"1"}}}}`
	server, err := b.role(ctx, "mcp-gosdk")
	if err != nil {
		return err
	}
	defer server.Close()
	gateway, err := b.role(ctx, "mcp-proxy", server.addr)
	if err != nil {
		return err
	}
	defer gateway.Close()
	// measure returns calls a second.
	measure := func(addr, path string, connections int) (float64, error) {
		l := &load{addr: addr, connections: connections, duration: mcpDuration / 3, want: []byte(`user16@example.com`)}
		l.request = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: get_users\r\nContent-Length: %d\r\n\r\n%s", path, addr, len(body), body)
		if _, _, err := l.run(ctx); err != nil { // warms up
			return 0, err
		}
		l.duration = mcpDuration
		n, took, err := l.run(ctx)
		return float64(n) / took.Seconds(), err
	}
	var ratios, added []float64
	for range b.count {
		rates := [4]float64{}
		for i, m := range []struct {
			addr, path  string
			connections int
		}{
			{server.addr, "/", mcpConnections}, {gateway.addr, "/t/acme", mcpConnections}, {server.addr, "/", 1}, {gateway.addr, "/t/acme", 1},
		} {
			if rates[i], err = measure(m.addr, m.path, m.connections); err != nil {
				return err
			}
		}
		b.logf("calls/s: direct %.0f, through the gateway %.0f; on one connection %.0f, %.0f", rates[0], rates[1], rates[2], rates[3])
		ratios = append(ratios, rates[1]/rates[0])
		added = append(added, 1e3/rates[3]-1e3/rates[2])
	}
	b.report("mcp.proxy.vs_direct", median(ratios), fmt.Sprintf("%d connections", mcpConnections))
	b.report("mcp.proxy.added.ms", median(added), "one connection")
	return nil
}

// serveMCPProxy is the gateway with a toolset of the MCP server at an address.
func serveMCPProxy(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: mcp-proxy ADDR")
	}
	c, err := gatewaytest.MCPConnector("acme", "http://"+args[0]+"/",
		`{"name":"get_users","description":"users","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}`)
	if err != nil {
		return err
	}
	s, err := gatewaytest.New(gatewaytest.Options{Drain: time.Second})
	if err != nil {
		return err
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, func(t *registry.Toolset) { t.Profile = registry.ProfileOff })); err != nil {
		return err
	}
	fmt.Println("listening " + s.Gateway.Addr().String())
	<-ctx.Done()
	return s.Stop()
}
