package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// asker is a server of the official SDK whose tools ask their client: form and url
// (elicitation), sample and roots.
func asker(t testing.TB, sse bool) string {
	t.Helper()
	return askerIn(t, sse, func(ctx context.Context) context.Context { return ctx })
}

// askerIn is asker whose tools ask in a context of that of their call. In one of no call the
// SDK asks on the stream of the session.
func askerIn(t testing.TB, sse bool, in func(context.Context) context.Context) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	say := func(v any, err error) (*mcp.CallToolResult, error) {
		text := fmt.Sprint(err)
		if err == nil {
			b, _ := json.Marshal(v)
			text = string(b)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
	add := func(name string, run func(context.Context, *mcp.ServerSession) (any, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return say(run(in(ctx), r.Session))
		})
	}
	add("form", func(ctx context.Context, s *mcp.ServerSession) (any, error) {
		return s.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
	})
	add("url", func(ctx context.Context, s *mcp.ServerSession) (any, error) {
		return s.Elicit(ctx, &mcp.ElicitParams{Mode: "url", Message: "Go there", URL: "https://x.example/login", ElicitationID: "e1"})
	})
	add("sample", func(ctx context.Context, s *mcp.ServerSession) (any, error) {
		return s.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 9, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Hi"}}}})
	})
	add("roots", func(ctx context.Context, s *mcp.ServerSession) (any, error) { return s.ListRoots(ctx, nil) })
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	if sse {
		h = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
	}
	up := httptest.NewServer(h)
	endWith(t, up)
	return up.URL
}

// serveAsker makes the tools of such a server live as the toolset "acme".
func serveAsker(t testing.TB, s *gatewaytest.Stack, url string) {
	t.Helper()
	serveAskerTo(t, s, url, nil)
}

// serveAskerTo is serveAsker with an access document; nil: everyone may call.
func serveAskerTo(t testing.TB, s *gatewaytest.Stack, url string, doc *registry.AccessDocument) {
	t.Helper()
	server := &connector.MCPServer{URL: url, Transport: manifest.TransportStreamable, Protocol: "2025-11-25", Name: "up", Version: "1"}
	for _, name := range []string{"form", "url", "sample", "roots"} {
		server.Tools = append(server.Tools, json.RawMessage(`{"name":"`+name+`","inputSchema":{"type":"object"}}`))
	}
	a, _, err := connector.BuildMCP("up", server)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connector.Open(a.Module)
	if err != nil {
		t.Fatal(err)
	}
	in := gatewaytest.Toolset("acme", 1, c, nil)
	if doc != nil {
		doc.Workspace, doc.Toolset = "test", in.ID
		b, err := doc.Encode()
		if err != nil {
			t.Fatal(err)
		}
		in.Access, in.AccessDigest = doc, registry.DigestOf(b)
	}
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
}

// connectAsked is a client of the official SDK, which answers with its name when it can be
// asked.
func connectAsked(t testing.TB, url, name, version string, can bool) *mcp.ClientSession {
	t.Helper()
	o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if can {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{}
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.Mode == "url" {
				if r.Params.URL != "https://x.example/login" {
					return nil, fmt.Errorf("asked to open %s", r.Params.URL)
				}
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name}}, nil
		}
		o.CreateMessageHandler = func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "I am " + name}}, nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, o)
	if can {
		client.AddRoots(&mcp.Root{Name: name, URI: "file:///" + name})
	}
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestServersAsk: requests of a server reach the client whose call they belong to, over
// both transports, and its answers the server.
func TestServersAsk(t *testing.T) {
	for name, c := range map[string]struct {
		sse, aside bool
		version    string
	}{
		"streamable": {false, false, "2025-11-25"}, "sse": {true, false, "2025-06-18"},
		"streamable to 2026": {false, false, "2026-07-28"}, "sse to 2026": {true, false, "2026-07-28"}, "aside to 2026": {false, true, "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			version := c.version
			s := start(t, gatewaytest.Options{})
			serveAsker(t, s, askerIn(t, c.sse, func(ctx context.Context) context.Context {
				if c.aside {
					return t.Context()
				}
				return ctx
			}))
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					me := fmt.Sprintf("client%d", i)
					c := connectAsked(t, s.URL("acme"), me, version, true)
					for tool, want := range map[string]string{"form": `{"name":"` + me + `"}`, "url": `"action":"accept"`, "sample": "I am " + me, "roots": "file:///" + me} {
						res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
						if err != nil || !strings.Contains(text(t, res), want) {
							t.Errorf("%s, %s: %+v, %v", me, tool, res, err)
						}
					}
				})
			}
			all.Wait()
			c := connectAsked(t, s.URL("acme"), "mute", version, false)
			for _, tool := range []string{"form", "url", "sample", "roots"} {
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
				said := ""
				if err == nil {
					said = text(t, res)
				}
				if err == nil && !res.IsError && !strings.Contains(said, "support") && !strings.Contains(said, "capability") && !strings.Contains(said, "stream not connected") {
					t.Errorf("a client that cannot be asked, %s: %s", tool, said)
				}
			}
		})
	}
}

