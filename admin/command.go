package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

type outputInput struct {
	ToolsetConnectorInput
}

// registerCommands registers what is of commands alone.
func registerCommands(s *Server) {
	register(s, huma.Operation{
		OperationID: "read-command-output", Method: http.MethodGet, Path: "/v1/toolsets/{id}/connectors/{connector}/output",
		Summary: "Read what the command of a connector wrote for people", Tags: []string{"toolsets"},
		Description: "For a connector that is a command of this node: its newest lines on stderr, and when its processes began and ended, and why.",
	}, func(ctx context.Context, in *outputInput) (*bodyOutput[local.Output], error) {
		d, _, err := s.outlined(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if err := d.Focus(in.Connector); err != nil {
			return nil, err
		}
		if !registry.IsStdio(d.Row.SourceURL) {
			return nil, problem.New(problem.Conflict, "connector %s of toolset %s is not a command of this node", d.Row.Name, d.Toolset.Slug)
		}
		out := local.Output{Lines: []local.Line{}}
		if s.o.Commands != nil {
			out = s.o.Commands.Output(d.Row.SourceURL)
		}
		return &bodyOutput[local.Output]{out}, nil
	})
}
