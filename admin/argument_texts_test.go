package admin_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/toolset"
)

// TestArgumentTexts: descriptions of arguments are set, changed and restored one by one, and
// clients, exports and refreshes have them.
func TestArgumentTexts(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID
	at := path + "/tools/create_pet"
	is := func(got toolset.Tool, texts map[string]string, schema string) {
		t.Helper()
		if !maps.Equal(got.Texts, texts) || !strings.Contains(string(got.InputSchema), schema) {
			t.Errorf("%q of %s; want %q and %s", got.Texts, got.InputSchema, texts, schema)
		}
	}
	patch := func(body string) toolset.Tool {
		t.Helper()
		return want[toolset.Tool](w, w.do("PATCH", at, body), http.StatusOK)
	}
	before := want[toolset.Tool](w, w.do("GET", at, nil), http.StatusOK)
	is(patch(`{"argumentTexts":{"name":"What it is called."}}`), map[string]string{"name": "What it is called."}, `"What it is called."`)
	is(patch(`{"argumentTexts":{"name":"Its name.","id":""}}`), map[string]string{"name": "Its name.", "id": ""}, `"Its name."`)
	is(patch(`{"title":"Add"}`), map[string]string{"name": "Its name.", "id": ""}, `"Its name."`)
	is(patch(`{"argumentTexts":{"id":null}}`), map[string]string{"name": "Its name."}, `"Its name."`)
	for name, hint := range map[string]string{"nam": "did you mean name?", "zzzzzzzz": "name arguments as the input schema"} {
		p := want[front.Problem](w, w.do("PATCH", at, map[string]any{"argumentTexts": map[string]any{name: "x"}}), http.StatusBadRequest)
		if !strings.Contains(p.Detail, `there is no argument "`+name+`"`) || !strings.Contains(p.Remedy, hint) {
			t.Errorf("%s: %s; %s", name, p.Detail, p.Remedy)
		}
	}
	want[front.Problem](w, w.do("PATCH", at, `{"argumentTexts":{"id":""}}`, "If-Match", `"99"`), http.StatusPreconditionFailed)

	// What is exported is imported again.
	doc := w.do("GET", "/v1/export", nil).body
	if !strings.Contains(doc, `"argumentTexts":{"name":"Its name."}`) {
		t.Errorf("exported %s", doc)
	}
	patch(`{"argumentTexts":null,"title":null}`)
	restored := want[toolset.Tool](w, w.do("GET", at, nil), http.StatusOK)
	is(restored, nil, string(before.InputSchema))
	if plan := w.importing("", doc); plan.Changes != 1 {
		t.Errorf("imported: %+v", plan)
	}
	is(want[toolset.Tool](w, w.do("GET", at, nil), http.StatusOK), map[string]string{"name": "Its name."}, `"Its name."`)
	if plan := w.importing("?dryRun=true", doc); plan.Changes != 0 {
		t.Errorf("imported again: %+v", plan)
	}
}

// TestArgumentTextsOutliveArguments: the description of an argument that the API no longer has
// stands in no tool's way, and is there again with the argument.
func TestArgumentTextsOutliveArguments(t *testing.T) {
	w := newWorld(t)
	const url = "https://api.example/openapi.yaml"
	text := fixture(t, "pets.yaml")
	w.fetcher.put(url, text)
	body := w.createBody("Pets", "pets.yaml")
	body["source"] = map[string]any{"openapi": map[string]any{"url": url}}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), http.StatusCreated)
	path := "/v1/toolsets/" + ts.ID
	at := path + "/tools/list_pets"
	want[toolset.Tool](w, w.do("PATCH", at, `{"argumentTexts":{"limit":"How many."}}`), http.StatusOK)

	w.fetcher.put(url, strings.Replace(strings.Replace(text, "{name: limit, in: query", "{name: size, in: query", 1), "version: 1.2.3", "version: 1.3.0", 1))
	got := w.do("POST", path+"/refresh", map[string]any{"acceptBreaking": true, "deploy": map[string]any{"untestedReason": "x"}})
	if refreshed := want[change.Refreshed](w, got, http.StatusOK); !refreshed.Deployed || !strings.Contains(got.body, "limit") {
		t.Errorf("refreshed %s", got.body)
	}
	tool := want[toolset.Tool](w, w.do("PATCH", at, `{"argumentTexts":{"size":"Of a page."}}`), http.StatusOK)
	if !maps.Equal(tool.Texts, map[string]string{"limit": "How many.", "size": "Of a page."}) || strings.Contains(string(tool.InputSchema), "How many.") || !strings.Contains(string(tool.InputSchema), "Of a page.") {
		t.Errorf("%q of %s", tool.Texts, tool.InputSchema)
	}
	want[front.Problem](w, w.do("PATCH", at, `{"argumentTexts":{"limit":"Other"}}`), http.StatusBadRequest)
	if tool = want[toolset.Tool](w, w.do("PATCH", at, `{"argumentTexts":{"limit":null}}`), http.StatusOK); !maps.Equal(tool.Texts, map[string]string{"size": "Of a page."}) {
		t.Errorf("%q", tool.Texts)
	}
}
