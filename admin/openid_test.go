package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/member/oidc"
	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/secrets"
)

const openIDRedirect = "http://localhost:7301/openid/callback"

// openIDWorld is a world whose members sign in at a provider.
func openIDWorld(t *testing.T) (*world, *oauthtest.Server) {
	t.Helper()
	w, as := newWorld(t), oauthtest.New(t)
	id, secret, err := as.Register(openIDRedirect)
	if err != nil {
		t.Fatal(err)
	}
	w.openID = oidc.Config{Issuer: as.Issuer(), ClientID: id, ClientSecret: secrets.New(secret), Name: "Acme", GroupsClaim: "preferred_username"}
	w.stop()
	w.open()
	return w, as
}

// toProvider begins a login, and returns where the provider sends the browser back to and the
// cookies that it has.
func (w *world) toProvider(as *oauthtest.Server, back, user string) (address string, cookies []*http.Cookie) {
	w.t.Helper()
	res := w.page(http.MethodGet, "http://localhost:7301/openid/login?back="+url.QueryEscape(back), nil)
	if res.StatusCode != http.StatusSeeOther {
		w.t.Fatalf("a login begins with %d: %s", res.StatusCode, w.seen.String())
	}
	page := res.Header.Get("Location")
	for _, part := range []string{"code_challenge_method=S256", "nonce=", "state=", "response_type=code"} {
		if !strings.Contains(page, part) {
			w.t.Errorf("the page %s has no %s", page, part)
		}
	}
	address, _, err := as.LoginAs(nil, page, user, oauthtest.Password, openIDRedirect)
	if err != nil {
		w.t.Fatal(err)
	}
	return address, res.Cookies()
}

// TestOpenID: a member signs in at a provider, and nobody else does.
func TestOpenID(t *testing.T) {
	w, as := openIDWorld(t)
	const email = "test-user2@zitadel.ch"
	refused := func(what, address string, cookies []*http.Cookie, status int, says string) {
		t.Helper()
		before := len(w.seen.String())
		res := w.page(http.MethodGet, address, cookies)
		if page := w.seen.String()[before:]; res.StatusCode != status || !strings.Contains(page, says) {
			t.Errorf("%s: %d, want %d and %q in %s", what, res.StatusCode, status, says, page)
		}
		for _, c := range res.Cookies() {
			if c.Name == "sluice_session" {
				t.Errorf("%s: it got a session", what)
			}
		}
	}
	address, cookies := w.toProvider(as, "/toolsets", oauthtest.User)
	refused("no member", address, cookies, http.StatusForbidden, email+" is not a member")
	want[map[string]any](w, w.do("POST", "/v1/members", map[string]any{"email": email, "name": "Ann", "role": "viewer"}), http.StatusCreated)
	refused("a code that was used", address, cookies, http.StatusUnauthorized, "is not a login")

	address, cookies = w.toProvider(as, "/toolsets?x=1", oauthtest.User)
	_, others := w.toProvider(as, "/", oauthtest.User)
	refused("another browser", address, nil, http.StatusUnauthorized, "begun in another browser")
	refused("the cookie of another login", address, others, http.StatusUnauthorized, "begun in another browser")
	planted := *cookies[0]
	planted.Value = planted.Value[:len(planted.Value)-4] + "AAAA"
	refused("a changed cookie", address, []*http.Cookie{&planted}, http.StatusUnauthorized, "begun in another browser")
	res := w.page(http.MethodGet, address, cookies)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/toolsets?x=1" {
		t.Fatalf("the way back: %d to %q: %s", res.StatusCode, res.Header.Get("Location"), w.seen.String())
	}
	var opened *http.Cookie
	for _, c := range res.Cookies() {
		if c.Name == "sluice_session" {
			opened = c
		}
	}
	if opened == nil || !opened.HttpOnly || opened.SameSite != http.SameSiteStrictMode {
		t.Fatalf("the session: %+v", opened)
	}
	got := want[session.Session](w, w.do("GET", "/v1/session", nil, "Authorization", "", "Cookie", "sluice_session="+opened.Value, "Sec-Fetch-Site", "same-origin"), 200)
	if got.OpenedBy != "openid" || got.Role != "viewer" || got.Member == nil || got.Member.Email != email || got.Password != "none" {
		t.Errorf("the session is %+v", got)
	}
	_, cookies = w.toProvider(as, "/", oauthtest.User)
	refused("refused by the provider", openIDRedirect+"?error=access_denied&state=x", cookies, http.StatusUnauthorized, "another browser")

	address, cookies = w.toProvider(as, "/", oauthtest.User)
	w.later.Add(int64(oidc.Life) + int64(time.Second))
	refused("too late", address, cookies, http.StatusUnauthorized, "has expired")
	for _, back := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"} {
		w.later.Store(0)
		address, cookies = w.toProvider(as, back, oauthtest.User)
		if res := w.page(http.MethodGet, address, cookies); res.Header.Get("Location") != "/" {
			t.Errorf("%q leads to %q", back, res.Header.Get("Location"))
		}
	}
	ways := want[admin.SignInWays](w, w.do("GET", "/v1/sign-in", nil, "Authorization", ""), 200)
	if ways.OpenID == nil || ways.OpenID.Name != "Acme" || ways.OpenID.URL != "/openid/login" {
		t.Errorf("the ways to sign in: %+v", ways.OpenID)
	}
	shown := want[admin.OpenIDConnect](w, w.do("GET", "/v1/openid-connect", nil, "Host", "localhost:7301"), 200)
	if !shown.Enabled || shown.RedirectURL != openIDRedirect || !shown.Secret || strings.Contains(w.seen.String(), w.openID.ClientSecret.Reveal()) {
		t.Errorf("the configuration is shown as %+v", shown)
	}
}

