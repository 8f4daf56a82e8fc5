package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/registry"
)

type addWorkflowsInput struct {
	ToolsetInput
	request.MatchInput
	Body draft.AddWorkflows
}

type workflowInput struct {
	ToolsetInput
	Name string `path:"name" maxLength:"64" doc:"Of the workflow's tool."`
}

type deleteWorkflowInput struct {
	ToolsetInput
	request.MatchInput
	Name string `path:"name" maxLength:"64" doc:"Of the workflow's tool."`
}

// offeredOutput lists what a toolset offers beside its connectors' tools.
type offeredOutput[T any] struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body List[T]
}

// offered answers with what stored says, in one of the two forms that it has.
func offered[T any](d *draft.Draft, stored string, show func(*draft.Draft, []registry.Workflow) ([]T, error)) (*offeredOutput[T], error) {
	list, err := workflow.Read(stored)
	if err != nil {
		return nil, err
	}
	items, err := show(d, list)
	if err != nil {
		return nil, err
	}
	return &offeredOutput[T]{ETag: request.ETag(d.Toolset.Version), Body: List[T]{Items: items}}, nil
}

// listOffered serves the list of one of the two.
func listOffered[T any](s *Server, show func(*draft.Draft, []registry.Workflow) ([]T, error)) func(context.Context, *ToolsetInput) (*offeredOutput[T], error) {
	return func(ctx context.Context, in *ToolsetInput) (*offeredOutput[T], error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return offered(d, d.Toolset.Workflows, show)
	}
}

func registerWorkflows(s *Server) {
	const path = "/v1/toolsets/{id}/workflows"
	tags := []string{"workflows"}
	register(s, huma.Operation{
		OperationID: "list-workflows", Method: http.MethodGet, Path: path, Summary: "List the workflows of a toolset with their plans", Tags: tags,
	}, listOffered(s, (*draft.Draft).ShowWorkflows))
	register(s, huma.Operation{
		OperationID: "get-workflow", Method: http.MethodGet, Path: path + "/{name}", Summary: "Read a workflow with its document", Tags: tags,
	}, func(ctx context.Context, in *workflowInput) (*bodyOutput[workflow.ToolsetWorkflow], error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		list, i, err := d.WorkflowNamed(in.Name, false)
		if err != nil {
			return nil, err
		}
		operations, err := d.WorkflowOperations(true)
		if err != nil {
			return nil, err
		}
		return answer(workflow.Show(&list[i], operations, true))
	})
	register(s, huma.Operation{
		OperationID: "add-workflows", Method: http.MethodPost, Path: path, Summary: "Make tools of the workflows of a document", Tags: tags,
		Description: "Each workflow becomes a tool; one of the same name is replaced. Makes a new draft, as every change. The answer lists all workflows of the toolset, and marks those of the document.",
	}, func(ctx context.Context, in *addWorkflowsInput) (*offeredOutput[workflow.ToolsetWorkflow], error) {
		d, after, err := s.drafts.AddWorkflows(ctx, s.workspace(ctx), in.ID, &in.MatchInput, &in.Body)
		if err != nil {
			return nil, err
		}
		items, err := d.ShowAdded(after, &in.Body)
		if err != nil {
			return nil, err
		}
		return &offeredOutput[workflow.ToolsetWorkflow]{ETag: request.ETag(d.Toolset.Version), Body: List[workflow.ToolsetWorkflow]{Items: items}}, nil
	})
	register(s, huma.Operation{
		OperationID: "run-workflow", Method: http.MethodPost, Path: path + "/{name}/run", Summary: "Run a workflow of the draft", Tags: tags,
		Description: "With the credentials of the toolset, through the pipeline of the gateway; it may change data, as its plan says. Nothing is deployed, and no test is recorded. " +
			"A workflow that failed is an answer with isError. With dryRun nothing is called: the plan is drawn and the arguments are checked.",
	}, func(ctx context.Context, in *runWorkflowInput) (*bodyOutput[rollout.WorkflowRun], error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		return answer(s.rollouts.RunWorkflow(ctx, ws, d, in.Name, &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "delete-workflow", Method: http.MethodDelete, Path: path + "/{name}", Summary: "Remove a workflow", Tags: tags, DefaultStatus: http.StatusOK,
	}, func(ctx context.Context, in *deleteWorkflowInput) (*offeredOutput[workflow.ToolsetWorkflow], error) {
		d, err := s.drafts.RemoveWorkflow(ctx, s.workspace(ctx), in.ID, &in.MatchInput, in.Name, false)
		if err != nil {
			return nil, err
		}
		return offered(d, d.Toolset.Workflows, (*draft.Draft).ShowWorkflows)
	})
}

type runWorkflowInput struct {
	ToolsetInput
	request.MatchInput
	Name string `path:"name" maxLength:"64" doc:"Of the workflow's tool."`
	Body rollout.RunWorkflow
}
