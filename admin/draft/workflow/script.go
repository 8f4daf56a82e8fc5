package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/jscalls"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/script"
	"github.com/sluicegate/sluice/registry"
)

// ToolsetScript is a script of a toolset that is a tool of its own.
type ToolsetScript struct {
	Name        string            `json:"name" doc:"Of the tool."`
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	State       string            `json:"state" enum:"ready,waiting" doc:"waiting: an operation is gone or disabled, and the tool is not served."`
	Missing     []string          `json:"missing,omitempty" doc:"Operations that are gone or disabled."`
	Hash        string            `json:"hash" doc:"Digest of the script; the call log and audit records name it."`
	Calls       []ScriptOperation `json:"calls" doc:"What it may call."`
	Inputs      json.RawMessage   `json:"inputSchema,omitempty"`
	Outputs     json.RawMessage   `json:"outputSchema,omitempty" doc:"Of its value; what is not an object is the member result. Absent: not known."`
	Example     json.RawMessage   `json:"example,omitempty" doc:"Arguments with which a run succeeded; a test of the tool uses them."`
	Code        string            `json:"code,omitempty"`
}

// ScriptOperation is an operation that a script calls.
type ScriptOperation struct {
	Name      string            `json:"name" doc:"As the script calls it: GROUP.NAME." example:"shop.list_orders"`
	Tool      string            `json:"tool,omitempty" doc:"Its present name. Absent: there is none."`
	Operation toolset.Operation `json:"operation"`
}

// Parameter makes an argument of a value that a script has.
type Parameter struct {
	Name        string          `json:"name" pattern:"^[A-Za-z_][A-Za-z0-9_]{0,63}$"`
	Value       json.RawMessage `json:"value" doc:"The text, number, true or false in the script; it becomes the default."`
	Description string          `json:"description,omitempty" maxLength:"1024"`
}

// NewScript is a script that becomes a tool.
type NewScript struct {
	Name, Title, Description string
	Code                     string
	Parameters               []Parameter
	// Calls name what it calls beside what its text and its run show.
	Calls           []string
	Inputs, Outputs json.RawMessage
	Run             *registry.ScriptRun // nil: it was not run
}

const (
	// maxParameters of a script: more arguments than a model fills in.
	maxParameters = 32
	// group is the name that documents and scripts have in scripts.
	group = "workflow"
)

// Save makes a tool of a script. One of the same name is replaced, if it is a script, too.
// have is not changed.
func Save(have []registry.Workflow, in *NewScript, operations []Operation) ([]registry.Workflow, error) {
	code := script.WithoutFence(in.Code)
	w := registry.Workflow{Name: in.Name, Script: &registry.Script{Title: in.Title, Description: in.Description, Code: code}}
	if !toolset.ToolName.MatchString(in.Name) {
		return nil, fault("/name", "the name %.80q must start with a letter or _ and have at most 64 letters, digits, _ and -", in.Name)
	}
	found := jscalls.Find(code)
	var err error
	if w.Calls, err = scriptCalls(found, in, operations); err != nil {
		return nil, err
	}
	if err := parameters(w.Script, in, found); err != nil {
		return nil, err
	}
	if len(w.Script.OutputSchema) == 0 && in.Run != nil {
		w.Script.OutputSchema = wrapped(in.Run.Shape)
	}
	if w.Script.Description == "" {
		if w.Script.Description = w.Script.Title; w.Script.Title == "" {
			return nil, fault("/description", "the tool needs a description: agents choose it by that").Fix("say in a sentence what it does")
		}
	}
	if err := checkScript(&w); err != nil {
		return nil, err
	}
	if o := taken(w.Name, operations); o != "" {
		return nil, problem.New(problem.Conflict, "the script would be a tool of the same name as %s", o).At("", 0, 0, "/name").Fix("choose another name, or rename that tool")
	}
	out := slices.Clone(have)
	switch i := slices.IndexFunc(out, func(x registry.Workflow) bool { return strings.EqualFold(x.Name, w.Name) }); {
	case i < 0:
		out = append(out, w)
	case out[i].Script == nil:
		return nil, problem.New(problem.Conflict, "%.80q is a workflow of a document", w.Name).At("", 0, 0, "/name").Fix("choose another name, or remove the workflow")
	default:
		out[i] = w
	}
	return out, nil
}

