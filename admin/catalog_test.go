package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/toolset"
	entries "github.com/sluicegate/sluice/plugins/catalog"
)

const vendor = "https://library.example.com/openapi.json"

// library is a vendor's document with these operations.
func libraryDocument(t *testing.T, operations ...string) string {
	t.Helper()
	paths := map[string]map[string]any{}
	for i, op := range operations {
		method, path, _ := strings.Cut(op, " ")
		o := map[string]any{"operationId": fmt.Sprint("op", i), "summary": "Of the vendor.", "responses": map[string]any{"200": map[string]any{"description": "OK"}}}
		if strings.Contains(path, "{id}") {
			o["parameters"] = []any{map[string]any{"name": "id", "in": "path", "required": true, "schema": map[string]any{"type": "string"}}}
		}
		if method == "POST" {
			o["requestBody"] = map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{
				"type": "object", "properties": map[string]any{"lang": map[string]any{"type": "string"}, "text": map[string]any{"type": "string"}},
			}}}}
		}
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(method)] = o
	}
	b, err := json.Marshal(map[string]any{"openapi": "3.0.3", "info": map[string]any{"title": "City library", "version": "3.1"}, "paths": paths})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var libraryOperations = []string{"DELETE /books/{id}", "GET /books", "GET /books/{id}", "POST /books/search", "POST /loans", "GET /staff"}

