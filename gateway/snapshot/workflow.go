package snapshot

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sluicegate/sluice/plugins/arazzo"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// Workflow is a plugin or a document that offers a tool, which calls tools of the
// toolset. Workflows do not call each other: what they may call are operations of
// connectors.
type Workflow struct {
	Plugin *Plugin // nil: a document
	// Document is not nil for one that an Arazzo document describes or a script makes.
	Document *registry.Workflow

	reading sync.Once
	plan    *arazzo.Plan // of the document
	fault   error
	heading func() (connector.Head, error) // of a document or script, read once
	schema  *guest.Schema                  // of its arguments; set by load
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
	for i := range ts.bundle.Workflows {
		for _, c := range ts.bundle.Workflows[i].Calls {
			out[c.Operation()] = true
		}
	}
	return out
}

// workflows makes the tools that plugins and documents offer. A document of which an
// operation is gone or disabled offers none.
func (ts *Toolset) workflows() []*Tool {
	var out []*Tool
	for _, p := range ts.workflowPlugins() {
		t := &Tool{Name: p.Package.Manifest.Tool.Name, Toolset: ts, Workflow: &Workflow{Plugin: p}}
		if o := p.Ref.Tool; o != nil && o.Name != nil { // it makes no room for itself: named stays false
			t.Name = *o.Name
		}
		out = append(out, t)
	}
	for i := range ts.bundle.Workflows {
		w := &ts.bundle.Workflows[i]
		if !slices.ContainsFunc(w.Calls, func(c registry.CalledTool) bool { return ts.index.byOperation[c.Operation()] == nil }) {
			t := &Tool{Name: w.Name, Toolset: ts, Workflow: &Workflow{Document: w}}
			if w.Tool != nil && w.Tool.Name != nil {
				t.Name = *w.Tool.Name
			}
			t.Workflow.heading = sync.OnceValues(t.describedHead)
			out = append(out, t)
		}
	}
	return out
}

// Called finds the tool that a workflow calls by a name of its own; nil when the
// toolset does not have it any more, or it is disabled. A tool that is only not among
// those selected for a use case can be called.
func (t *Tool) Called(name string) *Tool {
	calls := t.Workflow.calls()
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

// calls are the operations that a workflow calls.
func (w *Workflow) calls() []registry.CalledTool {
	if w.Document != nil {
		return w.Document.Calls
	}
	return w.Plugin.Ref.Calls
}

func (t *Tool) loadWorkflow() error {
	head, err := t.head()
	if err != nil {
		return err
	}
	if t.Workflow.schema, err = guest.CompileSchema(head.InputSchema); err != nil {
		return fmt.Errorf("arguments of tool %s: %w", t.Name, err)
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
	if t.Workflow != nil && t.Workflow.Document != nil {
		return "workflow"
	}
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
	if t.Workflow.Document != nil {
		return t.Workflow.heading()
	}
	var called []operation.Annotations
	for _, c := range t.Workflow.calls() {
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
	p := t.Workflow.Plugin
	return registry.WorkflowHead(p.Package.Manifest, p.Ref.Tool, called), nil
}

// describedHead is the head of the tool of a document or script. What its operations answer
// is what the toolset's programs leave of that.
func (t *Tool) describedHead() (connector.Head, error) {
	w := t.Workflow.Document
	var called []registry.Called
	for i := range w.Calls {
		inner := t.Toolset.index.byOperation[w.Calls[i].Operation()]
		if inner == nil {
			continue
		}
		head, err := inner.head()
		if err != nil {
			return head, fmt.Errorf("reading tool %s, which %s calls: %w", inner.Name, t.Name, err)
		}
		ready, err := inner.Load()
		if err != nil {
			return head, fmt.Errorf("reading tool %s, which %s calls: %w", inner.Name, t.Name, err)
		}
		called = append(called, registry.Called{Name: w.Calls[i].Name, Annotations: head.Annotations, OutputSchema: ready.Answer.ResultSchema()})
	}
	if w.Script != nil {
		return w.Head(nil, called), nil
	}
	plan, err := t.Plan()
	if err != nil {
		return connector.Head{}, err
	}
	return w.Head(plan.Document, called), nil
}

// Plan is how the document of a workflow is run. It is read on first use.
func (t *Tool) Plan() (*arazzo.Plan, error) {
	w := t.Workflow
	w.reading.Do(func() { w.plan, w.fault = t.readDocument() })
	return w.plan, w.fault
}

func (t *Tool) readDocument() (*arazzo.Plan, error) {
	w := t.Workflow.Document
	d, err := arazzo.Parse("", []byte(w.Document))
	if err != nil {
		return nil, fmt.Errorf("reading workflow %s: %w", t.Name, err)
	}
	if d.Workflow(w.ID) == nil {
		return nil, fmt.Errorf("the document of workflow %s has no workflow %.80q", t.Name, w.ID)
	}
	operations := make(map[string]arazzo.Operation, len(w.Calls))
	for i := range w.Calls {
		c := &w.Calls[i]
		inner := t.Toolset.index.byOperation[c.Operation()]
		operations[c.Name] = arazzo.Operation{Tool: inner.Name, Method: c.Method, Path: c.Path, ReadOnly: inner.OnlyReads()}
	}
	plan, err := d.Plan(operations)
	if err != nil {
		return nil, fmt.Errorf("planning workflow %s: %w", t.Name, err)
	}
	return plan, nil
}
