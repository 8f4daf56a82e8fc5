package admin

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/grant"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/mcpserver"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
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

// serveCallback is where a browser comes back to. The browser that confirmed a
// pending login may finish it with its state, once; there is no token in a browser.
func (s *Server) serveCallback(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		s.front.WriteProblem(w, r, front.NotAllowed(r))
		return
	}
	if len(r.URL.RawQuery) > login.MaxCallback {
		s.callbackPage(w, "", problem.New(problem.TooLarge, "the answer of the authorization server is too long"))
		return
	}
	q := r.URL.Query()
	done, err := s.logins.Finish(w, r, q)
	if err != nil {
		p := front.ProblemOf(err)
		if p.Code == front.CodeInternal {
			_ = s.front.Fail(r.Context(), err) // logs it
		} else {
			s.log.LogAttrs(r.Context(), slog.LevelWarn, "a login at an authorization server did not succeed",
				slog.String("request_id", request.Of(r.Context()).ID), slog.Any("error", err))
		}
	}
	s.callbackPage(w, done, err)
}

// callbackPage is what the person sees.
func (s *Server) callbackPage(w http.ResponseWriter, text string, err error) {
	title, status := "You are logged in", http.StatusOK
	if err != nil {
		p := front.ProblemOf(err)
		title, status = "The login did not succeed", p.Status
		text = p.Detail + ". " + p.Remedy
	}
	s.page(w, status, title, "<p>"+html.EscapeString(text)+"</p>")
}

// page shows a person something. body is HTML.
func (s *Server) page(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer") // the code is in the address
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>"+title+" · Sluice</title><h1>"+title+"</h1>"+
		body+"</html>\n") // the client is gone when this fails
}

type loginInput struct {
	ID string `path:"id" maxLength:"64"`
}

func registerServerLogin(s *Server) {
	const path = "/v1/mcp/logins"
	tags := []string{"connectors"}
	register(s, huma.Operation{
		OperationID: "begin-mcp-login", Method: http.MethodPost, Path: path, Summary: "Log in at an MCP server that is no toolset yet", Tags: tags,
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
		Description:   "Their tokens are destroyed here and forgotten by every gateway at once; their next call is answered with a link to log in again. The authorization server is told where it says where (RFC 7009).",
	}, func(ctx context.Context, in *userLoginInput) (*struct{}, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return nil, s.logins.RevokeUser(ctx, ws, ts, in.Connector, in.User)
	})
}

// serveUserLogin is the page behind the link of a single caller. GET shows who asks
// for what; only POST, which a person must cause, uses the link up.
func (s *Server) serveUserLogin(w http.ResponseWriter, r *http.Request) {
	s.serveLink(w, r, strings.TrimPrefix(r.URL.Path, login.UserPath), s.logins.ShowUser, s.logins.BeginUser)
}

// serveConfirm is the page behind the link of a login that an operator began. GET
// shows what the login is for; only POST, which a person must cause, uses the link
// up and binds the login to the browser.
func (s *Server) serveConfirm(w http.ResponseWriter, r *http.Request) {
	s.serveLink(w, r, strings.TrimPrefix(r.URL.Path, login.ConfirmPath), s.logins.ShowConfirm, s.logins.Confirm)
}

// serveLink answers a page behind a link: show is for GET, press for POST, which only
// the button of the page sends.
func (s *Server) serveLink(w http.ResponseWriter, r *http.Request, text string, show func(context.Context, string) (login.Page, error), press func(http.ResponseWriter, *http.Request, string) error) {
	var (
		shown login.Page
		err   error
	)
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if shown, err = show(r.Context(), text); err == nil {
			s.page(w, http.StatusOK, shown.Title, shown.Body)
		}
	case http.MethodPost:
		err = press(w, r, text)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		s.front.WriteProblem(w, r, front.NotAllowed(r))
		return
	}
	if err != nil {
		if p := front.ProblemOf(err); p.Code == front.CodeInternal {
			_ = s.front.Fail(r.Context(), err) // logs it
		}
		s.callbackPage(w, "", err)
	}
}

// serveClientDocument answers authorization servers that ask who we are.
func (s *Server) serveClientDocument(w http.ResponseWriter, r *http.Request) {
	m := s.logins.Clients.Document()
	switch {
	case m == nil:
		s.front.WriteProblem(w, r, front.NotHere(r))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		s.front.WriteProblem(w, r, front.NotAllowed(r))
	default:
		w.Header().Set("Cache-Control", "public, max-age=3600")
		if err := request.WriteJSON(w, m); err != nil {
			s.front.WriteProblem(w, r, err)
		}
	}
}
