package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft/advice"
	"github.com/sluicegate/sluice/registry"
)

type searchInput struct {
	ToolsetInput
	Query string `query:"q" required:"true" minLength:"1" maxLength:"2000" doc:"What to search for."`
	K     int    `query:"k" minimum:"1" maximum:"40" default:"8"`
}

type previewSelectionInput struct {
	ToolsetInput
	Body struct {
		UseCase string `json:"useCase" minLength:"1" maxLength:"4096"`
	}
}

func registerSelection(s *Server) {
	tags := []string{"selection"}
	register(s, huma.Operation{
		OperationID: "search-tools", Method: http.MethodGet, Path: "/v1/toolsets/{id}/search", Tags: tags,
		Summary: "Search the enabled tools of a toolset as search_tools does",
	}, func(ctx context.Context, in *searchInput) (*bodyOutput[advice.SearchAnswer], error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		a, err := s.advices.Search(ctx, d, in.Query, in.K)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[advice.SearchAnswer]{*a}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-selection", Method: http.MethodGet, Path: "/v1/toolsets/{id}/selection", Tags: tags,
		Summary: "Read which tools clients list, why, and what each selection costs",
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[advice.ToolSelection], error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return answer(s.advices.Selection(ctx, d))
	})
	register(s, huma.Operation{
		OperationID: "preview-selection", Method: http.MethodPost, Path: "/v1/toolsets/{id}/selection/preview", Tags: tags,
		Summary: "Choose tools for a use case and store nothing",
	}, func(ctx context.Context, in *previewSelectionInput) (*bodyOutput[advice.ToolSelection], error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		mode := registry.SelectUseCase
		if err := d.ChooseAnew(&mode, &in.Body.UseCase, nil); err != nil {
			return nil, err
		}
		return answer(s.advices.Selection(ctx, d))
	})
	registerExamples(s)
}