// TestAnswersStayInTheirSession: an answer counts only in the session that was asked.
func TestAnswersStayInTheirSession(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	serveAsker(t, s, asker(t, false))
	shake := strings.Replace(handshake, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)
	begin := func() (session string, question *bufio.Scanner) {
		session = request(t, http.MethodPost, s.URL("acme"), shake).Header.Get("Mcp-Session-Id")
		resp := request(t, http.MethodPost, s.URL("acme"), callBody("form", "{}"), "Mcp-Session-Id", session)
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "elicitation/create") {
				break
			}
		}
		if !strings.Contains(lines.Text(), `"id":1,`) {
			t.Fatalf("the question is %q", lines.Text())
		}
		return session, lines
	}
	one, lines := begin()
	two, others := begin()
	reply := func(session, name string) {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"` + name + `"}}}`
		if resp := request(t, http.MethodPost, s.URL("acme"), body, "Mcp-Session-Id", session); resp.StatusCode != http.StatusAccepted {
			t.Errorf("an answer: %d", resp.StatusCode)
		}
	}
	reply("", "nobody")
	reply(two, "two")
	reply(one, "one")
	for name, lines := range map[string]*bufio.Scanner{"one": lines, "two": others} {
		result := ""
		for lines.Scan() {
			result += lines.Text()
		}
		if !strings.Contains(result, `{\"name\":\"`+name+`\"}`) {
			t.Errorf("the call of %s ends with %s", name, result)
		}
	}
}

// TestLevelReachesServer: logging/setLevel of a client counts at its server, in its own
// session.
func TestLevelReachesServer(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "logs", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "log", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, level := range []mcp.LoggingLevel{"debug", "warning"} {
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Data: "said"}); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	endWith(t, up)
	s := start(t, gatewaytest.Options{})
	c, err := gatewaytest.MCPConnector("up", up.URL, `{"name":"log","inputSchema":{"type":"object"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
		t.Fatal(err)
	}
	heard := func(session string) string {
		resp := request(t, http.MethodPost, s.URL("acme"), callBody("log", "{}"), "Mcp-Session-Id", session)
		var levels []string
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			for _, level := range []string{"debug", "warning"} {
				if strings.Contains(lines.Text(), `"said"`) && strings.Contains(lines.Text(), level) {
					levels = append(levels, level)
				}
			}
		}
		return strings.Join(levels, " ")
	}
	set := func(session, level string) {
		resp := request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"`+level+`"}}`, "Mcp-Session-Id", session)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("setLevel: %d", resp.StatusCode)
		}
	}
	one, two := openSession(t, s.URL("acme"), ""), openSession(t, s.URL("acme"), "")
	set(one, "debug")
	if got := heard(one); got != "debug warning" {
		t.Errorf("at debug it hears %q", got)
	}
	if got := heard(two); got != "" {
		t.Errorf("the other client hears %q", got)
	}
	set(one, "error")
	if got := heard(one); got != "" {
		t.Errorf("at error it hears %q", got)
	}
}

// TestFloodIsCut: a server that talks without end is an error, and its call ends.
func TestFloodIsCut(t *testing.T) {
	gone := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		switch m.Method {
		case "server/discover":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}}`, m.ID)
		case "tools/call":
			defer close(gone)
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%q}}\n\n", strings.Repeat("x", 4000)); err != nil {
					return
				}
			}
		}
	}))
	endWith(t, up)
	s := start(t, gatewaytest.Options{})
	c, err := gatewaytest.MCPConnector("up", up.URL, `{"name":"flood","inputSchema":{"type":"object"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
		t.Fatal(err)
	}
	_, got := post(t, s.URL("acme"), callBody("flood", "{}"))
	if !strings.Contains(got, "sent more than 50000 notifications, or 16 MiB besides its answer") || !strings.Contains(got, `"isError":true`) {
		t.Errorf("the call ends with %.300s", got)
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the server goes on")
	}
}

