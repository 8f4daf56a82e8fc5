package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/batch"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	tokencount "github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// serveBatch makes "acme" live with the tool batch.
func serveBatch(t *testing.T, doc *registry.AccessDocument, edit func(*registry.Toolset)) (*gatewaytest.Stack, *upstreamtest.Server) {
	t.Helper()
	up := upstreamtest.New(t)
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id":%d,"name":"a long name of item %d","note":"%d words that take room"}`, i, i*7, i*i)
	}
	up.Handle("GET /items", upstreamtest.JSON(200, "["+strings.Join(many, ",")+"]"))
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "404" {
			upstreamtest.JSON(404, `{"error":"no such item"}`).ServeHTTP(w, r)
			return
		}
		upstreamtest.JSON(200, fmt.Sprintf(`{"id":%[1]s,"name":"item %[1]s"}`, r.PathValue("id"))).ServeHTTP(w, r)
	}))
	up.Handle("POST /orders", upstreamtest.JSON(201, `{"order":7}`))
	up.Handle("DELETE /items/{id}", upstreamtest.JSON(200, `{"gone":true}`))
	up.Handle("GET /slow", up.Stall())
	var limited atomic.Int32
	up.Handle("GET /limited", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if limited.Add(1)%2 == 1 {
			w.Header().Set("Retry-After", "0")
			upstreamtest.JSON(429, `{"error":"slow down"}`).ServeHTTP(w, r)
			return
		}
		upstreamtest.JSON(200, `{"served":true}`).ServeHTTP(w, r)
	}))
	up.Handle("GET /busy", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		upstreamtest.JSON(429, `{"error":"slow down"}`).ServeHTTP(w, r)
	}))
	up.Handle("POST /limited", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		upstreamtest.JSON(429, `{"error":"slow down"}`).ServeHTTP(w, r)
	}))
	var gate atomic.Int32
	all := make(chan struct{})
	up.Handle("GET /together", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gate.Add(1) == 20 {
			close(all)
		}
		select {
		case <-all:
			upstreamtest.JSON(200, `{"together":true}`).ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	s := start(t, gatewaytest.Options{})
	in := searchInput(t, up, doc, func(b *registry.Toolset) {
		b.Selection = &registry.Selection{Mode: registry.SelectAll, Batch: true}
		if edit != nil {
			edit(b)
		}
	}, getItem(), gatewaytest.Operation("list_items", "GET", "/items"), gatewaytest.Operation("create_order", "POST", "/orders"), gatewaytest.Operation("slow", "GET", "/slow"),
		gatewaytest.Operation("limited", "GET", "/limited"), gatewaytest.Operation("limited_write", "POST", "/limited"), gatewaytest.Operation("together", "GET", "/together"), gatewaytest.Operation("busy", "GET", "/busy"), gatewaytest.Operation("held", "GET", "/held"),
		gatewaytest.Operation("delete_item", "DELETE", "/items/{id}", gatewaytest.Param("id", operation.InPath, operation.TypeInteger, true)))
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	return s, up
}

type obj = map[string]any

// callBatch makes a batch and returns what the agent reads.
func callBatch(t testing.TB, c *mcp.ClientSession, name string, arguments obj) (text string, failed bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func itemCall(id any) obj { return obj{"tool": "get_item", "arguments": obj{"id": id}} }

// TestBatch makes batches in both eras with a client that is not ours.
func TestBatch(t *testing.T) {
	s, up := serveBatch(t, nil, nil)
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		c := connect(t, s, version)
		for _, test := range []struct {
			name  string
			given obj
			want  []string // in this order
			fails bool
		}{
			{"in order", obj{"calls": []any{itemCall(2), itemCall(404), itemCall(1)}}, []string{"[1 get_item]\n", "item 2", "[2 get_item] failed: ", "no such item", "[3 get_item]\n", "item 1"}, false},
			{"ids", obj{"calls": []any{obj{"tool": "get_item", "arguments": obj{"id": 1}, "id": "a"}, obj{"tool": "get_item", "arguments": obj{"id": 2}, "id": "b"}}}, []string{"[a get_item]", "[b get_item]"}, false},
			{"bad arguments", obj{"calls": []any{itemCall("x"), itemCall(1)}}, []string{"[1 get_item] failed: ", "id", "item 1"}, false},
			{"unknown tool", obj{"calls": []any{obj{"tool": "get_itm"}, itemCall(1)}}, []string{`failed: there is no tool "get_itm": did you mean get_item?`, "item 1"}, false},
			{"a tool as scripts name it", obj{"calls": []any{obj{"tool": "api.get_item"}}}, []string{`failed: there is no tool "api.get_item": did you mean get_item?`}, true},
			{"all fail", obj{"calls": []any{itemCall(404)}}, []string{"no such item"}, true},
			{"itself", obj{"calls": []any{obj{"tool": "batch", "arguments": obj{"calls": []any{itemCall(1)}}}}}, []string{"a batch cannot call batch"}, true},
			{"own tool", obj{"calls": []any{obj{"tool": "fetch_result"}}}, []string{"a batch cannot call fetch_result"}, true},
			{"writes not allowed", obj{"calls": []any{obj{"tool": "create_order"}, itemCall(1)}}, []string{"not called without allow_writes", "item 1"}, false},
			{"writes", obj{"calls": []any{itemCall(1), obj{"tool": "create_order"}, itemCall(2)}, "allow_writes": true}, []string{"item 1", "[2 create_order]\n", "order", "item 2"}, false},
			{"no write behind a failure", obj{"calls": []any{itemCall(404), obj{"tool": "create_order"}, itemCall(2)}, "allow_writes": true}, []string{"no such item", "[2 create_order] failed: not called, because 1 failed before it", "item 2"}, false},
			{"destructive", obj{"calls": []any{obj{"tool": "delete_item", "arguments": obj{"id": 1}}}, "allow_writes": true}, []string{"a batch may not call delete_item"}, true},
			{"asked to wait", obj{"calls": []any{obj{"tool": "limited"}}}, []string{"served"}, false},
			{"a write that is asked to wait", obj{"calls": []any{obj{"tool": "limited_write"}}, "allow_writes": true}, []string{"failed: HTTP 429"}, true},
			{"duplicate id", obj{"calls": []any{itemCall(1), obj{"tool": "get_item", "id": "1"}}}, []string{`"1" names two calls`}, true},
			{"bad id", obj{"calls": []any{obj{"tool": "get_item", "id": "a]\n[b"}}}, []string{"without space and brackets"}, true},
			{"long id", obj{"calls": []any{obj{"tool": "get_item", "id": strings.Repeat("x", 65)}}}, []string{"1 to 64"}, true},
			{"no calls", obj{"calls": []any{}}, []string{"expected a list of calls"}, true},
			{"no list", obj{"calls": "get_item"}, []string{"expected a list of calls"}, true},
			{"no object", obj{"calls": []any{1}}, []string{"expected an object"}, true},
			{"unknown argument", obj{"calls": []any{itemCall(1)}, "parallel": true}, []string{"unknown argument"}, true},
			{"unknown member", obj{"calls": []any{obj{"tool": "get_item", "name": 1}}}, []string{"unknown, known are"}, true},
			{"no tool", obj{"calls": []any{obj{"arguments": obj{}}}}, []string{"missing"}, true},
			{"arguments of another kind", obj{"calls": []any{obj{"tool": "get_item", "arguments": []any{}}}}, []string{"expected an object"}, true},
			{"writes of another kind", obj{"calls": []any{itemCall(1)}, "allow_writes": "yes"}, []string{"expected true or false"}, true},
			{"long name", obj{"calls": []any{obj{"tool": strings.Repeat("x", 1<<16)}}}, []string{"there is no tool"}, true},
		} {
			text, failed := callBatch(t, c, "batch", test.given)
			rest := text
			for _, want := range test.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok || failed != test.fails {
					t.Errorf("%s, %s: failed %t: %s\nwant %q", version, test.name, failed, text, want)
					break
				}
				rest = after
			}
			if len(text) > 4096 {
				t.Errorf("%s: %d bytes of text", test.name, len(text))
			}
			if place, said, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(place, "/calls") && strings.Contains(said, place) {
				t.Errorf("%s: the place is said twice: %s", test.name, text)
			}
		}
	}
	for _, r := range up.Requests() {
		if r.Method == http.MethodDelete {
			t.Error("a batch called a tool that destroys")
		}
	}
	writes := 0
	for _, r := range up.Requests() {
		if r.Method == http.MethodPost && r.Target == "/limited" {
			writes++
		}
	}
	if writes != 2 {
		t.Errorf("%d writes of 2 calls: one was repeated", writes)
	}
}

