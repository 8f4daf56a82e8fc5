package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/internal/selection"
)

func TestSelection(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	if ts.Selection != "all" || ts.Advice != nil {
		t.Errorf("four tools: %q, advice %+v", ts.Selection, ts.Advice)
	}
	patch := func(status int, body map[string]any) answer {
		t.Helper()
		at := w.do("GET", "/v1/toolsets/"+ts.ID, nil).Header.Get("ETag")
		a := w.do("PATCH", "/v1/toolsets/"+ts.ID, body, "If-Match", at, "Content-Type", "application/merge-patch+json")
		if a.StatusCode != status {
			t.Fatalf("%v: %d %s", body, a.StatusCode, a.body)
		}
		return a
	}
	patch(http.StatusBadRequest, map[string]any{"selection": "use-case"})
	patch(http.StatusBadRequest, map[string]any{"selection": "use-case", "useCase": "zzzz qqqq"})

	patch(http.StatusOK, map[string]any{"selection": "use-case", "useCase": "Delete a pet."})
	show := func() advice.ToolSelection {
		t.Helper()
		return want[advice.ToolSelection](w, w.do("GET", "/v1/toolsets/"+ts.ID+"/selection", nil), http.StatusOK)
	}
	s := show()
	if s.Selection != "use-case" || len(s.Tools) < 2 || s.Tools[0].Operation.Method != http.MethodDelete || s.Tools[0].Score <= 0 || s.Tools[0].Clause == "" {
		t.Fatalf("%+v", s)
	}
	if lists := find(s.Tools, "GET", "/pets"); lists == nil {
		t.Errorf("the list that gives the id of the pet is not chosen: %+v", s.Tools)
	}
	first := w.get(ts.ID)
	if first.EnabledTools != len(s.Tools) || !first.Changed {
		t.Errorf("%+v", first.Toolset)
	}
	// The draft of the choice can be tested, which deploys it.
	if a := w.do("POST", "/v1/toolsets/"+ts.ID+"/test", map[string]any{}); a.StatusCode != http.StatusOK || w.get(ts.ID).Changed {
		t.Errorf("test: %d %s", a.StatusCode, a.body)
	}

	// A specification with one more fitting tool keeps the choice.
	body := w.createBody("Pets", "pets.yaml")
	openapi := body["source"].(map[string]any)["openapi"].(map[string]any)
	openapi["document"] = strings.Replace(fixture(t, "pets.yaml"), "components:\n", "  /pets/{id}/delete:\n    post:\n      operationId: deletePetForGood\n      summary: Delete a pet for good\n      parameters:\n"+
		"        - {name: id, in: path, required: true, schema: {type: integer}}\n      responses:\n        \"204\": {description: Gone}\ncomponents:\n", 1)
	again := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), http.StatusOK)
	if after := show(); len(again.Tools) != 5 || len(after.Tools) != len(s.Tools) || after.Tools[0].Name != s.Tools[0].Name {
		t.Errorf("%d tools; chosen %+v, before %+v", len(again.Tools), after.Tools, s.Tools)
	}

	preview := want[advice.ToolSelection](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/selection/preview", map[string]any{"useCase": "Create a pet."}), http.StatusOK)
	if find(preview.Tools, "POST", "/pets") == nil || find(show().Tools, "POST", "/pets") != nil {
		t.Errorf("preview %+v", preview.Tools)
	}
	patch(http.StatusOK, map[string]any{"selection": "search"})
	if s := show(); s.Selection != "search" || s.UseCase != "Delete a pet." || len(s.Tools) != 0 || s.Advice.Search.Tools != 3 {
		t.Errorf("%+v", s)
	}
	patch(http.StatusOK, map[string]any{"selection": "all", "useCase": ""})
	if got := w.get(ts.ID); got.Selection != "all" || got.UseCase != "" || got.EnabledTools != 5 {
		t.Errorf("%+v", got.Toolset)
	}
}

func find(tools []advice.ChosenTool, method, path string) *advice.ChosenTool {
	for i := range tools {
		if tools[i].Operation == (toolset.Operation{Connector: "pet-store", Method: method, Path: path}) {
			return &tools[i]
		}
	}
	return nil
}

func TestSearchAndExamples(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	search := func(q string) advice.SearchAnswer {
		t.Helper()
		return want[advice.SearchAnswer](w, w.do("GET", "/v1/toolsets/pets/search?k=2&q="+q, nil), http.StatusOK)
	}
	a := search("delete+a+pet")
	if !a.Fits || len(a.Results) != 2 || a.Results[0].Operation.Method != http.MethodDelete || a.Results[0].Score < a.Results[1].Score || a.Results[0].Components["bm25"] <= 0 {
		t.Errorf("%+v", a)
	}
	if a := search("zzzz"); a.Fits {
		t.Errorf("%+v", a)
	}
	var create string
	for _, tool := range ts.Tools {
		if tool.Operation.Method == http.MethodPost {
			create = tool.Name
		}
	}
	path := "/v1/toolsets/pets/tools/" + create + "/examples"
	var texts []string
	for who := range strings.FieldsSeq("Rex Bello Luna Milo Simba Nala Kira Balu Sammy Charly Lilly Oskar") {
		texts = append(texts, who+" moved in with us")
	}
	e := want[choice.ToolExamples](w, w.do("PUT", path, map[string]any{"examples": texts}), http.StatusOK)
	if len(e.Operator) != len(texts) {
		t.Errorf("%+v", e)
	}
	if a := search("Hasso+moved+in+with+us"); len(a.Results) == 0 || a.Results[0].Name != create || a.Results[0].Components["examples"] <= 0 {
		t.Errorf("the examples taught nothing: %+v", a)
	}
	if a := w.do("PUT", path, map[string]any{"examples": []string{strings.Repeat("x", 401)}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a text beyond the bound: %d", a.StatusCode)
	}
	many := make([]string, selection.MaxExamples+1)
	for i := range many {
		many[i] = fmt.Sprintf("animal number %d moved in", i)
	}
	if a := w.do("PUT", path, map[string]any{"examples": many}); a.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("one example more than the bound: %d", a.StatusCode)
	}
	if e := want[choice.ToolExamples](w, w.do("PUT", path, map[string]any{"examples": many[1:]}), http.StatusOK); len(e.Operator) != selection.MaxExamples {
		t.Errorf("%d examples, want %d", len(e.Operator), selection.MaxExamples)
	}
	w.do("PUT", path, map[string]any{"examples": []string{}})
	if e := want[choice.ToolExamples](w, w.do("GET", path, nil), http.StatusOK); len(e.Operator) != 0 {
		t.Errorf("%+v", e)
	}
}
