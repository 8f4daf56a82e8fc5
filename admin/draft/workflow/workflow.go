package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/arazzo"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// Operation is an operation of one of the toolset's connectors.
type Operation struct {
	registry.SelectedTool
	ID          string // operationId; may be empty
	Tool        string // its name for agents
	Enabled     bool
	Annotations operation.Annotations
	// OutputSchema is of what its answer is, where it is asked for; nil: not known.
	OutputSchema json.RawMessage
}

// ToolsetWorkflow is a workflow of a toolset.
type ToolsetWorkflow struct {
	Name        string          `json:"name" doc:"Of the tool."`
	WorkflowID  string          `json:"workflowId" doc:"In the document."`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	State       string          `json:"state" enum:"ready,waiting" doc:"waiting: an operation is gone or disabled, and the workflow is not served."`
	Missing     []string        `json:"missing,omitempty" doc:"Operations that are gone or disabled."`
	Steps       int             `json:"steps"`
	Plan        string          `json:"plan" doc:"How it is run: steps of one number run at once."`
	Inputs      json.RawMessage `json:"inputSchema,omitempty"`
	Outputs     json.RawMessage `json:"outputSchema,omitempty" doc:"What the workflow gives, typed as far as the schemas of its operations say."`
	Document    string          `json:"document,omitempty" doc:"Arazzo 1.0 or 1.1, unchanged since it was added."`
	Added       bool            `json:"added,omitempty" doc:"In answers of add-workflows: it is one of the document."`
}

// States of a workflow.
const (
	Ready   = "ready"
	Waiting = "waiting"
)

// Read reads what a toolset has stored; "" is none.
func Read(stored string) ([]registry.Workflow, error) {
	if stored == "" {
		return nil, nil
	}
	var out []registry.Workflow
	if err := json.Unmarshal([]byte(stored), &out); err != nil {
		return nil, fmt.Errorf("reading the workflows of a toolset: %w", err)
	}
	return out, nil
}

// Add makes tools of the workflows of a document: of all, or of those with the ids. One of
// the same name is replaced. have is not changed.
func Add(have []registry.Workflow, file, document string, ids []string, operations []Operation) ([]registry.Workflow, error) {
	d, err := arazzo.Parse(file, []byte(document))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if d.Workflow(id) == nil {
			return nil, problem.New(problem.InvalidArgument, "the document has no workflow %.80q", id).At(file, 0, 0, "/workflows")
		}
	}
	out, added := slices.Clone(have), map[string]string{} // workflowId by tool
	for _, w := range d.Workflows {
		if len(ids) > 0 && !slices.Contains(ids, w.ID) {
			continue
		}
		if err := d.Runnable(w.ID); err != nil {
			return nil, err
		}
		one := registry.Workflow{Name: toolName(w.ID), ID: w.ID, Document: document, Calls: []registry.CalledTool{}}
		if other := added[strings.ToLower(one.Name)]; other != "" {
			return nil, problem.New(problem.Conflict, "the workflows %.80q and %.80q would be tools of the same name %s", other, w.ID, one.Name).At(file, 0, 0, "/workflows").
				Fix("choose another workflowId, or add only one of them: --only %s", w.ID)
		}
		added[strings.ToLower(one.Name)] = w.ID
		if one.Calls, err = resolve(d, w.ID, file, operations); err != nil {
			return nil, err
		}
		if _, err := d.Plan(known(one.Calls, operations)); err != nil {
			return nil, err
		}
		if o := taken(one.Name, operations); o != "" {
			return nil, problem.New(problem.Conflict, "the workflow %.80q would be a tool of the same name as %s", w.ID, o).Fix("choose another workflowId, or rename that tool")
		}
		if i := slices.IndexFunc(out, func(x registry.Workflow) bool { return strings.EqualFold(x.Name, one.Name) }); i >= 0 {
			if out[i].Script != nil {
				return nil, problem.New(problem.Conflict, "the workflow %.80q would be a tool of the same name as a script", w.ID).Fix("choose another workflowId, or remove the script")
			}
			out[i] = one
		} else {
			out = append(out, one)
		}
	}
	return out, nil
}

