package main

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// noteServer is an MCP server over stdio whose one tool says how often it was called in
// this process, what it was started with, and what it has of the environment. Each word
// of its command line is in a line on stderr.
func noteServer() {
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
