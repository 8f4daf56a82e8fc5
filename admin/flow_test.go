package admin_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/toolset"
)

func TestCreateTestsAndDeploys(t *testing.T) {
	w := newWorld(t)
	a := w.do("POST", "/v1/toolsets", w.createBody("My Pets", "pets.yaml"))
	ts := want[change.CreatedToolset](w, a, http.StatusCreated)
	if a.Header.Get("Location") != "/v1/toolsets/"+ts.ID || a.Header.Get("ETag") == "" {
		t.Errorf("headers %v", a.Header)
	}
	if !ts.Created || ts.Slug != "my-pets" || ts.Status != "live" || ts.Revision != 1 || ts.URL != "http://127.0.0.1:7300/t/my-pets" ||
		ts.ToolCount != 4 || ts.EnabledTools != 4 || len(ts.Tools) != 4 || ts.Operations != 4 || ts.Changed || ts.LiveDigest != ts.Digest {
		t.Errorf("created %+v", ts)
	}
	if ts.Test == nil || !ts.Test.Passed || ts.Test.Tool != ts.Tools[0].Name || ts.Test.UpstreamStatus != 200 || !strings.Contains(ts.Test.Answer, "Rex") {
		t.Errorf("test %+v", ts.Test)
	}
	if m := ts.Methods; len(m) != 2 || m[0].Suggestion == nil || !reflect.DeepEqual(*m[0].Suggestion, credential.Suggest{AuthType: "header", HeaderName: "X-Api-Key"}) || m[0].Operations != 3 {
		t.Errorf("methods %+v", m)
	}
	if tool := ts.Tools[0]; tool.Description == "" || tool.Tokens == 0 || tool.Operation != (toolset.Operation{Connector: "pet-store", Method: "GET", Path: "/pets"}) || !tool.Annotations.ReadOnly {
		t.Errorf("tool %+v", tool)
	}
	if got := w.live(); !reflect.DeepEqual(got, []string{"my-pets"}) {
		t.Errorf("live %v", got)
	}
	if got := w.audits(); !reflect.DeepEqual(got, []string{"token.create", "toolset.create", "toolset.test", "toolset.deploy"}) {
		t.Errorf("audit %v", got)
	}
	// The stored test holds no answer: it may be personal data.
	if again := w.get(ts.ID); again.Test == nil || again.Test.Answer != "" || again.Test.Arguments != nil || again.Test.ID != ts.Test.ID {
		t.Errorf("stored test %+v", again.Test)
	}
	if bySlug := w.get("my-pets"); bySlug.ID != ts.ID {
		t.Errorf("by slug: %s", bySlug.ID)
	}
}

func TestRefreshKeepsEdits(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	w.renameTool(ts.ID, ts.Tools[0].Name, "all_pets")
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey})
	body := w.createBody("Pets", "pets.yaml")
	source, _ := body["source"].(map[string]any)
	openapi, _ := source["openapi"].(map[string]any)
	openapi["document"] = strings.Replace(fixture(t, "pets.yaml"), "version: 1.2.3", "version: 1.3.0", 1)
	again := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), http.StatusOK)
	if again.Created || again.ID != ts.ID || again.Tools[0].Name != "all_pets" || again.Source.Version != "1.3.0" || again.Authentication == nil ||
		again.Revision < 2 || again.Status != "live" || again.Changed {
		t.Errorf("refreshed %+v", again)
	}
	if got := again.Connector.Version; got != "1.3.0" || again.Connector.Digest == ts.Connector.Digest {
		t.Errorf("connector %+v", again.Connector)
	}
	versions := want[admin.List[view.ConnectorRef]](w, w.do("GET", "/v1/connectors/"+again.Connector.Name+"/versions", nil), 200)
	if len(versions.Items) != 2 {
		t.Errorf("versions %+v", versions)
	}
	// Same slug, another source.
	conflict := w.createBody("Pets", "locked.yaml")
	p := want[front.Problem](w, w.do("POST", "/v1/toolsets", conflict), http.StatusConflict)
	if p.Code != "conflict" || p.Remedy == "" {
		t.Errorf("problem %+v", p)
	}
	w.fetcher.put("https://api.example/openapi.yaml", fixture(t, "pets.yaml"))
	conflict["source"] = map[string]any{"openapi": map[string]any{"url": "https://api.example/openapi.yaml"}}
	want[front.Problem](w, w.do("POST", "/v1/toolsets", conflict), http.StatusConflict)
	// The same specification bytes under another name make another toolset.
	if other := w.create("Other", "pets.yaml"); other.ID == ts.ID || other.Connector.Digest != ts.Connector.Digest {
		t.Errorf("other %+v", other.Connector)
	}
	// By URL: the same URL refreshes.
	url := w.createBody("By URL", "pets.yaml")
	url["source"] = conflict["source"]
	first := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", url), http.StatusCreated)
	second := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", url), http.StatusOK)
	if first.ID != second.ID || second.Revision != first.Revision || second.Source.URL != "https://api.example/openapi.yaml" {
		t.Errorf("by URL: %s %d, %s %d", first.ID, first.Revision, second.ID, second.Revision)
	}
}

