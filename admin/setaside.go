package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/request"
)

// KeptDraftInput is the path of a draft that was kept aside.
type KeptDraftInput struct {
	ToolsetInput
	Name string `path:"name" maxLength:"64"`
}

type applyDraftInput struct {
	KeptDraftInput
	request.MatchInput
}

func registerKeptDrafts(s *Server) {
	const path = "/v1/toolsets/{id}/drafts"
	tags := []string{"toolsets"}
	register(s, huma.Operation{
		OperationID: "list-kept-drafts", Method: http.MethodGet, Path: path, Summary: "List the drafts that roll-backs kept aside, newest first", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[List[rollout.KeptDraft]], error) {
		out, err := s.rollouts.KeptDrafts(ctx, s.workspace(ctx), in.ID)
		return answer(List[rollout.KeptDraft]{Items: out}, err)
	})
	register(s, huma.Operation{
		OperationID: "get-kept-draft", Method: http.MethodGet, Path: path + "/{name}", Summary: "Read a draft that was kept aside", Tags: tags,
	}, func(ctx context.Context, in *KeptDraftInput) (*bodyOutput[rollout.KeptDraftDetail], error) {
		return pointed(s.rollouts.KeptDraft(ctx, s.workspace(ctx), in.ID, in.Name))
	})
	register(s, huma.Operation{
		OperationID: "apply-kept-draft", Method: http.MethodPost, Path: path + "/{name}/apply", Summary: "Make a draft that was kept aside the draft again", Tags: tags,
		Description: "Nothing becomes live by it. The draft must have no edits that are not live. If-Match: the toolset's ETag.",
	}, func(ctx context.Context, in *applyDraftInput) (*toolsetOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.rollouts.ApplyKept(ctx, ws, in.ID, &in.MatchInput, in.Name)
		if err != nil {
			return nil, err
		}
		return s.toolsetAnswer(ctx, ws, d)
	})
	register(s, huma.Operation{
		OperationID: "drop-kept-draft", Method: http.MethodDelete, Path: path + "/{name}", Summary: "Drop a draft that was kept aside", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *KeptDraftInput) (*struct{}, error) {
		return nil, s.rollouts.DropKept(ctx, s.workspace(ctx), in.ID, in.Name)
	})
}
