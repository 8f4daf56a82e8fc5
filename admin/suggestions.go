package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft/advice"
)

type suggestionsInput struct {
	ToolsetInput
	Tools []string `query:"tools" maxItems:"256" doc:"Names or globs of tools; absent: all."`
}

type askInput struct {
	ToolsetInput
	Body struct {
		Tools    []string `json:"tools,omitempty" maxItems:"256" doc:"Names or globs of tools; absent: all that are enabled. At most 120 may match, or 4096 for an estimate."`
		Estimate bool     `json:"estimate,omitempty" doc:"Only say what asking takes; nothing is sent to the model."`
	}
}

func registerSuggestions(s *Server) {
	tags := []string{"tools"}
	const path = "/v1/toolsets/{id}/suggestions"
	register(s, huma.Operation{
		OperationID: "get-suggestions", Method: http.MethodGet, Path: path, Summary: "Propose names and descriptions of tools by rules", Tags: tags,
		Description: "Proposals carry a reason and change nothing. Tools whose names and descriptions are good get none. Apply what you accept with batch-update-tools.",
	}, func(ctx context.Context, in *suggestionsInput) (*bodyOutput[advice.Suggestions], error) {
		return pointed(s.advices.Suggest(ctx, s.workspace(ctx), in.ID, in.Tools))
	})
	register(s, huma.Operation{
		OperationID: "ask-suggestions", Method: http.MethodPost, Path: path, Summary: "Ask the model for names and descriptions of tools", Tags: tags,
		Description: "Sends names, descriptions, operations and arguments of the tools to the endpoint that the operator named with --suggest-url; off without one. " +
			"Proposals carry a reason, are checked against the rules of names, and change nothing.",
	}, func(ctx context.Context, in *askInput) (*bodyOutput[advice.Suggestions], error) {
		return pointed(s.advices.AskModel(ctx, s.workspace(ctx), in.ID, in.Body.Tools, in.Body.Estimate))
	})
}