func (w *world) renameTool(id, tool, name string) {
	w.t.Helper()
	got := want[toolset.Tool](w, w.do("PATCH", "/v1/toolsets/"+id+"/tools/"+tool, map[string]any{"name": name}), 200)
	if got.Name != name {
		w.t.Fatalf("renamed %+v", got)
	}
}

func (w *world) putAuth(id string, body map[string]any) credential.Authentication {
	w.t.Helper()
	return want[credential.Authentication](w, w.do("PUT", "/v1/toolsets/"+id+"/authentication", body), 200)
}

func TestToolsWithoutKeyStayDraft(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Locked", "locked.yaml")
	if ts.Status != "draft" || ts.Test == nil || ts.Test.Possible || !strings.Contains(ts.Test.Reason, "authentication") || len(w.live()) != 0 {
		t.Fatalf("created %+v", ts.Test)
	}
	path := "/v1/toolsets/" + ts.ID
	if p := want[front.Problem](w, w.do("POST", path+"/test", nil), 422); p.Code != "test_failed" || !strings.Contains(p.Detail, "authentication") {
		t.Errorf("test: %+v", p)
	}
	if p := want[front.Problem](w, w.do("POST", path+"/deploy", nil), 422); p.Code != "test_failed" || p.Remedy == "" {
		t.Errorf("deploy without reason: %+v", p)
	}
	got := want[view.Toolset](w, w.do("POST", path+"/deploy", map[string]any{"reason": "the key comes tomorrow"}), 200)
	if got.Status != "live" || got.Revision != 1 || len(w.live()) != 1 {
		t.Errorf("deployed %+v", got)
	}
	list := want[admin.List[audit.AuditRecord]](w, w.do("GET", "/v1/audit?limit=1", nil), 200)
	if r := list.Items[0]; r.Action != "toolset.deploy" || r.Reason != "the key comes tomorrow" || r.Actor.Type != "token" || r.RequestID == "" {
		t.Errorf("audit %+v", r)
	}
	// A wrong key fails, the right one passes and deploys.
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": "wrong-key-000000"})
	run := want[admin.TestAnswer](w, w.do("POST", path+"/test", nil), 200)
	if run.Passed || run.Deployed || run.UpstreamStatus != 401 || !strings.Contains(run.Reason, "X-Api-Key: ••••0000") {
		t.Errorf("wrong key: %+v", run.TestRun)
	}
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey})
	run = want[admin.TestAnswer](w, w.do("POST", path+"/test", nil), 200)
	if !run.Passed || !run.Deployed || run.Toolset.Revision != 2 || run.CredentialVersion != 2 {
		t.Errorf("right key: %+v", run)
	}
	// A new key does not undo publication: the digest is the same.
	w.putAuth(ts.ID, map[string]any{"authType": "header", "apiKey": upstreamKey, "headerName": "X-Api-Key"})
	if d := w.get(ts.ID); d.Changed || d.Status != "live" || d.Authentication.Version != 3 {
		t.Errorf("after a new key: %+v", d.Toolset)
	}
	revs := want[admin.List[view.Revision]](w, w.do("GET", path+"/revisions", nil), 200)
	all := want[admin.List[view.Published]](w, w.do("GET", "/v1/revisions", nil), 200)
	if len(all.Items) != len(revs.Items) || all.Items[0].Slug != "locked" || all.Items[0].Revision != revs.Items[0] {
		t.Errorf("revisions of all toolsets are %+v; want those of the only one, %+v", all.Items, revs.Items)
	}
	if len(revs.Items) != 2 || !revs.Items[0].Live || revs.Items[0].TestRunID == "" || revs.Items[1].Reason == "" || revs.Items[1].Live {
		t.Errorf("revisions %+v", revs)
	}
}

