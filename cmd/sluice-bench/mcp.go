package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

func init() {
	roles["mcp-gosdk"] = serveGoSDK
	roles["mcp-sluice"] = serveSluice
}

const (
	mcpConnections = 16
	mcpDuration    = 1500 * time.Millisecond // the clock of /proc ticks every 10 ms
)

// mcpPayload is the answer of the tool: some 900 bytes of JSON.
func mcpPayload() string {
	type item struct {
		ID    int    `json:"id"`
		Name  string `json:"name"`
		Email string `json:"email"`
	}
	items := make([]item, 17)
	for i := range items {
		items[i] = item{i, "user-" + strconv.Itoa(i), "user" + strconv.Itoa(i) + "@example.com"}
	}
	b, _ := json.Marshal(map[string]any{"items": items, "total": len(items)}) // of plain data: cannot fail
	return string(b)
}

// benchMCPCall compares the CPU time that a server needs for one tools/call whose
// answer needs no upstream: the official SDK with a tool that returns a constant,
// and the whole gateway with a cached answer, its arguments checked, its request
// built, its response program run.
func benchMCPCall(ctx context.Context, b *bench) error {
	for _, era := range []struct{ name, header, meta string }{
		{
			"modern", "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: get_users\r\n",
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}`,
		},
		{"legacy", "MCP-Protocol-Version: 2025-11-25\r\n", ""},
	} {
		if err := benchEra(ctx, b, era.name, era.header, era.meta); err != nil {
			return fmt.Errorf("%s: %w", era.name, err)
		}
	}
	return nil
}

func benchEra(ctx context.Context, b *bench, name, header, meta string) error {
	body := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_users","arguments":{"q":"x"}` + meta + `}}`
	cost := func(role string) (time.Duration, error) {
		return b.cpuEach(ctx, role, &load{connections: mcpConnections, want: []byte(`user16@example.com`)}, func(addr string) []byte {
			return fmt.Appendf(nil, "POST /t/acme HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
				"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", addr, header, len(body), body)
		})
	}
	var ratios, theirs, ours []float64
	for range b.count {
		sdk, err := cost("mcp-gosdk")
		if err != nil {
			return err
		}
		own, err := cost("mcp-sluice")
		if err != nil {
			return err
		}
		b.logf("%s: go-sdk %v, sluice %v", name, sdk, own)
		ratios = append(ratios, float64(sdk)/float64(own))
		theirs, ours = append(theirs, float64(sdk.Nanoseconds())/1e3), append(ours, float64(own.Nanoseconds())/1e3)
	}
	b.report("mcp.call.cpu_vs_gosdk."+name, median(ratios), fmt.Sprintf("%.0f µs over %.1f µs a call", median(theirs), median(ours)))
	return nil
}

// serveGoSDK is the official SDK's stateless server with JSON answers.
func serveGoSDK(ctx context.Context, _ []string) error {
	payload := mcpPayload()
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{
		Name: "get_users", Description: "users",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`),
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: payload}}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return serveHTTP(ctx, handler, nil)
}

// serveSluice is the gateway with one cached tool; the API behind it is called
// once, in this process.
func serveSluice(ctx context.Context, _ []string) error {
	upstream, err := serveUsers(ctx)
	if err != nil {
		return err
	}
	op := gatewaytest.Operation("get_users", "GET", "/users", gatewaytest.Param("q", operation.InQuery, operation.TypeString, true))
	text := func(name string) operation.Property {
		return operation.Property{Name: name, Schema: &operation.Schema{Type: operation.TypeString}}
	}
	op.Response = &operation.Schema{Type: operation.TypeObject, Properties: []operation.Property{
		{Name: "items", Schema: &operation.Schema{Type: operation.TypeArray, Items: &operation.Schema{
			Type:       operation.TypeObject,
			Properties: []operation.Property{{Name: "id", Schema: &operation.Schema{Type: operation.TypeInteger}}, text("name"), text("email")},
		}}},
		{Name: "total", Schema: &operation.Schema{Type: operation.TypeInteger}},
	}}
	return serveStack(ctx, upstream, op, func(t *registry.Toolset) { t.Cache = &registry.CachePolicy{TTLSeconds: 3600} })
}

// serveStack serves one operation as the toolset acme until ctx ends.
func serveStack(ctx context.Context, upstream string, op *operation.Operation, edit func(*registry.Toolset)) error {
	c, err := gatewaytest.Connector("acme", upstream, op)
	if err != nil {
		return err
	}
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		return err
	}
	// JSON, as what it is compared with writes: table text has a benchmark of its own.
	toolset := gatewaytest.Toolset("acme", 1, c, edit)
	toolset.Bundle.Answers = &registry.Answers{Format: registry.FormatJSON}
	if err := s.Serve(toolset); err != nil {
		return err
	}
	fmt.Println("listening " + s.Gateway.Addr().String())
	<-ctx.Done()
	return s.Stop()
}

// serveHTTP serves h on a free port until ctx ends. It tells the address to told,
// or prints it when told is nil.
func serveHTTP(ctx context.Context, h http.Handler, told chan<- string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		_ = srv.Close()
	}()
	if told != nil {
		told <- l.Addr().String()
	} else {
		fmt.Println("listening " + l.Addr().String())
	}
	err = srv.Serve(l)
	<-done
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}
