package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/rollout"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/workflow"
	"github.com/sluicegate/sluice/registry"
)

// AddWorkflows is a document whose workflows become tools.
type AddWorkflows struct {
	Document  string   `json:"document" minLength:"1" maxLength:"524288" doc:"Arazzo 1.0 or 1.1, YAML or JSON."`
	FileName  string   `json:"fileName,omitempty" maxLength:"2048" doc:"Name for messages."`
	Workflows []string `json:"workflows,omitempty" maxItems:"64" doc:"Only those with these workflowIds."`
	DryRun    bool     `json:"dryRun,omitempty" doc:"Check the document and draw its plans, and change nothing."`
}

type addWorkflowsInput struct {
	ToolsetInput
	request.MatchInput
	Body AddWorkflows
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

type workflowsOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body List[workflow.ToolsetWorkflow]
}

func (s *Server) registerWorkflows() {
	const path = "/v1/toolsets/{id}/workflows"
	tags := []string{"workflows"}
	register(s, huma.Operation{
		OperationID: "list-workflows", Method: http.MethodGet, Path: path, Summary: "List the workflows of a toolset with their plans", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*workflowsOutput, error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return showWorkflows(d, d.Toolset.Workflows)
	})
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
		Description: "Each workflow becomes a tool; one of the same name is replaced. Makes a new draft, as every change.",
	}, func(ctx context.Context, in *addWorkflowsInput) (*workflowsOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		before, err := workflow.Read(d.Toolset.Workflows)
		if err != nil {
			return nil, err
		}
		operations, err := d.WorkflowOperations(false)
		if err != nil {
			return nil, err
		}
		after, err := workflow.Add(before, in.Body.FileName, in.Body.Document, in.Body.Workflows, operations)
		if err != nil {
			return nil, err
		}
		if in.Body.DryRun {
			return showWorkflows(d, store.JSON(after))
		}
		return s.saveWorkflows(ctx, ws, d, before, after)
	})
	register(s, huma.Operation{
		OperationID: "run-workflow", Method: http.MethodPost, Path: path + "/{name}/run", Summary: "Run a workflow of the draft", Tags: tags,
		Description: "With the credentials of the toolset, through the pipeline of the gateway; it may change data, as its plan says. Nothing is deployed, and no test is recorded. " +
			"A workflow that failed is an answer with isError. With dryRun nothing is called: the plan is drawn and the arguments are checked.",
	}, func(ctx context.Context, in *runWorkflowInput) (*bodyOutput[rollout.WorkflowRun], error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.Load(ctx, ws, in.ID)
		if err != nil {
			return nil, err
		}
		return answer(s.rollouts.RunWorkflow(ctx, ws, d, in.Name, &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "delete-workflow", Method: http.MethodDelete, Path: path + "/{name}", Summary: "Remove a workflow", Tags: tags, DefaultStatus: http.StatusOK,
	}, func(ctx context.Context, in *deleteWorkflowInput) (*workflowsOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		before, i, err := d.WorkflowNamed(in.Name, false)
		if err != nil {
			return nil, err
		}
		return s.removeWorkflow(ctx, ws, d, before, i)
	})
}

func (s *Server) saveWorkflows(ctx context.Context, ws *store.Workspace, d *draft.Draft, before, after []registry.Workflow) (*workflowsOutput, error) {
	if err := s.storeWorkflows(ctx, ws, d, "toolset.workflows", before, after); err != nil {
		return nil, err
	}
	return showWorkflows(d, d.Toolset.Workflows)
}

func (s *Server) storeWorkflows(ctx context.Context, ws *store.Workspace, d *draft.Draft, action string, before, after []registry.Workflow) error {
	if d.Toolset.Workflows = ""; len(after) > 0 {
		d.Toolset.Workflows = store.JSON(after)
	}
	return s.drafts.Save(ctx, ws, d, action, workflow.Names(before), workflow.Names(after), true)
}

// removeWorkflow takes a workflow away, with the edits of its tool: another of the name
// begins without.
func (s *Server) removeWorkflow(ctx context.Context, ws *store.Workspace, d *draft.Draft, before []registry.Workflow, i int) (*workflowsOutput, error) {
	d.ForgetEdits(&before[i])
	return s.saveWorkflows(ctx, ws, d, before, slices.Delete(slices.Clone(before), i, i+1))
}

func showWorkflows(d *draft.Draft, stored string) (*workflowsOutput, error) {
	list, err := workflow.Read(stored)
	if err != nil {
		return nil, err
	}
	operations, err := d.WorkflowOperations(false)
	if err != nil {
		return nil, err
	}
	out := &workflowsOutput{ETag: request.ETag(d.Toolset.Version), Body: List[workflow.ToolsetWorkflow]{Items: []workflow.ToolsetWorkflow{}}}
	for i := range list {
		if list[i].Script != nil {
			continue
		}
		shown, err := workflow.Show(&list[i], operations, false)
		if err != nil {
			return nil, err
		}
		out.Body.Items = append(out.Body.Items, shown)
	}
	return out, nil
}

type runWorkflowInput struct {
	ToolsetInput
	Name string `path:"name" maxLength:"64" doc:"Of the workflow's tool."`
	Body rollout.RunWorkflow
}
