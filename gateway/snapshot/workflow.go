package snapshot

import (
	"fmt"

	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// Workflow is a plugin that offers a tool, which calls tools of the toolset. Workflows
// do not call each other: what they may call are operations of connectors.
type Workflow struct {
	Plugin *Plugin
	schema *guest.Schema // of its arguments; set by load
}

// checkCalls compares the tools that a binding gives a workflow with those its
// manifest names.
func checkCalls(p *guest.Package, calls []registry.CalledTool) error {
	var names []string
	if c := p.Manifest.Capabilities; c != nil {
		names = c.Tools
	}
	given := make(map[string]bool, len(calls))
	for i := range calls {
		given[calls[i].Name] = true
	}
	if len(given) != len(names) {
		return fmt.Errorf("plugin %s is bound with %d tools to call and names %d", p.Manifest.Name, len(given), len(names))
	}
	for _, n := range names {
		if !given[n] {
			return fmt.Errorf("plugin %s is bound without the tool %s, which it calls", p.Manifest.Name, n)
		}
	}
	return nil
}

func (ts *Toolset) workflowPlugins() []*Plugin {
	var out []*Plugin
	for _, p := range ts.plugins {
		if p.Package.Manifest.Kind == manifest.Workflow {
			out = append(out, p)
		}
	}
	return out
}

// called are the operations that workflows call.
func (ts *Toolset) called() map[registry.SelectedTool]bool {
	out := map[registry.SelectedTool]bool{}
	for _, p := range ts.workflowPlugins() {
		for _, c := range p.Ref.Calls {
			out[c.Operation()] = true
		}
	}
	return out
}

// workflows makes the tools that plugins offer.
func (ts *Toolset) workflows() []*Tool {
	var out []*Tool
	for _, p := range ts.workflowPlugins() {
		t := &Tool{Name: p.Package.Manifest.Tool.Name, Toolset: ts, Workflow: &Workflow{Plugin: p}}
		if o := p.Ref.Tool; o != nil && o.Name != nil { // it makes no room for itself: named stays false
			t.Name = *o.Name
		}
		out = append(out, t)
	}
	return out
}

// Called finds the tool that a workflow calls by a name of its own; nil when the
// toolset does not have it any more, or it is disabled. A tool that is only not among
// those selected for a use case can be called.
func (t *Tool) Called(name string) *Tool {
	calls := t.Workflow.Plugin.Ref.Calls
	for i := range calls {
		if c := &calls[i]; c.Name == name {
			return t.Toolset.index.byOperation[c.Operation()]
		}
	}
	return nil
}

// CheckArguments names what is wrong with the arguments of a workflow that was
// loaded; nil when nothing is.
func (w *Workflow) CheckArguments(args []byte) error { return w.schema.Check(args) }

func (t *Tool) loadWorkflow() error {
	var err error
	p := t.Workflow.Plugin.Package
	if t.Workflow.schema, err = guest.CompileSchema(p.Manifest.Tool.InputSchema); err != nil {
		return fmt.Errorf("arguments of tool %s: %w", t.Name, err)
	}
	head, err := t.head()
	if err != nil {
		return err
	}
	r := &t.ready.Ready
	r.Method, r.Path, r.JSON = head.Method, head.Path, true
	// Its calls are filtered each by itself, and what it makes of them by what redacts
	// all that the toolset answers.
	r.Plugins = redactors(t.Toolset.pluginsOf("", r.Method, r.Path))
	if r.Answer, err = t.answer(&connector.Tool{Head: head}); err != nil {
		return err
	}
	r.Meter = t.Toolset.meter.Tool(t.meterID())
	return nil
}

// group is the name that stands for where a tool comes from: its connector's, or its
// plugin's.
func (t *Tool) group() string {
	if t.Workflow != nil {
		return t.Workflow.Plugin.Ref.Name
	}
	return t.Binding.Name
}

// head is what a list shows of a tool, but for its name.
func (t *Tool) head() (connector.Head, error) {
	if t.Workflow == nil {
		h, err := t.Binding.Connector.Head(t.index)
		return t.edit.Apply(h, t.Binding.fixed), err
	}
	p := t.Workflow.Plugin
	var called []operation.Annotations
	for _, c := range p.Ref.Calls {
		inner := t.Toolset.index.byOperation[c.Operation()]
		if inner == nil {
			continue
		}
		head, err := inner.head()
		if err != nil {
			return head, fmt.Errorf("reading tool %s, which %s calls: %w", inner.Name, t.Name, err)
		}
		called = append(called, head.Annotations)
	}
	return registry.WorkflowHead(p.Package.Manifest, p.Ref.Tool, called), nil
}
