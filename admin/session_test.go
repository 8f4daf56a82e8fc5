package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/admin/request/audit"
)

// browser is a browser that shows the console: it keeps the cookie, and says where requests
// come from.
type browser struct {
	w      *world
	cookie string
}

// do sends a request of a page of the console.
func (b *browser) do(method, path string, body any, headers ...string) answer {
	b.w.t.Helper()
	h := []string{"Authorization", "", "Sec-Fetch-Site", "same-origin", "Host", "localhost:7301"}
	if b.cookie != "" {
		h = append(h, "Cookie", "sluice_session="+b.cookie)
	}
	a := b.w.do(method, path, body, append(h, headers...)...)
	for _, c := range a.Cookies() {
		if c.Name == "sluice_session" {
			b.cookie = c.Value
		}
	}
	return a
}

// secretOf is what a page takes out of a login link.
func secretOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	v, err := url.ParseQuery(u.Fragment)
	if err != nil || !strings.HasPrefix(v.Get("login"), "sll_") {
		t.Fatalf("%q has no secret: %v", link, err)
	}
	return v.Get("login")
}

func (b *browser) signIn(link string) session.Session {
	b.w.t.Helper()
	return want[session.Session](b.w, b.do("POST", "/v1/session", map[string]any{"link": secretOf(b.w.t, link)}), http.StatusOK)
}

func (w *world) firstLogin() string {
	w.t.Helper()
	link, err := w.srv.FirstLogin(w.t.Context(), w.token)
	if err != nil {
		w.t.Fatal(err)
	}
	return link
}

// invite adds a member and makes a login link for them.
func (w *world) invite(email, role string) (people.Member, string) {
	w.t.Helper()
	m := want[people.Member](w, w.do("POST", "/v1/members", map[string]any{"email": email, "role": role, "name": strings.SplitN(email, "@", 2)[0]}), http.StatusCreated)
	return m, want[session.LoginLink](w, w.do("POST", "/v1/members/"+m.ID+"/login-link", nil), http.StatusCreated).URL
}

// loginRefused checks that an answer is a problem, and that nothing was signed in.
func loginRefused(w *world, a answer, status int) front.Problem {
	w.t.Helper()
	p := want[front.Problem](w, a, status)
	if a.Header.Get("Set-Cookie") != "" {
		w.t.Errorf("a refused login sets a cookie: %v", a.Header)
	}
	return p
}

// TestSignInIsSmall: whoever is not known yet cannot make the server read much.
func TestSignInIsSmall(t *testing.T) {
	w := newWorld(t)
	b := &browser{w: w}
	for over, status := range map[int]int{0: http.StatusUnauthorized, 1: http.StatusRequestEntityTooLarge} {
		body := `{"link":"sll_unknown"}`
		body += strings.Repeat(" ", front.MaxSignInBytes+over-len(body))
		loginRefused(w, b.do("POST", "/v1/session", body), status)
	}
}

