package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// serveSearch makes "acme" live in search mode.
func serveSearch(t *testing.T, s *gatewaytest.Stack, up *upstreamtest.Server, ops ...*operation.Operation) {
	t.Helper()
	if err := s.Serve(searchInput(t, up, nil, nil, ops...)); err != nil {
		t.Fatal(err)
	}
}

// TestSearchMode goes through search, description and execution in both eras with
// a client that is not ours.
func TestSearchMode(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, item))
	s := start(t, gatewaytest.Options{})
	serveSearch(t, s, up, getItem(), gatewaytest.Operation("delete_customer", "DELETE", "/customers/{id}",
		gatewaytest.Param("id", operation.InPath, operation.TypeInteger, true)))
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		c := connect(t, s, version)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 4 { // with fetch_result
			t.Fatalf("%s: %v, %v", version, list, err)
		}
		for _, tool := range list.Tools {
			switch a := tool.Annotations; tool.Name {
			case "search_tools":
				if !a.ReadOnlyHint || !strings.Contains(tool.Description, "among the 2 of") || !strings.Contains(tool.Description, "api (2)") {
					t.Errorf("%+v", tool)
				}
			case "execute_tool":
				if a.ReadOnlyHint || a.DestructiveHint == nil || !*a.DestructiveHint {
					t.Errorf("the hints hide that a tool may destroy: %+v", a)
				}
			}
		}
		call := func(name string, args map[string]any, failed bool) string {
			t.Helper()
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
			if err != nil {
				t.Fatal(err)
			}
			text := r.Content[0].(*mcp.TextContent).Text
			if r.IsError != failed {
				t.Fatalf("%s %v: failed %t: %s", name, args, r.IsError, text)
			}
			return text
		}
		f := func(got, want string) {
			t.Helper()
			if !strings.Contains(got, want) {
				t.Fatalf("%q lacks %q", got, want)
			}
		}
		f(strings.SplitN(call("search_tools", map[string]any{"query": "get an item", "k": 1}, false), "\n", 2)[0], "get_item [reads]: Calls GET")
		f(call("search_tools", map[string]any{"query": "delete customer", "tag": "API"}, false), "delete_customer [may destroy]")
		f(call("search_tools", map[string]any{"query": "zzz qqq"}, false), "Nothing fits")
		f(call("describe_tools", map[string]any{"names": []string{"get_item"}}, false), `"inputSchema":{`)
		f(call("execute_tool", map[string]any{"name": "get_item", "arguments": map[string]any{"id": 7}}, false), "9007199254740993")
		f(call("execute_tool", map[string]any{"name": "get_item"}, true), "/id")
		f(call("execute_tool", map[string]any{"name": "get_itm"}, true), "did you mean get_item?")
		f(call("execute_tool", map[string]any{"name": "delete_custommer"}, true), "did you mean delete_customer?")
		f(call("execute_tool", map[string]any{"name": "remove the customer"}, true), "did you mean delete_customer?")
		f(call("execute_tool", map[string]any{"name": "get_item" + strings.Repeat("x", 128)}, true), "no tool")
		f(call("execute_tool", map[string]any{"name": "search_tools"}, true), "no tool")
		f(call("execute_tool", map[string]any{"name": "get_item", "arguments": []int{1}}, true), "must be an object")
		f(call("search_tools", map[string]any{"query": "x", "k": 41}, true), "from 1 to 40")
		f(call("search_tools", map[string]any{"query": "x", "tag": "none"}, true), "no service or tag")
		f(call("search_tools", map[string]any{}, true), "query must be")
		f(call("describe_tools", map[string]any{"names": make([]string, 21)}, true), "1 to 20")
		f(call("describe_tools", map[string]any{"names": []string{"nope"}}, true), "no tool")
	}
}

// TestUseCaseMode serves what was chosen, and nothing else.
func TestUseCaseMode(t *testing.T) {
	up := upstreamtest.New(t)
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, func(b *registry.Toolset) {
		b.Selection = &registry.Selection{
			Mode: registry.SelectUseCase, UseCase: "read items",
			Tools: []registry.SelectedTool{{Connector: "api", Method: "GET", Path: "/items/{id}"}},
		}
	}, getItem(), gatewaytest.Operation("list_items", "GET", "/items"))
	c := connect(t, s, "2025-11-25")
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 || list.Tools[0].Name != "get_item" {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_items"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Fatalf("a tool that was not chosen: %v", err)
	}
}

// TestSearchBounds: as many tools as may be are found and described; one more is refused.
func TestSearchBounds(t *testing.T) {
	up := upstreamtest.New(t)
	s := start(t, gatewaytest.Options{})
	var ops []*operation.Operation
	names := make([]string, snapshot.MaxFound+1)
	for i := range names {
		names[i] = fmt.Sprintf("list_orders_%c%c", 'a'+i/7, 'a'+i%7)
		ops = append(ops, gatewaytest.Operation(names[i], "GET", "/orders/"+names[i]))
	}
	serveSearch(t, s, up, ops...)
	c := connect(t, s, "2025-11-25")
	call := func(tool string, args map[string]any) (text string, failed bool) {
		t.Helper()
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].(*mcp.TextContent).Text, r.IsError
	}
	for n, ok := range map[int]bool{snapshot.MaxFound: true, snapshot.MaxFound + 1: false} {
		text, failed := call("search_tools", map[string]any{"query": "list orders", "k": n})
		if failed == ok || ok && strings.Count(text, " [reads]") != n {
			t.Errorf("%d found: %t, %s", n, failed, text)
		}
	}
	for n, ok := range map[int]bool{snapshot.MaxDescribed: true, snapshot.MaxDescribed + 1: false} {
		text, failed := call("describe_tools", map[string]any{"names": names[:n]})
		if failed == ok || ok && strings.Count(text, `"inputSchema"`) != n {
			t.Errorf("%d described: %t, %s", n, failed, text)
		}
	}
}
