package registry

import (
	"fmt"
	"iter"
	"strings"

	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
)

// EditedTool is a tool of one of a toolset's connectors, with the operator's edit.
type EditedTool struct {
	Operation SelectedTool
	Connector int            // index into Toolset.Connectors
	Index     int            // in the connector
	Generated connector.Head // without the edit
	Edit      *ToolEdit      // nil: served as generated

	fixed Fixed // of the connector
}

// Disabled reports whether clients neither see the tool nor may call it.
func (t *EditedTool) Disabled() bool { return t.Edit != nil && t.Edit.Disabled }

// Head is the tool as clients see it.
func (t *EditedTool) Head() connector.Head { return t.Edit.Apply(t.Generated, t.fixed) }

// EditedTools lists the tools of t in the order of tools/list: by connector, then as the
// specification has them. Disabled tools are among them. connectors are by
// ConnectorRef.Name. The list ends with an error when a connector is missing or a tool
// of it cannot be read.
//
// The gateway serves this list, the search index numbers its enabled tools, and the
// control plane shows it.
func (t *Toolset) EditedTools(connectors map[string]*connector.Connector) iter.Seq2[EditedTool, error] {
	return func(yield func(EditedTool, error) bool) {
		edits := make(map[SelectedTool]*ToolEdit, len(t.Tools))
		for i := range t.Tools {
			e := &t.Tools[i]
			edits[SelectedTool{e.Connector, e.Method, e.Path}] = e
		}
		for n := range t.Connectors {
			ref := &t.Connectors[n]
			c := connectors[ref.Name]
			if c == nil {
				yield(EditedTool{}, fmt.Errorf("connector %s is missing", ref.Name))
				return
			}
			if err := c.Load(); err != nil {
				yield(EditedTool{}, fmt.Errorf("opening connector %s: %w", ref.Name, err))
				return
			}
			for i := range c.Len() {
				head, err := c.Head(i)
				if err != nil {
					yield(EditedTool{}, fmt.Errorf("reading tool %d of connector %s: %w", i, ref.Name, err))
					return
				}
				op := SelectedTool{ref.Name, head.Method, head.Path}
				if !yield(EditedTool{Operation: op, Connector: n, Index: i, Generated: head, Edit: edits[op], fixed: ref.Fixed}, nil) {
					return
				}
			}
		}
	}
}

// Apply returns the head of a tool with the edit e, which may be nil, and with the
// fixed values of its connector, and arguments that are not to be listed, taken out of the input schema.
// The arguments that are listed have the descriptions of the edit.
func (e *ToolEdit) Apply(h connector.Head, ofConnector Fixed) connector.Head {
	if fixed := e.FixedOver(ofConnector); len(fixed) > 0 {
		h = h.Fix(fixed)
	}
	if e == nil {
		return h
	}
	h = h.Show(e.Arguments).Describe(e.Texts)
	if e.Name != nil && e.Title == nil && strings.EqualFold(strings.ReplaceAll(h.Title, " ", "_"), h.Name) {
		h.Title = titleOf(*e.Name) // it says the generated name, which nobody sees any more
	}
	for _, f := range [...]struct{ to, from *string }{{&h.Name, e.Name}, {&h.Title, e.Title}, {&h.Description, e.Description}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	h.Annotations = e.Annotations.Of(h.Annotations)
	return h
}

// titleOf is how a name is shown where nobody wrote a title.
func titleOf(name string) string {
	s := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(s[:min(len(s), 1)]) + s[min(len(s), 1):]
}

// edit is the change of an operation's tool that says the same.
func (o *OfferedTool) edit() *ToolEdit {
	if o == nil {
		return nil
	}
	return &ToolEdit{Name: o.Name, Title: o.Title, Description: o.Description}
}

// WorkflowHead is the tool that a workflow offers, as clients see it. edit may be nil;
// called are the annotations of the tools that it calls.
func WorkflowHead(m *manifest.Manifest, edit *OfferedTool, called []operation.Annotations) connector.Head {
	return edit.edit().Apply(connector.Head{
		Name: m.Tool.Name, Title: m.Tool.Title, Description: m.Tool.Description, Method: manifest.MethodWorkflow, Path: "/" + m.Name,
		InputSchema: m.Tool.InputSchema, OutputSchema: m.Tool.OutputSchema, Structured: len(m.Tool.OutputSchema) > 0,
		Annotations: WorkflowAnnotations(m.Tool.Annotations, called),
	}, nil)
}
