package admin_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/plugins/guest"
)

// furnished makes a workspace with everything that a declaration has.
func furnished(w *world) {
	w.t.Helper()
	pets := w.create("Pets", "pets.yaml")
	at := "/v1/toolsets/" + pets.ID
	w.putAuth(pets.ID, map[string]any{"authType": "header", "headerName": "X-Key", "headerPrefix": "Key ", "apiKey": "k-1234567890"})
	tools := want[admin.List[toolset.Tool]](w, w.do("GET", at+"/tools", nil), 200).Items
	w.renameTool(pets.ID, tools[0].Name, "first_tool")
	want[toolset.Tool](w, w.do("PATCH", at+"/tools/"+tools[1].Name, map[string]any{"enabled": false, "description": "Löst \"nichts\" aus <b>\u2028"}), 200)
	get := w.do("GET", at, nil)
	patch := map[string]any{
		"description": "About pets", "instructions": "Be kind.", "profile": "concise", "cache": map[string]any{"ttlSeconds": 60},
		"answers": map[string]any{"maxString": 500, "tokenBudget": 900}, "useCase": "list pets", "selection": "search",
	}
	want[view.Toolset](w, w.do("PATCH", at, patch, "If-Match", get.Header.Get("Etag")), 200)
	want[access.ToolsetAccess](w, w.do("PUT", at+"/access", `{"mode":"token","limits":{"concurrent":7}}`), 200)
	want[access.CaptureSettings](w, w.do("PUT", at+"/capture", `{"capture":"errors"}`), 200)
	want[view.Toolset](w, w.do("POST", at+"/deploy", `{"reason":"for the test"}`), 200)
	// And one that is a draft only, with several credentials.
	body := w.createBody("Drafted", "locked.yaml")
	body["deploy"] = map[string]any{"skip": true}
	drafted := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), http.StatusCreated)
	want[fleet.LabelsBody](w, w.do("PUT", "/v1/toolsets/"+drafted.ID+"/labels", `{"labels":{"region":"eu","tier":"a"}}`), 200)
	w.putAuth(drafted.ID, map[string]any{"authType": "list", "items": []any{
		map[string]any{"authType": "basic", "username": "ann", "password": "pw-secret-1"},
		map[string]any{"authType": "query", "parameterName": "key", "apiKey": "q-secret-2"},
	}})
}

func (w *world) export(query string) (declare.Declaration, answer) {
	w.t.Helper()
	a := w.do("GET", "/v1/export"+query, nil)
	return want[declare.Declaration](w, a, 200), a
}

func (w *world) importing(query string, doc any, headers ...string) declare.ImportPlan {
	w.t.Helper()
	return want[declare.ImportPlan](w, w.do("POST", "/v1/import"+query, doc, headers...), 200)
}

// golden compares a JSON text with a file; -update writes it.
func golden(t *testing.T, name, text string) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s differs; run with -update and review the difference", path)
	}
}

func actions(p declare.ImportPlan) (out []string) {
	for _, t := range p.Toolsets {
		out = append(out, t.Slug+" "+t.Action)
	}
	return out
}

