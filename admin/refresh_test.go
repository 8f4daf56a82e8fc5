package admin_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/plugins/connector"
)

const shopURL = "https://shop.example/openapi.yaml"

const shopSpec = `openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: https://shop.example}]
paths:
  /pets:
    get:
      operationId: listPets
      description: All pets.
      parameters:
        - {name: limit, in: query, schema: {type: integer, maximum: 100}}
        - {name: kind, in: query, schema: {type: string, enum: [cat, dog]}}
      responses: {"200": {description: OK, content: {application/json: {schema: {type: object, properties: {id: {type: integer}, name: {type: string}}}}}}}
  /pets/{id}:
    delete:
      operationId: deletePet
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"204": {description: gone}}
  /orders:
    get: {operationId: listOrders, responses: {"200": {description: OK}}}
`

const titleOverlay = "overlay: 1.0.0\ninfo: {title: t, version: '1'}\nactions:\n- {target: $.info, update: {title: Pet shop}}\n- {target: '$.paths[\"/orders\"]', remove: true}\n"

// shop makes a toolset by URL and returns it as a draft.
func (w *world) shop(overlays ...string) change.CreatedToolset {
	w.t.Helper()
	w.fetcher.put(shopURL, shopSpec)
	source := map[string]any{"url": shopURL}
	var list []any
	for _, o := range overlays {
		list = append(list, map[string]any{"document": o})
	}
	if list != nil {
		source["overlays"] = list
	}
	return want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", map[string]any{
		"slug": "shop", "source": map[string]any{"openapi": source}, "baseUrl": w.upstream.URL,
	}, "Remote", "127.0.0.1:999"), http.StatusCreated)
}

func (w *world) refresh(body map[string]any) change.Refreshed {
	w.t.Helper()
	if body == nil {
		body = map[string]any{}
	}
	return want[change.Refreshed](w, w.do("POST", "/v1/toolsets/shop/refresh", body), http.StatusOK)
}

