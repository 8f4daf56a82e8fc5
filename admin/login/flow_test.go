package login

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// A desk is a room with a clock, an authorization server, and a toolset that callers log in at.
type desk struct {
	t       *testing.T
	room    *Room
	ws      *store.Workspace
	toolset *store.Toolset
	now     time.Time
	server  *httptest.Server
	asked   []url.Values // the forms that the token endpoint got
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, now: time.Now().Truncate(time.Second)}
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		d.asked = append(d.asked, r.PostForm)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"access","token_type":"Bearer","expires_in":3600}`)
	}))
	t.Cleanup(d.server.Close)
	clock := func() time.Time { return d.now }
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sluice.db"), Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.EnsureWorkspace(t.Context(), "acme", "acme"); err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.OpenFile(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := oauth.New(oauth.Options{HTTP: d.server.Client(), Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	d.ws = s.Workspace("acme")
	d.room = New(Options{Store: s, Keyring: ring, OAuth: client, Log: slog.New(slog.DiscardHandler), LinkURL: "https://sluice.example", PublicURL: "https://sluice.example", Changed: func() {}})
	d.toolset = &store.Toolset{Slug: "shop", Name: "Shop", Connector: "shop", ConnectorDigest: "sha256:shop"}
	d.update(func(tx *store.Tx) error {
		spec := &store.Specification{Digest: "sha256:spec", Name: "shop", Content: []byte("shop")}
		v := &store.ConnectorVersion{Digest: d.toolset.ConnectorDigest, SpecDigest: spec.Digest, Report: "{}"}
		return errors.Join(tx.PutSpecification(t.Context(), spec), tx.PutConnector(t.Context(), &store.Connector{Name: "shop"}, v), tx.CreateToolset(t.Context(), d.toolset))
	})
	return d
}

func (d *desk) update(f func(tx *store.Tx) error) {
	d.t.Helper()
	if err := d.ws.Update(d.t.Context(), f); err != nil {
		d.t.Fatal(err)
	}
}

// begin begins a login at a server and returns its row and the end of its link.
func (d *desk) begin() (row *store.OAuthLogin, text string) {
	d.t.Helper()
	row = &store.OAuthLogin{ID: d.room.o.Store.NewID("login"), Purpose: store.LoginServer, ExpiresAt: store.Time{Time: d.now.Add(loginTimeout)}}
	l := &record{Token: "tok_1", Server: &serverLogin{URL: "https://mcp.example", AuthType: registry.AuthOAuth2, Shape: credential.Shape{
		AuthorizationURL: d.server.URL + "/authorize", TokenURL: d.server.URL + "/token", ClientID: "client",
	}}}
	l.Redirect = "https://sluice.example" + CallbackPath
	cfg := l.config()
	cfg.RedirectURL = l.Redirect
	link, err := d.room.start(d.t.Context(), d.ws, row, l, cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	text, ok := strings.CutPrefix(link, "https://sluice.example"+ConfirmPath)
	if !ok {
		d.t.Fatalf("the link is %s", link)
	}
	return row, text
}

// confirm presses the button behind a link, and returns the state of the login and its cookie.
func (d *desk) confirm(text string, header ...string) (state string, cookie *http.Cookie, err error) {
	d.t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "https://sluice.example"+ConfirmPath, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if err := d.room.Confirm(w, r, text); err != nil {
		return "", nil, err
	}
	page, perr := url.Parse(w.Header().Get("Location"))
	if perr != nil || w.Code != http.StatusSeeOther || !strings.HasPrefix(page.String(), d.server.URL+"/authorize?") || len(w.Result().Cookies()) != 1 || w.Header().Get("Referrer-Policy") != "no-referrer" {
		d.t.Fatalf("confirmed: %d %v", w.Code, w.Header())
	}
	return page.Query().Get("state"), w.Result().Cookies()[0], nil
}

// finish is the browser that comes back.
func (d *desk) finish(q url.Values, cookies ...*http.Cookie) (text string, refused *request.RefusedLogin, w *httptest.ResponseRecorder, err error) {
	of := &request.Request{}
	w = httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "https://sluice.example"+CallbackPath+"?"+q.Encode(), nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	text, err = d.room.Finish(w, r.WithContext(request.With(d.t.Context(), of)), q)
	return text, of.Refused, w, err
}

// TestLoginEndsWhereItWasConfirmed: a login is confirmed once, by who pressed the button here, and
// finished once, in that browser, with its own state and in its time. Nothing else asks the
// authorization server for a token.
func TestLoginEndsWhereItWasConfirmed(t *testing.T) {
	d := newDesk(t)
	_, other := d.begin()
	otherState, otherCookie, err := d.confirm(other)
	if err != nil {
		t.Fatal(err)
	}
	row, text := d.begin()
	id, secret, _ := strings.Cut(text, ".")
	stored, err := d.ws.OAuthLogin(t.Context(), row.ID)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := d.room.openLogin(stored)
	if err != nil {
		t.Fatal(err)
	}
	// Who knows the state, and confirmed nothing, has no browser that it could end in.
	if _, refused, _, err := d.finish(url.Values{"state": {sealed.State}, "code": {"c"}}, &http.Cookie{Name: "__Host-" + browserCookie + id, Value: ""}); !problem.Is(err, problem.Forbidden) || refused == nil {
		t.Errorf("finished before it was confirmed: %v", err)
	}
	for name, c := range map[string]struct {
		text   string
		header []string
		kind   problem.Kind
	}{
		"another site":      {text, []string{"Sec-Fetch-Site", "cross-site"}, problem.Forbidden},
		"another secret":    {id + "." + secret + "x", nil, problem.NotFound},
		"no secret":         {id + ".", nil, problem.NotFound},
		"no login":          {"login_none." + secret, nil, problem.NotFound},
		"no end":            {id, nil, problem.NotFound},
		"another login's":   {strings.Replace(other, strings.SplitN(other, ".", 2)[0], id, 1), nil, problem.NotFound},
		"one that was used": {other, nil, problem.NotFound},
	} {
		if _, _, err := d.confirm(c.text, c.header...); !problem.Is(err, c.kind) {
			t.Errorf("confirmed by %s: %v, want %s", name, err, c.kind)
		}
	}
	if page, err := d.room.ShowConfirm(t.Context(), text); err != nil || !strings.Contains(page.Body, "https://mcp.example") || strings.Contains(page.Body, secret) || strings.Contains(page.Body, sealed.State) {
		t.Errorf("the page: %+v, %v", page, err)
	}
	state, cookie, err := d.confirm(text)
	if err != nil {
		t.Fatal(err)
	}
	if state != sealed.State {
		t.Errorf("the state is %s, was %s", state, sealed.State)
	}
	if _, _, err := d.confirm(text); !problem.Is(err, problem.NotFound) {
		t.Errorf("confirmed twice: %v", err)
	}
	if _, err := d.room.ShowConfirm(t.Context(), text); !problem.Is(err, problem.NotFound) {
		t.Errorf("the page behind a link that was used: %v", err)
	}
	wrong := *cookie
	wrong.Value = otherCookie.Value
	for name, c := range map[string]struct {
		state   string
		cookies []*http.Cookie
		kind    problem.Kind
	}{
		"no state":                    {"", []*http.Cookie{cookie}, problem.NotFound},
		"the id alone":                {id + ".", []*http.Cookie{cookie}, problem.NotFound},
		"another state":               {state + "x", []*http.Cookie{cookie}, problem.NotFound},
		"a login that there is not":   {"login_none." + state, []*http.Cookie{cookie}, problem.NotFound},
		"another browser":             {state, nil, problem.Forbidden},
		"the cookie of another login": {state, []*http.Cookie{otherCookie}, problem.Forbidden},
		"another value":               {state, []*http.Cookie{&wrong}, problem.Forbidden},
	} {
		_, refused, w, err := d.finish(url.Values{"state": {c.state}, "code": {"c"}}, c.cookies...)
		if !problem.Is(err, c.kind) || (refused != nil) != (c.kind == problem.Forbidden) || len(w.Result().Cookies()) != 0 {
			t.Errorf("finished with %s: %v, recorded %+v", name, err, refused)
		}
		if refused != nil && (refused.Workspace != "acme" || refused.Action != "mcp.login" || refused.Resource != row.ID) {
			t.Errorf("%s: recorded as %+v", name, refused)
		}
	}
	if len(d.asked) != 0 {
		t.Fatalf("a token was asked for: %v", d.asked)
	}
	said, _, w, err := d.finish(url.Values{"state": {state}, "code": {"the-code"}}, cookie)
	if err != nil || said != loggedIn || len(d.asked) != 1 || d.asked[0].Get("code") != "the-code" || d.asked[0].Get("code_verifier") != sealed.Verifier.Reveal() || d.asked[0].Get("redirect_uri") != "https://sluice.example"+CallbackPath {
		t.Fatalf("finished: %q, %v, asked %v", said, err, d.asked)
	}
	if c := w.Result().Cookies(); len(c) != 1 || c[0].MaxAge >= 0 || c[0].Value != "" {
		t.Errorf("the cookie stays: %v", c)
	}
	if stored, err = d.ws.OAuthLogin(t.Context(), row.ID); err != nil || stored.State != store.LoginDone {
		t.Fatalf("%+v, %v", stored, err)
	}
	if sealed, err = d.room.openLogin(stored); err != nil || sealed.State != "" || sealed.Server.Tokens == nil {
		t.Errorf("kept: %+v, %v", sealed, err)
	}
	if _, _, _, err := d.finish(url.Values{"state": {state}, "code": {"again"}}, cookie); !problem.Is(err, problem.NotFound) || len(d.asked) != 1 {
		t.Errorf("finished twice: %v, asked %v", err, d.asked)
	}
	// The other one is refused at the server: it failed, for good.
	if _, _, _, err := d.finish(url.Values{"state": {otherState}, "error": {"access_denied"}}, otherCookie); err == nil || len(d.asked) != 1 {
		t.Errorf("a login that was denied: %v", err)
	}
	if _, _, _, err := d.finish(url.Values{"state": {otherState}, "code": {"c"}}, otherCookie); !problem.Is(err, problem.NotFound) || len(d.asked) != 1 {
		t.Errorf("a login that was denied, again: %v", err)
	}
	// In its time.
	_, late := d.begin()
	state, cookie, err = d.confirm(late)
	if err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(loginTimeout)
	if _, _, _, err := d.finish(url.Values{"state": {state}, "code": {"c"}}, cookie); !problem.Is(err, problem.NotFound) || len(d.asked) != 1 {
		t.Errorf("a login past its time: %v", err)
	}
}

// TestNeitherCodeNorError: an answer without either, or from another server than the one that was
// asked, gets no token.
func TestNeitherCodeNorError(t *testing.T) {
	d := newDesk(t)
	for name, c := range map[string]struct {
		q    url.Values
		kind problem.Kind
	}{
		"nothing": {url.Values{}, problem.UpstreamMalformed}, "an error": {url.Values{"error": {"server_error"}, "code": {"c"}}, ""},
	} {
		_, text := d.begin()
		state, cookie, err := d.confirm(text)
		if err != nil {
			t.Fatal(err)
		}
		c.q.Set("state", state)
		if _, _, _, err = d.finish(c.q, cookie); err == nil || c.kind != "" && !problem.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(d.asked) != 0 {
		t.Errorf("a token was asked for: %v", d.asked)
	}
}

// TestCallersThatAToolsetKnows: a token is for a caller with a valid access token of the toolset,
// or of the issuer that it trusts, and for no other.
func TestCallersThatAToolsetKnows(t *testing.T) {
	d := newDesk(t)
	row := &store.Credential{ID: "cred_1", ToolsetID: d.toolset.ID}
	row.WorkspaceID = "acme"
	hash := func(n byte) []byte { return append(make([]byte, 31), n) }
	valid := &store.AccessToken{ToolsetID: d.toolset.ID, Name: "a", Hash: hash(1), Grants: "{}", ExpiresAt: store.Time{Time: d.now.Add(time.Second)}}
	forever := &store.AccessToken{ToolsetID: d.toolset.ID, Name: "b", Hash: hash(2), Grants: "{}"}
	over := &store.AccessToken{ToolsetID: d.toolset.ID, Name: "c", Hash: hash(3), Grants: "{}", ExpiresAt: store.Time{Time: d.now}}
	revoked := &store.AccessToken{ToolsetID: d.toolset.ID, Name: "d", Hash: hash(4), Grants: "{}"}
	d.update(func(tx *store.Tx) error {
		for _, a := range []*store.AccessToken{valid, forever, over, revoked} {
			if err := tx.AddAccessToken(t.Context(), a); err != nil {
				return err
			}
		}
		return tx.RevokeAccessToken(t.Context(), d.toolset.ID, revoked.ID)
	})
	know := func(u registry.User) bool {
		t.Helper()
		err := d.room.Secrets.knownUser(t.Context(), row, &u)
		if err != nil && !problem.Is(err, problem.Forbidden) {
			t.Errorf("%+v: %v", u, err)
		}
		return err == nil
	}
	holder := func(id, toolset string) registry.User {
		return registry.User{Kind: registry.UserToken, ID: id, Toolset: toolset}
	}
	subject := func(issuer string) registry.User {
		return registry.User{Kind: registry.UserJWT, ID: "ann", Issuer: issuer}
	}
	check := func(when string, want map[registry.User]bool) {
		t.Helper()
		for u, known := range want {
			if know(u) != known {
				t.Errorf("%s: %+v is known: %v", when, u, !known)
			}
		}
	}
	check("by tokens", map[registry.User]bool{
		holder(valid.ID, d.toolset.ID): true, holder(forever.ID, d.toolset.ID): true, holder(over.ID, d.toolset.ID): false, holder(revoked.ID, d.toolset.ID): false,
		holder("act_none", d.toolset.ID): false, holder(valid.ID, "ts_other"): false, subject("https://id.example"): false,
	})
	d.update(func(tx *store.Tx) error {
		return tx.SaveAccess(t.Context(), &store.ToolsetAccess{ToolsetID: d.toolset.ID, Mode: registry.AccessJWT, Settings: `{"jwt":{"issuer":"https://id.example"}}`})
	})
	check("by an issuer", map[registry.User]bool{subject("https://id.example"): true, subject("https://id.example/"): false, subject("https://other.example"): false})
}

// TestLinkOfACaller: a link opens until its time is over, for who it was made, and nothing that was
// changed or sealed for something else opens.
func TestLinkOfACaller(t *testing.T) {
	d := newDesk(t)
	text := callersLink(t, d)
	got, err := d.room.openTicket(text)
	if err != nil || got.User.ID != "act_1" || got.Workspace != "acme" || got.Credential != "cred_1" || len(got.Nonce) < 20 {
		t.Fatalf("%+v, %v", got, err)
	}
	other, err := d.room.o.Keyring.Seal(secrets.Record{Key: "oauth/another", Version: 1}, secrets.New(store.JSON(got)))
	if err != nil {
		t.Fatal(err)
	}
	nobody := *got
	nobody.User = registry.User{}
	sealed, err := d.room.o.Keyring.Seal(ticketRecord, secrets.New(store.JSON(nobody)))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"nothing": "", "no base64": "%", "another record": encode(other), "changed": "A" + text[1:], "cut": text[:len(text)-4], "of nobody": encode(sealed),
	} {
		if name == "changed" && bad == text {
			bad = "B" + text[1:]
		}
		if _, err := d.room.openTicket(bad); !problem.Is(err, problem.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	begun := d.now
	for after, opens := range map[time.Duration]bool{linkTTL - time.Second: true, linkTTL: false, linkTTL + time.Hour: false} {
		d.now = begun.Add(after)
		if _, err := d.room.openTicket(text); (err == nil) != opens {
			t.Errorf("after %s: %v", after, err)
		}
	}
}

func encode(sealed []byte) string { return base64.RawURLEncoding.EncodeToString(sealed) }

// callersLink is the end of a link of the caller act_1 of a credential of the desk's workspace.
func callersLink(t *testing.T, d *desk) string {
	t.Helper()
	row := &store.Credential{ID: "cred_1", ToolsetID: d.toolset.ID}
	row.WorkspaceID = "acme"
	err := d.room.Secrets.mustLogIn(t.Context(), row, &registry.User{Kind: registry.UserToken, ID: "act_1", Toolset: d.toolset.ID}, nil, problem.New(problem.Unauthenticated, "x"))
	page, ok := errors.AsType[*registry.LoginError](err)
	if !ok {
		t.Fatal(err)
	}
	return strings.TrimPrefix(page.URL, "https://sluice.example"+UserPath)
}
