package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/workflow"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// callable reports whether the draft serves everything that a workflow calls.
func (d *draft) callable(b *boundRecord) bool {
	for _, c := range b.Calls {
		if !d.has(c.Operation) {
			return false
		}
		for i := range d.edits {
			if e := &d.edits[i]; toolset.OperationOf(e) == c.Operation && e.Disabled {
				return false
			}
		}
	}
	return true
}

// bindings are those of the draft, with the name of its only connector where a
// refresh has renamed it.
func (d *draft) bindings() ([]boundRecord, error) {
	bound, err := bindingsOf(d.ts.Plugins)
	if err != nil || len(d.parts) > 1 {
		return bound, err
	}
	for i := range bound {
		for j := range bound[i].Calls {
			if c := &bound[i].Calls[j]; d.named(c.Connector) == nil {
				c.Connector = d.row.Name
			}
		}
	}
	return bound, nil
}

// offer is the tool of a workflow that a draft binds and that can run.
type offer struct {
	toolset.Tool
	manifest *manifest.Manifest
	edit     *registry.OfferedTool // nil: it is as the manifest says
}

// offeredOperations says for each binding of a workflow what edits of its tool are kept
// by: WORKFLOW /PLUGIN, and of its second binding WORKFLOW /PLUGIN/2. It is zero for
// other plugins.
func offeredOperations(bound []boundRecord) []toolset.Operation {
	out, seen := make([]toolset.Operation, len(bound)), map[string]int{}
	for i := range bound {
		if b := &bound[i]; len(b.Calls) > 0 {
			path := "/" + b.Plugin
			if seen[b.Plugin]++; seen[b.Plugin] > 1 {
				path += "/" + strconv.Itoa(seen[b.Plugin])
			}
			out[i] = toolset.Operation{Method: manifest.MethodWorkflow, Path: path}
		}
	}
	return out
}

// offeredEdit is the edit of a workflow's tool; nil when there is none.
func (d *draft) offeredEdit(op toolset.Operation) (edit *registry.OfferedTool, disabled bool) {
	for i := range d.edits {
		if e := &d.edits[i]; op.Path != "" && toolset.OperationOf(e) == op {
			if e.Name != nil || e.Title != nil || e.Description != nil {
				edit = &registry.OfferedTool{Name: e.Name, Title: e.Title, Description: e.Description}
			}
			return edit, e.Disabled
		}
	}
	return nil, false
}

// workflows are the tools that bound workflows offer, in the order of their bindings,
// and behind them those of documents.
func (r *drafts) workflows(ctx context.Context, d *draft, schemas bool) ([]toolset.Tool, error) {
	offers, err := r.offers(ctx, d, schemas)
	if err != nil {
		return nil, err
	}
	out := make([]toolset.Tool, len(offers))
	for i := range offers {
		out[i] = offers[i].Tool
	}
	documents, err := d.described(schemas)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, t := range slices.Concat(d.tools(false), out) {
		if t.Enabled && (t.Offered() || d.serves(t.Operation)) {
			taken[strings.ToLower(t.Name)] = true
		}
	}
	for i := range documents {
		if t := &documents[i]; t.Enabled {
			if taken[strings.ToLower(t.Name)] { // as gateways name it
				t.Name = registry.PrefixedName("workflow", t.Name, func(name string) bool { return taken[strings.ToLower(name)] })
			}
			taken[strings.ToLower(t.Name)] = true
		}
	}
	return slices.Concat(out, documents), nil
}

// described are the tools of documents and scripts, with edits applied.
func (d *draft) described(schemas bool) ([]toolset.Tool, error) {
	list, disabled, err := d.editedWorkflows()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	operations, err := d.workflowOperations(schemas)
	if err != nil {
		return nil, err
	}
	return workflow.Tools(list, disabled, operations, schemas)
}

// editedWorkflows are the documents and scripts of the draft with the edits of their
// tools.
func (d *draft) editedWorkflows() (list []registry.Workflow, disabled []bool, err error) {
	if list, err = workflow.Read(d.ts.Workflows); err != nil {
		return nil, nil, err
	}
	list, disabled = workflow.Edited(list, d.offeredEdit)
	return list, disabled, nil
}