// catalogWorld is a control plane with an entry of the operator.
func catalogWorld(t *testing.T, more ...*entries.Entry) *world {
	t.Helper()
	text, err := os.ReadFile("../plugins/catalog/testdata/library.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, err := entries.Parse("library.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.stop()
	if w.catalog, err = catalog.New(append(more, e)); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.fetcher.put(vendor, libraryDocument(t, libraryOperations...))
	return w
}

// fromEntry asks for a toolset of the entry library.
func (w *world) fromEntry(source map[string]any, more ...any) map[string]any {
	source["entry"] = "library"
	body := map[string]any{"source": map[string]any{"catalog": source}, "baseUrl": w.upstream.URL, "deploy": map[string]any{"skip": true}}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

func enabledTools(tools []toolset.Tool) string {
	var out []string
	for i := range tools {
		if tools[i].Enabled {
			out = append(out, tools[i].Name)
		}
	}
	return strings.Join(out, " ")
}

// TestCatalogLists: the entries of the operator stand beside those that are built in.
func TestCatalogLists(t *testing.T) {
	w := catalogWorld(t)
	all := want[admin.List[catalog.EntryOutline]](w, w.do("GET", "/v1/catalog", nil), 200).Items
	at := func(list []catalog.EntryOutline, id string) *catalog.EntryOutline {
		for i := range list {
			if list[i].ID == id {
				return &list[i]
			}
		}
		return nil
	}
	if i := at(all, "library"); i == nil || i.From != "operator" || i.Tools != 4 || !i.Verified || i.Tokens != 400 || i.Saved != 56 || i.Kind != "openapi" {
		t.Errorf("%+v", i)
	}
	if i := at(all, "github"); i == nil || i.From != "built-in" {
		t.Errorf("%+v", i)
	}
	for query, want1 := range map[string]string{"q=city%20loans": "library", "q=librar&kind=openapi&category=data": "library", "q=library&kind=mcp": "", "q=library&category=crm": ""} {
		got := want[admin.List[catalog.EntryOutline]](w, w.do("GET", "/v1/catalog?"+query, nil), 200).Items
		if first := at(got, "library"); (first != nil) != (want1 != "") {
			t.Errorf("%s: %+v", query, got)
		}
	}
	one := want[catalog.EntryDetail](w, w.do("GET", "/v1/catalog/library", nil), 200)
	if one.Name != "Library" || one.From != "operator" || len(one.Tools) != 4 || one.Authentication[0].KeyURL != "https://library.example.com/keys" {
		t.Errorf("%+v", one)
	}
	if a := w.do("GET", "/v1/catalog/librery", nil); a.StatusCode != http.StatusNotFound || !strings.Contains(a.body, "did you mean library") {
		t.Error(a.body)
	}
}

// TestCatalogToolset: an entry becomes a toolset of its tools, with their names, texts,
// answers, examples and fixed arguments; the others are disabled.
func TestCatalogToolset(t *testing.T) {
	w := catalogWorld(t)
	made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{})), 201)
	if made.Slug != "library" || made.Name != "Library" || made.Profile != "concise" || made.BaseURL != w.upstream.URL || made.Source.URL != vendor || made.EnabledTools != 5 || made.ToolCount != 6 {
		t.Errorf("%+v", made.Toolset)
	}
	if got := enabledTools(made.Tools); got != "list_books search_books get_book lend_book" {
		t.Errorf("tools %s", got)
	}
	tools := want[admin.List[toolset.Tool]](w, w.do("GET", "/v1/toolsets/library/tools?schemas=true", nil), 200).Items
	for i := range tools {
		tool := &tools[i]
		switch tool.Name {
		case "list_books":
			if tool.Description != "Lists books by author and year." || tool.Answers == nil || *tool.Answers != (toolset.Answers{Fields: "items(id,title)", Rows: "items", Where: "year > 1900", Limit: 20}) {
				t.Errorf("%+v %+v", tool, tool.Answers)
			}
		case "search_books":
			if strings.Contains(string(tool.InputSchema), "lang") {
				t.Errorf("the model sees a fixed argument: %s", tool.InputSchema)
			}
			if !tool.Annotations.ReadOnly || string(tool.Fixed["lang"]) != `"en"` {
				t.Errorf("%+v %s", tool, tool.InputSchema)
			}
		case "lend_book":
			if tool.Title != "Lend" || tool.Annotations.ReadOnly {
				t.Errorf("%+v", tool)
			}
		}
	}
	if flows := want[admin.List[workflow.ToolsetWorkflow]](w, w.do("GET", "/v1/toolsets/library/workflows", nil), 200).Items; len(flows) != 1 || flows[0].Name != "find_first_book" || flows[0].State != "ready" {
		t.Errorf("workflows %+v", flows)
	}
	if a := w.do("GET", "/v1/toolsets/library/tools/list_books/examples", nil); !strings.Contains(a.body, "what did this author write") {
		t.Error(a.body)
	}

	// Again, it is refreshed and keeps what was changed since.
	w.renameTool(made.ID, "get_book", "read_book")
	again := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{})), 200)
	if got := enabledTools(again.Tools); again.Created || got != "list_books search_books read_book lend_book" {
		t.Errorf("%v, tools %s", again.Created, got)
	}

	// Beside a toolset that has a tool of that name, that one keeps it.
	w.fetcher.put("https://elsewhere.example/openapi.json", libraryDocument(t, libraryOperations...))
	twice := w.fromEntry(map[string]any{"url": "https://elsewhere.example/openapi.json"}, "name", "branch")
	if a := w.do("POST", "/v1/toolsets/library/connectors", twice); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "--no-workflows") {
		t.Errorf("a workflow of the same name: %d %s", a.StatusCode, a.body)
	}
	add := w.fromEntry(map[string]any{"useCase": "reading", "url": "https://elsewhere.example/openapi.json", "noWorkflows": true}, "name", "branch")
	added := want[change.AddedConnector](w, w.do("POST", "/v1/toolsets/library/connectors", add), 201)
	if got := enabledTools(added.Tools); got != "branch_list_books branch_search_books get_book" {
		t.Errorf("tools of another connector: %s", got)
	}
	if added.Connector.Answers == nil || added.Connector.Answers.Profile != "concise" {
		t.Errorf("answers of another connector: %+v", added.Connector.Answers)
	}
}

// TestCatalogChoices: what is chosen of an entry, and what is refused.
func TestCatalogChoices(t *testing.T) {
	w := catalogWorld(t)
	for i, c := range []struct {
		source map[string]any
		tools  []string
		want   string
	}{
		{map[string]any{"useCase": "reading"}, nil, "list_books search_books get_book"},
		{map[string]any{"readOnly": true}, nil, "list_books search_books get_book"},
		{map[string]any{}, []string{"*_book"}, "get_book lend_book"},
		{map[string]any{"useCase": "reading"}, []string{"!get_*"}, "list_books search_books"},
	} {
		body := w.fromEntry(c.source, "slug", fmt.Sprint("s", i))
		if c.tools != nil {
			body["tools"] = c.tools
		}
		preview := want[change.Preview](w, w.do("POST", "/v1/connectors/preview", map[string]any{"source": body["source"]}), 200)
		if got := enabledTools(preview.Tools); c.tools == nil && got != c.want {
			t.Errorf("%v: preview %s, want %s", c.source, got, c.want)
		}
		made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
		if got := enabledTools(made.Tools); got != c.want {
			t.Errorf("%v %v: %s, want %s", c.source, c.tools, got, c.want)
		}
	}
	for _, c := range []struct {
		body   map[string]any
		status int
		want   string
	}{
		{w.fromEntry(map[string]any{"useCase": "burning"}), 400, "choose one of reading"},
		{w.fromEntry(map[string]any{}, "tools", []string{"burn*"}), 400, "leaves none of the 4 tools"},
		{w.fromEntry(map[string]any{}, "baseUrl", ""), 400, "give the address of your library, such as https://city.example.com"},
		{map[string]any{"source": map[string]any{"catalog": map[string]any{"entry": "librry"}}}, 404, "did you mean library"},
		{map[string]any{"source": map[string]any{"catalog": map[string]any{"entry": "library"}, "openapi": map[string]any{"url": vendor}}}, 400, "send source.catalog alone"},
	} {
		if a := w.do("POST", "/v1/toolsets", c.body); a.StatusCode != c.status || !strings.Contains(a.body, c.want) {
			t.Errorf("%v: %d %s, want %d %s", c.body, a.StatusCode, a.body, c.status, c.want)
		}
	}
}

