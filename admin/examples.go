package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/toolset/choice"
)

type examplesInput struct {
	ToolInput
	request.MatchInput
	Body struct {
		Examples []string `json:"examples" maxItems:"256" doc:"Requests that this tool serves, as users or agents word them."`
	}
}

type examplesOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body choice.ToolExamples
}

func registerExamples(s *Server) {
	tags := []string{"selection"}
	const path = "/v1/toolsets/{id}/tools/{name}/examples"
	register(s, huma.Operation{
		OperationID: "get-examples", Method: http.MethodGet, Path: path, Summary: "Read the requests that a tool is known to serve", Tags: tags,
	}, func(ctx context.Context, in *ToolInput) (*examplesOutput, error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return examplesAnswer(d, in.Name)
	})
	register(s, huma.Operation{
		OperationID: "put-examples", Method: http.MethodPut, Path: path, Summary: "Set the requests that a tool serves", Tags: tags,
		Description: "They improve the search of tools: dozens of each tool much, one or two nothing.",
	}, func(ctx context.Context, in *examplesInput) (*examplesOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		tool, err := toolAnswer(d, nil, in.Name)
		if err != nil {
			return nil, err
		}
		c, err := choice.Of(d.Toolset)
		if err != nil {
			return nil, err
		}
		before, after, err := c.SetExamples(tool.Body.Operation, in.Body.Examples)
		if err != nil {
			return nil, err
		}
		c.Keep(d.Toolset)
		if err := s.drafts.Save(ctx, ws, d, "tool.examples", before, after, false); err != nil {
			return nil, err
		}
		return examplesAnswer(d, in.Name)
	})
}

func examplesAnswer(d *draft.Draft, name string) (*examplesOutput, error) {
	tool, err := toolAnswer(d, nil, name)
	if err != nil {
		return nil, err
	}
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return nil, err
	}
	return &examplesOutput{ETag: request.ETag(d.Toolset.Version), Body: *c.ExamplesOf(tool.Body.Operation)}, nil
}
