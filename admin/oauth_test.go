package admin_test

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/problem"
)

// oauthWorld is a world whose upstream takes good access tokens only, and one
// toolset.
func oauthWorld(t *testing.T) (w *world, as *oauthtest.Server, ts change.CreatedToolset) {
	t.Helper()
	w, as = newWorld(t), oauthtest.New(t)
	w.upstream.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !as.Valid(r.Header.Get("Authorization")) {
			http.Error(rw, `{"message":"bad token"}`, http.StatusUnauthorized)
			return
		}
		_, _ = rw.Write([]byte(`[{"id":7}]`))
	})
	body := w.createBody("Pets", "pets.yaml")
	body["deploy"] = map[string]any{"skip": true}
	return w, as, want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
}

func service(as *oauthtest.Server) map[string]any {
	return map[string]any{
		"authType": "oauth2", "grant": "client_credentials", "clientId": oauthtest.ServiceClient, "clientSecret": oauthtest.ServiceSecret,
		"tokenUrl": as.TokenURL(), "tokenAuthMethod": "client_secret_basic", "scopes": []string{"openid"},
	}
}

func person(as *oauthtest.Server) map[string]any {
	return map[string]any{
		"authType": "oidc", "grant": "authorization_code", "clientId": oauthtest.WebClient, "clientSecret": oauthtest.WebSecret, "issuer": as.Issuer(),
	}
}

// TestClientCredentialsToken: calls that need a token at the same time share one
// request, a good token is not asked for again, and one that an upstream refused
// is replaced once.
func TestClientCredentialsToken(t *testing.T) {
	w, as, ts := oauthWorld(t)
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	a := want[credential.Authentication](w, w.do("PUT", auth, service(as)), 200)
	if a.State != "ok" || a.ClientID != oauthtest.ServiceClient || a.Preview != "Authorization: Bearer •••• (access token)" {
		t.Fatalf("configured %+v", a)
	}
	release := as.Hold()
	defer release()
	type got struct {
		token   string
		version uint64
		err     error
	}
	const callers = 20
	results := make([]got, callers)
	var started, ended sync.WaitGroup
	for i := range callers {
		started.Add(1)
		ended.Go(func() {
			started.Done()
			s, v, err := w.secret(t.Context(), a.CredentialID)
			results[i] = got{s.Reveal(), v, err}
		})
	}
	started.Wait()
	gone, cancel := context.WithCancel(t.Context())
	cancel() // a caller that leaves does not take the token from the others
	if _, _, err := w.secret(gone, a.CredentialID); err == nil {
		t.Error("a caller that left got a token")
	}
	release()
	ended.Wait()
	for _, r := range results {
		if r.err != nil || r != results[0] || !as.Valid("Bearer "+r.token) {
			t.Fatalf("results %+v", results)
		}
	}
	f := func(requests int, what string) {
		t.Helper()
		if n := len(as.Requests()); n != requests {
			t.Fatalf("%s: %d requests for a token, want %d", what, n, requests)
		}
	}
	f(1, "twenty callers")
	w.stop()
	w.open()
	if s, v, err := w.secret(t.Context(), a.CredentialID); err != nil || s.Reveal() != results[0].token || v != results[0].version {
		t.Fatalf("after a restart: version %d, %v", v, err)
	}
	f(1, "after a restart")
	as.RevokeAll()
	s, v, err := w.renewed(t.Context(), a.CredentialID, results[0].version)
	if err != nil || v != results[0].version+1 || !as.Valid("Bearer "+s.Reveal()) {
		t.Fatalf("refreshed to version %d, %v", v, err)
	}
	if _, again, err := w.renewed(t.Context(), a.CredentialID, results[0].version); err != nil || again != v {
		t.Fatalf("who was refused late got version %d, %v", again, err)
	}
	f(2, "a refused token")
	w.later.Add(int64(5 * time.Minute)) // the server's tokens live five minutes
	if _, next, err := w.secret(t.Context(), a.CredentialID); err != nil || next != v+1 {
		t.Fatalf("after its time: version %d, %v", next, err)
	}
	f(3, "after its time")
	run := want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/test", nil), 200)
	if !run.Passed {
		t.Errorf("the test: %+v", run.TestRun)
	}
}

