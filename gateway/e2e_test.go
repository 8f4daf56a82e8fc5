package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

func start(t testing.TB, o gatewaytest.Options) *gatewaytest.Stack {
	t.Helper()
	s, err := gatewaytest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return s
}

// serve makes one toolset "acme" live whose operations go to up.
func serve(t testing.TB, s *gatewaytest.Stack, up *upstreamtest.Server, edit func(*registry.Toolset), ops ...*operation.Operation) {
	t.Helper()
	c, err := gatewaytest.Connector("acme", up.URL, ops...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, edit)); err != nil {
		t.Fatal(err)
	}
}

func getItem() *operation.Operation {
	return gatewaytest.Operation("get_item", "GET", "/items/{id}",
		gatewaytest.Param("id", operation.InPath, operation.TypeInteger, true),
		gatewaytest.Param("q", operation.InQuery, operation.TypeString, false))
}

const item = `{"id": 9007199254740993, "name": "Ünïcode \"quoted\"", "nested": {"list": [1, 2.50, null]}}`

func connect(t testing.TB, s *gatewaytest.Stack, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme"), DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting at %q: %v", version, err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// TestSDKClient lets the official client use a toolset in every era.
func TestSDKClient(t *testing.T) { overBoth(t, sdkClient) }

func sdkClient(t *testing.T, o gatewaytest.Options) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	s := start(t, o)
	serve(t, s, up, nil, getItem(), gatewaytest.Operation("list_items", "GET", "/items"))
	for _, version := range []string{"", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run("version="+version, func(t *testing.T) {
			up.Forget()
			c := connect(t, s, version)
			tools, err := c.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 3 || tools.Tools[0].Name != "get_item" || tools.Tools[0].Annotations == nil {
				t.Fatalf("tools/list: %+v, %v", tools, err)
			}
			res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_item", Arguments: map[string]any{"id": 7, "q": "a b"}})
			if err != nil || res.IsError {
				t.Fatalf("tools/call: %+v, %v", res, err)
			}
			if got := text(t, res); !sameJSON(got, item) || strings.Contains(got, ": ") {
				t.Fatalf("answer %s, want %s minified", got, item)
			}
			if got := up.Requests(); len(got) != 1 || got[0].Target != "/items/7?q=a%20b" {
				t.Fatalf("the upstream received %+v", got)
			}
			res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_item", Arguments: map[string]any{"id": "seven"}})
			if err != nil || !res.IsError || !strings.Contains(text(t, res), "/id") {
				t.Fatalf("wrong arguments: %+v, %v", res, err)
			}
			if _, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
				t.Fatalf("unknown tool: %v", err)
			}
			if got := up.Requests(); len(got) != 1 {
				t.Fatalf("%d requests reached the upstream, want 1", len(got))
			}
		})
	}
}

func text(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d contents, want 1", len(r.Content))
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content %T, want text", r.Content[0])
	}
	return c.Text
}

func sameJSON(a, b string) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, []byte(a)) == nil && json.Compact(&y, []byte(b)) == nil && x.String() == y.String()
}

// post sends one message of 2025-06-18 and returns status and body.
func post(t testing.TB, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func callBody(tool, args string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
}

// TestBytesSurvive: numbers above 2^53 and their spelling arrive as sent.
func TestBytesSurvive(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, nil, getItem())
	status, body := post(t, s.URL("acme"), callBody("get_item", `{"id":9007199254740993}`))
	if status != 200 || !strings.Contains(body, `9007199254740993`) || !strings.Contains(body, `2.50`) {
		t.Fatalf("%d %s", status, body)
	}
	if got := up.Requests()[0].Target; got != "/items/9007199254740993" {
		t.Fatalf("the upstream received %s", got)
	}
}

