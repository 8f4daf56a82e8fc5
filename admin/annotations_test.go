package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
)

// TestAnnotations: what an operator says of what a tool does is shown, decides what is
// tested by itself, is exported, and is forgotten when nothing is said.
func TestAnnotations(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID
	patch := func(tool string, said map[string]any) plugin.Annotations {
		t.Helper()
		return want[toolset.Tool](w, w.do("PATCH", path+"/tools/"+tool, map[string]any{"annotations": said}), 200).Annotations
	}
	generated := want[toolset.Tool](w, w.do("GET", path+"/tools/list_pets", nil), 200).Annotations
	if !generated.ReadOnly || !generated.Idempotent {
		t.Fatalf("generated %+v", generated)
	}
	if a := patch("list_pets", map[string]any{"readOnlyHint": false, "destructiveHint": true}); a.ReadOnly || !a.Destructive || !a.Idempotent || !a.OpenWorld {
		t.Errorf("said to destroy: %+v", a)
	}
	if a := patch("list_pets", map[string]any{"openWorldHint": false}); a.ReadOnly || !a.Destructive || a.OpenWorld {
		t.Errorf("what was said before is gone: %+v", a)
	}
	if a := patch("delete_pet", map[string]any{"readOnlyHint": true}); !a.ReadOnly || a.Destructive || !a.Idempotent {
		t.Errorf("said to read: %+v", a)
	}
	for _, bad := range []map[string]any{{"readOnlyHint": true, "destructiveHint": true}, {"readOnlyHint": true}} {
		if a := w.do("PATCH", path+"/tools/list_pets", map[string]any{"annotations": bad}); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "annotations") {
			t.Errorf("%v: %d %s", bad, a.StatusCode, a.body)
		}
	}
	if a := w.do("PATCH", path+"/tools/list_pets", map[string]any{"annotations": map[string]any{"title": "x"}}); a.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("an unknown annotation: %d %s", a.StatusCode, a.body)
	}
	doc, _ := w.export("")
	said := 0
	for _, tool := range doc.Toolsets[0].Tools {
		if a := tool.Annotations; a != nil && tool.Path == "/pets" && a.ReadOnly != nil && !*a.ReadOnly && *a.Destructive && !*a.OpenWorld && a.Idempotent == nil {
			said++
		}
	}
	if said != 1 {
		t.Errorf("exported %+v", doc.Toolsets[0].Tools)
	}
	if plan := w.importing("?dryRun=true", doc); plan.Changes != 0 {
		t.Errorf("its own export changes something: %+v", plan)
	}
	yes := true
	doc.Toolsets[0].Tools[0].Annotations.ReadOnly, doc.Toolsets[0].Tools[0].Annotations.Destructive = &yes, &yes
	if a := w.do("POST", "/v1/import", doc); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "/annotations") {
		t.Errorf("a contradiction in a document: %d %s", a.StatusCode, a.body)
	}
	if a := patch("list_pets", map[string]any{}); a != generated {
		t.Errorf("restored %+v, want %+v", a, generated)
	}
	patch("delete_pet", map[string]any{})
	if d := w.get(ts.ID); d.Changed || d.Digest != ts.Digest {
		t.Error("annotations that were taken back leave another digest")
	}
}
