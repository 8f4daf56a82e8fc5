package call

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/script"
)

func scripting() *exchange {
	x := newExchange()
	x.ready = &snapshot.Ready{Answer: &answer.Plan{}}
	x.ts, x.ctx, x.deadline = &snapshot.Toolset{}, context.Background(), time.Now().Add(time.Hour)
	return x
}

// TestScriptFailure: an agent reads the first frames of an error, and which calls were
// made before it.
func TestScriptFailure(t *testing.T) {
	for _, n := range []int{maxTold, maxTold + 1} {
		s := &scriptCalls{nested: nested{x: scripting()}}
		for i := range n {
			s.count(nestedCall{tool: fmt.Sprint("t", i), changes: i == 0})
		}
		var frames []string
		for i := range maxScriptStack + 1 {
			frames = append(frames, fmt.Sprintf("    at f%d (script.js:%d:1)", i, i+1))
		}
		err := s.x.scriptFailure(&script.Error{Message: "Error: no", Line: 1, Column: 1, Stack: strings.Join(frames, "\n")}, s)
		text := problem.As(err).Detail
		if !strings.Contains(text, fmt.Sprintf("f%d ", maxScriptStack-1)) || strings.Contains(text, fmt.Sprintf("f%d ", maxScriptStack)) {
			t.Errorf("frames: %s", text)
		}
		if !strings.Contains(text, "t0 (changed data: do not repeat it blindly), t1") || strings.Contains(text, "and 1 more") != (n > maxTold) {
			t.Errorf("after %d calls: %s", n, text)
		}
	}
}

// TestScriptLogs: an agent reads so many tokens of what a script logged.
func TestScriptLogs(t *testing.T) {
	for _, tt := range []struct {
		lines int
		cut   bool
	}{{10, false}, {maxLogTokens, true}} {
		x := scripting()
		var r script.Result
		for range tt.lines {
			r.Logs = append(r.Logs, "one two three")
		}
		x.scriptLogs(&r)
		if n := tokens.Estimate(x.logs); strings.Contains(string(x.logs), "more lines]") != tt.cut || n > maxLogTokens+20 {
			t.Errorf("%d lines give %d tokens: %s", tt.lines, n, x.logs)
		}
	}
}

// TestTold: calls of one kind are counted, wherever they stand, and none that may have changed
// data is left out.
func TestTold(t *testing.T) {
	list, create := nestedCall{tool: "list"}, nestedCall{tool: "create", changes: true}
	tests := map[string][]nestedCall{
		"2 calls ended: list, list (failed)":                                           {list, {tool: "list", failed: true}},
		"4 calls ended: list × 2, create × 2 (changed data: do not repeat it blindly)": {list, create, list, create},
		"1 call ended: create (failed, may have changed data)":                         {{tool: "create", changes: true, failed: true}},
	}
	var many []nestedCall
	for range 3 * maxTold {
		many = append(many, list)
	}
	tests["61 calls ended: list × 60, create (changed data: do not repeat it blindly)"] = append(many, create)
	var kinds []nestedCall
	var names []string
	for i := range maxTold {
		names = append(names, fmt.Sprint("t", i))
		kinds = append(kinds, nestedCall{tool: names[i]})
	}
	tests["20 calls ended: "+strings.Join(names, ", ")] = kinds
	tests["23 calls ended: "+strings.Join(names, ", ")+", create × 2 (changed data: do not repeat it blindly) and 1 more"] = append(slices.Clip(kinds), list, create, create)
	for want, calls := range tests {
		var n nested
		for _, c := range calls {
			n.count(c)
		}
		if got := n.told(); got != "\nBefore that "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&nested{}).told(); got != "" {
		t.Errorf("without a call: %q", got)
	}
}
