package admin_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/secrets"
)

// operations lists every operation of the API, out of its own document.
func (w *world) operations() (out [][2]string) {
	w.t.Helper()
	b, err := w.srv.OpenAPI()
	if err != nil {
		w.t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		w.t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for m := range methods {
			if m = strings.ToUpper(m); slices.Contains([]string{"GET", "PUT", "POST", "PATCH", "DELETE"}, m) {
				out = append(out, [2]string{m, path})
			}
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) })
	if len(out) < 30 {
		w.t.Fatalf("only %d operations", len(out))
	}
	return out
}

// at is a path whose parameters are all id.
func at(pattern, id string) string {
	for strings.Contains(pattern, "{") {
		a, b := strings.Index(pattern, "{"), strings.Index(pattern, "}")
		pattern = pattern[:a] + id + pattern[b+1:]
	}
	return pattern
}

// personal are the operations that everybody may use, for their own sessions, and what they
// answer to an API token, which has none. Opening one is for who has no role yet.
var personal = map[string]int{
	"POST /v1/session": http.StatusForbidden, "GET /v1/session": http.StatusUnauthorized, "DELETE /v1/session": http.StatusUnauthorized,
	"PUT /v1/session/password": http.StatusUnprocessableEntity, "DELETE /v1/sessions/{id}": http.StatusNotFound, "POST /v1/login-link": http.StatusCreated,
	"POST /v1/passkeys": http.StatusUnprocessableEntity, "POST /v1/passkeys/challenge": http.StatusUnauthorized,
	"PATCH /v1/passkeys/{id}": http.StatusUnprocessableEntity, "DELETE /v1/passkeys/{id}": http.StatusUnauthorized,
}

func bearer(t secrets.Secret) []string { return []string{"Authorization", "Bearer " + t.Reveal()} }