func fault(at, format string, a ...any) *problem.Error {
	return problem.New(problem.InvalidArgument, format, a...).At("", 0, 0, at)
}

// scriptCalls are the operations that a script may call: what its run called, what stands in
// its text, and what is named.
func scriptCalls(found *jscalls.Script, in *NewScript, operations []Operation) ([]registry.CalledTool, error) {
	calls := []registry.CalledTool{}
	add := func(path, at string, c *jscalls.Call) error {
		if slices.ContainsFunc(calls, func(x registry.CalledTool) bool { return x.Name == path }) {
			return nil
		}
		o, err := operationAt(path, operations)
		if err != nil {
			p := problem.As(err).At("", 0, 0, at)
			if c != nil {
				p = p.At("", c.Line, c.Column, at)
			}
			return p
		}
		calls = append(calls, registry.CalledTool{Name: path, Connector: o.Connector, Method: o.Method, Path: o.Path})
		return nil
	}
	if r := in.Run; r != nil {
		if r.Other != "" {
			return nil, fault("/from", "the script calls %s, which is not an operation of a connector: a tool of a script calls only those", r.Other).
				Fix("write what that tool does into the script, and save it from a file")
		}
		calls = append(calls, r.Calls...)
	}
	if found.Own {
		return nil, fault("/code", "the script has something of its own that is named tools, so what it calls cannot be seen").Fix("give that another name")
	}
	for i := range found.Calls {
		if err := add(found.Calls[i].Path, "/code", &found.Calls[i]); err != nil {
			return nil, err
		}
	}
	for i, path := range in.Calls {
		if err := add(path, fmt.Sprintf("/calls/%d", i), nil); err != nil {
			return nil, err
		}
	}
	switch {
	case len(calls) > manifest.MaxCalledTools:
		return nil, fault("/code", "the script calls %d tools, at most %d", len(calls), manifest.MaxCalledTools)
	case found.Dynamic && in.Run == nil && len(in.Calls) == 0:
		return nil, fault("/code", "the script finds tools by other ways than tools.GROUP.NAME, so what it calls cannot be seen").
			Fix("write tools.GROUP.NAME, or say what it calls: --call GROUP.NAME")
	case len(calls) == 0:
		return nil, fault("/code", "the script calls no tool").Fix("call one as tools.GROUP.NAME({…})")
	}
	return calls, nil
}

// operationAt finds the operation that a script names.
func operationAt(path string, operations []Operation) (*Operation, error) {
	in, name, grouped := strings.Cut(path, ".")
	if !grouped {
		in, name = "", path
	}
	if in == group {
		return nil, fault("", "%.80q is a workflow: a tool of a script calls only operations of connectors", path)
	}
	var all []string
	for i := range operations {
		o := &operations[i]
		own := scriptGroup(o.Connector)
		if o.Tool == name && (in == "" || in == own) {
			if !o.Enabled {
				return nil, fault("", "the tool %s is disabled", o.Tool).Fix("enable it")
			}
			return o, nil
		}
		all = append(all, own+"."+o.Tool)
	}
	p := fault("", "the toolset has no tool %.80q", path)
	if near := nearest.Name(path, slices.Values(all)); near != "" {
		return nil, p.Fix("did you mean tools.%s?", near)
	}
	return nil, p.Fix("a tool of a script calls operations of connectors, as tools.GROUP.NAME")
}

// scriptGroup is the name of a connector in scripts, as gateways make it.
func scriptGroup(connector string) string {
	name := strings.NewReplacer("-", "_", ".", "_", "/", "_").Replace(connector)
	if c := name[0]; c >= '0' && c <= '9' {
		name = "_" + name
	}
	return name
}

