package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/grant"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// ofNamed returns a context that has the grants of the toolset that a request is about,
// as far as that is known before its specification is.
func (s *Server) ofNamed(ctx context.Context, ws *store.Workspace, in *CreateToolset, again *refresh) (context.Context, error) {
	if again != nil {
		return safedial.WithHolder(ctx, again.toolset.ID), nil
	}
	slug := in.slug("")
	if slug == "" {
		return ctx, nil
	}
	ts, err := ws.ToolsetBySlug(ctx, slug)
	switch {
	case problem.Is(err, problem.NotFound):
		return ctx, nil
	case err != nil:
		return nil, err
	}
	return safedial.WithHolder(ctx, ts.ID), nil
}

type listGrantsInput struct {
	Workspace string `query:"workspace" maxLength:"63" doc:"Default: that of the token. Another one: the operator only."`
	Toolset   string `query:"toolset" maxLength:"64" doc:"Id or slug. Default: all."`
}

type grantInput struct {
	ID        string `path:"id" maxLength:"64"`
	Workspace string `query:"workspace" maxLength:"63" doc:"Default: that of the token. Another one: the operator only."`
}

func (s *Server) registerGrants() {
	const path = "/v1/grants"
	tags := []string{"access"}
	register(s, huma.Operation{
		OperationID: "list-grants", Method: http.MethodGet, Path: path, Summary: "List the private addresses that toolsets may call", Tags: tags,
	}, func(ctx context.Context, in *listGrantsInput) (*bodyOutput[grant.Grants], error) {
		out, err := s.grants.List(ctx, in.Workspace, in.Toolset)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[grant.Grants]{*out}, nil
	})
	register(s, huma.Operation{
		OperationID: "create-grant", Method: http.MethodPost, Path: path, Summary: "Let a toolset call a private address", Tags: tags, DefaultStatus: http.StatusCreated,
		Description: "For the operator: an administrator of the workspace \"default\". A grant is of one toolset and of the addresses that the name has now, on this node; " +
			"edges obey only their own --allow-private-upstreams. Listeners of this node and addresses where clouds keep the credentials of machines are refused.",
	}, func(ctx context.Context, in *struct{ Body grant.CreateGrant }) (*bodyOutput[grant.Grants], error) {
		out, err := s.grants.Create(ctx, &in.Body)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[grant.Grants]{*out}, nil
	})
	register(s, huma.Operation{
		OperationID: "revoke-grant", Method: http.MethodDelete, Path: path + "/{id}", Summary: "Revoke a grant of a private address", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "In force at once: open connections are closed.",
	}, func(ctx context.Context, in *grantInput) (*struct{}, error) {
		return nil, s.grants.Revoke(ctx, in.Workspace, in.ID)
	})
}