// TestBatchIsBounded: 20 calls are made, all at once, and 21 are refused before any is.
func TestBatchIsBounded(t *testing.T) {
	s, up := serveBatch(t, nil, nil)
	c := connect(t, s, "2026-07-28")
	calls := make([]any, batch.MaxCalls+1)
	for i := range calls {
		calls[i] = obj{"tool": "together"}
	}
	if text, failed := callBatch(t, c, "batch", obj{"calls": calls}); !failed || !strings.Contains(text, "21 calls, at most 20") || len(up.Requests()) != 0 {
		t.Errorf("21 calls: %s, %d requests", text, len(up.Requests()))
	}
	// Each answers only when all are there.
	if text, failed := callBatch(t, c, "batch", obj{"calls": calls[:batch.MaxCalls]}); failed || strings.Count(text, "together=")+strings.Count(text, `"together":true`) != 20 {
		t.Errorf("20 calls: %s", text)
	}
}

// TestBatchSharesItsBudget: a long answer gets what short ones leave, in whole items, and
// the rest is fetched.
func TestBatchSharesItsBudget(t *testing.T) {
	s, _ := serveBatch(t, nil, func(b *registry.Toolset) { b.Answers = &registry.Answers{Budget: 1000} })
	c := connect(t, s, "2026-07-28")
	text, failed := callBatch(t, c, "batch", obj{"calls": []any{itemCall(1), obj{"tool": "list_items"}, itemCall(2)}})
	for _, want := range []string{"item 1", "item 2", "items 1-", "of 300"} {
		if failed || !strings.Contains(text, want) {
			t.Fatalf("%s\nwant %s", text, want)
		}
	}
	if n := tokencount.Estimate([]byte(text)); n > 1000 || n < 600 {
		t.Errorf("%d tokens of 1000:\n%s", n, text)
	}
	_, rest, _ := strings.Cut(text, `fetch_result {"handle":"`)
	handle, _, _ := strings.Cut(rest, `"`)
	if more, failed := callBatch(t, c, "fetch_result", obj{"handle": handle, "offset": 290}); failed || !strings.Contains(more, "291-") {
		t.Errorf("the rest: %s", more)
	}
	both, _ := callBatch(t, c, "batch", obj{"calls": []any{obj{"tool": "list_items"}, obj{"tool": "list_items"}}})
	if n := tokencount.Estimate([]byte(both)); strings.Count(both, "of 300") != 2 || n > 1000 {
		t.Errorf("two long answers: %d tokens\n%s", n, both)
	}
}

