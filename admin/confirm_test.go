package admin_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/problem"
)

// operatorLogins are the two ways to begin a login that is the operator's own: of a
// toolset's credential, and of an MCP server that is not a toolset yet.
func operatorLogins(t *testing.T, f func(t *testing.T, w *world, as *oauthtest.Server, begin func() (link string), action string, lifetime time.Duration)) {
	t.Run("credential", func(t *testing.T) {
		w, as, ts := oauthWorld(t)
		auth := "/v1/toolsets/" + ts.ID + "/authentication"
		want[credential.Authentication](w, w.do("PUT", auth, person(as)), 200)
		f(t, w, as, func() string {
			return want[login.Authorization](w, w.do("POST", auth+"/authorize", nil, "Host", "localhost:7301"), 200).AuthorizationURL
		}, "authentication.login", 10*time.Minute)
	})
	t.Run("server", func(t *testing.T) {
		w, as := newWorld(t), oauthtest.New(t)
		server := w.resource(`{"resource":"SELF/mcp","authorization_servers":["` + as.Issuer() + `"]}`)
		f(t, w, as, func() string {
			return want[login.ServerLoginState](w, w.do("POST", "/v1/mcp/logins", map[string]any{"url": server}, "Host", "localhost:7301"), 200).AuthorizationURL
		}, "mcp.login", time.Hour)
	})
}

// refusals are the audit records of an action that was refused.
func (w *world) refusals(action string) (reasons []string) {
	w.t.Helper()
	for _, r := range want[struct{ Items []audit.AuditRecord }](w, w.do("GET", "/v1/audit?limit=200", nil), 200).Items {
		if r.Action == action && r.Outcome == "refused" {
			reasons = append(reasons, r.Reason)
		}
	}
	return reasons
}

// TestLoginStaysInItsBrowser: an operator's login ends only in the browser in which
// its link was confirmed, once. The address of the authorization server is nowhere
// before that, and neither it nor the way back is of use to anybody else.
func TestLoginStaysInItsBrowser(t *testing.T) {
	operatorLogins(t, func(t *testing.T, w *world, as *oauthtest.Server, begin func() string, action string, _ time.Duration) {
		link := begin()
		if !strings.HasPrefix(link, "http://localhost:7301/oauth/confirm/") || strings.Contains(link, "state=") {
			t.Fatalf("the link is %s", link)
		}
		page, cookies := w.confirm(link)
		if at, err := url.Parse(page); err != nil || !strings.HasPrefix(page, as.AuthorizationURL()) || at.Query().Get("state") == "" || at.Query().Get("code_challenge") == "" {
			t.Fatalf("the button leads to %s", page)
		}
		if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].Secure || cookies[0].Path != "/oauth/callback" || cookies[0].MaxAge < 1 {
			t.Fatalf("cookies %+v", cookies)
		}
		query := w.enter(as, page, oauthtest.User)
		for name, held := range map[string][]*http.Cookie{
			"no cookie":      nil,
			"another value":  {{Name: cookies[0].Name, Value: strings.Repeat("A", 43)}},
			"an empty value": {{Name: cookies[0].Name, Value: ""}},
			"another name":   {{Name: cookies[0].Name + "x", Value: cookies[0].Value}},
		} {
			before := len(w.refusals(action))
			status, text := w.callback(query, held...)
			if status != http.StatusForbidden || !strings.Contains(text, "begun in another browser") {
				t.Errorf("%s: %d %s", name, status, text)
			}
			if got := w.refusals(action); len(got) != before+1 || !strings.Contains(got[0], "another browser") {
				t.Errorf("%s: the audit log has the refusals %q, had %d", name, got, before)
			}
		}
		if got := w.back(query, cookies); got != http.StatusOK {
			t.Fatalf("the browser that confirmed: %d", got)
		}
		if got := w.back(query, cookies); got != http.StatusNotFound {
			t.Errorf("the way back again: %d", got)
		}
		if !slices.Contains(w.audits(), action) {
			t.Errorf("audit %v", w.audits())
		}
		// The cookie of one login does not finish the next one.
		page, _ = w.confirm(begin())
		if got := w.back(w.enter(as, page, oauthtest.User), cookies); got != http.StatusForbidden {
			t.Errorf("with the cookie of an earlier login: %d", got)
		}
		if strings.Contains(w.log.String(), "/oauth/confirm/c") || strings.Contains(w.log.String(), "/oauth/confirm/l") {
			t.Error("a link is in the log")
		}
	})
}

