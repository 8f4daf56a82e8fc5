package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/toolset/grant"
)

type listGrantsInput struct {
	Workspace string `query:"workspace" maxLength:"63" doc:"Default: that of the token. Another one: the operator only."`
	Toolset   string `query:"toolset" maxLength:"64" doc:"Id or slug. Default: all."`
}

type grantInput struct {
	ID        string `path:"id" maxLength:"64"`
	Workspace string `query:"workspace" maxLength:"63" doc:"Default: that of the token. Another one: the operator only."`
}

func registerGrants(s *Server) {
	const path = "/v1/grants"
	tags := []string{"access"}
	register(s, huma.Operation{
		OperationID: "list-grants", Method: http.MethodGet, Path: path, Summary: "List the private addresses that toolsets may call", Tags: tags,
	}, func(ctx context.Context, in *listGrantsInput) (*bodyOutput[grant.Grants], error) {
		return answer(s.grants.List(ctx, in.Workspace, in.Toolset))
	})
	register(s, huma.Operation{
		OperationID: "create-grant", Method: http.MethodPost, Path: path, Summary: "Let a toolset call a private address", Tags: tags, DefaultStatus: http.StatusCreated,
		Description: "For the operator: an administrator of the workspace \"default\". A grant is of one toolset and of the addresses that the name has now, on this node; " +
			"edges obey only their own --allow-private-upstreams. Listeners of this node and addresses where clouds keep the credentials of machines are refused.",
	}, func(ctx context.Context, in *struct{ Body grant.CreateGrant }) (*bodyOutput[grant.Grants], error) {
		return answer(s.grants.Create(ctx, &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "revoke-grant", Method: http.MethodDelete, Path: path + "/{id}", Summary: "Revoke a grant of a private address", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "In force at once: open connections are closed.",
	}, func(ctx context.Context, in *grantInput) (*struct{}, error) {
		return nil, s.grants.Revoke(ctx, in.Workspace, in.ID)
	})
}
