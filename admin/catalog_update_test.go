package admin_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/toolset"
	entries "github.com/sluicegate/sluice/plugins/catalog"
)

// libraryEntry is the entry library after changes of its text.
func libraryEntry(t *testing.T, changes ...string) *entries.Entry {
	t.Helper()
	text, err := os.ReadFile("../plugins/catalog/testdata/library.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(s, changes[i]) {
			t.Fatalf("the entry has no %q", changes[i])
		}
		s = strings.Replace(s, changes[i], changes[i+1], 1)
	}
	e, err := entries.Parse("library.yaml", []byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *world) updateEntry(body map[string]any) change.Refreshed {
	w.t.Helper()
	return want[change.Refreshed](w, w.do("POST", "/v1/toolsets/library/catalog-update", body), 200)
}

func (w *world) followed(slug string) catalog.Followed {
	w.t.Helper()
	c := want[view.ToolsetDetail](w, w.do("GET", "/v1/toolsets/"+slug, nil), 200).Connectors[0]
	if c.Entry == nil {
		w.t.Fatalf("%s follows no entry", slug)
	}
	return *c.Entry
}

// changeTexts are the changes of an update: TOOL WHERE IMPACT.
func changeTexts(c *difference.Changes) string {
	var out []string
	for _, t := range c.Tools {
		if len(t.Details) == 0 {
			out = append(out, t.Tool+" "+t.Kind)
		}
		for _, d := range t.Details {
			out = append(out, t.Tool+" "+d.Where+" "+string(d.Impact))
		}
	}
	for _, d := range c.Entry.Settings {
		out = append(out, d.Where+" "+string(d.Impact))
	}
	for _, k := range c.Entry.Yours {
		out = append(out, "yours "+strings.TrimSpace(k.Tool+" "+k.Where))
	}
	return strings.Join(out, ", ")
}