func TestRefreshAndDiff(t *testing.T) {
	w := newWorld(t)
	ts := w.shop()
	if ts.Status != "live" {
		t.Fatalf("created %+v", ts.Test)
	}
	w.renameTool(ts.ID, "delete_pet", "remove_pet")
	want[toolset.Tool](w, w.do("PATCH", "/v1/toolsets/shop/tools/list_orders", map[string]any{"enabled": false}), 200)
	want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"}), 200)

	// The server says that nothing changed.
	if r := w.refresh(nil); r.Changed || r.Deployed || r.Changes != nil || r.Toolset.Slug != "shop" {
		t.Errorf("unchanged: %+v", r)
	}
	asked := w.fetcher.asked
	if last := asked[len(asked)-1]; last.Since.ETag == "" || len(asked) != 2 {
		t.Errorf("asked %+v", asked)
	}
	// Other bytes, the same meaning.
	w.fetcher.put(shopURL, shopSpec+"\n# a comment\n")
	if r := w.refresh(nil); r.Changes != nil && r.Changes.Breaking > 0 {
		t.Errorf("a comment: %+v", r.Changes)
	}

	// A safe change is tested and deployed; names stay.
	safe := strings.NewReplacer("maximum: 100", "maximum: 200", "operationId: listPets", "operationId: fetchAllPets",
		"  /orders:", "  /owners:\n    get: {operationId: listOwners, responses: {\"200\": {description: OK}}}\n  /orders:").Replace(shopSpec)
	w.fetcher.put(shopURL, safe)
	before := w.get("shop")
	if dry := w.refresh(map[string]any{"dryRun": true}); !dry.Changed || dry.Changes == nil || dry.Changes.Added != 1 || !dry.DryRun || dry.Deployed {
		t.Errorf("dry run %+v", dry)
	}
	if after := w.get("shop"); after.Digest != before.Digest {
		t.Error("a dry run changed the draft")
	}
	r := w.refresh(nil)
	if !r.Deployed || r.Waiting != "" || r.Changes == nil || r.Changes.Breaking != 0 || r.Changes.Added != 1 || r.Changes.Changed != 1 || r.Changes.ID == "" {
		t.Fatalf("safe: %+v %+v", r, r.Changes)
	}
	if k := r.Changes.Kept; len(k) != 1 || k[0].Name != "list_pets" || k[0].Generated != "fetch_all_pets" {
		t.Errorf("kept %+v", k)
	}
	tools := want[admin.List[toolset.Tool]](w, w.do("GET", "/v1/toolsets/shop/tools", nil), 200)
	byPath := map[string]toolset.Tool{}
	for _, tool := range tools.Items {
		byPath[tool.Operation.Method+" "+tool.Operation.Path] = tool
	}
	if byPath["GET /pets"].Name != "list_pets" || byPath["DELETE /pets/{id}"].Name != "remove_pet" || byPath["GET /orders"].Enabled || !byPath["GET /owners"].Enabled {
		t.Errorf("tools %+v", byPath)
	}

	// A breaking one waits, until it is accepted.
	w.fetcher.put(shopURL, strings.NewReplacer("enum: [cat, dog]", "enum: [cat]", "name: {type: string}", "").Replace(safe))
	if r = w.refresh(nil); r.Deployed || !strings.Contains(r.Waiting, "breaking") || r.Changes.Breaking != 1 || !r.Toolset.Changed {
		t.Errorf("breaking: %+v", r)
	}
	details := map[string]connector.Impact{}
	for _, d := range r.Changes.Tools[0].Details {
		details[d.Where+": "+d.What] = d.Impact
	}
	if details[`input/kind: values are not allowed any more: "dog"`] != connector.ImpactBreaking || details["output/name: it is no longer answered"] != connector.ImpactBreaking {
		t.Errorf("details %v", details)
	}
	list := want[admin.List[difference.Changes]](w, w.do("GET", "/v1/toolsets/shop/changes", nil), 200)
	if len(list.Items) < 2 || list.Items[0].Breaking != 1 || list.Items[0].At.IsZero() || len(list.Items[0].Tools) != 1 {
		t.Errorf("changes %+v", list.Items)
	}
	w.fetcher.put(shopURL, strings.Replace(shopSpec, "limit, in: query", "limit, in: query, required: true", 1))
	if r = w.refresh(map[string]any{"acceptBreaking": true}); r.Changes.Removed != 1 || r.Changes.Breaking != 2 || r.Test == nil {
		t.Errorf("accepted: %+v %+v", r, r.Changes)
	}

	// What cannot be read again says so.
	up := w.create("Uploaded", "pets.yaml")
	p := want[front.Problem](w, w.do("POST", "/v1/toolsets/"+up.ID+"/refresh", map[string]any{}), http.StatusConflict)
	if !strings.Contains(p.Remedy, "sluice add") {
		t.Errorf("%+v", p)
	}
}

func TestOverlaysAreKept(t *testing.T) {
	w := newWorld(t)
	ts := w.shop(titleOverlay)
	if ts.Source.Title != "Pet shop" || ts.ToolCount != 2 {
		t.Fatalf("%s, %d tools", ts.Source.Title, ts.ToolCount)
	}
	w.fetcher.put(shopURL, strings.Replace(shopSpec, `version: "1"`, `version: "2"`, 1))
	if r := w.refresh(nil); r.Toolset.Source.Title != "Pet shop" || r.Toolset.ToolCount != 2 || r.Toolset.Source.Version != "2" {
		t.Errorf("refreshed: %+v", r.Toolset.Source)
	}
	// The same source again without a word about overlays keeps them; an empty list drops them.
	body := map[string]any{"slug": "shop", "source": map[string]any{"openapi": map[string]any{"url": shopURL}}}
	if again := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 200); again.Source.Title != "Pet shop" || again.Changes != nil {
		t.Errorf("again: %+v", again.Source)
	}
	body["source"] = map[string]any{"openapi": map[string]any{"url": shopURL, "overlays": []any{}}}
	if again := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 200); again.Source.Title != "Shop" || again.Changes == nil || again.Changes.Added != 1 {
		t.Errorf("dropped: %+v %+v", again.Source, again.Changes)
	}
	body["source"] = map[string]any{"openapi": map[string]any{"url": shopURL, "overlays": []any{map[string]any{"document": "overlay: 9"}}}}
	if p := want[front.Problem](w, w.do("POST", "/v1/toolsets", body), 422); !strings.Contains(p.Detail, "overlay") {
		t.Errorf("%+v", p)
	}
}