// TestBatchInEverySelection: clients list it in each mode, beside a tool of its name.
func TestBatchInEverySelection(t *testing.T) {
	for _, mode := range []string{registry.SelectAll, registry.SelectSearch, registry.SelectCode} {
		s, _ := serveBatch(t, nil, func(b *registry.Toolset) {
			name := "batch"
			b.Selection.Mode = mode
			b.Tools = append(b.Tools, registry.ToolEdit{Connector: b.Connectors[0].Name, Method: "GET", Path: "/slow", Name: &name})
		})
		c := connect(t, s, "2025-11-25")
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, tool := range list.Tools {
			if tool.Name == "sluice_batch" {
				a := tool.Annotations
				found = !a.ReadOnlyHint && a.DestructiveHint != nil && !*a.DestructiveHint
				text, err := json.Marshal(tool)
				if n := tokencount.Count(text); err != nil || n > 160 { // docs/batch.md says so
					t.Errorf("%s: the definition costs %d tokens: %v", mode, n, err)
				}
			}
		}
		if !found {
			t.Errorf("%s: batch is not listed, or with wrong hints", mode)
		}
		if text, failed := callBatch(t, c, "sluice_batch", obj{"calls": []any{itemCall(1)}}); failed || !strings.Contains(text, "item 1") {
			t.Errorf("%s: %s", mode, text)
		}
	}
}

// TestBatchOffByDefault: without the operator's word there is none.
func TestBatchOffByDefault(t *testing.T) {
	s, _ := serveBatch(t, nil, func(b *registry.Toolset) { b.Selection = nil })
	c := connect(t, s, "2026-07-28")
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "batch", Arguments: obj{"calls": []any{itemCall(1)}}}); err == nil {
		t.Error("batch can be called")
	}
}

