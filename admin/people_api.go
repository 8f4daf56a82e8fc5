package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// MemberInput is the path of a member.
type MemberInput struct {
	ID string `path:"id" maxLength:"254" doc:"Id or address."`
}

type addMemberInput struct{ Body people.AddMember }

type patchMemberInput struct {
	MemberInput
	request.MatchInput
	Body people.PatchMember `contentType:"application/merge-patch+json"`
}

type removeMemberInput struct {
	MemberInput
	request.MatchInput
}

type memberOutput struct {
	ETag string `header:"ETag"`
	Body people.Member
}

type createTokenInput struct{ Body people.CreateAPIToken }

type createWorkspaceInput struct{ Body people.CreateWorkspace }

// TokenInput is the path of an API token.
type TokenInput struct {
	ID string `path:"id" maxLength:"64"`
}

func memberAnswer(row *store.Member, err error) (*memberOutput, error) {
	if err != nil {
		return nil, err
	}
	return &memberOutput{ETag: request.ETag(row.Version), Body: people.ShowMember(row)}, nil
}

func registerMembers(s *Server) {
	tags := []string{"access"}
	register(s, huma.Operation{
		OperationID: "list-members", Method: http.MethodGet, Path: "/v1/members", Summary: "List the members of the workspace, newest first", Tags: tags,
	}, paged(s, "/v1/members", (*store.Workspace).Members, plain(people.ShowMember)))
	register(s, huma.Operation{
		OperationID: "get-member", Method: http.MethodGet, Path: "/v1/members/{id}", Summary: "Read a member", Tags: tags,
	}, func(ctx context.Context, in *MemberInput) (*memberOutput, error) {
		return memberAnswer(s.workspace(ctx).Member(ctx, in.ID))
	})
	register(s, huma.Operation{
		OperationID: "add-member", Method: http.MethodPost, Path: "/v1/members", Summary: "Add a member", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "A member works with API tokens of their own: make one with the id as its member.",
	}, func(ctx context.Context, in *addMemberInput) (*memberOutput, error) {
		return memberAnswer(people.Add(ctx, s.workspace(ctx), &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "patch-member", Method: http.MethodPatch, Path: "/v1/members/{id}", Summary: "Change the role or name of a member", Tags: tags,
		Description: "Tokens of the member may do no more than the new role with their next request. The last administrator stays one. Needs If-Match.",
	}, func(ctx context.Context, in *patchMemberInput) (*memberOutput, error) {
		return memberAnswer(people.Patch(ctx, s.workspace(ctx), in.ID, &in.MatchInput, &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "remove-member", Method: http.MethodDelete, Path: "/v1/members/{id}", Summary: "Remove a member", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "Their tokens are revoked. The last administrator cannot be removed. Needs If-Match.",
	}, func(ctx context.Context, in *removeMemberInput) (*struct{}, error) {
		return nil, people.Remove(ctx, s.workspace(ctx), in.ID, &in.MatchInput)
	})
}

func registerTokens(s *Server) {
	tags := []string{"access"}
	register(s, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Path: "/v1/tokens", Summary: "List the API tokens of the workspace, newest first", Tags: tags,
	}, paged(s, "/v1/tokens", (*store.Workspace).Tokens, plain(people.ShowToken)))
	register(s, huma.Operation{
		OperationID: "create-token", Method: http.MethodPost, Path: "/v1/tokens", Summary: "Make an API token", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "The token is in this answer only.",
	}, func(ctx context.Context, in *createTokenInput) (*bodyOutput[people.APIToken], error) {
		return answer(people.AddToken(ctx, s.workspace(ctx), &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "revoke-token", Method: http.MethodDelete, Path: "/v1/tokens/{id}", Summary: "Revoke an API token", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "It ends with the next request. The last token of an administrator cannot be revoked.",
	}, func(ctx context.Context, in *TokenInput) (*struct{}, error) {
		return nil, people.RevokeToken(ctx, s.workspace(ctx), in.ID)
	})
	register(s, huma.Operation{
		OperationID: "list-workspaces", Method: http.MethodGet, Path: "/v1/workspaces", Summary: "List workspaces (operator)", Tags: tags,
	}, paged(s, "/v1/workspaces", func(_ *store.Workspace, ctx context.Context, p store.Page) ([]string, string, error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, "", err
		}
		return s.o.Store.WorkspacesPage(ctx, p)
	}, plain(func(id *string) people.WorkspaceInfo { return people.WorkspaceInfo{ID: *id} })))
	register(s, huma.Operation{
		OperationID: "create-workspace", Method: http.MethodPost, Path: "/v1/workspaces", Summary: "Make a workspace (operator)", Tags: tags,
		DefaultStatus: http.StatusCreated, Description: "The answer holds the API token of its first administrator, which is shown once.",
	}, func(ctx context.Context, in *createWorkspaceInput) (*bodyOutput[*people.CreatedWorkspace], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		return answer(people.Create(ctx, s.o.Store, &in.Body))
	})
}
