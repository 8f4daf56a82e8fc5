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
	// MaxScript is the longest script in bytes, as package script runs them.
	MaxScript = 64 << 10
	// maxWorkflowSchema of the input and of the output of a script's tool: each client
	// lists them.
	maxWorkflowSchema = 64 << 10
	// maxWorkflowID is how long the id of a workflow, and what a step calls, may be.
	maxWorkflowID = 4 << 10
)

// Bounds of the limits of scripts, as package script has them.
const (
	// MaxScriptCalls of one script: a page of 256 items, each looked up.
	MaxScriptCalls = 256
	// MaxScriptAtOnce of its calls: a node opens 256 connections to one host, for everybody.
	MaxScriptAtOnce = 64
	// MaxScriptMilliseconds of its own time: what one script uses others lack.
	MaxScriptMilliseconds = 30_000
)

// ScriptLimits are what the operator allows each script. Zero fields are the defaults: 64
// calls, 8 at once, 2 seconds of its own.
type ScriptLimits struct {
	Calls        int `json:"calls,omitempty" minimum:"0" maximum:"256" doc:"Calls of one script. Default: 64."`
	AtOnce       int `json:"atOnce,omitempty" minimum:"0" maximum:"64" doc:"Of those at once. Default: 8."`
	Milliseconds int `json:"milliseconds,omitempty" minimum:"0" maximum:"30000" doc:"Processor time of its own, waiting aside. Default: 2000."`
}

func (l *ScriptLimits) validate(f *faults) {
	if l == nil {
		return
	}
	f.check(l.Calls >= 0 && l.Calls <= MaxScriptCalls, "/scriptLimits/calls", "%d calls are not 0 to %d", l.Calls, MaxScriptCalls)
	f.check(l.AtOnce >= 0 && l.AtOnce <= MaxScriptAtOnce, "/scriptLimits/atOnce", "%d calls at once are not 0 to %d", l.AtOnce, MaxScriptAtOnce)
	f.check(l.Milliseconds >= 0 && l.Milliseconds <= MaxScriptMilliseconds, "/scriptLimits/milliseconds", "%d ms are not 0 to %d", l.Milliseconds, MaxScriptMilliseconds)
}

// Workflow is a tool whose calls an Arazzo document describes, or a script makes.
type Workflow struct {
	Name     string `json:"name"`               // of the tool
	ID       string `json:"id,omitempty"`       // workflowId in the document; "" for a script
	Document string `json:"document,omitempty"` // Arazzo 1.0 or 1.1, YAML or JSON; "" for a script
	// Script is what runs instead of a document; nil: a document does.
	Script *Script `json:"script,omitempty"`
	// Calls say which operation each operationId and operationPath of the workflow is, by
	// the text that the document has for it; of a script, by GROUP.NAME as it calls them.
	Calls []CalledTool `json:"calls"`
	// Tool changes what agents see of it; nil: it is as the document or script says. Of a
	// tool that is disabled there is no workflow.
	Tool *OfferedTool `json:"tool,omitempty"`
}

// Script is a script that is a tool of its own: it runs as those of agents do, with the
// arguments of the tool as args, and calls only the operations of its [Workflow].
type Script struct {
	Code         string          `json:"code"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`            // an object's
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"` // nil: not known
	// Example are arguments with which a run of the script succeeded; nil: there was none.
	Example json.RawMessage `json:"example,omitempty"`
}

// Hash names a script in the call log and in audit records.
func (s *Script) Hash() Digest { return DigestOf([]byte(s.Code)) }

// Digest names what a workflow does, for audit records.
func (w *Workflow) Digest() Digest {
	if w.Script != nil {
		return w.Script.Hash()
	}
	return DigestOf([]byte(w.Document))
}

// Path is the path of the operation that edits of the workflow's tool are kept by; its
// method is [manifest.MethodWorkflow].
func (w *Workflow) Path() string { return "/workflows/" + w.Name }

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
		if w.Script != nil {
			f.check(w.ID == "" && w.Document == "", at+"/script", "a workflow is a document or a script, not both")
			w.Script.validate(f, at+"/script")
			size += len(w.Script.Code)
		} else {
			f.check(w.ID != "" && len(w.ID) <= maxWorkflowID, at+"/id", "the id of the workflow has %d bytes, and not 1 to %d", len(w.ID), maxWorkflowID)
		}
		w.Tool.validate(f, at+"/tool", true)
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
	t.ScriptLimits.validate(f)
	f.check(size <= MaxWorkflowBytes, "/workflows", "the documents have %d bytes, the limit is %d", size, MaxWorkflowBytes)
}

func (s *Script) validate(f *faults, at string) {
	f.check(strings.TrimSpace(s.Code) != "" && len(s.Code) <= MaxScript && utf8.ValidString(s.Code), at+"/code", "the script has %d bytes, and not 1 to %d of UTF-8", len(s.Code), MaxScript)
	f.text(at+"/title", s.Title, 0, MaxNameRunes)
	f.text(at+"/description", s.Description, 0, MaxDescriptionRunes)
	for _, m := range []struct {
		name     string
		value    json.RawMessage
		required bool
	}{{"inputSchema", s.InputSchema, true}, {"outputSchema", s.OutputSchema, false}, {"example", s.Example, false}} {
		if len(m.value) == 0 && !m.required {
			continue
		}
		var o map[string]json.RawMessage
		f.check(len(m.value) <= maxWorkflowSchema, at+"/"+m.name, "%d bytes are more than %d", len(m.value), maxWorkflowSchema)
		f.check(json.Unmarshal(m.value, &o) == nil && o != nil, at+"/"+m.name, "expected a JSON object")
	}
}

// Called is what a workflow's tool takes over from an operation that it calls.
type Called struct {
	Name         string // as the workflow calls it
	Annotations  operation.Annotations
	OutputSchema json.RawMessage // of what its answer is; nil: not known
}

// Head is the tool of a workflow, as clients see it. d is its document; nil for a script.
func (w *Workflow) Head(d *arazzo.Document, called []Called) connector.Head {
	h := connector.Head{Name: w.Name, Method: manifest.MethodWorkflow, Path: w.Path(), Structured: true}
	annotations, responses := make([]operation.Annotations, len(called)), map[string]json.RawMessage{}
	for i, c := range called {
		annotations[i] = c.Annotations
		if len(c.OutputSchema) > 0 {
			responses[c.Name] = c.OutputSchema
		}
	}
	if s := w.Script; s != nil {
		h.Title, h.Description, h.InputSchema, h.OutputSchema = s.Title, s.Description, s.InputSchema, s.OutputSchema
		h.Structured = len(s.OutputSchema) > 0
	} else if in := d.Workflow(w.ID); in != nil {
		h.Title, h.Description, h.InputSchema, h.OutputSchema = in.Summary, in.Description, in.Inputs, d.OutputSchema(w.ID, responses)
	}
	if h.Description == "" {
		h.Description = h.Title
	}
	h.Annotations = WorkflowAnnotations(manifest.Annotations{ReadOnly: true, Idempotent: true}, annotations)
	return w.Tool.edit().Apply(h, nil)
}

// Index is the tool of a workflow as the index of a toolset sees it: behind those of
// [IndexWorkflow]. d is its document; nil for a script.
func (w *Workflow) Index(d *arazzo.Document) IndexedTool {
	head := w.Head(d, nil)
	it := indexed(SelectedTool{Method: head.Method, Path: head.Path}, &head, w.Name, head.Title)
	it.ReadOnly = false // what it calls is not known here
	return it
}
