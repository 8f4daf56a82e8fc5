package arazzo

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// link checks what parts of a document say of each other: names, references, cycles.
func (r *reader) link(d *Document) {
	seen := map[string]bool{}
	for _, w := range d.Workflows {
		if seen[w.ID] {
			r.faultAt(w.place, "", "the workflowId %.80q is used twice", w.ID)
		}
		seen[w.ID] = true
	}
	for _, w := range d.Workflows {
		r.linkWorkflow(d, w)
	}
	for _, w := range d.Workflows {
		w.runs = map[string]bool{}
		d.runsOf(w, w.runs)
	}
	for _, w := range d.Workflows {
		r.runBefore(d, w)
	}
	if len(r.faults) > 0 {
		return
	}
	heights := map[string]int{}
	for _, w := range d.Workflows {
		if depth := r.depth(d, w, heights); depth > MaxNested {
			r.faultAt(w.place, "", "workflows call workflows %d deep, at most %d", depth, MaxNested)
			return
		} else if depth < 0 {
			return
		}
	}
}

func (r *reader) linkWorkflow(d *Document, w *Workflow) {
	ids := map[string]bool{}
	w.readsOf = map[string]bool{}
	for _, s := range w.Steps {
		if ids[s.ID] {
			r.faultAt(s.place, "", "the stepId %.80q is used twice", s.ID)
		}
		ids[s.ID] = true
	}
	for _, id := range w.DependsOn {
		r.workflowNamed(d, w, id, w.place, "dependsOn")
	}
	look := func(at place, own *Step) func(*expression) {
		return func(e *expression) {
			switch e.root {
			case "response":
				if e.part == "header" && own != nil && !slices.Contains(own.headers, e.name) {
					own.headers = append(own.headers, e.name)
				}
			case "steps":
				if !ids[e.name] {
					r.faultAt(at, "", "%.80q: the workflow has no step %.80q", e.text, e.name)
					break
				}
				if of := w.Steps[w.step(e.name)]; of.Operation != "" && !hasOutput(of.outputs, e.path) {
					r.faultAt(at, outputsOf(of), "%.80q: the step %.80q has no output %.80q", e.text, e.name, e.path[0])
				}
				if own != nil && e.name != own.ID && !slices.Contains(own.reads, e.name) {
					own.reads = append(own.reads, e.name)
				}
			case "workflows":
				if d.Workflow(e.name) == nil {
					r.faultAt(at, "", "%.80q: the document has no workflow %.80q", e.text, e.name)
				} else if e.part == "outputs" && e.name != w.ID {
					w.readsOf[e.name] = true
				}
			case "components":
				if d.parameters[e.name] == nil {
					r.faultAt(at, "", "%.80q: components have no such parameter", e.text)
				}
			}
		}
	}
	for _, p := range w.parameters {
		for _, s := range w.Steps {
			p.value.expressions(look(p.place, s))
		}
	}
	for _, list := range [][]*Action{w.success, w.failure} {
		for _, a := range list {
			a.expressions(look(a.place, nil))
			for _, s := range w.Steps {
				a.expressions(look(a.place, s))
			}
			r.linkAction(d, w, a)
		}
	}
	for _, s := range w.Steps {
		if s.foreign != "" {
			r.foreign(d, w, s.place, "name an operationId or operationPath", "step %.80s: %s", s.ID, s.foreign)
		}
		s.expressions(look(s.place, s))
		if s.Workflow != "" {
			s.Workflow = strings.TrimPrefix(s.Workflow, "$workflows.")
			r.workflowNamed(d, w, s.Workflow, s.place, "workflowId")
		}
		for _, p := range s.parameters {
			if s.Workflow == "" && p.In == "" {
				r.faultAt(p.place, "", "the parameter %.80q of a call needs in: path, query, header or cookie", p.Name)
			}
		}
		for _, list := range [][]*Action{s.success, s.failure} {
			for _, a := range list {
				r.linkAction(d, w, a)
			}
		}
	}
	for i := range w.Outputs {
		w.Outputs[i].value.expressions(look(w.place, nil))
	}
}

// hasOutput reports whether a path begins with the name of an output, which may have dots.
func hasOutput(outputs []Output, path []string) bool {
	return slices.ContainsFunc(outputs, func(o Output) bool {
		for n := range path {
			if strings.Join(path[:n+1], ".") == o.Name {
				return true
			}
		}
		return false
	})
}

// outputsOf is the remedy for an output that a step does not have.
func outputsOf(s *Step) string {
	if len(s.outputs) == 0 {
		return "give the step outputs"
	}
	var names []string
	for _, o := range s.outputs {
		names = append(names, o.Name)
	}
	return "it has " + strings.Join(names[:min(len(names), 10)], ", ")
}

// runBefore makes a workflow depend on those whose outputs it reads and which neither it nor
// one that it runs runs.
func (r *reader) runBefore(d *Document, w *Workflow) {
	for _, s := range w.Steps {
		r.linkDependsOn(d, w, s)
	}
	for _, other := range d.Workflows {
		if w.readsOf[other.ID] && !w.runs[other.ID] && !slices.Contains(w.DependsOn, other.ID) {
			w.DependsOn = append(w.DependsOn, other.ID)
		}
	}
}

// runsIn reports whether a step runs a workflow, or one that runs it.
func (d *Document) runsIn(s *Step, name string) bool {
	of := d.Workflow(s.Workflow)
	return of != nil && (of.ID == name || of.runs[name])
}