// TestOpenIDRoles: groups of the provider make members and give them their roles.
func TestOpenIDRoles(t *testing.T) {
	w, as := openIDWorld(t)
	role := func(roles map[string]string, user string) int {
		t.Helper()
		w.openID.Roles = roles
		w.stop()
		w.open()
		address, cookies := w.toProvider(as, "/", user)
		return w.page(http.MethodGet, address, cookies).StatusCode
	}
	member := func() string {
		t.Helper()
		return want[struct{ Role string }](w, w.do("GET", "/v1/members/test-user2@zitadel.ch", nil), 200).Role
	}
	if got := role(map[string]string{"somebody": "admin"}, oauthtest.User); got != http.StatusForbidden {
		t.Errorf("in no group with a role: %d", got)
	}
	if got := role(map[string]string{"somebody": "admin", oauthtest.User: "viewer"}, oauthtest.User); got != http.StatusSeeOther || member() != "viewer" {
		t.Errorf("a new member: %d, %s", got, member())
	}
	if got := role(map[string]string{oauthtest.User: "publisher"}, oauthtest.User); got != http.StatusSeeOther || member() != "publisher" {
		t.Errorf("another role: %d, %s", got, member())
	}
	if got := role(nil, oauthtest.User); got != http.StatusSeeOther || member() != "publisher" {
		t.Errorf("without roles: %d, %s", got, member())
	}
	log := w.do("GET", "/v1/audit?limit=50", nil).body
	for _, part := range []string{`"member.add"`, `"member.update"`, `"groups at Acme"`, "none of your groups at Acme"} {
		if !strings.Contains(log, part) {
			t.Errorf("the audit log has no %s", part)
		}
	}
}

// TestOpenIDUnavailable: a provider that does not answer, and a node that has none.
func TestOpenIDUnavailable(t *testing.T) {
	w := newWorld(t)
	if res := w.page(http.MethodGet, "http://localhost:7301/openid/login", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("without a provider: %d", res.StatusCode)
	}
	if ways := want[admin.SignInWays](w, w.do("GET", "/v1/sign-in", nil, "Authorization", ""), 200); ways.OpenID != nil {
		t.Errorf("without a provider: %+v", ways.OpenID)
	}
	w.openID = oidc.Config{Issuer: "http://127.0.0.1:9", ClientID: "x"}
	w.stop()
	w.open()
	if res := w.page(http.MethodGet, "http://localhost:7301/openid/login", nil); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(w.seen.String(), "cannot be asked") {
		t.Errorf("a dead provider: %d", res.StatusCode)
	}
	if res := w.page(http.MethodPost, "http://localhost:7301/openid/login", nil); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", res.StatusCode)
	}
}