// opened puts the secrets of a sealed export into it, as the client does, and counts
// them.
func opened(t *testing.T, doc declare.Declaration, key age.Identity, count int) map[string]any {
	t.Helper()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	n := 0
	open := func(holder any) {
		auth, _ := holder.(map[string]any)["authentication"].([]any)
		for _, a := range auth {
			a := a.(map[string]any)
			sealed, ok := a["sealed"].(string)
			if !ok {
				continue
			}
			plain, err := backup.OpenText(sealed, key)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(plain, &a); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	for _, ts := range out["toolsets"].([]any) {
		open(ts)
		connectors, _ := ts.(map[string]any)["connectors"].([]any)
		for _, c := range connectors {
			open(c)
		}
	}
	if n != count {
		t.Fatalf("%d sealed secrets", n)
	}
	return out
}

// A workspace goes into a document and comes out of it the same, on an empty server;
// again it changes nothing; what drifted is shown and mended.
func TestRoundTrip(t *testing.T) {
	one := newWorld(t)
	furnished(one)
	doc, first := one.export("")
	if _, again := one.export(""); again.body != first.body {
		t.Error("two exports differ")
	}
	golden(t, "declaration.json", strings.ReplaceAll(first.body, one.upstream.URL, "https://api.example"))
	for _, secret := range []string{"k-1234567890", "pw-secret-1", "q-secret-2"} {
		if strings.Contains(first.body, secret) {
			t.Errorf("the export holds %s", secret)
		}
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sealed, _ := one.export("?recipient=" + key.Recipient().String())
	full := opened(t, sealed, key, 3)

	two := newWorld(t)
	if p := two.importing("?dryRun=true", full); !reflect.DeepEqual(actions(p), []string{"drafted create", "pets create"}) || !p.DryRun || p.Changes != 2 {
		t.Errorf("dry run: %+v", p)
	}
	if got := want[admin.List[view.Toolset]](two, two.do("GET", "/v1/toolsets", nil), 200); len(got.Items) != 0 {
		t.Error("a dry run made something")
	}
	if p := two.importing("?reason=commit+1", full); p.Changes != 2 || p.Toolsets[1].Revision != 1 || len(p.Toolsets[1].Missing) != 0 {
		t.Errorf("import: %+v", p)
	}
	if _, a := two.export(""); a.body != first.body {
		t.Errorf("the export of the copy differs:\n%s\nwant\n%s", a.body, first.body)
	}
	if d := two.liveAccess(two.get("pets").ID); d.Mode != "token" || d.Capture != "errors" {
		t.Errorf("access %+v", d)
	}
	for _, c := range []struct{ slug, want string }{{"pets", "k-1234567890"}} {
		row, err := two.credential(two.get(c.slug).ID, two.get(c.slug).Connector.Name)
		if err != nil {
			t.Fatal(err)
		}
		if value, _, err := two.secret(t.Context(), row.ID); err != nil || value.Reveal() != c.want {
			t.Errorf("the secret of %s is another (%v)", c.slug, err)
		}
	}
	if rev := want[admin.List[view.Revision]](two, two.do("GET", "/v1/toolsets/pets/revisions", nil), 200).Items; len(rev) != 1 || rev[0].Reason != "commit 1" {
		t.Errorf("revisions %+v", rev)
	}
	// Again, with the secrets and without them: nothing.
	for _, again := range []any{full, doc} {
		if p := two.importing("", again); p.Changes != 0 || !reflect.DeepEqual(actions(p), []string{"drafted none", "pets none"}) {
			t.Errorf("again: %+v", p)
		}
	}

	// Drift: an edit, a toolset more, a secret.
	two.renameTool(two.get("pets").ID, "first_tool", "drifted")
	two.create("Extra", "pets.yaml")
	p := two.importing("?dryRun=true", doc)
	pets := p.Toolsets[2]
	if !reflect.DeepEqual(actions(p), []string{"drafted none", "extra extra", "pets update"}) || !slices.ContainsFunc(pets.Changes, func(c declare.PlannedChange) bool {
		return strings.HasPrefix(c.Pointer, "/tools/") && strings.HasSuffix(c.Pointer, "/name") && c.From == `"drifted"` && c.To == `"first_tool"`
	}) || !slices.Contains(pets.Changes, declare.PlannedChange{Pointer: "/live", From: "false", To: "true"}) || len(pets.Changes) != 2 {
		t.Errorf("drift: %+v", p)
	}
	tag := two.do("GET", "/v1/export", nil).Header.Get("Etag")
	if p := two.importing("?prune=true", doc, "If-Match", tag); p.Changes != 2 || p.Toolsets[2].Revision != 0 || two.get("pets").Status != "live" { // what is live is what it says
		t.Errorf("mended: %+v", p)
	}
	if _, a := two.export(""); a.body != first.body {
		t.Errorf("after mending the export differs:\n%s", a.body)
	}
	stale := two.do("POST", "/v1/import", doc, "If-Match", tag)
	if stale.StatusCode != http.StatusPreconditionFailed || stale.Header.Get("Etag") == "" {
		t.Errorf("a stale import: %d %s", stale.StatusCode, stale.body)
	}
	two.importing("", doc, "If-Match", stale.Header.Get("Etag"))

	// Left out on an empty server: said, and not published.
	three := newWorld(t)
	p = three.importing("", doc)
	if got := p.Toolsets[1]; !slices.Equal(got.Missing, []string{"/authentication/0/apiKey"}) || got.Revision != 0 || len(p.Toolsets[0].Missing) != 2 {
		t.Errorf("missing: %+v", p)
	}
	if three.get("pets").Status != "draft" {
		t.Error("a toolset without its secret was published")
	}
}

// What cannot be imported is said with its place, and nothing is changed.
func TestImportRefuses(t *testing.T) {
	w := newWorld(t)
	furnished(w)
	_, a := w.export("")
	before := a.body
	f := func(change func(doc map[string]any), status int, pointer string) {
		t.Helper()
		var doc map[string]any
		if err := json.Unmarshal([]byte(before), &doc); err != nil {
			t.Fatal(err)
		}
		sets := doc["toolsets"].([]any)
		sets[0].(map[string]any)["description"] = "changed too" // whole or not at all
		change(doc)
		got := w.do("POST", "/v1/import", doc)
		if got.StatusCode != status || !strings.Contains(got.body, pointer) {
			t.Errorf("%d %s; want %d and %s", got.StatusCode, got.body, status, pointer)
		}
		if _, now := w.export(""); now.body != before {
			t.Fatalf("something was changed: %s", now.body)
		}
	}
	set := func(doc map[string]any, i int, name string, v any) {
		doc["toolsets"].([]any)[i].(map[string]any)[name] = v
	}
	source := func(doc map[string]any, name string, v any) {
		doc["toolsets"].([]any)[1].(map[string]any)["source"].(map[string]any)[name] = v
	}
	f(func(d map[string]any) { d["formatVersion"] = 2 }, 422, "formatVersion")
	f(func(d map[string]any) { set(d, 1, "slug", "drafted") }, 400, "#/toolsets/1/slug")
	f(func(d map[string]any) { set(d, 1, "baseUrl", "ftp://x") }, 400, "#/toolsets/1/baseUrl")
	f(func(d map[string]any) { set(d, 1, "unknown", 1) }, 422, "unknown")
	f(func(d map[string]any) { set(d, 1, "labels", map[string]any{"": "x"}) }, 400, "#/toolsets/1/labels")
	f(func(d map[string]any) { source(d, "document", "openapi: 3.1.0\n") }, 400, "#/toolsets/1/source/digest")
	f(func(d map[string]any) { source(d, "document", "openapi: 3.1.0\n"); source(d, "digest", "") }, 422, "pets/pets.yaml")
	f(func(d map[string]any) { source(d, "document", "") }, 400, "#/toolsets/1/source")
	f(func(d map[string]any) {
		set(d, 1, "plugins", []any{map[string]any{"plugin": "none", "range": "*", "version": "1.0.0", "digest": ""}})
	}, 404, "#/toolsets/1/plugins/0")
	f(func(d map[string]any) {
		set(d, 1, "tools", []any{map[string]any{"method": "GET", "path": "/pets", "name": "1 bad"}})
	}, 400, "#/toolsets/1/tools/0/name")
	f(func(d map[string]any) {
		set(d, 1, "authentication", []any{map[string]any{"authType": "header", "headerName": "Host", "apiKey": "x"}})
	}, 400, "#/toolsets/1/authentication")
	f(func(d map[string]any) { set(d, 1, "answers", map[string]any{"rows": "x"}) }, 400, "#/toolsets/1/answers")

	// Roles: a viewer exports what it sees, and seals and imports nothing.
	viewer, editor := w.withRole("default", store.RoleViewer), w.withRole("default", store.RoleEditor)
	if got := w.do("GET", "/v1/export", nil, bearer(viewer)...); got.StatusCode != http.StatusOK || got.body != before {
		t.Errorf("a viewer's export: %d", got.StatusCode)
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/export?recipient=" + key.Recipient().String(), "/v1/export?recipient=age1x"} {
		want[front.Problem](w, w.do("GET", path, nil, bearer(editor)...), http.StatusForbidden)
	}
	want[front.Problem](w, w.do("GET", "/v1/export?recipient=age1x", nil), http.StatusBadRequest)
	want[front.Problem](w, w.do("GET", "/v1/export?toolset=none", nil), http.StatusNotFound)
	want[front.Problem](w, w.do("POST", "/v1/import", before, bearer(viewer)...), http.StatusForbidden)
	want[front.Problem](w, w.do("POST", "/v1/import?prune=true", before, bearer(editor)...), http.StatusForbidden)
	if p := want[declare.ImportPlan](w, w.do("POST", "/v1/import", before, bearer(editor)...), 200); p.Changes != 0 {
		t.Errorf("an editor's import: %+v", p)
	}
}

// A column of a toolset or of a connector that export does not know is lost by it: each
// is one that is declared, or one of those below.
func TestDeclarationIsComplete(t *testing.T) {
	made := map[string]bool{ // by the server, or of what happened
		"BaseModel": true, "InWorkspace": true, "ID": true, "Version": true, "SourceTitle": true, "Connector": true, "ConnectorDigest": true, "EnabledTools": true,
		"DraftDigest": true, "LiveDigest": true, "LiveRepository": true, "LiveRevision": true, "CreatedAt": true, "UpdatedAt": true, "ToolsetID": true, "Position": true,
		"ConnectorEntry": true, "Entry": true, // an import sets what the entry made, and the operator adds the entry where it is to be followed
	}
	declared := map[string]string{
		"Slug": "Slug", "Name": "Name", "Description": "Description", "Instructions": "Instructions", "SourceKind": "Source", "SourceURL": "Source", "BaseURL": "BaseURL",
		"Profile": "Profile", "CacheSeconds": "CacheSeconds", "Answers": "Answers", "Selection": "Selection", "Plugins": "Plugins", "Workflows": "Workflows", "UpstreamPolicy": "UpstreamPolicy", "Stateless": "Stateless", "LabelText": "Labels",
		"ConnectorName": "Connectors", "ConnectorAnswers": "Connectors", "ConnectorFixed": "Connectors", "Fixed": "Fixed",
	}
	for of, in := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[store.Toolset](): reflect.TypeFor[declare.DeclaredToolset](), reflect.TypeFor[store.ToolsetConnector](): reflect.TypeFor[declare.DeclaredConnector](),
	} {
		for f := range of.Fields() {
			if made[f.Name] {
				continue
			}
			if _, ok := in.FieldByName(declared[f.Name]); !ok {
				t.Errorf("export does not know the column %s of a %s", f.Name, of.Name())
			}
		}
	}
}

// wholeTools is the list of tools of a toolset with everything that clients see of them.
func (w *world) wholeTools(id string) string {
	w.t.Helper()
	a := w.do("GET", "/v1/toolsets/"+id+"/tools?limit=200&schemas=true", nil)
	if a.StatusCode != http.StatusOK {
		w.t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	return a.body
}

// Several connectors go into a document and come out of it the same: their order and
// names, settings, credentials, edits, plugins, workflows and choices of tools.
func TestRoundTripOfSeveral(t *testing.T) {
	one := newWorld(t)
	k := newPublisher(t)
	plugins := func(w *world) {
		w.trust(k, "Ada")
		w.publishMask(k, "1.0.0")
		code, err := os.ReadFile("../testdata/plugins/thread/thread.wasm")
		if err != nil {
			t.Fatal(err)
		}
		p, err := guest.Open(code)
		if err != nil {
			t.Fatal(err)
		}
		golden, err := os.ReadFile("../testdata/plugins/thread/testdata/example.json")
		if err != nil {
			t.Fatal(err)
		}
		body := publication(t, k, p)
		body["cases"] = []any{map[string]any{"name": "example", "case": json.RawMessage(golden)}}
		want[plugin.PluginVersion](w, w.do("POST", "/v1/plugins", body), http.StatusCreated)
	}
	plugins(one)
	one.servers.set(nil, "find=Finds.", "list_pets=Another list.")
	ts := one.create("Shop", "pets.yaml")
	at := "/v1/toolsets/" + ts.ID
	one.addTo(ts.ID, http.StatusCreated, map[string]any{"source": map[string]any{"mcp": map[string]string{"url": "https://mcp.example.com/mcp"}}, "upstreamPolicy": "warn", "stateless": true})
	one.addTo(ts.ID, http.StatusCreated, one.petsBody("pets-eu"))
	want[view.ToolsetConnectorDetail](one, one.send("PATCH", at+"/connectors/pets-eu", map[string]any{"answers": map[string]any{"profile": "concise", "fields": "-owner"}}, at), http.StatusOK)
	want[credential.Authentication](one, one.do("PUT", at+"/connectors/pet-store/authentication", map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey}), http.StatusOK)
	want[access.ToolsetAccess](one, one.do("PUT", at+"/access", `{"mode":"token"}`), http.StatusOK)
	want[credential.Authentication](one, one.do("PUT", at+"/connectors/notes/authentication", map[string]any{
		"authType": "oauth2", "grant": "authorization_code", "resource": "https://mcp.example.com/mcp", "perUser": true,
	}), http.StatusOK)
	want[toolset.Tool](one, one.do("PATCH", at+"/tools/pets_eu_list_pets", map[string]any{"description": "Pets of Europe."}), http.StatusOK)
	want[toolset.Tool](one, one.do("PATCH", at+"/tools/find", map[string]any{"name": "look"}), http.StatusOK)
	bound := want[binding.ToolsetPlugins](one, one.bind(ts.ID,
		map[string]any{"plugin": "mask", "tool": "pets_eu_get_pet", "config": map[string]any{"mask": "x"}},
		map[string]any{"plugin": "mask", "connector": "notes"},
		map[string]any{"plugin": "thread", "calls": map[string]string{"get_issue": "pets_eu_get_pet", "list_comments": "notes_list_pets"}}), http.StatusOK)
	want[view.Toolset](one, one.send("PATCH", at, map[string]any{"useCase": "list pets. find something", "selection": "use-case"}, at), http.StatusOK)
	want[choice.ToolExamples](one, one.do("PUT", at+"/tools/pets_eu_list_pets/examples", map[string]any{"examples": []string{"which animals live in Europe"}}), http.StatusOK)
	want[view.Toolset](one, one.do("POST", at+"/deploy", `{"reason":"for the test"}`), http.StatusOK)
	// One connector with settings of its own needs its name too.
	single := one.create("Single", "locked.yaml")
	want[view.ToolsetConnectorDetail](one, one.send("PATCH", "/v1/toolsets/"+single.ID+"/connectors/locked", map[string]any{"answers": map[string]any{"profile": "off"}}, "/v1/toolsets/"+single.ID), http.StatusOK)

	doc, first := one.export("")
	shop := doc.Toolsets[0]
	if len(doc.Toolsets) != 2 || len(shop.Connectors) != 3 || shop.Source != nil || shop.Authentication != nil || shop.Connectors[1].UpstreamPolicy != "warn" || len(doc.Toolsets[1].Connectors) != 1 {
		t.Fatalf("declared %s", first.body)
	}
	quoted, err := json.Marshal(string(k.PublicPEM()))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "several.json", strings.NewReplacer(one.upstream.URL, "https://api.example", string(quoted), `"a key"`).Replace(first.body))
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sealed, _ := one.export("?recipient=" + key.Recipient().String())
	full := opened(t, sealed, key, 1)

	two := newWorld(t)
	plugins(two)
	if p := two.importing("?dryRun=true", full); !reflect.DeepEqual(actions(p), []string{"shop create", "single create"}) {
		t.Errorf("dry run: %+v", p)
	}
	if p := two.importing("", full); p.Changes != 2 || p.Toolsets[0].Revision != 1 || len(p.Toolsets[0].Missing) != 0 {
		t.Fatalf("import: %+v", p)
	}
	if _, a := two.export(""); a.body != first.body {
		t.Errorf("the export of the copy differs:\n%s\nwant\n%s", a.body, first.body)
	}
	if a, b := one.wholeTools("shop"), two.wholeTools("shop"); a != b {
		t.Errorf("the tools of the copy differ:\n%s\nwant\n%s", b, a)
	}
	copied := want[binding.ToolsetPlugins](two, two.do("GET", "/v1/toolsets/shop/plugins", nil), http.StatusOK)
	for i := range copied.Bindings { // the original is not live
		copied.Bindings[i].Live = ""
	}
	if !reflect.DeepEqual(copied.Bindings, bound.Bindings) {
		t.Errorf("bound %+v\nwant %+v", copied.Bindings, bound.Bindings)
	}
	if a := want[credential.Authentication](two, two.do("GET", "/v1/toolsets/shop/connectors/notes/authentication", nil), http.StatusOK); !a.PerUser || a.Resource != "https://mcp.example.com/mcp" {
		t.Errorf("authentication %+v", a)
	}
	if row, err := two.credential(two.get("shop").ID, "pet-store"); err != nil {
		t.Fatal(err)
	} else if value, _, err := two.secret(t.Context(), row.ID); err != nil || value.Reveal() != upstreamKey {
		t.Errorf("the secret is another (%v)", err)
	}
	for _, again := range []any{full, doc} {
		if p := two.importing("", again); p.Changes != 0 {
			t.Errorf("again: %+v", p)
		}
	}

	// Drift in each of them, one more and one less, in another order; what is mended
	// keeps its secret.
	two.renameTool(two.get("shop").ID, "look", "drifted")
	want[view.Toolset](two, two.send("DELETE", "/v1/toolsets/shop/connectors/pets-eu", nil, "/v1/toolsets/shop"), http.StatusOK)
	two.addTo(two.get("shop").ID, http.StatusCreated, two.petsBody("other"))
	p := two.importing("?dryRun=true", doc).Toolsets[0]
	var pointers []string
	for _, c := range p.Changes {
		pointers = append(pointers, c.Pointer)
	}
	if p.Action != "update" || !slices.Contains(pointers, "/connectors/2") || len(p.Missing) != 0 || slices.ContainsFunc(pointers, func(at string) bool {
		return strings.HasPrefix(at, "/connectors/0") || strings.HasPrefix(at, "/connectors/1")
	}) {
		t.Errorf("drift: %+v", p)
	}
	two.importing("", doc)
	if _, a := two.export(""); a.body != first.body {
		t.Errorf("after mending the export differs:\n%s", a.body)
	}
	if a, b := one.wholeTools("shop"), two.wholeTools("shop"); a != b {
		t.Errorf("after mending the tools differ:\n%s\nwant\n%s", b, a)
	}

	// The short form on a toolset that has several leaves the one of that source.
	short := want[declare.Declaration](one, one.do("GET", "/v1/export?toolset=shop", nil), http.StatusOK)
	c := short.Toolsets[0].Connectors[0]
	short.Toolsets[0].Connectors, short.Toolsets[0].Source, short.Toolsets[0].BaseURL, short.Toolsets[0].Authentication = nil, &c.Source, c.BaseURL, c.Authentication
	short.Toolsets[0].Tools, short.Toolsets[0].Plugins, short.Toolsets[0].Selection = nil, nil, nil
	if p := two.importing("", short).Toolsets[0]; p.Action != "update" || len(p.Missing) != 0 {
		t.Errorf("shortened: %+v", p)
	}
	if got := two.get("shop").Connectors; len(got) != 1 || got[0].Name != "pet-store" || got[0].Authentication == nil {
		t.Errorf("left %+v", got)
	}
	if p := two.importing("", short); p.Toolsets[0].Action != "none" {
		t.Errorf("again: %+v", p)
	}

	// What is wrong is said with its place.
	for _, f := range []struct {
		change  func(d *declare.DeclaredToolset)
		pointer string
	}{
		{func(d *declare.DeclaredToolset) { d.Source = &d.Connectors[0].Source }, "#/toolsets/0/source"},
		{func(d *declare.DeclaredToolset) { d.Connectors = nil }, "#/toolsets/0/source"},
		{func(d *declare.DeclaredToolset) { d.BaseURL = "https://api.example" }, "#/toolsets/0/baseUrl"},
		{func(d *declare.DeclaredToolset) { d.Connectors[1].Name = "pet-store" }, "#/toolsets/0/connectors/1/name"},
		{func(d *declare.DeclaredToolset) { d.Connectors[2].BaseURL = "ftp://x" }, "#/toolsets/0/connectors/2/baseUrl"},
		{func(d *declare.DeclaredToolset) { d.Connectors[2].Source.Digest = "sha256:1" }, "#/toolsets/0/connectors/2/source/digest"},
		{func(d *declare.DeclaredToolset) { d.Connectors[1].Source.Document = "{" }, "#/toolsets/0/connectors/1/source"},
		{func(d *declare.DeclaredToolset) { d.Connectors[0].Authentication[0].HeaderName = "Host" }, "#/toolsets/0/connectors/0/authentication"},
		{func(d *declare.DeclaredToolset) { d.Tools[0].Connector = "none" }, "#/toolsets/0/tools/0/connector"},
		{func(d *declare.DeclaredToolset) { d.Plugins[1].Connector = "none" }, "#/toolsets/0/plugins/1/connector"},
		{func(d *declare.DeclaredToolset) { d.Plugins[2].Calls["more"] = d.Plugins[2].Calls["get_issue"] }, "#/toolsets/0/plugins/2/calls"},
		{func(d *declare.DeclaredToolset) { d.Selection.Tools[0].Connector = "none" }, "#/toolsets/0/selection/tools/0"},
		{func(d *declare.DeclaredToolset) { d.Tools = nil }, "#/toolsets/0/tools"}, // without the edits two tools have one name
	} {
		wrong := want[declare.Declaration](one, one.do("GET", "/v1/export?toolset=shop", nil), http.StatusOK)
		f.change(&wrong.Toolsets[0])
		if a := two.do("POST", "/v1/import?dryRun=true", wrong); a.StatusCode < 400 || a.StatusCode >= 500 || !strings.Contains(a.body, f.pointer) {
			t.Errorf("%d %s; want %s", a.StatusCode, a.body, f.pointer)
		}
	}
}

// Specifications with overlays and in several files, and MCP servers, come out as they
// went in.
func TestRoundTripOfSources(t *testing.T) {
	one := newWorld(t)
	one.shop("overlay: 1.0.0\ninfo: {title: o, version: '1'}\nactions:\n  - target: $.info\n    update: {title: Shop of overlays}\n")
	files := map[string]any{"name": "Files", "baseUrl": one.upstream.URL, "deploy": map[string]any{"skip": true}, "source": map[string]any{"openapi": map[string]any{
		"fileName": "files.zip", "main": "api/main.yaml", "files": map[string]any{
			"api/main.yaml":  "openapi: 3.1.0\ninfo: {title: Files, version: '1'}\nservers: [{url: https://api.example}]\npaths:\n  /a:\n    get:\n      operationId: a\n      parameters: [{$ref: '../parts/p.yaml#/p'}]\n      responses: {'200': {description: ok}}\n",
			"parts/p.yaml":   "p: {name: q, in: query, schema: {type: string}}\n",
			"parts/idle.txt": "not used",
		},
	}}}
	want[change.CreatedToolset](one, one.do("POST", "/v1/toolsets", files), http.StatusCreated)
	one.servers.set(nil, "search=Find notes", "read")
	one.addServer(map[string]any{"name": "Server", "deploy": map[string]any{"skip": true}})
	doc, first := one.export("")
	if len(doc.Toolsets) != 3 {
		t.Fatalf("%d toolsets", len(doc.Toolsets))
	}
	two := newWorld(t)
	if p := two.importing("", doc); p.Changes != 3 {
		t.Errorf("%+v", p)
	}
	if _, a := two.export(""); a.body != first.body {
		t.Errorf("the copy differs:\n%s\nwant\n%s", a.body, first.body)
	}
	for i := range doc.Toolsets {
		a, b := one.get(doc.Toolsets[i].Slug), two.get(doc.Toolsets[i].Slug)
		if a.Connector.Digest != b.Connector.Digest || a.ToolCount != b.ToolCount {
			t.Errorf("%s is another connector: %s, %s", a.Slug, a.Connector.Digest, b.Connector.Digest)
		}
	}
	if p := two.importing("", doc); p.Changes != 0 {
		t.Errorf("again: %+v", p)
	}
}

// A plan, and what an import made, warn of plugins that let through what they were to
// take out, as binding them does.
func TestImportWarnsOfBindings(t *testing.T) {
	w := newWorld(t)
	k := newPublisher(t)
	w.trust(k, "Ada")
	w.publishMask(k, "1.0.0")
	ts := w.create("Pets", "pets.yaml")
	f := func(onError string, warned bool) {
		t.Helper()
		bindings := []map[string]any{{"plugin": "mask", "version": "1"}, {"plugin": "mask"}}
		if onError != "" {
			bindings[1]["onError"] = onError
		}
		want[binding.ToolsetPlugins](w, w.bind(ts.ID, bindings...), 200)
		doc, _ := w.export("")
		want[binding.ToolsetPlugins](w, w.bind(ts.ID), 200) // the document changes something
		for _, query := range []string{"?dryRun=true", ""} {
			got := w.importing(query, doc).Toolsets[0]
			if !warned {
				if len(got.Warnings) != 0 {
					t.Errorf("onError %q, import%s: %+v", onError, query, got.Warnings)
				}
				continue
			}
			if len(got.Warnings) != 1 || got.Warnings[0].Pointer != "/plugins/1/onError" || got.Warnings[0].Plugin != "mask" || !strings.Contains(got.Warnings[0].Detail, "reaches agents") {
				t.Errorf("onError %q, import%s: %+v", onError, query, got.Warnings)
			}
		}
	}
	f("pass", true)
	f("fail", false)
	f("", false) // a plugin that redacts fails closed
}