// TestRefusedClient: a server that refuses is not asked again and again, and the
// reason is shown. A server that is down is another thing.
func TestRefusedClient(t *testing.T) {
	w, as, ts := oauthWorld(t)
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	wrong := service(as)
	wrong["clientSecret"] = "not-the-secret-of-it"
	id := want[credential.Authentication](w, w.do("PUT", auth, wrong), 200).CredentialID
	for range 3 {
		if _, _, err := w.secret(t.Context(), id); !problem.Is(err, problem.Unauthenticated) {
			t.Fatalf("%v, want a refusal", err)
		}
	}
	if n := len(as.Requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	a := want[credential.Authentication](w, w.do("GET", auth, nil), 200)
	if a.State != "failing" || a.LastError == "" {
		t.Errorf("shown %+v", a)
	}
	run := want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/test", nil), 200)
	if run.Passed || !strings.Contains(run.Reason, "refused") {
		t.Errorf("the test: %+v", run.TestRun)
	}
	w.later.Add(int64(31 * time.Second))
	if _, _, err := w.secret(t.Context(), id); err == nil || len(as.Requests()) != 2 {
		t.Errorf("after the pause: %v, %d requests", err, len(as.Requests()))
	}
	want[credential.Authentication](w, w.do("PUT", auth, service(as)), 200)
	as.Fail(http.StatusBadGateway)
	if _, _, err := w.secret(t.Context(), id); !problem.Is(err, problem.Unavailable) {
		t.Errorf("down: %v", err)
	}
	as.Fail(0)
	_, version, err := w.secret(t.Context(), id)
	if err != nil {
		t.Errorf("up again at once: %v", err)
	}
	// A token that is good is used while its successor cannot be got.
	as.Fail(http.StatusBadGateway)
	w.later.Add(int64(4*time.Minute + 45*time.Second))
	if _, v, err := w.secret(t.Context(), id); err != nil || v != version {
		t.Errorf("near its end: version %d, %v", v, err)
	}
	w.later.Add(int64(time.Minute))
	if _, _, err := w.secret(t.Context(), id); !problem.Is(err, problem.Unavailable) {
		t.Errorf("after its end: %v", err)
	}
}

// callback is the last step of a browser with these cookies.
func (w *world) callback(query string, cookies ...*http.Cookie) (status int, page string) {
	w.t.Helper()
	res := w.page(http.MethodGet, "http://localhost:7301/oauth/callback?"+query, cookies)
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// login lets a person log in and returns the query of the way back, and the cookies
// of the browser.
func (w *world) login(as *oauthtest.Server, auth string) (begun login.Authorization, query string, cookies []*http.Cookie) {
	w.t.Helper()
	begun = want[login.Authorization](w, w.do("POST", auth+"/authorize", nil, "Host", "localhost:7301"), 200)
	if begun.RedirectURL != oauthtest.WebRedirect {
		w.t.Fatalf("redirect to %s", begun.RedirectURL)
	}
	query, cookies = w.press(as, begun.AuthorizationURL, oauthtest.User)
	return begun, query, cookies
}

// TestLogin: a person logs in, the tokens are renewed with rotating refresh
// tokens, and nothing of them is seen outside.
func TestLogin(t *testing.T) {
	w, as, ts := oauthWorld(t)
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	a := want[credential.Authentication](w, w.do("PUT", auth, person(as)), 200)
	if a.State != "login_required" {
		t.Fatalf("configured %+v", a)
	}
	if _, _, err := w.secret(t.Context(), a.CredentialID); !problem.Is(err, problem.Unauthenticated) || !strings.Contains(problem.As(err).Remedy, "login") {
		t.Fatalf("before the login: %v", err)
	}
	_, query, cookies := w.login(as, auth)
	if now := want[credential.Authentication](w, w.do("GET", auth, nil), 200); !now.LoginPending || now.State != "login_required" {
		t.Errorf("while the person logs in: %+v", now)
	}
	forged := strings.Replace(query, "state=", "state=x", 1)
	if status, _ := w.callback(forged, cookies...); status != http.StatusNotFound {
		t.Errorf("a forged state: %d", status)
	}
	if status, page := w.callback(query, cookies...); status != 200 || !strings.Contains(page, "You are logged in") {
		t.Fatalf("%d %s", status, page)
	}
	if status, page := w.callback(query, cookies...); status != http.StatusNotFound || !strings.Contains(page, "expired or already used") {
		t.Errorf("again: %d %s", status, page)
	}
	a = want[credential.Authentication](w, w.do("GET", auth, nil), 200)
	if a.State != "ok" || a.LoginPending || a.ExpiresAt == nil {
		t.Errorf("after the login: %+v", a)
	}
	first, v, err := w.secret(t.Context(), a.CredentialID)
	if err != nil || !as.Valid("Bearer "+first.Reveal()) {
		t.Fatalf("the token: %v", err)
	}
	want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/test", nil), 200)
	for i := range 3 { // each with the refresh token of the one before
		w.later.Add(int64(5 * time.Minute))
		s, next, err := w.secret(t.Context(), a.CredentialID)
		if err != nil || next != v+1 || s.Equal(first) {
			t.Fatalf("renewal %d: version %d, %v", i, next, err)
		}
		v = next
	}
	seen := as.Requests()
	if got := seen[len(seen)-1].Get("grant_type"); got != "refresh_token" || seen[len(seen)-1].Get("refresh_token") == seen[len(seen)-2].Get("refresh_token") {
		t.Errorf("the last request was %q, with the same refresh token as before", got)
	}
	// Another client cannot use the tokens of this one.
	other := person(as)
	other["clientId"], other["scopes"] = oauthtest.PublicClient, []string{"openid"}
	delete(other, "clientSecret")
	if b := want[credential.Authentication](w, w.do("PUT", auth, other), 200); b.State != "login_required" || b.CredentialID != a.CredentialID {
		t.Errorf("another client: %+v", b)
	}
	if _, _, err := w.secret(t.Context(), a.CredentialID); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("another client has a token: %v", err)
	}
	if got := w.audits(); !slices.Contains(got, "authentication.authorize") || !slices.Contains(got, "authentication.login") {
		t.Errorf("audit %v", got)
	}
	// Codes, verifiers, tokens and secrets: in no answer, log or file.
	texts := []string{first.Reveal(), oauthtest.WebSecret, seen[0].Get("code_verifier")}
	for _, r := range seen {
		texts = append(texts, r.Get("refresh_token"), r.Get("code"))
	}
	var found []string
	err = filepath.WalkDir(w.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		for _, s := range texts {
			if s != "" && strings.Contains(string(b), s) {
				found = append(found, name)
			}
		}
		return err
	})
	for _, s := range texts {
		if s != "" && (strings.Contains(w.log.String(), s) || strings.Contains(w.seen.String(), s)) {
			found = append(found, "log or answer")
		}
	}
	if err != nil || len(found) > 0 {
		t.Errorf("secrets are in %v (%v)", found, err)
	}
}

