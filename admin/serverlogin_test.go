package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/handshake"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/problem"
)

// resource is what an MCP server says of itself; its protocol is the double's. SELF
// in the document is its own address.
func (w *world) resource(document string) (url string) {
	w.t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/oauth-protected-resource/mcp" {
			http.NotFound(rw, r)
			return
		}
		_, _ = fmt.Fprint(rw, strings.ReplaceAll(document, "SELF", "http://"+r.Host))
	}))
	w.t.Cleanup(srv.Close)
	w.servers.set(problem.New(problem.Unauthenticated, "it wants an OAuth login").Because(&handshake.WantsAuthError{Challenge: `Bearer scope="openid"`}))
	return srv.URL + "/mcp"
}

// finish logs in at the page and comes back.
func (w *world) finish(as *oauthtest.Server, page string) int {
	w.t.Helper()
	query, cookies := w.press(as, page, oauthtest.User)
	return w.back(query, cookies)
}

// TestServerLogin: a login before there is a toolset, whose client is registered and
// whose tokens the toolset takes over.
func TestServerLogin(t *testing.T) {
	w, as := newWorld(t), oauthtest.New(t)
	server := w.resource(`{"resource":"SELF/mcp","authorization_servers":["` + as.Issuer() + `"]}`)
	p := want[front.Problem](w, w.do("POST", "/v1/mcp/test-connection", map[string]any{"url": server}), http.StatusBadGateway)
	if p.Reason != "auth" || !strings.Contains(p.Detail, "for the scopes openid offline_access") || !strings.Contains(p.Remedy, "--auth oauth") {
		t.Errorf("%s; %s", p.Detail, p.Remedy)
	}
	begin := func() login.ServerLoginState {
		return want[login.ServerLoginState](w, w.do("POST", "/v1/mcp/logins", map[string]any{"url": server}, "Host", "localhost:7301"), 200)
	}
	l := begin()
	if !l.Registered || l.State != "pending" || l.RedirectURL != oauthtest.WebRedirect {
		t.Fatalf("begun %+v", l)
	}
	create := map[string]any{"source": map[string]any{"mcp": map[string]string{"url": server}}, "login": l.ID}
	want[front.Problem](w, w.do("POST", "/v1/toolsets", create), http.StatusConflict) // not finished
	if status := w.finish(as, l.AuthorizationURL); status != 200 {
		t.Fatalf("the way back: %d", status)
	}
	if got := want[login.ServerLoginState](w, w.do("GET", "/v1/mcp/logins/"+l.ID, nil), 200); got.State != "done" || got.AuthorizationURL != "" {
		t.Errorf("done: %+v", got)
	}
	other := map[string]any{"source": map[string]any{"mcp": map[string]string{"url": "https://mcp.example.com/mcp"}}, "login": l.ID}
	want[front.Problem](w, w.do("POST", "/v1/toolsets", other), http.StatusBadRequest) // of another server
	w.servers.set(nil, "find=Finds.")
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", create), 201)
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	a := want[credential.Authentication](w, w.do("GET", auth, nil), 200)
	if a.State != "ok" || a.Resource != server || a.ClientID != "" {
		t.Fatalf("took over %+v", a)
	}
	tok, version, err := w.secret(t.Context(), a.CredentialID)
	if g, ok := as.Grant("Bearer " + tok.Reveal()); err != nil || !ok || g.Resource != server {
		t.Fatalf("the token: %+v, %v", g, err)
	}
	want[front.Problem](w, w.do("GET", "/v1/mcp/logins/"+l.ID, nil), 404) // it is used up
	w.later.Add(int64(5 * time.Minute))
	if _, v, err := w.secret(t.Context(), a.CredentialID); err != nil || v != version+1 {
		t.Fatalf("renewed by the registered client: version %d, %v", v, err)
	}
	// A client that the server forgot is registered anew at the next login.
	as.ForgetClients()
	w.later.Add(int64(6 * time.Minute))
	if _, _, err := w.secret(t.Context(), a.CredentialID); !problem.Is(err, problem.Unauthenticated) {
		t.Fatalf("a forgotten client: %v", err)
	}
	if a = want[credential.Authentication](w, w.do("GET", auth, nil), 200); a.State != "login_required" || !strings.Contains(a.LastError, "invalid_client") {
		t.Errorf("a forgotten client: %+v", a)
	}
	w.servers.set(problem.New(problem.Unauthenticated, "x").Because(&handshake.WantsAuthError{Challenge: `Bearer scope="openid"`}))
	again := want[login.Authorization](w, w.do("POST", auth+"/authorize", map[string]any{"scopes": []string{"profile"}}, "Host", "localhost:7301"), 200)
	page, cookies := w.confirm(again.AuthorizationURL)
	if !again.Registered || len(as.Registered()) != 2 || !strings.Contains(page, "profile") {
		t.Fatalf("registered %d times; %s", len(as.Registered()), page)
	}
	if status := w.back(w.enter(as, page, oauthtest.User), cookies); status != 200 {
		t.Fatalf("the way back: %d", status)
	}
	next, _, err := w.secret(t.Context(), a.CredentialID)
	if err != nil || !as.Valid("Bearer "+next.Reveal()) {
		t.Fatalf("after another login: %v", err)
	}
	// The registered client is used again, with the scopes that were added.
	third := want[login.Authorization](w, w.do("POST", auth+"/authorize", nil, "Host", "localhost:7301"), 200)
	if page, _ = w.confirm(third.AuthorizationURL); len(as.Registered()) != 2 || !strings.Contains(page, "profile") {
		t.Errorf("registered %d times; %s", len(as.Registered()), page)
	}
	w.holdsNone(as, tok, next)
	for _, r := range as.Requests() {
		if r.Get("resource") != server {
			t.Errorf("a token was asked for %q", r.Get("resource"))
		}
	}
}