// The way in: the link that the first start prints, until somebody can sign in.
func TestFirstLogin(t *testing.T) {
	w := newWorld(t)
	link := w.firstLogin()
	if !strings.HasPrefix(link, "http://localhost:7301/#login=sll_") {
		t.Fatalf("%q", link)
	}
	b := &browser{w: w}
	loginRefused(w, b.do("GET", "/v1/session", nil), http.StatusUnauthorized)
	a := b.do("POST", "/v1/session", map[string]any{"link": secretOf(t, link)}, "User-Agent", "Firefox")
	s := want[session.Session](w, a, http.StatusOK)
	if s.Role != "admin" || s.Name != "local" || s.Member != nil || !s.Workspace.Operator || s.Workspace.ID != "default" || s.OpenedBy != "link" || s.Password != "none" || s.Version != "1.0-test" {
		t.Errorf("%+v", s)
	}
	if life, idle := s.ExpiresAt.Sub(s.CreatedAt), s.IdleExpiresAt.Sub(s.CreatedAt); life.Round(time.Minute) != 30*24*time.Hour || idle.Round(time.Minute) != 12*time.Hour {
		t.Errorf("it lives %v, idle %v", life, idle)
	}
	c := a.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || c.Domain != "" || !strings.HasPrefix(c.Value, "sls_") || c.Expires.Before(time.Now()) {
		t.Errorf("%+v", c)
	}
	if again := w.firstLogin(); again != "" {
		t.Errorf("another link while somebody is signed in: %s", again)
	}
	if read := want[session.Session](w, b.do("GET", "/v1/session", nil), http.StatusOK); read.ID != s.ID {
		t.Errorf("%+v", read)
	}
	want[admin.List[view.Toolset]](w, b.do("GET", "/v1/toolsets", nil), http.StatusOK)
	// A member whom they add is theirs to invite, and what they do names the session.
	want[people.Member](w, b.do("POST", "/v1/members", `{"email":"ada@example.com","role":"admin"}`, "Idempotency-Key", "k1"), http.StatusCreated)
	if w.do("GET", "/v1/session", nil).StatusCode != http.StatusUnauthorized {
		t.Error("an API token has a session")
	}
	list := want[admin.List[audit.AuditRecord]](w, w.do("GET", "/v1/audit", nil), http.StatusOK)
	if r := list.Items[1]; r.Action != "member.add" || r.Actor.Session != s.ID || r.Actor.Type != "token" {
		t.Errorf("%+v", r)
	}
	if a := b.do("DELETE", "/v1/session", nil); a.StatusCode != http.StatusNoContent || b.cookie != "" {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
	b.cookie = c.Value
	want[front.Problem](w, b.do("GET", "/v1/session", nil), http.StatusUnauthorized)
	if again := w.firstLogin(); again == "" {
		t.Error("nobody can sign in, and there is no link")
	}
	for _, action := range []string{"session.link", "session.open", "session.end"} {
		if !slices.Contains(w.audits(), action) {
			t.Errorf("no record of %s: %v", action, w.audits())
		}
	}
	if seen := w.log.String(); strings.Contains(seen, c.Value) || strings.Contains(seen, secretOf(t, link)) {
		t.Error("the log has a secret")
	}
}

// A link is good once, for ten minutes, and for its newest copy.
func TestLoginLinks(t *testing.T) {
	w := newWorld(t)
	m, first := w.invite("ada@example.com", "editor")
	second := want[session.LoginLink](w, w.do("POST", "/v1/members/ada@example.com/login-link", nil), http.StatusCreated)
	b := &browser{w: w}
	post := func(link string, headers ...string) answer {
		t.Helper()
		return b.do("POST", "/v1/session", map[string]any{"link": secretOf(t, link)}, headers...)
	}
	wrong := loginRefused(w, post(first), http.StatusUnauthorized)
	if s := b.signIn(second.URL); s.Member == nil || s.Member.ID != m.ID || s.Role != "editor" || s.Password != "settable" {
		t.Errorf("%+v", s)
	}
	if again := loginRefused(w, post(second.URL), http.StatusUnauthorized); again.Detail != wrong.Detail {
		t.Errorf("%q and %q", again.Detail, wrong.Detail)
	}
	// Expired: at the limit and one before.
	for _, c := range []struct {
		after  time.Duration
		status int
	}{{10*time.Minute - 5*time.Second, 200}, {10 * time.Minute, 401}} {
		l := want[session.LoginLink](w, w.do("POST", "/v1/members/"+m.ID+"/login-link", nil), http.StatusCreated)
		w.later.Add(int64(c.after))
		if a := post(l.URL); a.StatusCode != c.status {
			t.Errorf("after %v: %d", c.after, a.StatusCode)
		}
	}
	for _, body := range []string{
		`{}`, `{"link":""}`, `{"email":"ada@example.com"}`, `{"password":"x"}`, `{"link":"sll_x","email":"ada@example.com","password":"y"}`,
		`{"link":"sll_x","workspace":"default"}`,
	} {
		loginRefused(w, b.do("POST", "/v1/session", body), http.StatusBadRequest)
	}
	for _, link := range []string{"sll_x", w.token.Reveal(), "sls_" + strings.Repeat("0", 36), strings.Repeat("0", 100)} {
		loginRefused(w, b.do("POST", "/v1/session", map[string]any{"link": link}), http.StatusUnauthorized)
	}
	loginRefused(w, b.do("POST", "/v1/session", map[string]any{"link": strings.Repeat("0", 101)}), http.StatusUnprocessableEntity)
	// Of many browsers with one link, one is signed in.
	l := want[session.LoginLink](w, w.do("POST", "/v1/members/"+m.ID+"/login-link", nil), http.StatusCreated)
	var in sync.WaitGroup
	status := make([]int, 8)
	for i := range status {
		in.Go(func() {
			status[i] = (&browser{w: w}).do("POST", "/v1/session", map[string]any{"link": secretOf(t, l.URL)}).StatusCode
		})
	}
	in.Wait()
	if slices.Sort(status); status[0] != 200 || status[1] != 401 {
		t.Errorf("%v", status)
	}
	// A link of somebody who was removed.
	gone, link := w.invite("ben@example.com", "viewer")
	tag := w.do("GET", "/v1/members/"+gone.ID, nil).Header.Get("ETag")
	if a := w.do("DELETE", "/v1/members/"+gone.ID, nil, "If-Match", tag); a.StatusCode != http.StatusNoContent {
		t.Fatal(a.body)
	}
	loginRefused(w, post(link), http.StatusUnauthorized)
	// Only administrators make links for others.
	editor := &browser{w: w}
	editor.signIn(want[session.LoginLink](w, w.do("POST", "/v1/members/"+m.ID+"/login-link", nil), http.StatusCreated).URL)
	want[front.Problem](w, editor.do("POST", "/v1/members/"+m.ID+"/login-link", nil), http.StatusForbidden)
	// Everybody makes one for themselves, which lets nobody set a password.
	own := want[session.LoginLink](w, editor.do("POST", "/v1/login-link", nil), http.StatusCreated)
	if s := (&browser{w: w}).signIn(own.URL); s.Member.ID != m.ID || s.Password != "none" {
		t.Errorf("%+v", s)
	}
}

// Pages of other origins, other ports of this machine among them, and names that are not
// this listener's can neither use a session nor open one.
func TestSessionFromElsewhere(t *testing.T) {
	w := newWorld(t)
	w.publicURL, w.closed = "https://example.com", true
	w.stop()
	w.open()
	b := &browser{w: w}
	_, link := w.invite("ada@example.com", "admin")
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	elsewhere := [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"}, // another port of this machine
		{"Sec-Fetch-Site", "none"},
		{"Sec-Fetch-Site", "SAME-ORIGIN"},
		{"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost:7301"},
		{"Sec-Fetch-Site", "", "Origin", ""},
		{"Sec-Fetch-Site", "", "Origin", "null"},
		{"Sec-Fetch-Site", "", "Origin", "http://localhost:7302"},
		{"Sec-Fetch-Site", "", "Origin", "http://localhost:7301.evil.example"},
		{"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		{"Host", "evil.example", "Origin", "http://evil.example", "Sec-Fetch-Site", "same-origin"}, // DNS rebinding
	}
	for _, h := range elsewhere {
		loginRefused(w, b.do("POST", "/v1/session", map[string]any{"link": secretOf(t, link)}, h...), http.StatusForbidden)
		loginRefused(w, b.do("POST", "/v1/session", "link="+secretOf(t, link), append(form, h...)...), http.StatusForbidden)
	}
	b.signIn(link) // none of them used it up
	for _, h := range elsewhere {
		for _, c := range []struct{ method, path, body string }{
			{"POST", "/v1/tokens", `{"name":"stolen","role":"admin"}`},
			{"POST", "/v1/login-link", `{}`},
			{"PUT", "/v1/session/password", `{"password":"correct horse battery"}`},
			{"DELETE", "/v1/session", ""},
			{"GET", "/v1/session", ""},
			{"GET", "/v1/toolsets", ""},
		} {
			// Whoever types the address reads.
			if len(h) == 2 && h[1] == "none" && c.method == "GET" {
				continue
			}
			if a := b.do(c.method, c.path, c.body, h...); a.StatusCode != http.StatusForbidden || a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s %v: %d", c.method, c.path, h, a.StatusCode)
			}
		}
	}
	here := [][]string{
		{"Sec-Fetch-Site", "same-origin"},
		{"Sec-Fetch-Site", "none"},
		{"Sec-Fetch-Site", "", "Origin", "http://localhost:7301"},
		{"Sec-Fetch-Site", "", "Origin", "https://example.com", "Host", "localhost:7301"},
	}
	for _, h := range here {
		want[session.Session](w, b.do("GET", "/v1/session", nil, h...), http.StatusOK)
	}
	// A form of the console's own origin is not JSON.
	if a := b.do("POST", "/v1/tokens", "name=x&role=admin", form...); a.StatusCode < 400 {
		t.Errorf("a form was taken: %s", a.body)
	}
	// An API token is a program's, whatever page it says it is, and wins over the cookie.
	want[admin.Me](w, w.do("GET", "/v1/me", nil, "Sec-Fetch-Site", "cross-site", "Cookie", "sluice_session="+b.cookie), http.StatusOK)
	want[front.Problem](w, b.do("GET", "/v1/me", nil, "Authorization", "Bearer slu_x"), http.StatusUnauthorized)
	// A cookie opens /v1 and nothing else.
	if a := b.do("GET", "/metrics", nil); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("metrics: %d", a.StatusCode)
	}
	// Over https the cookie is never sent in the clear.
	_, link = w.invite("ben@example.com", "viewer")
	other := &browser{w: w}
	a := other.do("POST", "/v1/session", map[string]any{"link": secretOf(t, link)}, "Host", "example.com")
	if want[session.Session](w, a, http.StatusOK); !a.Cookies()[0].Secure {
		t.Error("the cookie is sent in the clear")
	}
}