// Every operation, with the identifiers of another workspace, without a token,
// with one that is not known, with that of an edge and with a role that is too
// low: nothing of the workspace is read, changed or named.
func TestIsolation(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Secret Pets", "pets.yaml")
	edge := w.enrolEdge(`{"labels":{"region":"eu"}}`)
	join := want[fleet.JoinToken](w, w.do("POST", "/v1/edges/join-tokens", `{"name":"secret join"}`), http.StatusCreated)
	member := want[people.Member](w, w.do("POST", "/v1/members", `{"email":"secret@example.com","role":"editor"}`), http.StatusCreated)
	mine := want[admin.List[people.APIToken]](w, w.do("GET", "/v1/tokens", nil), http.StatusOK).Items
	stranger, viewer := w.withRole("other", "admin"), w.withRole("default", "viewer")
	// What belongs to the workspace, and what of it must never appear.
	owned := []string{ts.ID, ts.Slug, edge.id.Edge, join.ID, mine[0].ID, member.ID, member.Email}
	names := append([]string{"Secret Pets", "secret join", w.upstream.URL}, owned...)
	snapshot := func() string {
		t.Helper()
		var b strings.Builder
		for _, path := range []string{"/v1/toolsets", "/v1/toolsets/" + ts.ID + "/tools", "/v1/edges", "/v1/edges/join-tokens", "/v1/connectors", "/v1/members", "/v1/tokens"} {
			b.WriteString(w.do("GET", path, nil).body)
		}
		return b.String()
	}
	before := snapshot()
	body := func(method string) any {
		if method == http.MethodGet || method == http.MethodDelete {
			return nil
		}
		return `{}`
	}
	// said is what another workspace is answered to an id, without what is of one request.
	said := func(method, pattern, id string) string {
		t.Helper()
		path := at(pattern, id)
		a := w.do(method, path, body(method), append(bearer(stranger), "If-Match", "*")...)
		var p map[string]any
		if json.Unmarshal([]byte(a.body), &p) == nil {
			delete(p, "instance")
			b, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			a.body = string(b)
		}
		return a.Status + " " + strings.ReplaceAll(a.body, id, "ID")
	}
	tried := 0
	for _, op := range w.operations() {
		method, pattern := op[0], op[1]
		paths := []string{pattern}
		if strings.Contains(pattern, "{") {
			for _, id := range owned { // what is not theirs is as what is not there
				absent := strings.Map(func(r rune) rune {
					switch {
					case r >= '0' && r <= '8', r >= 'a' && r <= 'y':
						return r + 1
					}
					return r
				}, id)
				if strings.Contains(id, "_") {
					absent = id[:len(id)-1] + map[bool]string{true: "1", false: "0"}[strings.HasSuffix(id, "0")]
				}
				if theirs, none := said(method, pattern, id), said(method, pattern, absent); theirs != none {
					t.Errorf("another workspace tells %s of the workspace from none: %s %s:\n%s\n%s", id, method, pattern, theirs, none)
				}
			}
			paths = nil
			for _, id := range append(owned, "..%2f"+ts.ID, ts.ID+"%00", "%2e%2e", "*", "ts_%25", strings.Repeat("x", 64)) {
				paths = append(paths, at(pattern, id))
			}
		}
		for _, path := range paths {
			tried++
			f := func(who string, headers []string, statuses ...int) {
				t.Helper()
				a := w.do(method, path, body(method), append(headers, "If-Match", "*")...)
				if !slices.Contains(statuses, a.StatusCode) {
					t.Errorf("%s: %s %s: %d %.200s; want one of %v", who, method, path, a.StatusCode, a.body, statuses)
				}
				for _, n := range names {
					// A problem may repeat what the request itself said.
					if strings.Contains(a.body, n) && !strings.Contains(path, n) {
						t.Errorf("%s: %s %s names %s", who, method, path, n)
					}
				}
			}
			if method == http.MethodPost && (pattern == "/v1/session" || pattern == "/v1/session/passkey") {
				f("a page of nobody", []string{"Authorization", ""}, http.StatusForbidden)
				continue
			}
			if method+" "+pattern == "GET /v1/sign-in" { // says how people sign in, to those who have not yet
				f("nobody", []string{"Authorization", ""}, http.StatusOK)
				continue
			}
			f("nobody", []string{"Authorization", ""}, http.StatusUnauthorized)
			f("an unknown token", bearer(access.NewToken()), http.StatusUnauthorized)
			f("an edge", []string{"Authorization", "Bearer " + edge.id.Token.Reveal()}, http.StatusUnauthorized)
			if strings.Contains(pattern, "{") {
				f("another workspace", bearer(stranger), http.StatusNotFound, http.StatusForbidden, http.StatusUnprocessableEntity,
					http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusMethodNotAllowed)
			} else if method == http.MethodGet {
				f("another workspace", bearer(stranger), http.StatusOK, http.StatusForbidden, http.StatusBadRequest, http.StatusUnprocessableEntity, cmp.Or(personal[method+" "+pattern], http.StatusOK))
			}
			if pattern == "/v1/connector-requests" && method == http.MethodPost {
				f("a viewer, who may", bearer(viewer), http.StatusUnprocessableEntity)
			} else if own := personal[method+" "+pattern]; own != 0 {
				f("a viewer", bearer(viewer), own, http.StatusNotFound)
			} else if method != http.MethodGet {
				// A path that is not a path is refused before it is known whose it would be.
				f("a viewer", bearer(viewer), http.StatusForbidden, http.StatusNotFound)
			}
		}
	}
	if after := snapshot(); after != before {
		t.Errorf("something changed:\n%s\nwas\n%s", after, before)
	}
	t.Logf("%d paths", tried)
}

