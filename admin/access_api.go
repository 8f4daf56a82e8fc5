package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
)

type accessOutput struct {
	ETag string `header:"ETag"`
	Body access.ToolsetAccess
}

type setAccessInput struct {
	ToolsetInput
	request.MatchInput
	Body access.AccessSettings
}

type pauseInput struct {
	ToolsetInput
	Body *access.PauseRequest
}

type newAccessTokenInput struct {
	ToolsetInput
	Body access.NewAccessToken
}

type createdAccessTokenOutput struct {
	Location string `header:"Location"`
	Body     access.CreatedAccessToken
}

type accessTokensInput struct {
	ToolsetInput
	ListInput
}

type accessTokenInput struct {
	ToolsetInput
	Token string `path:"token" maxLength:"64" doc:"Id of the access token."`
}

func registerAccess(s *Server) {
	const path = "/v1/toolsets/{id}/access"
	const tokensPath = "/v1/toolsets/{id}/access-tokens" //nolint:gosec // a path
	tags := []string{"access"}
	register(s, huma.Operation{
		OperationID: "get-access", Method: http.MethodGet, Path: path, Summary: "Read who may open the toolset URL", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*accessOutput, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return accessAnswer(ctx, s, ws, ts)
	})
	register(s, huma.Operation{
		OperationID: "set-access", Method: http.MethodPut, Path: path, Summary: "Set who may open the toolset URL", Tags: tags,
		Description: "In force at once, without a new revision of the toolset. If-Match guards against a change meanwhile.",
	}, func(ctx context.Context, in *setAccessInput) (*accessOutput, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if err := s.access.Set(ctx, ws, ts, &in.MatchInput, in.Body); err != nil {
			return nil, err
		}
		return accessAnswer(ctx, s, ws, ts)
	})
	register(s, huma.Operation{
		OperationID: "pause-toolset", Method: http.MethodPost, Path: "/v1/toolsets/{id}/pause", Summary: "Pause a toolset", Tags: []string{"toolsets"},
		Description: "The toolset URL answers every caller with 503 and the reason, and open streams end, at once and without a new revision. The draft can be changed, " +
			"tested, previewed and deployed meanwhile. Pausing again replaces the reason.",
	}, of(s, pause))
	register(s, huma.Operation{
		OperationID: "resume-toolset", Method: http.MethodPost, Path: "/v1/toolsets/{id}/resume", Summary: "Resume a paused toolset", Tags: []string{"toolsets"},
		Description: "Callers are let in again, as before the pause. Does nothing where the toolset is not paused.",
	}, of(s, resume))
	register(s, huma.Operation{
		OperationID: "create-access-token", Method: http.MethodPost, Path: tokensPath, Summary: "Create an access token", Tags: tags,
		DefaultStatus: http.StatusCreated,
		Description:   "The answer is the only time the token is shown. It opens this toolset URL and nothing of this API.",
	}, func(ctx context.Context, in *newAccessTokenInput) (*createdAccessTokenOutput, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		t, err := s.access.CreateToken(ctx, ws, ts, in.Body)
		if err != nil {
			return nil, err
		}
		return &createdAccessTokenOutput{Location: "/v1/toolsets/" + ts.ID + "/access-tokens/" + t.ID, Body: *t}, nil
	})
	register(s, huma.Operation{
		OperationID: "list-access-tokens", Method: http.MethodGet, Path: tokensPath, Summary: "List access tokens, oldest first", Tags: tags,
	}, of(s, listAccessTokens))
	register(s, huma.Operation{
		OperationID: "revoke-access-token", Method: http.MethodDelete, Path: tokensPath + "/{token}", Summary: "Revoke an access token", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Description:   "In force at once: requests are refused and open streams end.",
	}, func(ctx context.Context, in *accessTokenInput) (*struct{}, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return nil, s.access.RevokeToken(ctx, ws, ts, in.Token)
	})
}

func pause(ctx context.Context, s *Server, in *pauseInput) (*toolsetOutput, error) {
	req := access.PauseRequest{}
	if in.Body != nil {
		req = *in.Body
	}
	return s.withToolset(ctx, in.ID, func(ws *store.Workspace, ts *store.Toolset) error { return s.access.Pause(ctx, ws, ts, req) })
}

func resume(ctx context.Context, s *Server, in *ToolsetInput) (*toolsetOutput, error) {
	return s.withToolset(ctx, in.ID, func(ws *store.Workspace, ts *store.Toolset) error { return s.access.Resume(ctx, ws, ts) })
}

// withToolset does what do does to a toolset, and answers with the toolset.
func (s *Server) withToolset(ctx context.Context, id string, do func(*store.Workspace, *store.Toolset) error) (*toolsetOutput, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := do(ws, ts); err != nil {
		return nil, err
	}
	d, err := s.drafts.Load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	return s.toolsetAnswer(ctx, ws, d)
}

func listAccessTokens(ctx context.Context, s *Server, in *accessTokensInput) (*listOutput[access.AccessToken], error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	path := "/v1/toolsets/" + ts.ID + "/access-tokens"
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	rows, next, err := s.access.Tokens(ctx, ws, ts, p)
	if err != nil {
		return nil, err
	}
	return list(&in.ListInput, path, rows, next, same), nil
}

func accessAnswer(ctx context.Context, s *Server, ws *store.Workspace, ts *store.Toolset) (*accessOutput, error) {
	shown, version, err := s.access.Show(ctx, ws, ts)
	return &accessOutput{ETag: request.ETag(version), Body: shown}, err
}
