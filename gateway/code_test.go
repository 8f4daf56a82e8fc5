package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	tokencount "github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/plugins/script"
	"github.com/sluicegate/sluice/registry"
)

// serveCode makes "acme" live in code mode.
func serveCode(t *testing.T, doc *registry.AccessDocument, edit func(*registry.Toolset)) (*gatewaytest.Stack, *upstreamtest.Server) {
	t.Helper()
	up := upstreamtest.New(t)
	up.Handle("GET /items", upstreamtest.JSON(200, `[{"id":1},{"id":2},{"id":3}]`))
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
	e := script.New(script.Options{})
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	s := start(t, gatewaytest.Options{Scripts: e})
	in := searchInput(t, up, doc, func(b *registry.Toolset) {
		b.Selection = &registry.Selection{Mode: registry.SelectCode}
		if edit != nil {
			edit(b)
		}
	}, getItem(), gatewaytest.Operation("list_items", "GET", "/items"), gatewaytest.Operation("create_order", "POST", "/orders"), gatewaytest.Operation("slow", "GET", "/slow"),
		gatewaytest.Operation("delete_item", "DELETE", "/items/{id}", gatewaytest.Param("id", operation.InPath, operation.TypeInteger, true)))
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	return s, up
}

// TestCodeMode searches signatures and runs scripts in both eras with a client that is
// not ours.
func TestCodeMode(t *testing.T) {
	s, up := serveCode(t, nil, nil)
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		c := connect(t, s, version)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 3 { // with fetch_result
			t.Fatalf("%s: %v, %v", version, list, err)
		}
		for _, tool := range list.Tools {
			if a := tool.Annotations; tool.Name == "run_code" && (a.ReadOnlyHint || a.DestructiveHint == nil || *a.DestructiveHint) {
				t.Errorf("the hints of run_code: %+v", a)
			}
		}
		run := func(code string, failed bool, want ...string) {
			t.Helper()
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_code", Arguments: map[string]any{"code": code}})
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, item := range r.Content {
				text.WriteString(item.(*mcp.TextContent).Text + "\n")
			}
			for _, w := range want {
				if r.IsError != failed || !strings.Contains(text.String(), w) {
					t.Errorf("%s\nfailed %t: %s\nwant %s", code, r.IsError, text.String(), w)
				}
			}
		}
		found, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_tools", Arguments: map[string]any{"query": "get an item", "limit": 1}})
		if err != nil || !strings.Contains(found.Content[0].(*mcp.TextContent).Text, "tools.api.get_item(args: {id: ") {
			t.Errorf("%s %v", found.Content[0].(*mcp.TextContent).Text, err)
		}
		for limit, failed := range map[int]bool{0: true, 1: false, snapshot.MaxSignatures: false, snapshot.MaxSignatures + 1: true} {
			found, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_tools", Arguments: map[string]any{"query": "get an item", "limit": limit}})
			if err != nil || found.IsError != failed {
				t.Errorf("a search with limit %d: %+v %v", limit, found, err)
			}
		}
		run(`const items = await tools.api.list_items(); return (await Promise.all(items.map(i => tools.api.get_item({id: i.id})))).map(i => i.name)`, false, "item 1", "item 3")
		run(`return "plain text"`, false, "plain text")
		run(`undefined`, false, "no value")
		run(`console.log("a", 1); console.log("b"); return 5`, false, "5\n[log]\na 1\nb")
		run(`console.log("seen"); throw new Error("mine")`, true, "Error: mine (line 1, column", "(repair the script and run it again)\n[log]\nseen")
		run(`tools.api.slow({}); return 5`, false, "5\n1 call had not ended: write await")
		run(`tools.api.slow({}); console.log("a"); undefined`, false, "no value: write it last, or return it.\n[log]\na\n1 call had not ended")
		run("const x = 1;\nawait tools.api.get_item({id: 404})", true, "ToolError:", "no such item", "line 2, column")
		run(`try { await tools.api.get_item({id: 404}) } catch (e) { return [e.tool, e.status] }`, false, "get_item", "404")
		run(`await tools.api.get_item({id: "x"})`, true, "/id")
		run(`await tools.api.get_itm({id: 1})`, true, "did you mean tools.api.get_item?")
		run(`for (let i = 0; i < 65; i++) await tools.api.get_item({id: 1})`, true, "one run makes at most 64 calls", "get_item × 64")
		run(`await Promise.all(Array.from({length: 65}, () => tools.api.get_item({id: 1})))`, true, "one run makes at most 64 calls")
		run(`await tools.other.get_item({id: 1})`, true, "there is no tool")
		run(`await tools.get_item({id: 1})`, false, "item 1")
		run(`await get_item({id: 1})`, true, "get_item is not defined", "write tools.api.get_item")
		run(`await tools.api.get_item([1])`, true, "must be one object")
		run(`await tools.api.delete_item({id: 1})`, true, "scripts may not call delete_item")
		run(`await tools.api.create_order({}); await tools.api.list_items(); nonsense`, true, "nonsense is not defined", "2 calls ended: create_order (changed data", "list_items")
		run(`await tools.api.create_order({}); throw new Error("mine")`, true, "(repair the script and run only what is left)")
		run(`const a: number = 1`, true, "SyntaxError", "plain JavaScript")
		run(`await tools.run_code({code: "1"})`, true, "there is no tool")
		run(` `, true, "/code: missing")
		run(strings.Repeat("1;", script.MaxCode/2)+"1", true, "at most 65536")
		if n := len(up.Requests()); n == 0 {
			t.Error("the upstream was not asked")
		}
	}
}

