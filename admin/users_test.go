package admin_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// page is a request of a browser to the admin listener.
func (w *world) page(method, address string, cookies []*http.Cookie, headers ...string) *http.Response {
	w.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		w.t.Fatal(err)
	}
	r := httptest.NewRequest(method, u.RequestURI(), http.NoBody)
	r.Host = "localhost:7301"
	for _, c := range cookies {
		r.AddCookie(c)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.srv.Handler().ServeHTTP(rec, r)
	_, _ = w.seen.Write(rec.Body.Bytes())
	return rec.Result()
}

// userWorld is a live toolset at which each caller logs in, with two access tokens.
func userWorld(t *testing.T) (w *world, as *oauthtest.Server, ts change.CreatedToolset, cred string, ann, bob registry.User) {
	t.Helper()
	w, as, ts = oauthWorld(t)
	path := "/v1/toolsets/" + ts.ID
	conf := person(as)
	conf["perUser"] = true
	cred = want[credential.Authentication](w, w.do("PUT", path+"/authentication", conf), 200).CredentialID
	want[view.Toolset](w, w.do("POST", path+"/deploy", map[string]any{"reason": "test"}), 200)
	user := func(name string) registry.User {
		made := want[access.CreatedAccessToken](w, w.do("POST", path+"/access-tokens", map[string]any{"name": name}), 201)
		return registry.User{Kind: registry.UserToken, ID: made.ID, Toolset: ts.ID}
	}
	return w, as, ts, cred, user("ann"), user("bob")
}

// link is what a caller who must log in gets.
func (w *world) link(cred string, user registry.User) string {
	w.t.Helper()
	_, err := w.srv.Secrets().UserSecret(w.t.Context(), cred, user, 0, nil)
	login, ok := errors.AsType[*registry.LoginError](err)
	if !ok || !problem.Is(err, problem.Unauthenticated) || !strings.HasPrefix(login.URL, "http://localhost:7301/oauth/login/") {
		w.t.Fatalf("%+v: %v, want a link", user, err)
	}
	if strings.Contains(problem.As(err).Error(), login.URL) {
		w.t.Error("the text of the problem holds the link")
	}
	return login.URL
}

// press opens a link, presses its button and logs in; what it returns is the way
// back, and the cookies of the browser.
func (w *world) press(as *oauthtest.Server, link, user string) (query string, cookies []*http.Cookie) {
	w.t.Helper()
	page, cookies := w.confirm(link)
	return w.enter(as, page, user), cookies
}

// confirm presses the button of a link: what it returns is the page of the
// authorization server that the button leads to, and the cookies of the browser.
func (w *world) confirm(link string) (page string, cookies []*http.Cookie) {
	w.t.Helper()
	res := w.page(http.MethodPost, link, nil)
	if res.StatusCode != http.StatusSeeOther {
		w.t.Fatalf("the button: %d", res.StatusCode)
	}
	return res.Header.Get("Location"), res.Cookies()
}

// enter logs in at the page of the authorization server and returns the query of
// the way back.
func (w *world) enter(as *oauthtest.Server, page, user string) (query string) {
	w.t.Helper()
	back, _, err := as.LoginAs(nil, page, user, oauthtest.Password, oauthtest.WebRedirect)
	if err != nil {
		w.t.Fatal(err)
	}
	_, query, _ = strings.Cut(back, "?")
	return query
}

func (w *world) back(query string, cookies []*http.Cookie) int {
	w.t.Helper()
	return w.page(http.MethodGet, "http://localhost:7301/oauth/callback?"+query, cookies).StatusCode
}

