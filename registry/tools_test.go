package registry

import (
	"encoding/json"
	"testing"

	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
)

func TestEditOfATool(t *testing.T) {
	text := func(s string) *string { return &s }
	yes := true
	generated := connector.Head{
		Name: "list", Title: "List", Description: "All of them.", Method: "GET", Path: "/list",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"tenant":{"type":"string"},"page":{"type":"integer"}},"required":["tenant"]}`),
	}
	f := func(e *ToolEdit, ofConnector Fixed, name, title, schema string, readOnly bool) {
		t.Helper()
		h := e.Apply(generated, ofConnector)
		if h.Name != name || h.Title != title || string(h.InputSchema) != schema || h.Annotations.ReadOnly != readOnly {
			t.Errorf("%s, %s, %s, %v", h.Name, h.Title, h.InputSchema, h.Annotations)
		}
	}
	whole, rest := string(generated.InputSchema), `{"type":"object","properties":{"page":{"type":"integer"}}}`
	f(nil, nil, "list", "List", whole, false)
	f(&ToolEdit{Name: text("all"), Title: text("")}, nil, "all", "", whole, false)
	f(&ToolEdit{Name: text("list_all")}, nil, "list_all", "List all", whole, false) // the title said the generated name
	f(&ToolEdit{Annotations: &AnnotationEdit{ReadOnly: &yes}}, nil, "list", "List", whole, true)
	f(nil, Fixed{"tenant": []byte(`"a"`)}, "list", "List", rest, false)
	f(&ToolEdit{Fixed: Fixed{"tenant": []byte(`"a"`)}}, nil, "list", "List", rest, false)
}

func TestHeadOfAWorkflow(t *testing.T) {
	name := "renamed"
	m := &manifest.Manifest{Name: "flow", Tool: &manifest.OfferedTool{Name: "tool", Title: "Tool", Annotations: manifest.Annotations{ReadOnly: true}}}
	h := WorkflowHead(m, &OfferedTool{Name: &name}, []operation.Annotations{{ReadOnly: true}, {Destructive: true}})
	if h.Name != name || h.Title != "Renamed" || h.Path != "/flow" || h.Annotations.ReadOnly || !h.Annotations.Destructive {
		t.Errorf("%+v", h)
	}
}