// TestBadUpstreams: whatever an upstream does, the agent gets a result that says
// what happened, and the gateway serves on.
func TestBadUpstreams(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("/stall", up.Stall())
	up.Handle("/drip", up.Drip(time.Millisecond))
	up.Handle("/close", upstreamtest.Close())
	up.Handle("/reset", upstreamtest.Reset())
	up.Handle("/truncate", upstreamtest.Truncate(1000, `{"a":`))
	up.Handle("/huge", upstreamtest.Huge(100<<20, true))
	up.Handle("/bomb", upstreamtest.Bomb(100<<20, "gzip"))
	up.Handle("/notjson", upstreamtest.JSON(200, `{"a": nope}`))
	up.Handle("/nearjson", upstreamtest.JSON(200, "<b>Warning</b>: x\n{\"b\": True, 'a': NaN,}"))
	up.Handle("/asjson", upstreamtest.JSON(200, "OK"))
	up.Handle("/jsonashtml", upstreamtest.Text(200, "text/html", `{"a":1}`))
	up.Handle("/html", upstreamtest.Text(200, "text/html", "<html><head><title>Sign in</title><style>x{}</style></head><body><h1>Please&nbsp;log in</h1><script>evil()</script></body></html>"))
	up.Handle("/html500", upstreamtest.Text(502, "text/html; charset=utf-8", "<html><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>"))
	up.Handle("/404", upstreamtest.JSON(404, `{"message":"Not Found","documentation_url":"https://docs.example/x"}`))
	up.Handle("/422", upstreamtest.JSON(422, `{"title":"Unprocessable","detail":"The name is too long","errors":[{"field":"name","message":"at most 10"}]}`))
	up.Handle("/401", upstreamtest.JSON(401, `{"error":{"message":"bad key"}}`))
	up.Handle("/429", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	up.Handle("/204", upstreamtest.Text(204, "", ""))
	up.Handle("/302", upstreamtest.Redirect(302, "http://127.0.0.1:1/"))
	up.Handle("/png", upstreamtest.Text(200, "image/png", "\x89PNG\r\n"))
	up.Handle("/zip", upstreamtest.Text(200, "application/zip", "PK\x00\x01\xff"))
	up.Handle("/plain", upstreamtest.Text(200, "text/plain", "just text"))
	up.Handle("/long", upstreamtest.Text(200, "text/plain", strings.Repeat("ä", 300_000)))
	up.Handle("/deep", upstreamtest.JSON(200, strings.Repeat("[", 200)+strings.Repeat("]", 200)))
	up.Handle("/ok", upstreamtest.JSON(200, `{"ok":true}`))
	paths := []string{
		"stall", "drip", "close", "reset", "truncate", "huge", "bomb", "notjson", "nearjson", "asjson", "jsonashtml", "html", "html500", "404", "422", "401", "429", "204", "302",
		"png", "zip", "plain", "long", "deep", "ok",
	}
	ops := make([]*operation.Operation, 0, len(paths))
	for _, p := range paths {
		ops = append(ops, gatewaytest.Operation("get_"+p, "GET", "/"+p))
	}
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, func(b *registry.Toolset) {
		b.Answers = &registry.Answers{TimeoutMilliseconds: 1500, ResponseBytes: 1 << 20}
	}, ops...)
	type result struct {
		Result struct {
			Content []struct{ Type, Text, Data, MimeType string }
			IsError bool
		}
	}
	f := func(path string, isError bool, wants ...string) {
		t.Helper()
		status, body := post(t, s.URL("acme"), callBody("get_"+path, "{}"))
		var r result
		if err := json.Unmarshal([]byte(body), &r); err != nil || status != 200 || len(r.Result.Content) == 0 {
			t.Fatalf("%s: %d %.300s, %v", path, status, body, err)
		}
		c := r.Result.Content[0]
		if r.Result.IsError != isError {
			t.Fatalf("%s: isError %v, want %v: %.300s", path, r.Result.IsError, isError, c.Text)
		}
		for _, want := range wants {
			if !strings.Contains(c.Text+c.Data+c.MimeType, want) {
				t.Fatalf("%s: %.500q, want %q in it", path, c.Text, want)
			}
		}
		if strings.Contains(c.Text, "evil") || strings.Contains(c.Text, "goroutine") {
			t.Fatalf("%s: %.300q", path, c.Text)
		}
	}
	f("stall", true, "did not answer in time")
	f("drip", true, "did not answer in time")
	f("close", true, "closed the connection without an answer")
	f("reset", true, "closed the connection without an answer")
	f("truncate", true, "ended before its announced length")
	f("huge", true, "larger than 1 MiB", "smaller page")
	f("bomb", true, "larger than 1 MiB")
	f("notjson", true, "not valid JSON", `{"a": nope}`)
	f("nearjson", false, `{"b":true,"a":"NaN"}`)
	f("asjson", false, "OK")
	f("jsonashtml", false, `{"a":1}`)
	f("html", true, "web page instead of JSON", "Please log in")
	f("html500", true, "HTTP 502 Bad Gateway", "502 Bad Gateway nginx")
	f("404", true, "HTTP 404 Not Found", "Not Found")
	f("422", true, "HTTP 422", "The name is too long", "at most 10", `"field":"name"`)
	f("401", true, "HTTP 401", "bad key", "operator")
	f("429", true, "HTTP 429", "after 30 seconds")
	f("204", false, "HTTP 204")
	f("302", true, "does not accept connections")
	f("png", false, "iVBORw0K", "image/png")
	f("zip", false, "5 bytes of application/zip")
	f("plain", false, "just text")
	f("long", false, "[lines 1-", `; the rest: fetch_result {"handle":"`)
	f("deep", false, "[[[[")
	f("ok", false, `{"ok":true}`)
}