// TestUserLogin: a caller logs in once, with a link that is good once; their token
// is nobody else's, is renewed, and is forgotten when it is revoked.
func TestUserLogin(t *testing.T) {
	w, as, ts, cred, ann, bob := userWorld(t)
	path := "/v1/toolsets/" + ts.ID + "/authentication/users"
	link, second := w.link(cred, ann), w.link(cred, ann)
	if res := w.page(http.MethodGet, link, nil); res.StatusCode != http.StatusOK || !strings.Contains(w.seen.String(), "access token “ann”") {
		t.Fatalf("the page: %d", res.StatusCode)
	}
	for _, h := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		if res := w.page(http.MethodPost, link, nil, h...); res.StatusCode != http.StatusForbidden {
			t.Errorf("%v: %d", h, res.StatusCode)
		}
	}
	query, cookies := w.press(as, link, oauthtest.OtherUser)
	if res := w.page(http.MethodPost, link, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a link that was used: %d", res.StatusCode)
	}
	// Whoever is sent the page of the authorization server cannot finish the login.
	if got := w.back(query, nil); got != http.StatusForbidden {
		t.Errorf("another browser: %d", got)
	}
	if got := w.back(strings.Replace(query, "state=login_", "state=login_x", 1), cookies); got != http.StatusNotFound {
		t.Errorf("a wrong state: %d", got)
	}
	if got := w.back(query, cookies); got != http.StatusOK {
		t.Fatalf("the way back: %d", got)
	}
	if got := w.back(query, cookies); got != http.StatusNotFound {
		t.Errorf("the way back again: %d", got)
	}
	held, err := w.srv.Secrets().UserSecret(t.Context(), cred, ann, 0, nil)
	first, version := held.Value, held.Version
	if g, ok := as.Grant("Bearer " + first.Reveal()); err != nil || !ok || g.Subject != "id1" {
		t.Fatalf("ann's token: %+v, %v", g, err)
	}
	// A link from before the login does not put another account in its place.
	if res := w.page(http.MethodPost, second, nil); res.StatusCode != http.StatusConflict {
		t.Errorf("an old link: %d", res.StatusCode)
	}
	query, cookies = w.press(as, w.link(cred, bob), oauthtest.User)
	if got := w.back(query, cookies); got != http.StatusOK {
		t.Fatalf("bob: %d", got)
	}
	held, err = w.srv.Secrets().UserSecret(t.Context(), cred, bob, 0, nil)
	other := held.Value
	if g, _ := as.Grant("Bearer " + other.Reveal()); err != nil || g.Subject != "id2" || other.Equal(first) {
		t.Fatalf("bob's token: %+v, %v", g, err)
	}
	if _, err := w.srv.Secrets().Secret(t.Context(), cred); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("the toolset has a caller's token: %v", err)
	}

	// Nobody else: other toolsets' tokens, unknown ones, subjects of another issuer.
	for _, stranger := range []registry.User{
		{Kind: registry.UserToken, ID: ann.ID, Toolset: "ts_other"},
		{Kind: registry.UserToken, ID: "act_unknown", Toolset: ts.ID},
		{Kind: registry.UserJWT, ID: "id1", Issuer: as.Issuer()},
	} {
		if _, err := w.srv.Secrets().UserSecret(t.Context(), cred, stranger, 0, nil); !problem.Is(err, problem.Forbidden) {
			t.Errorf("%+v: %v", stranger, err)
		}
	}
	if _, err := w.srv.Secrets().UserSecret(t.Context(), cred, registry.User{}, 0, nil); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("nobody: %v", err)
	}

	// Renewed like any token, also after a restart and when it was refused.
	w.later.Add(int64(5 * time.Minute))
	w.stop()
	w.open()
	held, err = w.srv.Secrets().UserSecret(t.Context(), cred, ann, 0, nil)
	next, renewed := held.Value, held.Version
	if err != nil || renewed != version+1 || !as.Valid("Bearer "+next.Reveal()) {
		t.Fatalf("renewed: version %d, %v", renewed, err)
	}
	if v, err := w.srv.Secrets().UserSecret(t.Context(), cred, ann, renewed, nil); err != nil || v.Version != renewed+1 {
		t.Fatalf("refused: version %d, %v", v.Version, err)
	}
	// More scopes need another login.
	_, err = w.srv.Secrets().UserSecret(t.Context(), cred, ann, 0, []string{"profile"})
	asked, ok := errors.AsType[*registry.LoginError](err)
	if !ok {
		t.Fatalf("more scopes: %v", err)
	}
	res := w.page(http.MethodPost, asked.URL, nil)
	if at, err := url.Parse(res.Header.Get("Location")); err != nil || !slices.Contains(strings.Fields(at.Query().Get("scope")), "profile") {
		t.Errorf("asked for at %s", res.Header.Get("Location"))
	}

	list := want[struct{ Items []login.UserLogin }](w, w.do("GET", path, nil), 200).Items
	if len(list) != 2 || list[0].Name != "ann" || list[0].State != "ok" || list[1].Name != "bob" {
		t.Fatalf("listed %+v", list)
	}
	if a := w.do("DELETE", path+"/"+list[0].ID, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("revoked: %d %s", a.StatusCode, a.body)
	}
	want[front.Problem](w, w.do("DELETE", path+"/"+list[0].ID, nil), 404)
	w.link(cred, ann)
	if _, err := w.srv.Secrets().UserSecret(t.Context(), cred, bob, 0, nil); err != nil {
		t.Errorf("bob after ann was revoked: %v", err)
	}
	// With the access token goes what belonged to its holder.
	if a := w.do("DELETE", "/v1/toolsets/"+ts.ID+"/access-tokens/"+bob.ID, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if list = want[struct{ Items []login.UserLogin }](w, w.do("GET", path, nil), 200).Items; len(list) != 0 {
		t.Errorf("left %+v", list)
	}
	for _, action := range []string{"authentication.user.authorize", "authentication.user.login", "authentication.user.revoke"} {
		if !slices.Contains(w.audits(), action) {
			t.Errorf("the audit log has no %s", action)
		}
	}
	w.holdsNone(as, first, other, next)
}