// A session ends: with time, with its member or token, by a revocation, and a new login gets
// a new secret whatever cookie the browser had.
func TestSessionsEnd(t *testing.T) {
	w := newWorld(t)
	m, link := w.invite("ada@example.com", "editor")
	b := &browser{w: w, cookie: "sls_" + strings.Repeat("0", 36)} // fixation: planted by somebody
	planted := b.cookie
	b.signIn(link)
	if b.cookie == planted {
		t.Fatal("the session has the secret that somebody planted")
	}
	renew := func(b *browser) session.Session {
		t.Helper()
		return b.signIn(want[session.LoginLink](w, w.do("POST", "/v1/members/"+m.ID+"/login-link", nil), http.StatusCreated).URL)
	}
	status := func(b *browser) int { return b.do("GET", "/v1/me", nil).StatusCode }

	// A neighbour under the same domain plants the cookie of a session of its own beside it.
	other := &browser{w: w}
	_, link = w.invite("eve@example.com", "editor")
	other.signIn(link)
	for _, cookies := range []string{"sluice_session=" + other.cookie + "; sluice_session=" + b.cookie, "sluice_session=" + b.cookie + "; sluice_session=" + other.cookie} {
		if a := w.do("GET", "/v1/me", nil, "Authorization", "", "Sec-Fetch-Site", "same-origin", "Cookie", cookies); a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.body, "two sessions") {
			t.Errorf("two sessions: %d %s", a.StatusCode, a.body)
		}
	}
	// The cookie that it had before ends with another login.
	before := b.cookie
	renew(b)
	if s := status(&browser{w: w, cookie: before}); s != http.StatusUnauthorized || status(b) != http.StatusOK {
		t.Errorf("%d", s)
	}
	// Idle: at the limit and one before, each request starting it anew.
	for range 2 {
		w.later.Add(int64(12*time.Hour - time.Minute))
		if s := status(b); s != http.StatusOK {
			t.Fatalf("%d", s)
		}
	}
	w.later.Add(int64(12 * time.Hour))
	if s := status(b); s != http.StatusUnauthorized {
		t.Errorf("idle for twelve hours: %d", s)
	}
	// In any case after thirty days.
	renew(b)
	for range 65 { // 29 days and 19 hours
		w.later.Add(int64(11 * time.Hour))
		if s := status(b); s != http.StatusOK {
			t.Fatalf("%d", s)
		}
	}
	w.later.Add(int64(5 * time.Hour))
	if s := status(b); s != http.StatusUnauthorized {
		t.Errorf("after thirty days: %d", s)
	}

	// A change of the role counts at once.
	renew(b)
	want[front.Problem](w, b.do("GET", "/v1/members", nil), http.StatusForbidden)
	tag := w.do("GET", "/v1/members/"+m.ID, nil).Header.Get("ETag")
	want[people.Member](w, w.do("PATCH", "/v1/members/"+m.ID, `{"role":"admin"}`, "If-Match", tag), http.StatusOK)
	if s := want[session.Session](w, b.do("GET", "/v1/session", nil), http.StatusOK); s.Role != "admin" {
		t.Errorf("%+v", s)
	}
	want[admin.List[people.Member]](w, b.do("GET", "/v1/members", nil), http.StatusOK)

	// Listed and revoked: by themselves and by administrators, by nobody else.
	viewer, link := w.invite("ben@example.com", "viewer")
	v := &browser{w: w}
	own := v.signIn(link)
	all := want[admin.List[session.OpenSession]](w, w.do("GET", "/v1/sessions", nil), http.StatusOK)
	if len(all.Items) != 2 || all.Items[0].Member.ID != viewer.ID || all.Items[0].Current || all.Items[0].Role != "viewer" || all.Items[1].Name != "ada" {
		t.Errorf("%+v", all.Items)
	}
	mine := want[admin.List[session.OpenSession]](w, v.do("GET", "/v1/sessions", nil), http.StatusOK)
	if len(mine.Items) != 1 || mine.Items[0].ID != own.ID || !mine.Items[0].Current {
		t.Errorf("%+v", mine.Items)
	}
	want[front.Problem](w, v.do("DELETE", "/v1/sessions/"+all.Items[1].ID, nil), http.StatusNotFound)
	want[front.Problem](w, b.do("DELETE", "/v1/sessions/ses_none", nil), http.StatusNotFound)
	if a := b.do("DELETE", "/v1/sessions/"+own.ID, nil); a.StatusCode != http.StatusNoContent {
		t.Error(a.body)
	}
	if s := status(v); s != http.StatusUnauthorized {
		t.Errorf("a revoked session: %d", s)
	}

	// With the member.
	tag = w.do("GET", "/v1/members/"+viewer.ID, nil).Header.Get("ETag")
	renewed := want[session.LoginLink](w, w.do("POST", "/v1/members/"+viewer.ID+"/login-link", nil), http.StatusCreated)
	v.signIn(renewed.URL)
	if a := w.do("DELETE", "/v1/members/"+viewer.ID, nil, "If-Match", tag); a.StatusCode != http.StatusNoContent {
		t.Fatal(a.body)
	}
	if s := status(v); s != http.StatusUnauthorized {
		t.Errorf("the session of a member who was removed: %d", s)
	}
	// With the token whose link opened it, whose role it has.
	token := want[people.APIToken](w, w.do("POST", "/v1/tokens", `{"name":"laptop","role":"viewer"}`), http.StatusCreated)
	byToken := want[session.LoginLink](w, w.do("POST", "/v1/login-link", nil, "Authorization", "Bearer "+token.Token), http.StatusCreated)
	if s := v.signIn(byToken.URL); s.Role != "viewer" || s.Name != "laptop" {
		t.Errorf("%+v", s)
	}
	if a := w.do("DELETE", "/v1/tokens/"+token.ID, nil); a.StatusCode != http.StatusNoContent {
		t.Fatal(a.body)
	}
	if s := status(v); s != http.StatusUnauthorized {
		t.Errorf("the session of a token that was revoked: %d", s)
	}
	want[admin.List[session.OpenSession]](w, w.do("GET", "/v1/sessions", nil), http.StatusOK)
}

