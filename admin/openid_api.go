package admin

import (
	"context"
	"html"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/oidc"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	signInPath = "/v1/sign-in"
	// openIDPath begins a login at the OpenID provider, and openIDCallback is where that
	// sends the browser back to.
	openIDPath     = "/openid/login"
	openIDCallback = "/openid/callback"
	// openIDCookie keeps a login in a browser until it comes back.
	openIDCookie = "sluice-openid"
	// closeWindow is what the window of a login that was opened beside a page wants in the
	// end: to be closed.
	closeWindow = "/close"
)

// SignInWays says how people sign in to the console.
type SignInWays struct {
	OpenID *SignInProvider `json:"openIdConnect,omitempty" doc:"The OpenID provider; absent: there is none."`
}

// SignInProvider is the provider at which members sign in.
type SignInProvider struct {
	Name string `json:"name" doc:"What people call it." example:"Acme"`
	URL  string `json:"url" doc:"Open it in the browser. The parameter back is the page of the console to go to in the end." example:"/openid/login"`
}

// OpenIDConnect is how members sign in at an OpenID provider, as the node was configured.
type OpenIDConnect struct {
	Enabled     bool              `json:"enabled"`
	Name        string            `json:"name,omitempty" example:"Acme"`
	Issuer      string            `json:"issuer,omitempty" example:"https://id.example.com/realms/main"`
	ClientID    string            `json:"clientId,omitempty" example:"sluice"`
	Secret      bool              `json:"clientSecretSet" doc:"The client has a secret, which is never shown."`
	Scopes      []string          `json:"scopes,omitempty"`
	GroupsClaim string            `json:"groupsClaim,omitempty" doc:"The claim that names the groups." example:"groups"`
	Roles       map[string]string `json:"roles,omitempty" doc:"Roles of groups. With some, each login sets the role of its member, and makes a member of who is none. Without any, only those who are members sign in, and keep their role."`
	RedirectURL string            `json:"redirectUrl" doc:"What the client at the provider must allow." example:"https://sluice.example.com/openid/callback"`
}

func registerOpenID(s *Server) {
	tags := []string{"access"}
	// No role: who looks has signed in nowhere yet.
	huma.Register(s.api, huma.Operation{
		OperationID: "list-sign-in-ways", Method: http.MethodGet, Path: signInPath, Summary: "How people sign in", Tags: tags, Security: []map[string][]string{{}},
		Description: "Besides with a login link, or an address and a password.",
	}, func(context.Context, *struct{}) (*bodyOutput[SignInWays], error) {
		out := SignInWays{}
		if s.openID.Enabled() {
			out.OpenID = &SignInProvider{Name: s.openID.Config().Name, URL: openIDPath}
		}
		return &bodyOutput[SignInWays]{out}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-openid-connect", Method: http.MethodGet, Path: "/v1/openid-connect", Summary: "How members sign in at an OpenID provider", Tags: tags,
		Description: "As the node was started: flags, environment and configuration file say it.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[OpenIDConnect], error) {
		c := s.openID.Config()
		return &bodyOutput[OpenIDConnect]{OpenIDConnect{
			Enabled: s.openID.Enabled(), Name: c.Name, Issuer: c.Issuer, ClientID: c.ClientID, Secret: !c.ClientSecret.IsZero(), Scopes: c.Scopes, GroupsClaim: c.GroupsClaim,
			Roles: c.Roles, RedirectURL: s.consoleURL(ctx) + openIDCallback,
		}}, nil
	})
}

// openIDLogin is the cookie of a login. Browsers take a __Host- cookie only over TLS and from
// this host itself, so no neighbour in the domain can plant one.
func (s *Server) openIDLogin(ctx context.Context) login.Cookie {
	if strings.HasPrefix(s.consoleURL(ctx), "https:") {
		return login.Cookie{Name: "__Host-" + openIDCookie, Path: "/", Secure: true}
	}
	return login.Cookie{Name: openIDCookie, Path: openIDCallback}
}

// serveOpenID sends a browser to the OpenID provider.
func (s *Server) serveOpenID(w http.ResponseWriter, r *http.Request) {
	if !s.openIDAnswers(w, r) {
		return
	}
	ctx := r.Context()
	page, kept, err := s.openID.Begin(ctx, s.consoleURL(ctx)+openIDCallback, r.URL.Query().Get("back"))
	if err != nil {
		s.signInPage(w, r, err)
		return
	}
	s.openIDLogin(ctx).Set(w, kept, int(oidc.Life.Seconds()))
	http.Redirect(w, r, page, http.StatusSeeOther) //nolint:gosec // the operator named the provider
}

// openIDAnswers reports whether there is something at the addresses of a login.
func (s *Server) openIDAnswers(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case !s.openID.Enabled():
		s.front.WriteProblem(w, r, front.NotHere(r))
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		s.front.WriteProblem(w, r, front.NotAllowed(r))
	case len(r.URL.RawQuery) > login.MaxCallback:
		s.signInPage(w, r, problem.New(problem.TooLarge, "the answer of the OpenID provider is too long"))
	default:
		return true
	}
	return false
}

// serveOpenIDCallback is where a browser comes back to from the OpenID provider: it gets a
// session, and goes on to the page that it wanted.
func (s *Server) serveOpenIDCallback(w http.ResponseWriter, r *http.Request) {
	if !s.openIDAnswers(w, r) {
		return
	}
	ctx, q := r.Context(), r.URL.Query()
	cookie := s.openIDLogin(ctx)
	var kept, old secrets.Secret
	if c, err := r.Cookie(cookie.Name); err == nil {
		kept = secrets.New(c.Value)
	}
	if c, err := r.Cookie(front.SessionCookie); err == nil {
		old = secrets.New(c.Value)
	}
	cookie.Set(w, secrets.Secret{}, -1) // a login ends once, however it ends
	login, err := s.openID.Finish(ctx, s.consoleURL(ctx)+openIDCallback, kept, q)
	if err != nil {
		s.signInPage(w, r, err)
		return
	}
	opened, err := s.sessions.OpenMember(ctx, login.Workspace, login.Member, old, r.UserAgent())
	if err != nil {
		s.signInPage(w, r, err)
		return
	}
	c := s.front.Cookie(ctx, opened.Secret, opened.Session.ExpiresAt)
	http.SetCookie(w, &c)
	if login.Back == closeWindow {
		s.page(w, http.StatusOK, "You are signed in", "<p>Close this window: the page that you came from goes on.</p>")
		return
	}
	w.Header().Set("Referrer-Policy", "no-referrer")     // the code is in the address
	http.Redirect(w, r, login.Back, http.StatusSeeOther) //nolint:gosec // a page of the console: package oidc lets nothing else through
}

// signInPage says why nobody was signed in.
func (s *Server) signInPage(w http.ResponseWriter, r *http.Request, err error) {
	p := front.ProblemOf(err)
	if p.Code == front.CodeInternal {
		_ = s.front.Fail(r.Context(), err) // logs it
	} else {
		s.log.LogAttrs(r.Context(), slog.LevelWarn, "a login at the OpenID provider did not succeed",
			slog.String("request_id", request.Of(r.Context()).ID), slog.String("client", request.Of(r.Context()).IP), slog.Any("error", err))
	}
	text := p.Detail
	if p.Remedy != "" {
		text += ". " + p.Remedy
	}
	s.page(w, p.Status, "You are not signed in", "<p>"+html.EscapeString(text)+".</p><p>Request "+request.Of(r.Context()).ID+"</p><p><a href=\"/\">To the sign-in page</a></p>")
}