// TestCredential: the key reaches the upstream and nobody else.
func TestCredential(t *testing.T) {
	const key = "sk_live_0123456789abcdef"
	up := upstreamtest.New(t)
	up.Handle("/echo", upstreamtest.Echo())
	up.Handle("/echo/other", upstreamtest.Echo())
	up.Handle("/fail", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"message":"no such key: %s"}`, r.Header.Get("Authorization"))
	}))
	var logs syncBuffer
	s := start(t, gatewaytest.Options{Logger: logs.logger()})
	ops := []*operation.Operation{gatewaytest.Operation("echo", "GET", "/echo"), gatewaytest.Operation("fail", "GET", "/fail")}
	other := gatewaytest.Operation("other", "GET", "/echo/other")
	other.Servers = []operation.Server{{URL: strings.Replace(up.URL, "127.0.0.1", "localhost", 1)}}
	shape := func(b *registry.Toolset) {
		b.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthHeader, HeaderName: "Authorization", HeaderPrefix: "Bearer ", CredentialID: "c1"}
	}
	serve(t, s, up, shape, append(ops, other)...)
	if _, body := post(t, s.URL("acme"), callBody("echo", "{}")); !strings.Contains(body, "needs an API key and has none") || len(up.Requests()) != 0 {
		t.Fatalf("without a value: %s", body)
	}
	s.Secrets.Set("c1", credentials.Credential{Value: secrets.New(key), Version: 1, Origins: registry.Origins{up.URL}})
	_, body := post(t, s.URL("acme"), callBody("echo", "{}"))
	if up.Requests()[0].Header.Get("Authorization") != "Bearer "+key {
		t.Fatalf("the upstream received %v", up.Requests()[0].Header)
	}
	if strings.Contains(body, key) || !strings.Contains(body, secrets.Redacted) {
		t.Fatalf("the answer holds the key: %s", body)
	}
	_, body = post(t, s.URL("acme"), callBody("fail", "{}"))
	if strings.Contains(body, key) || !strings.Contains(body, `sent as header Authorization with the prefix \"Bearer \" (with its trailing space)`) {
		t.Fatalf("the failure holds the key or no remedy: %s", body)
	}
	up.Forget()
	if _, body = post(t, s.URL("acme"), callBody("other", "{}")); strings.Contains(body, "isError") || up.Requests()[0].Header.Get("Authorization") != "" {
		t.Fatalf("the key went to another origin: %s, %v", body, up.Requests())
	}
	var m bytes.Buffer
	s.Gateway.WritePrometheus(&m)
	if strings.Contains(logs.String(), key) || strings.Contains(m.String(), key) {
		t.Fatal("the key is in logs or metrics")
	}
}