// TestLoginFails: the person refuses, the login takes too long, the login is lost.
func TestLoginFails(t *testing.T) {
	w, as, ts := oauthWorld(t)
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	if a := w.do("POST", auth+"/authorize", nil); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "authorization_code") {
		t.Errorf("nothing to log in for: %d %s", a.StatusCode, a.body)
	}
	id := want[credential.Authentication](w, w.do("PUT", auth, person(as)), 200).CredentialID
	stateOf := func(query string) string {
		q, err := url.ParseQuery(query)
		if err != nil || q.Get("state") == "" {
			t.Fatalf("the way back has no state: %s", query)
		}
		return q.Get("state")
	}
	var cookies []*http.Cookie
	f := func(query string, status int, text string) {
		t.Helper()
		if got, page := w.callback(query, cookies...); got != status || !strings.Contains(page, text) {
			t.Errorf("%s: %d %s, want %d %s", query, got, page, status, text)
		}
	}
	_, query, cookies := w.login(as, auth)
	q := url.Values{"state": {stateOf(query)}, "error": {"access_denied"}, "error_description": {"<b>no</b>"}, "iss": {as.Issuer()}}
	f(q.Encode(), http.StatusUnauthorized, "access_denied (&lt;b&gt;no&lt;/b&gt;)")
	if a := want[credential.Authentication](w, w.do("GET", auth, nil), 200); a.State != "login_required" || !strings.Contains(a.LastError, "access_denied") || a.LoginPending {
		t.Errorf("after a refusal: %+v", a)
	}
	_, query, cookies = w.login(as, auth)
	w.later.Add(int64(10 * time.Minute))
	f(query, http.StatusNotFound, "expired or already used")
	_, old, cookies := w.login(as, auth)
	_, query, cookies = w.login(as, auth) // replaces the one before
	f("code=x&state="+url.QueryEscape(stateOf(old)), http.StatusNotFound, "expired or already used")
	f("", http.StatusNotFound, "expired or already used")
	f("state=cred_unknown.x", http.StatusNotFound, "expired or already used")
	f(strings.Repeat("x", 16<<10+1), http.StatusRequestEntityTooLarge, "too long")
	f(query, 200, "You are logged in")
	// The server forgets the login: it says so, and is not asked again.
	w.later.Add(int64(5 * time.Minute))
	as.Fail(http.StatusBadRequest)
	if _, _, err := w.secret(t.Context(), id); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("a refresh that is refused: %v", err)
	}
	if a := want[credential.Authentication](w, w.do("GET", auth, nil), 200); a.State != "failing" && a.State != "login_required" {
		t.Errorf("after it: %+v", a)
	}
}