func taken(name string, operations []Operation) string {
	for i := range operations {
		if o := &operations[i]; o.Enabled && strings.EqualFold(o.Tool, name) {
			return o.Method + " " + o.Path
		}
	}
	return ""
}

// toolName is a workflowId as the name of a tool.
func toolName(id string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	if c := name[0]; c >= '0' && c <= '9' || c == '-' {
		name = "_" + name
	}
	return name[:min(len(name), maxToolName)]
}

// maxToolName is the longest tool name that clients and model APIs accept.
const maxToolName = 64

// resolve finds the operation of each step.
func resolve(d *arazzo.Document, id, file string, operations []Operation) ([]registry.CalledTool, error) {
	calls := []registry.CalledTool{}
	var faults []*problem.Error
	for _, s := range d.OperationsOf(id) {
		found := candidates(d, s, operations)
		pointer, line := s.Place()
		switch {
		case len(found) == 1:
			o := found[0]
			calls = append(calls, registry.CalledTool{Name: s.Operation, Connector: o.Connector, Method: o.Method, Path: o.Path})
			continue
		case len(found) > 1:
			p := problem.New(problem.InvalidArgument, "step %.80s: %.200q is an operation of the connectors %s and %s", s.ID, s.Operation, found[0].Connector, found[1].Connector).
				Fix("name the source description as the connector is named, and write $sourceDescriptions.NAME.OPERATION")
			if found[0].Connector == found[1].Connector {
				p = problem.New(problem.InvalidArgument, "step %.80s: %.200q has the operations %s and %s", s.ID, s.Operation, found[0].Method, found[1].Method).
					Fix("write %s/%s", s.Operation, strings.ToLower(found[0].Method))
			}
			faults = append(faults, p.At(file, line, 0, pointer))
		default:
			p := problem.New(problem.InvalidArgument, "step %.80s: the toolset has no operation %.200q", s.ID, s.Operation).At(file, line, 0, pointer)
			var ids []string
			for i := range operations {
				ids = append(ids, operations[i].ID)
			}
			if near := nearest.Name(s.Operation, slices.Values(ids)); near != "" && !s.ByPath {
				p = p.Fix("did you mean %s?", near)
			}
			faults = append(faults, p)
		}
	}
	if len(faults) == 0 {
		return calls, nil
	}
	p := problem.New(problem.InvalidArgument, "the workflow %.80q calls what the toolset does not have", id)
	p.Parts = faults
	return nil, p
}

// candidates are the operations that a step may mean. A source description that has the
// name of a connector is that connector.
func candidates(d *arazzo.Document, s *arazzo.Step, operations []Operation) []*Operation {
	source, name := "", s.Operation
	var method, path string
	if s.ByPath {
		var ok bool
		if source, method, path, ok = splitOperationPath(s.Operation); !ok {
			return nil
		}
	} else {
		name = strings.TrimPrefix(name, "$sourceDescriptions.")
		for _, from := range d.Sources {
			if rest, ok := strings.CutPrefix(name, from.Name+"."); ok {
				source, name = from.Name, rest
				break
			}
		}
	}
	var out, named []*Operation
	for i := range operations {
		o := &operations[i]
		if s.ByPath && (method != "" && !strings.EqualFold(o.Method, method) || o.Path != path) || !s.ByPath && (o.ID == "" || o.ID != name && o.ID != s.Operation) {
			continue
		}
		out = append(out, o)
		if o.Connector == source {
			named = append(named, o)
		}
	}
	if len(named) > 0 {
		return named
	}
	return out
}

