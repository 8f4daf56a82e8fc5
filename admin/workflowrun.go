package admin

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/playground"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/workflow"
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

type runWorkflowInput struct {
	ToolsetInput
	Name string `path:"name" maxLength:"64" doc:"Of the workflow's tool."`
	Body RunWorkflow
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

// runWorkflow runs a workflow of the draft without deploying it.
func (s *Server) runWorkflow(ctx context.Context, in *runWorkflowInput) (*bodyOutput[WorkflowRun], error) {
	ws := s.workspace(ctx)
	d, err := s.drafts.Load(ctx, ws, in.ID)
	if err != nil {
		return nil, err
	}
	list, i, err := d.WorkflowNamed(in.Name, false)
	if err != nil {
		return nil, err
	}
	operations, err := d.WorkflowOperations(false)
	if err != nil {
		return nil, err
	}
	shown, err := workflow.Show(&list[i], operations, true)
	if err != nil {
		return nil, err
	}
	args := []byte(store.JSON(in.Body.Arguments))
	if in.Body.Arguments == nil {
		args = []byte("{}")
	}
	schema, err := guest.CompileSchema(shown.Inputs)
	if err != nil {
		return nil, problem.New(problem.InvalidArgument, "the input schema of %s cannot be used: %v", in.Name, err)
	}
	if err := schema.Check(args); err != nil {
		return nil, request.FieldFault("/arguments", "the arguments of %s are not valid: %v", in.Name, err)
	}
	out := WorkflowRun{Plan: shown.Plan}
	if in.Body.DryRun {
		return &bodyOutput[WorkflowRun]{out}, nil
	}
	tool, err := s.servedWorkflow(ctx, d, &list[i])
	switch {
	case err != nil:
		return nil, err
	case tool == "":
		return nil, problem.New(problem.Conflict, "the workflow %s is disabled, or waits for operations that are gone or disabled", in.Name).
			Fix("see: sluice toolset workflow show %s %s", d.Toolset.Slug, in.Name)
	case s.o.Tester == nil:
		return nil, problem.New(problem.Unavailable, "this node has no gateway to run it with")
	}
	if waits, err := s.drafts.Unconfirmed(ctx, d); err != nil {
		return nil, err
	} else if len(waits) > 0 {
		return nil, credential.Refused(d.Toolset.Slug, waits)
	}
	return answer(out.run(ctx, s, ws, d, tool, args))
}

// servedWorkflow is the name under which a workflow is served; "": it is not.
func (s *Server) servedWorkflow(ctx context.Context, d *draft.Draft, w *registry.Workflow) (string, error) {
	offered, err := s.drafts.Workflows(ctx, d, false)
	if err != nil {
		return "", err
	}
	op := toolset.Operation{Method: manifest.MethodWorkflow, Path: w.Path()}
	if i := slices.IndexFunc(offered, func(t toolset.Tool) bool { return t.Operation == op && t.Enabled }); i >= 0 {
		return offered[i].Name, nil
	}
	return "", nil
}

// run makes the call, and leaves a record of it: it may have changed data.
func (r *WorkflowRun) run(ctx context.Context, s *Server, ws *store.Workspace, d *draft.Draft, tool string, args json.RawMessage) (WorkflowRun, error) {
	if err := s.drafts.Push(ctx, d); err != nil {
		return *r, err
	}
	limited, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	start := time.Now()
	a, err := s.o.Tester.Test(limited, TestCall{
		Toolset: d.Bundle, Digest: registry.Digest(d.Toolset.DraftDigest), Connectors: d.Connectors(), Plugins: d.Plugins, Tool: tool, Arguments: args, Inspect: true,
	})
	if err != nil {
		return *r, err
	}
	r.Ran, r.IsError, r.DurationSeconds = true, a.IsError, time.Since(start).Seconds()
	r.Answer, r.AnswerCut = request.CutText(a.Text, maxInspectedAnswer)
	if a.Inspection != nil {
		r.Calls = a.Inspection.Calls
	}
	return *r, ws.Update(ctx, func(tx *store.Tx) error {
		rec := request.Audit(ctx, "toolset.workflow.run", d.Toolset.ID)
		rec.Digest = d.Toolset.DraftDigest
		rec.After = store.JSON(map[string]any{"tool": tool, "isError": a.IsError, "calls": len(r.Calls)})
		return tx.Audit(ctx, rec)
	})
}
