package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/request"
)

type bindingsOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body binding.ToolsetPlugins
}

type setPluginsInput struct {
	ToolsetInput
	request.MatchInput
	Body binding.SetPlugins
}

func registerBindings(s *Server) {
	const path = "/v1/toolsets/{id}/plugins"
	tags := []string{"plugins"}
	register(s, huma.Operation{
		OperationID: "get-toolset-plugins", Method: http.MethodGet, Path: path, Summary: "Read which plugins a toolset binds, in the order they run", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bindingsOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.Load(ctx, ws, in.ID)
		if err != nil {
			return nil, err
		}
		out, err := s.bound.Show(ctx, ws, d)
		if err == nil {
			err = s.bound.AddLive(ctx, ws, d, out)
		}
		if err != nil {
			return nil, err
		}
		return &bindingsOutput{ETag: request.ETag(d.Toolset.Version), Body: *out}, nil
	})
	register(s, huma.Operation{
		OperationID: "set-toolset-plugins", Method: http.MethodPut, Path: path, Summary: "Set which plugins a toolset binds", Tags: tags,
		Description: "All bindings, in the order in which they run on an answer: behind the toolset's own settings of answers, before the caller's fields. " +
			"Each range is pinned to one version. Makes a new draft, as every change.",
	}, func(ctx context.Context, in *setPluginsInput) (*bindingsOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		if err := s.bound.Set(ctx, ws, d, &in.Body); err != nil {
			return nil, err
		}
		out, err := s.bound.Show(ctx, ws, d)
		if err != nil {
			return nil, err
		}
		return &bindingsOutput{ETag: request.ETag(d.Toolset.Version), Body: *out}, nil
	})
}