// offers are the tools that bound workflows offer, in the order of their bindings,
// under the names that gateways give them, with edits applied. One that waits for a
// tool that it calls is not among them; one that is disabled is.
func (r *drafts) offers(ctx context.Context, d *draft, schemas bool) ([]offer, error) {
	bound, err := d.bindings()
	if err != nil || !slices.ContainsFunc(bound, func(b boundRecord) bool { return len(b.Calls) > 0 }) {
		return nil, err
	}
	all := d.tools(false)
	byOperation, taken := make(map[toolset.Operation]*toolset.Tool, len(all)), make(map[string]bool, len(all))
	for i := range all {
		byOperation[all[i].Operation] = &all[i]
		if all[i].Enabled && d.serves(all[i].Operation) {
			taken[strings.ToLower(all[i].Name)] = true
		}
	}
	isTaken := func(name string) bool { return taken[strings.ToLower(name)] }
	var out []offer
	operations := offeredOperations(bound)
	for i := range bound {
		b := &bound[i]
		if len(b.Calls) == 0 || !d.callable(b) {
			continue
		}
		row, err := r.Store.Workspace(d.ts.WorkspaceID).PluginVersion(ctx, b.Plugin, b.Pinned)
		if err != nil {
			return nil, err
		}
		m, err := manifest.Parse([]byte(row.Document))
		if err != nil {
			return nil, fmt.Errorf("reading the manifest of plugin %s %s: %w", row.Name, row.Version, err)
		}
		var called []operation.Annotations
		for _, c := range b.Calls {
			called = append(called, operation.Annotations(byOperation[c.Operation].Annotations))
		}
		o := offer{Tool: workflowTool(b.Plugin, operations[i], m, registry.WorkflowAnnotations(m.Tool.Annotations, called), schemas), manifest: m}
		edit, disabled := d.offeredEdit(operations[i])
		if o.edit = edit; edit != nil {
			replace(&o.Tool, o.edit)
		}
		for _, text := range []string{o.Name, o.Title, o.Description} {
			o.Tokens += tokens.Estimate([]byte(text))
		}
		if o.Enabled = !disabled; o.Enabled {
			if isTaken(o.Name) {
				o.Name = registry.PrefixedName(b.Plugin, o.Name, isTaken)
			}
			taken[strings.ToLower(o.Name)] = true
		}
		out = append(out, o)
	}
	return out, nil
}

func replace(t *toolset.Tool, by *registry.OfferedTool) {
	for _, f := range []struct{ to, from *string }{{&t.Name, by.Name}, {&t.Title, by.Title}, {&t.Description, by.Description}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

func workflowTool(by string, op toolset.Operation, m *manifest.Manifest, a operation.Annotations, schemas bool) toolset.Tool {
	o := m.Tool
	t := toolset.Tool{
		Name: o.Name, OriginalName: o.Name, Title: o.Title, Description: o.Description, Enabled: true, Plugin: by,
		Operation: op, Tokens: tokens.Estimate(o.InputSchema),
		Annotations: plugin.Annotations(a),
	}
	if schemas {
		t.InputSchema, t.OutputSchema = o.InputSchema, o.OutputSchema
	}
	return t
}

// served are the tools of a draft and, behind them, those of its workflows.
func (r *drafts) served(ctx context.Context, d *draft, schemas bool) ([]toolset.Tool, error) {
	offered, err := r.workflows(ctx, d, schemas)
	return append(d.tools(schemas), offered...), err
}

// indexedWorkflows are the documents and scripts that a release would have, as a search
// index sees them.
func (d *draft) indexedWorkflows() ([]registry.IndexedTool, error) {
	var t registry.Toolset
	if err := d.bindWorkflows(&t); err != nil {
		return nil, err
	}
	return workflow.Index(t.Workflows)
}

func (d *draft) scriptNamed(name string) ([]registry.Workflow, int, error) {
	list, err := workflow.Read(d.ts.Workflows)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(list, func(w registry.Workflow) bool { return w.Name == name && w.Script != nil })
	if i < 0 {
		return nil, 0, problem.New(problem.NotFound, "the toolset has no script %.80q", name).Fix("see: sluice toolset script list %s", d.ts.Slug)
	}
	return list, i, nil
}

func (d *draft) forgetEdits(w *registry.Workflow) {
	op := toolset.Operation{Method: manifest.MethodWorkflow, Path: w.Path()}
	d.edits = slices.DeleteFunc(d.edits, func(e store.ToolEdit) bool { return toolset.OperationOf(&e) == op })
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