// streamed are the names and data of a stream, one of "event data" each.
func (w *world) streamed(path string, body any) (all []string) {
	w.t.Helper()
	res := w.do("POST", path, body)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	for event := range strings.SplitSeq(strings.TrimSpace(res.body), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		all = append(all, name+" "+data)
	}
	return all
}

// TestConnectionSteps: a test of a connection says how it goes, and what a server wants
// in a form that a program reads.
func TestConnectionSteps(t *testing.T) {
	w, as := newWorld(t), oauthtest.New(t)
	const path = "/v1/mcp/test-connection/steps"
	server := w.resource(`{"resource":"SELF/mcp","authorization_servers":["` + as.Issuer() + `"]}`)
	got := w.streamed(path, map[string]any{"url": server})
	failed := got[len(got)-2]
	for _, part := range []string{`step {"name":"authentication","state":"failed"`, `"kind":"oauth"`, `"issuer":"` + as.Issuer() + `"`, `"registers":true`, `/oauth/callback"`} {
		if !strings.Contains(failed, part) {
			t.Errorf("%s: no %s", failed, part)
		}
	}
	if end := got[len(got)-1]; !strings.HasPrefix(end, "failed {") || !strings.Contains(end, "Cannot connect to MCP server") || !strings.Contains(end, `"reason":"auth"`) {
		t.Errorf("the end is %s", end)
	}
	w.servers.set(nil, "find=Finds.")
	got = w.streamed(path, map[string]any{"url": server})
	if end := got[len(got)-1]; !strings.HasPrefix(end, "done {") || !strings.Contains(end, `"name":"find"`) || !strings.Contains(got[len(got)-2], `"detail":"1 tool"`) {
		t.Errorf("the end is %s after %s", end, got[len(got)-2])
	}
	w.servers.set(problem.New(problem.Unreachable, "nobody answers"))
	got = w.streamed(path, map[string]any{"url": server})
	if len(got) != 3 || !strings.Contains(got[1], `step {"name":"reach","state":"failed","detail":"nobody answers"`) {
		t.Errorf("a dead server: %q", got)
	}
	if res := w.do("POST", path, map[string]any{"url": strings.Repeat("x", 3000)}); res.StatusCode != http.StatusUnprocessableEntity && res.StatusCode != http.StatusBadRequest {
		t.Errorf("a long address: %d", res.StatusCode)
	}
}

