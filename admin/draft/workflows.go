package draft

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// Callable reports whether the draft serves everything that a workflow calls.
func (d *Draft) Callable(b *Binding) bool {
	for _, c := range b.Calls {
		if !d.has(c.Operation) {
			return false
		}
		for i := range d.Edits {
			if e := &d.Edits[i]; toolset.OperationOf(e) == c.Operation && e.Disabled {
				return false
			}
		}
	}
	return true
}

// Bindings are those of the draft, with the name of its only connector where a
// refresh has renamed it.
func (d *Draft) Bindings() ([]Binding, error) {
	bound, err := BindingsOf(d.Toolset.Plugins)
	if err != nil || len(d.Parts) > 1 {
		return bound, err
	}
	for i := range bound {
		for j := range bound[i].Calls {
			if c := &bound[i].Calls[j]; d.Named(c.Connector) == nil {
				c.Connector = d.Row.Name
			}
		}
	}
	return bound, nil
}

// Offer is the tool of a workflow that a draft binds and that can run.
type Offer struct {
	toolset.Tool
	Manifest *manifest.Manifest
	Edit     *registry.OfferedTool // nil: it is as the manifest says
}

// OfferedOperations says for each binding of a workflow what edits of its tool are kept
// by: WORKFLOW /PLUGIN, and of its second binding WORKFLOW /PLUGIN/2. It is zero for
// other plugins.
func OfferedOperations(bound []Binding) []toolset.Operation {
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
func (d *Draft) offeredEdit(op toolset.Operation) (edit *registry.OfferedTool, disabled bool) {
	for i := range d.Edits {
		if e := &d.Edits[i]; op.Path != "" && toolset.OperationOf(e) == op {
			if e.Name != nil || e.Title != nil || e.Description != nil {
				edit = &registry.OfferedTool{Name: e.Name, Title: e.Title, Description: e.Description}
			}
			return edit, e.Disabled
		}
	}
	return nil, false
}

// Workflows are the tools that bound workflows offer, in the order of their bindings,
// and behind them those of documents.
func (r *Room) Workflows(ctx context.Context, d *Draft, schemas bool) ([]toolset.Tool, error) {
	offers, err := r.Offers(ctx, d, schemas)
	if err != nil {
		return nil, err
	}
	out := make([]toolset.Tool, len(offers))
	for i := range offers {
		out[i] = offers[i].Tool
	}
	documents, err := d.Described(schemas)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, t := range slices.Concat(d.Tools(false), out) {
		if t.Enabled && (t.Offered() || d.Serves(t.Operation)) {
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

// Described are the tools of documents and scripts, with edits applied.
func (d *Draft) Described(schemas bool) ([]toolset.Tool, error) {
	list, disabled, err := editedWorkflows(d)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	operations, err := d.WorkflowOperations(schemas)
	if err != nil {
		return nil, err
	}
	return workflow.Tools(list, disabled, operations, schemas)
}

// editedWorkflows are the documents and scripts of the draft with the edits of their
// tools.
func editedWorkflows(d *Draft) (list []registry.Workflow, disabled []bool, err error) {
	if list, err = workflow.Read(d.Toolset.Workflows); err != nil {
		return nil, nil, err
	}
	list, disabled = workflow.Edited(list, d.offeredEdit)
	return list, disabled, nil
}

// Offers are the tools that bound workflows offer, in the order of their bindings,
// under the names that gateways give them, with edits applied. One that waits for a
// tool that it calls is not among them; one that is disabled is.
func (r *Room) Offers(ctx context.Context, d *Draft, schemas bool) ([]Offer, error) {
	bound, err := d.Bindings()
	if err != nil || !slices.ContainsFunc(bound, func(b Binding) bool { return len(b.Calls) > 0 }) {
		return nil, err
	}
	all := d.Tools(false)
	byOperation, taken := make(map[toolset.Operation]*toolset.Tool, len(all)), make(map[string]bool, len(all))
	for i := range all {
		byOperation[all[i].Operation] = &all[i]
		if all[i].Enabled && d.Serves(all[i].Operation) {
			taken[strings.ToLower(all[i].Name)] = true
		}
	}
	isTaken := func(name string) bool { return taken[strings.ToLower(name)] }
	var out []Offer
	operations := OfferedOperations(bound)
	for i := range bound {
		b := &bound[i]
		if len(b.Calls) == 0 || !d.Callable(b) {
			continue
		}
		row, err := r.Store.Workspace(d.Toolset.WorkspaceID).PluginVersion(ctx, b.Plugin, b.Pinned)
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
		o := Offer{Tool: workflowTool(b.Plugin, operations[i], m, registry.WorkflowAnnotations(m.Tool.Annotations, called), schemas), Manifest: m}
		edit, disabled := d.offeredEdit(operations[i])
		if o.Edit = edit; edit != nil {
			replace(&o.Tool, o.Edit)
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

// Served are the tools of a draft and, behind them, those of its workflows.
func (r *Room) Served(ctx context.Context, d *Draft, schemas bool) ([]toolset.Tool, error) {
	offered, err := r.Workflows(ctx, d, schemas)
	return append(d.Tools(schemas), offered...), err
}

// IndexedWorkflows are the documents and scripts that a release would have, as a search
// index sees them.
func (d *Draft) IndexedWorkflows() ([]registry.IndexedTool, error) {
	var t registry.Toolset
	if err := bindWorkflows(d, &t); err != nil {
		return nil, err
	}
	return workflow.Index(t.Workflows)
}

// ForgetEdits removes the edits of a workflow's tool.
func (d *Draft) ForgetEdits(w *registry.Workflow) {
	op := toolset.Operation{Method: manifest.MethodWorkflow, Path: w.Path()}
	d.Edits = slices.DeleteFunc(d.Edits, func(e store.ToolEdit) bool { return toolset.OperationOf(&e) == op })
}

// WorkflowNamed returns the workflows of the draft and where the one of a name is among
// them: a script or, without script, a document.
func (d *Draft) WorkflowNamed(name string, script bool) ([]registry.Workflow, int, error) {
	list, err := workflow.Read(d.Toolset.Workflows)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(list, func(w registry.Workflow) bool { return w.Name == name && (w.Script != nil) == script })
	if i >= 0 {
		return list, i, nil
	}
	what := "workflow"
	if script {
		what = "script"
	}
	p := problem.New(problem.NotFound, "the toolset has no %s %.80q", what, name).Fix("see: sluice toolset %s list %s", what, d.Toolset.Slug)
	var names []string
	for _, w := range list {
		if (w.Script != nil) == script {
			names = append(names, w.Name)
		}
	}
	if near := nearest.Name(name, slices.Values(names)); near != "" {
		p.Remedy = "did you mean " + near + "?"
	}
	return nil, 0, p
}

// WorkflowOperations are the operations of the draft that steps may call.
// With schemas, they have those of their answers.
func (d *Draft) WorkflowOperations(schemas bool) ([]workflow.Operation, error) {
	ids := map[toolset.Operation]string{}
	for _, p := range d.Parts {
		c := d.Connectors()[p.Row.Name]
		for i := range c.Len() {
			t, err := c.Tool(i)
			if err != nil {
				return nil, err
			}
			ids[toolset.Operation{Connector: p.Row.Name, Method: t.Method, Path: t.Path}] = t.OperationID
		}
	}
	var out []workflow.Operation
	for _, t := range d.Tools(schemas) {
		out = append(out, workflow.Operation{
			SelectedTool: registry.SelectedTool(t.Operation), ID: ids[t.Operation], Tool: t.Name, Enabled: t.Enabled,
			Annotations: operation.Annotations(t.Annotations), OutputSchema: workflow.Unwrapped(t.OutputSchema),
		})
	}
	return out, nil
}

// bindWorkflows puts the workflows that can run into the toolset of a bundle. The others
// wait for their operations.
func bindWorkflows(d *Draft, t *registry.Toolset) error {
	list, disabled, err := editedWorkflows(d)
	if err != nil || len(list) == 0 {
		return err
	}
	operations, err := d.WorkflowOperations(false)
	if err != nil {
		return err
	}
	t.Workflows = workflow.Servable(list, disabled, operations)
	return nil
}