func TestRunDeploysUntestedWithAReason(t *testing.T) {
	w := newWorld(t)
	body := w.createBody("Locked", "locked.yaml")
	body["deploy"] = map[string]any{"untestedReason": "named on run"}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	if ts.Status != "live" || ts.Test.Possible {
		t.Fatalf("created %+v", ts)
	}
	// A reason is no way around a test that did not pass.
	body = w.createBody("Down", "pets.yaml")
	body["baseUrl"] = w.upstream.URL + "/down"
	body["deploy"] = map[string]any{"untestedReason": "named on run"}
	ts = want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	if ts.Status != "draft" || ts.Test.Passed || ts.Test.UpstreamStatus != 502 {
		t.Fatalf("created %+v", ts.Test)
	}
	body = w.createBody("Skip", "pets.yaml")
	body["deploy"] = map[string]any{"skip": true}
	if ts = want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201); ts.Status != "draft" || ts.Test != nil {
		t.Fatalf("skipped %+v", ts)
	}
}

func TestWhatATestNeedsToPass(t *testing.T) {
	w := newWorld(t)
	f := func(base, tool string, args map[string]any, passed bool, reason string) {
		t.Helper()
		body := w.createBody("Pets", "pets.yaml")
		body["baseUrl"] = w.upstream.URL + base
		body["test"] = map[string]any{"tool": tool, "arguments": args}
		ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
		if ts.Test.Passed != passed || !strings.Contains(ts.Test.Reason, reason) || (ts.Status == "live") != passed {
			t.Errorf("%s %s: %+v", base, tool, ts.Test)
		}
		w.remove(ts.ID)
	}
	f("", "", nil, true, "")
	f("", "list_pets", map[string]any{"limit": 1}, true, "")
	f("", "get_pet", nil, false, "status 401; no credential was sent")
	f("/down", "", nil, false, "status 502")
	f("/empty", "", nil, false, "empty")
	p := want[front.Problem](w, w.do("POST", "/v1/toolsets", func() any {
		b := w.createBody("Pets", "pets.yaml")
		b["test"] = map[string]any{"tool": "no_such"}
		return b
	}()), 404)
	if !strings.Contains(p.Detail, "no_such") {
		t.Errorf("unknown tool: %+v", p)
	}
}

func (w *world) remove(id string) {
	w.t.Helper()
	want[struct{}](w, w.do("DELETE", "/v1/toolsets/"+id, nil, "If-Match", "*"), http.StatusNoContent)
}