// TestServerLoginRefused: servers that no login may be made at.
func TestServerLoginRefused(t *testing.T) {
	w, as := newWorld(t), oauthtest.New(t)
	good := `{"resource":"SELF/mcp","authorization_servers":["` + as.Issuer() + `"]}`
	f := func(document string, features oauthtest.Features, status int, text string) {
		t.Helper()
		as.Set(features)
		w.stop()
		w.open() // what was known of the server is forgotten
		p := want[front.Problem](w, w.do("POST", "/v1/mcp/logins", map[string]any{"url": w.resource(document)}, "Host", "localhost:7301"), status)
		if !strings.Contains(p.Detail+" "+p.Remedy, text) {
			t.Errorf("%s; %s, want %q", p.Detail, p.Remedy, text)
		}
	}
	f(good, oauthtest.Features{NoPKCE: true}, 422, "S256")
	f(good, oauthtest.Features{NoRegistration: true}, 422, oauthtest.WebRedirect)
	f(good, oauthtest.Features{WrongIssuer: "https://evil.example"}, 502, "another issuer")
	f(strings.Replace(good, "SELF/mcp", "https://other.example/mcp", 1), oauthtest.Features{}, 403, "another resource")
	f(`{"resource":"SELF/mcp","authorization_servers":["http://id.example"]}`, oauthtest.Features{}, 502, "no usable authorization server")

	as.Set(oauthtest.Features{Issuer: "https://evil.example"})
	l := want[login.ServerLoginState](w, w.do("POST", "/v1/mcp/logins", map[string]any{"url": w.resource(good)}, "Host", "localhost:7301"), 200)
	if status := w.finish(as, l.AuthorizationURL); status != http.StatusForbidden {
		t.Errorf("wrong iss: %d", status)
	}
	if got := want[login.ServerLoginState](w, w.do("GET", "/v1/mcp/logins/"+l.ID, nil), 200); got.State != "failed" || !strings.Contains(got.Error, "another authorization server") {
		t.Errorf("wrong iss: %+v", got)
	}
	for _, body := range []map[string]any{
		{"url": "ftp://x"},
		{"url": w.resource(good), "scopes": []string{"a b"}},
		{"url": w.resource(good), "authentication": map[string]any{"authType": "bearer", "token": "t-0123456789"}},
		{"url": w.resource(good), "authentication": map[string]any{"authType": "oauth2", "grant": "client_credentials", "clientId": "x", "clientSecret": "y-0123456789"}},
	} {
		want[front.Problem](w, w.do("POST", "/v1/mcp/logins", body), http.StatusBadRequest)
	}
	if status, _ := w.callback("state=login_x.y&code=z"); status != http.StatusNotFound {
		t.Errorf("an unknown login: %d", status)
	}
}

// TestClientDocument: who we are, for servers that read it instead of registering.
func TestClientDocument(t *testing.T) {
	w := newWorld(t)
	get := func() *http.Response {
		return w.page(http.MethodGet, "http://localhost:7301/client-metadata.json", nil)
	}
	if res := get(); res.StatusCode != http.StatusNotFound {
		t.Fatalf("without an https address: %d", res.StatusCode)
	}
	w.publicURL = "https://sluice.example"
	w.stop()
	w.open()
	res := get()
	var doc map[string]any
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v", res.StatusCode, err)
	}
	if doc["client_id"] != "https://sluice.example/client-metadata.json" || doc["token_endpoint_auth_method"] != "none" || doc["application_type"] != "web" ||
		fmt.Sprint(doc["redirect_uris"]) != "[https://sluice.example/oauth/callback]" {
		t.Errorf("document %v", doc)
	}
	if res := w.page(http.MethodPost, "http://localhost:7301/client-metadata.json", nil); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", res.StatusCode)
	}
}
