package rollout

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/plugins/connector"
)

// TestHollow: which answers have nothing left in them.
func TestHollow(t *testing.T) {
	for text, want := range map[string]bool{
		"{}": true, "[{},{}]": true, `{"a":{}}`: false, "[]": false, "": false, "1": false, "[ {} , { } ]": true, "{} x": false,
	} {
		if got := hollow([]byte(text)); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// TestChosenChanged: at most maxChangedTests tools are called, the others are named, as
// many at most.
func TestChosenChanged(t *testing.T) {
	for _, n := range []int{0, 1, maxChangedTests, maxChangedTests + 1, 3 * maxChangedTests} {
		conn := &toolset.Generated{ByOp: map[toolset.Operation]int{}}
		changed := map[toolset.Operation]bool{}
		for i := range 2 * n {
			h := connector.Head{Name: fmt.Sprint("t", i), Method: "GET", Path: fmt.Sprint("/", i), InputSchema: json.RawMessage(`{"type":"object"}`)}
			h.Annotations.ReadOnly = i < n
			conn.ByOp[toolset.Operation{Method: h.Method, Path: h.Path}] = i
			conn.Tools = append(conn.Tools, toolset.GeneratedTool{Head: h})
			changed[toolset.Operation{Connector: "api", Method: h.Method, Path: h.Path}] = true
		}
		d := &draft.Draft{Parts: []*draft.Part{{Row: store.ToolsetConnector{Name: "api", BaseURL: "https://api.example"}, Conn: conn}}}
		chosen, untested := chooseChanged(d, changed)
		if want := min(n, maxChangedTests); len(chosen) != want || len(untested) != want {
			t.Errorf("%d of each kind: %d chosen, %d named", n, len(chosen), len(untested))
		}
	}
}

// TestHarmless: a POST is called without being asked for only where an operator says that
// it reads; the words of a specification are no proof.
func TestHarmless(t *testing.T) {
	tool := func(method string, reads bool) *toolset.Tool {
		out := &toolset.Tool{Operation: toolset.Operation{Connector: "api", Method: method, Path: "/accounts/get"}}
		out.Annotations.ReadOnly = reads
		return out
	}
	edit := func(method, said string) []store.ToolEdit {
		return []store.ToolEdit{{Connector: "api", Method: method, Path: "/accounts/get", Annotations: said}}
	}
	for _, c := range []struct {
		tool  *toolset.Tool
		edits []store.ToolEdit
		want  bool
	}{
		{tool("GET", true), nil, true},
		{tool("GET", false), nil, false},
		{tool("TOOL", true), nil, true}, // as an MCP server says
		{tool("POST", true), nil, false},
		{tool("POST", true), edit("POST", ""), false},
		{tool("POST", true), edit("GET", `{"readOnlyHint":true}`), false},
		{tool("POST", true), edit("POST", `{"destructiveHint":false}`), false},
		{tool("POST", true), edit("POST", `{"readOnlyHint":true}`), true},
		{tool("POST", false), edit("POST", `{"readOnlyHint":true}`), false},
	} {
		if got := harmless(&draft.Draft{Edits: c.edits}, c.tool); got != c.want {
			t.Errorf("%s, read-only %t, edits %+v: %t", c.tool.Operation.Method, c.tool.Annotations.ReadOnly, c.edits, got)
		}
	}
}
