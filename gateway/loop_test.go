package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/cdnloop"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// passage is a reverse proxy in front of a gateway that counts what it passes on.
type passage struct {
	*httptest.Server
	requests, refused, now, most atomic.Int64
}

func newPassage(t testing.TB, to *gatewaytest.Stack) *passage {
	u, err := url.Parse(to.URL("/"))
	if err != nil {
		t.Fatal(err)
	}
	p := &passage{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) },
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusLoopDetected {
				p.refused.Add(1)
			}
			return nil
		},
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		p.most.Store(max(p.most.Load(), p.now.Add(1)))
		defer p.now.Add(-1)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// leadBack makes toolset "acme" of a gateway call the toolset behind p: with go its tool go, with
// spread its tool batch, which calls spread as often as a batch may.
func leadBack(t *testing.T, s *gatewaytest.Stack, p *passage, protocol string) {
	t.Helper()
	server := &connector.MCPServer{URL: p.URL + "/t/acme", Transport: manifest.TransportStreamable, Protocol: protocol, Name: "other", Version: "1", Tools: []json.RawMessage{
		json.RawMessage(`{"name":"go","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`),
		json.RawMessage(`{"name":"batch","inputSchema":{"type":"object","properties":{"calls":{"type":"array"}}},"annotations":{"readOnlyHint":true}}`),
	}}
	c, err := gatewaytest.ServerConnector("other", server)
	if err != nil {
		t.Fatal(err)
	}
	name, calls := "spread", strings.TrimSuffix(strings.Repeat(`{"tool":"spread"},`, 20), ",")
	in := gatewaytest.Toolset("acme", 1, c, func(b *registry.Toolset) {
		b.Selection = &registry.Selection{Mode: registry.SelectAll, Batch: true}
		b.Tools = []registry.ToolEdit{
			{Connector: "api", Method: manifest.MethodMCP, Path: "/batch", Name: &name, Fixed: registry.Fixed{"calls": json.RawMessage("[" + calls + "]")}},
		}
	})
	serveBehind(t, s, in, nil)
}

// TestLoop: toolsets that call each other, or one that calls itself through a proxy, end soon,
// say why, and take few connections, also where each call makes many.
func TestLoop(t *testing.T) {
	for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
		for _, alone := range []bool{false, true} {
			a, b := start(t, gatewaytest.Options{}), start(t, gatewaytest.Options{})
			toA, toB := newPassage(t, a), newPassage(t, b)
			if alone {
				leadBack(t, a, toA, protocol)
			} else {
				leadBack(t, a, toB, protocol)
				leadBack(t, b, toA, protocol)
			}
			for tool, most := range map[string]int64{"go": 3 * 9, "spread": 4000} {
				t.Run(fmt.Sprintf("%s, alone: %v, %s", protocol, alone, tool), func(t *testing.T) {
					before := toA.requests.Load() + toB.requests.Load()
					r, err := connect(t, a, protocol).CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
					if err != nil {
						t.Fatal(err)
					}
					text := r.Content[0].(*mcp.TextContent).Text
					n, refused := toA.requests.Load()+toB.requests.Load()-before, toA.refused.Load()+toB.refused.Load()
					t.Logf("%d requests, %d refused, %d and %d at once: %.300s", n, refused, toA.most.Load(), toB.most.Load(), text)
					if n > most || n < 8 || refused == 0 {
						t.Errorf("%d requests, %d refused, want at most %d, and some", n, refused, most)
					}
					if !r.IsError || tool == "go" && (!strings.Contains(text, "call each other in a circle") || !strings.Contains(text, "sluice toolset connector remove")) {
						t.Errorf("the agent gets no reason: %v %s", r.IsError, text)
					}
				})
			}
		}
	}
}

// TestLoopHeader: what upstreams are sent, and which requests are refused before anything is
// called.
func TestLoopHeader(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items", upstreamtest.JSON(200, `{"a":1}`))
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, nil, gatewaytest.Operation("list_items", "GET", "/items"))
	for _, c := range []struct {
		sent   []string
		want   string
		status int
	}{
		{nil, "sluice", 200},
		{[]string{"cloudflare; subreqs=1"}, "cloudflare; subreqs=1, sluice", 200},
		{[]string{"sluice", "sluice; weight=7"}, "sluice, sluice; weight=7, sluice", 200},
		{[]string{"sluice; weight=2", "sluice; weight=7"}, "", 508},
		{[]string{"a b"}, "", 400},
	} {
		up.Forget()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("acme"), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_items","arguments":{}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header[http.CanonicalHeaderKey(cdnloop.Header)] = c.sent
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		var got []string
		for _, r := range up.Requests() {
			got = append(got, r.Header.Get(cdnloop.Header))
		}
		if resp.StatusCode != c.status || strings.Join(got, "|") != c.want {
			t.Errorf("%q: %d, upstream got %q, want %d %q", c.sent, resp.StatusCode, got, c.status, c.want)
		}
	}
}

// TestLoopEndsCalls: what makes many calls makes no more when one was refused, if it came
// through a gateway itself.
func TestLoopEndsCalls(t *testing.T) {
	s, up := serveCode(t, nil, nil)
	up.Handle("GET /items/508", upstreamtest.Text(508, "text/plain", "a loop"))
	code := `let said = []; for (let i = 0; i < 5; i++) { try { await tools.api.get_item({id: 508}) } catch (e) { said.push(e.message) } } return said`
	for sent, want := range map[string]int{"": 5, "sluice": 1} {
		up.Forget()
		status, body := callRaw(t, s, false, "run_code", `"arguments":{"code":"`+code+`"}`, cdnloop.Header, sent)
		if n := len(up.Requests()); status != 200 || n != want || (want == 1) != strings.Contains(body, "call each other in a circle") {
			t.Errorf("came with %q: %d, %d calls, want %d: %s", sent, status, n, want, body)
		}
	}
}

// TestLoopOfStreams: streams that are opened for a subscription carry the header, too.
func TestLoopOfStreams(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			l := newLibrary(t, version)
			u, err := url.Parse(l.url)
			if err != nil {
				t.Fatal(err)
			}
			proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, FlushInterval: -1}
			var mu sync.Mutex
			var seen []string // guarded by mu
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				seen = append(seen, r.Method+" "+strings.Join(r.Header.Values(cdnloop.Header), "|"))
				mu.Unlock()
				proxy.ServeHTTP(w, r)
			}))
			endWith(t, front)
			l.url = front.URL
			s := start(t, gatewaytest.Options{})
			if err := s.Serve(gatewaytest.Toolset("acme", 1, connectorOf(t, l, version), nil)); err != nil {
				t.Fatal(err)
			}
			resp := request(t, http.MethodPost, s.URL("acme"), subscribeBody("test://a"), cdnloop.Header, "sluice", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
			if ack, err := bufio.NewReader(resp.Body).ReadString('\n'); resp.StatusCode != http.StatusOK {
				t.Fatalf("%d %s %v", resp.StatusCode, ack, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, got := range seen {
				if _, loop, _ := strings.Cut(got, " "); loop != "sluice, sluice" {
					t.Errorf("%s", got)
				}
			}
			if len(seen) == 0 {
				t.Error("no stream was opened")
			}
		})
	}
}