func TestTools(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID
	tool := want[toolset.Tool](w, w.do("PATCH", path+"/tools/list_pets", map[string]any{"name": "all_pets", "description": "All of them."}), 200)
	if tool.Name != "all_pets" || tool.OriginalName != "list_pets" || tool.Description != "All of them." || !strings.Contains(string(tool.InputSchema), "limit") {
		t.Errorf("patched %+v", tool)
	}
	d := w.get(ts.ID)
	if !d.Changed || d.Digest == ts.Digest || d.LiveDigest != ts.Digest || d.Status != "live" || d.Test != nil {
		t.Errorf("after an edit %+v", d.Toolset)
	}
	want[front.Problem](w, w.do("GET", path+"/tools/list_pets", nil), 404)
	f := func(path string, body map[string]any, status int, contains string) {
		t.Helper()
		a := w.do("PATCH", path, body)
		if a.StatusCode != status || !strings.Contains(a.body, contains) {
			t.Errorf("PATCH %s %v: %d %s; want %d %s", path, body, a.StatusCode, a.body, status, contains)
		}
	}
	f(path+"/tools/get_pet", map[string]any{"name": "All_Pets"}, 409, "two tools would be named")
	f(path+"/tools/get_pet", map[string]any{"name": "no spaces"}, 400, `"pointer":"#/updates/0/name"`)
	f(path+"/tools/get_pet", map[string]any{"name": strings.Repeat("x", 65)}, 422, "name")
	f(path+"/tools/get_pet", map[string]any{"label": "x"}, 422, "body.label")
	f(path+"/tools/no_such", map[string]any{"name": "x"}, 404, "no_such")
	if after := w.get(ts.ID); after.Digest != d.Digest {
		t.Error("a refused edit changed the draft")
	}
	batch := want[view.Toolset](w, w.do("POST", path+"/tools/batch-update", map[string]any{
		"enable": []string{"*pet*", "!delete_*"}, "updates": []any{map[string]any{"tool": "create_pet", "enabled": false}},
	}), 200)
	if batch.EnabledTools != 2 {
		t.Errorf("batch %+v", batch)
	}
	for _, bad := range []map[string]any{
		{"enable": []string{"nothing_*"}},
		{"enable": []string{"[", "*"}},
		{"enable": []string{"*", "!*"}},
		{"updates": []any{map[string]any{"tool": "get_pet", "title": "kept?"}, map[string]any{"tool": "no_such"}}},
		{"updates": []any{map[string]any{"tool": "all_pets", "enabled": false}, map[string]any{"tool": "get_pet", "enabled": false}}},
	} {
		if a := w.do("POST", path+"/tools/batch-update", bad); a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusNotFound {
			t.Errorf("batch %v: %d %s", bad, a.StatusCode, a.body)
		}
	}
	if tool := want[toolset.Tool](w, w.do("GET", path+"/tools/get_pet", nil), 200); tool.Title == "kept?" {
		t.Error("half of a refused batch was kept")
	}
	restored := want[toolset.Tool](w, w.do("PATCH", path+"/tools/all_pets", map[string]any{"name": "", "description": ""}), 200)
	if restored.Name != "list_pets" || restored.Description == "All of them." {
		t.Errorf("restored %+v", restored)
	}
	all := want[view.Toolset](w, w.do("POST", path+"/tools/batch-update", map[string]any{"enable": []string{"*"}}), 200)
	if all.Digest != ts.Digest || all.Changed {
		t.Error("an undone edit does not give the first digest")
	}
	var names []string
	for next := path + "/tools?limit=3"; next != ""; {
		a := w.do("GET", next, nil)
		l := want[admin.List[toolset.Tool]](w, a, 200)
		for _, tool := range l.Items {
			names = append(names, tool.Name)
			if tool.InputSchema != nil {
				t.Error("schemas that were not asked for")
			}
		}
		next = ""
		if l.NextCursor != "" {
			next = strings.TrimSuffix(strings.TrimPrefix(a.Header.Get("Link"), "<"), `>; rel="next"`)
		}
	}
	if !reflect.DeepEqual(names, []string{"list_pets", "create_pet", "get_pet", "delete_pet"}) {
		t.Errorf("listed %v", names)
	}
	// At creation.
	body := w.createBody("Some", "pets.yaml")
	body["tools"] = []string{"list_*", "get_pet"}
	if some := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201); some.EnabledTools != 2 {
		t.Errorf("created with %d tools", some.EnabledTools)
	}
	body["name"], body["tools"] = "None", []string{"nothing"}
	want[front.Problem](w, w.do("POST", "/v1/toolsets", body), 400)
	want[front.Problem](w, w.do("GET", "/v1/toolsets/none", nil), 404)
}

func TestAuthentication(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID + "/authentication"
	if a := want[credential.Authentication](w, w.do("GET", path, nil), 200); a.AuthType != "none" {
		t.Errorf("nothing set: %+v", a)
	}
	f := func(body map[string]any, status int, contains ...string) {
		t.Helper()
		a := w.do("PUT", path, body)
		for _, c := range contains {
			if a.StatusCode != status || !strings.Contains(a.body, c) {
				t.Errorf("PUT %v: %d %s; want %d %s", body, a.StatusCode, a.body, status, c)
			}
		}
	}
	f(map[string]any{"authType": "header", "headerName": "X-Api-Key", "headerPrefix": "Key ", "apiKey": upstreamKey}, 200,
		`"preview":"X-Api-Key: Key ••••9f3c"`, `"apiKeyLast4":"9f3c"`, `"version":1`)
	f(map[string]any{"authType": "header", "headerName": "X-Other", "headerPrefix": ""}, 200, `"X-Other: ••••9f3c"`, `"version":1`)
	f(map[string]any{"authType": "bearer", "token": upstreamKey}, 200, `"Authorization: Bearer ••••9f3c"`)
	f(map[string]any{"authType": "basic", "username": "me", "password": upstreamKey}, 200, `"Authorization: Basic ••••"`, `"username":"me"`)
	f(map[string]any{"authType": "header", "headerName": "X", "headerPrefix": ""}, 400, `"#/apiKey"`) // another type: the secret must come anew
	f(map[string]any{"authType": "header", "headerName": "Host", "apiKey": "k"}, 400, "set by the gateway")
	f(map[string]any{"authType": "header", "headerName": "a b", "apiKey": "k\nk"}, 400, `"#/headerName"`, `"#/apiKey"`)
	f(map[string]any{"authType": "bearer", "headerName": "X", "token": "t"}, 400, `"#/headerName"`)
	f(map[string]any{"authType": "digest"}, 422, "body.authType")
	f(map[string]any{"authType": "header", "headerName": "X", "apiKey": "[redacted]"}, 422, "redaction mark")
	run := want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/test", map[string]any{"tool": "get_pet"}), 200)
	if !run.Passed || run.Tool != "get_pet" || string(run.Arguments) != `{"id":7}` {
		t.Errorf("basic: %+v", run.TestRun)
	}
	want[struct{}](w, w.do("DELETE", path, nil), 204)
	if a := want[credential.Authentication](w, w.do("GET", path, nil), 200); a.AuthType != "none" {
		t.Errorf("after delete: %+v", a)
	}
	if a := want[credential.Authentication](w, w.do("PUT", path, map[string]any{"authType": "none"}), 200); a.AuthType != "none" {
		t.Errorf("none: %+v", a)
	}
	// At creation, in one step.
	body := w.createBody("With key", "locked.yaml")
	body["authentication"] = map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey}
	if ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201); ts.Status != "live" || ts.Authentication.Last4 != "9f3c" {
		t.Errorf("created %+v", ts)
	}
}

