package adoption

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	entries "github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/registry"
)

// fileOf is the name of the document of an entry's workflows, for messages.
func fileOf(e *catalog.Adoption) string { return e.ID + ".arazzo.yaml" }

// document is what an entry has of workflows for the connector that d is about.
func document(d *draft.Draft, e *catalog.Adoption) (text string, ids []string) {
	return e.WorkflowDocument(func(op entries.Operation) bool {
		_, g := d.Generated(toolset.Operation{Connector: d.Row.Name, Method: op.Method, Path: op.Path})
		return g != nil
	})
}

// addWorkflows makes the workflows of an entry tools of the draft, which has the tools of
// the entry already.
func addWorkflows(d *draft.Draft, e *catalog.Adoption) error {
	text, ids := document(d, e)
	if len(ids) == 0 {
		return nil
	}
	have, err := workflow.Read(d.Toolset.Workflows)
	if err != nil {
		return err
	}
	for i := range have {
		if slices.ContainsFunc(ids, func(id string) bool { return strings.EqualFold(id, have[i].Name) }) {
			return problem.New(problem.Conflict, "the toolset has a workflow %.80q, and so has the entry %s", have[i].Name, e.ID).Fix("add the entry without its workflows: --no-workflows")
		}
	}
	operations, err := d.WorkflowOperations(false)
	if err != nil {
		return err
	}
	after, err := workflow.Add(have, fileOf(e), text, ids, operations)
	if p := problem.As(err); p != nil {
		return p.Fix("add the entry without its workflows (--no-workflows), or have it updated")
	}
	if err != nil {
		return err
	}
	d.Toolset.Workflows = store.JSON(after)
	return nil
}

// mergeWorkflows takes the workflows of a newer entry over where those of the older are as
// they were.
func mergeWorkflows(d *draft.Draft, was, now *catalog.Adoption, diff *Diff) error {
	before, old := document(d, was)
	after, ids := document(d, now)
	if before == after && slices.Equal(old, ids) {
		return nil
	}
	list, err := workflow.Read(d.Toolset.Workflows)
	if err != nil {
		return err
	}
	at := func(id string) int {
		return slices.IndexFunc(list, func(w registry.Workflow) bool { return strings.EqualFold(w.Name, id) })
	}
	ours := func(i int) bool { return i >= 0 && list[i].Script == nil && list[i].Document == before }
	var take []string
	for _, id := range ids {
		switch i := at(id); {
		case i >= 0 && !ours(i), i < 0 && slices.Contains(old, id): // edited, or removed
			diff.Entry.Yours = append(diff.Entry.Yours, Kept{Where: "workflow " + id})
		case i < 0:
			take = append(take, id)
			diff.Entry.Settings = append(diff.Entry.Settings, connector.Detail{Impact: connector.ImpactSafe, Where: "workflow " + id, What: "the entry has it now"})
		default:
			take = append(take, id)
			if before != after {
				diff.Entry.Settings = append(diff.Entry.Settings, connector.Detail{Impact: connector.ImpactSafe, Where: "workflow " + id, What: "its document is another"})
			}
		}
	}
	for _, id := range old {
		if i := at(id); !slices.Contains(ids, id) && ours(i) {
			d.ForgetEdits(&list[i])
			list = slices.Delete(list, i, i+1)
			diff.Entry.Settings = append(diff.Entry.Settings, connector.Detail{Impact: connector.ImpactBreaking, Where: "workflow " + id, What: "the entry no longer has it"})
		}
	}
	if len(take) > 0 {
		operations, err := d.WorkflowOperations(false)
		if err != nil {
			return err
		}
		if list, err = workflow.Add(list, fileOf(now), after, take, operations); err != nil {
			return err
		}
	}
	if d.Toolset.Workflows = ""; len(list) > 0 {
		d.Toolset.Workflows = store.JSON(list)
	}
	return nil
}
