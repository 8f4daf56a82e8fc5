package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/request"
)

type createPreviewInput struct {
	ToolsetInput
	request.MatchInput
	Body *rollout.CreateDraftPreview
}

func registerPreviews(s *Server) {
	tags := []string{"toolsets"}
	const path = "/v1/toolsets/{id}/preview"
	register(s, huma.Operation{
		OperationID: "create-draft-preview", Method: http.MethodPost, Path: path, Summary: "Serve the draft at a temporary URL", Tags: tags,
		DefaultStatus: http.StatusCreated,
		Description: "The gateway of this node serves the current draft at an unlisted address, to callers with the token in this answer. " +
			"What is live does not change, and nothing is counted. A new preview takes the place of the one before. Edges serve no previews.",
	}, func(ctx context.Context, in *createPreviewInput) (*bodyOutput[rollout.DraftPreview], error) {
		return pointed(s.rollouts.PreviewDraft(ctx, s.workspace(ctx), in.ID, &in.MatchInput, in.Body))
	})
	register(s, huma.Operation{
		OperationID: "get-draft-preview", Method: http.MethodGet, Path: path, Summary: "Read the preview of the draft", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[rollout.DraftPreview], error) {
		return pointed(s.rollouts.DraftPreview(ctx, s.workspace(ctx), in.ID))
	})
	register(s, huma.Operation{
		OperationID: "end-draft-preview", Method: http.MethodDelete, Path: path, Summary: "End the preview of the draft", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "The next request to its URL gets 404.",
	}, func(ctx context.Context, in *ToolsetInput) (*struct{}, error) {
		return nil, s.rollouts.EndPreview(ctx, s.workspace(ctx), in.ID)
	})
}

// PreviewRelease returns the signed release of a preview, for the gateway of this
// node. It fails with [problem.NotFound] when there is none or its time is over.
func (s *Server) PreviewRelease(ctx context.Context, id string) ([]byte, error) {
	row, err := s.o.Store.PreviewByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return row.Envelope, nil
}