// anHour is the time limit of calls that a test would wait for if they were not cut off.
func anHour(b *registry.Toolset) {
	b.Answers = &registry.Answers{TimeoutMilliseconds: 60 * 60 * 1000}
}

// TestCodeModeCutsOff: a call that only reads ends with the script that gave it up.
func TestCodeModeCutsOff(t *testing.T) {
	s, _ := serveCode(t, nil, anHour)
	r, err := connect(t, s, "2025-11-25").CallTool(t.Context(), &mcp.CallToolParams{Name: "run_code", Arguments: map[string]any{
		"code": `const slow = tools.api.slow({}); await tools.api.get_item({id: 1}); return Promise.race([slow, "not waited for"])`,
	}})
	if err != nil || r.IsError || r.Content[0].(*mcp.TextContent).Text != "not waited for" {
		t.Fatalf("%+v %v", r, err)
	}
}

// TestCodeModeListsLittle: both tools cost at most 320 tokens, whatever the toolset has.
func TestCodeModeListsLittle(t *testing.T) {
	s, _ := serveCode(t, nil, nil)
	list, err := connect(t, s, "2025-11-25").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, tool := range list.Tools {
		if tool.Name != "fetch_result" {
			b, err := json.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			n += tokencount.Count(b)
		}
	}
	t.Logf("%d tokens", n)
	if n > 320 {
		t.Errorf("the tools of code mode cost %d tokens, want at most 320", n)
	}
}

// TestCodeModeOff: with ?code=off a client gets the plain list, and calls its tools.
func TestCodeModeOff(t *testing.T) {
	s, _ := serveCode(t, nil, nil)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme") + "?code=off", DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 6 { // with fetch_result
		t.Fatalf("%+v %v", list, err)
	}
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_item", Arguments: map[string]any{"id": 2}})
	if err != nil || r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "item 2") {
		t.Errorf("%+v %v", r, err)
	}
}

// TestCodeModeDestroys: the operator may let scripts call tools that may destroy.
func TestCodeModeDestroys(t *testing.T) {
	s, _ := serveCode(t, nil, func(b *registry.Toolset) { b.Selection.Destructive = true })
	c := connect(t, s, "2026-07-28")
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_code", Arguments: map[string]any{"code": "await tools.api.delete_item({id: 1})"}})
	if err != nil || r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "true") {
		t.Errorf("%+v %v", r, err)
	}
}

// TestCodeModeCancel: a script whose client goes away ends, with the call that it makes.
func TestCodeModeCancel(t *testing.T) {
	s, up := serveCode(t, nil, nil)
	c := connect(t, s, "2026-07-28")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "run_code", Arguments: map[string]any{"code": "await Promise.all([tools.api.slow({}), sleep(60000)])"}})
		done <- err
	}()
	for len(up.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("the call ended well")
	}
	// The engine closes only when no script runs any more: the clean-up of the test waits for it.
}

// TestPlainListIsOfItsCaller: with ?code=off a token lists what it opens, beside a token
// that opens everything.
func TestPlainListIsOfItsCaller(t *testing.T) {
	s, _ := serveCode(t, tokens(tokenGrant("narrow", "plain:", "get_item"), tokenGrant("wide")), nil)
	for _, token := range []string{"slt_wide", "slt_narrow", "slt_wide"} {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme") + "?code=off", DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.ListTools(t.Context(), nil)
		if want := map[string]int{"slt_wide": 6, "slt_narrow": 2}[token]; err != nil || len(list.Tools) != want { // with fetch_result
			t.Errorf("%s: %d tools, want %d, %v", token, len(list.Tools), want, err)
		}
		_ = c.Close()
	}
}