// splitOperationPath reads {$sourceDescriptions.NAME.url}#/paths/~1pets~1{id}/get. The method
// is "" where it is left out, as in an example of the specification.
func splitOperationPath(s string) (source, method, path string, ok bool) {
	before, pointer, ok := strings.Cut(s, "#/paths/")
	if !ok {
		return "", "", "", false
	}
	source = strings.TrimSuffix(strings.TrimPrefix(strings.Trim(before, "{}"), "$sourceDescriptions."), ".url")
	pointer, method, _ = strings.Cut(pointer, "/")
	path = strings.ReplaceAll(strings.ReplaceAll(pointer, "~1", "/"), "~0", "~")
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	return source, strings.ToUpper(method), path, path != ""
}

// known are the operations of calls as a plan wants them; what is gone is not among them.
func known(calls []registry.CalledTool, operations []Operation) map[string]arazzo.Operation {
	out := map[string]arazzo.Operation{}
	for i := range calls {
		if o := find(&calls[i], operations); o != nil {
			out[calls[i].Name] = arazzo.Operation{Tool: o.Tool, Method: o.Method, Path: o.Path, ReadOnly: o.Annotations.ReadOnly}
		}
	}
	return out
}

func find(c *registry.CalledTool, operations []Operation) *Operation {
	for i := range operations {
		if operations[i].SelectedTool == c.Operation() && operations[i].Enabled {
			return &operations[i]
		}
	}
	return nil
}

// missing are the operations of a workflow that are gone or disabled.
func missing(w *registry.Workflow, operations []Operation) []string {
	var out []string
	for i := range w.Calls {
		if c := &w.Calls[i]; find(c, operations) == nil {
			out = append(out, c.Method+" "+c.Path+" of "+c.Connector)
		}
	}
	return out
}

// Servable are the workflows that can run at present and are enabled: what a release has.
// list and disabled are those of [Edited].
func Servable(list []registry.Workflow, disabled []bool, operations []Operation) []registry.Workflow {
	var out []registry.Workflow
	for i := range list {
		if w := &list[i]; !disabled[i] && len(missing(w, operations)) == 0 { //nolint:gosec // disabled is as long as list
			out = append(out, *w)
		}
	}
	return out
}

// Show describes a workflow.
func Show(w *registry.Workflow, operations []Operation, whole bool) (ToolsetWorkflow, error) {
	d, err := arazzo.Parse("", []byte(w.Document))
	if err != nil {
		return ToolsetWorkflow{}, err
	}
	in := d.Workflow(w.ID)
	if in == nil {
		return ToolsetWorkflow{}, fmt.Errorf("the document of workflow %s has no workflow %.80q", w.Name, w.ID)
	}
	plan, err := d.Plan(known(w.Calls, operations))
	if err != nil {
		return ToolsetWorkflow{}, err
	}
	out := ToolsetWorkflow{
		Name: w.Name, WorkflowID: w.ID, Title: in.Summary, Description: cmp.Or(in.Description, in.Summary), State: Ready,
		Missing: missing(w, operations), Steps: len(in.Steps), Plan: plan.Text(in),
	}
	if len(out.Missing) > 0 {
		out.State = Waiting
	}
	if whole {
		out.Inputs, out.Outputs, out.Document = in.Inputs, w.Head(d, called(w, operations)).OutputSchema, w.Document
	}
	return out, nil
}

// open reads the document of a workflow; nil for a script.
func open(w *registry.Workflow) (*arazzo.Document, error) {
	if w.Script != nil {
		return nil, nil //nolint:nilnil // a script has none
	}
	d, err := arazzo.Parse("", []byte(w.Document))
	if err != nil {
		return nil, err
	}
	if d.Workflow(w.ID) == nil {
		return nil, fmt.Errorf("the document of workflow %s has no workflow %.80q", w.Name, w.ID)
	}
	return d, nil
}

// Index are the tools of workflows as the index of a toolset sees them.
func Index(list []registry.Workflow) ([]registry.IndexedTool, error) {
	var out []registry.IndexedTool
	for i := range list {
		d, err := open(&list[i])
		if err != nil {
			return nil, err
		}
		out = append(out, list[i].Index(d))
	}
	return out, nil
}

