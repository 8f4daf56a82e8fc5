package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

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
	scripts := func(code, schema string) []Workflow {
		return []Workflow{{Name: "w", Script: &Script{Code: code, InputSchema: []byte(schema)}}}
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
		{"a script", scripts(strings.Repeat("x", MaxScript), `{"type":"object"}`), ""},
		{"a longer script", scripts(strings.Repeat("x", MaxScript+1), `{"type":"object"}`), "the script has 65537 bytes"},
		{"the largest schema", scripts("x", `{"a":"`+strings.Repeat("x", maxWorkflowSchema-8)+`"}`), ""},
		{"a larger schema", scripts("x", `{"a":"`+strings.Repeat("x", maxWorkflowSchema-7)+`"}`), "65537 bytes are more than 65536"},
		{"a schema that is none", scripts("x", `[]`), "expected a JSON object"},
		{"a script and a document", []Workflow{{Name: "w", Document: "x", Script: &Script{Code: "x", InputSchema: []byte(`{}`)}}}, "a document or a script, not both"},
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

// TestScriptLimits tries the limits that an operator may set, at the bound and one past it.
func TestScriptLimits(t *testing.T) {
	for _, tt := range []struct {
		limits ScriptLimits
		want   string
	}{
		{ScriptLimits{MaxScriptCalls, MaxScriptAtOnce, MaxScriptMilliseconds}, ""},
		{ScriptLimits{Calls: MaxScriptCalls + 1}, "257 calls are not 0 to 256"},
		{ScriptLimits{AtOnce: MaxScriptAtOnce + 1}, "65 calls at once are not 0 to 64"},
		{ScriptLimits{Milliseconds: MaxScriptMilliseconds + 1}, "30001 ms are not 0 to 30000"},
		{ScriptLimits{Calls: -1}, "-1 calls"},
	} {
		f := &faults{}
		tt.limits.validate(f)
		if text := textOfAll(f.err("not valid")); tt.want == "" && f.err("") != nil || !strings.Contains(text, tt.want) {
			t.Errorf("%+v: %s, want %s", tt.limits, text, tt.want)
		}
	}
}

// TestUsageRun: the run of a script in a report has a script, was captured, and has a bound.
func TestUsageRun(t *testing.T) {
	report := func(c UsageCall) error {
		c.Workspace, c.Toolset, c.Tool, c.Outcome, c.Credential, c.CallerKind, c.At = "w", "t", "run_code", "ok", "none", "token", time.Unix(1, 0)
		return (&UsageReport{Calls: []UsageCall{c}}).validCalls()
	}
	script, run := string(DigestOf([]byte("x"))), func(n int) json.RawMessage { return json.RawMessage(strings.Repeat("x", n)) }
	for _, tt := range []struct {
		name string
		call UsageCall
		bad  bool
	}{
		{"none", UsageCall{}, false},
		{"the largest", UsageCall{Captured: true, Script: script, Run: run(MaxUsageRun)}, false},
		{"a larger one", UsageCall{Captured: true, Script: script, Run: run(MaxUsageRun + 1)}, true},
		{"without a script", UsageCall{Captured: true, Run: run(1)}, true},
		{"not captured", UsageCall{Script: script, Run: run(1)}, true},
		{"no digest", UsageCall{Script: "x"}, true},
	} {
		if err := report(tt.call); (err != nil) != tt.bad {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
