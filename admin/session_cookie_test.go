package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/member/session"
)

// Over https the cookies of a session and of a challenge are of this host only: a browser
// takes none with their names from a neighbour in the domain, and one without the prefix,
// which a neighbour can set, is nothing.
func TestSessionOfThisHostOnly(t *testing.T) {
	w := newWorld(t)
	w.publicURL = "https://example.com"
	w.stop()
	w.open()
	m, link := w.invite("ada@example.com", "editor")
	page := &browser{w: w}
	public := []string{"Host", "example.com"} // the public name, where TLS is spoken
	over := func(method, path string, body any, cookies ...string) answer {
		h := public
		if len(cookies) > 0 {
			h = append([]string{"Cookie", strings.Join(cookies, "; ")}, public...)
		}
		return page.do(method, path, body, h...)
	}
	a := over("POST", "/v1/session", map[string]any{"link": secretOf(t, link)})
	want[session.Session](w, a, http.StatusOK)
	const name = "__Host-sluice_session"
	first := a.Cookies()[0]
	if first.Name != name || !first.Secure || first.Path != "/" || first.Domain != "" {
		t.Fatalf("the cookie is %+v", first)
	}
	for _, row := range []struct {
		cookies []string
		status  int
	}{
		{[]string{name + "=" + first.Value}, http.StatusOK},
		{[]string{"sluice_session=" + first.Value}, http.StatusUnauthorized},
		{[]string{"sluice_session=sls_" + strings.Repeat("0", 36), name + "=" + first.Value}, http.StatusOK}, // planted beside it
	} {
		if a := over("GET", "/v1/me", nil, row.cookies...); a.StatusCode != row.status {
			t.Errorf("%.30q: %d %s", row.cookies, a.StatusCode, a.body)
		}
	}
	if s := w.do("GET", "/v1/me", nil, "Authorization", "", "Sec-Fetch-Site", "same-origin", "Host", "localhost:7301", "Cookie", name+"="+first.Value).StatusCode; s != http.StatusUnauthorized {
		t.Errorf("the cookie of https over http: %d", s)
	}
	// Another login ends that session, and a planted cookie ends none.
	again := want[session.LoginLink](w, w.do("POST", "/v1/members/"+m.ID+"/login-link", nil), http.StatusCreated).URL
	second := over("POST", "/v1/session", map[string]any{"link": secretOf(t, again)}, name+"="+first.Value, "sluice_session=x").Cookies()[0]
	if s := over("GET", "/v1/me", nil, name+"="+first.Value).StatusCode; s != http.StatusUnauthorized {
		t.Errorf("the session before: %d", s)
	}
	challenge := over("POST", "/v1/session/passkey", nil).Cookies()[0]
	if challenge.Name != "__Host-sluice_passkey" || !challenge.Secure || challenge.Path != "/" {
		t.Errorf("the challenge: %+v", challenge)
	}
	out := over("DELETE", "/v1/session", nil, name+"="+second.Value)
	if c := out.Cookies()[0]; out.StatusCode != http.StatusNoContent || c.Name != name || !c.Secure || c.Value != "" {
		t.Errorf("signed out: %d %+v", out.StatusCode, c)
	}
}
