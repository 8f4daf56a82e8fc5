package adoption

import (
	"strings"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/internal/problem"
	entries "github.com/sluicegate/sluice/plugins/catalog"
)

// Adopt makes the tools of the new connector that d is about those of its entry: their
// choice, names, descriptions, answers, examples and workflows.
func Adopt(d *draft.Draft, e *catalog.Adoption) error {
	connector := d.Row.Name
	d.Row.Entry = e.Record()
	if e.Whole() {
		return nil
	}
	edits, err := edits(d, e)
	if err != nil {
		return err
	}
	c, err := choice.Of(d.Toolset)
	if err != nil {
		return err
	}
	kept := d.Edits[:0:0]
	for i := range d.Edits {
		if d.Edits[i].Connector != connector {
			kept = append(kept, d.Edits[i])
		}
	}
	examples := e.Examples()
	for i := range edits {
		edit := &edits[i]
		edit.ToolsetID = d.Toolset.ID
		if !draft.Idle(edit) {
			kept = append(kept, *edit)
		}
		if said := examples[entries.Operation{Method: edit.Method, Path: edit.Path}]; !edit.Disabled && len(said) > 0 {
			c.ExamplesOf(toolset.OperationOf(edit)).Operator = said
		}
	}
	d.Edits = kept
	if err := c.CheckExamples(); err != nil {
		return err
	}
	c.Keep(d.Toolset)
	return addWorkflows(d, e)
}

// edits are those by which an entry makes its tools of the connector that d is about.
func edits(d *draft.Draft, e *catalog.Adoption) ([]store.ToolEdit, error) {
	if e.Whole() {
		return nil, nil
	}
	connector := d.Row.Name
	names := map[string]bool{}
	for _, t := range d.Tools(false) {
		if t.Operation.Connector != connector && t.Enabled {
			names[strings.ToLower(t.Name)] = true
		}
	}
	taken := func(name string) bool { return names[strings.ToLower(name)] }
	list, err := e.Edits(d.ToolsOf(connector), taken, func(of toolset.Operation, name string) bool {
		_, g := d.Generated(of)
		return g != nil && g.Lists(name)
	})
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := takesFixed(d, e, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// takesFixed refuses an entry that fixes an argument which the tool does not have: the
// value would not be sent, and nobody would know.
func takesFixed(d *draft.Draft, e *catalog.Adoption, edit *store.ToolEdit) error {
	op := toolset.OperationOf(edit)
	for name := range toolset.ShowFixed(edit.Fixed) {
		if _, g := d.Generated(op); g == nil || !g.Takes(name) {
			return problem.New(problem.Conflict, "the entry %s no longer fits: %s %s has no argument %.80q, whose value it fixes", e.ID, op.Method, op.Path, name).
				Fix("leave the tool out (tools: !NAME), or have the entry updated")
		}
	}
	// An argument that is only to be listed and is gone costs nothing: the others stay.
	return nil
}
