package draft

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// SaveScript makes a tool of a script.
type SaveScript struct {
	Name        string               `json:"name" minLength:"1" maxLength:"64" doc:"Of the tool. A script of the same name is replaced."`
	Run         string               `json:"run,omitempty" maxLength:"64" doc:"A run of run_code in the call log that succeeded." example:"call_1042"`
	Code        string               `json:"code,omitempty" maxLength:"65536" doc:"The script. Not with run."`
	Title       string               `json:"title,omitempty" maxLength:"200"`
	Description string               `json:"description,omitempty" maxLength:"16384" doc:"What agents choose it by."`
	Parameters  []workflow.Parameter `json:"parameters,omitempty" maxItems:"32" doc:"Values of the script that become arguments."`
	Calls       []string             `json:"calls,omitempty" maxItems:"64" doc:"What it calls, as GROUP.NAME, beside what its text and its run show."`
	Inputs      json.RawMessage      `json:"inputSchema,omitempty" doc:"Of the arguments, which the script has as args. Default: of parameters, and of what it reads of args."`
	Outputs     json.RawMessage      `json:"outputSchema,omitempty" doc:"Of its value. Default: of the value of the run."`
	DryRun      bool                 `json:"dryRun,omitempty" doc:"Show the tool, and change nothing."`
}

// SaveScript makes a tool of a script, or only shows it. The draft that it returns has it.
func (r *Room) SaveScript(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, b *SaveScript) (*Draft, *workflow.ToolsetScript, error) {
	d, err := r.LoadMatching(ctx, ws, id, match)
	if err != nil {
		return nil, nil, err
	}
	script := &workflow.NewScript{
		Name: b.Name, Title: b.Title, Description: b.Description, Code: b.Code, Parameters: b.Parameters, Calls: b.Calls, Inputs: b.Inputs, Outputs: b.Outputs,
	}
	switch {
	case (b.Run == "") == (b.Code == ""):
		return nil, nil, request.FieldFault("/run", "a tool is made of a run or of code: give one of the two")
	case b.Run != "":
		if script.Run, err = r.scriptRun(ctx, ws, d, b.Run); err != nil {
			return nil, nil, err
		}
		script.Code = script.Run.Code
	}
	before, err := workflow.Read(d.Toolset.Workflows)
	if err != nil {
		return nil, nil, err
	}
	operations, err := d.WorkflowOperations(false)
	if err != nil {
		return nil, nil, err
	}
	after, err := workflow.Save(before, script, operations)
	if err != nil {
		return nil, nil, err
	}
	if !b.DryRun {
		if err := r.saveWorkflows(ctx, ws, d, "toolset.scripts", before, after); err != nil {
			return nil, nil, err
		}
	}
	i := slices.IndexFunc(after, func(w registry.Workflow) bool { return w.Name == b.Name })
	shown := workflow.ShowScript(&after[i], operations, true)
	return d, &shown, nil
}

// scriptRun opens the run of a script that was kept. Its faults say why there is none.
func (r *Room) scriptRun(ctx context.Context, ws *store.Workspace, d *Draft, id string) (*registry.ScriptRun, error) {
	fault := func(format string, a ...any) *problem.Error {
		return problem.New(problem.InvalidArgument, format, a...).At("", 0, 0, "/run")
	}
	c, err := ws.Call(ctx, id)
	switch {
	case err != nil:
		return nil, problem.As(err).Fix("see: sluice logs %s --tool run_code", d.Toolset.Slug)
	case c.ToolsetID != d.Toolset.ID:
		return nil, fault("%s is a call of another toolset", id).Fix("see: sluice logs %s --tool run_code", d.Toolset.Slug)
	case c.Script == "" && !strings.HasSuffix(c.Tool, "run_code"):
		return nil, fault("%s is not a run of a script, but a call of %.80q", id, c.Tool).Fix("see: sluice logs %s --tool run_code", d.Toolset.Slug)
	case c.Outcome != "ok":
		return nil, fault("the run %s failed: only one that succeeded can become a tool", id)
	case c.Inner || !strings.HasSuffix(c.Tool, "run_code"): // also sluice_run_code
		return nil, fault("%s is a call of the tool %.80q, which a script is already", id, c.Tool)
	case ws.Now().Sub(c.At.Time) > store.ScriptRunAge:
		return nil, fault("the run %s is older than 7 days, and is not kept any more", id).Fix("run the script again, or save it from a file")
	case len(c.Run) == 0:
		return nil, fault("the run %s was not kept: calls of %s are not all captured, or were not when it ran", id, d.Toolset.Slug).
			Fix("sluice logs capture %s all, and run the script again; or save it from a file", d.Toolset.Slug)
	}
	text, err := r.Keyring.OpenBytes(store.RunRecord(c.WorkspaceID, c.ToolsetID, c.Script), c.Run)
	if err != nil {
		return nil, problem.New(problem.Conflict, "the run %s cannot be opened any more: the key that sealed it is gone", id).At("", 0, 0, "/run").
			Fix("run the script again, or save it from a file").Because(err)
	}
	run := &registry.ScriptRun{}
	if err := json.Unmarshal(text, run); err != nil {
		return nil, err
	}
	switch run.Withheld {
	case "":
		return run, nil
	case registry.WithheldPersonal:
		return nil, fault("the run %s was not kept: something in the script looks like a secret, or names a person", id).
			Fix("write the script into a file without that, with args in its place, and save it from there")
	}
	return nil, fault("the run %s was not kept: its node captured too much at that time", id).Fix("run the script again, or save it from a file")
}
