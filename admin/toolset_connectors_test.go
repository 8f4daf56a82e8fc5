package admin_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
)

func (w *world) tools(id string) (names []string) {
	w.t.Helper()
	for _, t := range want[admin.List[toolset.Tool]](w, w.do("GET", "/v1/toolsets/"+id+"/tools?limit=200", nil), http.StatusOK).Items {
		names = append(names, t.Name)
	}
	return names
}

func (w *world) addTo(id string, status int, body map[string]any) change.AddedConnector {
	w.t.Helper()
	return want[change.AddedConnector](w, w.do("POST", "/v1/toolsets/"+id+"/connectors", body), status)
}

func (w *world) petsBody(name string) map[string]any {
	b := w.createBody("", "pets.yaml")
	delete(b, "name")
	if name != "" {
		b["name"] = name
	}
	return b
}

// send is do with the ETag that a path has now.
func (w *world) send(method, path string, body any, etagOf string) answer {
	w.t.Helper()
	tag := w.do("GET", etagOf, nil).Header.Get("Etag")
	return w.do(method, path, body, "If-Match", tag)
}

// TestSeveralConnectors: another connector renames nothing that is there; each keeps
// its own address, credential, settings and edits; and what is removed takes only its
// own along.
func TestSeveralConnectors(t *testing.T) {
	w := newWorld(t)
	w.servers.set(nil, "find=Finds.", "list_pets=Another list.")
	ts := w.create("Shop", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	first := w.tools(ts.ID)
	if len(ts.Connectors) != 1 || ts.Connectors[0].Name != "pet-store" || ts.Tools[0].Operation.Connector != "pet-store" {
		t.Fatalf("made with %+v", ts.Connectors)
	}

	server := map[string]any{"source": map[string]any{"mcp": map[string]string{"url": "https://mcp.example.com/mcp"}}, "profile": "off"}
	a := w.addTo(ts.ID, http.StatusCreated, server)
	if !a.Created || a.Connector.Name != "notes" || len(a.Tools) != 2 || a.Test == nil || !a.Test.Passed || a.Test.Tool != "tools/list" ||
		a.Toolset.Revision != 2 || a.Toolset.Changed || a.Connector.Answers == nil || a.Connector.Answers.Profile != "off" || a.Toolset.Profile != "lossless" {
		t.Fatalf("added %+v with test %+v", a, a.Test)
	}
	if len(a.Renamed) != 1 || a.Renamed[0].Name != "notes_list_pets" || a.Renamed[0].Generated != "list_pets" {
		t.Errorf("renamed %+v", a.Renamed)
	}
	if got := w.tools(ts.ID); !slices.Equal(got, append(slices.Clone(first), "find", "notes_list_pets")) {
		t.Errorf("tools %v", got)
	}
	// The same source again refreshes the connector it made.
	if again := w.addTo(ts.ID, http.StatusOK, server); again.Created || again.Connector.Name != "notes" || len(again.Toolset.Connectors) != 2 {
		t.Errorf("again: %+v", again)
	}
	// The same specification under another name is another connector, whose every tool gets a prefix.
	second := w.addTo(ts.ID, http.StatusCreated, w.petsBody("pets-eu"))
	if len(second.Renamed) != 4 || second.Tools[0].Name != "pets_eu_list_pets" || second.Toolset.ToolCount != 10 || second.Test == nil || second.Test.Tool != "pets_eu_list_pets" {
		t.Errorf("the second: %+v, test %+v", second.Renamed, second.Test)
	}
	if got := w.tools(ts.ID); !slices.Equal(got[:6], append(slices.Clone(first), "find", "notes_list_pets")) {
		t.Errorf("tools %v", got)
	}
	taken := w.petsBody("notes")
	want[front.Problem](w, w.do("POST", at+"/connectors", taken), http.StatusConflict)
	want[front.Problem](w, w.do("POST", "/v1/toolsets/none/connectors", taken), http.StatusNotFound)
	want[front.Problem](w, w.do("POST", at+"/connectors", map[string]any{}), http.StatusUnprocessableEntity)

	// Credentials belong to one connector, and what does not say which is refused.
	want[front.Problem](w, w.do("GET", at+"/authentication", nil), http.StatusConflict)
	auth := map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey}
	want[credential.Authentication](w, w.do("PUT", at+"/connectors/pets-eu/authentication", auth), http.StatusOK)
	want[credential.Authentication](w, w.do("PUT", at+"/connectors/notes/authentication", map[string]any{"authType": "bearer", "token": "one-of-the-server"}), http.StatusOK)
	want[front.Problem](w, w.do("PUT", at+"/connectors/none/authentication", auth), http.StatusNotFound)
	shown := w.get(ts.ID)
	if c := shown.Connectors; c[0].Authentication != nil || c[1].Authentication.AuthType != "bearer" || c[2].Authentication.AuthType != "header" {
		t.Errorf("authentication %+v", c)
	}
	// So do address, policy and settings of answers.
	patch := map[string]any{"baseUrl": w.upstream.URL + "/eu", "answers": map[string]any{"profile": "concise", "fields": "-owner"}}
	want[view.ToolsetConnectorDetail](w, w.send("PATCH", at+"/connectors/pets-eu", patch, at), http.StatusOK)
	want[front.Problem](w, w.do("PATCH", at+"/connectors/pets-eu", patch), http.StatusPreconditionRequired)
	want[front.Problem](w, w.send("PATCH", at, map[string]any{"baseUrl": w.upstream.URL}, at), http.StatusConflict)
	// An edit is of one connector's operation, though the other has the same.
	want[toolset.Tool](w, w.do("PATCH", at+"/tools/pets_eu_list_pets", map[string]any{"description": "Pets of Europe."}), http.StatusOK)
	one := want[toolset.Tool](w, w.do("GET", at+"/tools/list_pets", nil), http.StatusOK)
	if eu := want[toolset.Tool](w, w.do("GET", at+"/tools/pets_eu_list_pets", nil), http.StatusOK); eu.Description != "Pets of Europe." || one.Description == eu.Description {
		t.Errorf("edited %+v and %+v", one, eu)
	}
	tested := want[admin.TestAnswer](w, w.do("POST", at+"/test", map[string]any{"tool": "pets_eu_list_pets"}), http.StatusOK)
	if !tested.Passed || w.tester.address != w.upstream.URL+"/eu/pets" {
		t.Errorf("test %+v at %s", tested.TestRun, w.tester.address)
	}
	if c := w.tester.last.Connectors; len(c) != 3 || c[0].Auth != nil || c[1].Auth == nil || c[2].BaseURL != w.upstream.URL+"/eu" || c[2].Answers.Profile != "concise" || c[1].Answers.Profile != "off" {
		t.Errorf("the bundle has %+v", c)
	}
	// Use cases and search see the tools of all.
	found := want[advice.SearchAnswer](w, w.do("GET", at+"/search?q=list+of+pets", nil), http.StatusOK)
	connectors := map[string]bool{}
	for _, r := range found.Results {
		connectors[r.Operation.Connector] = true
	}
	if !connectors["pet-store"] || !connectors["notes"] || !connectors["pets-eu"] {
		t.Errorf("found %+v", found.Results)
	}

	// The first connector goes; the others and their names stay.
	names := w.tools(ts.ID)[4:]
	removed := want[view.Toolset](w, w.send("DELETE", at+"/connectors/pet-store", nil, at), http.StatusOK)
	if len(removed.Connectors) != 2 || removed.Source.Kind != "mcp" || !removed.Changed || !slices.Equal(w.tools(ts.ID), names) {
		t.Errorf("left %+v with %v, want %v", removed.Connectors, w.tools(ts.ID), names)
	}
	want[view.Toolset](w, w.send("DELETE", at+"/connectors/notes", nil, at), http.StatusOK)
	if row, err := w.credential(ts.ID, "notes"); row != nil || err != nil {
		t.Errorf("the credential of what was removed is %v, %v", row, err)
	}
	want[front.Problem](w, w.send("DELETE", at+"/connectors/pets-eu", nil, at), http.StatusConflict)
	want[front.Problem](w, w.send("DELETE", at+"/connectors/notes", nil, at), http.StatusNotFound)
	// One connector again: what names none means it.
	if got := want[credential.Authentication](w, w.do("GET", at+"/authentication", nil), http.StatusOK); got.AuthType != "header" {
		t.Errorf("authentication %+v", got)
	}
	if got := w.tools(ts.ID); !slices.Equal(got, []string{"pets_eu_list_pets", "pets_eu_create_pet", "pets_eu_get_pet", "pets_eu_delete_pet"}) {
		t.Errorf("tools %v", got)
	}
}

