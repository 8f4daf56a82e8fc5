package login

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// TestCookieOfALogin: over TLS only this host can plant it, it goes with no request of
// another site but the way back, no script reads it, and only the browser that has its value
// holds it.
func TestCookieOfALogin(t *testing.T) {
	for redirect, want := range map[string]string{
		"https://sluice.example" + CallbackPath: "__Host-sluice-login-l1=VALUE; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Lax",
		"http://127.0.0.1:1" + CallbackPath:     "sluice-login-l1=VALUE; Path=" + CallbackPath + "; Max-Age=60; HttpOnly; SameSite=Lax",
	} {
		value, sum := newBrowser()
		c := cookieOf("l1", redirect)
		w := httptest.NewRecorder()
		c.Set(w, value, 60)
		if got := strings.Replace(w.Header().Get("Set-Cookie"), value.Reveal(), "VALUE", 1); got != want {
			t.Errorf("%s: %s", redirect, got)
		}
		empty := sha256.Sum256(nil)
		for what, x := range map[string]struct {
			name, value string
			sum         []byte
			want        bool
		}{
			"its own": {c.Name, value.Reveal(), sum, true}, "another value": {c.Name, value.Reveal() + "x", sum, false}, "another login's": {c.Name + "2", value.Reveal(), sum, false},
			"of nobody": {c.Name, value.Reveal(), nil, false}, "nothing": {c.Name, "", sum, false}, "nothing of nothing": {"", "", empty[:], false},
		} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if x.name != "" {
				r.AddCookie(&http.Cookie{Name: x.name, Value: x.value})
			}
			if got := c.heldBy(r, x.sum); got != x.want {
				t.Errorf("%s, %s: held %v", redirect, what, got)
			}
		}
	}
	a, sum := newBrowser()
	b, _ := newBrowser()
	if want := sha256.Sum256([]byte(a.Reveal())); a.Equal(b) || string(sum) != string(want[:]) {
		t.Error("two browsers have one cookie, or what is kept of it is something else")
	}
}