// holdsNone fails when tokens, codes or links are in an answer, the log or a file.
func (w *world) holdsNone(as *oauthtest.Server, tokens ...secrets.Secret) {
	w.t.Helper()
	var texts []string
	for _, s := range tokens {
		texts = append(texts, s.Reveal())
	}
	for _, r := range as.Requests() {
		texts = append(texts, r.Get("refresh_token"), r.Get("code"), r.Get("code_verifier"))
	}
	check := func(where, text string) {
		for _, s := range texts {
			if s != "" && strings.Contains(text, s) {
				w.t.Errorf("a secret is in %s", where)
			}
		}
	}
	check("the log", w.log.String())
	check("an answer", w.seen.String())
	if strings.Contains(w.log.String(), "/oauth/login/") {
		w.t.Error("a link is in the log")
	}
	err := filepath.WalkDir(w.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		check(name, string(b))
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

// TestUserLinks: links that were changed, or are too old, or whose toolset does not
// want them any more.
func TestUserLinks(t *testing.T) {
	w, as, ts, cred, ann, _ := userWorld(t)
	link := w.link(cred, ann)
	f := func(link string, want int) {
		t.Helper()
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if got := w.page(method, link, nil).StatusCode; got != want {
				t.Errorf("%s: %d, want %d", method, got, want)
			}
		}
	}
	f(link[:len(link)-2], http.StatusNotFound)
	f(link+"A", http.StatusNotFound)
	f("http://localhost:7301/oauth/login/", http.StatusNotFound)
	f("http://localhost:7301/oauth/login/"+strings.Repeat("A", 96<<10+4), http.StatusNotFound)
	if res := w.page(http.MethodDelete, link, nil); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("another method: %d", res.StatusCode)
	}
	// The answer of another server does not end the login well.
	as.Set(oauthtest.Features{Issuer: "https://evil.example"})
	query, cookies := w.press(as, link, oauthtest.User)
	if got := w.back(query, cookies); got != http.StatusForbidden {
		t.Errorf("wrong iss: %d", got)
	}
	as.Set(oauthtest.Features{Issuer: "-"}) // it announces nothing and sends nothing
	query, cookies = w.press(as, w.link(cred, ann), oauthtest.User)
	w.later.Add(int64(11 * time.Minute))
	if got := w.back(query, cookies); got != http.StatusNotFound {
		t.Errorf("a login that took too long: %d", got)
	}
	f(link, http.StatusNotFound)
	old := w.link(cred, ann)
	w.later.Add(int64(10 * time.Minute))
	f(old, http.StatusNotFound)
	fresh := w.link(cred, ann)
	want[credential.Authentication](w, w.do("PUT", "/v1/toolsets/"+ts.ID+"/authentication", person(as)), 200)
	f(fresh, http.StatusNotFound)
}

