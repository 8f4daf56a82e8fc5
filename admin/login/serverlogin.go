package login

import (
	"context"
	"net/netip"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

const (
	// serverLoginTTL is how long after it was begun a login can be used to make a
	// toolset: long enough to look at the server's tools and choose.
	serverLoginTTL = time.Hour
)

// ServerLogin asks for a login at the authorization server of an MCP server that
// is not a toolset yet.
type ServerLogin struct {
	URL    string              `json:"url" minLength:"1" maxLength:"2048" doc:"The MCP server."`
	Auth   *credential.SetAuth `json:"authentication,omitempty" doc:"oauth2 or oidc with the grant authorization_code. Default: what the server says, with a client that is registered."`
	Scopes []string            `json:"scopes,omitempty" maxItems:"200" doc:"To ask for beyond the usual ones."`
}

// ServerLoginState is such a login.
type ServerLoginState struct {
	ID               string    `json:"id" example:"login_01JQ8Z6J5X2V4T7N9B3C1D0E8F" doc:"Name it as login when the server is tested or made a toolset."`
	URL              string    `json:"url" doc:"The MCP server."`
	State            string    `json:"state" enum:"pending,done,failed"`
	Error            string    `json:"error,omitempty" doc:"Why it failed."`
	AuthorizationURL string    `json:"authorizationUrl,omitempty" doc:"Open it in a browser: a page of this listener that says what the login is for and leads on to the authorization server, once. The login must end in the browser in which it was confirmed there. Shown once."`
	RedirectURL      string    `json:"redirectUrl,omitempty" doc:"The client at the authorization server must allow it."`
	Registered       bool      `json:"registered,omitempty" doc:"The client was registered automatically, with this redirect."`
	ExpiresAt        time.Time `json:"expiresAt" doc:"Until then the login can be finished, and later used."`
}

// serverLogin is what is sealed of a login at a server that is not a toolset yet.
type serverLogin struct {
	URL      string             `json:"url"` // of the MCP server
	AuthType string             `json:"authType"`
	Shape    credential.Shape   `json:"shape"`
	Secret   secrets.Wire       `json:"secret,omitzero"`  // of the configured client
	Tokens   *credential.Tokens `json:"tokens,omitempty"` // when it is done
	Expires  int64              `json:"expires,omitempty"`
	// Seen are the private addresses that the operator who began it named.
	Seen []netip.AddrPort `json:"seen,omitempty"`
}

func (r *Room) findServerLogin(ctx context.Context, id string) (*store.OAuthLogin, error) {
	gone := problem.New(problem.NotFound, "there is no login %.80q any more", id).Fix("begin it again")
	row, err := request.Workspace(ctx, r.o.Store).OAuthLogin(ctx, id)
	switch {
	case problem.Is(err, problem.NotFound):
		return nil, gone
	case err != nil:
		return nil, err
	case row.Purpose != store.LoginServer || !r.o.Store.Now().Before(row.ExpiresAt.Time):
		return nil, gone
	}
	return row, nil
}

// ServerState says how a login at a server went.
func (r *Room) ServerState(ctx context.Context, id string) (*ServerLoginState, error) {
	row, err := r.findServerLogin(ctx, id)
	if err != nil {
		return nil, err
	}
	l, err := r.openLogin(row)
	if err != nil {
		return nil, err
	}
	return &ServerLoginState{ID: row.ID, URL: l.Server.URL, State: row.State, Error: row.Error, ExpiresAt: row.ExpiresAt.Time}, nil
}

// BeginServer begins a login at the MCP server with the address u. see lets the login
// dial private addresses that the operator names, and returns those.
func (r *Room) BeginServer(ctx context.Context, u string, in *ServerLogin, see func(ctx context.Context, named []string) (context.Context, []netip.AddrPort)) (*ServerLoginState, error) {
	auth := in.Auth
	if auth == nil {
		auth = &credential.SetAuth{AuthItem: credential.AuthItem{AuthType: registry.AuthOAuth2}}
	}
	auth.Aim(u)
	if err := auth.Check("/authentication", func(int) bool { return false }); err != nil {
		return nil, err
	}
	it := &auth.AuthItem
	if !credential.IsOAuth(it.AuthType) || it.Grant != oauth.AuthorizationCode {
		return nil, problem.New(problem.InvalidArgument, "a person logs in with authType oauth2 or oidc and the grant authorization_code").At("", 0, 0, "/authentication")
	}
	if err := credential.CheckScopes(in.Scopes); err != nil {
		return nil, err
	}
	if r.o.OAuth == nil {
		return nil, problem.New(problem.Unavailable, "this node does not call authorization servers")
	}
	ws := request.Workspace(ctx, r.o.Store)
	ctx, named := see(ctx, append(auth.Addresses(), u)) // for this login alone
	sh := it.Shape()
	server := &serverLogin{URL: u, AuthType: it.AuthType, Shape: sh, Secret: secrets.Wire{Secret: it.ClientSecret}, Seen: named}
	l := &record{Token: request.Of(ctx).ActorID(), Server: server}
	if sh.Discovers() {
		var err error
		if l.Client, err = r.Clients.findClient(ctx, &search{shape: &sh, server: true, redirect: r.Clients.CallbackURL(ctx), more: in.Scopes}); err != nil {
			return nil, err
		}
	}
	cfg := l.config()
	if l.Client == nil {
		cfg.RedirectURL = r.Clients.CallbackURL(ctx)
	}
	row := &store.OAuthLogin{ID: r.o.Store.NewID("login"), Purpose: store.LoginServer, ExpiresAt: store.Time{Time: r.o.Store.Now().Add(serverLoginTTL)}}
	link, err := r.start(ctx, ws, row, l, cfg)
	if err != nil {
		return nil, err
	}
	return &ServerLoginState{
		ID: row.ID, URL: u, State: row.State, AuthorizationURL: link, RedirectURL: l.Redirect, Registered: l.Client != nil && l.Client.Registered,
		ExpiresAt: row.ExpiresAt.Time,
	}, nil
}

// config is the client of a login at a server that is not a toolset.
func (l *record) config() *oauth.Config {
	sh := &l.Server.Shape
	cfg := &oauth.Config{
		Issuer: sh.Issuer, AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, ClientID: sh.ClientID, ClientSecret: l.Server.Secret.Secret,
		AuthMethod: sh.TokenAuth, Scopes: sh.Asked(l.Server.AuthType), Audience: sh.Audience, Resource: sh.Resource, RedirectURL: l.Redirect,
	}
	if l.Client != nil {
		l.Client.Apply(cfg)
	}
	return cfg
}

// TakeOver is the configuration of a login, whose tokens go with it. server is the
// MCP server that it is for; given may say that callers log in themselves.
func (r *Room) TakeOver(ctx context.Context, login, server string, given *credential.SetAuth) (*credential.SetAuth, error) {
	row, err := r.findServerLogin(ctx, login)
	if err != nil {
		return nil, err
	}
	kept, err := r.openLogin(row)
	if err != nil {
		return nil, err
	}
	l := kept.Server
	switch {
	case row.State == store.LoginFailed:
		return nil, problem.New(problem.Unauthenticated, "the login did not succeed: %s", row.Error).Fix("begin it again")
	case row.State != store.LoginDone || l.Tokens == nil:
		return nil, problem.New(problem.Conflict, "the login is not finished").Fix("log in on the page that it named")
	case l.URL != server:
		return nil, problem.New(problem.InvalidArgument, "the login is for another MCP server").At("", 0, 0, "/login")
	}
	sh := &l.Shape
	a := &credential.SetAuth{AuthItem: credential.AuthItem{
		AuthType: l.AuthType, Scheme: sh.Scheme, Grant: sh.Grant, Issuer: sh.Issuer, ClientID: sh.ClientID, ClientSecret: l.Secret.Secret, TokenAuth: sh.TokenAuth,
		AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, Scopes: sh.Scopes, Audience: sh.Audience, Resource: sh.Resource, PerUser: given != nil && given.PerUser,
	}}
	taken := &credential.Adopted{Login: row.ID, Server: l.URL, Tokens: *l.Tokens}
	if l.Expires != 0 {
		taken.Expires = time.Unix(l.Expires, 0)
	}
	a.Adopt(taken)
	return a, nil
}