// TestCatalogValues: an argument that has one value for all calls is asked for once, and the model
// does not see it. A toolset that was made before it was asked for goes on without.
func TestCatalogValues(t *testing.T) {
	const base = "base:\n  ask:"
	w := catalogWorld(t)
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{}, "slug", "earlier")), 201)
	asks := libraryEntry(t, base, "values: {id: the number of your book.}\n"+base)
	w.catalog.Replace([]*entries.Entry{asks})
	schema := func(slug string) string {
		t.Helper()
		return string(want[toolset.Tool](w, w.do("GET", "/v1/toolsets/"+slug+"/tools/get_book", nil), 200).InputSchema)
	}
	if out := want[change.Refreshed](w, w.do("POST", "/v1/toolsets/earlier/catalog-update", map[string]any{}), 200); out.Changes.Breaking != 0 || !strings.Contains(schema("earlier"), `"id"`) {
		t.Errorf("%+v %s", out.Changes, schema("earlier"))
	}
	for _, c := range []struct {
		values map[string]any
		want   string
	}{
		{nil, "Library wants one value of id for all calls: give the number of your book\""},
		{map[string]any{"id": ""}, "/source/catalog/values/id"},
		{map[string]any{"id": "7", "shelf": "2"}, "asks for no value of \\\"shelf\\\""},
	} {
		if a := w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{"values": c.values})); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, c.want) {
			t.Errorf("%v: %d %s", c.values, a.StatusCode, a.body)
		}
	}
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{"values": map[string]any{"id": "7"}})), 201)
	if s := schema("library"); strings.Contains(s, `"id"`) {
		t.Errorf("the model sees it: %s", s)
	}
	if a := w.do("GET", "/v1/toolsets/library/tools/get_book", nil); !strings.Contains(a.body, `"fixed":{"id":"7"}`) {
		t.Error(a.body)
	}
	if out := w.updateEntry(map[string]any{}); out.Changed {
		t.Errorf("the value is not of the entry's text: %+v", out.Changes)
	}
	// Added again, the document is read again, and what the toolset is made of stays: whoever says otherwise is told.
	for _, c := range []struct {
		entry map[string]any
		more  []any
		want  string
	}{
		{map[string]any{"values": map[string]any{"id": "8"}}, nil, `library was made with another value of id","instance`},
		{map[string]any{"values": map[string]any{"id": "7"}, "readOnly": true}, nil, "library was made with another choice of tools"},
		{map[string]any{"values": map[string]any{"id": "7"}}, []any{"tools", []string{"get_*"}}, "library was made with another choice of tools"},
	} {
		if a := w.do("POST", "/v1/toolsets", w.fromEntry(c.entry, c.more...)); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, c.want) {
			t.Errorf("%v: %d %s, want %s", c.entry, a.StatusCode, a.body, c.want)
		}
	}
	if a := w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{"values": map[string]any{"id": "7"}})); a.StatusCode != http.StatusOK {
		t.Errorf("the same again: %d %s", a.StatusCode, a.body)
	}
	plain := map[string]any{"slug": "plain", "source": map[string]any{"openapi": map[string]any{"url": vendor}}, "baseUrl": "https://city.example.com", "deploy": map[string]any{"skip": true}}
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", plain), 201)
	if a := w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{"values": map[string]any{"id": "7"}}, "slug", "plain")); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "plain was made of the same source without the entry library") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	w.catalog.Replace([]*entries.Entry{libraryEntry(t, base, "values: {shelf: where it stands}\n"+base)})
	if a := w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{"values": map[string]any{"shelf": "2"}}, "slug", "later")); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "no tool has the argument") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestCatalogNoLongerFits: a vendor's document without an operation of the entry says so
