package workflow

import (
	"reflect"
	"testing"

	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// TestChanged: a workflow is named with the gravest that happened to what it calls, and not
// when that is of another connector or in words only.
func TestChanged(t *testing.T) {
	calls := func(paths ...string) []registry.CalledTool {
		var out []registry.CalledTool
		for _, p := range paths {
			out = append(out, registry.CalledTool{Connector: "shop", Method: "GET", Path: p})
		}
		return out
	}
	list := []registry.Workflow{
		{Name: "loses", Calls: calls("/broken", "/gone", "/new")},
		{Name: "breaks", Calls: calls("/new", "/broken")},
		{Name: "is_back", Calls: calls("/new")},
		{Name: "same", Calls: calls("/worded", "/other")},
		{Name: "elsewhere", Calls: []registry.CalledTool{{Connector: "bank", Method: "GET", Path: "/gone"}}},
	}
	tools := []connector.ToolChange{
		{Kind: connector.ToolRemoved, Impact: connector.ImpactBreaking, Method: "GET", Path: "/gone"},
		{Kind: connector.ToolChanged, Impact: connector.ImpactBreaking, Method: "GET", Path: "/broken"},
		{Kind: connector.ToolChanged, Impact: connector.ImpactWording, Method: "GET", Path: "/worded"},
		{Kind: connector.ToolAdded, Impact: connector.ImpactSafe, Method: "GET", Path: "/new"},
	}
	want := []WorkflowChange{{"loses", Waits, []string{"GET /gone"}}, {"breaks", Breaking, []string{"GET /broken"}}, {"is_back", Serves, []string{"GET /new"}}}
	if got := Changed(list, "shop", tools); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
