package gateway_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

var eras = []string{"2026-07-28", "2025-11-25"}

// searchInput is "acme" in search mode with an access document.
func searchInput(t *testing.T, up *upstreamtest.Server, doc *registry.AccessDocument, edit func(*registry.Toolset), ops ...*operation.Operation) snapshot.ToolsetInput {
	t.Helper()
	in := guarded(t, up, 1, doc, ops...)
	in.Bundle.Selection = &registry.Selection{Mode: registry.SelectSearch}
	if edit != nil {
		edit(in.Bundle)
	}
	all, err := registry.IndexTools(in.Bundle, map[string]*connector.Connector{"api": in.Connectors["api"]})
	if err != nil {
		t.Fatal(err)
	}
	var tools []selection.Tool
	for i := range all {
		tools = append(tools, all[i].Tool)
	}
	in.Index = selection.Build(tools, selection.DefaultTable()).Append(nil)
	return in
}

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// agent is a client with a token, in one era.
type agent struct {
	t *testing.T
	c *mcp.ClientSession
}

func connectAs(t *testing.T, s *gatewaytest.Stack, version, token string) *agent {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.URL("acme"), DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer(token)},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting at %q: %v", version, err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &agent{t, session}
}

// call calls a tool of the client's list and returns the text of its answer.
func (a *agent) call(name string, args map[string]any, failed bool) string {
	a.t.Helper()
	r, err := a.c.CallTool(a.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		a.t.Fatal(err)
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError != failed {
		a.t.Fatalf("%s %v: failed %t: %s", name, args, r.IsError, text)
	}
	return text
}

// execute calls a tool through execute_tool.
func (a *agent) execute(name string, args map[string]any, failed bool) string {
	a.t.Helper()
	return a.call("execute_tool", map[string]any{"name": name, "arguments": args}, failed)
}

// hints are the annotations of execute_tool.
func (a *agent) hints() *mcp.ToolAnnotations {
	a.t.Helper()
	list, err := a.c.ListTools(a.t.Context(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Name == "execute_tool" {
			return tool.Annotations
		}
	}
	a.t.Fatal("no execute_tool")
	return nil
}

func (a *agent) has(got, want string) {
	a.t.Helper()
	if !strings.Contains(got, want) {
		a.t.Fatalf("%q lacks %q", got, want)
	}
}

func deleteItem() *operation.Operation {
	return gatewaytest.Operation("delete_item", "DELETE", "/items/{id}", gatewaytest.Param("id", operation.InPath, operation.TypeInteger, true))
}

// TestSearchToken: a token that opens some tools finds, reads and executes those
// only, however it names the others; the hints are those of what it opens.
func TestSearchToken(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	up.Handle("DELETE /items/{id}", upstreamtest.JSON(200, `{"deleted":true}`))
	s := start(t, gatewaytest.Options{})
	if err := s.Serve(searchInput(t, up, tokens(tokenGrant("reader", "get_*"), tokenGrant("all")), nil, getItem(), deleteItem())); err != nil {
		t.Fatal(err)
	}
	id := map[string]any{"id": 7}
	for _, version := range eras {
		up.Forget()
		a := connectAs(t, s, version, "slt_reader")
		if h := a.hints(); !h.ReadOnlyHint {
			t.Errorf("%s: the reader's tools only read, hints %+v", version, h)
		}
		if got := a.call("search_tools", map[string]any{"query": "delete item"}, false); strings.Contains(got, "delete_item") {
			t.Errorf("%s: the reader finds %s", version, got)
		}
		a.has(a.call("describe_tools", map[string]any{"names": []string{"delete_item"}}, true), "no tool")
		a.has(a.execute("delete_item", id, true), "no tool")
		a.has(a.execute("get_item", id, false), "9007199254740993")
		for _, r := range up.Requests() {
			if r.Method == http.MethodDelete {
				t.Errorf("%s: the reader deleted %s", version, r.Target)
			}
		}
		a = connectAs(t, s, version, "slt_all")
		if h := a.hints(); h.ReadOnlyHint || h.DestructiveHint == nil || !*h.DestructiveHint {
			t.Errorf("%s: the hints hide that a tool may destroy: %+v", version, h)
		}
		a.has(a.call("search_tools", map[string]any{"query": "delete item"}, false), "delete_item [may destroy]")
		a.has(a.call("describe_tools", map[string]any{"names": []string{"delete_item"}}, false), `"destructiveHint":true`)
		a.has(a.execute("delete_item", id, false), `"deleted":true`)
	}
}

// TestSearchJWT: everything is shown to the holder of a JWT, and what its scopes do
// not open is refused before the API is asked.
func TestSearchJWT(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	jwks, err := json.Marshal(map[string]any{"keys": []any{map[string]any{
		"kty": "EC", "kid": "one", "crv": "P-256", "alg": "ES256", "x": b64(raw[1:33]), "y": b64(raw[33:]),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	issuer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(jwks) }))
	defer issuer.Close()
	keys, err := access.NewKeys(access.KeysOptions{HTTP: issuer.Client()})
	if err != nil {
		t.Fatal(err)
	}
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	up.Handle("DELETE /items/{id}", upstreamtest.JSON(200, `{"deleted":true}`))
	s := start(t, gatewaytest.Options{})
	snap, err := snapshot.Compile(snapshot.Input{Meter: s.Meter, Keys: keys, Toolsets: []snapshot.ToolsetInput{
		searchInput(t, up, &registry.AccessDocument{Mode: registry.AccessJWT, JWT: &registry.JWTGrant{
			Issuer: issuer.URL, JWKSURL: issuer.URL + "/keys",
			Scopes: []registry.ScopeGrant{{Scope: "read", Tools: []string{"get_*"}}, {Scope: "write", Tools: []string{"*"}}},
		}}, nil, getItem(), deleteItem()),
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Holder.Store(snap)
	token := func(scope string) string {
		now := time.Now()
		tok := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
			"iss": issuer.URL, "sub": "alice", "aud": s.URL("acme"), "scope": scope, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		})
		tok.Header["kid"] = "one"
		text, err := tok.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	id := map[string]any{"id": 7}
	for _, version := range eras {
		up.Forget()
		a := connectAs(t, s, version, token("read"))
		a.has(a.call("search_tools", map[string]any{"query": "delete item"}, false), "delete_item [may destroy]")
		a.has(a.call("describe_tools", map[string]any{"names": []string{"delete_item"}}, false), `"name":"delete_item"`)
		if r, err := a.c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_tool", Arguments: map[string]any{"name": "delete_item", "arguments": id}}); err == nil {
			t.Errorf("%s: scope read deletes: %+v", version, r)
		}
		a.has(a.execute("no_such_tool", id, true), "there is no tool")
		// The same refusal as of the tool itself.
		var refusals [2]string
		for i, call := range []string{`"name":"delete_item","arguments":{"id":7}`, `"name":"execute_tool","arguments":{"name":"delete_item","arguments":{"id":7}}`} {
			refusals[i] = refusal(t, s, version, token("read"), call)
		}
		if refusals[0] != refusals[1] || !strings.HasPrefix(refusals[1], "403 ") || !strings.Contains(refusals[1], `error="insufficient_scope"`) || !strings.Contains(refusals[1], `scope="read write"`) {
			t.Errorf("%s: of the tool itself %s\nthrough execute_tool %s", version, refusals[0], refusals[1])
		}
		a = connectAs(t, s, version, token("read")) // the client gives a session up after a 403
		a.has(a.execute("get_item", id, false), "9007199254740993")
		if r := up.Requests(); len(r) != 1 || r[0].Method != http.MethodGet {
			t.Errorf("%s: scope read asked the API for %v", version, r)
		}
		a.has(connectAs(t, s, version, token("write")).execute("delete_item", id, false), `"deleted":true`)
	}
}

// refusal is the status, the challenge and the JSON-RPC error of a call.
func refusal(t *testing.T, s *gatewaytest.Stack, version, token, call string) string {
	t.Helper()
	name, _, _ := strings.Cut(strings.TrimPrefix(call, `"name":"`), `"`)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + call + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
	if version != eras[0] {
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + call + `}}`
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("acme"), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": name,
	} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s %s", res.StatusCode, res.Header.Get("Www-Authenticate"), b)
}

// TestSearchOptimizations: masks, budgets and handles work through execute_tool as
// they do on the tool itself.
func TestSearchOptimizations(t *testing.T) {
	var list strings.Builder
	list.WriteString(`{"total":300,"items":[`)
	for i := range 300 {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"id":%d,"name":"item number %d","owner":{"login":"user%d"},"note":null}`, i, i, i)
	}
	list.WriteString("]}")
	up := upstreamtest.New(t)
	up.Handle("GET /items", upstreamtest.JSON(200, list.String()))
	op := gatewaytest.Operation("list_items", "GET", "/items")
	s := start(t, gatewaytest.Options{})
	if err := s.Serve(searchInput(t, up, tokens(tokenGrant("a"), tokenGrant("b", "get_*")), func(b *registry.Toolset) {
		b.Profile, b.Answers = registry.ProfileConcise, &registry.Answers{Format: registry.FormatJSON, Budget: 1000}
	}, op, getItem())); err != nil {
		t.Fatal(err)
	}
	handle := regexp.MustCompile(`"handle":"([^"]+)"`)
	for _, version := range eras {
		a := connectAs(t, s, version, "slt_a")
		fields := map[string]any{"fields": "total"}
		if got := a.execute("list_items", fields, false); got != `{"total":300}` {
			t.Errorf("%s: fields: %.200s", version, got)
		}
		text := a.execute("list_items", map[string]any{}, false)
		m := handle.FindStringSubmatch(text)
		if m == nil || strings.Contains(text, "null") || len(text) > 8000 {
			t.Fatalf("%s: no budget or profile: %d bytes, %.300s", version, len(text), text)
		}
		rest := map[string]any{"handle": m[1], "offset": 299, "limit": 1}
		const want = "item number 299"
		a.has(a.call("fetch_result", maps.Clone(rest), false), want)
		a.has(a.execute("fetch_result", maps.Clone(rest), false), want)
		// A handle opens nothing to a token that does not open its tool.
		b := connectAs(t, s, version, "slt_b")
		for _, got := range []string{b.call("fetch_result", maps.Clone(rest), true), b.execute("fetch_result", maps.Clone(rest), true)} {
			if strings.Contains(got, want) {
				t.Errorf("%s: another token reads %s", version, got)
			}
		}
	}
}

// TestExecuteServerTool: a tool of an MCP server is through execute_tool what it is by
// itself: its progress, its log, its questions and the answers to them.
func TestExecuteServerTool(t *testing.T) {
	serve := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	serve.AddTool(&mcp.Tool{Name: "slow", Description: "Takes its time.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range 3 {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3})
			}
			_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "nearly there"}) //nolint:staticcheck // deprecated in the newest revision, in use by the others
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
		})
	upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return serve }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() { _ = upstream.Listener.Close(); upstream.CloseClientConnections(); upstream.Close() })
	s := start(t, gatewaytest.Options{})
	serveServerSearch(t, s, upstream.URL, `{"name":"slow","description":"Takes its time.","inputSchema":{"type":"object"}}`)
	for _, version := range eras {
		var progress, logs atomic.Int64
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress.Add(1) },
			LoggingMessageHandler:       func(context.Context, *mcp.LoggingMessageRequest) { logs.Add(1) }, //nolint:staticcheck // the same
		})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme"), DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		params := &mcp.CallToolParams{Name: "execute_tool", Arguments: map[string]any{"name": "slow"}}
		if version == eras[0] {
			params.Meta = mcp.Meta{"io.modelcontextprotocol/logLevel": "info"}
		}
		params.SetProgressToken("p")
		r, err := session.CallTool(t.Context(), params)
		if err != nil || r.IsError {
			t.Fatalf("%s: %+v, %v", version, r, err)
		}
		if got := r.Content[0].(*mcp.TextContent).Text; got != "done" {
			t.Errorf("%s: %q", version, got)
		}
		_ = session.Close() // what was told is delivered then
		if progress.Load() == 0 || logs.Load() == 0 {
			t.Errorf("%s: %d of progress, %d logs", version, progress.Load(), logs.Load())
		}
	}
	u := newUpstreamServer(t, true)
	serveServerSearch(t, s, u.URL+"/mcp", anyTool)
	u.answer("do.it", `"result":{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?"}}},"requestState":"s"}`)
	status, got := callRaw(t, s, false, "execute_tool", `"arguments":{"name":"do_it"}`)
	if status != 200 || !strings.Contains(got, `"resultType":"input_required","inputRequests":{"q":`) || !strings.Contains(got, `"requestState":"s"`) {
		t.Errorf("a question: %d %s", status, got)
	}
	u.answer("do.it", `"result":{"resultType":"complete","content":[{"type":"text","text":"thanks"}]}`)
	if _, got = callRaw(t, s, false, "execute_tool", `"arguments":{"name":"do_it"},"inputResponses":{"q":{"action":"accept"}},"requestState":"s"`); !strings.Contains(got, "thanks") {
		t.Errorf("the answer: %s", got)
	}
	if heard, _ := u.last(); !strings.Contains(heard, `"inputResponses":{"q":{"action":"accept"}}`) || !strings.Contains(heard, `"requestState":"s"`) {
		t.Errorf("the server heard %s", heard)
	}
	if _, got = callRaw(t, s, true, "execute_tool", `"arguments":{"name":"do_it"}`); !strings.Contains(got, "thanks") {
		t.Errorf("legacy: %s", got)
	}
	u.answer("do.it", `"error":{"code":-32021,"message":"needs sampling","data":{"requiredCapabilities":{"sampling":{}}}}`)
	if status, got = callRaw(t, s, false, "execute_tool", `"arguments":{"name":"do_it"}`); status != http.StatusBadRequest || !strings.Contains(got, `"code":-32021`) {
		t.Errorf("a capability: %d %s", status, got)
	}
}

// serveServerSearch makes "acme" a toolset of an MCP server in search mode.
func serveServerSearch(t *testing.T, s *gatewaytest.Stack, url string, tools ...string) {
	t.Helper()
	c, err := gatewaytest.MCPConnector("up", url, tools...)
	if err != nil {
		t.Fatal(err)
	}
	in := gatewaytest.Toolset("acme", 1, c, func(b *registry.Toolset) { b.Selection = &registry.Selection{Mode: registry.SelectSearch} })
	in.Digest = registry.DigestOf([]byte(url))
	all, err := registry.IndexTools(in.Bundle, in.Connectors)
	if err != nil {
		t.Fatal(err)
	}
	var indexed []selection.Tool
	for i := range all {
		indexed = append(indexed, all[i].Tool)
	}
	in.Index = selection.Build(indexed, selection.DefaultTable()).Append(nil)
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
}
