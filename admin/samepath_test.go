package admin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/plugins/connector"
)

// TestRefreshFollowsPath: a path whose parameter is called otherwise is the same
// operation. What the operator said of it stays; its argument is another, which breaks.
func TestRefreshFollowsPath(t *testing.T) {
	w := newWorld(t)
	ts := w.shop()
	w.renameTool(ts.ID, "delete_pet", "remove_pet")
	want[toolset.Tool](w, w.do("PATCH", "/v1/toolsets/shop/tools/remove_pet", map[string]any{
		"description": "Removes.", "annotations": map[string]any{"openWorldHint": false},
	}), 200)
	want[choice.ToolExamples](w, w.do("PUT", "/v1/toolsets/shop/tools/remove_pet/examples", map[string]any{"examples": []string{"give a pet away"}}), 200)

	w.fetcher.put(shopURL, strings.NewReplacer("/pets/{id}:", "/pets/{petId}:", "{name: id, in: path", "{name: petId, in: path").Replace(shopSpec))
	r := w.refresh(nil)
	at := slices.IndexFunc(r.Changes.Tools, func(c connector.ToolChange) bool { return c.Path == "/pets/{petId}" })
	if len(r.Changes.Tools) != 1 || at < 0 || r.Changes.Tools[at].Kind != connector.ToolChanged || r.Changes.Tools[at].Impact != connector.ImpactBreaking {
		t.Errorf("changes %+v", r.Changes)
	}
	tool := want[toolset.Tool](w, w.do("GET", "/v1/toolsets/shop/tools/remove_pet", nil), 200)
	if tool.Operation.Path != "/pets/{petId}" || tool.Description != "Removes." || tool.Annotations.OpenWorld {
		t.Errorf("after the refresh %+v", tool)
	}
	examples := want[choice.ToolExamples](w, w.do("GET", "/v1/toolsets/shop/tools/remove_pet/examples", nil), 200)
	if !slices.Contains(examples.Operator, "give a pet away") {
		t.Errorf("examples %+v", examples)
	}

	// Two that would be the same do not follow each other.
	twice := strings.Replace(shopSpec, "  /orders:", "  /pets/{a}:\n    get: {parameters: [{name: a, in: path, required: true, schema: {type: string}}], responses: {\"204\": {description: -}}}\n"+
		"  /pets/{b}:\n    get: {parameters: [{name: b, in: path, required: true, schema: {type: string}}], responses: {\"204\": {description: -}}}\n  /orders:", 1)
	w.fetcher.put(shopURL, twice)
	r = w.refresh(nil)
	added := 0
	for _, c := range r.Changes.Tools {
		if c.Kind == connector.ToolAdded {
			added++
		}
	}
	if added != 2 {
		t.Errorf("changes %+v", r.Changes)
	}
}