// The console is where nothing else is, and only for browsers.
func TestConsoleIsServed(t *testing.T) {
	w := newWorld(t)
	page := w.do("GET", "/", nil, "Authorization", "")
	if page.StatusCode != http.StatusOK || page.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(page.Header.Get("Content-Security-Policy"), "script-src 'self'") {
		t.Errorf("%d %v", page.StatusCode, page.Header)
	}
	if a := w.do("GET", "/toolsets/new", nil, "Accept", "text/html"); a.body != page.body {
		t.Errorf("%d %.100s", a.StatusCode, a.body)
	}
	for _, at := range []string{"/v1/none", "/toolsets/new", "/assets/none.js", "/v3/"} {
		want[front.Problem](w, w.do("GET", at, nil), http.StatusNotFound)
	}
	want[front.Problem](w, w.do("GET", "/v1/none", nil, "Accept", "text/html"), http.StatusNotFound)
	want[front.Problem](w, w.do("GET", "/", nil, "Host", "evil.example"), http.StatusForbidden)
}

const password = "correct horse battery"

// withPassword is a member with a password, and the browser that set it.
func (w *world) withPassword(email, role string) (people.Member, *browser) {
	w.t.Helper()
	m, link := w.invite(email, role)
	b := &browser{w: w}
	b.signIn(link)
	if a := b.do("PUT", "/v1/session/password", map[string]any{"password": password}); a.StatusCode != http.StatusNoContent {
		w.t.Fatal(a.body)
	}
	return m, b
}

