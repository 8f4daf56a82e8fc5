package draft

import (
	"context"
	"slices"

	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// AddWorkflows is a document whose workflows become tools.
type AddWorkflows struct {
	Document  string   `json:"document" minLength:"1" maxLength:"524288" doc:"Arazzo 1.0 or 1.1, YAML or JSON."`
	FileName  string   `json:"fileName,omitempty" maxLength:"2048" doc:"Name for messages."`
	Workflows []string `json:"workflows,omitempty" maxItems:"64" doc:"Only those with these workflowIds."`
	DryRun    bool     `json:"dryRun,omitempty" doc:"Check the document and draw its plans, and change nothing."`
}

// AddWorkflows makes tools of the workflows of a document, or only checks them. It returns
// the draft and the workflows that it has, or would have.
func (r *Room) AddWorkflows(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, in *AddWorkflows) (*Draft, []registry.Workflow, error) {
	d, err := r.LoadMatching(ctx, ws, id, match)
	if err != nil {
		return nil, nil, err
	}
	before, err := workflow.Read(d.Toolset.Workflows)
	if err != nil {
		return nil, nil, err
	}
	operations, err := d.WorkflowOperations(false)
	if err != nil {
		return nil, nil, err
	}
	after, err := workflow.Add(before, in.FileName, in.Document, in.Workflows, operations)
	if err != nil || in.DryRun {
		return d, after, err
	}
	return d, after, r.saveWorkflows(ctx, ws, d, "toolset.workflows", before, after)
}

// has reports whether w is a workflow that in adds.
func (in *AddWorkflows) has(w *registry.Workflow) bool {
	return w.Document == in.Document && (len(in.Workflows) == 0 || slices.Contains(in.Workflows, w.ID))
}

// RemoveWorkflow takes the tool of a workflow or a script away, with its edits: another of
// the name begins without.
func (r *Room) RemoveWorkflow(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, name string, script bool) (*Draft, error) {
	d, err := r.LoadMatching(ctx, ws, id, match)
	if err != nil {
		return nil, err
	}
	before, i, err := d.WorkflowNamed(name, script)
	if err != nil {
		return nil, err
	}
	d.ForgetEdits(&before[i])
	action := "toolset.workflows"
	if script {
		action = "toolset.scripts"
	}
	return d, r.saveWorkflows(ctx, ws, d, action, before, slices.Delete(slices.Clone(before), i, i+1))
}

func (r *Room) saveWorkflows(ctx context.Context, ws *store.Workspace, d *Draft, action string, before, after []registry.Workflow) error {
	if d.Toolset.Workflows = ""; len(after) > 0 {
		d.Toolset.Workflows = store.JSON(after)
	}
	return r.Save(ctx, ws, d, action, workflow.Names(before), workflow.Names(after), true)
}

// ShowWorkflows renders the workflows among what a draft has, or would have.
func (d *Draft) ShowWorkflows(list []registry.Workflow) ([]workflow.ToolsetWorkflow, error) {
	return showOffered(d, list, false, func(w *registry.Workflow, operations []workflow.Operation) (workflow.ToolsetWorkflow, error) {
		return workflow.Show(w, operations, false)
	})
}

// ShowAdded renders the workflows as ShowWorkflows does, and marks those that in adds.
func (d *Draft) ShowAdded(list []registry.Workflow, in *AddWorkflows) ([]workflow.ToolsetWorkflow, error) {
	return showOffered(d, list, false, func(w *registry.Workflow, operations []workflow.Operation) (workflow.ToolsetWorkflow, error) {
		shown, err := workflow.Show(w, operations, false)
		shown.Added = in.has(w)
		return shown, err
	})
}

// ShowScripts renders the scripts among what a draft has.
func (d *Draft) ShowScripts(list []registry.Workflow) ([]workflow.ToolsetScript, error) {
	return showOffered(d, list, true, func(w *registry.Workflow, operations []workflow.Operation) (workflow.ToolsetScript, error) {
		return workflow.ShowScript(w, operations, false), nil
	})
}

func showOffered[T any](d *Draft, list []registry.Workflow, script bool, show func(*registry.Workflow, []workflow.Operation) (T, error)) ([]T, error) {
	operations, err := d.WorkflowOperations(false)
	if err != nil {
		return nil, err
	}
	out := []T{}
	for i := range list {
		if (list[i].Script != nil) != script {
			continue
		}
		shown, err := show(&list[i], operations)
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	return out, nil
}
