package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/admin/request"
)

type learnedInput struct {
	ToolsetInput
	Tool  string `query:"tool" maxLength:"64" doc:"Only of this tool."`
	Limit int    `query:"limit" minimum:"1" maximum:"2048" default:"200"`
}

type deleteLearnedInput struct {
	ToolsetInput
	request.MatchInput
	Tool  string `query:"tool" maxLength:"64" doc:"Only of this tool. Default: of all."`
	Query string `query:"query" maxLength:"400" doc:"Only this request. Default: all."`
}

type useLearnedInput struct {
	ToolsetInput
	request.MatchInput
}

func registerLearned(s *Server) {
	tags := []string{"selection"}
	const path = "/v1/toolsets/{id}/learned"
	register(s, huma.Operation{
		OperationID: "get-learned", Method: http.MethodGet, Path: path, Tags: tags,
		Summary: "List the searches that successful calls followed",
	}, func(ctx context.Context, in *learnedInput) (*bodyOutput[advice.LearnedRequests], error) {
		return pointed(s.advices.Learned(ctx, s.workspace(ctx), in.ID, in.Tool, in.Limit))
	})
	register(s, huma.Operation{
		OperationID: "delete-learned", Method: http.MethodDelete, Path: path, Tags: tags,
		Summary:     "Delete learned requests for good",
		Description: "They leave the draft too and are not learned again. What is live is without them when the draft is deployed.",
	}, func(ctx context.Context, in *deleteLearnedInput) (*bodyOutput[advice.DeletedRequests], error) {
		return pointed(s.advices.ForgetLearned(ctx, s.workspace(ctx), in.ID, &in.MatchInput, in.Tool, in.Query))
	})
	register(s, huma.Operation{
		OperationID: "use-learned", Method: http.MethodPost, Path: path + "/use", Tags: tags,
		Summary:     "Take what was learned so far into the draft",
		Description: "Every other change of the draft does that too.",
	}, func(ctx context.Context, in *useLearnedInput) (*toolsetOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.advices.UseLearned(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		return s.toolsetAnswer(ctx, ws, d)
	})
}
