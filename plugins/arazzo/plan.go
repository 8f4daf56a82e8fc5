package arazzo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// Operation is what a plan has to know of what a step calls.
type Operation struct {
	Tool     string // its name, for people
	Method   string
	Path     string
	ReadOnly bool // it changes nothing: steps that only read may run at once
}

// Plan is how the workflows of a document are run.
type Plan struct {
	Document   *Document
	operations map[string]Operation // by Step.Operation
	waves      map[*Workflow]*order
}

// order is which steps of a workflow wait for which.
type order struct {
	after    [][]int // by step; nil: the steps run one after the other
	readOnly bool
}

// Plan orders the steps of workflows. operations has every Operation of the document's
// steps ([Document.Operations]).
//
// Steps run one after the other where an action may leave that order: goto, and an end
// other than the last one. Else a step waits for those whose outputs it reads, for those
// of its dependsOn, and, without dependsOn, for every step before it that may change
// data, or for all steps before it if it may change data itself; those that wait for it aside.
func (d *Document) Plan(operations map[string]Operation) (*Plan, error) {
	p := &Plan{Document: d, operations: operations, waves: map[*Workflow]*order{}}
	for _, w := range d.Workflows {
		if err := p.order(w); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Operations are what the steps call, in the order of the document, each once.
func (d *Document) Operations() []*Step {
	var out []*Step
	seen := map[string]bool{}
	for _, w := range d.Workflows {
		for _, s := range w.Steps {
			if s.Operation != "" && !seen[s.Operation] {
				seen[s.Operation] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// OperationsOf are what one workflow may call, with the workflows that it runs or goes
// to.
func (d *Document) OperationsOf(id string) []*Step {
	reached := map[string]bool{}
	d.reach(d.Workflow(id), reached)
	var out []*Step
	seen := map[string]bool{}
	for _, w := range d.Workflows {
		for _, s := range w.Steps {
			if reached[w.ID] && s.Operation != "" && !seen[s.Operation] {
				seen[s.Operation] = true
				out = append(out, s)
			}
		}
	}
	return out
}

func (d *Document) reach(w *Workflow, seen map[string]bool) {
	if w == nil || seen[w.ID] {
		return
	}
	seen[w.ID] = true
	for _, id := range w.DependsOn {
		d.reach(d.Workflow(id), seen)
	}
	actions := slices.Concat(w.success, w.failure)
	for _, s := range w.Steps {
		d.reach(d.Workflow(s.Workflow), seen)
		actions = slices.Concat(actions, s.success, s.failure)
	}
	for _, a := range actions {
		d.reach(d.Workflow(a.Workflow), seen)
	}
}

// order plans a workflow, and those that its steps call before it.
func (p *Plan) order(w *Workflow) error {
	if p.waves[w] != nil {
		return nil
	}
	o := &order{readOnly: true}
	reads := make([]bool, len(w.Steps))
	for i, s := range w.Steps {
		if s.Workflow != "" {
			nested := p.Document.Workflow(s.Workflow)
			if nested == nil { // of another document: Run refuses it
				continue
			}
			if err := p.order(nested); err != nil { // link has refused cycles
				return err
			}
			reads[i] = p.waves[nested].readOnly
		} else {
			reads[i] = p.operations[s.Operation].ReadOnly
		}
		o.readOnly = o.readOnly && reads[i]
	}
	p.waves[w] = o
	if jumps(w) {
		return nil
	}
	o.after = make([][]int, len(w.Steps))
	said := make([]map[int]bool, len(w.Steps)) // by the document
	for i, s := range w.Steps {
		said[i] = map[int]bool{}
		for _, id := range slices.Concat(s.reads, s.DependsOn) {
			said[i][w.step(id)] = true
		}
	}
	for i, s := range w.Steps {
		after := maps.Clone(said[i])
		if len(s.DependsOn) == 0 {
			for j := range i {
				if (!reads[i] || !reads[j]) && !waits(said, j, i) {
					after[j] = true
				}
			}
		}
		for j := range w.Steps {
			if after[j] {
				o.after[i] = append(o.after[i], j)
			}
		}
	}
	if i := cyclic(o.after); i >= 0 {
		at := w.Steps[i].place
		return problem.New(problem.InvalidArgument, "the steps of workflow %s wait for each other: %s cannot begin", w.ID, w.Steps[i].ID).At("", at.line, 0, at.pointer).
			Fix("put each step behind those that it reads, or name in dependsOn what it waits for")
	}
	return nil
}

// waits reports whether a step waits for another one, itself or by way of others.
func waits(after []map[int]bool, step, other int) bool {
	seen := map[int]bool{}
	var look func(i int) bool
	look = func(i int) bool {
		if seen[i] {
			return false
		}
		seen[i] = true
		for j := range after[i] {
			if j == other || look(j) {
				return true
			}
		}
		return false
	}
	return look(step)
}

// jumps reports whether an action may leave the order of the steps.
func jumps(w *Workflow) bool {
	leaves := func(a *Action) bool { return a.Type == actionGoto || a.Step != "" }
	if len(w.success) > 0 || slices.ContainsFunc(w.failure, leaves) {
		return true
	}
	for i, s := range w.Steps {
		if slices.ContainsFunc(s.failure, leaves) {
			return true
		}
		for _, a := range s.success {
			if leaves(a) || i < len(w.Steps)-1 {
				return true
			}
		}
	}
	return false
}

// cyclic finds a step that can never begin; -1: there is none.
func cyclic(after [][]int) int {
	done := make([]bool, len(after))
	for range after {
		for i, needs := range after {
			if !done[i] && !slices.ContainsFunc(needs, func(j int) bool { return !done[j] }) {
				done[i] = true
			}
		}
	}
	return slices.Index(done, false)
}

// Waves are the steps of a workflow by when they can begin at the earliest: those of one
// wave run at once.
func (p *Plan) Waves(w *Workflow) [][]*Step {
	o := p.waves[w]
	wave := make([]int, len(w.Steps))
	var out [][]*Step
	if o.after == nil {
		for _, s := range w.Steps {
			out = append(out, []*Step{s})
		}
		return out
	}
	for range w.Steps { // until nothing moves: a step may wait for one behind it
		for i, needs := range o.after {
			for _, j := range needs {
				wave[i] = max(wave[i], wave[j]+1)
			}
		}
	}
	for i, s := range w.Steps {
		for len(out) <= wave[i] {
			out = append(out, nil)
		}
		out[wave[i]] = append(out[wave[i]], s)
	}
	return out
}

// Text draws the plan of a workflow.
func (p *Plan) Text(w *Workflow) string {
	var b strings.Builder
	waves := p.Waves(w)
	widest, name := 0, 0
	for _, steps := range waves {
		widest = max(widest, len(steps))
	}
	for _, s := range w.Steps {
		name = max(name, len(s.ID))
	}
	fmt.Fprintf(&b, "%s: %s, %d in a row, at most %d at once\n", w.ID, counted(len(w.Steps), "step"), len(waves), min(widest, maxAtOnce))
	for _, id := range w.DependsOn {
		fmt.Fprintf(&b, "   first workflow %s\n", id)
	}
	for i, steps := range waves {
		for j, s := range steps {
			number := "  "
			if j == 0 {
				number = fmt.Sprintf("%2d", i+1)
			}
			fmt.Fprintf(&b, "%s %-*s  %s\n", number, name, s.ID, p.describe(s))
		}
	}
	for _, o := range w.Outputs {
		fmt.Fprintf(&b, "   → %s\n", o.Name)
	}
	return b.String()
}

func (p *Plan) describe(s *Step) string {
	var parts []string
	if s.Workflow != "" {
		parts = append(parts, "workflow "+s.Workflow)
	} else if o, ok := p.operations[s.Operation]; ok {
		text := o.Method + " " + o.Path
		if o.Tool != "" {
			text = o.Tool + ", " + text
		}
		if !o.ReadOnly {
			text += ", may change data"
		}
		parts = append(parts, text)
	} else {
		parts = append(parts, s.Operation+", which the toolset does not have")
	}
	if len(s.reads) > 0 {
		parts = append(parts, "reads "+strings.Join(s.reads, ", "))
	}
	for _, a := range s.success {
		parts = append(parts, "on success "+a.describe())
	}
	for _, a := range s.failure {
		parts = append(parts, "on failure "+a.describe())
	}
	return strings.Join(parts, "; ")
}

func (a *Action) describe() string {
	to := a.Workflow + a.Step
	switch {
	case a.Type == actionRetry && to != "":
		return fmt.Sprintf("run %s and retry, %s", to, counted(a.Limit, "time"))
	case a.Type == actionRetry:
		return "retry, " + counted(a.Limit, "time")
	case a.Type == actionGoto:
		return "go to " + to
	}
	return a.Type
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return itoa(n) + " " + noun
}
