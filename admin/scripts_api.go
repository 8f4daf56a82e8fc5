package admin

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/request"
)

type saveScriptInput struct {
	ToolsetInput
	request.MatchInput
	Body draft.SaveScript
}

type scriptInput struct {
	ToolsetInput
	Name string `path:"name" maxLength:"64" doc:"Of the script's tool."`
}

type deleteScriptInput struct {
	ToolsetInput
	request.MatchInput
	Name string `path:"name" maxLength:"64" doc:"Of the script's tool."`
}

type scriptOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body workflow.ToolsetScript
}

func registerScripts(s *Server) {
	const path = "/v1/toolsets/{id}/scripts"
	tags := []string{"workflows"}
	register(s, huma.Operation{
		OperationID: "list-scripts", Method: http.MethodGet, Path: path, Summary: "List the scripts of a toolset that are tools", Tags: tags,
	}, listOffered(s, (*draft.Draft).ShowScripts))
	register(s, huma.Operation{
		OperationID: "get-script", Method: http.MethodGet, Path: path + "/{name}", Summary: "Read a script with its code", Tags: tags,
	}, func(ctx context.Context, in *scriptInput) (*scriptOutput, error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		list, i, err := d.WorkflowNamed(in.Name, true)
		if err != nil {
			return nil, err
		}
		operations, err := d.WorkflowOperations(false)
		if err != nil {
			return nil, err
		}
		return &scriptOutput{ETag: request.ETag(d.Toolset.Version), Body: workflow.ShowScript(&list[i], operations, true)}, nil
	})
	register(s, huma.Operation{
		OperationID: "save-script", Method: http.MethodPost, Path: path, Summary: "Make a tool of a script", Tags: tags,
		Description: "Of the code of a request, or of a run of run_code that succeeded: it is kept for 7 days, sealed, where all calls of the toolset are captured, and only if nothing in it looks like a secret or names a person. " +
			"Makes a new draft, as every change.",
	}, func(ctx context.Context, in *saveScriptInput) (*scriptOutput, error) {
		switch {
		case in.Body.Run != "":
			settleUsage(ctx, s) // the run may be of this moment
		case s.rollouts.Tester != nil: // the code of a run did run
			if err := s.rollouts.Tester.CheckScript(ctx, in.Body.Code); err != nil {
				return nil, err
			}
		}
		d, shown, err := s.drafts.SaveScript(ctx, s.workspace(ctx), in.ID, &in.MatchInput, &in.Body)
		if err != nil {
			return nil, err
		}
		return &scriptOutput{ETag: request.ETag(d.Toolset.Version), Body: *shown}, nil
	})
	register(s, huma.Operation{
		OperationID: "delete-script", Method: http.MethodDelete, Path: path + "/{name}", Summary: "Remove the tool of a script", Tags: tags, DefaultStatus: http.StatusOK,
	}, func(ctx context.Context, in *deleteScriptInput) (*offeredOutput[workflow.ToolsetScript], error) {
		d, err := s.drafts.RemoveWorkflow(ctx, s.workspace(ctx), in.ID, &in.MatchInput, in.Name, true)
		if err != nil {
			return nil, err
		}
		return offered(d, d.Toolset.Workflows, (*draft.Draft).ShowScripts)
	})
}

// settleUsage reads what the gateway of this node counted. What cannot be read is not
// there yet.
func settleUsage(ctx context.Context, s *Server) {
	if s.o.SettleUsage == nil {
		return
	}
	if err := s.o.SettleUsage(ctx); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "what the gateway of this node counted could not be read", slog.Any("error", err))
	}
}