// before anything is kept, unless the rest is wanted.
func TestCatalogNoLongerFits(t *testing.T) {
	w := catalogWorld(t)
	w.fetcher.put(vendor, libraryDocument(t, "GET /books", "GET /v2/books/{id}", "POST /books/search"))
	a := w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{}))
	for _, part := range []string{"2 of its 4 tools not found in " + vendor, "get_book: GET /books/{id} is gone; there is GET /v2/books/{id}", "lend_book: POST /loans is gone"} {
		if a.StatusCode != http.StatusConflict || !strings.Contains(a.body, part) {
			t.Errorf("%d %s, want %s", a.StatusCode, a.body, part)
		}
	}
	if list := want[admin.List[view.Toolset]](w, w.do("GET", "/v1/toolsets", nil), 200).Items; len(list) != 0 {
		t.Errorf("kept: %+v", list)
	}
	// A choice that needs none of them is not affected.
	made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{}, "tools", []string{"list_*", "search_*"}, "slug", "some")), 201)
	if got := enabledTools(made.Tools); got != "list_books search_books" {
		t.Error(got)
	}
	made = want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{"partial": true})), 201)
	if got := enabledTools(made.Tools); got != "list_books search_books" {
		t.Error(got)
	}
	w.fetcher.put(vendor, strings.ReplaceAll(libraryDocument(t, libraryOperations...), "lang", "language"))
	if a := w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{}, "slug", "fixed")); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, `POST /books/search has no argument \"lang\"`) {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	w.fetcher.put(vendor, libraryDocument(t, "GET /other"))
	if a := w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{"partial": true}, "slug", "none")); a.StatusCode != http.StatusConflict {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestCatalogGrantsNothing: only the operator opens private addresses to a toolset, by
// naming them; that an entry names one does not.
func TestCatalogGrantsNothing(t *testing.T) {
	w := catalogWorld(t)
	inside := &entries.Entry{
		FormatVersion: 1, ID: "inside", Name: "Inside", Category: "data", Source: entries.EntrySource{OpenAPI: &entries.EntryOpenAPI{URL: w.upstream.URL + "/openapi.json"}},
		Base: &entries.EntryBase{URL: w.upstream.URL}, Tools: []entries.EntryTool{{Operation: "GET /books", Name: "list_books", Description: "Lists books."}},
	}
	w.stop()
	var err error
	if w.catalog, err = catalog.New([]*entries.Entry{inside}); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.fetcher.put(inside.URL(), libraryDocument(t, libraryOperations...))
	body := map[string]any{"source": map[string]any{"catalog": map[string]any{"entry": "inside"}}, "deploy": map[string]any{"skip": true}}
	made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, here...), 201)
	host := strings.TrimPrefix(w.upstream.URL, "http://")
	if made.BaseURL != w.upstream.URL || len(made.Granted) != 0 || w.reaches(made.ID, host) {
		t.Errorf("granted %v", made.Granted)
	}
	body["slug"], body["baseUrl"] = "named", w.upstream.URL
	made = want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, here...), 201)
	if len(made.Granted) != 1 || !w.reaches(made.ID, host) {
		t.Errorf("granted %v", made.Granted)
	}
}

// TestCatalogCredentialOrigins: a vendor's document that names other servers, for all
// operations or for one, does not get the key of an entry.
func TestCatalogCredentialOrigins(t *testing.T) {
	w := catalogWorld(t)
	text := libraryDocument(t, libraryOperations...)
	text = strings.Replace(text, `"openapi":"3.0.3"`, `"openapi":"3.0.3","servers":[{"url":"https://evil.example"}],"security":[{"k":[]}],"components":{"securitySchemes":{"k":{"type":"http","scheme":"bearer"}}}`, 1)
	text = strings.Replace(text, `"operationId":"op1"`, `"operationId":"op1","servers":[{"url":"https://evil.example"}]`, 1)
	if strings.Count(text, "evil.example") != 2 {
		t.Fatal(text)
	}
	w.fetcher.put(vendor, text)
	body := w.fromEntry(map[string]any{}, "authentication", map[string]any{"authType": "header", "headerName": "Authorization", "headerPrefix": "Bearer ", "apiKey": "secret-key"})
	made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	a := w.do("GET", "/v1/toolsets/"+made.ID+"/origins", nil)
	if a.StatusCode != http.StatusOK || !strings.Contains(a.body, w.upstream.URL) || strings.Contains(a.body, "evil.example") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}
