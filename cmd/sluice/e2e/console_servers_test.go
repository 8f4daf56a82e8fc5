package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
)

// consoleServers are the MCP servers that the console makes toolsets of, as environment
// variables: one that lets everybody in, one with many tools, one that wants a bearer
// token, and one that wants a login at an authorization server where clients register
// themselves. The node may call them without a grant.
func consoleServers(t *testing.T) []string {
	t.Helper()
	as, err := oauthtest.StartAt("127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(as.Close)
	notes := notesServer("Notes", 0)
	keyed, guarded := notesServer("Keyed notes", 0), notesServer("Guarded notes", 0)
	servers := map[string]http.Handler{
		"OPEN": notes,
		"MANY": notesServer("Many notes", 50),
		"KEYED": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer let-the-console-in" {
				w.Header().Set("WWW-Authenticate", "Bearer")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			keyed.ServeHTTP(w, r)
		}),
		"OAUTH": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, ok := as.Admits(w, r); ok {
				guarded.ServeHTTP(w, r)
			}
		}),
	}
	env := []string{"SLUICE_E2E_USER=" + oauthtest.User, "SLUICE_E2E_PASSWORD=" + oauthtest.Password}
	for name, handler := range servers {
		env = append(env, "SLUICE_E2E_MCP_"+name+"="+serveAllowed(t, handler)+"/mcp")
	}
	return env
}

// notesServer is an MCP server with two tools, a prompt and two resources, and more tools
// where they are wanted.
func notesServer(title string, more int) http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: strings.ToLower(strings.ReplaceAll(title, " ", "-")), Title: title, Version: "1.4"}, &mcp.ServerOptions{Instructions: "Search before you write."})
	type in struct {
		Number int `json:"number" jsonschema:"which note"`
	}
	answer := func(_ context.Context, _ *mcp.CallToolRequest, args in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("note %d", args.Number)}}}, nil, nil
	}
	mcp.AddTool(s, &mcp.Tool{Name: "read_note", Description: "Reads a note.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, answer)
	mcp.AddTool(s, &mcp.Tool{Name: "delete_note", Description: "Deletes a note."}, answer)
	for i := range more {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("write_note_%d", i), Description: "Does something with a note."}, answer)
	}
	s.AddPrompt(&mcp.Prompt{Name: "summarise", Description: "Summarises the notes."}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	for _, uri := range []string{"note:public/1", "note:private/1"} {
		s.AddResource(&mcp.Resource{Name: uri[5:], URI: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "text of " + uri}}}, nil
		})
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	return mux
}