// A password is set by invitation, and from then on with the present one only.
func TestPasswords(t *testing.T) {
	w := newWorld(t)
	m, link := w.invite("Ada@example.com", "editor")
	b := &browser{w: w}
	b.signIn(link)
	put := func(b *browser, in map[string]any, status int) answer {
		t.Helper()
		a := b.do("PUT", "/v1/session/password", in)
		if a.StatusCode != status {
			t.Errorf("%v: %d %s, want %d", in, a.StatusCode, a.body, status)
		}
		return a
	}
	for _, bad := range []string{"", "short", "ada@example.com", "aaaaaaaaaaaaaaaaa"} {
		if p := want[front.Problem](w, put(b, map[string]any{"password": bad}, 400), 400); p.Errors[0].Pointer != "#/password" {
			t.Errorf("%q: %+v", bad, p)
		}
	}
	put(b, map[string]any{"password": strings.Repeat("x", 1025)}, http.StatusUnprocessableEntity)
	put(b, map[string]any{"password": password}, http.StatusNoContent)
	if s := want[session.Session](w, b.do("GET", "/v1/session", nil), 200); s.Password != "set" {
		t.Errorf("%+v", s)
	}
	// An unlocked browser is not enough for another one.
	put(b, map[string]any{"password": "another horse battery"}, http.StatusForbidden)
	put(b, map[string]any{"password": "another horse battery", "current": "wrong horse battery"}, http.StatusForbidden)
	own := &browser{w: w}
	own.signIn(want[session.LoginLink](w, b.do("POST", "/v1/login-link", nil), http.StatusCreated).URL)
	put(own, map[string]any{"password": "another horse battery"}, http.StatusForbidden)

	// It signs in, and setting another one ends the other sessions.
	other := &browser{w: w}
	login := map[string]any{"email": "ADA@example.com", "password": password}
	if s := want[session.Session](w, other.do("POST", "/v1/session", login), 200); s.Member.ID != m.ID || s.OpenedBy != "password" || s.Role != "editor" {
		t.Errorf("%+v", s)
	}
	if w.firstLogin() != "" {
		t.Error("the next start prints a link although a member has a password")
	}
	put(other, map[string]any{"password": "another horse battery", "current": password}, http.StatusNoContent)
	for _, b := range []*browser{b, own} {
		want[front.Problem](w, b.do("GET", "/v1/session", nil), http.StatusUnauthorized)
	}
	want[session.Session](w, other.do("GET", "/v1/session", nil), http.StatusOK)
	loginRefused(w, b.do("POST", "/v1/session", login), http.StatusUnauthorized)
	login["password"], login["workspace"] = "another horse battery", "default"
	want[session.Session](w, b.do("POST", "/v1/session", login), http.StatusOK)
	login["workspace"] = "none"
	loginRefused(w, b.do("POST", "/v1/session", login), http.StatusUnauthorized)

	// A reset: the link lets its session set one, once.
	reset := &browser{w: w}
	reset.signIn(want[session.LoginLink](w, w.do("POST", "/v1/members/"+m.ID+"/login-link", nil), http.StatusCreated).URL)
	put(reset, map[string]any{"password": password}, http.StatusNoContent)
	put(reset, map[string]any{"password": "another horse battery"}, http.StatusForbidden)

	// Who is not a member has none, nor has a program, nor the session of a member's token.
	local := &browser{w: w}
	local.signIn(want[session.LoginLink](w, w.do("POST", "/v1/login-link", nil), http.StatusCreated).URL)
	put(local, map[string]any{"password": password}, http.StatusConflict)
	want[front.Problem](w, w.do("PUT", "/v1/session/password", map[string]any{"password": password}), http.StatusUnauthorized)
	laptop := want[people.APIToken](w, w.do("POST", "/v1/tokens", `{"name":"laptop","role":"viewer","member":"ada@example.com"}`), http.StatusCreated)
	byToken := want[session.LoginLink](w, w.do("POST", "/v1/login-link", nil, "Authorization", "Bearer "+laptop.Token), http.StatusCreated)
	if s := local.signIn(byToken.URL); s.Role != "viewer" || s.Member.ID != m.ID || s.Password != "none" {
		t.Errorf("%+v", s)
	}
	put(local, map[string]any{"password": "another horse battery", "current": password}, http.StatusConflict)

	for _, text := range []string{w.log.String(), w.seen.String()} {
		if strings.Contains(text, "horse battery") || strings.Contains(text, "argon2id") {
			t.Error("a password is in the log or in an answer")
		}
	}
	log := w.do("GET", "/v1/audit?limit=200", nil).body
	if strings.Contains(log, "horse") || !strings.Contains(log, `"action":"member.password"`) {
		t.Error("the audit log has a password, or not that one was set")
	}
}

