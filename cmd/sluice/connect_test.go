package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
		for _, version := range []string{legacyVersion, modernVersion} {
			if server.name == "sessions" && version == modernVersion {
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

// lines runs the bridge on input and returns the messages it wrote.
func bridgeLines(t *testing.T, url, input string) []string {
	t.Helper()
	var out bytes.Buffer
	b := &bridge{url: url, http: http.DefaultClient, out: &out, log: func(string, ...any) {}, calls: map[string]context.CancelFunc{}}
	if err := b.run(t.Context(), strings.NewReader(input)); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// A server that fails in any way still leaves one answer for each request, so a
// client on stdio never waits for ever.
func TestBridgeAnswersWhenTheServerDoesNot(t *testing.T) {
	const request = `{"jsonrpc":"2.0","id":"a","method":"tools/list"}` + "\n"
	f := func(name string, handler http.HandlerFunc, want string) {
		t.Helper()
		srv := httptest.NewServer(handler)
		defer srv.Close()
		got := bridgeLines(t, srv.URL, request)
		var m struct {
			ID    string `json:"id"`
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if len(got) != 1 || json.Unmarshal([]byte(got[0]), &m) != nil || m.ID != "a" || !strings.Contains(m.Error.Message, want) {
			t.Errorf("%s: wrote %q, want one error for id a with %q", name, got, want)
		}
	}
	text := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	f("plain text", text(500, "text/plain", "sorry"), "HTTP 500")
	f("html", text(200, "text/html", "<p>login</p>"), "login")
	f("not JSON-RPC", text(404, "application/json", `{"detail":"nothing here"}`), "nothing here")
	f("error without id", text(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"bad origin"}}`), "bad origin")
	f("empty event stream", text(200, "text/event-stream", ": nothing\n\n"), "without an answer")
	f("closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "cannot be reached")
}

func TestBridgeMessages(t *testing.T) {
	var headers http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(b, &m)
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		headers = r.Header
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":%s,\"result\":{}}\n\n", m.ID)
	}))
	defer srv.Close()
	got := bridgeLines(t, srv.URL, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n\n"+
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"přidej","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	want := []string{`{"jsonrpc":"2.0","method":"notifications/progress"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("wrote %q, want %q", got, want)
	}
	for name, want := range map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?cMWZaWRlag==?=", "Mcp-Protocol-Version": "2026-07-28"} {
		if got := headers.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := bridgeLines(t, srv.URL, "no json\n"); len(got) != 1 || !strings.Contains(got[0], "-32700") {
		t.Errorf("a line that is not JSON: %q, want error -32700", got)
	}
}

func TestLineReaderBound(t *testing.T) {
	f := func(in string, most int, want string, fails bool) {
		t.Helper()
		got, err := newLineReader(strings.NewReader(in), most).next()
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
