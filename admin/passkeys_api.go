package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/member/passkey"
	"github.com/sluicegate/sluice/admin/member/session"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
)

type challengeOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      *passkey.SignInChallenge
}

type beginPasskeyInput struct {
	Body *struct {
		Current string `json:"current,omitempty" maxLength:"1024" doc:"Your present password. Not needed in a session that an invitation or reset link opened, until a password is set."`
	}
}

type addPasskeyInput struct{ Body passkey.Registration }

// PasskeyInput is the path of a passkey of who asks.
type PasskeyInput struct {
	ID string `path:"id" maxLength:"64"`
}

type renamePasskeyInput struct {
	PasskeyInput
	request.MatchInput
	Body passkey.Rename `contentType:"application/merge-patch+json"`
}

type memberPasskeysInput struct {
	MemberInput
	ListInput
}

type memberPasskeyInput struct {
	MemberInput
	Passkey string `path:"passkey" maxLength:"64"`
}

type passkeyOutput struct {
	ETag string `header:"ETag"`
	Body passkey.Passkey
}

func passkeyAnswer(row *store.Passkey, err error) (*passkeyOutput, error) {
	if err != nil {
		return nil, err
	}
	return &passkeyOutput{ETag: request.ETag(row.Version), Body: passkey.Show(row)}, nil
}

func registerPasskeys(s *Server) {
	const own, members = "/v1/passkeys", "/v1/members/{id}/passkeys"
	tags := []string{"access"}
	// No role: who signs in has none yet.
	huma.Register(s.api, huma.Operation{
		OperationID: "begin-passkey-login", Method: http.MethodPost, Path: front.PasskeyPath, Summary: "Begin a login with a passkey", Tags: tags, Security: []map[string][]string{{}},
		BodyReadTimeout: -1, MaxBodyBytes: -1, DefaultStatus: http.StatusOK,
		Description: "The browser has a passkey sign the challenge (navigator.credentials.get), and sends what it signed to POST /v1/session. The answer sets a cookie: only the browser that asked can answer, " +
			"once and within five minutes. It answers 409 where no browser lets passkeys be used: at an IP address, and without TLS beyond localhost.",
	}, func(ctx context.Context, _ *struct{}) (*challengeOutput, error) {
		c, kept, err := s.sessions.Challenge(ctx, s.front.ConsoleURL(ctx))
		if err != nil {
			return nil, s.front.Fail(ctx, err)
		}
		return &challengeOutput{SetCookie: s.front.ChallengeCookie(ctx, kept, s.now().Add(passkey.Life)), Body: c}, nil
	})
	register(s, huma.Operation{
		OperationID: "list-passkeys", Method: http.MethodGet, Path: own, Summary: "List your passkeys, newest first", Tags: tags,
		Description: "Of the member whose session or API token asks; others have none.",
	}, func(ctx context.Context, in *ListInput) (*listOutput[passkey.Passkey], error) {
		return s.passkeysOf(ctx, own, session.Own(ctx), in)
	})
	register(s, huma.Operation{
		OperationID: "begin-passkey", Method: http.MethodPost, Path: own + "/challenge", Summary: "Begin to make a passkey", Tags: tags, DefaultStatus: http.StatusOK,
		Description: "The browser makes a passkey with the answer (navigator.credentials.create), and sends it to POST /v1/passkeys: in the same session, once and within five minutes. Your present password is asked for, " +
			"because a passkey signs in alone.",
	}, func(ctx context.Context, in *beginPasskeyInput) (*bodyOutput[*passkey.NewChallenge], error) {
		current := ""
		if in.Body != nil {
			current = in.Body.Current
		}
		member, err := s.sessions.Confirm(ctx, secrets.New(current))
		if err != nil {
			return nil, err
		}
		return answer(s.sessions.Passkeys.Begin(ctx, s.front.ConsoleURL(ctx), member))
	})
	register(s, huma.Operation{
		OperationID: "add-passkey", Method: http.MethodPost, Path: own, Summary: "Register the passkey that was made", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *addPasskeyInput) (*passkeyOutput, error) {
		member, err := s.sessions.SignedIn(ctx)
		if err != nil {
			return nil, err
		}
		return passkeyAnswer(s.sessions.Passkeys.Add(ctx, s.front.ConsoleURL(ctx), member, &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "get-passkey", Method: http.MethodGet, Path: own + "/{id}", Summary: "Read a passkey of yours", Tags: tags,
	}, func(ctx context.Context, in *PasskeyInput) (*passkeyOutput, error) {
		return passkeyAnswer(s.workspace(ctx).Passkey(ctx, session.Own(ctx), in.ID))
	})
	register(s, huma.Operation{
		OperationID: "rename-passkey", Method: http.MethodPatch, Path: own + "/{id}", Summary: "Rename a passkey of yours", Tags: tags, Description: "Needs If-Match.",
	}, func(ctx context.Context, in *renamePasskeyInput) (*passkeyOutput, error) {
		return passkeyAnswer(passkey.SetName(ctx, s.workspace(ctx), session.Own(ctx), in.ID, &in.MatchInput, &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "remove-passkey", Method: http.MethodDelete, Path: own + "/{id}", Summary: "Remove a passkey of yours", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "Your other sessions that passkeys opened end.",
	}, func(ctx context.Context, in *PasskeyInput) (*struct{}, error) {
		return nil, passkey.Remove(ctx, s.workspace(ctx), session.Own(ctx), in.ID)
	})
	register(s, huma.Operation{
		OperationID: "list-member-passkeys", Method: http.MethodGet, Path: members, Summary: "List the passkeys of a member, newest first", Tags: tags,
	}, func(ctx context.Context, in *memberPasskeysInput) (*listOutput[passkey.Passkey], error) {
		member, err := s.workspace(ctx).Member(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return s.passkeysOf(ctx, "/v1/members/"+member.ID+"/passkeys", member.ID, &in.ListInput)
	})
	register(s, huma.Operation{
		OperationID: "remove-member-passkey", Method: http.MethodDelete, Path: members + "/{passkey}", Summary: "Remove a passkey of a member", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "The member's sessions that passkeys opened end.",
	}, func(ctx context.Context, in *memberPasskeyInput) (*struct{}, error) {
		member, err := s.workspace(ctx).Member(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return nil, passkey.Remove(ctx, s.workspace(ctx), member.ID, in.Passkey)
	})
}

// passkeysOf lists the passkeys of a member.
func (s *Server) passkeysOf(ctx context.Context, path, member string, in *ListInput) (*listOutput[passkey.Passkey], error) {
	return paged(s, path, func(ws *store.Workspace, ctx context.Context, p store.Page) ([]store.Passkey, string, error) {
		return ws.Passkeys(ctx, member, p)
	}, plain(passkey.Show))(ctx, in)
}