// parameters puts arguments in the place of values, and makes the input schema.
func parameters(s *registry.Script, in *NewScript, found *jscalls.Script) error {
	if len(in.Parameters) > maxParameters {
		return fault("/parameters", "%d parameters, at most %d", len(in.Parameters), maxParameters)
	}
	properties, example := map[string]any{}, map[string]json.RawMessage{}
	for i := range in.Parameters {
		p, at := &in.Parameters[i], fmt.Sprintf("/parameters/%d", i)
		if _, twice := properties[p.Name]; twice || !toolset.ToolName.MatchString(p.Name) || strings.Contains(p.Name, "-") {
			return fault(at+"/name", "%.80q is not a name of an argument, or is there twice", p.Name)
		}
		kind := literalKind(p.Value)
		if kind == "" {
			return fault(at+"/value", "the value of %s is a text, a number, true or false", p.Name)
		}
		code, n := jscalls.Replace(s.Code, p.Value, "args."+p.Name)
		if n == 0 {
			return fault(at+"/value", "the script has no value %s", p.Value).Fix("copy it from the script as it stands there")
		}
		s.Code = code
		schema := map[string]any{"type": kind, "default": p.Value}
		if p.Description != "" {
			schema["description"] = p.Description
		}
		properties[p.Name], example[p.Name] = schema, p.Value
	}
	if len(in.Inputs) == 0 {
		required := []string{}
		for _, a := range found.Arguments { // that the script reads by itself: of what kind they are it does not say
			if _, has := properties[a.Name]; !has {
				properties[a.Name] = map[string]any{}
				if !a.Optional {
					required = append(required, a.Name)
				}
			}
		}
		schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": found.OpenArguments}
		if len(required) > 0 {
			schema["required"] = required
		}
		s.InputSchema, _ = json.Marshal(schema) // plain data: never fails
	} else if s.InputSchema = in.Inputs; len(in.Parameters) > 0 {
		return fault("/inputSchema", "parameters make the input schema: give one or the other")
	}
	s.OutputSchema = wrapped(in.Outputs)
	if in.Run != nil {
		s.Example, _ = json.Marshal(example) // never fails
	}
	return nil
}

func literalKind(v json.RawMessage) string {
	var x any
	if json.Unmarshal(v, &x) != nil {
		return ""
	}
	switch x.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}
	return ""
}

// wrapped is the output schema of a value: what is not an object is the member result of one.
func wrapped(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return nil
	}
	var o struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(schema, &o) == nil && o.Type == "object" {
		return schema
	}
	return append(append([]byte(`{"type":"object","properties":{"result":`), schema...), "}}"...)
}

// checkScript refuses a script whose schemas cannot be used. Its faults are
// [problem.Error]s.
func checkScript(w *registry.Workflow) error {
	s := w.Script
	if strings.TrimSpace(s.Code) == "" || len(s.Code) > registry.MaxScript {
		return fault("/code", "the script has %d bytes, and not 1 to %d", len(s.Code), registry.MaxScript)
	}
	for _, m := range []struct {
		name string
		text json.RawMessage
	}{{"inputSchema", s.InputSchema}, {"outputSchema", s.OutputSchema}} {
		if len(m.text) == 0 && m.name == "outputSchema" {
			continue
		}
		var o struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(m.text, &o); err != nil || o.Type != "object" {
			return fault("/"+m.name, "expected a JSON Schema of type object")
		}
		if _, err := guest.CompileSchema(m.text); err != nil {
			return fault("/"+m.name, "the schema cannot be used: %v", err)
		}
	}
	return nil
}

// ShowScript describes a script.
func ShowScript(w *registry.Workflow, operations []Operation, whole bool) ToolsetScript {
	s := w.Script
	out := ToolsetScript{
		Name: w.Name, Title: s.Title, Description: s.Description, State: Ready, Missing: missing(w, operations), Hash: string(s.Hash()), Calls: []ScriptOperation{},
	}
	if len(out.Missing) > 0 {
		out.State = Waiting
	}
	for i := range w.Calls {
		c := ScriptOperation{Name: w.Calls[i].Name, Operation: toolset.Operation(w.Calls[i].Operation())}
		if o := find(&w.Calls[i], operations); o != nil {
			c.Tool = o.Tool
		}
		out.Calls = append(out.Calls, c)
	}
	if whole {
		out.Inputs, out.Outputs, out.Example, out.Code = s.InputSchema, s.OutputSchema, s.Example, s.Code
	}
	return out
}
