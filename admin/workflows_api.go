package admin

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/declare"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/workflow"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
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
		d, err := s.load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return d.showWorkflows(d.ts.Workflows)
	})
	register(s, huma.Operation{
		OperationID: "get-workflow", Method: http.MethodGet, Path: path + "/{name}", Summary: "Read a workflow with its document", Tags: tags,
	}, func(ctx context.Context, in *workflowInput) (*bodyOutput[workflow.ToolsetWorkflow], error) {
		d, err := s.load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		list, i, err := d.workflowNamed(in.Name)
		if err != nil {
			return nil, err
		}
		operations, err := d.workflowOperations(true)
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
		d, err := s.loadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		before, err := workflow.Read(d.ts.Workflows)
		if err != nil {
			return nil, err
		}
		operations, err := d.workflowOperations(false)
		if err != nil {
			return nil, err
		}
		after, err := workflow.Add(before, in.Body.FileName, in.Body.Document, in.Body.Workflows, operations)
		if err != nil {
			return nil, err
		}
		if in.Body.DryRun {
			return d.showWorkflows(store.JSON(after))
		}
		return s.saveWorkflows(ctx, ws, d, before, after)
	})
	register(s, huma.Operation{
		OperationID: "run-workflow", Method: http.MethodPost, Path: path + "/{name}/run", Summary: "Run a workflow of the draft", Tags: tags,
		Description: "With the credentials of the toolset, through the pipeline of the gateway; it may change data, as its plan says. Nothing is deployed, and no test is recorded. " +
			"A workflow that failed is an answer with isError. With dryRun nothing is called: the plan is drawn and the arguments are checked.",
	}, s.runWorkflow)
	register(s, huma.Operation{
		OperationID: "delete-workflow", Method: http.MethodDelete, Path: path + "/{name}", Summary: "Remove a workflow", Tags: tags, DefaultStatus: http.StatusOK,
	}, func(ctx context.Context, in *deleteWorkflowInput) (*workflowsOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.loadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		before, i, err := d.workflowNamed(in.Name)
		if err != nil {
			return nil, err
		}
		return s.removeWorkflow(ctx, ws, d, before, i)
	})
}

func (s *Server) saveWorkflows(ctx context.Context, ws *store.Workspace, d *draft, before, after []registry.Workflow) (*workflowsOutput, error) {
	if err := s.storeWorkflows(ctx, ws, d, "toolset.workflows", before, after); err != nil {
		return nil, err
	}
	return d.showWorkflows(d.ts.Workflows)
}

func (s *Server) storeWorkflows(ctx context.Context, ws *store.Workspace, d *draft, action string, before, after []registry.Workflow) error {
	if d.ts.Workflows = ""; len(after) > 0 {
		d.ts.Workflows = store.JSON(after)
	}
	return s.saveDraft(ctx, ws, d, action, workflow.Names(before), workflow.Names(after), true)
}

// removeWorkflow takes a workflow away, with the edits of its tool: another of the name
// begins without.
func (s *Server) removeWorkflow(ctx context.Context, ws *store.Workspace, d *draft, before []registry.Workflow, i int) (*workflowsOutput, error) {
	d.forgetEdits(&before[i])
	return s.saveWorkflows(ctx, ws, d, before, slices.Delete(slices.Clone(before), i, i+1))
}

func (d *draft) forgetEdits(w *registry.Workflow) {
	op := toolset.Operation{Method: manifest.MethodWorkflow, Path: w.Path()}
	d.edits = slices.DeleteFunc(d.edits, func(e store.ToolEdit) bool { return toolset.OperationOf(&e) == op })
}

func (d *draft) showWorkflows(stored string) (*workflowsOutput, error) {
	list, err := workflow.Read(stored)
	if err != nil {
		return nil, err
	}
	operations, err := d.workflowOperations(false)
	if err != nil {
		return nil, err
	}
	out := &workflowsOutput{ETag: request.ETag(d.ts.Version), Body: List[workflow.ToolsetWorkflow]{Items: []workflow.ToolsetWorkflow{}}}
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

func (d *draft) workflowNamed(name string) ([]registry.Workflow, int, error) {
	list, err := workflow.Read(d.ts.Workflows)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(list, func(w registry.Workflow) bool { return w.Name == name && w.Script == nil })
	if i < 0 {
		return nil, 0, problem.New(problem.NotFound, "the toolset has no workflow %.80q", name).Fix("see: sluice toolset workflow %s list", d.ts.Slug)
	}
	return list, i, nil
}

// workflowOperations are the operations of the draft that steps may call.
// With schemas, they have those of their answers.
func (d *draft) workflowOperations(schemas bool) ([]workflow.Operation, error) {
	ids := map[toolset.Operation]string{}
	for _, p := range d.parts {
		c := d.connectors()[p.row.Name]
		for i := range c.Len() {
			t, err := c.Tool(i)
			if err != nil {
				return nil, err
			}
			ids[toolset.Operation{Connector: p.row.Name, Method: t.Method, Path: t.Path}] = t.OperationID
		}
	}
	var out []workflow.Operation
	for _, t := range d.tools(schemas) {
		out = append(out, workflow.Operation{
			SelectedTool: registry.SelectedTool(t.Operation), ID: ids[t.Operation], Tool: t.Name, Enabled: t.Enabled,
			Annotations: operation.Annotations(t.Annotations), OutputSchema: workflow.Unwrapped(t.OutputSchema),
		})
	}
	return out, nil
}

// bindWorkflows puts the workflows that can run into the toolset of a bundle. The others
// wait for their operations.
func (d *draft) bindWorkflows(t *registry.Toolset) error {
	list, disabled, err := d.editedWorkflows()
	if err != nil || len(list) == 0 {
		return err
	}
	operations, err := d.workflowOperations(false)
	if err != nil {
		return err
	}
	t.Workflows = workflow.Servable(list, disabled, operations)
	return nil
}

// declareWorkflows gives a draft the workflows of a document, with the names that its
// connectors have here.
func (d *draft) declareWorkflows(list []registry.Workflow, names declare.Names) error {
	if d.ts.Workflows = ""; len(list) == 0 {
		return nil
	}
	out := slices.Clone(list)
	for i := range out {
		calls := slices.Clone(out[i].Calls)
		for j := range calls {
			op := names.Operation(toolset.Operation(calls[j].Operation()))
			calls[j].Connector = op.Connector
		}
		out[i].Calls = calls
		if err := workflow.Check(&out[i]); err != nil {
			return problem.As(err).At("", 0, 0, "/workflows/"+strconv.Itoa(i))
		}
	}
	d.ts.Workflows = store.JSON(out)
	return nil
}
