package choice

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/registry"
)

// ToolExamples are requests that a tool serves.
type ToolExamples struct {
	Operation toolset.Operation `json:"operation"`
	Operator  []string          `json:"operator,omitempty" doc:"Written by the operator."`
	Learned   []LearnedExample  `json:"learned,omitempty" doc:"Seen before calls that succeeded; the draft's search knows them."`
}

// Weighted are what the index takes of it.
func (t *ToolExamples) Weighted() []selection.Example {
	out := make([]selection.Example, 0, len(t.Operator))
	for _, text := range t.Operator {
		out = append(out, selection.Example{Text: text, Weight: 1})
	}
	for i := range t.Learned {
		out = append(out, selection.Example{Text: t.Learned[i].Text, Weight: t.Learned[i].Weight})
	}
	return out
}

// ExamplesOf finds or makes the examples of an operation.
func (c *Choice) ExamplesOf(op toolset.Operation) *ToolExamples {
	for i := range c.Examples {
		if c.Examples[i].Operation == op {
			return &c.Examples[i]
		}
	}
	c.Examples = append(c.Examples, ToolExamples{Operation: op})
	return &c.Examples[len(c.Examples)-1]
}

const (
	// maxExampleBytes of one example: what the index looks at.
	maxExampleBytes = 400
	// maxExamples of all tools of a toolset: 64 tools with as many as count, or some
	// for each of thousands. A draft holds them, and its bundle their words.
	maxExamples = 64 * selection.MaxExamples
)

// CheckExamples refuses more examples than a toolset may have.
func (c *Choice) CheckExamples() error {
	n := 0
	for i := range c.Examples {
		n += len(c.Examples[i].Operator)
	}
	if n <= maxExamples {
		return nil
	}
	return problem.New(problem.InvalidArgument, "with these the tools of the toolset have %d examples, more than %d", n, maxExamples).At("", 0, 0, "/examples")
}

// Uses reports whether the record holds a learned request.
func (c *Choice) Uses(op toolset.Operation, query string) bool {
	for i := range c.Examples {
		if c.Examples[i].Operation == op {
			return slices.ContainsFunc(c.Examples[i].Learned, func(l LearnedExample) bool { return l.Text == query })
		}
	}
	return false
}

// SetExamples gives a tool the requests that an operator says it serves, and returns what
// it had before and has now, without what was learned: the audit log keeps nothing that
// users wrote.
func (c *Choice) SetExamples(op toolset.Operation, texts []string) (before, after ToolExamples, err error) {
	e := c.ExamplesOf(op)
	before = *e
	e.Operator = nil
	for i, text := range texts {
		if text = strings.TrimSpace(text); text == "" || len(text) > maxExampleBytes {
			return before, after, problem.New(problem.InvalidArgument, "example %d must have 1 to %d bytes", i+1, maxExampleBytes).At("", 0, 0, "/examples")
		}
		if !slices.Contains(e.Operator, text) {
			e.Operator = append(e.Operator, text)
		}
	}
	if err := c.CheckExamples(); err != nil {
		return before, after, err
	}
	after = *e
	before.Learned, after.Learned = nil, nil
	if len(e.Operator) == 0 && len(e.Learned) == 0 {
		c.Examples = slices.DeleteFunc(c.Examples, func(t ToolExamples) bool { return t.Operation == op })
	}
	return before, after, nil
}

// learnedWeight is the most that a learned request weighs among examples; the
// operator's weigh 1. A tool with a few learned ones is then no likelier than before:
// see internal/selection, which trusts examples by the cube of their weight.
const learnedWeight = .5

// LearnedExample is a learned request in the index of a draft.
type LearnedExample struct {
	Text   string  `json:"text"`
	Weight float32 `json:"weight" doc:"Among the operator's examples, which weigh 1."`
}

// SetLearning turns learning on or off; nil keeps it.
func SetLearning(ts *store.Toolset, learn *bool) error {
	if learn == nil {
		return nil
	}
	c, err := Of(ts)
	if err != nil {
		return err
	}
	if *learn && c.Mode != registry.SelectSearch {
		return problem.New(problem.InvalidArgument, "only the selection search learns").At("", 0, 0, "/learn").Fix("set the selection to search too")
	}
	c.Learn = *learn
	c.Keep(ts)
	return nil
}

// Adopt takes into a toolset that learns what was learned so far, and out of one
// that does not what it took before. The draft then holds all that its index is made
// of: it stays the same until the next change. by is the operation that a learned request
// is of, and has reports whether the draft has one.
func Adopt(ctx context.Context, ws *store.Workspace, ts *store.Toolset, by func(*store.Learned) toolset.Operation, has func(toolset.Operation) bool) error {
	c, err := Of(ts)
	if err != nil {
		return err
	}
	for i := range c.Examples {
		c.Examples[i].Learned = nil
	}
	if c.Learn {
		rows, err := ws.Learned(ctx, ts.ID)
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			op := by(r)
			if !has(op) {
				continue // it waits for a version that has the operation again
			}
			e := c.ExamplesOf(op)
			twice := slices.ContainsFunc(e.Learned, func(l LearnedExample) bool { return l.Text == r.Query }) // once of a node that did not say of which connector
			if !twice && !slices.Contains(e.Operator, r.Query) {
				// Hundredths: what nobody asked again is the same draft a minute later.
				uses := r.Uses()
				e.Learned = append(e.Learned, LearnedExample{Text: r.Query, Weight: float32(int(learnedWeight*uses/(uses+1)*100+.5)) / 100})
			}
		}
	}
	c.Examples = slices.DeleteFunc(c.Examples, func(e ToolExamples) bool { return len(e.Operator) == 0 && len(e.Learned) == 0 })
	c.Keep(ts)
	return nil
}

// LearnedCount is how many learned requests a draft holds.
func LearnedCount(ts *store.Toolset) (n int) {
	if c, err := Of(ts); err == nil {
		for i := range c.Examples {
			n += len(c.Examples[i].Learned)
		}
	}
	return n
}

// WithoutLearned is a stored selection for the audit log, which keeps nothing that
// users wrote.
func WithoutLearned(selection string) string {
	ts := &store.Toolset{Selection: selection}
	c, err := Of(ts)
	if err != nil {
		return ""
	}
	for i := range c.Examples {
		c.Examples[i].Learned = nil
	}
	c.Examples = slices.DeleteFunc(c.Examples, func(e ToolExamples) bool { return len(e.Operator) == 0 })
	c.Keep(ts)
	return ts.Selection
}

// DropUnwanted takes out of a report what was learned of toolsets that are to learn
// nothing (any more).
func DropUnwanted(ctx context.Context, st *store.Store, r *registry.UsageReport) error {
	type key struct{ workspace, toolset string }
	learns := map[key]bool{}
	for i := range r.Found {
		f := &r.Found[i]
		k := key{f.Workspace, f.Toolset}
		if _, asked := learns[k]; asked {
			continue
		}
		ts, err := st.Workspace(f.Workspace).Toolset(ctx, f.Toolset)
		if problem.Is(err, problem.NotFound) {
			learns[k] = false
			continue
		}
		if err != nil {
			return fmt.Errorf("reading a toolset that learned: %w", err)
		}
		c, err := Of(ts)
		if err != nil {
			return err
		}
		learns[k] = c.Learn
	}
	r.Found = slices.DeleteFunc(r.Found, func(f registry.UsageFound) bool { return !learns[key{f.Workspace, f.Toolset}] })
	return nil
}
