package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/cmd/internal/streamable"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// program makes an executable "sluice" of the test binary, see TestMain.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sluice")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// sdkServer is a server of the MCP SDK, which speaks both eras.
func sdkServer(t *testing.T, o *mcp.StreamableHTTPOptions) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Greets"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	},
	) (*mcp.CallToolResult, any, error) {
		if in.Name == "" {
			return nil, nil, fmt.Errorf("nobody to greet")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
	t.Cleanup(srv.Close)
	return srv.URL
}

// The SDK's client on stdio reaches an HTTP server through the bridge, in both
// eras, against servers with sessions and without, JSON and event streams.
func TestConnectWithSDK(t *testing.T) {
	exe := program(t)
	for _, server := range []struct {
		name string
		o    *mcp.StreamableHTTPOptions
	}{
		{"sessions", &mcp.StreamableHTTPOptions{}},
		{"stateless", &mcp.StreamableHTTPOptions{Stateless: true}},
		{"json", &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}},
	} {
		for _, version := range []string{streamable.Legacy, streamable.Modern} {
			if server.name == "sessions" && version == streamable.Modern {
				continue // the modern era has no sessions
			}
			t.Run(server.name+"/"+version, func(t *testing.T) {
				cmd := exec.Command(exe, "connect", sdkServer(t, server.o))
				cmd.Stderr = os.Stderr
				client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
				session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatalf("connect: %v", err)
				}
				defer session.Close()
				if got := session.InitializeResult().ProtocolVersion; got != version {
					t.Errorf("version %s, want %s", got, version)
				}
				list, err := session.ListTools(t.Context(), nil)
				if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "greet" {
					t.Fatalf("tools/list: %v, %v", list, err)
				}
				for i := range 20 {
					name := fmt.Sprintf("Ä\u2028%d", i)
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": name}})
					if err != nil {
						t.Fatalf("tools/call: %v", err)
					}
					if text := res.Content[0].(*mcp.TextContent).Text; text != "Hello, "+name {
						t.Fatalf("answer %q, want the greeting of %q", text, name)
					}
				}
				if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": ""}}); err != nil || !res.IsError {
					t.Errorf("a failing call: %v, %v; want isError", res, err)
				}
				if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"}); err == nil {
					t.Error("a tool that does not exist was called")
				}
			})
		}
	}
}

func TestLineReaderBound(t *testing.T) {
	f := func(in string, most int, want string, fails bool) {
		t.Helper()
		got, err := terminal.NewLineReader(strings.NewReader(in), most).Next()
		if string(got) != want || (err != nil) != fails {
			t.Errorf("next of %.20q (at most %d) = %.20q, %v", in, most, got, err)
		}
	}
	f("\n  \nabc\ndef\n", 16, "abc", false)
	f("abc", 16, "abc", false)
	f("", 16, "", true)
	f(strings.Repeat("x", 1<<17)+"\n", 1<<17+1, strings.Repeat("x", 1<<17), false)
	f(strings.Repeat("x", 1<<17+1)+"\n", 1<<17+1, "", true)
}