// TestListener: what is decided before MCP is spoken.
func TestListener(t *testing.T) {
	up := upstreamtest.New(t)
	s := start(t, gatewaytest.Options{MaxRequest: 10_000})
	if status, body := get(t, s.URL("/readyz")); status != 503 || !strings.Contains(body, "not ready") {
		t.Fatalf("/readyz before a release: %d %s", status, body)
	}
	if status, _ := post(t, s.URL("acme"), callBody("x", "{}")); status != 503 {
		t.Fatalf("a call before a release: %d", status)
	}
	serve(t, s, up, nil, getItem())
	f := func(got, want int, what string) {
		t.Helper()
		if got != want {
			t.Fatalf("%s: %d, want %d", what, got, want)
		}
	}
	for _, path := range []string{"/livez", "/healthz", "/readyz"} {
		status, _ := get(t, s.URL(path))
		f(status, 200, path)
	}
	status, _ := get(t, s.URL("acme"))
	f(status, 405, "GET of a toolset")
	status, _ = get(t, s.URL("/.well-known/oauth-protected-resource/t/acme"))
	f(status, 404, "metadata of a toolset without OAuth")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	status, _ = post(t, s.URL("acme"), ping)
	f(status, 200, "ping")
	status, _ = post(t, s.URL("acme/"), ping)
	f(status, 200, "ping with a slash")
	status, _ = post(t, s.URL("nope"), ping)
	f(status, 404, "unknown toolset")
	status, _ = post(t, s.URL("acme"), ping, "Host", "evil.example:7300")
	f(status, 403, "rebound Host")
	status, _ = post(t, s.URL("acme"), ping, "Origin", "http://evil.example")
	f(status, 403, "foreign Origin")
	status, _ = post(t, s.URL("acme"), ping, "Origin", "http://localhost:3000")
	f(status, 200, "local Origin")
	pad := func(n int) string { return ping[:len(ping)-1] + strings.Repeat(" ", n-len(ping)) + "}" }
	status, _ = post(t, s.URL("acme"), pad(10_000))
	f(status, 200, "a body at the limit")
	status, _ = post(t, s.URL("acme"), pad(10_001))
	f(status, 413, "a body one past the limit")
	status, _ = post(t, s.URL("acme"), ping, "X-Long", strings.Repeat("x", 20<<10))
	f(status, 431, "headers that are too long")
}

