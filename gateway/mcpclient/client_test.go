package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/manifest"
)

func newClient(t *testing.T, o safedial.Options) *Client {
	t.Helper()
	d, err := safedial.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h, err := upstream.New(upstream.Options{Dial: d.DialTimeout})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{HTTP: h, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); h.Close() })
	return c
}

func target(t *testing.T, url string) *Target {
	t.Helper()
	e, err := ParseEndpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	return &Target{Endpoint: e, Deadline: time.Now().Add(10 * time.Second)}
}

// sdkServer is a server of the official Go SDK with an echo tool, one that reports
// progress, and one that never answers by itself.
func sdkServer(t *testing.T) *sdk.Server {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "upstream", Title: "Up", Version: "7"}, &sdk.ServerOptions{Instructions: "Be kind."})
	schema := json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)
	s.AddTool(&sdk.Tool{Name: "echo", Description: "Echoes.", InputSchema: schema}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	s.AddTool(&sdk.Tool{Name: "slow", InputSchema: schema}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 2})
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
	})
	s.AddTool(&sdk.Tool{Name: "hang", InputSchema: schema}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-t.Context().Done(): // the SDK's stateless mode does not see that a client has gone
		}
		return &sdk.CallToolResult{}, nil
	})
	return s
}

// servers are the ways the SDK serves, by name, with what is spoken then.
func servers(t *testing.T) map[string]struct {
	url, protocol, transport string
} {
	t.Helper()
	get := func(*http.Request) *sdk.Server { return sdkServer(t) }
	one := sdkServer(t)
	same := func(*http.Request) *sdk.Server { return one }
	serve := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(func() { _ = s.Listener.Close(); s.CloseClientConnections(); s.Close() })
		return s.URL
	}
	return map[string]struct{ url, protocol, transport string }{
		"stateless JSON": {serve(sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})), versionModern, manifest.TransportStreamable},
		"stateless SSE":  {serve(sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true})), versionModern, manifest.TransportStreamable},
		"stateful":       {serve(legacyOnly(sdk.NewStreamableHTTPHandler(same, nil))), versionLegacy, manifest.TransportStreamable},
		"stateful JSON":  {serve(legacyOnly(sdk.NewStreamableHTTPHandler(same, &sdk.StreamableHTTPOptions{JSONResponse: true}))), versionLegacy, manifest.TransportStreamable},
		"sse":            {serve(sdk.NewSSEHandler(same, nil)), versionSSE, manifest.TransportSSE},
	}
}

// legacyOnly refuses what servers made before 2026-07-28 do not know.
func legacyOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "" {
			http.Error(w, "Bad Request: no valid session ID provided", http.StatusBadRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func call(c *Client, tg *Target, k *Call) (string, error) {
	var x Exchange
	if err := c.Call(&x, tg, k); err != nil {
		return "", err
	}
	if f := x.Fault(); f != nil {
		return f.Message, errors.New("fault")
	}
	return string(x.Result().Raw()), nil
}

func TestCallEveryTransport(t *testing.T) {
	for name, s := range servers(t) {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, safedial.Options{AllowPrivate: true})
			for range 3 {
				got, err := call(c, target(t, s.url), &Call{Tool: "echo", Arguments: []byte(`{"q":"ü","n":9007199254740993}`)})
				if err != nil || !strings.Contains(got, `9007199254740993`) {
					t.Fatalf("got %s, %v", got, err)
				}
			}
			var x Exchange
			to, noticed := target(t, s.url), ""
			to.Owner = "a first look"
			to.Noticed = func(n Notice) { noticed += fmt.Sprint(n) }
			l, err := c.List(&x, to)
			if err != nil || l.Name != "upstream" || l.Version != "7" || l.Instructions != "Be kind." || len(l.Tools) != 3 ||
				l.Protocol != s.protocol || l.Transport != s.transport {
				t.Fatalf("listed %+v, %v", l, err)
			}
			if end := fmt.Sprint(Notice{Agreed: s.protocol, SSE: s.transport == "sse"}, Notice{Tools: 3}); !strings.HasSuffix(noticed, strings.ReplaceAll(end, "} {", "}{")) {
				t.Errorf("noticed %s, want the end %s", noticed, end)
			}
			var progress atomic.Int32
			got, err := call(c, target(t, s.url), &Call{Tool: "slow", Progress: true, Notify: func(method string, params jsonscan.Value) {
				if total, _ := params.Get("total").Int64(); method == "notifications/progress" && total == 2 {
					progress.Add(1)
				}
			}})
			// A server that answers in one JSON document has no place for notifications.
			if want := int32(3); err != nil || !strings.Contains(got, "done") || progress.Load() != want && !strings.HasSuffix(name, "JSON") {
				t.Fatalf("got %s, %v with %d notifications", got, err, progress.Load())
			}
			if got, err := call(c, target(t, s.url), &Call{Tool: "nope"}); err == nil || !strings.Contains(got, "nope") {
				t.Fatalf("an unknown tool: %s, %v", got, err)
			}
		})
	}
}

func TestCallIsCancelledAndTimesOut(t *testing.T) {
	for name, s := range servers(t) {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, safedial.Options{AllowPrivate: true})
			if _, err := call(c, target(t, s.url), &Call{Tool: "echo"}); err != nil {
				t.Fatal(err)
			}
			tg := target(t, s.url)
			tg.Deadline = time.Now().Add(100 * time.Millisecond)
			if _, err := call(c, tg, &Call{Tool: "hang"}); !problem.Is(err, problem.Timeout) {
				t.Fatalf("past its deadline: %v", err)
			}
			tg = target(t, s.url)
			tg.Cancel = &upstream.Cancel{}
			time.AfterFunc(50*time.Millisecond, tg.Cancel.Cancel)
			if _, err := call(c, tg, &Call{Tool: "hang"}); !problem.Is(err, problem.Cancelled) {
				t.Fatalf("cancelled: %v", err)
			}
			if _, err := call(c, target(t, s.url), &Call{Tool: "echo"}); err != nil {
				t.Fatalf("the call after: %v", err)
			}
		})
	}
}

// TestEndpointNames: people are told where a server is, and not by what name a node keeps one
// of its commands.
func TestEndpointNames(t *testing.T) {
	for address, want := range map[string]string{
		"https://mcp.example.com/mcp":               "the MCP server at mcp.example.com:443",
		"stdio://c0123456789abcdef0123456789abcdef": "the command of the MCP server",
	} {
		e, err := ParseEndpoint(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.server(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