// TestConfirmPage: what the page in front of a login says, and which links and
// presses of its button are refused.
func TestConfirmPage(t *testing.T) {
	operatorLogins(t, func(t *testing.T, w *world, as *oauthtest.Server, begin func() string, _ string, lifetime time.Duration) {
		link := begin()
		f := func(method, link string, status int, text string, headers ...string) {
			t.Helper()
			res := w.page(method, link, nil, headers...)
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != status || !strings.Contains(string(body), text) {
				t.Errorf("%s %s: %d %s (%v), want %d %q", method, link, res.StatusCode, body, err, status, text)
			}
		}
		for range 2 { // looking does not use it up
			res := w.page(http.MethodGet, link, nil)
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK || len(res.Cookies()) != 0 {
				t.Fatalf("the page: %d, cookies %v, %v", res.StatusCode, res.Cookies(), err)
			}
			text := string(body)
			for _, part := range []string{strings.TrimPrefix(as.URL, "http://"), "Go on only if you began it yourself", `<form method="post">`} {
				if !strings.Contains(text, part) {
					t.Errorf("the page does not say %q: %s", part, text)
				}
			}
			if strings.Contains(text, "state=") || strings.Contains(text, "src=") || strings.Contains(text, "href=") {
				t.Errorf("the page leads elsewhere: %s", text)
			}
			if csp := res.Header.Get("Content-Security-Policy"); csp != "default-src 'none'; frame-ancestors 'none'" {
				t.Errorf("policy %q", csp)
			}
			if res.Header.Get("Referrer-Policy") != "no-referrer" || res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", res.Header)
			}
		}
		f(http.MethodDelete, link, http.StatusMethodNotAllowed, "DELETE")
		f(http.MethodPost, link, http.StatusForbidden, "another site", "Sec-Fetch-Site", "cross-site")
		f(http.MethodPost, link, http.StatusForbidden, "another site", "Sec-Fetch-Site", "same-site")
		f(http.MethodPost, link, http.StatusForbidden, "another site", "Origin", "https://evil.example")
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			f(method, link[:len(link)-1], http.StatusNotFound, "expired or already used")
			f(method, link+"A", http.StatusNotFound, "expired or already used")
			f(method, link[:strings.LastIndexByte(link, '.')+1], http.StatusNotFound, "expired or already used")
			f(method, link[:strings.LastIndexByte(link, '.')], http.StatusNotFound, "expired or already used")
			f(method, "http://localhost:7301/oauth/confirm/", http.StatusNotFound, "expired or already used")
			f(method, "http://localhost:7301/oauth/confirm/cred_unknown.x", http.StatusNotFound, "expired or already used")
			f(method, "http://localhost:7301/oauth/confirm/login_unknown.x", http.StatusNotFound, "expired or already used")
			f(method, "http://localhost:7301/oauth/confirm/a."+strings.Repeat("x", 127), http.StatusNotFound, "expired or already used")
		}
		w.confirm(link)
		f(http.MethodGet, link, http.StatusNotFound, "expired or already used")
		f(http.MethodPost, link, http.StatusNotFound, "expired or already used")
		// Time is over, at the moment it says, for the link and for the way back.
		link = begin()
		page, cookies := w.confirm(begin())
		query := w.enter(as, page, oauthtest.User)
		w.later.Add(int64(lifetime))
		f(http.MethodGet, link, http.StatusNotFound, "expired or already used")
		f(http.MethodPost, link, http.StatusNotFound, "expired or already used")
		if got := w.back(query, cookies); got != http.StatusNotFound {
			t.Errorf("the way back too late: %d", got)
		}
	})
}

// TestConfirmOverTLS: behind an https address the cookie is one that no neighbour in
// the domain can plant.
func TestConfirmOverTLS(t *testing.T) {
	w, as, ts := oauthWorld(t)
	w.publicURL = "https://localhost:7301"
	w.stop()
	w.open()
	auth := "/v1/toolsets/" + ts.ID + "/authentication"
	conf := person(as)
	conf["clientId"], conf["scopes"] = oauthtest.PublicClient, []string{"openid"}
	delete(conf, "clientSecret")
	want[credential.Authentication](w, w.do("PUT", auth, conf), 200)
	begun := want[login.Authorization](w, w.do("POST", auth+"/authorize", nil), 200)
	if !strings.HasPrefix(begun.AuthorizationURL, "https://localhost:7301/oauth/confirm/") {
		t.Fatalf("the link is %s", begun.AuthorizationURL)
	}
	page, cookies := w.confirm(begun.AuthorizationURL)
	if len(cookies) != 1 || !strings.HasPrefix(cookies[0].Name, "__Host-") || !cookies[0].Secure || cookies[0].Path != "/" || cookies[0].Domain != "" {
		t.Fatalf("cookies %+v", cookies)
	}
	at, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	// The person says no at the authorization server.
	query := url.Values{"state": {at.Query().Get("state")}, "error": {"access_denied"}, "iss": {as.Issuer()}}.Encode()
	plain := []*http.Cookie{{Name: strings.TrimPrefix(cookies[0].Name, "__Host-"), Value: cookies[0].Value}}
	if got := w.back(query, plain); got != http.StatusForbidden {
		t.Errorf("a cookie that a neighbour can plant: %d", got)
	}
	if got := w.back(query, cookies); got != http.StatusUnauthorized {
		t.Errorf("the way back: %d", got)
	}
	if _, _, err := w.secret(t.Context(), begun.CredentialID); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("the token: %v", err)
	}
}