// TestResultsAsk: what a server of 2026-07-28 asks in its results reaches a client of an
// older revision as requests, over several rounds.
func TestResultsAsk(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "rounds", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		form := func() mcp.InputRequest {
			return &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
		}
		switch r.Params.RequestState {
		case "":
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": form(), "b": form()}, RequestState: "one"}, nil
		case "one":
			if len(r.Params.InputResponses) != 2 {
				return nil, fmt.Errorf("%d answers", len(r.Params.InputResponses))
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"c": form()}, RequestState: "two"}, nil
		}
		b, _ := json.Marshal(r.Params.InputResponses)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}}, nil
	})
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	endWith(t, up)
	s := start(t, gatewaytest.Options{})
	c, err := gatewaytest.MCPConnector("up", up.URL, `{"name":"rounds","inputSchema":{"type":"object"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
		t.Fatal(err)
	}
	res, err := connectAsked(t, s.URL("acme"), "me", "2025-11-25", true).CallTool(t.Context(), &mcp.CallToolParams{Name: "rounds"})
	if err != nil || res.IsError || !strings.Contains(text(t, res), `"name":"me"`) {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = connectAsked(t, s.URL("acme"), "me", "2025-11-25", false).CallTool(t.Context(), &mcp.CallToolParams{Name: "rounds"})
	if err == nil && !res.IsError {
		t.Errorf("a client that cannot be asked gets %s", text(t, res))
	}
}

// TestPausedCallIsItsCallers: the answer to a question counts for the caller and the tool
// that were asked, and once.
func TestPausedCallIsItsCallers(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	serveAskerTo(t, s, asker(t, false), tokens(tokenGrant("ada"), tokenGrant("bob")))
	call := func(caller, tool, params string) string {
		t.Helper()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}}}`, tool, params)
		resp := request(t, http.MethodPost, s.URL("acme"), body, "Authorization", tokenOf(caller), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	asked := call("ada", "form", "")
	_, state, _ := strings.Cut(asked, `"requestState":"`)
	state, _, ok := strings.Cut(state, `"`)
	if !ok || !strings.Contains(asked, `"resultType":"input_required"`) || !strings.Contains(asked, "Who?") {
		t.Fatalf("nothing is asked: %s", asked)
	}
	answer := `,"requestState":"` + state + `","inputResponses":{"request-1":{"action":"accept","content":{"name":"Ada"}}}`
	for _, c := range [][2]string{{"bob", "form"}, {"ada", "roots"}} {
		if got := call(c[0], c[1], answer); !strings.Contains(got, "has expired") || strings.Contains(got, "Ada") {
			t.Errorf("%s at %s gets %s", c[0], c[1], got)
		}
	}
	if got := call("ada", "form", answer); !strings.Contains(got, `{\"name\":\"Ada\"}`) {
		t.Errorf("the caller gets %s", got)
	}
	if got := call("ada", "form", answer); !strings.Contains(got, "has expired") {
		t.Errorf("a second time the caller gets %s", got)
	}
}

// TestRootsChange: a server is told once that a client's roots changed, in the session of that
// client, with its next call, and of no client that declared none.
func TestRootsChange(t *testing.T) {
	told := make(chan string, 8)
	server := mcp.NewServer(&mcp.Implementation{Name: "roots", Version: "1"}, &mcp.ServerOptions{
		RootsListChangedHandler: func(_ context.Context, r *mcp.RootsListChangedRequest) { told <- r.Session.ID() },
	})
	server.AddTool(&mcp.Tool{Name: "who", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Session.ID()}}}, nil
	})
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	endWith(t, up)
	s := start(t, gatewaytest.Options{})
	c, err := gatewaytest.MCPConnector("up", up.URL, `{"name":"who","inputSchema":{"type":"object"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
		t.Fatal(err)
	}
	open := func(declared string) string {
		resp := request(t, http.MethodPost, s.URL("acme"), strings.Replace(handshake, `"capabilities":{}`, `"capabilities":`+declared, 1))
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Header.Get("Mcp-Session-Id")
	}
	who := func(session string) string {
		resp := request(t, http.MethodPost, s.URL("acme"), callBody("who", "{}"), "Mcp-Session-Id", session)
		body, _ := io.ReadAll(resp.Body)
		_, id, _ := strings.Cut(string(body), `"text":"`)
		id, _, _ = strings.Cut(id, `"`)
		return id
	}
	one, two, none := open(`{"roots":{"listChanged":true}}`), open(`{"roots":{"listChanged":true}}`), open(`{"sampling":{}}`)
	first := who(one)
	for _, session := range []string{one, none} {
		if resp := request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, "Mcp-Session-Id", session); resp.StatusCode != http.StatusAccepted {
			t.Fatalf("the notification: %d", resp.StatusCode)
		}
	}
	for _, session := range []string{two, none, one, one} {
		who(session)
	}
	if got := <-told; got != first {
		t.Errorf("session %s hears of it, want %s", got, first)
	}
	if len(told) > 0 {
		t.Errorf("then session %s", <-told)
	}
}
