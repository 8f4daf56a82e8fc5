package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestWorkflowLimits tries the bounds of workflow documents at the limit and one past it.
func TestWorkflowLimits(t *testing.T) {
	one := func(n int) []Workflow {
		out := make([]Workflow, n)
		for i := range out {
			out[i] = Workflow{Name: fmt.Sprintf("w%d", i), ID: "w"}
		}
		return out
	}
	call := func(name string) []Workflow {
		return []Workflow{{Name: "w", ID: "w", Calls: []CalledTool{{Name: name, Connector: "api", Method: "GET", Path: "/"}}}}
	}
	for _, tt := range []struct {
		name string
		list []Workflow
		want string // "": none
	}{
		{"as many as there may be", one(MaxWorkflows), ""},
		{"one more", one(MaxWorkflows + 1), "65 workflows are more than 64"},
		{"as large as they may be", []Workflow{{Name: "a", ID: "w", Document: strings.Repeat("x", MaxWorkflowBytes/2)}, {Name: "b", ID: "w", Document: strings.Repeat("x", MaxWorkflowBytes/2)}}, ""},
		{"too large", []Workflow{{Name: "a", ID: "w", Document: strings.Repeat("x", MaxWorkflowBytes+1)}}, "the documents have 1048577 bytes"},
		{"the longest id", []Workflow{{Name: "a", ID: strings.Repeat("x", maxWorkflowID)}}, ""},
		{"a longer id", []Workflow{{Name: "a", ID: strings.Repeat("x", maxWorkflowID+1)}}, "the id of the workflow has 4097 bytes"},
		{"the longest call", call(strings.Repeat("x", maxWorkflowID)), ""},
		{"a longer call", call(strings.Repeat("x", maxWorkflowID+1)), "is not what a step calls"},
		{"a name that is none", []Workflow{{Name: "a b", ID: "w"}}, "is not the name of a tool"},
		{"a name twice", []Workflow{{Name: "a", ID: "w"}, {Name: "A", ID: "w"}}, "two workflows are named"},
		{"a connector that is not there", []Workflow{{Name: "a", ID: "w", Calls: []CalledTool{{Name: "x", Connector: "b", Method: "GET", Path: "/"}}}}, "has no connector"},
	} {
		f := &faults{}
		(&Toolset{Workflows: tt.list}).validateWorkflows(f, map[string]bool{"api": true})
		err := f.err("not valid")
		switch text := textOfAll(err); {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %s", tt.name, text)
		case tt.want != "" && !strings.Contains(text, tt.want):
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
}

func textOfAll(err error) string {
	text := fmt.Sprint(err)
	if p := problem.As(err); p != nil {
		for _, part := range p.Parts {
			text += "\n" + part.Error()
		}
	}
	return text
}
