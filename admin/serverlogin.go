package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/grant"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// serverLoginTTL is how long after it was begun a login can be used to make a
	// toolset: long enough to look at the server's tools and choose.
	serverLoginTTL = time.Hour
)

// ServerLogin asks for a login at the authorization server of an MCP server that
// is no toolset yet.
type ServerLogin struct {
	URL    string   `json:"url" minLength:"1" maxLength:"2048" doc:"The MCP server."`
	Auth   *SetAuth `json:"authentication,omitempty" doc:"oauth2 or oidc with the grant authorization_code. Default: what the server says, with a client that is registered."`
	Scopes []string `json:"scopes,omitempty" maxItems:"200" doc:"To ask for beyond the usual ones."`
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

// serverLogin is what is sealed of a login at a server that is no toolset yet.
type serverLogin struct {
	URL      string         `json:"url"` // of the MCP server
	AuthType string         `json:"authType"`
	Shape    shape          `json:"shape"`
	Secret   secrets.Wire   `json:"secret,omitzero"`  // of the configured client
	Tokens   *grantedTokens `json:"tokens,omitempty"` // when it is done
	Expires  int64          `json:"expires,omitempty"`
	// Seen are the private addresses that the operator who began it named.
	Seen []netip.AddrPort `json:"seen,omitempty"`
}

// adopted is a login that a configuration takes over.
type adopted struct {
	login   string
	server  string // that it was for
	tokens  grantedTokens
	expires time.Time
}

type loginInput struct {
	ID string `path:"id" maxLength:"64"`
}

func (s *Server) registerServerLogin() {
	const path = "/v1/mcp/logins"
	tags := []string{"connectors"}
	register(s, huma.Operation{
		OperationID: "begin-mcp-login", Method: http.MethodPost, Path: path, Summary: "Log in at an MCP server that is no toolset yet", Tags: tags,
		Description: "Finds the authorization server as MCP says (RFC 9728, RFC 8414, OpenID Connect Discovery) and registers a client there if none is named. " +
			"The answer names a page of this listener, where a person confirms the login, which leads to the authorization server; read the login to see the outcome, then name it as login where the server is tested or made a toolset.",
	}, func(ctx context.Context, in *struct{ Body ServerLogin }) (*bodyOutput[ServerLoginState], error) {
		l, err := s.beginServerLogin(ctx, &in.Body)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[ServerLoginState]{*l}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-mcp-login", Method: http.MethodGet, Path: path + "/{id}", Summary: "Read how a login at an MCP server went", Tags: tags,
	}, func(ctx context.Context, in *loginInput) (*bodyOutput[ServerLoginState], error) {
		row, err := s.findServerLogin(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		l, err := s.openLogin(row)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[ServerLoginState]{ServerLoginState{ID: row.ID, URL: l.Server.URL, State: row.State, Error: row.Error, ExpiresAt: row.ExpiresAt.Time}}, nil
	})
}

func (s *Server) findServerLogin(ctx context.Context, id string) (*store.OAuthLogin, error) {
	gone := problem.New(problem.NotFound, "there is no login %.80q any more", id).Fix("begin it again")
	row, err := s.workspace(ctx).OAuthLogin(ctx, id)
	switch {
	case problem.Is(err, problem.NotFound):
		return nil, gone
	case err != nil:
		return nil, err
	case row.Purpose != store.LoginServer || !s.now().Before(row.ExpiresAt.Time):
		return nil, gone
	}
	return row, nil
}

func (s *Server) beginServerLogin(ctx context.Context, in *ServerLogin) (*ServerLoginState, error) {
	u, err := mcpURL(in.URL)
	if err != nil {
		return nil, err
	}
	auth := in.Auth
	if auth == nil {
		auth = &SetAuth{AuthItem: AuthItem{AuthType: authOAuth2}}
	}
	auth.aim(u)
	if err := auth.check("/authentication", func(int) bool { return false }); err != nil {
		return nil, err
	}
	it := &auth.AuthItem
	if !isOAuth(it.AuthType) || it.Grant != oauth.AuthorizationCode {
		return nil, problem.New(problem.InvalidArgument, "a person logs in with authType oauth2 or oidc and the grant authorization_code").At("", 0, 0, "/authentication")
	}
	if err := checkScopes(in.Scopes); err != nil {
		return nil, err
	}
	if s.o.OAuth == nil {
		return nil, problem.New(problem.Unavailable, "this node asks no authorization servers")
	}
	ws := s.workspace(ctx)
	ctx, named := s.grants.See(ctx, append(auth.addresses(), u)) // for this login alone
	sh := it.shape()
	server := &serverLogin{URL: u, AuthType: it.AuthType, Shape: sh, Secret: secrets.Wire{Secret: it.ClientSecret}, Seen: grant.Addresses(named)}
	l := &login{Token: request.Of(ctx).ActorID(), Server: server}
	if sh.discovers() {
		if l.Client, err = s.findClient(ctx, &search{shape: &sh, server: true, redirect: s.callbackURL(ctx), more: in.Scopes}); err != nil {
			return nil, err
		}
	}
	cfg := l.config()
	if l.Client == nil {
		cfg.RedirectURL = s.callbackURL(ctx)
	}
	row := &store.OAuthLogin{ID: s.o.Store.NewID("login"), Purpose: store.LoginServer, ExpiresAt: store.Time{Time: s.now().Add(serverLoginTTL)}}
	link, err := s.begin(ctx, ws, row, l, cfg)
	if err != nil {
		return nil, err
	}
	return &ServerLoginState{
		ID: row.ID, URL: u, State: row.State, AuthorizationURL: link, RedirectURL: l.Redirect, Registered: l.Client != nil && l.Client.Registered,
		ExpiresAt: row.ExpiresAt.Time,
	}, nil
}

// config is the client of a login at a server that is no toolset.
func (l *login) config() *oauth.Config {
	sh := &l.Server.Shape
	cfg := &oauth.Config{
		Issuer: sh.Issuer, AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, ClientID: sh.ClientID, ClientSecret: l.Server.Secret.Secret,
		AuthMethod: sh.TokenAuth, Scopes: sh.scopes(l.Server.AuthType), Audience: sh.Audience, Resource: sh.Resource, RedirectURL: l.Redirect,
	}
	if l.Client != nil {
		l.Client.apply(cfg)
	}
	return cfg
}

// takeOver is the configuration of a login, whose tokens go with it. server is the
// MCP server that it is for; given may say that callers log in themselves.
func (s *Server) takeOver(ctx context.Context, login, server string, given *SetAuth) (*SetAuth, error) {
	row, err := s.findServerLogin(ctx, login)
	if err != nil {
		return nil, err
	}
	kept, err := s.openLogin(row)
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
	a := &SetAuth{AuthItem: AuthItem{
		AuthType: l.AuthType, Scheme: sh.Scheme, Grant: sh.Grant, Issuer: sh.Issuer, ClientID: sh.ClientID, ClientSecret: l.Secret.Secret, TokenAuth: sh.TokenAuth,
		AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, Scopes: sh.Scopes, Audience: sh.Audience, Resource: sh.Resource, PerUser: given != nil && given.PerUser,
	}}
	a.adopted = &adopted{login: row.ID, server: l.URL, tokens: *l.Tokens}
	if l.Expires != 0 {
		a.adopted.expires = time.Unix(l.Expires, 0)
	}
	return a, nil
}

// writeAdopted writes the tokens of a login that a credential took over.
func (s *Server) writeAdopted(ctx context.Context, tx *store.Tx, c *draftCredential) error {
	row := &store.OAuthToken{CredentialID: c.row.ID, Version: 1, ExpiresAt: store.Time{Time: c.adopted.expires}}
	if c.token != nil {
		row.Version = c.token.Version + 1
	}
	row.WorkspaceID = c.row.WorkspaceID
	var err error
	if row.Sealed, err = s.o.Keyring.Seal(row.Record(), secrets.New(store.JSON(c.adopted.tokens))); err != nil {
		return fmt.Errorf("sealing the tokens of credential %s: %w", c.row.ID, err)
	}
	if err := tx.SaveOAuthToken(ctx, row); err != nil {
		return err
	}
	c.token = row
	if err := tx.DeleteOAuthLogin(ctx, c.adopted.login); err != nil {
		return err
	}
	if client := c.adopted.tokens.Client; client != nil {
		return tx.SealOAuthClient(ctx, s.o.Keyring, c.row.ID, secrets.New(store.JSON(client)))
	}
	return nil
}
