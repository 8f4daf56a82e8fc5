package admin_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/member/passkey"
	"github.com/sluicegate/sluice/admin/member/passkey/passkeytest"
	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/admin/request/audit"
)

const itsPassword = "correct horse battery"

// member invites somebody who sets a password and stays signed in.
func (w *world) member(email, role string) (*browser, session.Session) {
	w.t.Helper()
	_, link := w.invite(email, role)
	b := &browser{w: w}
	b.signIn(link)
	if a := b.do("PUT", "/v1/session/password", map[string]any{"password": itsPassword}); a.StatusCode != http.StatusNoContent {
		w.t.Fatal(a.body)
	}
	return b, want[session.Session](w, b.do("GET", "/v1/session", nil), http.StatusOK)
}

// addPasskey makes a passkey and registers it.
func (b *browser) addPasskey(a *passkeytest.Authenticator, name string) passkey.Passkey {
	b.w.t.Helper()
	c := want[passkey.NewChallenge](b.w, b.do("POST", "/v1/passkeys/challenge", map[string]any{"current": itsPassword}), http.StatusOK)
	return want[passkey.Passkey](b.w, b.do("POST", "/v1/passkeys", a.Make(b.w.t, &c, name)), http.StatusCreated)
}

// challenge asks for a challenge, and returns it with the cookie of the browser.
func (b *browser) challenge() (challenge, cookie string) {
	b.w.t.Helper()
	a := b.do("POST", "/v1/session/passkey", nil)
	c := want[passkey.SignInChallenge](b.w, a, http.StatusOK)
	got := a.Cookies()[0]
	if got.Name != "sluice_passkey" || !got.HttpOnly || got.SameSite != http.SameSiteStrictMode || got.Path != "/v1/session" || c.RPID != "localhost" || c.UserVerification != "required" || len(c.Challenge) != 43 {
		b.w.t.Errorf("%+v %+v", got, c)
	}
	return c.Challenge, got.Value
}

// use signs in with a passkey.
func (b *browser) use(in *passkey.Assertion, cookie string) answer {
	b.w.t.Helper()
	both := "sluice_passkey=" + cookie
	if b.cookie != "" {
		both += "; sluice_session=" + b.cookie
	}
	return b.do("POST", "/v1/session", map[string]any{"passkey": in}, "Cookie", both)
}

func ownKey() *passkeytest.Authenticator {
	return &passkeytest.Authenticator{Origin: "http://localhost:7301", Host: "localhost", Count: 1}
}