// TestCatalogUpdate: a newer version of an entry is shown, becomes the difference that it
// is, and leaves alone what the operator edited.
func TestCatalogUpdate(t *testing.T) {
	w := catalogWorld(t)
	key := map[string]any{"authType": "header", "headerName": "Authorization", "headerPrefix": "Bearer ", "apiKey": "secret-key-0123456789"}
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{}, "authentication", key)), 201)
	was := w.followed("library")
	if was.ID != "library" || was.Version != libraryEntry(t).Version() || was.Update != "" || was.Gone {
		t.Fatalf("follows %+v", was)
	}
	if out := w.updateEntry(map[string]any{}); out.Changed || out.Changes != nil {
		t.Errorf("nothing is newer: %+v", out)
	}
	w.renameTool("library", "get_book", "read_book")

	next := libraryEntry(t,
		"Lists books by author and year.", "Lists books by author.",
		"name: get_book", "name: fetch_book", "tools: [list_books, search_books, get_book]", "tools: [list_books, fetch_book]",
		"fields: \"items(id,title)\"", "fields: items(id)",
		"    description: Reads a book.", "    description: Reads a book by its number.",
		"  - operation: POST /loans\n    operationId: op4\n    name: lend_book\n    title: Lend\n    description: Lends a book to a reader.", "  - operation: GET /staff\n    name: list_staff\n    description: Lists who works here.",
		"examples: [what did this author write]", "examples: [books by this author]",
		`{authType: header, headerName: Authorization, headerPrefix: "Bearer "}`, "{authType: header, headerName: X-Library-Key}",
		"url: https://library.example.com/openapi.json", "url: https://library.example.com/v2/openapi.json",
		"search_books\n    description: Searches the texts of books.", "find_books\n    description: Searches the texts of books.")
	w.catalog.Replace([]*entries.Entry{next})
	if f := w.followed("library"); f.Update != next.Version() || f.Version != was.Version {
		t.Errorf("follows %+v", f)
	}
	for _, i := range want[admin.List[catalog.EntryOutline]](w, w.do("GET", "/v1/catalog", nil), 200).Items {
		if use := i.ID == "library"; use != (len(i.UsedBy) == 1) || use != (i.Updates == 1) || use && (i.UsedBy[0].Toolset != "library" || i.UsedBy[0].Update != next.Version()) {
			t.Errorf("%s: %+v", i.ID, i)
		}
	}

	const changes = "list_staff added, list_books description wording, list_books answers breaking, list_books examples wording, read_book description wording, lend_book removed, " +
		"find_books name breaking, source safe, authentication breaking, yours read_book name"
	sorted := func(s string) map[string]bool {
		out := map[string]bool{}
		for part := range strings.SplitSeq(s, ", ") {
			out[part] = true
		}
		return out
	}
	check := func(out change.Refreshed) {
		t.Helper()
		got := changeTexts(out.Changes)
		if g, n := sorted(got), sorted(changes); len(g) != len(n) {
			t.Errorf("changes %s\nwant %s", got, changes)
		} else {
			for part := range n {
				if !g[part] {
					t.Errorf("changes %s\nlack %s", got, part)
				}
			}
		}
		if c := out.Changes; c.Added != 1 || c.Removed != 1 || c.Changed != 3 || c.Breaking != 4 || c.Entry.From != was.Version || c.Entry.To != next.Version() {
			t.Errorf("%+v", out.Changes)
		}
	}
	before := w.do("GET", "/v1/toolsets/library/tools?schemas=true", nil).body
	check(w.updateEntry(map[string]any{"dryRun": true}))
	if after := w.do("GET", "/v1/toolsets/library/tools?schemas=true", nil).body; after != before || w.followed("library") != (catalog.Followed{ID: "library", Version: was.Version, Update: next.Version()}) {
		t.Error("a dry run changed the draft")
	}

	out := w.updateEntry(map[string]any{})
	check(out)
	if out.Deployed || out.Waiting != "the toolset is not live" {
		t.Errorf("%+v", out)
	}
	list := want[admin.List[toolset.Tool]](w, w.do("GET", "/v1/toolsets/library/tools", nil), 200).Items
	if got := enabledTools(list); got != "list_books find_books read_book list_staff find_first_book" {
		t.Errorf("tools %s", got)
	}
	if a := w.do("GET", "/v1/toolsets/library/authentication", nil); !strings.Contains(a.body, `"headerName":"X-Library-Key"`) || !strings.Contains(a.body, `"6789"`) || strings.Contains(a.body, "Bearer") {
		t.Error(a.body)
	}
	if a := w.do("GET", "/v1/toolsets/library/tools/list_books/examples", nil); !strings.Contains(a.body, "books by this author") || strings.Contains(a.body, "what did this author write") {
		t.Error(a.body)
	}
	if f := w.followed("library"); f.Version != next.Version() || f.Update != "" {
		t.Errorf("follows %+v", f)
	}
	if got := want[admin.List[difference.Changes]](w, w.do("GET", "/v1/toolsets/library/changes", nil), 200).Items; len(got) != 1 || got[0].Entry == nil || got[0].Entry.To != next.Version() {
		t.Errorf("changes %+v", got)
	}
	if a := w.do("GET", "/v1/audit?limit=50", nil); !strings.Contains(a.body, next.Version()) || strings.Contains(a.body, "secret-key") {
		t.Error(a.body)
	}

	// An entry that needs what the vendor's document did not have says so, and an entry
	// that is gone is said to be.
	w.catalog.Replace([]*entries.Entry{libraryEntry(t, "GET /books/{id}", "GET /volumes/{id}", "~1books~1{id}", "~1volumes~1{id}", "  - operation: GET /books/{id}\n    body", "  - operation: GET /volumes/{id}\n    body")})
	if a := w.do("POST", "/v1/toolsets/library/catalog-update", map[string]any{}); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "GET /volumes/{id} is gone") || !strings.Contains(a.body, "sluice toolset refresh library") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if out := w.updateEntry(map[string]any{"partial": true}); out.Changes == nil || out.Changes.Removed == 0 {
		t.Errorf("partial: %+v", out.Changes)
	}
	w.catalog.Replace(nil)
	if f := w.followed("library"); !f.Gone {
		t.Errorf("follows %+v", f)
	}
	if a := w.do("POST", "/v1/toolsets/library/catalog-update", map[string]any{}); a.StatusCode != http.StatusNotFound {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	w.create("Pets", "pets.yaml")
	if a := w.do("POST", "/v1/toolsets/pets/catalog-update", map[string]any{}); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "not made of an entry") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestCatalogUpdateMovesNoKey: an entry that sends calls elsewhere waits, and the key is
