package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/problem"
)

// issuer is an authorization server whose metadata may name another token endpoint.
type issuer struct {
	*httptest.Server
	mu    sync.Mutex
	token string // guarded by mu; the endpoint
	given int    // guarded by mu; tokens
	asked func() // before a token is given; may be nil
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	x := &issuer{}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" && x.asked != nil {
			x.asked()
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			x.given++
			fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":600}`, x.given)
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"token_endpoint":%q,"authorization_endpoint":%q}`, x.URL, x.token, x.URL+"/authorize")
	}))
	x.token = x.URL + "/token"
	t.Cleanup(x.Close)
	return x
}

func (x *issuer) move(to string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.token = to
}

// TestTokenEndpointMoves: metadata of an authorization server that names another token
// endpoint takes no client secret there until an administrator confirms it.
func TestTokenEndpointMoves(t *testing.T) {
	w, as, evil := newWorld(t), newIssuer(t), newThief(t)
	w.upstream.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `[{"id":7}]`) })
	body := w.createBody("Pets", "pets.yaml")
	body["deploy"] = map[string]any{"skip": true}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	a := want[credential.Authentication](w, w.do("PUT", "/v1/toolsets/"+ts.ID+"/authentication", map[string]any{
		"authType": "oauth2", "grant": "client_credentials", "clientId": "me", "clientSecret": upstreamKey, "issuer": as.URL,
	}), 200)
	_, version, err := w.secret(t.Context(), a.CredentialID)
	if err != nil {
		t.Fatal(err)
	}
	as.move(evil.URL + "/token")
	w.later.Add(int64(24 * time.Hour)) // the metadata is read again
	if _, _, err = w.renewed(t.Context(), a.CredentialID, version); !problem.Is(err, problem.Forbidden) || !strings.Contains(err.Error(), as.URL) || !strings.Contains(err.Error(), evil.URL) {
		t.Errorf("renewed: %v", err)
	}
	if err := w.srv.Secrets().Renew(t.Context()); err == nil {
		t.Error("a token was renewed")
	}
	if requests, bytes := evil.loot(); requests != 0 || bytes != 0 {
		t.Fatalf("%d requests with %d bytes of the secret", requests, bytes)
	}
	shown := want[credential.Authentication](w, w.do("GET", "/v1/toolsets/"+ts.ID+"/authentication", nil), 200)
	if strings.Join(shown.TokenOrigins, " ") != as.URL || strings.Join(shown.Origins, " ") != w.upstream.URL {
		t.Errorf("shown %v and %v", shown.TokenOrigins, shown.Origins)
	}
	want[admin.List[login.ConnectorOrigins]](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/origins", map[string]any{"tokenOrigins": []string{evil.URL}}), 200)
	_, _, _ = w.renewed(t.Context(), a.CredentialID, version) // its answer is not a token
	if requests, _ := evil.loot(); requests == 0 {
		t.Error("what was confirmed is not asked")
	}
}

// TestServerKeyStays: the stored key of an MCP server's toolset does not go where a request
// aims it: at a creation again, a connection test, a listing, a test.
func TestServerKeyStays(t *testing.T) {
	w := newWorld(t)
	w.servers.set(nil, "do.it")
	w.servers.key = upstreamKey
	const home, evil = "https://mcp.example.com/mcp", "https://evil.example.com/mcp"
	w.addServer(map[string]any{"slug": "notes", "authentication": map[string]any{"authType": "bearer", "token": upstreamKey}, "deploy": map[string]any{"untestedReason": "x"}})
	check := func(what string) {
		t.Helper()
		w.servers.mu.Lock()
		defer w.servers.mu.Unlock()
		for _, at := range w.servers.keyed {
			if strings.HasPrefix(at, "https://evil") {
				t.Errorf("%s took the key to %s", what, at)
			}
		}
		if len(w.servers.keyed) == 0 {
			t.Error("the key never went anywhere: this test shows nothing")
		}
	}
	body := map[string]any{"slug": "notes", "baseUrl": evil, "source": map[string]any{"mcp": map[string]string{"url": home}}}
	if a := w.do("POST", "/v1/toolsets", body); a.StatusCode < 400 {
		t.Errorf("made again: %s", a.body)
	}
	check("a creation again")
	tag := w.do("GET", "/v1/toolsets/notes", nil).Header.Get("ETag")
	want[view.Toolset](w, w.do("PATCH", "/v1/toolsets/notes", map[string]any{"baseUrl": evil}, "If-Match", tag), 200)
	if a := w.do("POST", "/v1/toolsets/notes/test", map[string]any{}); a.StatusCode != http.StatusConflict {
		t.Errorf("tested: %s", a.body)
	}
	check("a test")
	w.look(time.Hour)
	check("a look at the server")
	if a := w.do("POST", "/v1/toolsets/notes/refresh", map[string]any{"accept": true}); a.StatusCode < 400 {
		t.Errorf("refreshed: %s", a.body)
	}
	check("a refresh")
}

// TestLoginOfAnotherClient: the code and the verifier of a login go to no other authorization
// server than the one at which it began, also when an editor changes the authentication in
// between: for callers, and for the toolset itself.
func TestLoginOfAnotherClient(t *testing.T) {
	for _, perUser := range []bool{true, false} {
		w, as, ts, cred, ann, _ := userWorld(t)
		evil := newThief(t)
		auth := "/v1/toolsets/" + ts.ID + "/authentication"
		conf := person(as)
		conf["perUser"] = perUser
		var query string
		var cookies []*http.Cookie
		if perUser {
			query, cookies = w.press(as, w.link(cred, ann), oauthtest.User)
		} else {
			want[credential.Authentication](w, w.do("PUT", auth, conf), 200)
			_, query, cookies = w.login(as, auth)
		}
		conf["tokenUrl"] = evil.URL + "/token"
		editor := w.withRole("default", "editor").Reveal()
		want[credential.Authentication](w, w.do("PUT", auth, conf, "Authorization", "Bearer "+editor), 200)
		if status := w.back(query, cookies); status < 400 || status > 499 {
			t.Errorf("per user %v: the way back: %d", perUser, status)
		}
		if requests, _ := evil.loot(); requests != 0 {
			t.Errorf("per user %v: %d requests with the code of a login went to another server", perUser, requests)
		}
		if perUser && !strings.Contains(w.seen.String(), "was changed") {
			t.Errorf("the page does not say why: %s", w.seen.String())
		}
	}
}

// TestTokenOfAnotherClient: a token that was on its way when another client was configured is
// not kept as that one's.
func TestTokenOfAnotherClient(t *testing.T) {
	w, as := newWorld(t), newIssuer(t)
	body := w.createBody("Pets", "pets.yaml")
	body["deploy"] = map[string]any{"skip": true}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	conf := map[string]any{"authType": "oauth2", "grant": "client_credentials", "clientId": "me", "clientSecret": upstreamKey, "tokenUrl": as.URL + "/token"}
	id := want[credential.Authentication](w, w.do("PUT", auth, conf), 200).CredentialID
	as.asked = func() {
		as.asked = nil
		conf["clientId"], conf["clientSecret"] = "other", "another-secret-of-it"
		want[credential.Authentication](w, w.do("PUT", auth, conf), 200)
	}
	if _, _, err := w.secret(t.Context(), id); !problem.Is(err, problem.Conflict) {
		t.Errorf("the token of the client before: %v", err)
	}
	if got, _, err := w.secret(t.Context(), id); err != nil || got.Reveal() != "token-2" {
		t.Errorf("the token of the client after: %v", err)
	}
}

// TestLoginOfMovedServer: nobody is sent to log in where the way back would be refused: the
// metadata of the server names a token endpoint that the secret is not for.
func TestLoginOfMovedServer(t *testing.T) {
	w, as, evil := newWorld(t), newIssuer(t), newThief(t)
	body := w.createBody("Pets", "pets.yaml")
	body["deploy"] = map[string]any{"skip": true}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	want[credential.Authentication](w, w.do("PUT", auth, map[string]any{
		"authType": "oauth2", "grant": "authorization_code", "clientId": "me", "clientSecret": upstreamKey, "issuer": as.URL,
	}), 200)
	begin := func(status int) answer {
		t.Helper()
		a := w.do("POST", auth+"/authorize", nil, "Host", "localhost:7301")
		if a.StatusCode != status {
			t.Errorf("a login begins: %d %s, want %d", a.StatusCode, a.body, status)
		}
		return a
	}
	begin(200) // nothing is bound yet, and nothing gets bound by this
	shown := want[credential.Authentication](w, w.do("GET", auth, nil), 200)
	if len(shown.TokenOrigins) != 0 {
		t.Errorf("bound to %v before anything was sent", shown.TokenOrigins)
	}
	want[admin.List[login.ConnectorOrigins]](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/origins", map[string]any{"tokenOrigins": []string{as.URL}}), 200)
	begin(200)
	as.move(evil.URL + "/token")
	w.later.Add(int64(24 * time.Hour)) // the metadata is read again
	if a := begin(403); !strings.Contains(a.body, as.URL) || !strings.Contains(a.body, evil.URL) {
		t.Errorf("refused with %s", a.body)
	}
	want[admin.List[login.ConnectorOrigins]](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/origins", map[string]any{"tokenOrigins": []string{evil.URL}}), 200)
	begin(200)
	if requests, _ := evil.loot(); requests != 0 {
		t.Errorf("%d requests of a login that only began", requests)
	}
}