// A passkey signs its member in, in another browser too, and is listed, renamed and removed.
func TestPasskeys(t *testing.T) {
	w := newWorld(t)
	ada, _ := w.member("ada@example.com", "editor")
	key := ownKey()
	if c := want[passkey.NewChallenge](w, ada.do("POST", "/v1/passkeys/challenge", map[string]any{"current": itsPassword}), http.StatusOK); c.RP.ID != "localhost" || c.User.Name != "ada@example.com" ||
		c.AuthenticatorSelection.ResidentKey != "required" || c.AuthenticatorSelection.UserVerification != "required" || c.Attestation != "none" || len(c.PubKeyCredParams) != 3 || c.PubKeyCredParams[0].Alg != -7 || len(c.ExcludeCredentials) != 0 {
		t.Errorf("%+v", c)
	}
	p := ada.addPasskey(key, " Laptop ")
	if p.Name != "Laptop" || p.Host != "localhost" || p.Synced || p.UsedAt != nil || p.DoubtedAt != nil || !strings.HasPrefix(p.ID, "pkey_") {
		t.Errorf("%+v", p)
	}
	if c := want[passkey.NewChallenge](w, ada.do("POST", "/v1/passkeys/challenge", map[string]any{"current": itsPassword}), http.StatusOK); len(c.ExcludeCredentials) != 1 || !slices.Equal(c.ExcludeCredentials[0].Transports, []string{"internal", "hybrid"}) {
		t.Errorf("%+v", c.ExcludeCredentials)
	}

	other := &browser{w: w}
	challenge, cookie := other.challenge()
	signed := key.Sign(t, challenge)
	s := want[session.Session](w, other.use(signed, cookie), http.StatusOK)
	if s.Member == nil || s.Member.Email != "ada@example.com" || s.Role != "editor" || s.OpenedBy != "passkey" || s.Password != "set" {
		t.Errorf("%+v", s)
	}
	list := want[admin.List[passkey.Passkey]](w, other.do("GET", "/v1/passkeys", nil), http.StatusOK)
	if len(list.Items) != 1 || list.Items[0].ID != p.ID || list.Items[0].UsedAt == nil {
		t.Errorf("%+v", list.Items)
	}
	// What was signed is good once.
	loginRefused(w, (&browser{w: w}).use(signed, cookie), http.StatusUnauthorized)

	// Renamed, with the version that was read.
	read := other.do("GET", "/v1/passkeys/"+p.ID, nil)
	if named := want[passkey.Passkey](w, other.do("PATCH", "/v1/passkeys/"+p.ID, `{"name":"Old laptop"}`, "If-Match", read.Header.Get("ETag")), http.StatusOK); named.Name != "Old laptop" {
		t.Errorf("%+v", named)
	}
	want[front.Problem](w, other.do("PATCH", "/v1/passkeys/"+p.ID, `{"name":"Mine"}`, "If-Match", read.Header.Get("ETag")), http.StatusPreconditionFailed)
	want[front.Problem](w, other.do("PATCH", "/v1/passkeys/"+p.ID, `{"name":"Mine"}`), http.StatusPreconditionRequired)
	want[front.Problem](w, other.do("PATCH", "/v1/passkeys/"+p.ID, `{"name":" "}`, "If-Match", "*"), http.StatusBadRequest)

	// Others neither see nor change it; an administrator sees and removes it.
	ben, _ := w.member("ben@example.com", "editor")
	if list := want[admin.List[passkey.Passkey]](w, ben.do("GET", "/v1/passkeys", nil), http.StatusOK); len(list.Items) != 0 {
		t.Errorf("%+v", list.Items)
	}
	for _, c := range []struct{ method, path string }{{"GET", "/v1/passkeys/" + p.ID}, {"DELETE", "/v1/passkeys/" + p.ID}} {
		want[front.Problem](w, ben.do(c.method, c.path, nil), http.StatusNotFound)
	}
	want[front.Problem](w, ben.do("GET", "/v1/members/ada@example.com/passkeys", nil), http.StatusForbidden)
	want[front.Problem](w, ben.do("DELETE", "/v1/members/ada@example.com/passkeys/"+p.ID, nil), http.StatusForbidden)
	if list := want[admin.List[passkey.Passkey]](w, w.do("GET", "/v1/passkeys", nil), http.StatusOK); len(list.Items) != 0 {
		t.Errorf("a token of nobody has passkeys: %+v", list.Items)
	}
	want[front.Problem](w, w.do("GET", "/v1/members/nobody@example.com/passkeys", nil), http.StatusNotFound)
	if list := want[admin.List[passkey.Passkey]](w, w.do("GET", "/v1/members/ada@example.com/passkeys", nil), http.StatusOK); len(list.Items) != 1 || list.Items[0].Name != "Old laptop" {
		t.Errorf("%+v", list.Items)
	}
	if a := w.do("DELETE", "/v1/members/ada@example.com/passkeys/"+p.ID, nil); a.StatusCode != http.StatusNoContent {
		t.Error(a.body)
	}
	// The session that it opened ends, the one of the password does not, and it opens no other.
	if got := other.do("GET", "/v1/me", nil).StatusCode; got != http.StatusUnauthorized || ada.do("GET", "/v1/me", nil).StatusCode != http.StatusOK {
		t.Errorf("the session of a removed passkey: %d", got)
	}
	challenge, cookie = other.challenge()
	loginRefused(w, other.use(key.Sign(t, challenge), cookie), http.StatusUnauthorized)
	for _, action := range []string{"passkey.add", "passkey.rename", "passkey.remove", "session.open"} {
		if !slices.Contains(w.audits(), action) {
			t.Errorf("no record of %s: %v", action, w.audits())
		}
	}
	// One's own.
	mine := ownKey()
	p = ada.addPasskey(mine, "Phone")
	if a := ada.do("DELETE", "/v1/passkeys/"+p.ID, nil); a.StatusCode != http.StatusNoContent {
		t.Error(a.body)
	}
	want[front.Problem](w, ada.do("DELETE", "/v1/passkeys/"+p.ID, nil), http.StatusNotFound)
}

