package gateway_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// guarded is a toolset with an access document.
func guarded(t testing.TB, up *upstreamtest.Server, revision uint64, doc *registry.AccessDocument, ops ...*operation.Operation) snapshot.ToolsetInput {
	t.Helper()
	c, err := gatewaytest.Connector("acme", up.URL, ops...)
	if err != nil {
		t.Fatal(err)
	}
	in := gatewaytest.Toolset("acme", revision, c, nil)
	if doc != nil {
		doc.Workspace, doc.Toolset = "test", in.ID
		b, err := doc.Encode()
		if err != nil {
			t.Fatal(err)
		}
		in.Access, in.AccessDigest = doc, registry.DigestOf(b)
	}
	return in
}

func tokens(grants ...registry.TokenGrant) *registry.AccessDocument {
	return &registry.AccessDocument{Mode: registry.AccessToken, Tokens: grants}
}

func tokenGrant(id string, tools ...string) registry.TokenGrant {
	sum := sha256.Sum256([]byte("slt_" + id))
	return registry.TokenGrant{ID: id, Name: id, Hash: hex.EncodeToString(sum[:]), Tools: tools}
}

const listenBody = `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// listen opens a stream and returns what reads its next event; "" at its end.
func listen(t testing.TB, url string, header ...string) (next func() string, resp *http.Response) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(listenBody))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
	} {
		req.Header.Set(k, v)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err = http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatalf("the stream did not end as it should: %v", err)
		}
		return ""
	}, resp
}

// TestListenStream: a new revision and a change of what a token may see are told,
// a change for others is not; a revocation and a stop end the stream.
func TestListenStream(t *testing.T) { overBoth(t, listenStream) }

func listenStream(t *testing.T, o gatewaytest.Options) {
	up := upstreamtest.New(t)
	s := start(t, o)
	serveDoc := func(revision uint64, doc *registry.AccessDocument) {
		t.Helper()
		if err := s.Serve(guarded(t, up, revision, doc, getItem())); err != nil {
			t.Fatal(err)
		}
	}
	serveDoc(1, tokens(tokenGrant("a"), tokenGrant("b")))
	next, resp := listen(t, s.URL("acme"), "Authorization", "Bearer slt_a", "Origin", "http://localhost:3000")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	want := func(part string) {
		t.Helper()
		if got := next(); !strings.Contains(got, part) || part == "" && got != "" {
			t.Fatalf("got %q, want %q", got, part)
		}
	}
	want("notifications/subscriptions/acknowledged")
	other, _ := listen(t, s.URL("acme"), "Authorization", "Bearer slt_b")
	other()
	serveDoc(2, tokens(tokenGrant("a"), tokenGrant("b")))
	want("notifications/tools/list_changed")
	serveDoc(2, tokens(tokenGrant("a"))) // nothing for a; the end for b
	if got := other(); !strings.Contains(got, "list_changed") {
		t.Fatalf("b: %q", got)
	}
	if got := other(); !strings.Contains(got, `"id":7,"result":`) {
		t.Fatalf("b, revoked: %q", got)
	}
	if got := other(); got != "" {
		t.Fatalf("b, after the end: %q", got)
	}
	serveDoc(2, tokens(tokenGrant("a", "get_item")))
	want("notifications/tools/list_changed")
	go func() { _ = s.Stop() }()
	want(`"id":7,"result":{"resultType":"complete"`)
	want("")
}

// TestSDKListen: the official client is notified of a new revision.
func TestSDKListen(t *testing.T) {
	up := upstreamtest.New(t)
	s := start(t, gatewaytest.Options{})
	if err := s.Serve(guarded(t, up, 1, nil, getItem())); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme")}, &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	deadline := time.After(20 * time.Second)
	for revision := uint64(2); ; revision++ { // the client opens its stream when it pleases
		if err := s.Serve(guarded(t, up, revision, nil, getItem())); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
			return
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatal("the client was not told")
		}
	}
}

// TestDisconnect: a client that goes away ends its call at the upstream, with and
// without a stream.
func TestDisconnect(t *testing.T) { overBoth(t, disconnect) }

func disconnect(t *testing.T, o gatewaytest.Options) {
	up := upstreamtest.New(t)
	arrived, ended := make(chan struct{}, 4), make(chan struct{}, 4)
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-r.Context().Done():
			ended <- struct{}{}
		case <-time.After(20 * time.Second):
		}
	}))
	s := start(t, o)
	serve(t, s, up, nil, getItem())
	for _, accept := range []string{"application/json", "application/json, text/event-stream"} {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL("acme"),
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_item","arguments":{"id":1},"_meta":{"progressToken":1}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", accept)
		gone, streams := make(chan error, 1), make(chan struct{})
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err == nil { // a stream: its headers came with the first beat
				close(streams)
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			gone <- err
		}()
		<-arrived
		if strings.Contains(accept, "event-stream") {
			select {
			case <-streams:
			case err := <-gone:
				t.Fatalf("the call ended before its first beat: %v", err)
			}
		}
		cancel()
		if err := <-gone; err == nil {
			t.Fatal("the call ended before its client went")
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatalf("Accept: %s: the upstream was not told", accept)
		}
	}
	var b strings.Builder
	deadline := time.Now().Add(10 * time.Second)
	for !strings.Contains(b.String(), `outcome="cancelled"} 2`) {
		if time.Now().After(deadline) {
			t.Fatalf("not counted as cancelled: %s", b.String())
		}
		b.Reset()
		s.Gateway.WritePrometheus(&b)
	}
}

// TestProgress: the official client hears of a long call while it runs.
func TestProgress(t *testing.T) {
	up := upstreamtest.New(t)
	heard := make(chan *mcp.ProgressNotificationParams)
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case p := <-heard: // the call goes on until the client heard of it
			if p.ProgressToken != "tok" || p.Progress < 1 || p.Message == "" {
				t.Errorf("progress %+v", p)
			}
		case <-r.Context().Done():
			t.Error("no progress was heard before the call ended")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, item)
	}))
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, nil, getItem())
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		done := make(chan struct{})
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{},
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				select {
				case heard <- r.Params:
				case <-done: // another beat, after the upstream was told to answer
				}
			},
		})
		c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme"), DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		params := &mcp.CallToolParams{Name: "get_item", Arguments: map[string]any{"id": 7}}
		params.SetProgressToken("tok")
		res, err := c.CallTool(t.Context(), params)
		if err != nil || res.IsError || !sameJSON(text(t, res), item) {
			t.Fatalf("%s: %+v, %v", version, res, err)
		}
		_ = c.Close()
	}
}

// TestCallIsToldAsText: what the gateway logs to a client is a text, because the official Java SDK
// takes no other value.
func TestCallIsToldAsText(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, item)
	}))
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, nil, getItem())
	_, body := callRaw(t, s, false, "get_item", `"arguments":{"id":7}`, "Accept", "application/json, text/event-stream", "Test-Meta", `"io.modelcontextprotocol/logLevel":"debug"`)
	told := regexp.MustCompile(`"method":"notifications/message","params":\{"level":"debug","logger":"sluice","data":"get_item: ok, HTTP 200, ` + strconv.Itoa(len(item)) + ` bytes, \d+ ms"\}`)
	if !told.MatchString(body) {
		t.Errorf("got %s", body)
	}
}

// TestCallIsToldWhereAsked: how a call of a server's tool went is told to a client of an older
// revision that named a level. To another the answer is one document, as it is without the gateway.
func TestCallIsToldWhereAsked(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	u := newUpstreamServer(t, true)
	serveServer(t, s, u, nil, anyTool)
	u.answer("do.it", `"result":{"isError":true,"content":[{"type":"text","text":"no"}]}`)
	session := askable(t, s.URL("acme"))
	for _, c := range []struct {
		level, media string
		told         bool
	}{{"", "application/json", false}, {"warning", "text/event-stream", true}, {"error", "application/json", false}} {
		if c.level != "" {
			_ = bodyOf(t, request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"`+c.level+`"}}`, "Mcp-Session-Id", session))
		}
		resp := request(t, http.MethodPost, s.URL("acme"), callBody("do_it", "{}"), "Mcp-Session-Id", session, "Accept", "application/json, text/event-stream")
		body := bodyOf(t, resp)
		if media := resp.Header.Get("Content-Type"); media != c.media || strings.Contains(body, `"logger":"sluice","data":"do_it: tool_error`) != c.told || !strings.Contains(body, `"isError":true`) {
			t.Errorf("level %q: %s: %s", c.level, media, body)
		}
	}
}

