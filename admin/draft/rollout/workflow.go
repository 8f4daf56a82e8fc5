package rollout

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/playground"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// RunWorkflow is a run of a workflow of the draft.
type RunWorkflow struct {
	Arguments map[string]any `json:"arguments,omitempty" doc:"By the input schema of the workflow."`
	DryRun    bool           `json:"dryRun,omitempty" doc:"Call nothing: draw the plan, and check the arguments."`
}

// WorkflowRun is how a run ended.
type WorkflowRun struct {
	Plan            string                     `json:"plan" doc:"Steps of one number run at once."`
	Ran             bool                       `json:"ran" doc:"false: a dry run."`
	IsError         bool                       `json:"isError,omitempty" doc:"The workflow failed; the answer says where and why, and which calls were made."`
	Answer          string                     `json:"answer,omitempty" doc:"What an agent would receive, at most 256 KiB."`
	AnswerCut       bool                       `json:"answerCut,omitempty"`
	DurationSeconds float64                    `json:"durationSeconds,omitempty"`
	Calls           []playground.InspectedCall `json:"calls,omitempty" doc:"The calls of its steps, in the order they ended."`
}

// RunWorkflow runs a workflow of the draft without deploying it.
func (r *Room) RunWorkflow(ctx context.Context, ws *store.Workspace, d *draft.Draft, name string, in *RunWorkflow) (WorkflowRun, error) {
	list, i, err := d.WorkflowNamed(name, false)
	if err != nil {
		return WorkflowRun{}, err
	}
	operations, err := d.WorkflowOperations(false)
	if err != nil {
		return WorkflowRun{}, err
	}
	shown, err := workflow.Show(&list[i], operations, true)
	if err != nil {
		return WorkflowRun{}, err
	}
	args := []byte(store.JSON(in.Arguments))
	if in.Arguments == nil {
		args = []byte("{}")
	}
	schema, err := guest.CompileSchema(shown.Inputs)
	if err != nil {
		return WorkflowRun{}, problem.New(problem.InvalidArgument, "the input schema of %s cannot be used: %v", name, err)
	}
	if err := schema.Check(args); err != nil {
		return WorkflowRun{}, request.FieldFault("/arguments", "the arguments of %s are not valid: %v", name, err)
	}
	out := WorkflowRun{Plan: shown.Plan}
	if in.DryRun {
		return out, nil
	}
	tool, err := r.servedWorkflow(ctx, d, &list[i])
	switch {
	case err != nil:
		return WorkflowRun{}, err
	case tool == "":
		return WorkflowRun{}, problem.New(problem.Conflict, "the workflow %s is disabled, or waits for operations that are gone or disabled", name).
			Fix("see: sluice toolset workflow show %s %s", d.Toolset.Slug, name)
	case r.Tester == nil:
		return WorkflowRun{}, problem.New(problem.Unavailable, "this node has no gateway to run it with")
	}
	if waits, err := r.Drafts.Unconfirmed(ctx, d); err != nil {
		return WorkflowRun{}, err
	} else if len(waits) > 0 {
		return WorkflowRun{}, credential.Refused(d.Toolset.Slug, waits)
	}
	return r.runTool(ctx, ws, d, out, tool, args)
}

// servedWorkflow is the name under which a workflow is served; "": it is not.
func (r *Room) servedWorkflow(ctx context.Context, d *draft.Draft, w *registry.Workflow) (string, error) {
	offered, err := r.Drafts.Workflows(ctx, d, false)
	if err != nil {
		return "", err
	}
	op := toolset.Operation{Method: manifest.MethodWorkflow, Path: w.Path()}
	if i := slices.IndexFunc(offered, func(t toolset.Tool) bool { return t.Operation == op && t.Enabled }); i >= 0 {
		return offered[i].Name, nil
	}
	return "", nil
}

// runTool makes the call, and leaves a record of it: it may have changed data.
func (r *Room) runTool(ctx context.Context, ws *store.Workspace, d *draft.Draft, out WorkflowRun, tool string, args json.RawMessage) (WorkflowRun, error) {
	if err := r.Drafts.Push(ctx, d); err != nil {
		return out, err
	}
	limited, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	start := time.Now()
	call := testCall(d)
	call.Tool, call.Arguments, call.Inspect = tool, args, true
	a, err := r.Tester.Test(limited, call)
	if err != nil {
		return out, err
	}
	out.Ran, out.IsError, out.DurationSeconds = true, a.IsError, time.Since(start).Seconds()
	out.Answer, out.AnswerCut = request.CutText(a.Text, maxInspectedAnswer)
	if a.Inspection != nil {
		out.Calls = a.Inspection.Calls
	}
	return out, ws.Update(ctx, func(tx *store.Tx) error {
		rec := request.Audit(ctx, "toolset.workflow.run", d.Toolset.ID)
		rec.Digest = d.Toolset.DraftDigest
		rec.After = store.JSON(map[string]any{"tool": tool, "isError": a.IsError, "calls": len(out.Calls)})
		return tx.Audit(ctx, rec)
	})
}
