package draft

import (
	"context"
	"strings"

	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/registry"
)

// Indexed lists the tools of the draft as an index sees them, with their examples.
func (d *Draft) Indexed() ([]registry.IndexedTool, []selection.Tool, error) {
	edits, err := d.RegistryEdits()
	if err != nil {
		return nil, nil, err
	}
	t := &registry.Toolset{Slug: d.Toolset.Slug, Connectors: BareRefs(d), Tools: edits}
	all, err := registry.IndexTools(t, d.Connectors())
	if err != nil {
		return nil, nil, err
	}
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return nil, nil, err
	}
	examples := make(map[toolset.Operation][]selection.Example, len(c.Examples))
	for i := range c.Examples {
		examples[c.Examples[i].Operation] = c.Examples[i].Weighted()
	}
	tools := make([]selection.Tool, len(all))
	for i := range all {
		all[i].Examples = examples[toolset.Operation(all[i].SelectedTool)]
		tools[i] = all[i].Tool
	}
	return all, tools, nil
}

// BareRefs name the connectors of the draft.
func BareRefs(d *Draft) []registry.ConnectorRef {
	out := make([]registry.ConnectorRef, len(d.Parts))
	for i, p := range d.Parts {
		out[i].Name, out[i].Fixed = p.Row.Name, toolset.ShowFixed(p.Row.Fixed)
	}
	return out
}

// ChooseAnew changes the selection of a draft; nil keeps a field.
func (d *Draft) ChooseAnew(mode, useCase *string, learn *bool) error {
	if mode == nil && useCase == nil {
		return choice.SetLearning(d.Toolset, learn)
	}
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return err
	}
	if useCase != nil {
		c.UseCase = strings.TrimSpace(*useCase)
	}
	if mode != nil {
		c.Mode = *mode
	}
	c.Tools = nil
	if c.Mode == registry.SelectUseCase {
		if c.UseCase == "" {
			return problem.New(problem.InvalidArgument, "the selection use-case needs the use case in words").At("", 0, 0, "/useCase").
				Fix("say what the toolset is for, for example: list open invoices and send reminders")
		}
		if c.Tools, err = d.ChooseFor(c.UseCase); err != nil {
			return err
		}
	}
	if c.Mode != registry.SelectSearch {
		c.Learn = false
	}
	if c.Mode != registry.SelectCode && !c.Batch {
		c.Destructive = false
	}
	c.Keep(d.Toolset)
	return choice.SetLearning(d.Toolset, learn)
}

// ChooseFor finds the tools for a use case.
func (d *Draft) ChooseFor(useCase string) ([]choice.Tool, error) {
	all, tools, err := d.Indexed()
	if err != nil {
		return nil, err
	}
	return choice.For(useCase, all, tools)
}

// selectTools puts the selection into the toolset of a bundle and returns the
// index of its tools, which the modes search and code need. A choice stays as it was made, also
// when the specification changes: what is gone is left out, and only a part of the
// use case that nothing serves any more is chosen for again.
func selectTools(d *Draft, t *registry.Toolset) ([]byte, error) {
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return nil, err
	}
	t.ScriptLimits = c.Limits
	switch c.Mode {
	case registry.SelectSearch, registry.SelectCode:
		t.Selection = &registry.Selection{Mode: c.Mode, UseCase: c.UseCase, Learn: c.Learn, Batch: c.Batch, Destructive: c.Destructive}
		_, tools, err := d.Indexed()
		if err != nil {
			return nil, err
		}
		for i := range t.Plugins { // bindPlugins has put them there
			if m := d.Plugins[i].Manifest; m.Tool != nil {
				tools = append(tools, registry.IndexWorkflow(m, t.Plugins[i].Tool).Tool)
			}
		}
		documents, err := workflow.Index(t.Workflows)
		if err != nil {
			return nil, err
		}
		for i := range documents {
			tools = append(tools, documents[i].Tool)
		}
		return selection.Build(tools, selection.DefaultTable()).Append(nil), nil
	case registry.SelectUseCase:
		if err := renew(d, c); err != nil {
			return nil, err
		}
		t.Selection = &registry.Selection{Mode: c.Mode, UseCase: c.UseCase, Batch: c.Batch, Destructive: c.Destructive}
		for _, tool := range c.Tools {
			t.Selection.Tools = append(t.Selection.Tools, registry.SelectedTool(tool.Operation))
		}
	default:
		if c.Batch {
			t.Selection = &registry.Selection{Mode: c.Mode, Batch: true, Destructive: c.Destructive}
		}
	}
	return nil, nil
}

// renew leaves out of a choice what the draft does not have or has disabled, and
// fills the gaps.
func renew(d *Draft, c *choice.Choice) error {
	enabled := map[toolset.Operation]bool{}
	for _, t := range d.Tools(false) {
		if t.Enabled {
			enabled[t.Operation] = true
		}
	}
	kept := make([]choice.Tool, 0, len(c.Tools))
	served, have, lost := map[string]bool{}, map[toolset.Operation]bool{}, map[string]bool{}
	for _, t := range c.Tools {
		if enabled[t.Operation] {
			kept = append(kept, t)
			served[t.Clause], have[t.Operation] = true, true
		} else {
			lost[t.Clause] = true
		}
	}
	if len(kept) == len(c.Tools) {
		return nil
	}
	again, err := d.ChooseFor(c.UseCase)
	if err != nil {
		return err
	}
	for _, t := range again {
		gap := t.Clause != "" && lost[t.Clause] && !served[t.Clause] || t.For != nil && have[*t.For]
		if gap && !have[t.Operation] {
			kept = append(kept, t)
			have[t.Operation] = true
		}
	}
	if len(kept) == 0 {
		kept = again
	}
	c.Tools = kept
	c.Keep(d.Toolset)
	return nil
}

// Serves reports whether the draft's tools/list, or its search, has an operation.
func (d *Draft) Serves(op toolset.Operation) bool {
	c, err := choice.Of(d.Toolset)
	if err != nil || c.Mode != registry.SelectUseCase {
		return true
	}
	for _, t := range c.Tools {
		if t.Operation == op {
			return true
		}
	}
	return false
}

// LearnedBy is the operation that a learned request is of. A node of an earlier version
// does not say of which connector; then it is the first that has it.
func (d *Draft) LearnedBy(r *store.Learned) toolset.Operation {
	if r.Connector == "" {
		return d.operation(r.Method, r.Path)
	}
	return toolset.Operation{Connector: r.Connector, Method: r.Method, Path: r.Path}
}

// AdoptLearned takes what was learned so far into a draft that learns.
func (d *Draft) AdoptLearned(ctx context.Context, ws *store.Workspace) error {
	return choice.Adopt(ctx, ws, d.Toolset, d.LearnedBy, d.has)
}
