package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/plugins/arazzo"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
)

const (
	// MaxWorkflows of one toolset: clients list each as a tool.
	MaxWorkflows = 64
	// MaxWorkflowBytes of all workflow documents of a toolset together: they leave room
	// for the edits in a bundle of MaxToolsetBytes.
	MaxWorkflowBytes = 1 << 20
	// maxWorkflowID is how long the id of a workflow, and what a step calls, may be.
	maxWorkflowID = 4 << 10
)

// Workflow is a tool whose calls an Arazzo document describes.
type Workflow struct {
	Name     string `json:"name"`     // of the tool
	ID       string `json:"id"`       // workflowId in the document
	Document string `json:"document"` // Arazzo 1.0 or 1.1, YAML or JSON
	// Calls say which operation each operationId and operationPath of the workflow is, by
	// the text that the document has for it.
	Calls []CalledTool `json:"calls"`
}

func (t *Toolset) validateWorkflows(f *faults, connectors map[string]bool) {
	f.check(len(t.Workflows) <= MaxWorkflows, "/workflows", "%d workflows are more than %d", len(t.Workflows), MaxWorkflows)
	size, names := 0, map[string]bool{}
	for i := range t.Workflows {
		if f.full() {
			return
		}
		w, at := &t.Workflows[i], fmt.Sprintf("/workflows/%d", i)
		f.check(toolNamePattern.MatchString(w.Name), at+"/name", "%.80q is not the name of a tool", w.Name)
		f.check(!names[strings.ToLower(w.Name)], at+"/name", "two workflows are named %.80q", w.Name)
		names[strings.ToLower(w.Name)] = true
		f.check(w.ID != "" && len(w.ID) <= maxWorkflowID, at+"/id", "the id of the workflow has %d bytes, and not 1 to %d", len(w.ID), maxWorkflowID)
		f.check(len(w.Calls) <= manifest.MaxCalledTools, at+"/calls", "%d operations are more than %d", len(w.Calls), manifest.MaxCalledTools)
		for j := range w.Calls {
			c, at := &w.Calls[j], fmt.Sprintf("%s/calls/%d", at, j)
			f.check(c.Name != "" && len(c.Name) <= maxWorkflowID, at+"/name", "%.80q is not what a step calls", c.Name)
			f.check(connectors[c.Connector], at+"/connector", "the toolset has no connector %.80q", c.Connector)
			f.check(methodPattern.MatchString(c.Method), at+"/method", "%.80q is not an upper-case method", c.Method)
			f.check(strings.HasPrefix(c.Path, "/") && len(c.Path) <= manifest.MaxPath && utf8.ValidString(c.Path), at+"/path", "%.80q is not a path", c.Path)
		}
		size += len(w.Document)
	}
	f.check(size <= MaxWorkflowBytes, "/workflows", "the documents have %d bytes, the limit is %d", size, MaxWorkflowBytes)
}

// DocumentHead is the tool of a workflow document, as clients see it. called are the
// annotations of the operations that it calls.
func DocumentHead(name string, w *arazzo.Workflow, called []operation.Annotations) connector.Head {
	h := connector.Head{
		Name: name, Title: w.Summary, Description: w.Description, Method: manifest.MethodWorkflow, Path: "/workflows/" + name,
		InputSchema: w.Inputs, OutputSchema: outputSchema(w), Structured: true,
		Annotations: WorkflowAnnotations(manifest.Annotations{ReadOnly: true, Idempotent: true}, called),
	}
	if h.Description == "" {
		h.Description = w.Summary
	}
	return h
}

// outputSchema names the outputs of a workflow: of what kind they are the document does
// not say.
func outputSchema(w *arazzo.Workflow) json.RawMessage {
	out := []byte(`{"type":"object","properties":{`)
	for i, o := range w.Outputs {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(o.Name)
		if err != nil {
			return nil
		}
		out = append(append(out, name...), ":{}"...)
	}
	return append(out, "}}"...)
}

// IndexDocument is the tool of a workflow document as the index of a toolset sees it:
// behind those of [IndexWorkflow].
func IndexDocument(name string, w *arazzo.Workflow) IndexedTool {
	head := DocumentHead(name, w, nil)
	it := indexed(SelectedTool{Method: head.Method, Path: head.Path}, &head, name, w.Summary)
	it.ReadOnly = false // what it calls is not known here
	return it
}