// TestCombinedAuthentication: a list is stored in its order, each item keeps its
// secret when the list is set again without it, and items find their schemes.
func TestCombinedAuthentication(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	item := func(pairs ...string) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	list := func(items ...map[string]any) map[string]any {
		return map[string]any{"authType": "list", "items": items}
	}
	a := want[credential.Authentication](w, w.do("PUT", auth, list(
		item("authType", "header", "headerName", "X-Api-Key", "apiKey", upstreamKey),
		item("authType", "query", "parameterName", "app", "apiKey", "app-key-0123456789"),
		item("authType", "cookie", "cookieName", "sid", "apiKey", "cookie-key-012345"),
	)), 200)
	if len(a.Items) != 3 || a.AuthType != "list" || a.Items[0].Scheme == "" || a.Items[1].Scheme != "" ||
		a.Preview != "X-Api-Key: ••••9f3c, ?app=••••6789, Cookie: sid=••••2345" {
		t.Fatalf("set %+v", a)
	}
	if got := w.get(ts.ID).Authentication; !reflect.DeepEqual(got, &a) {
		t.Errorf("the toolset shows %+v", got)
	}
	b := want[credential.Authentication](w, w.do("PUT", auth, list(
		item("authType", "cookie", "cookieName", "sid"),
		item("authType", "query", "parameterName", "app", "apiKey", "other-key-abcdef"),
	)), 200)
	if len(b.Items) != 2 || b.Items[0].CredentialID != a.Items[2].CredentialID || b.Items[1].CredentialID != a.Items[1].CredentialID ||
		b.Items[0].Version != 1 || b.Items[1].Version != 2 {
		t.Fatalf("set again %+v", b)
	}
	s, _, err := w.secret(t.Context(), b.Items[0].CredentialID)
	if err != nil || s.Reveal() != "cookie-key-012345" {
		t.Errorf("the kept secret: %v", err)
	}
	if _, _, err := w.secret(t.Context(), a.Items[0].CredentialID); !problem.Is(err, problem.NotFound) {
		t.Errorf("a removed secret: %v", err)
	}
	f := func(body map[string]any, pointer string) {
		t.Helper()
		if r := w.do("PUT", auth, body); r.StatusCode != http.StatusBadRequest || !strings.Contains(r.body, `"`+pointer+`"`) {
			t.Errorf("%v: %d %s, want a fault at %s", body, r.StatusCode, r.body, pointer)
		}
	}
	f(list(), "#/items")
	f(list(item("authType", "list")), "#/items/0/authType")
	f(list(item("authType", "none")), "#/items/0/authType")
	f(list(item("authType", "basic", "username", "u")), "#/items/0/password")
	f(map[string]any{"authType": "list", "apiKey": "k", "items": []any{item("authType", "bearer", "token", "t")}}, "#/apiKey")
	f(map[string]any{"authType": "bearer", "token": "t", "items": []any{item("authType", "bearer", "token", "t")}}, "#/items")
	f(item("authType", "cookie", "cookieName", "a b", "apiKey", "k"), "#/cookieName")
	f(item("authType", "cookie", "cookieName", "a", "apiKey", "k;k"), "#/apiKey")
	f(item("authType", "query", "apiKey", "k"), "#/parameterName")
	f(item("authType", "mtls", "certificate", "x", "privateKey", "y"), "#/certificate")
	f(item("authType", "mtls", "privateKey", "y"), "#/certificate")
	f(item("authType", "oauth2", "grant", "client_credentials", "clientId", "c", "tokenUrl", "http://id.example/token", "clientSecret", "s"), "#/tokenUrl")
	f(item("authType", "oauth2", "grant", "client_credentials", "clientId", "c", "tokenUrl", "https://id.example/token"), "#/clientSecret")
	f(item("authType", "oauth2", "grant", "authorization_code", "clientId", "c", "tokenUrl", "https://id.example/token"), "#/authorizationUrl")
	f(item("authType", "oidc", "grant", "authorization_code", "clientId", "c"), "#/issuer")
	f(map[string]any{
		"authType": "oidc", "grant": "authorization_code", "clientId": "c", "issuer": "https://id.example", "scopes": []string{"ok", `a"b`},
	}, "#/scopes/1")
}