// TestFetchAccess: the rest of an answer is for the token that asked for it, and
// only as long as that opens the tool.
func TestFetchAccess(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items", upstreamtest.JSON(200, "["+strings.Repeat(`{"name":"a word or two"},`, 999)+`{}]`))
	s := start(t, gatewaytest.Options{})
	items := gatewaytest.Operation("list_items", "GET", "/items")
	publish := func(revision uint64, grants ...registry.TokenGrant) {
		t.Helper()
		in := guarded(t, up, revision, tokens(grants...), getItem(), items)
		in.Bundle.Answers = &registry.Answers{Format: registry.FormatJSON, Budget: 1000}
		if err := s.Serve(in); err != nil {
			t.Fatal(err)
		}
	}
	publish(1, tokenGrant("one", "list_*"), tokenGrant("other", "list_*"), tokenGrant("few", "get_*"))
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`
	_, body := post(t, s.URL("acme"), fmt.Sprintf(call, "list_items", "{}"), "Authorization", "Bearer slt_one")
	handle := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{24}`).FindString(body)
	if handle == "" {
		t.Fatalf("no handle: %.300s", body)
	}
	f := func(token string, isError bool, want string) {
		t.Helper()
		_, out := post(t, s.URL("acme"), fmt.Sprintf(call, snapshot.FetchTool, `{"limit":1,"handle":"`+handle+`"}`), "Authorization", "Bearer slt_"+token)
		if strings.Contains(out, `"isError":true`) != isError || !strings.Contains(out, want) {
			t.Errorf("%s: %.400s; want %s", token, out, want)
		}
	}
	f("one", false, "items 1-1 of 1000")
	f("other", true, "has expired") // another principal is told no more than that
	f("few", true, "has expired")
	// The access document changes without a new toolset.
	publish(1, tokenGrant("one", "get_*"), tokenGrant("other", "list_*"))
	f("one", true, "does not open")
	publish(1, tokenGrant("one"), tokenGrant("other"))
	f("one", false, "items 1-1 of 1000")
}