// What is not signed by the right key, for this console, this browser and this moment, opens
// nothing.
func TestPasskeysThatAreRefused(t *testing.T) {
	w := newWorld(t)
	ada, _ := w.member("ada@example.com", "admin")
	key := ownKey()
	ada.addPasskey(key, "Laptop")
	b := &browser{w: w}
	for name, spoil := range map[string]func(*passkey.Assertion){
		"another credential": func(a *passkey.Assertion) { a.ID = "AAAAAAAAAAAAAAAAAAAAAA" },
		"another user":       func(a *passkey.Assertion) { a.UserHandle = "bWVtXzAx" },
		"no user":            func(a *passkey.Assertion) { a.UserHandle = "" },
		"another signature":  func(a *passkey.Assertion) { a.Signature = "MEUCIQDV1" + a.Signature[9:] },
		"no signature":       func(a *passkey.Assertion) { a.Signature = "" },
		"what was not signed": func(a *passkey.Assertion) {
			a.AuthenticatorData = strings.Replace(a.AuthenticatorData, "SZYN", "SZYM", 1)
		},
		"no data":               func(a *passkey.Assertion) { a.AuthenticatorData = "" },
		"no base64url":          func(a *passkey.Assertion) { a.ID = "!" },
		"no JSON of the client": func(a *passkey.Assertion) { a.ClientDataJSON = "e30x" },
	} {
		challenge, cookie := b.challenge()
		in := key.Sign(t, challenge)
		spoil(in)
		if p := loginRefused(w, b.use(in, cookie), http.StatusUnauthorized); !strings.Contains(p.Detail, "unknown passkey") {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
	for name, spoil := range map[string]func(*passkeytest.Authenticator){
		"another origin": func(a *passkeytest.Authenticator) { a.Origin = "http://localhost:7302" },
		"another host":   func(a *passkeytest.Authenticator) { a.Host = "evil.example" },
		"not verified":   func(a *passkeytest.Authenticator) { a.Unverified = true },
	} {
		challenge, cookie := b.challenge()
		wrong := *key
		spoil(&wrong)
		if p := loginRefused(w, b.use(wrong.Sign(t, challenge), cookie), http.StatusUnauthorized); !strings.Contains(p.Detail, "unknown passkey") {
			t.Errorf("%s: %s", name, p.Detail)
		}
		key.Count = wrong.Count
	}
	// The challenge of another browser, of none, of an earlier one, and one that has expired.
	challenge, cookie := b.challenge()
	_, others := (&browser{w: w}).challenge()
	loginRefused(w, b.use(key.Sign(t, challenge), others), http.StatusUnauthorized)
	loginRefused(w, b.use(key.Sign(t, challenge), ""), http.StatusUnauthorized)
	loginRefused(w, b.use(key.Sign(t, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), cookie), http.StatusUnauthorized)
	for _, c := range []struct {
		after  time.Duration
		status int
	}{{passkey.Life - time.Second, 200}, {passkey.Life, 401}} {
		challenge, cookie = b.challenge()
		w.later.Add(int64(c.after))
		if a := b.use(key.Sign(t, challenge), cookie); a.StatusCode != c.status {
			t.Errorf("after %v: %d %s", c.after, a.StatusCode, a.body)
		}
	}
	// With something else beside it.
	challenge, cookie = b.challenge()
	in := key.Sign(t, challenge)
	want[front.Problem](w, b.do("POST", "/v1/session", map[string]any{"passkey": in, "email": "ada@example.com", "password": itsPassword}, "Cookie", "sluice_passkey="+cookie), http.StatusBadRequest)
	// A page of another origin begins nothing.
	want[front.Problem](w, b.do("POST", "/v1/session/passkey", nil, "Sec-Fetch-Site", "cross-site"), http.StatusForbidden)
	if ways := want[admin.SignInWays](w, b.do("GET", "/v1/sign-in", nil), http.StatusOK); ways.Passkeys != "localhost" {
		t.Errorf("%+v", ways)
	}
	reasons := 0
	for _, r := range want[admin.List[audit.AuditRecord]](w, w.do("GET", "/v1/audit?limit=200", nil), http.StatusOK).Items {
		if r.Action == "session.open" && r.Outcome == "refused" {
			reasons++
		}
	}
	if reasons < 10 {
		t.Errorf("%d refused logins are recorded", reasons)
	}
	// At an address there is none; the page says so.
	w.publicURL = "http://127.0.0.1:7301"
	w.stop()
	w.open()
	if p := want[front.Problem](w, b.do("POST", "/v1/session/passkey", nil), http.StatusConflict); !strings.Contains(p.Detail, "127.0.0.1 is an IP address") {
		t.Errorf("%+v", p)
	}
	if ways := want[admin.SignInWays](w, b.do("GET", "/v1/sign-in", nil), http.StatusOK); ways.Passkeys != "" {
		t.Errorf("%+v", ways)
	}
}

// A counter that went back is a copy: the login is refused, and the list says so.
func TestCopiedPasskey(t *testing.T) {
	w := newWorld(t)
	ada, _ := w.member("ada@example.com", "editor")
	key := ownKey()
	p := ada.addPasskey(key, "Laptop")
	clone := *key
	b := &browser{w: w}
	in := func(a *passkeytest.Authenticator) answer {
		challenge, cookie := b.challenge()
		return b.use(a.Sign(t, challenge), cookie)
	}
	want[session.Session](w, in(key), http.StatusOK)
	b.cookie = ""
	if p := loginRefused(w, in(&clone), http.StatusUnauthorized); !strings.Contains(p.Detail, "counter") {
		t.Errorf("%+v", p)
	}
	if got := want[passkey.Passkey](w, ada.do("GET", "/v1/passkeys/"+p.ID, nil), http.StatusOK); got.DoubtedAt == nil {
		t.Errorf("%+v", got)
	}
	// One whose counter stays at zero, as of keys that sync, signs in again and again.
	synced := ownKey()
	synced.Count, synced.Syncs = 0, true
	ada.addPasskey(synced, "Phone")
	for range 2 {
		want[session.Session](w, in(synced), http.StatusOK)
	}
}

// Who makes a passkey gives their password, in the session that asked, and no more than there
// may be.
func TestMakingPasskeys(t *testing.T) {
	w := newWorld(t)
	ada, s := w.member("ada@example.com", "viewer")
	begin := func(b *browser, body any) answer { return b.do("POST", "/v1/passkeys/challenge", body) }
	want[front.Problem](w, begin(ada, nil), http.StatusForbidden)
	want[front.Problem](w, begin(ada, `{"current":"wrong password"}`), http.StatusForbidden)
	want[front.Problem](w, w.do("POST", "/v1/passkeys/challenge", nil), http.StatusUnauthorized)
	local := &browser{w: w}
	local.signIn(want[session.LoginLink](w, w.do("POST", "/v1/login-link", nil), http.StatusCreated).URL)
	want[front.Problem](w, begin(local, nil), http.StatusConflict)
	// An invitation lets its member make one before there is a password.
	_, link := w.invite("eve@example.com", "viewer")
	eve := &browser{w: w}
	eve.signIn(link)
	c := want[passkey.NewChallenge](w, begin(eve, nil), http.StatusOK)
	mine := ownKey()
	want[passkey.Passkey](w, eve.do("POST", "/v1/passkeys", mine.Make(t, &c, "Phone")), http.StatusCreated)
	challenge, cookie := eve.challenge()
	if s := want[session.Session](w, eve.use(mine.Sign(t, challenge), cookie), http.StatusOK); s.Password != "none" {
		t.Errorf("%+v", s)
	}
	// A passkey alone makes no other.
	want[front.Problem](w, begin(eve, nil), http.StatusConflict)

	// Without a challenge, with the one of another session, twice, and of somebody else.
	c = want[passkey.NewChallenge](w, begin(ada, map[string]any{"current": itsPassword}), http.StatusOK)
	key := ownKey()
	made := key.Make(t, &c, "Laptop")
	want[front.Problem](w, eve.do("POST", "/v1/passkeys", made), http.StatusConflict)
	want[passkey.Passkey](w, ada.do("POST", "/v1/passkeys", made), http.StatusCreated)
	want[front.Problem](w, ada.do("POST", "/v1/passkeys", made), http.StatusConflict)
	c = want[passkey.NewChallenge](w, begin(ada, map[string]any{"current": itsPassword}), http.StatusOK)
	again := ownKey()
	again.ID = mine.ID
	want[front.Problem](w, ada.do("POST", "/v1/passkeys", again.Make(t, &c, "Stolen")), http.StatusConflict)
	for name, spoil := range map[string]func(*passkeytest.Authenticator){
		"another origin": func(a *passkeytest.Authenticator) { a.Origin = "https://evil.example" },
		"another host":   func(a *passkeytest.Authenticator) { a.Host = "evil.example" },
		"not verified":   func(a *passkeytest.Authenticator) { a.Unverified = true },
	} {
		c = want[passkey.NewChallenge](w, begin(ada, map[string]any{"current": itsPassword}), http.StatusOK)
		wrong := ownKey()
		spoil(wrong)
		if p := want[front.Problem](w, ada.do("POST", "/v1/passkeys", wrong.Make(t, &c, "Laptop")), http.StatusBadRequest); !strings.Contains(p.Detail, "not accepted") {
			t.Errorf("%s: %+v", name, p)
		}
	}

	// At the limit and one past it.
	for i := 1; i < passkey.MaxPasskeys; i++ {
		ada.addPasskey(ownKey(), fmt.Sprint("Key ", i))
	}
	if p := want[front.Problem](w, begin(ada, map[string]any{"current": itsPassword}), http.StatusConflict); !strings.Contains(p.Detail, fmt.Sprintf("%d passkeys", passkey.MaxPasskeys)) {
		t.Errorf("%+v", p)
	}
	list := want[admin.List[passkey.Passkey]](w, w.do("GET", "/v1/members/"+s.Member.ID+"/passkeys?limit=7", nil), http.StatusOK)
	if len(list.Items) != 7 || list.NextCursor == "" {
		t.Errorf("%d, %q", len(list.Items), list.NextCursor)
	}
}
