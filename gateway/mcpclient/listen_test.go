package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// TestListen: each transport tells when the list of tools changes, and the stream ends
// with who listens.
func TestListen(t *testing.T) {
	serve := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(func() { _ = s.Listener.Close(); s.CloseClientConnections(); s.Close() })
		return s.URL
	}
	for name, handler := range map[string]func(get func(*http.Request) *sdk.Server) http.Handler{
		"2026-07-28": func(get func(*http.Request) *sdk.Server) http.Handler {
			return sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true})
		},
		"with sessions": func(get func(*http.Request) *sdk.Server) http.Handler {
			h := sdk.NewStreamableHTTPHandler(get, nil)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") == "server/discover" {
					w.WriteHeader(http.StatusBadRequest) // of the older revisions only
					return
				}
				h.ServeHTTP(w, r)
			})
		},
		"2024-11-05": func(get func(*http.Request) *sdk.Server) http.Handler { return sdk.NewSSEHandler(get, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s := sdkServer(t)
			s.AddPrompt(&sdk.Prompt{Name: "old"}, nil) // so that it declares them
			s.AddResource(&sdk.Resource{Name: "old", URI: "test://old"}, nil)
			url := serve(handler(func(*http.Request) *sdk.Server { return s }))
			c := newClient(t, safedial.Options{AllowPrivate: true})
			to := target(t, url)
			to.Deadline, to.Cancel = time.Time{}, &upstream.Cancel{}
			opened, changed, ended := make(chan struct{}, 9), make(chan struct{}, 9), make(chan error, 1)
			go func() {
				var x Exchange
				ended <- c.Listen(&x, to, Listener{Opened: func() { opened <- struct{}{} }, Changed: func() { changed <- struct{}{} }})
			}()
			wait := func(what string, ch <-chan struct{}) {
				t.Helper()
				select {
				case <-ch:
				case err := <-ended:
					t.Fatalf("%s: the stream ended with %v", what, err)
				case <-time.After(10 * time.Second):
					t.Fatalf("%s: nothing came", what)
				}
			}
			wait("opened", opened)
			for i := range 2 {
				s.AddTool(&sdk.Tool{Name: "new" + string(rune('a'+i)), InputSchema: json.RawMessage(`{"type":"object"}`)},
					func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
						return &sdk.CallToolResult{}, nil
					})
				wait("a tool was added", changed)
			}
			s.AddPrompt(&sdk.Prompt{Name: "new"}, nil)
			wait("a prompt was added", changed)
			s.AddResource(&sdk.Resource{Name: "new", URI: "test://new"}, nil)
			wait("a resource was added", changed)
			to.Cancel.Cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the end of a stream that was open: %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it goes on listening")
			}
		})
	}
}

// TestListenRefused: a server that does not tell, and one that is not there.
func TestListenRefused(t *testing.T) {
	none := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case in.Method == "initialize":
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(in.ID) + `,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":` +
				map[bool]string{true: "true", false: "false"}[strings.HasPrefix(r.URL.Path, "/says")] + `}},"serverInfo":{"name":"n","version":"1"}}}`))
		case strings.HasPrefix(in.Method, "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(none.Close)
	c := newClient(t, safedial.Options{AllowPrivate: true})
	for url, kind := range map[string]problem.Kind{
		none.URL + "/": problem.Unsupported, none.URL + "/says": problem.Unsupported, "http://127.0.0.1:1/": problem.Unreachable,
	} {
		var x Exchange
		err := c.Listen(&x, target(t, url), Listener{Opened: func() { t.Errorf("%s was opened", url) }, Changed: func() {}})
		if !problem.Is(err, kind) {
			t.Errorf("%s: %v, want %s", url, err, kind)
		}
	}
}