// Every operation refuses each role below the one that its document names, whatever is
// asked for, and before it looks at it.
func TestEveryOperationNeedsItsRole(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	b, err := w.srv.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			ID   string `json:"operationId"`
			Role string `json:"x-sluice-role"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	roles := []string{"viewer", "editor", "publisher", "admin"}
	tokens := map[string]secrets.Secret{}
	for _, r := range roles {
		tokens[r] = w.withRole("default", r)
	}
	refused := map[string]int{}
	for _, op := range w.operations() {
		method, path := op[0], op[1]
		o := doc.Paths[path][strings.ToLower(method)]
		need := slices.Index(roles, o.Role)
		if o.ID == "sign-in" || o.ID == "list-sign-in-ways" || o.ID == "begin-passkey-login" {
			continue
		}
		if need < 0 {
			t.Errorf("%s %s: the document names the role %q", method, path, o.Role)
			continue
		}
		if o.Role == "viewer" && method != http.MethodGet && personal[method+" "+path] == 0 && !strings.HasPrefix(path, "/v1/connector-requests") {
			t.Errorf("%s %s: a viewer may write", method, path)
		}
		at := strings.NewReplacer("{id}", ts.ID, "{name}", "list_pets", "{token}", "act_1", "{version}", "1.0.0", "{n}", "1").Replace(path)
		for _, role := range roles[:need] {
			var body any
			if method != http.MethodGet && method != http.MethodDelete {
				body = `{}`
			}
			a := w.do(method, at, body, append(bearer(tokens[role]), "If-Match", "*")...)
			if a.StatusCode != http.StatusForbidden {
				t.Errorf("%s (%s): a %s got %d %.200s; it needs %s", o.ID, at, role, a.StatusCode, a.body, o.Role)
			}
			refused[role]++
		}
	}
	if refused["viewer"] < 30 || refused["publisher"] < 10 {
		t.Errorf("only these were refused: %v", refused)
	}
}

// Every list has pages, and every update can be made conditional on the version that was
// read: what is not is named here, with the reason.
func TestListsAndUpdates(t *testing.T) {
	w := newWorld(t)
	b, err := w.srv.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Ref        string                     `json:"$ref"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var doc struct {
		Paths map[string]map[string]struct {
			ID         string `json:"operationId"`
			Parameters []struct {
				Name string `json:"name"`
			} `json:"parameters"`
			Responses map[string]struct {
				Content map[string]struct {
					Schema schema `json:"schema"`
				} `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	onePage := map[string]string{
		"list-added-tools": "at most five", "list-workflows": "of one toolset, at most 64", "list-scripts": "of one toolset, at most 64 with its workflows",
		"follow-calls": "a stream", "list-keys": "a handful", "list-origins": "one for each connector", "list-toolset-connectors": "bounded by registry.MaxConnectors",
		"get-authentication": "at most 16", "get-connector-authentication": "at most 16", "get-learned": "bounded by the store",
		"get-suggestions": "one for each tool of a toolset", "list-user-logins": "pages by after",
		"list-releases": "one for each group of edges", "list-kept-drafts": "the newest 20",
		"list-catalog":        "read from memory, bounded by the files of a catalog",
		"list-control-planes": "a handful that were seen in the last hour",
		"list-grants":         "a handful: bounded by store.MaxGrants for each toolset",
	}
	unconditional := map[string]string{
		"revoke-join-token": "ends it whatever it was", "revoke-edge": "ends it whatever it was", "revoke-token": "ends it whatever it was",
		"revoke-access-token": "ends it whatever it was", "revoke-user-login": "ends it whatever it was", "end-draft-preview": "ends it whatever it was",
		"revoke-grant": "ends it whatever it was", "vote-connector-request": "adds one vote", "unvote-connector-request": "takes one vote", "drop-kept-draft": "a copy that nobody changes",
		"sign-out": "ends it whatever it was", "revoke-session": "ends it whatever it was", "set-password": "needs the present one instead",
		"remove-passkey": "ends it whatever it was", "remove-member-passkey": "ends it whatever it was",
	}
	lists, updates := 0, 0
	for _, at := range w.operations() {
		op := doc.Paths[at[1]][strings.ToLower(at[0])]
		has := func(name string) bool {
			return slices.ContainsFunc(op.Parameters, func(p struct {
				Name string `json:"name"`
			},
			) bool {
				return p.Name == name
			})
		}
		if at[0] == http.MethodGet {
			ref := op.Responses["200"].Content["application/json"].Schema.Ref
			if _, isList := doc.Components.Schemas[ref[strings.LastIndex(ref, "/")+1:]].Properties["items"]; !isList {
				continue
			}
			lists++
			if paged := has("cursor") && has("limit"); paged == (onePage[op.ID] != "") {
				t.Errorf("%s %s (%s): paged %v", at[0], at[1], op.ID, paged)
			}
		} else if at[0] != http.MethodPost {
			updates++
			if has("If-Match") == (unconditional[op.ID] != "") {
				t.Errorf("%s %s (%s): If-Match %v", at[0], at[1], op.ID, has("If-Match"))
			}
		}
	}
	if lists < 15 || updates < 15 {
		t.Errorf("%d lists and %d updates", lists, updates)
	}
	// In force where they are new.
	ts := w.create("Pets", "pets.yaml")
	for path, body := range map[string]string{"labels": `{"labels":{"a":"b"}}`, "capture": `{"capture":"all"}`, "schedule": `{"everySeconds":0}`} {
		want[front.Problem](w, w.do("PUT", "/v1/toolsets/"+ts.ID+"/"+path, body, "If-Match", `"v77"`), http.StatusPreconditionFailed)
	}
	for _, id := range []string{"acme", "beta", "corp"} {
		want[people.CreatedWorkspace](w, w.do("POST", "/v1/workspaces", map[string]any{"id": id}), http.StatusCreated)
	}
	var ids []string
	for path := "/v1/workspaces?limit=2"; path != ""; {
		page := want[admin.List[people.WorkspaceInfo]](w, w.do("GET", path, nil), http.StatusOK)
		for _, ws := range page.Items {
			ids = append(ids, ws.ID)
		}
		if path = ""; page.NextCursor != "" {
			path = "/v1/workspaces?limit=2&cursor=" + page.NextCursor
		}
	}
	if !slices.Equal(ids, []string{"acme", "beta", "corp", "default"}) {
		t.Errorf("workspaces %v", ids)
	}
}

// Roles: who may do what, with the tokens the API itself makes.
func TestRoles(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	token := func(role string) secrets.Secret {
		t.Helper()
		made := want[people.APIToken](w, w.do("POST", "/v1/tokens", map[string]any{"name": role, "role": role}), http.StatusCreated)
		if made.Role != role || made.Token == "" {
			t.Fatalf("made %+v", made)
		}
		return secrets.New(made.Token)
	}
	viewer, editor, publisher, other := token("viewer"), token("editor"), token("publisher"), token("admin")
	f := func(method, path string, body any, allowed ...secrets.Secret) {
		t.Helper()
		for _, tk := range []secrets.Secret{viewer, editor, publisher, other} {
			ok := slices.ContainsFunc(allowed, tk.Equal)
			a := w.do(method, path, body, append(bearer(tk), "If-Match", "*")...)
			if (a.StatusCode != http.StatusForbidden) != ok {
				t.Errorf("%s %s: %d %.200s; allowed %v", method, path, a.StatusCode, a.body, ok)
			}
		}
	}
	at := "/v1/toolsets/" + ts.ID
	f("GET", at, nil, viewer, editor, publisher, other)
	f("PATCH", at, `{"description":"x"}`, editor, publisher, other)
	f("POST", at+"/test", `{}`, editor, publisher, other)
	f("POST", at+"/rollback", `{}`, editor, publisher, other)
	f("GET", "/v1/audit", nil, other)
	f("GET", "/v1/tokens", nil, other)
	f("POST", "/v1/tokens", `{"name":"x","role":"viewer"}`, other)
	f("POST", "/v1/edges/join-tokens", `{}`, other)
	f("POST", "/v1/registry/collect", nil, other)
	want[front.Problem](w, w.do("POST", "/v1/tokens", `{"name":"x","role":"root"}`), http.StatusUnprocessableEntity)

	// A workspace of its own, whose administrator is not the operator.
	made := want[people.CreatedWorkspace](w, w.do("POST", "/v1/workspaces", `{"id":"acme"}`), http.StatusCreated)
	acme := secrets.New(made.Administrator.Token)
	if me := want[admin.Me](w, w.do("GET", "/v1/me", nil, bearer(acme)...), http.StatusOK); me.Workspace != "acme" || me.Role != "admin" {
		t.Fatalf("is %+v", me)
	}
	for _, op := range [][2]string{{"GET", "/v1/workspaces"}, {"POST", "/v1/registry/collect"}, {"POST", "/v1/keys/rotate"}} {
		if a := w.do(op[0], op[1], nil, bearer(acme)...); a.StatusCode != http.StatusForbidden {
			t.Errorf("%v: %d", op, a.StatusCode)
		}
	}
	want[front.Problem](w, w.do("POST", "/v1/edges/join-tokens", `{"allWorkspaces":true}`, bearer(acme)...), http.StatusForbidden)
	want[front.Problem](w, w.do("POST", "/v1/workspaces", `{"id":"acme"}`), http.StatusConflict)
	want[front.Problem](w, w.do("POST", "/v1/workspaces", `{"id":"releases"}`), http.StatusBadRequest)
	// The last administrator stays, and what was revoked opens nothing.
	last := want[admin.List[people.APIToken]](w, w.do("GET", "/v1/tokens", nil, bearer(acme)...), http.StatusOK).Items[0]
	want[front.Problem](w, w.do("DELETE", "/v1/tokens/"+last.ID, nil, bearer(acme)...), http.StatusConflict)
	want[admin.Me](w, w.do("GET", "/v1/me", nil, bearer(acme)...), http.StatusOK)
	items := want[admin.List[people.APIToken]](w, w.do("GET", "/v1/tokens", nil), http.StatusOK).Items
	for _, it := range items {
		if it.Token != "" {
			t.Error("a list shows a token")
		}
		if it.Role == "viewer" && it.RevokedAt.IsZero() {
			if a := w.do("DELETE", "/v1/tokens/"+it.ID, nil); a.StatusCode != http.StatusNoContent {
				t.Errorf("revoke: %d %s", a.StatusCode, a.body)
			}
		}
	}
	want[front.Problem](w, w.do("GET", at, nil, bearer(viewer)...), http.StatusUnauthorized)
}