// TestButtonIsPressedHere: a form that a browser says another site sent presses no button.
func TestButtonIsPressedHere(t *testing.T) {
	for _, c := range []struct {
		site, origin string
		ok           bool
	}{
		{"", "", true},
		{"same-origin", "", true},
		{"same-origin", "https://sluice.example", true},
		{"", "https://sluice.example", true},
		{"", "https://SLUICE.example", true},
		{"", "null", true},
		{"same-site", "", false},
		{"cross-site", "", false},
		{"none", "", false},
		{"cross-site", "https://sluice.example", false},
		{"same-origin", "https://evil.example", false},
		{"", "https://evil.example", false},
		{"", "https://sluice.example:8443", false},
		{"", "https://sluice.example.evil", false},
		{"", "://", false},
	} {
		r := httptest.NewRequest(http.MethodPost, "https://sluice.example/x", nil)
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if err := pressedHere(r); (err == nil) != c.ok || err != nil && !problem.Is(err, problem.Forbidden) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	of := &request.Request{}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r = r.WithContext(request.With(r.Context(), of))
	err := refuseBrowser(r, "acme", "a", "r", "100 % again")
	if !problem.Is(err, problem.Forbidden) || !strings.Contains(err.Error(), "100 % again") || of.Refused == nil || of.Refused.Workspace != "acme" || of.Refused.Action != "a" || of.Refused.Resource != "r" || of.Refused.Reason == "" {
		t.Errorf("%v, recorded %+v", err, of.Refused)
	}
}

// TestWhenATokenIsDue: a minute before its end, or a tenth of its life where that is less; one
// without an end never is.
func TestWhenATokenIsDue(t *testing.T) {
	now := time.Unix(1e9, 0)
	for life, early := range map[time.Duration]time.Duration{
		time.Hour: time.Minute, 10 * time.Minute: time.Minute, 10*time.Minute - 10: time.Minute - 1, 100 * time.Second: 10 * time.Second, 0: 0, -time.Minute: 0,
	} {
		if got := due(now, now.Add(life)); !got.Equal(now.Add(life - early)) {
			t.Errorf("of %s: %s before its end", life, now.Add(life).Sub(got))
		}
	}
	if got := due(now, time.Time{}); !got.IsZero() {
		t.Errorf("without an end: %s", got)
	}
}

// TestWhoseTokens: those of all calls, or of one caller, who is told from every other.
func TestWhoseTokens(t *testing.T) {
	s := &Secrets{}
	all := tokenOf("cred", nil)
	if all.UserKey != "" || all.Kind != "" || all.CredentialID != "cred" || s.cacheOf(all) != &s.shared {
		t.Errorf("of all: %+v", all)
	}
	ann := registry.User{Kind: registry.UserJWT, ID: "ann", Issuer: "https://id.example"}
	one := tokenOf("cred", &ann)
	if one.UserKey != ann.Key() || one.Kind != ann.Kind || one.Issuer != ann.Issuer || one.Subject != "ann" || s.cacheOf(one) != &s.users {
		t.Errorf("of one: %+v", one)
	}
	holder := registry.User{Kind: registry.UserToken, ID: "tok_1", Toolset: "t"}
	for want, c := range map[string]struct {
		user  registry.User
		names map[string]string
	}{
		"ann, as id.example knows them":               {ann, map[string]string{"ann": "never"}},
		"whoever holds the access token tok_1":        {holder, nil},
		"whoever holds the access token “for Claude”": {holder, map[string]string{"tok_1": "for Claude"}},
	} {
		if got := describeUser(&c.user, c.names); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	now := time.Unix(1e9, 0)
	row := &store.OAuthToken{ID: "usr_1", CredentialID: "cred", Kind: registry.UserToken, Subject: "tok_1", Sealed: []byte("x"), ExpiresAt: store.Time{Time: now.Add(time.Hour)}}
	names := map[string]string{"tok_1": "for Claude"}
	if u := showUser(row, names, now); u.Name != "for Claude" || u.State != "ok" || u.ID != "usr_1" || u.CredentialID != "cred" || u.ExpiresAt == nil {
		t.Errorf("%+v", u)
	}
	row.Kind = registry.UserJWT
	if u := showUser(row, names, now); u.Name != "" || u.Subject != "tok_1" {
		t.Errorf("a person has the name of a token: %+v", u)
	}
}

// TestStepsOfALogin: who the audit log says took each step, and of what.
func TestStepsOfALogin(t *testing.T) {
	l := &record{Toolset: "shop", Token: "token_1"}
	for purpose, want := range map[string][3]string{
		store.LoginCredential: {"authentication.authorize shop", "authentication.confirm shop", "authentication.login shop"},
		store.LoginServer:     {"mcp.login.begin login_1", "mcp.login.confirm login_1", "mcp.login login_1"},
	} {
		row := &store.OAuthLogin{ID: "login_1", Purpose: purpose}
		for step, text := range want {
			rec := l.audit(t.Context(), row, step)
			actor := "token_1"
			if step == loginBegun {
				actor = "server" // as the request says
			}
			if got := rec.Action + " " + rec.Resource; got != text || rec.ActorID != actor {
				t.Errorf("%s: by %s, want %s by %s", got, rec.ActorID, text, actor)
			}
		}
	}
	l.User = &registry.User{ID: strings.Repeat("a", 300)}
	if rec := l.audit(t.Context(), &store.OAuthLogin{Purpose: store.LoginUser}, loginBegun); rec.ActorType != "user" || len(rec.ActorID) > 204 || !strings.HasPrefix(rec.ActorID, "aaa") {
		t.Errorf("by %s %d", rec.ActorType, len(rec.ActorID))
	}
	l.Redirect = "https://sluice.example/base" + CallbackPath
	link := l.link("login_1", "https://id.example/page")
	if !strings.HasPrefix(link, "https://sluice.example/base"+ConfirmPath+"login_1.") || l.Page != "https://id.example/page" || !strings.HasSuffix(link, "."+l.Confirm.Reveal()) || len(l.Confirm.Reveal()) < 40 {
		t.Errorf("the link is %s", link)
	}
}

// TestClientOfAServer: what a login at a server was begun with, or what was found there.
func TestClientOfAServer(t *testing.T) {
	l := &record{Redirect: "r", Server: new(serverLogin)}
	l.Server.AuthType = registry.AuthOIDC
	l.Server.Shape = credential.Shape{Issuer: "i", AuthorizationURL: "a", TokenURL: "t", ClientID: "c", TokenAuth: "m", Audience: "aud", Resource: "res", Scopes: []string{"s"}}
	l.Server.Secret = secrets.Wire{Secret: secrets.New("secret")}
	cfg := l.config()
	if cfg.Issuer != "i" || cfg.AuthorizationURL != "a" || cfg.TokenURL != "t" || cfg.ClientID != "c" || cfg.AuthMethod != "m" || cfg.Audience != "aud" || cfg.Resource != "res" || cfg.RedirectURL != "r" || len(cfg.Scopes) != 1 || cfg.ClientSecret.Reveal() != "secret" {
		t.Errorf("%+v", cfg)
	}
	l.Client = &credential.Client{Issuer: "found", TokenURL: "tt", Redirect: "rr"}
	if cfg = l.config(); cfg.Issuer != "found" || cfg.TokenURL != "tt" || cfg.RedirectURL != "rr" || cfg.ClientID != "c" {
		t.Errorf("%+v", cfg)
	}
}
