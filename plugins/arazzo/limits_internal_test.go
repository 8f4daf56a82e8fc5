package arazzo

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func faultsIn(t *testing.T, steps string) []*problem.Error {
	t.Helper()
	_, err := Parse("t.yaml", []byte("arazzo: 1.0.1\nworkflows:\n- workflowId: w\n"+steps))
	if err == nil {
		return nil
	}
	p := problem.As(err)
	if p == nil {
		t.Fatal(err)
	}
	if len(p.Parts) == 0 {
		return []*problem.Error{p}
	}
	return p.Parts
}

// TestLimits tries each bound of a document at the limit and one past it.
func TestLimits(t *testing.T) {
	step := func(rest string) string { return "  steps:\n  - {stepId: a, operationId: x, " + rest + "}\n" }
	list := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+", ", n), ", ") }
	tests := []struct {
		name  string
		limit int
		doc   func(n int) string
	}{
		{"maxText", maxText, func(n int) string {
			return step("outputs: {o: $inputs." + strings.Repeat("a", n-len("$inputs.")) + "}")
		}},
		{"maxText of a condition", maxText, func(n int) string { return step("successCriteria: [{condition: '" + strings.Repeat(" ", n-1) + "1'}]") }},
		{"maxText of a JSONPath", maxText, func(n int) string {
			return step("outputs: {o: {context: $response.body, selector: $." + strings.Repeat("a", n-2) + ", type: jsonpath}}")
		}},
		{"maxMembers", maxMembers, func(n int) string { return step("requestBody: {payload: [" + list(n, "1") + "]}") }},
		{"maxMembers of an object", maxMembers, func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "m%d: 1, ", i)
			}
			return step("requestBody: {payload: {" + b.String() + "}}")
		}},
		// workflows, 0, steps, 0, requestBody and payload are above it.
		{"maxNesting", maxNesting, func(n int) string {
			return step("requestBody: {payload: " + strings.Repeat("[", n-6) + "1" + strings.Repeat("]", n-6) + "}")
		}},
		{"maxConditionDepth", maxConditionDepth, func(n int) string {
			return step("successCriteria: [{condition: '" + strings.Repeat("(", n) + "true" + strings.Repeat(")", n) + "'}]")
		}},
		{"maxPathDepth", maxPathDepth, func(n int) string {
			return step("successCriteria: [{context: $url, condition: '$" + strings.Repeat("[?@", n) + strings.Repeat("]", n) + "', type: jsonpath}]")
		}},
		{"maxRegex", maxRegex, func(n int) string {
			return step("successCriteria: [{context: $url, condition: " + strings.Repeat("a", n) + ", type: regex}]")
		}},
		// Two instructions are the program's own, and one is its end.
		{"maxRegexProgram", maxRegexProgram, func(n int) string {
			return step(fmt.Sprintf("successCriteria: [{context: $url, condition: 'a{%d}b{%d}', type: regex}]", 500, n-500-2))
		}},
		{"maxSchema", maxSchema, func(n int) string {
			empty := len(`{"type":"object","description":""}`)
			return "  inputs: {type: object, description: " + strings.Repeat("a", n-empty) + "}\n" + step("outputs: {}")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if faults := faultsIn(t, tt.doc(tt.limit)); faults != nil {
				t.Errorf("at the limit: %v", faults)
			}
			if faultsIn(t, tt.doc(tt.limit+1)) == nil {
				t.Error("one past the limit is accepted")
			}
		})
	}
	for n, want := range map[int]int{maxFaults: maxFaults, maxFaults + 1: maxFaults} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  - {stepId: s%d}\n", i)
		}
		if got := len(faultsIn(t, "  steps:\n"+b.String())); got != want {
			t.Errorf("%d faults are reported of %d", got, n)
		}
	}
}

func TestMaxValue(t *testing.T) {
	for n, want := range map[int]bool{maxValue - 8: true, maxValue - 7: false} {
		if err := small(strings.Repeat("a", n)); (err == nil) != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	half := strings.Repeat("a", maxValue/2)
	v, err := parseText("{$inputs.a}{$inputs.a}{$inputs.a}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.read(&stepScope{f: &frame{given: map[string]any{"a": half}}}); err == nil {
		t.Error("a text of three large ones is accepted")
	}
}

// crowd counts how many calls are made at once. The first ones wait until there are as
// many as there may be.
type crowd struct {
	mu           sync.Mutex
	inside, most int
	full         chan struct{}
}

func (c *crowd) Call(context.Context, *Call) (*Response, error) {
	c.mu.Lock()
	c.inside++
	if c.most = max(c.most, c.inside); c.inside == maxAtOnce {
		select {
		case <-c.full:
		default:
			close(c.full)
		}
	}
	c.mu.Unlock()
	<-c.full
	c.mu.Lock()
	c.inside--
	c.mu.Unlock()
	return &Response{Status: 200}, nil
}

func TestMaxAtOnce(t *testing.T) {
	var b strings.Builder
	for i := range 2 * maxAtOnce {
		fmt.Fprintf(&b, "  - {stepId: s%d, operationId: x}\n", i)
	}
	d, err := Parse("t.yaml", []byte("arazzo: 1.0.1\nworkflows:\n- workflowId: w\n  steps:\n"+b.String()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Plan(map[string]Operation{"x": {ReadOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{full: make(chan struct{})}
	if got, err := p.Run(t.Context(), "w", nil, c); err != nil || got.Failure != nil {
		t.Fatal(err, got.Failure)
	}
	if got := c.most; got != maxAtOnce {
		t.Errorf("%d calls at once, want %d", got, maxAtOnce)
	}
}