// TestBatchOfAToken: a token calls what it opens, and learns nothing of the rest.
func TestBatchOfAToken(t *testing.T) {
	s, up := serveBatch(t, tokens(tokenGrant("narrow", "plain:", "get_item")), nil)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme"), DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer("slt_narrow")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	text, _ := callBatch(t, c, "batch", obj{"calls": []any{itemCall(1), obj{"tool": "list_items"}, obj{"tool": "list_item"}}})
	if !strings.Contains(text, "item 1") || !strings.Contains(text, `there is no tool "list_items"`) || strings.Contains(text, "mean list_items") || len(up.Requests()) != 1 {
		t.Errorf("%s, %d requests", text, len(up.Requests()))
	}
}

// TestBatchRequestIsBounded: a batch is one request of the size that a token may send.
func TestBatchRequestIsBounded(t *testing.T) {
	small := tokenGrant("small")
	small.Limits = &registry.RateLimits{RequestBytes: 2000}
	s, up := serveBatch(t, tokens(small), nil)
	for n, status := range map[int]int{2000: http.StatusOK, 2001: http.StatusRequestEntityTooLarge} {
		const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"batch","arguments":{"calls":[{"tool":"get_item","arguments":{"id":1}}]}}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("acme"), strings.NewReader(body+strings.Repeat(" ", n-len(body))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		answer, err := (&http.Client{Transport: bearer("slt_small")}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("%d bytes: status %d, want %d", n, answer.StatusCode, status)
		}
	}
	if n := len(up.Requests()); n != 1 {
		t.Errorf("%d requests, want that of the batch that fits", n)
	}
}

// TestBatchMayDestroy: the operator may let batches call tools that may destroy.
func TestBatchMayDestroy(t *testing.T) {
	s, _ := serveBatch(t, nil, func(b *registry.Toolset) { b.Selection.Destructive = true })
	c := connect(t, s, "2026-07-28")
	call := []any{obj{"tool": "delete_item", "arguments": obj{"id": 1}}}
	if text, failed := callBatch(t, c, "batch", obj{"calls": call}); !failed || !strings.Contains(text, "allow_writes") {
		t.Error(text)
	}
	if text, failed := callBatch(t, c, "batch", obj{"calls": call, "allow_writes": true}); failed {
		t.Error(text)
	}
}

// TestBatchDeadline: all calls share one deadline, and what ended before is told.
func TestBatchDeadline(t *testing.T) {
	s, _ := serveBatch(t, nil, func(b *registry.Toolset) { b.Answers = &registry.Answers{TimeoutMilliseconds: 1000} })
	c := connect(t, s, "2026-07-28")
	text, failed := callBatch(t, c, "batch", obj{"calls": []any{itemCall(1), obj{"tool": "slow"}, obj{"tool": "create_order"}}, "allow_writes": true})
	if failed || !strings.Contains(text, "item 1") || !strings.Contains(text, "[2 slow] failed") || !strings.Contains(text, "not called") {
		t.Error(text)
	}
}

// TestBatchCancel: a batch whose client goes away ends, with its calls.
func TestBatchCancel(t *testing.T) {
	s, up := serveBatch(t, nil, nil)
	c := connect(t, s, "2026-07-28")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "batch", Arguments: obj{"calls": []any{obj{"tool": "slow"}, obj{"tool": "create_order"}}, "allow_writes": true}})
		done <- err
	}()
	for len(up.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("the call ended well")
	}
	if err := s.Stop(); err != nil { // when nothing runs any more
		t.Error(err)
	}
	for _, r := range up.Requests() {
		if r.Method == http.MethodPost {
			t.Error("a call was made after the client had gone")
		}
	}
}

