package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/registry"
)

func codeArgs(code string) string {
	b, _ := json.Marshal(map[string]string{"code": code})
	return string(b)
}

// TestScriptsAreCheckedFirst: what cannot succeed is said before anything ran, at its place
// and with the nearest name, and what may succeed runs.
func TestScriptsAreCheckedFirst(t *testing.T) {
	s, up := serveCode(t, nil, nil)
	const maxFaults = 5 // of gateway/codecheck
	for _, tt := range []struct {
		code string
		want []string // nil: it runs
	}{
		{`await tools.api.create_order({}); await tools.api.get_item({idd: 1})`, []string{`get_item takes no argument \"idd\", did you mean id? (line 1, column 41)`, "get_item needs the argument id (line 1, column 41)", "Nothing was run"}},
		{"await tools.api.create_order({});\nawait tools.api.get_itm({id: 1})", []string{"did you mean tools.api.get_item? (line 2, column 7)", "Nothing was run"}},
		{`return tools.api.get_item()`, []string{"get_item needs the argument id"}},
		{`return tools.nope.get_item({id: 1})`, []string{"there is no tool"}},
		{strings.Repeat(`tools.api.get_item({});`, maxFaults+2), []string{"and 2 more"}},
		{strings.Repeat(`tools.api.get_item({});`, maxFaults) + "x", []string{"needs the argument id", "(line 1, column 93)"}},
		{`const a = {id: 1}; return tools.api.get_item({...a})`, nil},
		{`const k = "id"; return tools.api.get_item({[k]: 1})`, nil},
		{`const a = {id: 1}; return tools.api.get_item(a)`, nil},
		{`return tools.api.get_item({id: 1, fields: "name"})`, nil},
		{`if (Object.keys(tools.api).includes("nope")) await tools.api.nope({}); return 1`, nil},
		{"// tools.api.nope({})\nreturn `tools.api.nope({})`", nil},
	} {
		up.Forget()
		_, got := post(t, s.URL("acme"), callBody("run_code", codeArgs(tt.code)))
		if tt.want == nil {
			if strings.Contains(got, `"isError":true`) {
				t.Errorf("%s: %s", tt.code, got)
			}
			continue
		}
		for _, w := range tt.want {
			if !strings.Contains(got, `"isError":true`) || !strings.Contains(got, strings.ReplaceAll(w, `\"`, `\\\"`)) && !strings.Contains(got, w) {
				t.Errorf("%s: %s\nwant %s", tt.code, got, w)
			}
		}
		if n := len(up.Requests()); n != 0 {
			t.Errorf("%s: %d requests were made", tt.code, n)
		}
	}
}

// savedScript is a script that is a tool, of operations of serveCode.
func savedScript(name, code, inputs, outputs string, calls ...registry.CalledTool) registry.Workflow {
	w := registry.Workflow{Name: name, Calls: calls, Script: &registry.Script{Code: code, Description: "Reads items.", InputSchema: json.RawMessage(inputs)}}
	if outputs != "" {
		w.Script.OutputSchema = json.RawMessage(outputs)
	}
	return w
}

var (
	callsItem   = registry.CalledTool{Name: "api.get_item", Connector: "api", Method: "GET", Path: "/items/{id}"}
	callsDelete = registry.CalledTool{Name: "api.delete_item", Connector: "api", Method: "DELETE", Path: "/items/{id}"}
	callsOrder  = registry.CalledTool{Name: "api.create_order", Connector: "api", Method: "POST", Path: "/orders"}
	callsSlow   = registry.CalledTool{Name: "api.slow", Connector: "api", Method: "GET", Path: "/slow"}
)