// Guesses are slowed down by address and by account, unknown accounts get the same answers as
// known ones, and failed logins are in the audit log.
func TestPasswordGuessing(t *testing.T) {
	w := newWorld(t)
	m, _ := w.withPassword("ada@example.com", "admin")
	b := &browser{w: w}
	guess := func(email, from string) answer {
		t.Helper()
		return b.do("POST", "/v1/session", map[string]any{"email": email, "password": "wrong horse battery"}, "Remote", from+":4000")
	}
	known, unknown := guess("ada@example.com", "192.0.2.1"), guess("eve@example.com", "192.0.2.1")
	p, q := loginRefused(w, known, http.StatusUnauthorized), loginRefused(w, unknown, http.StatusUnauthorized)
	p.Instance, q.Instance = "", ""
	if p.Detail != q.Detail || p.Code != q.Code || len(known.Header) != len(unknown.Header) {
		t.Errorf("%+v and %+v", p, q)
	}
	// One account from many addresses: ten at once, one of them made above.
	for _, email := range []string{"ada@example.com", "eve@example.com"} {
		for i := 1; ; i++ {
			a := guess(email, fmt.Sprintf("198.51.100.%d", i))
			if a.StatusCode == http.StatusTooManyRequests {
				if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 30 || i != 10 {
					t.Errorf("%s: guess %d: %v", email, i, a.Header)
				}
				break
			}
			loginRefused(w, a, http.StatusUnauthorized)
		}
	}
	// The right password is not tried while an account is slowed down; then it is.
	right := map[string]any{"email": "ada@example.com", "password": password}
	loginRefused(w, b.do("POST", "/v1/session", right), http.StatusTooManyRequests)
	w.later.Add(int64(30 * time.Second))
	want[session.Session](w, b.do("POST", "/v1/session", right), http.StatusOK)
	// Logins that succeed cost nothing.
	for range 12 {
		w.later.Add(int64(time.Second))
		want[session.Session](w, b.do("POST", "/v1/session", right), http.StatusOK)
	}
	// One address, many accounts, and links: 30 at once, and one more in two seconds.
	taken, began := 0, w.now()
	for guess(fmt.Sprintf("user%d@example.com", taken), "203.0.113.9").StatusCode != http.StatusTooManyRequests {
		taken++
	}
	if most := 31 + int(w.now().Sub(began)/(2*time.Second)); taken < 30 || taken > most {
		t.Errorf("%d guesses from one address were taken, want 30 to %d", taken, most)
	}
	loginRefused(w, b.do("POST", "/v1/session", `{"link":"sll_x"}`, "Remote", "203.0.113.9:1"), http.StatusTooManyRequests)
	list := want[admin.List[audit.AuditRecord]](w, w.do("GET", "/v1/audit?limit=200", nil), http.StatusOK)
	failures := 0
	for _, r := range list.Items {
		if r.Action == "session.open" && r.Outcome == "refused" {
			failures++
			if r.Resource != "" && r.Resource != m.ID || r.Actor.Type != "unknown" || strings.Contains(fmt.Sprint(r), "eve@") {
				t.Errorf("%+v", r)
			}
		}
	}
	if failures < 5 {
		t.Errorf("%d failed logins in the audit log", failures)
	}
}