// Unwrapped is the schema of an answer itself. The output schema of a tool describes what is
// no object as its member "result".
func Unwrapped(schema json.RawMessage) json.RawMessage {
	var o struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(schema) > 0 && json.Unmarshal(schema, &o) == nil && len(o.Properties) == 1 && o.Properties["result"] != nil {
		return o.Properties["result"]
	}
	return schema
}

// called are the operations that a workflow calls, as its tool takes over from them.
func called(w *registry.Workflow, operations []Operation) []registry.Called {
	var out []registry.Called
	for i := range w.Calls {
		if o := find(&w.Calls[i], operations); o != nil {
			out = append(out, registry.Called{Name: w.Calls[i].Name, Annotations: o.Annotations, OutputSchema: o.OutputSchema})
		}
	}
	return out
}

// Tools are the workflows that can run at present as tools of their toolset, in the order
// in which they were added, with edits applied: list and disabled are those of [Edited].
func Tools(list []registry.Workflow, disabled []bool, operations []Operation, schemas bool) ([]toolset.Tool, error) {
	var out []toolset.Tool
	for i := range list {
		w := list[i]
		if len(missing(&w, operations)) > 0 {
			continue
		}
		d, err := open(&w)
		if err != nil {
			return nil, err
		}
		h := w.Head(d, called(&w, operations))
		t := toolset.Tool{
			Name: h.Name, OriginalName: w.Name, Title: h.Title, Description: h.Description, Enabled: !disabled[i],
			Operation:   toolset.Operation{Method: h.Method, Path: h.Path},
			Annotations: plugin.Annotations(h.Annotations),
			Tokens:      tokens.Estimate(h.InputSchema) + tokens.Estimate([]byte(h.Name)) + tokens.Estimate([]byte(h.Title)) + tokens.Estimate([]byte(h.Description)),
		}
		if schemas {
			t.InputSchema, t.OutputSchema = h.InputSchema, h.OutputSchema
		}
		out = append(out, t)
	}
	return out, nil
}

// Edited are the workflows with what is said of their tools. edit finds that by the
// operation of a tool, and says whether it is disabled; list is not changed.
func Edited(list []registry.Workflow, edit func(toolset.Operation) (tool *registry.OfferedTool, disabled bool)) (edited []registry.Workflow, disabled []bool) {
	edited, disabled = slices.Clone(list), make([]bool, len(list))
	for i := range edited {
		w := &edited[i]
		w.Tool, disabled[i] = edit(toolset.Operation{Method: manifest.MethodWorkflow, Path: w.Path()})
	}
	return edited, disabled
}

// Names are the workflows as an audit record has them: by what they run, and by all that is
// stored of them. Lists that differ in anything have other names.
func Names(list []registry.Workflow) []string {
	out := make([]string, len(list))
	for i := range list {
		all, _ := json.Marshal(&list[i]) // plain data: never fails
		out[i] = fmt.Sprintf("%s %s, as a tool %s", list[i].Name, list[i].Digest(), registry.DigestOf(all))
	}
	return out
}

// Check refuses a workflow of an exported toolset whose document cannot be read. Its
// faults are [problem.Error]s.
func Check(w *registry.Workflow) error {
	if w.Tool != nil {
		return problem.New(problem.InvalidArgument, "the workflow %.80q has an edit of its tool: edits are among the tools, with method %s and path %s", w.Name, manifest.MethodWorkflow, w.Path())
	}
	if w.Script != nil {
		return checkScript(w)
	}
	d, err := arazzo.Parse("", []byte(w.Document))
	if err != nil {
		return err
	}
	if d.Workflow(w.ID) == nil {
		return problem.New(problem.InvalidArgument, "the document has no workflow %.80q", w.ID)
	}
	return d.Runnable(w.ID)
}
