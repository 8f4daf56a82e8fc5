package choice

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/toolset"
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

// TestMaxExampleBytes: an example as long is taken, a byte more is refused.
func TestMaxExampleBytes(t *testing.T) {
	for n, ok := range map[int]bool{maxExampleBytes: true, maxExampleBytes + 1: false, 1: true, 0: false} {
		var c Choice
		_, after, err := c.SetExamples(toolset.Operation{Method: "GET", Path: "/x"}, []string{strings.Repeat("x", n)})
		if (err == nil) != ok || ok && len(after.Operator) != 1 {
			t.Errorf("an example of %d bytes: %v", n, err)
		}
	}
}