// TestBatchDrains: a batch that runs when the gateway is stopped is answered.
func TestBatchDrains(t *testing.T) {
	s, up := serveBatch(t, nil, nil)
	held, begun := make(chan struct{}), make(chan struct{})
	up.Handle("GET /held", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-held
		upstreamtest.JSON(200, `{"held":true}`).ServeHTTP(w, r)
	}))
	c := connect(t, s, "2026-07-28")
	text := make(chan string)
	go func() {
		got, _ := callBatch(t, c, "batch", obj{"calls": []any{obj{"tool": "held"}, obj{"tool": "create_order"}}, "allow_writes": true})
		text <- got
	}()
	<-begun
	stopped := make(chan error)
	go func() { stopped <- s.Stop() }()
	close(held)
	if got := <-text; !strings.Contains(got, "held") || !strings.Contains(got, "order") {
		t.Error(got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestBatchRepeats: a call that reads is made MaxBatchRepeats times again for an upstream
// that always asks to wait, and its last answer stands.
func TestBatchRepeats(t *testing.T) {
	s, up := serveBatch(t, nil, nil)
	text, failed := callBatch(t, connect(t, s, "2026-07-28"), "batch", obj{"calls": []any{obj{"tool": "busy"}, itemCall(1)}})
	if failed || !strings.Contains(text, "[1 busy] failed: HTTP 429") || !strings.Contains(text, "item 1") {
		t.Error(text)
	}
	busy := 0
	for _, r := range up.Requests() {
		if r.Target == "/busy" {
			busy++
		}
	}
	if busy != 1+call.MaxBatchRepeats {
		t.Errorf("%d requests, want one and %d more", busy, call.MaxBatchRepeats)
	}
}

// TestBatchWaitsOnce: calls that were asked to wait at the same time wait at the same time: ten
// that wait for a second are done in a batch of six.
func TestBatchWaitsOnce(t *testing.T) {
	s, up := serveBatch(t, nil, func(b *registry.Toolset) { b.Answers = &registry.Answers{TimeoutMilliseconds: 6000} })
	var came atomic.Int32
	all := make(chan struct{})
	up.Handle("GET /held", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := came.Add(1)
		if n == 10 {
			close(all)
		}
		if n > 10 {
			upstreamtest.JSON(200, `{"served":true}`).ServeHTTP(w, r)
			return
		}
		<-all
		w.Header().Set("Retry-After", "1")
		upstreamtest.JSON(429, `{"error":"slow down"}`).ServeHTTP(w, r)
	}))
	var calls []any
	for range 10 {
		calls = append(calls, obj{"tool": "held"})
	}
	if text, failed := callBatch(t, connect(t, s, "2026-07-28"), "batch", obj{"calls": calls}); failed || strings.Count(text, "served") != 10 {
		t.Error(text)
	}
}

// TestBatchOfOtherTools: tools of MCP servers and of workflow plugins are called as those
// of HTTP APIs are; what a use case leaves out is not there.
func TestBatchOfOtherTools(t *testing.T) {
	server := httptest.NewServer(sdk(func(*http.Request) {}))
	endWith(t, server)
	x := newRelay(t)
	x.edit = func(b *registry.Toolset) {
		b.Selection = &registry.Selection{Mode: registry.SelectUseCase, UseCase: "read items", Batch: true, Tools: []registry.SelectedTool{
			{Connector: "api", Method: "GET", Path: "/items/{id}"}, {Connector: "notes", Method: "MCP", Path: "/echo"},
		}}
	}
	notes, err := gatewaytest.MCPConnector("notes", server.URL+"/mcp", `{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`)
	if err != nil {
		t.Fatal(err)
	}
	x.also = map[string]*connector.Connector{"notes": notes}
	x.serve(callItem1)
	text, failed := callBatch(t, connect(t, x.Stack, "2026-07-28"), "batch", obj{"calls": []any{
		obj{"tool": "relay"}, obj{"tool": "echo"}, obj{"tool": "text"}, itemCall(2),
	}, "allow_writes": true})
	for _, want := range []string{"[1 relay]\n", "[2 echo]\n", `[3 text] failed: there is no tool "text"`, "[4 get_item]\n"} {
		if failed || !strings.Contains(text, want) {
			t.Errorf("%s\nwant %q", text, want)
		}
	}
}

// BenchmarkBatch makes a batch of 20 calls to an upstream that takes 200 ms for each.
func BenchmarkBatch(b *testing.B) {
	up := upstreamtest.New(b)
	up.Handle("GET /wait", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(200 * time.Millisecond)
		upstreamtest.JSON(200, `{"waited":true}`).ServeHTTP(w, r)
	}))
	s := start(b, gatewaytest.Options{})
	c, err := gatewaytest.Connector("api", up.URL, gatewaytest.Operation("wait", "GET", "/wait"))
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, func(t *registry.Toolset) {
		t.Selection = &registry.Selection{Mode: registry.SelectAll, Batch: true}
	})); err != nil {
		b.Fatal(err)
	}
	client := connect(b, s, "2026-07-28")
	calls := make([]any, batch.MaxCalls)
	for i := range calls {
		calls[i] = obj{"tool": "wait"}
	}
	for b.Loop() {
		if text, failed := callBatch(b, client, "batch", obj{"calls": calls}); failed {
			b.Fatal(text)
		}
	}
}