// runsOf notes the workflows that a workflow runs, by way of its steps and actions and of
// other workflows.
func (d *Document) runsOf(w *Workflow, seen map[string]bool) {
	var named []string
	lists := [][]*Action{w.success, w.failure}
	for _, s := range w.Steps {
		named = append(named, s.Workflow)
		lists = append(lists, s.success, s.failure)
	}
	for _, a := range slices.Concat(lists...) {
		named = append(named, a.Workflow)
	}
	for _, id := range named {
		if id != "" && !seen[id] && d.Workflow(id) != nil {
			seen[id] = true
			d.runsOf(d.Workflow(id), seen)
		}
	}
}

// linkDependsOn makes steps of the same workflow of what a step depends on. One of another
// workflow is the step that runs that workflow, or has ended before this workflow begins.
func (r *reader) linkDependsOn(d *Document, w *Workflow, s *Step) {
	var out []string
	for _, id := range s.DependsOn {
		rest, other := strings.CutPrefix(id, "$workflows.")
		switch {
		case strings.HasPrefix(id, "$sourceDescriptions."):
			r.foreign(d, w, s.place, "put that workflow into this document", "dependsOn: %.120q is in another document, which is not supported", id)
			continue
		case !other:
			if w.step(id) < 0 || id == s.ID {
				r.faultAt(s.place, "", "dependsOn: the workflow has no other step %.80q", id)
				continue
			}
			out = append(out, id)
			continue
		}
		name, in, _ := strings.Cut(rest, ".steps.")
		of := d.Workflow(name)
		if of == nil || of.step(in) < 0 {
			r.faultAt(s.place, "write $workflows.WORKFLOW.steps.STEP", "dependsOn: the document has no step %.120q", id)
			continue
		}
		runs := slices.IndexFunc(w.Steps, func(x *Step) bool { return x != s && d.runsIn(x, name) })
		if runs >= 0 {
			out = append(out, w.Steps[runs].ID)
		} else if !w.readsOf[name] && !slices.Contains(w.DependsOn, name) {
			r.faultAt(s.place, "name "+name+" in dependsOn of the workflow", "dependsOn: nothing runs the workflow %.80q before this step", name)
		}
	}
	s.DependsOn = out
}

func (r *reader) workflowNamed(d *Document, w *Workflow, id string, at place, where string) {
	switch {
	case strings.HasPrefix(id, "$sourceDescriptions."):
		r.foreign(d, w, at, "put that workflow into this document", "%s: %.120q is in another document, which is not supported", where, id)
	case d.Workflow(id) == nil:
		r.faultAt(at, "", "%s: the document has no workflow %.80q", where, id)
	}
}

// foreign notes what cannot be run here: the document's other workflows can be.
func (r *reader) foreign(d *Document, w *Workflow, at place, fix, format string, a ...any) {
	if d.foreign == nil {
		d.foreign = map[string][]*problem.Error{}
	}
	if list := d.foreign[w.ID]; len(list) < maxFaults {
		d.foreign[w.ID] = append(list, problem.New(problem.Unsupported, format, a...).At(r.file, at.line, 0, at.pointer).Fix("%s", fix))
	}
}

// Runnable says why a workflow of the document cannot be run, or one that it needs; nil:
// it can.
func (d *Document) Runnable(id string) error {
	reached := map[string]bool{}
	d.reach(d.Workflow(id), reached)
	var parts []*problem.Error
	for _, w := range d.Workflows {
		if reached[w.ID] {
			parts = append(parts, d.foreign[w.ID]...)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	p := problem.New(problem.Unsupported, "the workflow %.200s cannot be run", id)
	p.Parts = parts
	return p
}

func (r *reader) linkAction(d *Document, w *Workflow, a *Action) {
	a.Workflow = strings.TrimPrefix(a.Workflow, "$workflows.")
	if a.Workflow != "" {
		r.workflowNamed(d, w, a.Workflow, a.place, "workflowId")
	}
	if a.Step != "" && w.step(a.Step) < 0 {
		r.faultAt(a.place, "", "the workflow has no step %.80q", a.Step)
	}
}

// depth is how deep a workflow calls others, itself included; heights has what is known,
// 0 for a workflow that is being looked at. A goto to a workflow is not a call: it does not
// come back. It is -1 after a fault.
func (r *reader) depth(d *Document, w *Workflow, heights map[string]int) int {
	if h, known := heights[w.ID]; known {
		if h == 0 {
			r.faultAt(w.place, "", "the workflow %s calls itself, by way of a step or of dependsOn", w.ID)
			return -1
		}
		return h
	}
	heights[w.ID] = 0
	needed := slices.Clone(w.DependsOn)
	actions := slices.Clone(w.failure)
	for _, s := range w.Steps {
		if s.Workflow != "" {
			needed = append(needed, s.Workflow)
		}
		actions = append(actions, s.failure...)
	}
	for _, a := range actions {
		if a.Type == actionRetry && a.Workflow != "" {
			needed = append(needed, a.Workflow)
		}
	}
	deepest := 0
	for _, id := range needed {
		if d.Workflow(id) == nil { // of another document
			continue
		}
		n := r.depth(d, d.Workflow(id), heights)
		if n < 0 {
			return n
		}
		deepest = max(deepest, n)
	}
	heights[w.ID] = deepest + 1
	return deepest + 1
}