// TestEdgeAsksForUsers: an edge gets the token of a caller sealed for it and that
// caller, only of toolsets that it serves, and learns when logins were revoked.
func TestEdgeAsksForUsers(t *testing.T) {
	w, as, ts, cred, ann, bob := userWorld(t)
	edge := w.enrolEdge(`{}`)
	ask := func(in registry.EdgeUserRequest) (out registry.EdgeUserAnswer, status int) {
		t.Helper()
		a := w.do("POST", registry.EdgeUserPath, in, "Authorization", "Bearer "+edge.id.Token.Reveal())
		if a.StatusCode != http.StatusOK {
			return out, a.StatusCode
		}
		var doc registry.SealedCredentials
		if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
			t.Fatal(err)
		}
		if _, err := edge.seal.Open(registry.SealUserInfo(edge.id.Edge, cred, &bob), doc.Sealed); err == nil {
			t.Error("it opens as that of another caller")
		}
		plain, err := edge.seal.Open(registry.SealUserInfo(edge.id.Edge, cred, &in.User), doc.Sealed)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(plain, &out); err != nil {
			t.Fatal(err)
		}
		return out, 200
	}
	got, _ := ask(registry.EdgeUserRequest{Credential: cred, User: ann})
	if got.Credential != nil || !strings.HasPrefix(got.Login, "http://localhost:7301/oauth/login/") {
		t.Fatalf("before the login: %+v", got)
	}
	query, cookies := w.press(as, got.Login, oauthtest.User)
	if status := w.back(query, cookies); status != 200 {
		t.Fatalf("the way back: %d", status)
	}
	if got, _ = ask(registry.EdgeUserRequest{Credential: cred, User: ann}); got.Credential == nil || !as.Valid("Bearer "+got.Credential.Value.Reveal()) || got.Credential.Expires == 0 {
		t.Fatalf("after the login: %+v", got.Detail)
	}
	version := got.Credential.Version
	if got, _ = ask(registry.EdgeUserRequest{Credential: cred, User: ann, Rejected: version}); got.Credential == nil || got.Credential.Version != version+1 {
		t.Fatalf("refused: %+v", got.Detail)
	}
	for _, in := range []registry.EdgeUserRequest{
		{Credential: "cred_other", User: ann},
		{Credential: cred, User: registry.User{Kind: registry.UserToken, ID: "act_x", Toolset: ts.ID}},
	} {
		if _, status := ask(in); status != http.StatusForbidden {
			t.Errorf("%+v: %d", in, status)
		}
	}
	if a := w.do("POST", registry.EdgeUserPath, registry.EdgeUserRequest{Credential: cred, User: ann}); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("who is not an edge: %d", a.StatusCode)
	}
	doc, _ := edge.credentials("")
	if len(doc.Credentials) != 0 || doc.Users == 0 {
		t.Fatalf("pushed: %d credentials, epoch %d", len(doc.Credentials), doc.Users)
	}
	list := want[struct{ Items []login.UserLogin }](w, w.do("GET", "/v1/toolsets/"+ts.ID+"/authentication/users", nil), 200).Items
	if a := w.do("DELETE", "/v1/toolsets/"+ts.ID+"/authentication/users/"+list[0].ID, nil); a.StatusCode != http.StatusNoContent {
		t.Fatal(a.StatusCode)
	}
	if after, status := edge.credentials(doc.ETag); status != 200 || after.Users == doc.Users {
		t.Errorf("a revoked login is not told: %d", status)
	}
}
