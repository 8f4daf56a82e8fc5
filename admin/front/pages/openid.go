package pages

import (
	"context"
	"html"
	"log/slog"
	"net/http"
	"strings"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/member/oidc"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// OpenIDPath begins a login at the OpenID provider.
	OpenIDPath = "/openid/login"
	// OpenIDCallback is where the provider sends the browser back to.
	OpenIDCallback = "/openid/callback"
	// openIDCookie keeps a login in a browser until it comes back.
	openIDCookie = "sluice-openid"
	// closeWindow is what the window of a login that was opened beside a page wants in the
	// end: to be closed.
	closeWindow = "/close"
)

// openIDLogin is the cookie of a login. Browsers take a __Host- cookie only over TLS and from
// this host itself, so no neighbour in the domain can plant one.
func (p *Room) openIDLogin(ctx context.Context) login.Cookie {
	if strings.HasPrefix(p.Front.ConsoleURL(ctx), "https:") {
		return login.Cookie{Name: front.HostPrefix + openIDCookie, Path: "/", Secure: true}
	}
	return login.Cookie{Name: openIDCookie, Path: OpenIDCallback}
}

// OpenIDLogin sends a browser to the OpenID provider.
func (p *Room) OpenIDLogin(w http.ResponseWriter, r *http.Request) {
	if !p.openIDAnswers(w, r) {
		return
	}
	ctx := r.Context()
	page, kept, err := p.OpenID.Begin(ctx, p.Front.ConsoleURL(ctx)+OpenIDCallback, r.URL.Query().Get("back"))
	if err != nil {
		p.signInPage(w, r, err)
		return
	}
	p.openIDLogin(ctx).Set(w, kept, int(oidc.Life.Seconds()))
	http.Redirect(w, r, page, http.StatusSeeOther) //nolint:gosec // the operator named the provider
}

// openIDAnswers reports whether there is something at the addresses of a login.
func (p *Room) openIDAnswers(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case !p.OpenID.Enabled():
		p.Front.WriteProblem(w, r, front.NotHere(r))
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		p.Front.WriteProblem(w, r, front.NotAllowed(r))
	case len(r.URL.RawQuery) > login.MaxCallback:
		p.signInPage(w, r, problem.New(problem.TooLarge, "the answer of the OpenID provider is too long"))
	default:
		return true
	}
	return false
}

// ReturnFromOpenID is where a browser comes back to from the OpenID provider: it gets a
// session, and goes on to the page that it wanted.
func (p *Room) ReturnFromOpenID(w http.ResponseWriter, r *http.Request) {
	if !p.openIDAnswers(w, r) {
		return
	}
	ctx, q := r.Context(), r.URL.Query()
	cookie := p.openIDLogin(ctx)
	var kept secrets.Secret
	if c, err := r.Cookie(cookie.Name); err == nil {
		kept = secrets.New(c.Value)
	}
	cookie.Set(w, secrets.Secret{}, -1) // a login ends once, however it ends
	login, err := p.OpenID.Finish(ctx, p.Front.ConsoleURL(ctx)+OpenIDCallback, kept, q)
	if err != nil {
		p.signInPage(w, r, err)
		return
	}
	opened, err := p.Sessions.OpenMember(ctx, login.Workspace, login.Member, p.Front.OldSession(r), r.UserAgent())
	if err != nil {
		p.signInPage(w, r, err)
		return
	}
	c := p.Front.Cookie(ctx, opened.Secret, opened.Session.ExpiresAt)
	http.SetCookie(w, &c)
	if login.Back == closeWindow {
		p.page(w, http.StatusOK, "You are signed in", "<p>Close this window: the page that you came from goes on.</p>")
		return
	}
	w.Header().Set("Referrer-Policy", "no-referrer")     // the code is in the address
	http.Redirect(w, r, login.Back, http.StatusSeeOther) //nolint:gosec // a page of the console: package oidc lets nothing else through
}

// signInPage says why nobody was signed in.
func (p *Room) signInPage(w http.ResponseWriter, r *http.Request, err error) {
	fault := front.ProblemOf(err)
	if fault.Code == front.CodeInternal {
		_ = p.Front.Fail(r.Context(), err) // logs it
	} else {
		p.Front.Log.LogAttrs(r.Context(), slog.LevelWarn, "a login at the OpenID provider did not succeed",
			slog.String("request_id", request.Of(r.Context()).ID), slog.String("client", request.Of(r.Context()).IP), slog.Any("error", err))
	}
	text := fault.Detail
	if fault.Remedy != "" {
		text += ". " + fault.Remedy
	}
	p.page(w, fault.Status, "You are not signed in", "<p>"+html.EscapeString(text)+".</p><p>Request "+request.Of(r.Context()).ID+"</p><p><a href=\"/\">To the sign-in page</a></p>")
}
