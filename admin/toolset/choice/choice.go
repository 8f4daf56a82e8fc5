package choice

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/registry"
)

// Choice is the stored form of a selection.
type Choice struct {
	Mode     string         `json:"mode"`
	UseCase  string         `json:"useCase,omitempty"`
	Tools    []Tool         `json:"tools,omitempty"`
	Examples []ToolExamples `json:"examples,omitempty"`
	Learn    bool           `json:"learn,omitempty"` // only with the mode search
	Batch    bool           `json:"batch,omitempty"`
	// Destructive lets scripts and batches call tools that may destroy; only with the mode
	// code or Batch.
	Destructive bool `json:"destructive,omitempty"`
	// Limits of scripts; nil: the defaults.
	Limits *registry.ScriptLimits `json:"limits,omitempty"`
}

// Tool is a tool that was chosen for a use case.
type Tool struct {
	toolset.Operation
	Score  float32            `json:"score,omitempty"`
	Clause string             `json:"clause,omitempty"`
	For    *toolset.Operation `json:"for,omitempty"`
	Gives  string             `json:"gives,omitempty"`
}

// Of reads the selection of a toolset.
func Of(ts *store.Toolset) (*Choice, error) {
	c := &Choice{Mode: registry.SelectAll}
	if ts.Selection == "" {
		return c, nil
	}
	if err := json.Unmarshal([]byte(ts.Selection), c); err != nil {
		return nil, fmt.Errorf("reading the selection of toolset %s: %w", ts.ID, err)
	}
	first := func(op *toolset.Operation) { // a record of the time when there was one connector
		if op != nil && op.Connector == "" {
			op.Connector = ts.ConnectorName
		}
	}
	for i := range c.Tools {
		first(&c.Tools[i].Operation)
		first(c.Tools[i].For)
	}
	for i := range c.Examples {
		first(&c.Examples[i].Operation)
	}
	return c, nil
}

// Keep stores c in the draft; what is as without any selection is stored as "".
func (c *Choice) Keep(ts *store.Toolset) {
	if ts.Selection = store.JSON(c); c.Mode == registry.SelectAll && c.UseCase == "" && len(c.Examples) == 0 && !c.Learn && !c.Batch && c.Limits == nil {
		ts.Selection = ""
	}
}

// For finds the tools for a use case among all that are indexed. It fails with
// [problem.InvalidArgument] when none fits.
func For(useCase string, all []registry.IndexedTool, tools []selection.Tool) ([]Tool, error) {
	chosen := selection.Build(tools, selection.DefaultTable()).Choose(tools, useCase)
	if len(chosen) == 0 {
		return nil, problem.New(problem.InvalidArgument, "no tool fits the use case").At("", 0, 0, "/useCase").
			Fix("describe it in the words of the API, a sentence for each task")
	}
	return stored(all, chosen), nil
}

// stored is what was chosen, as it is kept.
func stored(tools []registry.IndexedTool, chosen []selection.Choice) []Tool {
	out := make([]Tool, len(chosen))
	for i, c := range chosen {
		t := &tools[c.Tool]
		out[i] = Tool{Operation: toolset.Operation(t.SelectedTool), Score: c.Score, Clause: c.Clause, Gives: c.Gives}
		if c.For >= 0 {
			needs := toolset.Operation(tools[c.For].SelectedTool)
			out[i].For = &needs
		}
	}
	return out
}

// SetBatch says whether the tool that makes many calls at once is offered; nil keeps it.
func SetBatch(ts *store.Toolset, offer *bool) error {
	if offer == nil {
		return nil
	}
	c, err := Of(ts)
	if err != nil {
		return err
	}
	if c.Batch = *offer; !c.Batch && c.Mode != registry.SelectCode {
		c.Destructive = false
	}
	c.Keep(ts)
	return nil
}

// SetLimits sets what scripts may use; nil keeps it, and zero fields are the defaults.
func SetLimits(ts *store.Toolset, limits *registry.ScriptLimits) error {
	if limits == nil {
		return nil
	}
	c, err := Of(ts)
	if err != nil {
		return err
	}
	if c.Limits = limits; *limits == (registry.ScriptLimits{}) {
		c.Limits = nil
	}
	c.Keep(ts)
	return nil
}

// SetDestructive says whether scripts and batches may call tools that may destroy; nil keeps it.
func SetDestructive(ts *store.Toolset, may *bool) error {
	if may == nil {
		return nil
	}
	c, err := Of(ts)
	if err != nil {
		return err
	}
	if *may && c.Mode != registry.SelectCode && !c.Batch {
		return problem.New(problem.InvalidArgument, "there are scripts only with the selection code, and batch is off").At("", 0, 0, "/scriptsMayDestroy").
			Fix("set the selection to code, or batch to true, too")
	}
	c.Destructive = *may
	c.Keep(ts)
	return nil
}

// Drop takes a connector out of the choice, with what is said about its tools.
func (c *Choice) Drop(connector string) {
	c.Tools = slices.DeleteFunc(c.Tools, func(t Tool) bool { return t.Connector == connector })
	for i := range c.Tools {
		if f := c.Tools[i].For; f != nil && f.Connector == connector {
			c.Tools[i].For, c.Tools[i].Gives = nil, ""
		}
	}
	c.Examples = slices.DeleteFunc(c.Examples, func(e ToolExamples) bool { return e.Operation.Connector == connector })
}

// Follow moves what is kept by operation.
func (c *Choice) Follow(m toolset.Moves) {
	for i := range c.Tools {
		c.Tools[i].Operation = m.Of(c.Tools[i].Operation)
		if f := c.Tools[i].For; f != nil {
			*f = m.Of(*f)
		}
	}
	for i := range c.Examples {
		c.Examples[i].Operation = m.Of(c.Examples[i].Operation)
	}
}
