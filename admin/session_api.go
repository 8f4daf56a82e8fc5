package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
)

type signInInput struct {
	Cookie        string `cookie:"sluice_session" maxLength:"100" doc:"Of the session that ends with this login; over http, on loopback."`
	HostCookie    string `cookie:"__Host-sluice_session" maxLength:"100" doc:"The same over https."`
	Challenge     string `cookie:"sluice_passkey" maxLength:"100" doc:"Of the challenge that a passkey signed; over http, on loopback."`
	HostChallenge string `cookie:"__Host-sluice_passkey" maxLength:"100" doc:"The same over https."`
	Agent         string `header:"User-Agent"`
	Body          session.SignIn
}

type signInOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      session.Session
}

type signOutOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}

type setPasswordInput struct{ Body session.SetPassword }

// SessionInput is the path of a session.
type SessionInput struct {
	ID string `path:"id" maxLength:"64"`
}

func registerSessions(s *Server) {
	tags := []string{"access"}
	// No role: who signs in has none yet.
	huma.Register(s.api, huma.Operation{
		OperationID: "sign-in", Method: http.MethodPost, Path: front.SessionPath, Summary: "Sign a browser in", Tags: tags, Security: []map[string][]string{{}},
		BodyReadTimeout: -1, MaxBodyBytes: -1, DefaultStatus: http.StatusOK,
		Description: "With the secret of a login link, with the address and password of a member, or with a passkey. The answer sets the cookie of the session. " +
			"The request must come from a page of the console. After many failures it answers 429 with Retry-After.",
	}, func(ctx context.Context, in *signInInput) (*signInOutput, error) {
		out, err := s.sessions.Open(ctx, &in.Body, &session.From{
			Base: s.front.ConsoleURL(ctx), Agent: in.Agent,
			Old: s.front.Own(ctx, in.HostCookie, in.Cookie), Kept: s.front.Own(ctx, in.HostChallenge, in.Challenge),
		})
		if err != nil {
			return nil, s.front.Fail(ctx, err)
		}
		return &signInOutput{SetCookie: s.front.Cookie(ctx, out.Secret, out.Session.ExpiresAt), Body: out.Session}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: front.SessionPath, Summary: "Who is signed in", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[session.Session], error) {
		return answer(s.sessions.Current(ctx))
	})
	register(s, huma.Operation{
		OperationID: "sign-out", Method: http.MethodDelete, Path: front.SessionPath, Summary: "Sign out", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, _ *struct{}) (*signOutOutput, error) {
		if err := s.sessions.SignOut(ctx); err != nil {
			return nil, err
		}
		return &signOutOutput{SetCookie: s.front.Cookie(ctx, secrets.Secret{}, time.Unix(1, 0))}, nil
	})
	register(s, huma.Operation{
		OperationID: "set-password", Method: http.MethodPut, Path: front.SessionPath + "/password", Summary: "Set your password", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "Ends your other sessions. Only a member who is signed in has a password.",
	}, func(ctx context.Context, in *setPasswordInput) (*struct{}, error) {
		return nil, s.sessions.SetPassword(ctx, &in.Body)
	})
	register(s, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Path: "/v1/sessions", Summary: "List open sessions, newest first", Tags: tags,
		Description: "Your own, or as an administrator those of the workspace.",
	}, func(ctx context.Context, in *ListInput) (*listOutput[session.OpenSession], error) {
		return paged(s, "/v1/sessions", func(ws *store.Workspace, ctx context.Context, p store.Page) ([]store.Session, string, error) {
			return s.sessions.List(ctx, ws, p)
		}, func(row *store.Session) (session.OpenSession, error) { return s.sessions.ShowOpen(ctx, row) })(ctx, in)
	})
	register(s, huma.Operation{
		OperationID: "revoke-session", Method: http.MethodDelete, Path: "/v1/sessions/{id}", Summary: "End a session", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "Your own, or any as an administrator. It ends with the next request.",
	}, func(ctx context.Context, in *SessionInput) (*struct{}, error) {
		return nil, s.sessions.Revoke(ctx, s.workspace(ctx), in.ID)
	})
	register(s, huma.Operation{
		OperationID: "create-own-login-link", Method: http.MethodPost, Path: "/v1/login-link", Summary: "Make a login link for yourself", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "It signs one browser in, once and within ten minutes, as who asks: the member who is signed in, or the API token of the request.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[*session.LoginLink], error) {
		return answer(s.sessions.OwnLink(ctx, s.front.ConsoleURL(ctx)))
	})
	register(s, huma.Operation{
		OperationID: "create-login-link", Method: http.MethodPost, Path: "/v1/members/{id}/login-link", Summary: "Make a login link for a member", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "It signs one browser in as the member, once and within ten minutes, and lets them set a password: an invitation, or a reset.",
	}, func(ctx context.Context, in *MemberInput) (*bodyOutput[*session.LoginLink], error) {
		return answer(s.sessions.MemberLink(ctx, s.workspace(ctx), in.ID, s.front.ConsoleURL(ctx)))
	})
}

// FirstLogin returns a login link for the API token of the local administrator when nobody
// can sign in to the console yet, and "" otherwise.
func (s *Server) FirstLogin(ctx context.Context, token secrets.Secret) (string, error) {
	base := s.o.PublicURL
	if base == "" {
		base = s.o.LinkURL
	}
	if s.console == nil {
		return "", nil
	}
	link, err := s.sessions.FirstLink(ctx, token, base)
	if err != nil || link == nil {
		return "", err
	}
	return link.URL, nil
}

// serveConsole serves the console, and the problem that there is nothing where it has nothing.
func (s *Server) serveConsole(w http.ResponseWriter, r *http.Request) {
	if s.console != nil {
		switch ok, err := s.console.Serve(w, r); {
		case err != nil:
			s.front.WriteProblem(w, r, err)
			return
		case ok:
			return
		}
	}
	s.front.WriteProblem(w, r, front.NotHere(r))
}