// TestClientSecretStays: a stored client secret goes to no other server.
func TestClientSecretStays(t *testing.T) {
	w, as, ts := oauthWorld(t)
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	want[credential.Authentication](w, w.do("PUT", auth, service(as)), 200)
	same := service(as)
	delete(same, "clientSecret")
	same["scopes"] = []string{"openid", "profile"}
	if a := want[credential.Authentication](w, w.do("PUT", auth, same), 200); a.Version != 1 || !slices.Equal(a.Scopes, []string{"openid", "profile"}) {
		t.Errorf("other scopes: %+v", a)
	}
	same["tokenUrl"] = "https://thief.example/token"
	if a := w.do("PUT", auth, same); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, `"#/clientSecret"`) {
		t.Errorf("another server: %d %s", a.StatusCode, a.body)
	}
}

// TestRenewal: tokens that end soon are renewed without a call.
func TestRenewal(t *testing.T) {
	w, as, ts := oauthWorld(t)
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	id := want[credential.Authentication](w, w.do("PUT", auth, service(as)), 200).CredentialID
	if _, _, err := w.secret(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	f := func(after time.Duration, requests int) {
		t.Helper()
		w.later.Add(int64(after))
		if err := w.srv.Secrets().Renew(t.Context()); err != nil || len(as.Requests()) != requests {
			t.Fatalf("%d requests, want %d (%v)", len(as.Requests()), requests, err)
		}
	}
	f(time.Minute, 1)
	f(time.Minute+time.Second, 2) // three minutes before the end of five
	f(0, 2)
	as.Fail(http.StatusServiceUnavailable)
	w.later.Add(int64(3 * time.Minute))
	if err := w.srv.Secrets().Renew(t.Context()); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("%v, want the credential that was not renewed", err)
	}
	as.Fail(0)
	f(0, 4) // it was not given up
}

// TestLongestCallback: what an authorization server sends back is looked at up to a bound.
func TestLongestCallback(t *testing.T) {
	w := newWorld(t)
	const query = "code=x&state="
	for _, c := range []struct{ bytes, status int }{{login.MaxCallback, http.StatusNotFound}, {login.MaxCallback + 1, http.StatusRequestEntityTooLarge}} {
		if status, page := w.callback(query + strings.Repeat("s", c.bytes-len(query))); status != c.status {
			t.Errorf("%d bytes: %d, want %d: %.200s", c.bytes, status, c.status, page)
		}
	}
}
