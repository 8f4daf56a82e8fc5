package e2e

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const ordersSpec = `{"openapi":"3.1.0","info":{"title":"Orders","version":"1"},"servers":[{"url":"SERVER"}],
"components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Api-Key"}}},"security":[{"key":[]}],
"paths":{"/orders":{"get":{"operationId":"searchOrders","summary":"Search orders","responses":{"200":{"description":"OK"}}}},
"/orders/{id}":{"get":{"operationId":"getOrder","summary":"Read an order","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer"}}],
"responses":{"200":{"description":"OK"}}}}}}`

// TestAPIAndServerInOneToolset: an API and an MCP server behind one toolset URL, each
// with its own key. Adding the second renames nothing; one that breaks takes only its
// own tools along; one that is removed is gone from a session that goes on.
func TestAPIAndServerInOneToolset(t *testing.T) {
	var down, wrong atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case down.Load():
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = c.Close()
			}
			return
		case r.Header.Get("X-Api-Key") != "key-of-the-api" || r.Header.Get("Authorization") != "":
			wrong.Store(true)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"path":"`+r.URL.Path+`"}`)
	}))
	t.Cleanup(api.Close)
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
		for _, name := range []string{"get_order", "write_note"} {
			s.AddTool(&mcp.Tool{Name: name, Description: "Of the notes.", InputSchema: map[string]string{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
				func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "notes say " + r.Params.Name}}}, nil
				})
		}
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key-of-the-server" || r.Header.Get("X-Api-Key") != "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { _ = server.Listener.Close(); server.CloseClientConnections(); server.Close() }) // it is listened to
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	n := startSluice(t)
	n.cli(t, "add", file("orders.json", strings.Replace(ordersSpec, "SERVER", api.URL, 1)), "--base-url", api.URL, "--slug", "shop",
		"--auth", "header:X-Api-Key", "--api-key-file", file("a", "key-of-the-api"))
	url := "http://" + n.gateway + "/t/shop"
	names := func(s *mcp.ClientSession) (out []string) {
		t.Helper()
		for _, tool := range tools(t.Context(), t, s) {
			if tool.Name != "fetch_result" {
				out = append(out, tool.Name)
			}
		}
		return out
	}
	call := func(s *mcp.ClientSession, tool, want string, args map[string]any) {
		t.Helper()
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || r.IsError != (want == "") || !strings.Contains(text(r), want) {
			t.Errorf("%s: %+v, %v; want %q", tool, r, err, want)
		}
	}
	before := connect(t, url, eras[0]) // it goes on through all that follows
	if got := names(before); !slices.Equal(got, []string{"search_orders", "get_order"}) {
		t.Fatalf("tools %q", got)
	}

	out := n.cli(t, "add", server.URL+"/mcp", "--to", "shop", "--auth", "bearer", "--api-key-file", file("b", "key-of-the-server"))
	if !strings.Contains(out, "get_order is called notes_get_order here") || !strings.Contains(out, "shop is live: 4 tools") {
		t.Errorf("added: %s", out)
	}
	want := []string{"search_orders", "get_order", "notes_get_order", "write_note"}
	for _, era := range eras {
		s := connect(t, url, era)
		if got := names(s); !slices.Equal(got, want) {
			t.Errorf("%s: tools %q, want %q", era, got, want)
		}
		call(s, "search_orders", "/orders", nil)
		call(s, "get_order", "/orders/7", map[string]any{"id": 7})
		call(s, "notes_get_order", "notes say get_order", nil)
		call(s, "write_note", "notes say write_note", nil)
	}
	if wrong.Load() {
		t.Error("the API got another credential than its own")
	}
	if got := names(before); !slices.Equal(got, want) {
		t.Errorf("a session that was there lists %q", got)
	}
	down.Store(true)
	call(before, "get_order", "", map[string]any{"id": 7})
	call(before, "notes_get_order", "notes say get_order", nil)
	down.Store(false)
	call(before, "search_orders", "/orders", nil)

	if list := n.cli(t, "toolset", "connector", "shop"); !strings.Contains(list, "notes") || !strings.Contains(list, "orders") {
		t.Errorf("connectors: %s", list)
	}
	n.cli(t, "toolset", "connector", "shop", "remove", "orders", "--yes")
	if got := names(before); !slices.Equal(got, want[2:]) {
		t.Errorf("after the removal: %q", got)
	}
	call(before, "notes_get_order", "notes say get_order", nil)
	if _, err := before.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_order", Arguments: map[string]any{"id": 7}}); err == nil {
		t.Error("a tool of what was removed can be called")
	}
}

// TestServerThatTells: a tool that a server gets is served as soon as the server tells
// of it, and clients of the toolset are told in their turn.
func TestServerThatTells(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	add := func(name string) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Of the notes.", InputSchema: map[string]string{"type": "object"}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "notes say " + r.Params.Name}}}, nil
			})
	}
	add("first")
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() { _ = server.Listener.Close(); server.CloseClientConnections(); server.Close() })
	n := startSluice(t)
	n.cli(t, "add", server.URL+"/mcp", "--slug", "notes", "--upstream-policy", "follow")
	changed := make(chan struct{}, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + n.gateway + "/t/notes"}, &mcp.ClientSessionOptions{ProtocolVersion: eras[1]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(n.cli(t, "toolset", "upstream", "notes"), "it reports changes"); {
		if time.Now().After(deadline) {
			t.Fatal("the server is not listened to")
		}
	}
	add("second")
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Fatal("the client of the toolset was not told")
	}
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "second"})
	if err != nil || text(r) != "notes say second" {
		t.Errorf("the new tool: %+v, %v", r, err)
	}
}
