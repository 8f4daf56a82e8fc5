package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

func options(url string) Options {
	return Options{URL: url, Name: "the server", HTTP: &http.Client{Transport: http.DefaultTransport}, Version: "test"}
}

// TestClientErasAndTransports calls servers of the SDK with sessions and without, with
// JSON and event streams, in both eras of the protocol.
func TestClientErasAndTransports(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	f := func(o *mcp.StreamableHTTPOptions, try, want string) {
		t.Helper()
		var token string
		serve := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
			token = r.Header.Get("Authorization")
			return s
		}, o)
		srv := httptest.NewServer(serve)
		defer srv.Close()
		var trace strings.Builder
		opt := options(srv.URL)
		opt.Protocol, opt.Access, opt.Trace = try, secrets.New("key"), &trace
		c, err := Connect(t.Context(), opt)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		defer c.Close()
		if c.Protocol() != want {
			t.Errorf("%+v: protocol %s, want %s", o, c.Protocol(), want)
		}
		tools, err := c.Tools(t.Context())
		if err != nil || len(tools) != 1 || tools[0].Name != "echo" {
			t.Fatalf("%+v: tools %v, %v", o, tools, err)
		}
		for range 3 {
			got, err := c.Call(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"a": "\u2028ž"}})
			if err != nil || !strings.Contains(string(got), `\"a\":\"`) {
				t.Fatalf("%+v: %s, %v", o, got, err)
			}
		}
		if _, err := c.Call(t.Context(), &mcp.CallToolParams{Name: "none"}); err == nil || !strings.Contains(err.Error(), "(MCP error -32602)") {
			t.Errorf("%+v: a tool that does not exist: %v", o, err)
		}
		if token != "Bearer key" || !strings.Contains(trace.String(), "> POST the server") || strings.Contains(trace.String(), "key") {
			t.Errorf("%+v: authorization %q, trace %q", o, token, trace.String())
		}
	}
	f(&mcp.StreamableHTTPOptions{}, Legacy, Legacy)
	f(&mcp.StreamableHTTPOptions{Stateless: true}, "", Modern)
	f(&mcp.StreamableHTTPOptions{Stateless: true}, Legacy, Legacy)
	f(&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, "", Modern)
}

// serve answers each method with a JSON-RPC message of a server that speaks 2026-07-28.
func serve(t *testing.T, answers func(w http.ResponseWriter, method, id string)) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // what is not a request has no method
		w.Header().Set("Content-Type", "application/json")
		if in.Method == "server/discover" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, in.ID)
			return
		}
		answers(w, in.Method, string(in.ID))
	}))
	t.Cleanup(srv.Close)
	return srv
}

// The result is that of the server: unknown members, large numbers, unknown content.
func TestClientKeepsTheResult(t *testing.T) {
	const result = `{"resultType":"complete","content":[{"type":"hologram","x":1}],"structuredContent":{"n":12345678901234567890,"f":1.0},"later":true}`
	srv := serve(t, func(w http.ResponseWriter, _, id string) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	})
	c, err := Connect(t.Context(), options(srv.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if got, err := c.Call(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil || string(got) != result {
			t.Errorf("got %s, %v, want %s", got, err, result)
		}
	}
}

// problemDetail is the text of an error without what to do about it.
func problemDetail(err error) string {
	if p := problem.As(err); p != nil {
		return p.Detail
	}
	return err.Error()
}

func TestClientErrors(t *testing.T) {
	f := func(name, want string, status int, kind, body string) {
		t.Helper()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		defer srv.Close()
		_, err := Connect(t.Context(), options(srv.URL))
		if err == nil || problemDetail(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if s, ok := errors.AsType[*StatusError](err); ok && s.Status != status {
			t.Errorf("%s: status %d, want %d", name, s.Status, status)
		}
	}
	f("refused", "the server refuses the credentials: HTTP 401 Unauthorized no", 401, "text/plain", "no")
	f("a page", "HTTP 200 OK <p>log in</p>", 200, "text/html", "<p>log\n in</p>")
	f("not JSON-RPC", `HTTP 404 Not Found {"detail":"nothing"}`, 404, "application/json", `{"detail":"nothing"}`)
	f("an error without an id", "bad origin (MCP error -32600)", 400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"bad origin"}}`)
	f("refused in JSON-RPC", "the server refuses the credentials: HTTP 401 Unauthorized needs a token", 401, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":401,"message":"needs a token"}}`)
	f("an empty stream", "the server ended its answer without a result", 200, "text/event-stream", ": nothing\n\n")
	f("a long page", "HTTP 502 Bad Gateway "+strings.Repeat("x", maxShown)+"…", 502, "text/html", strings.Repeat("x", maxShown+1))
	f("a page that fits", "HTTP 502 Bad Gateway "+strings.Repeat("x", maxShown), 502, "text/html", strings.Repeat("x", maxShown))
}

func TestClientBoundsThePages(t *testing.T) {
	pages := 0
	srv := serve(t, func(w http.ResponseWriter, _, id string) {
		pages++
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[],"nextCursor":"%d"}}`, id, pages)
	})
	c, err := Connect(t.Context(), options(srv.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Tools(t.Context()); !problem.Is(err, problem.Unavailable) || pages != maxPages {
		t.Errorf("%d pages, %v, want %d", pages, err, maxPages)
	}
}

// zeros is a reader of n bytes that are blanks.
type zeros struct{ n int }

func (z *zeros) Read(b []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := min(len(b), z.n)
	for i := range b[:n] {
		b[i] = ' '
	}
	z.n -= n
	return n, nil
}

func TestAnswersAreBounded(t *testing.T) {
	f := func(kind, begin string, size int, fits bool) {
		t.Helper()
		body := io.MultiReader(strings.NewReader(begin), &zeros{size - len(begin)})
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body)}
		n := 0
		err := eachMessage(resp, func([]byte) bool { n++; return true })
		if fits && (err != nil || n != 1) || !fits && !problem.Is(err, problem.TooLarge) {
			t.Errorf("%s of %d bytes: %d messages, %v", kind, size, n, err)
		}
	}
	f("application/json", `{"jsonrpc":"2.0"}`, maxMessage, true)
	f("application/json", `{"jsonrpc":"2.0"}`, maxMessage+1, false)
	f("text/event-stream", "data: {}\n\n"+strings.Repeat(":\n", maxMessage/2-5), maxMessage, true)
	f("text/event-stream", "data: {}\n\n"+strings.Repeat(":\n", maxMessage/2-4), maxMessage+2, false)
}

// TestClientWithoutAnswer: a server that cannot be reached, or whose certificate is refused, is
// told as such, and not in the words of the SDK.
func TestClientWithoutAnswer(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo) // its client goes away in the handshake
	secure.StartTLS()
	defer secure.Close()
	for _, protocol := range []string{"", Modern, Legacy} {
		for target, want := range map[string]string{gone.URL: "connection refused", secure.URL: "certificate signed by unknown authority"} {
			o := options(target)
			o.Protocol = protocol
			_, err := Connect(t.Context(), o)
			if _, ok := errors.AsType[*url.Error](err); !ok || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s %s: %v, want %s", protocol, target, err, want)
			}
		}
	}
}
