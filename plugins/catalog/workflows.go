package catalog

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/arazzo"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Bounds of the workflows of an entry.
const (
	maxWorkflows = 16
	maxCases     = 32
	maxGolden    = 128
)

// EntryWorkflows are the commonest jobs of several steps.
type EntryWorkflows struct {
	Document string      `json:"document" doc:"Arazzo 1.0 or 1.1, YAML. Its steps name operations of the entry's tools by operationId or operationPath; each workflowId is the name of a tool."`
	Cases    []EntryCase `json:"cases,omitempty" doc:"Runs over the golden answers."`
}

// EntryCase is a run of a workflow over the golden answers of the entry.
type EntryCase struct {
	Workflow string          `json:"workflow" doc:"Its workflowId." example:"read_github_issue"`
	Inputs   json.RawMessage `json:"inputs" doc:"An object."`
	Outputs  json.RawMessage `json:"outputs" doc:"What it gives, an object."`
}

// EntryGolden is an answer that was made up: what the vendor answers looks like it.
type EntryGolden struct {
	Operation string          `json:"operation" doc:"Of a tool of the entry." example:"GET /repos/{owner}/{repo}/issues/{issue_number}"`
	Status    int             `json:"status,omitempty" doc:"Default: 200."`
	Body      json.RawMessage `json:"body" doc:"JSON; a string is an answer in plain text."`
}

// StatusCode is the status of the answer.
func (g *EntryGolden) StatusCode() int {
	if g.Status == 0 {
		return http.StatusOK
	}
	return g.Status
}

// checkWorkflows reads the document and finds the operation of each of its steps among the
// entry's tools.
func (e *Entry) checkWorkflows(f *faults) {
	for i := range e.Golden {
		g, at := &e.Golden[i], fmt.Sprintf("/golden/%d", i)
		if e.tool(g.Operation) == nil {
			f.add(at+"/operation", "no tool of the entry is of %.200q", g.Operation)
		}
		if g.Status != 0 && (g.Status < 200 || g.Status > 599) {
			f.add(at+"/status", "the status is none that an answer can have")
		}
		if len(g.Body) == 0 {
			f.add(at+"/body", "the member is missing")
		}
		if slices.ContainsFunc(e.Golden[:i], func(o EntryGolden) bool { return o.Operation == g.Operation }) {
			f.add(at+"/operation", "there are two answers of %.200q", g.Operation)
		}
	}
	f.count("/golden", len(e.Golden), maxGolden)
	w, at := e.Workflows, "/workflows/document"
	if w == nil {
		return
	}
	if e.Kind() == KindMCP {
		f.add("/workflows", "the tools of an MCP server have no operationId: workflows belong to APIs")
		return
	}
	if strings.ContainsFunc(w.Document, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
		f.add(at, "the document has control characters")
	}
	if found := textfilter.Find(w.Document); len(found) > 0 {
		f.add(at, "the document is written to command a model (%s): %.80q", found[0].Kind, found[0].Quote)
	}
	d, err := arazzo.Parse("workflows", []byte(w.Document))
	if err != nil {
		f.nested(at, err)
		return
	}
	f.count(at, len(d.Workflows), maxWorkflows)
	for _, flow := range d.Workflows {
		if !toolPattern.MatchString(flow.ID) {
			f.add(at, "the workflowId %.80q is not the name of a tool", flow.ID)
		}
		if slices.ContainsFunc(e.Tools, func(t EntryTool) bool { return strings.EqualFold(t.Name, flow.ID) }) {
			f.add(at, "the workflow %.80q has the name of a tool", flow.ID)
		}
		if err := d.Runnable(flow.ID); err != nil {
			f.nested(at, err)
		}
		for _, s := range d.OperationsOf(flow.ID) {
			if e.stepTool(d, s) == nil {
				_, line := s.Place()
				f.add(at, "line %d of the document: step %.80s of %.80s calls %.200q, which no tool of the entry is", line, s.ID, flow.ID, s.Operation)
			}
		}
	}
	f.count("/workflows/cases", len(w.Cases), maxCases)
	for i := range w.Cases {
		c, at := &w.Cases[i], fmt.Sprintf("/workflows/cases/%d", i)
		if d.Workflow(c.Workflow) == nil {
			f.add(at+"/workflow", "the document has no workflow %.80q", c.Workflow)
		}
		for member, v := range map[string]json.RawMessage{"inputs": c.Inputs, "outputs": c.Outputs} {
			var object map[string]any
			if json.Unmarshal(v, &object) != nil || object == nil {
				f.add(at+"/"+member, "the member is an object")
			}
		}
	}
}

// nested adds the faults of a document inside the entry.
func (f *faults) nested(at string, err error) {
	p := problem.As(err)
	if p == nil {
		f.add(at, "%v", err)
		return
	}
	parts := p.Parts
	if len(parts) == 0 {
		parts = []*problem.Error{p}
	}
	for _, part := range parts {
		f.add(at, "line %d of the document: %s", part.Place.Line, part.Detail)
	}
}

func (e *Entry) tool(operation string) *EntryTool {
	for i := range e.Tools {
		if e.Tools[i].Operation == operation {
			return &e.Tools[i]
		}
	}
	return nil
}

// stepTool is the tool whose operation a step calls; nil: the entry has none.
func (e *Entry) stepTool(d *arazzo.Document, s *arazzo.Step) *EntryTool {
	if s.ByPath {
		_, pointer, _ := strings.Cut(s.Operation, "#/paths/")
		path, method, _ := strings.Cut(pointer, "/")
		if i := strings.LastIndexByte(pointer, '/'); i >= 0 {
			path, method = pointer[:i], pointer[i+1:]
		}
		path = strings.ReplaceAll(strings.ReplaceAll(path, "~1", "/"), "~0", "~")
		if plain, err := url.PathUnescape(path); err == nil {
			path = plain
		}
		return e.tool(strings.ToUpper(method) + " " + path)
	}
	name := strings.TrimPrefix(s.Operation, "$sourceDescriptions.")
	for _, from := range d.Sources {
		if rest, ok := strings.CutPrefix(name, from.Name+"."); ok {
			name = rest
			break
		}
	}
	for i := range e.Tools {
		if t := &e.Tools[i]; t.OperationID != "" && (t.OperationID == s.Operation || t.OperationID == name) {
			return t
		}
	}
	return nil
}

// WorkflowIDs are the workflows whose operations are all among those that has reports, in
// the order of the document.
func (e *Entry) WorkflowIDs(has func(Operation) bool) []string {
	if e.Workflows == nil {
		return nil
	}
	d, err := arazzo.Parse("workflows", []byte(e.Workflows.Document))
	if err != nil {
		return nil // refused when the entry was read
	}
	var out []string
	for _, w := range d.Workflows {
		if !slices.ContainsFunc(d.OperationsOf(w.ID), func(s *arazzo.Step) bool {
			t := e.stepTool(d, s)
			return t == nil || t.Method() == manifest.MethodMCP || !has(Operation{t.Method(), t.Path()})
		}) {
			out = append(out, w.ID)
		}
	}
	return out
}
