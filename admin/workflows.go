package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/workflow"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// boundCall is a tool that a bound workflow calls.
type boundCall struct {
	Name string `json:"name"` // as the workflow calls it
	toolset.Operation
}

// String is how an operation that has no tool at present is shown, and named again.
func (c *boundCall) String() string { return c.Method + " " + c.Path + " of " + c.Connector }

// resolveCalls finds the tool that each name of a workflow stands for: the one that the
// request gives it, else the tool of that name. What a binding had before may have no
// tool at present.
func (d *draft) resolveCalls(g *guest.Package, before []boundRecord, in *PluginBinding, at string) ([]boundCall, error) {
	if g.Manifest.Kind != manifest.Workflow {
		if len(in.Calls) > 0 {
			return nil, request.FieldFault(at+"/calls", "plugin %s is no workflow and calls no tools", in.Plugin)
		}
		return nil, nil
	}
	if in.Connector != "" || in.Tool != "" || in.Operation != nil {
		return nil, request.FieldFault(at, "plugin %s is a workflow, which is bound to the toolset as a whole", in.Plugin)
	}
	wanted := g.Manifest.Capabilities.Tools
	for _, name := range slices.Sorted(maps.Keys(in.Calls)) {
		if !slices.Contains(wanted, name) {
			return nil, request.FieldFault(at+"/calls", "plugin %s does not call %.80q; it calls %s", in.Plugin, name, strings.Join(wanted, ", "))
		}
	}
	all := d.tools(false)
	calls := make([]boundCall, len(wanted))
	for i, name := range wanted {
		tool := in.Calls[name]
		if tool == "" {
			tool = name
		}
		at := at + "/calls/" + name
		t := slices.IndexFunc(all, func(t toolset.Tool) bool { return t.Name == tool })
		if t < 0 {
			t = slices.IndexFunc(all, func(t toolset.Tool) bool { return t.OriginalName == tool })
		}
		switch old := calledBefore(before, in.Plugin, name, tool); {
		case t >= 0 && !all[t].Enabled:
			return nil, problem.New(problem.InvalidArgument, "plugin %s calls %s, and the tool %s is disabled", in.Plugin, name, tool).
				At("", 0, 0, at).Fix("enable it: sluice toolset tools %s enable %s", d.ts.Slug, tool)
		case t >= 0:
			calls[i] = boundCall{name, all[t].Operation}
		case old != nil:
			calls[i] = *old
		default:
			p := problem.New(problem.InvalidArgument, "plugin %s calls %s, and the toolset has no tool %.80q", in.Plugin, name, tool).At("", 0, 0, at)
			names := make([]string, len(all))
			for i := range all {
				names[i] = all[i].Name
			}
			if near := nearest.Name(tool, slices.Values(names)); near != "" {
				return nil, p.Fix("say which tool it is, such as --call %s=%s", name, near)
			}
			return nil, p.Fix("say which tool it is: --call %s=TOOL", name)
		}
	}
	return calls, nil
}

// calledBefore finds a call whose operation had no tool when it was shown.
func calledBefore(before []boundRecord, plugin, name, shown string) *boundCall {
	for i := range before {
		for j := range before[i].Calls {
			if c := &before[i].Calls[j]; before[i].Plugin == plugin && c.Name == name && c.String() == shown {
				return c
			}
		}
	}
	return nil
}

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

func (b *boundRecord) called() []registry.CalledTool {
	var out []registry.CalledTool
	for _, c := range b.Calls {
		out = append(out, registry.CalledTool{Name: c.Name, Connector: c.Connector, Method: c.Method, Path: c.Path})
	}
	return out
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
func (s *Server) workflows(ctx context.Context, d *draft, schemas bool) ([]toolset.Tool, error) {
	offers, err := s.offers(ctx, d, schemas)
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
func (s *Server) offers(ctx context.Context, d *draft, schemas bool) ([]offer, error) {
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
		row, err := s.o.Store.Workspace(d.ts.WorkspaceID).PluginVersion(ctx, b.Plugin, b.Pinned)
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
func (s *Server) served(ctx context.Context, d *draft, schemas bool) ([]toolset.Tool, error) {
	offered, err := s.workflows(ctx, d, schemas)
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