// TestTokenAccess: what an access token opens, and that it goes no further.
func TestTokenAccess(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items", upstreamtest.JSON(200, `[]`))
	s := start(t, gatewaytest.Options{Origins: []string{"https://app.example"}})
	limited := tokenGrant("slow")
	limited.Limits = &registry.RateLimits{RequestsPerMinute: 1, Burst: 1}
	small := tokenGrant("small")
	small.Limits = &registry.RateLimits{RequestBytes: 20}
	in := guarded(t, up, 1, tokens(tokenGrant("all"), tokenGrant("few", "list_*"), limited, small), getItem(), gatewaytest.Operation("list_items", "GET", "/items"))
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{}}}`
	f := func(authorization, body string, status int, contains string) {
		t.Helper()
		got, out := post(t, s.URL("acme"), body, "Authorization", authorization)
		if got != status || !strings.Contains(out, contains) {
			t.Errorf("%q %s: %d %s, want %d %s", authorization, body, got, out, status, contains)
		}
	}
	f("", list, 401, "needs an access token")
	f("Bearer slt_wrong", list, 401, "not known")
	f("Bearer slt_all", list, 200, "get_item")
	f("Bearer slt_few", list, 200, `"tools":[{"name":"list_items"`)
	f("Bearer slt_few", fmt.Sprintf(call, "get_item"), 200, "unknown tool")
	f("Bearer slt_few", fmt.Sprintf(call, "list_items"), 200, `"text":"[]"`)
	f("Bearer slt_slow", list, 200, "tools")
	f("Bearer slt_slow", list, 429, "too many requests")
	f("Bearer slt_small", list, 413, "larger")
	for _, r := range up.Requests() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("the client's credential reached the upstream: %v", r.Header)
		}
	}
	resp := fetch(t, http.MethodGet, s.URL("/.well-known/oauth-protected-resource/t/acme"))
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("a toolset with tokens has metadata: %d", resp.StatusCode)
	}
	resp = fetch(t, http.MethodOptions, s.URL("acme"), "Origin", "https://app.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,mcp-method")
	if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || resp.Header.Get("Access-Control-Allow-Headers") != "authorization,mcp-method" {
		t.Errorf("preflight: %d %v", resp.StatusCode, resp.Header)
	}
	if resp := fetch(t, http.MethodOptions, s.URL("acme"), "Origin", "https://evil.example"); resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of another origin: %d %v", resp.StatusCode, resp.Header)
	}
	if resp := fetch(t, http.MethodPost, s.URL("acme"), "Origin", "https://app.example"); resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Www-Authenticate") != "Bearer" || resp.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("without a token: %d %v", resp.StatusCode, resp.Header)
	}
	var b strings.Builder
	s.Gateway.WritePrometheus(&b)
	for _, want := range []string{`sluice_access_denied_total{toolset="acme",reason="bad_token"} 1`, `sluice_ratelimit_rejections_total{toolset="acme",scope="rate"} 1`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

func fetch(t testing.TB, method, url string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}

// TestRefusalsAreRead: what a request is refused for is a JSON-RPC error, which clients show
// where they say of other bodies only that there was an error.
func TestRefusalsAreRead(t *testing.T) {
	up := upstreamtest.New(t)
	s := start(t, gatewaytest.Options{})
	limited := tokenGrant("slow")
	limited.Limits = &registry.RateLimits{RequestsPerMinute: 1, Burst: 1}
	if err := s.Serve(guarded(t, up, 1, tokens(limited), getItem())); err != nil {
		t.Fatal(err)
	}
	post(t, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "Bearer slt_slow")
	for _, c := range []struct {
		toolset, authorization string
		status                 int
		text                   string
	}{
		{"acme", "", http.StatusUnauthorized, "this toolset needs an access token"},
		{"acme", "Bearer slt_slow", http.StatusTooManyRequests, "too many requests"},
		{"none", "", http.StatusNotFound, "nothing is served at this URL"},
	} {
		status, body := post(t, s.URL(c.toolset), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization", c.authorization)
		var m struct {
			Error struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil || status != c.status || m.Error.Code != c.status || !strings.Contains(m.Error.Message, c.text) || !strings.Contains(body, `"id":null`) {
			t.Errorf("%s with %q: %d %s (%v), want %d %s", c.toolset, c.authorization, status, body, err, c.status, c.text)
		}
	}
}