var shopFiles = map[string]string{
	"api/openapi.yaml": "openapi: 3.0.3\ninfo: {title: Many, version: '1'}\npaths:\n  /a: {$ref: paths/a.yaml}\n",
	"api/paths/a.yaml": "get: {operationId: readIt, parameters: [{name: q, in: query, schema: {$ref: ../../q.json}}], responses: {}}",
	"q.json":           `{"type":"string","enum":["x","y"]}`,
}

func TestManyFiles(t *testing.T) {
	w := newWorld(t)
	check := func(ts change.CreatedToolset) {
		t.Helper()
		tool := want[toolset.Tool](w, w.do("GET", "/v1/toolsets/"+ts.ID+"/tools/"+ts.Tools[0].Name, nil), 200)
		if !strings.Contains(string(tool.InputSchema), `"enum":["x","y"]`) || len(ts.Warnings) > 1 {
			t.Errorf("%s %+v", tool.InputSchema, ts.Warnings)
		}
	}
	// As texts.
	check(want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", map[string]any{
		"slug": "texts", "source": map[string]any{"openapi": map[string]any{"files": shopFiles}},
	}), 201))
	// As a zip.
	var z bytes.Buffer
	zw := zip.NewWriter(&z)
	for name, text := range shopFiles {
		f, err := zw.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	mw := multipart.NewWriter(&b)
	part := func(name, file string, data []byte) {
		p, err := mw.CreateFormFile(name, file)
		if err == nil {
			_, err = p.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	part("file", "spec.zip", z.Bytes())
	part("overlay", "o.yaml", []byte("overlay: 1.1.0\nactions: [{target: $.info, update: {title: Zipped}}]"))
	if err := mw.Close(); err != nil {
		t.Fatal(err)
	}
	zipped := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", b.String(), "Content-Type", mw.FormDataContentType()), 201)
	check(zipped)
	if zipped.Source.Title != "Zipped" || zipped.Slug != "zipped" {
		t.Errorf("%+v", zipped.Source)
	}
	// By URL, the other documents from the same origin.
	for name, text := range shopFiles {
		w.fetcher.put("https://many.example/"+name, text)
	}
	byURL := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", map[string]any{
		"slug": "by-url", "source": map[string]any{"openapi": map[string]any{"url": "https://many.example/api/openapi.yaml"}},
	}), 201)
	check(byURL)
	// Not by its ETag: that speaks for the main document alone.
	w.fetcher.put("https://many.example/q.json", `{"type":"string","enum":["x"]}`)
	r := want[change.Refreshed](w, w.do("POST", "/v1/toolsets/by-url/refresh", map[string]any{}), 200)
	if !r.Changed || r.Changes == nil || r.Changes.Breaking != 1 {
		t.Errorf("another document changed: %+v", r)
	}
	// Faults name what is wrong.
	for body, words := range map[string]string{
		`{"files":{"../a.yaml":"openapi: 3.0.0"}}`:     "not a path inside",
		`{"files":{"a.yaml":"x: 1"}}`:                  "OpenAPI document",
		`{"files":{"a.yaml":"openapi: 3"},"main":"b"}`: "no file",
	} {
		var source any
		if err := json.Unmarshal([]byte(body), &source); err != nil {
			t.Fatal(err)
		}
		p := want[front.Problem](w, w.do("POST", "/v1/connectors/preview", map[string]any{"source": map[string]any{"openapi": source}}), 422)
		if !strings.Contains(p.Detail, words) {
			t.Errorf("%s: %s", body, p.Detail)
		}
	}
	both := map[string]any{"source": map[string]any{"openapi": map[string]any{"files": shopFiles, "url": "https://many.example"}}}
	if p := want[front.Problem](w, w.do("POST", "/v1/connectors/preview", both), 400); !strings.Contains(p.Detail, "exactly one") {
		t.Errorf("%+v", p)
	}
}
