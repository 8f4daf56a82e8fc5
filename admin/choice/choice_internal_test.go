package choice

import (
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestExamplesBound holds the number of examples of a toolset.
func TestExamplesBound(t *testing.T) {
	c := &Choice{Examples: []ToolExamples{{Operator: make([]string, maxExamples-4)}, {}, {Operator: make([]string, 4)}}}
	if err := c.CheckExamples(); err != nil {
		t.Errorf("%d examples: %v", maxExamples, err)
	}
	c.Examples[1].Operator = []string{"one more"}
	if err := c.CheckExamples(); !problem.Is(err, problem.InvalidArgument) {
		t.Errorf("one more: %v", err)
	}
}