// not sent there before somebody confirms it.
func TestCatalogUpdateMovesNoKey(t *testing.T) {
	base := "base:\n  ask: the address of your library, such as https://city.example.com"
	old := libraryEntry(t, base, "base:\n  url: https://api.library.example.com")
	w := catalogWorld(t)
	w.catalog.Replace([]*entries.Entry{old})
	key := map[string]any{"authType": "header", "headerName": "Authorization", "headerPrefix": "Bearer ", "apiKey": "secret-key-0123456789"}
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{}, "baseUrl", "", "authentication", key)), 201)
	w.catalog.Replace([]*entries.Entry{libraryEntry(t, base, "base:\n  url: https://evil.example")})
	out := w.updateEntry(map[string]any{"acceptBreaking": true})
	if o := out.Changes.Origins; out.Deployed || o == nil || len(o.New) != 1 || o.New[0] != "https://evil.example" {
		t.Fatalf("%+v %+v", out, out.Changes.Origins)
	}
	if a := w.do("GET", "/v1/toolsets/library/authentication", nil); !strings.Contains(a.body, `"origins":["https://api.library.example.com"]`) {
		t.Error(a.body)
	}
	if a := w.do("POST", "/v1/toolsets/library/deploy", map[string]any{"reason": "anyway"}); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "evil.example") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestExportFollowsEntry: a toolset that was exported and imported elsewhere follows the entry,
// with what was edited and what was chosen; a document without the entry ends that.
func TestExportFollowsEntry(t *testing.T) {
	w := catalogWorld(t)
	key := map[string]any{"authType": "header", "headerName": "Authorization", "headerPrefix": "Bearer ", "apiKey": "secret-key-0123456789"}
	want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.fromEntry(map[string]any{}, "authentication", key)), 201)
	w.renameTool("library", "get_book", "read_book")
	doc, _ := w.export("")
	if plan := w.importing("?dryRun=true", doc); plan.Changes != 0 {
		t.Errorf("its own export changes it: %+v", plan)
	}
	was := w.followed("library")

	there := catalogWorld(t)
	doc.Toolsets[0].Live = false
	there.importing("", doc)
	if f := there.followed("library"); f != was {
		t.Fatalf("follows %+v, the other %+v", f, was)
	}
	there.catalog.Replace([]*entries.Entry{libraryEntry(t, "Lists books by author and year.", "Lists books by author.")})
	if got := changeTexts(there.updateEntry(map[string]any{}).Changes); got != "list_books description wording" {
		t.Errorf("%s", got) // and read_book keeps its name
	}
	doc.Toolsets[0].CatalogEntry = nil
	there.importing("", doc)
	if c := want[view.ToolsetDetail](there, there.do("GET", "/v1/toolsets/library", nil), 200).Connectors[0]; c.Entry != nil {
		t.Errorf("follows %+v", c.Entry)
	}
	doc.Toolsets[0].CatalogEntry = []byte(`{"version":"1","choice":{"entry":"library"},"entry":{}}`)
	if a := there.do("POST", "/v1/import", doc); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "catalogEntry") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}
