package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// brokenServer is one that writes why and ends, or refuses every request.
func brokenServer(refuses bool) {
	fmt.Fprintln(os.Stderr, "NOTES_TOKEN is not set:", os.Getenv("NOTES_TOKEN"))
	if !refuses {
		os.Exit(3)
	}
	for in := json.NewDecoder(os.Stdin); ; {
		var m struct{ ID json.RawMessage }
		if in.Decode(&m) != nil {
			return
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no token, no notes"}}`+"\n", m.ID)
	}
}

// noteServer is an MCP server over stdio whose one tool says how often it was called in
// this process, what it was started with, and what it has of the environment. Each word
// of its command line is in a line on stderr.
func noteServer() {
	if len(os.Args) > 1 && (os.Args[1] == "--broken" || os.Args[1] == "--refuses") {
		brokenServer(os.Args[1] == "--refuses")
		return
	}
	calls := 0
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Title: "Notes", Version: "2"}, nil)
	s.AddTool(&mcp.Tool{Name: "whoami", Description: "Says what it knows.", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls++
			fmt.Fprintln(os.Stderr, "called with", os.Getenv("NOTES_TOKEN"))
			text := fmt.Sprintf("call %d pid %d args %q name %q token of %d characters other %q", calls, os.Getpid(), os.Args[1:], os.Getenv("NOTES_NAME"), len(os.Getenv("NOTES_TOKEN")), os.Getenv("NOTES_OTHER"))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
