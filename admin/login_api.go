package admin

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/grant"
)

// openLogins makes the room of logins.
func (s *Server) openLogins() {
	o := login.Options{
		Store: s.o.Store, Keyring: s.o.Keyring, OAuth: s.o.OAuth, Log: s.log, PublicURL: s.o.PublicURL, LinkURL: s.o.LinkURL, Work: s.work, Jobs: &s.jobs, Changed: func() { s.fleet.Ring() },
		Origins: &login.Origins{Store: s.o.Store, Publisher: s.o.Publisher, Opened: s.opened},
	}
	if s.o.MCP != nil {
		o.Challenge = mcpserver.ServerChallenge(s.o.MCP)
	}
	s.logins = login.New(o)
}

// Secrets keeps the secrets of upstream credentials, for the gateway of this node.
func (s *Server) Secrets() *login.Secrets { return s.logins.Secrets }

type authorizeInput struct {
	ToolsetInput
	Body *login.Authorize
}

type authorizeConnectorInput struct {
	ToolsetConnectorInput
	Body *login.Authorize
}

func registerAuthorize(s *Server, path, ofConnector string, tags []string) {
	authorize := func(ctx context.Context, id, connector string, in *login.Authorize) (*bodyOutput[login.Authorization], error) {
		want := login.Authorize{}
		if in != nil {
			want = *in
		}
		if err := credential.CheckScopes(want.Scopes); err != nil {
			return nil, err
		}
		d, err := s.drafts.Outline(ctx, id, connector)
		if err != nil {
			return nil, err
		}
		a, err := s.logins.Begin(ctx, s.workspace(ctx), d.Toolset, d.Creds, &want)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[login.Authorization]{*a}, nil
	}
	register(s, huma.Operation{
		OperationID: "authorize-connector-authentication", Method: http.MethodPost, Path: ofConnector + "/authorize",
		Summary: "Begin a login at the authorization server of a connector", Tags: tags,
	}, func(ctx context.Context, in *authorizeConnectorInput) (*bodyOutput[login.Authorization], error) {
		return authorize(ctx, in.ID, in.Connector, in.Body)
	})
	register(s, huma.Operation{
		OperationID: "authorize-authentication", Method: http.MethodPost, Path: path + "/authorize", Summary: "Begin a login at the authorization server", Tags: tags,
		Description: "For the grant authorization_code. The answer names a page of this listener, where a person confirms the login; it leads to the authorization server, which " +
			"sends the same browser back to " + login.CallbackPath + ". Read the authentication configuration to see the outcome in state and lastError. A new login replaces one that waits.",
	}, func(ctx context.Context, in *authorizeInput) (*bodyOutput[login.Authorization], error) {
		return authorize(ctx, in.ID, "", in.Body)
	})
	registerUsers(s, path, tags)
}

type loginInput struct {
	ID string `path:"id" maxLength:"64"`
}

func registerServerLogin(s *Server) {
	const path = "/v1/mcp/logins"
	tags := []string{"connectors"}
	register(s, huma.Operation{
		OperationID: "begin-mcp-login", Method: http.MethodPost, Path: path, Summary: "Log in at an MCP server that is not a toolset yet", Tags: tags,
		Description: "Finds the authorization server as MCP says (RFC 9728, RFC 8414, OpenID Connect Discovery) and registers a client there if none is named. " +
			"The answer names a page of this listener, where a person confirms the login, which leads to the authorization server; read the login to see the outcome, then name it as login where the server is tested or made a toolset.",
	}, func(ctx context.Context, in *struct{ Body login.ServerLogin }) (*bodyOutput[login.ServerLoginState], error) {
		u, err := mcpserver.CheckURL(in.Body.URL)
		if err != nil {
			return nil, err
		}
		l, err := s.logins.BeginServer(ctx, u, &in.Body, func(ctx context.Context, named []string) (context.Context, []netip.AddrPort) {
			ctx, all := s.grants.See(ctx, named)
			return ctx, grant.Addresses(all)
		})
		if err != nil {
			return nil, err
		}
		return &bodyOutput[login.ServerLoginState]{*l}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-mcp-login", Method: http.MethodGet, Path: path + "/{id}", Summary: "Read how a login at an MCP server went", Tags: tags,
	}, func(ctx context.Context, in *loginInput) (*bodyOutput[login.ServerLoginState], error) {
		l, err := s.logins.ServerState(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[login.ServerLoginState]{*l}, nil
	})
}

type userLoginsOutput struct {
	Body struct {
		Items []login.UserLogin `json:"items"`
		Next  string            `json:"next,omitempty" doc:"Pass as after."`
	}
}

type userLoginsInput struct {
	ToolsetInput
	Connector string `query:"connector" maxLength:"63" doc:"Of this connector, when callers log in at several."`
	After     string `query:"after" maxLength:"64"`
	Limit     int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

type userLoginInput struct {
	ToolsetInput
	Connector string `query:"connector" maxLength:"63" doc:"Of this connector, when callers log in at several."`
	User      string `path:"user" maxLength:"64"`
}

func registerUsers(s *Server, path string, tags []string) {
	path += "/users"
	register(s, huma.Operation{
		OperationID: "list-user-logins", Method: http.MethodGet, Path: path, Summary: "List the callers who logged in", Tags: tags,
		Description: "Of a configuration with perUser: who logged in with an account of their own, oldest first. Never their tokens.",
	}, func(ctx context.Context, in *userLoginsInput) (*userLoginsOutput, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		out := &userLoginsOutput{}
		out.Body.Items, out.Body.Next, err = s.logins.Users(ctx, ws, ts, in.Connector, store.Page{After: in.After, Limit: in.Limit})
		return out, err
	})
	register(s, huma.Operation{
		OperationID: "revoke-user-login", Method: http.MethodDelete, Path: path + "/{user}", Summary: "Forget the login of a caller", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Description:   "Their tokens are destroyed here and on every gateway at once; their next call is answered with a link to log in again. The tokens are revoked at the authorization server where it has a revocation endpoint (RFC 7009).",
	}, func(ctx context.Context, in *userLoginInput) (*struct{}, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return nil, s.logins.RevokeUser(ctx, ws, ts, in.Connector, in.User)
	})
}