// TestRefreshOfSeveral: each connector is read again on its own, a new operation whose
// name another connector's tool has gets the prefix, and a server that is gone is the
// fault of one.
func TestRefreshOfSeveral(t *testing.T) {
	w := newWorld(t)
	w.servers.set(nil, "find=Finds.")
	const url = "https://specs.example/pets.yaml"
	spec := fixture(t, "pets.yaml")
	w.fetcher.put(url, spec)
	body := w.createBody("Shop", "pets.yaml")
	body["source"] = map[string]any{"openapi": map[string]any{"url": url}}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), http.StatusCreated)
	at := "/v1/toolsets/" + ts.ID
	w.addTo(ts.ID, http.StatusCreated, map[string]any{"source": map[string]any{"mcp": map[string]string{"url": "https://mcp.example.com/mcp"}}, "upstreamPolicy": "warn"})

	p := want[front.Problem](w, w.do("POST", at+"/refresh", map[string]any{}), http.StatusConflict)
	if !strings.Contains(p.Detail, "pet-store, notes") {
		t.Errorf("which one: %+v", p)
	}
	w.fetcher.put(url, strings.Replace(spec, "  /pets/{id}:\n", "  /find:\n    get:\n      operationId: find\n      summary: Find a pet\n      responses:\n        \"200\": {description: OK}\n  /pets/{id}:\n", 1))
	r := want[change.Refreshed](w, w.do("POST", at+"/refresh", map[string]any{"connector": "pet-store"}), http.StatusOK)
	if r.Changes == nil || r.Changes.Added != 1 || r.Changes.Connector != "pet-store" || !r.Deployed {
		t.Errorf("refreshed %+v", r)
	}
	if got := w.tools(ts.ID); !slices.Contains(got, "pet_store_find") || got[len(got)-1] != "find" {
		t.Errorf("tools %v", got)
	}
	w.servers.set(problem.New(problem.Unreachable, "gone"))
	w.look(time.Hour)
	if c := w.get(ts.ID).Connectors; c[1].Upstream == nil || c[1].Upstream.Fault != "gone" || c[0].Upstream != nil {
		t.Errorf("upstreams %+v", c)
	}
	w.servers.set(nil, "find=Finds.", "get_pet=One more.")
	w.look(time.Hour)
	if got := w.tools(ts.ID); got[len(got)-1] != "notes_get_pet" || w.get(ts.ID).Changed {
		t.Errorf("tools %v", got)
	}
	for name, n := range map[string]int{"": 2, "?connector=notes": 1, "?connector=pet-store": 1} {
		if l := want[admin.List[difference.Changes]](w, w.do("GET", at+"/changes"+name, nil), http.StatusOK); len(l.Items) != n {
			t.Errorf("changes%s: %d", name, len(l.Items))
		}
	}
}