func TestPatchAndDelete(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	path := "/v1/toolsets/" + ts.ID
	tag := w.do("GET", path, nil).Header.Get("ETag")
	f := func(body map[string]any, match string, status int, contains string) answer {
		t.Helper()
		a := w.do("PATCH", path, body, "If-Match", match)
		if a.StatusCode != status || !strings.Contains(a.body, contains) {
			t.Errorf("PATCH %v If-Match %s: %d %s; want %d %s", body, match, a.StatusCode, a.body, status, contains)
		}
		return a
	}
	f(map[string]any{"name": "X"}, "", 428, tag[1:len(tag)-1])
	if a := f(map[string]any{"name": "X"}, `"v0"`, 412, "changed meanwhile"); a.Header.Get("ETag") != tag {
		t.Errorf("a 412 has ETag %q, want %q", a.Header.Get("ETag"), tag)
	}
	f(map[string]any{"name": "X"}, "W/"+tag, 412, "")
	a := f(map[string]any{"name": "X", "cache": map[string]any{"ttlSeconds": 30}, "profile": "concise"}, `"v0", `+tag, 200, `"name":"X"`)
	f(map[string]any{"name": "Y"}, tag, 412, "")
	tag = a.Header.Get("ETag")
	if d := w.get(ts.ID); d.Cache.TTLSeconds != 30 || d.Profile != "concise" || d.Status != "live" || !d.Changed {
		t.Errorf("patched %+v", d.Toolset)
	}
	if a := f(map[string]any{"name": "X"}, tag, 200, `"name":"X"`); a.Header.Get("ETag") != tag {
		t.Error("a change that changes nothing raised the version")
	}
	f(map[string]any{"baseUrl": "https://user:hunter2secret@api.example"}, tag, 400, "credentials")
	f(map[string]any{"profile": "tiny"}, tag, 422, "body.profile")
	f(map[string]any{"slug": "other"}, tag, 422, "body.slug")
	f(map[string]any{"cache": map[string]any{"ttlSeconds": 86401}}, tag, 422, "")
	f(map[string]any{"cache": map[string]any{"ttlSeconds": 0}, "name": "", "profile": "lossless"}, tag, 200, `"name":"Pet Store"`)
	if a := w.do("GET", path, nil, "If-None-Match", w.do("GET", path, nil).Header.Get("ETag")); a.StatusCode != http.StatusNotModified || a.body != "" || a.Header.Get("ETag") == "" {
		t.Errorf("unchanged: %d %q %v", a.StatusCode, a.body, a.Header)
	}
	want[front.Problem](w, w.do("DELETE", path, nil), 428)
	want[front.Problem](w, w.do("DELETE", path, nil, "If-Match", tag), 412)
	w.remove(ts.ID)
	want[front.Problem](w, w.do("GET", path, nil), 404)
	want[front.Problem](w, w.do("DELETE", path, nil, "If-Match", "*"), 404)
	if len(w.live()) != 0 {
		t.Errorf("live after delete: %v", w.live())
	}
	if again := w.create("Pets", "pets.yaml"); again.ID == ts.ID || again.Revision != 1 {
		t.Errorf("created again: %+v", again.Toolset)
	}
}