// TestSavedScripts: a script that was saved is a tool as any other: listed with its schemas
// and hints, called with arguments and defaults, also by scripts, and calls only what it was
// saved with.
func TestSavedScripts(t *testing.T) {
	title := "Names of items"
	s, up := serveCode(t, nil, func(b *registry.Toolset) {
		b.Selection = nil
		b.Answers = &registry.Answers{Structured: true}
		names := savedScript("item_names", "const out = [];\nfor (const id of args.ids) out.push((await tools.api.get_item({id})).name);\nreturn {names: out, mark: args.mark};",
			`{"type":"object","properties":{"ids":{"type":"array","items":{"type":"integer"}},"mark":{"type":"string","default":"-"}},"required":["ids"],"additionalProperties":false}`,
			`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}},"mark":{"type":"string"}}}`, callsItem)
		names.Tool = &registry.OfferedTool{Title: &title}
		b.Workflows = []registry.Workflow{
			names,
			savedScript("forget_item", `await tools.api.delete_item({id: 1}); return "gone"`, `{"type":"object"}`, "", callsDelete),
			savedScript("beyond", `await tools.api.get_item({id: 1}); return tools.api.create_order({})`, `{"type":"object"}`, "", callsItem),
			savedScript("order_fails", "await tools.api.create_order({});\nthrow new Error('mine')", `{"type":"object"}`, "", callsOrder),
			savedScript("lists", `export default () => [1, 2]`, `{"type":"object"}`, `{"type":"object","properties":{"result":{"type":"array"}}}`, callsItem),
			savedScript("waiting", `return 1`, `{"type":"object"}`, "", registry.CalledTool{Name: "api.x", Connector: "api", Method: "GET", Path: "/gone"}),
		}
	})
	for _, version := range eras {
		c := connect(t, s, version)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]*mcp.Tool{}
		for _, tool := range list.Tools {
			seen[tool.Name] = tool
		}
		names, forget := seen["item_names"], seen["forget_item"]
		if names == nil || !names.Annotations.ReadOnlyHint || names.Title != title || names.OutputSchema == nil {
			t.Fatalf("listed %+v", names)
		}
		if forget == nil || forget.Annotations.ReadOnlyHint || forget.Annotations.DestructiveHint == nil || !*forget.Annotations.DestructiveHint {
			t.Errorf("listed %+v", forget)
		}
		if seen["waiting"] != nil {
			t.Error("a script whose operation is gone is listed")
		}
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "item_names", Arguments: map[string]any{"ids": []int{1, 3}}})
		if err != nil || r.IsError || fmt.Sprint(r.StructuredContent) != "map[mark:- names:[item 1 item 3]]" {
			t.Errorf("%v %+v", err, r)
		}
	}
	for _, tt := range []struct{ tool, args, want string }{
		{"item_names", `{"ids":[1],"mark":"!"}`, `"mark":"!"`},
		{"item_names", `{}`, "the arguments of item_names are not valid"},
		{"item_names", `{"ids":[404]}`, "ToolError:"},
		{"item_names", `{"ids":[404]}`, "(line 2, column "},
		{"forget_item", `{}`, "gone"},
		{"beyond", `{}`, `this tool was saved without the tool`},
		{"order_fails", `{}`, "create_order (changed data: do not repeat it blindly)"},
		{"lists", `{}`, `"structuredContent":{"result":[1,2]}`},
	} {
		if _, got := post(t, s.URL("acme"), callBody(tt.tool, tt.args)); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.tool, tt.args, got, tt.want)
		}
	}
	up.Forget()
	if _, got := post(t, s.URL("acme"), callBody("order_fails", `{}`)); len(up.Requests()) != 1 {
		t.Errorf("a write that succeeded was made %d times: %s", len(up.Requests()), got)
	}
}

// TestSavedScriptsAreOfTheirCaller: a token that does not open a tool does not open it by way
// of a script, and one that does not open the script does not have it.
func TestSavedScriptsAreOfTheirCaller(t *testing.T) {
	s, up := serveCode(t, tokens(tokenGrant("all"), tokenGrant("some", "reads"), tokenGrant("none", "list_items")), func(b *registry.Toolset) {
		b.Selection = nil
		b.Workflows = []registry.Workflow{savedScript("reads", `return tools.api.get_item({id: 1})`, `{"type":"object"}`, "", callsItem)}
	})
	for id, want := range map[string]string{"all": "item 1", "some": "the access token does not permit to call get_item", "none": `"error"`} {
		up.Forget()
		if _, got := post(t, s.URL("acme"), callBody("reads", `{}`), "Authorization", "Bearer slt_"+id); !strings.Contains(got, want) || id != "all" && len(up.Requests()) != 0 {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// TestScriptLimitsOfTheOperator: a script, one that is a tool too, makes as many calls as the
// operator allows, and run_code says how many that are.
func TestScriptLimitsOfTheOperator(t *testing.T) {
	script := func(n int) string {
		return fmt.Sprintf(`for (let i = 0; i < %d; i++) await tools.api.get_item({id: 1}); return "all"`, n)
	}
	s, _ := serveCode(t, nil, func(b *registry.Toolset) {
		b.ScriptLimits = &registry.ScriptLimits{Calls: 3, AtOnce: 2, Milliseconds: 100}
		b.Workflows = []registry.Workflow{
			savedScript("reads_three", script(3), `{"type":"object"}`, "", callsItem), savedScript("reads_four", script(4), `{"type":"object"}`, "", callsItem),
		}
	})
	if _, got := post(t, s.URL("acme"), callBody("reads_three", `{}`)); !strings.Contains(got, "all") {
		t.Error(got)
	}
	if _, got := post(t, s.URL("acme"), callBody("reads_four", `{}`)); !strings.Contains(got, "too many calls") {
		t.Error(got)
	}
	if _, got := post(t, s.URL("acme"), callBody("run_code", codeArgs(script(3)))); !strings.Contains(got, "all") {
		t.Error(got)
	}
	if _, got := post(t, s.URL("acme"), callBody("run_code", codeArgs(script(4)))); !strings.Contains(got, "too many calls") {
		t.Error(got)
	}
	begin := time.Now()
	if _, got := post(t, s.URL("acme"), callBody("run_code", codeArgs(`for (;;);`))); !strings.Contains(got, "computed for too long") {
		t.Errorf("after %s: %s", time.Since(begin), got)
	}
	list, err := connect(t, s, eras[0]).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Name == "run_code" && !strings.Contains(tool.Description, "At most 3 calls, 2 at once.") {
			t.Error(tool.Description)
		}
	}
}