func get(t testing.TB, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// TestTrace: on loopback a call may ask what it cost; behind a proxy it may not.
func TestTrace(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, nil, getItem())
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_item","arguments":{"id":1},"_meta":{"dev.sluice/trace":true}}}`
	_, got := post(t, s.URL("acme"), body)
	var r struct {
		Result struct {
			Meta map[string]struct {
				TotalMs, UpstreamMs float64
				StagesMs            map[string]float64
				Status              int
				Tokens              struct{ Pretty, Minified, Received, Result int }
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(got), &r); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	tr := r.Result.Meta["dev.sluice/trace"]
	if tr.Status != 200 || tr.TotalMs < tr.UpstreamMs || len(tr.StagesMs) != 9 || tr.Tokens.Pretty <= tr.Tokens.Minified || tr.Tokens.Result == 0 {
		t.Fatalf("trace %+v in %s", tr, got)
	}
	if _, got := post(t, s.URL("acme"), body, "X-Forwarded-For", "192.0.2.1"); strings.Contains(got, "stagesMs") {
		t.Fatalf("a trace went through a proxy: %s", got)
	}
}

// TestHammer swaps snapshots under calls of both eras: every call gets exactly
// the answer of one revision.
func TestHammer(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":%s}`, r.PathValue("id"))
	}))
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, nil, getItem())
	c, err := gatewaytest.Connector("acme", up.URL, getItem())
	if err != nil {
		t.Fatal(err)
	}
	swap := make(chan struct{}, 1) // a swap for each round of calls, not as many as the machine can make
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for revision := uint64(2); ; revision++ {
			if _, more := <-swap; !more {
				return
			}
			if err := s.Serve(gatewaytest.Toolset("acme", revision, c, func(b *registry.Toolset) {
				if revision%2 == 0 {
					b.Cache = &registry.CachePolicy{TTLSeconds: 60}
				}
			})); err != nil {
				t.Error(err)
			}
		}
	})
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for n := range 50 {
				select {
				case swap <- struct{}{}:
				default:
				}
				id := fmt.Sprint(i*1000 + n)
				if status, body := post(t, s.URL("acme"), callBody("get_item", `{"id":`+id+`}`)); status != 200 || !strings.Contains(body, `{\"id\":`+id+`}`) {
					t.Errorf("call %s: %d %s", id, status, body)
					return
				}
				if status, body := post(t, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != 200 || !strings.Contains(body, `"get_item"`) {
					t.Errorf("list: %d %s", status, body)
					return
				}
			}
		})
	}
	callers.Wait()
	close(swap)
	swaps.Wait()
}

// TestMetrics: what was called is counted under the names the dashboards use.
func TestMetrics(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, nil, getItem())
	_, _ = post(t, s.URL("acme"), callBody("get_item", `{"id":1}`))
	_, _ = post(t, s.URL("acme"), callBody("get_item", `{"id":"x"}`))
	_, _ = post(t, s.URL("acme"), callBody("get_item", `{"id":"2"}`))
	_, _ = post(t, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var b bytes.Buffer
	s.Gateway.WritePrometheus(&b)
	for _, want := range []string{
		`sluice_tool_calls_total{toolset="acme",tool="get_item",outcome="ok"} 2`,
		`sluice_tool_calls_total{toolset="acme",tool="get_item",outcome="tool_error"} 1`,
		`sluice_tool_arguments_healed_total{toolset="acme",tool="get_item"} 1`,
		`mcp_server_operation_duration_seconds_count{mcp_method_name="tools/list",mcp_protocol_version="2025-03-26"} 1`,
		`sluice_upstream_requests_total{connector="api",status_class="2xx"} 2`,
		`sluice_toolsets{state="live"} 1`, `sluice_tools 1`, `sluice_build_info{version="test"} 1`, `sluice_gateway_overhead_seconds_count 3`,
		`process_cpu_seconds_total`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

// TestInstructions: agents are told how to read table text where they may get it.
func TestInstructions(t *testing.T) {
	up := upstreamtest.New(t)
	for _, c := range []struct {
		format, own string
		want, not   string
		connector   *registry.Answers
	}{
		{registry.FormatJSON, "", `"instructions":"Long answers are table text`, "", &registry.Answers{Format: registry.FormatTable}},
		{"", "", `"protocolVersion"`, "instructions", &registry.Answers{Profile: registry.ProfileOff}},
		{"", "", `"instructions":"Long answers are table text`, "", nil},
		{"", "Be brief.", `"instructions":"Be brief.\n\nLong answers are table text`, "", nil},
		{registry.FormatJSON, "Be brief.", `"instructions":"Be brief."`, "", nil},
		{registry.FormatJSON, "", `"protocolVersion"`, "instructions", nil},
	} {
		s := start(t, gatewaytest.Options{})
		serve(t, s, up, func(b *registry.Toolset) {
			b.Instructions, b.Answers = c.own, &registry.Answers{Format: c.format}
			b.Connectors[0].Answers = c.connector
		}, getItem())
		_, body := post(t, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		if !strings.Contains(body, c.want) || c.not != "" && strings.Contains(body, c.not) {
			t.Errorf("format %q, own %q: %s", c.format, c.own, body)
		}
	}
}
