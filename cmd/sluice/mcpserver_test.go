package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// mcpServer is a real MCP server whose tools are in the file tools.json of the
// script, read anew for each request: a list of {name, description, inputSchema,
// annotations}. A tool answers with its arguments and its name. With key it wants
// that bearer token.
func mcpServer(ts *testscript.TestScript, key string) *httptest.Server {
	file := ts.MkAbs("tools.json")
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "notes", Title: "Notes", Version: "1.4"}, &mcp.ServerOptions{Instructions: "Search before you write."})
		var tools []*mcp.Tool
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &tools)
		}
		if err != nil {
			panic(err)
		}
		for _, t := range tools {
			s.AddTool(t, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := json.Marshal(map[string]any{"tool": r.Params.Name, "arguments": r.Params.Arguments})
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, err
			})
		}
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/mcp":
			http.NotFound(w, r)
		case key != "" && r.Header.Get("Authorization") != "Bearer "+key:
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		default:
			serve.ServeHTTP(w, r)
		}
	}))
	ts.Defer(srv.Close)
	return srv
}
