package arazzo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxOutputSchema of a workflow in bytes, of which every client lists one: past it,
	// outputs have names only.
	maxOutputSchema = 16 << 10
	// maxTyped is how deep an output is described: what is deeper may be anything.
	maxTyped = 8
	// maxFollowed is how many references, outputs and nested workflows lead to one type:
	// documents can make them go round.
	maxFollowed = 32
)

// OutputSchema describes the outputs of a workflow as a JSON Schema. responses are the
// schemas of what its operations answer, by [Step.Operation], as far as they are known.
// What is not there is null for a workflow, so every type of an answer allows it; enum,
// required and bounds are left out, because what an API really answers breaks them.
func (d *Document) OutputSchema(id string, responses map[string]json.RawMessage) json.RawMessage {
	w := d.Workflow(id)
	if w == nil {
		return nil
	}
	t := &typer{d: d, responses: map[string]any{}}
	for name, raw := range responses {
		if v, err := decode(raw); err == nil {
			t.responses[name] = v
		}
	}
	for _, typed := range []bool{true, false} {
		properties, required := object{}, []string{}
		for _, o := range w.Outputs {
			var schema any = map[string]any{}
			if typed {
				schema = t.value(w, nil, &o.value, 0).loose(0)
			}
			properties = append(properties, orderedMember{o.Name, schema})
			required = append(required, o.Name)
		}
		schema := object{{"type", "object"}, {"properties", properties}}
		if len(required) > 0 {
			schema = append(schema, orderedMember{"required", required})
		}
		if text, err := marshal(schema); err == nil && len(text) <= maxOutputSchema {
			return text
		}
	}
	return json.RawMessage(`{"type":"object"}`)
}

// typer finds the types of values in a document.
type typer struct {
	d         *Document
	responses map[string]any // by operation
}

// kind is a schema, with the one in which its references are.
type kind struct {
	schema map[string]any // nil: not known
	root   any
	sure   bool // the document itself says it: it is never null
}

func known(name string) kind { return kind{schema: map[string]any{"type": name}} }

// value is the type of what a document has for a value. s is the step that has it; nil:
// the workflow.
func (t *typer) value(w *Workflow, s *Step, v *value, depth int) kind {
	if depth > maxFollowed {
		return kind{}
	}
	switch v.kind {
	case valueWhole:
		return t.expression(w, s, v.whole, depth+1)
	case valueText:
		return sure(known("string"))
	case valueSelector:
		at := t.expression(w, s, v.selector.context, depth+1)
		if v.selector.path == nil {
			return at.follow(v.selector.pointer)
		}
		if !v.selector.path.singular() {
			return known("array")
		}
		return kind{}
	case valueList:
		return sure(known("array"))
	case valueMembers:
		properties := map[string]any{}
		for i := range v.members {
			properties[v.members[i].name] = t.value(w, s, &v.members[i].value, depth+1).loose(depth)
		}
		return sure(kind{schema: map[string]any{"type": "object", "properties": properties}})
	}
	switch v.constant.(type) {
	case string:
		return sure(known("string"))
	case bool:
		return sure(known("boolean"))
	case json.Number:
		return sure(known("number"))
	}
	return kind{}
}

func sure(k kind) kind {
	k.sure = true
	return k
}

func (t *typer) expression(w *Workflow, s *Step, e *expression, depth int) kind {
	if depth > maxFollowed {
		return kind{}
	}
	switch e.root {
	case "url", "method":
		return known("string")
	case "statusCode":
		return known("integer")
	case "response":
		if e.part == "header" {
			return known("string")
		}
		if s == nil || s.Operation == "" || !s.succeeds() {
			return kind{}
		}
		return t.response(s).follow(e.path).follow(e.pointer)
	case "inputs":
		return t.input(w, e.path).follow(e.pointer)
	case "outputs":
		if s != nil {
			return t.output(t.d.Workflow(s.Workflow), e.path, depth).follow(e.pointer)
		}
	case "steps":
		if i := w.step(e.name); i >= 0 {
			return t.step(w, w.Steps[i], e.path, depth).follow(e.pointer)
		}
	case "workflows":
		other := t.d.Workflow(e.name)
		if e.part == "inputs" {
			return t.input(other, e.path).follow(e.pointer)
		}
		return t.output(other, e.path, depth).follow(e.pointer)
	case "sourceDescriptions":
		return known("string")
	}
	return kind{}
}

// succeeded is a criterion after which an answer is one of success.
var succeeded = regexp.MustCompile(`^\s*\$statusCode\s*==\s*2\d\d\s*$`)

// succeeds reports whether the outputs of a step are read from answers of success only: the
// schema of a response describes no other.
func (s *Step) succeeds() bool {
	return len(s.criteria) == 0 || slices.ContainsFunc(s.criteria, func(c *Criterion) bool { return c.kind == kindSimple && succeeded.MatchString(c.Condition) })
}

func (t *typer) response(s *Step) kind {
	root := t.responses[s.Operation]
	schema, _ := root.(map[string]any)
	return kind{schema: schema, root: root}
}

// step is the type of an output of a step: its own, or that of the workflow that it runs.
func (t *typer) step(w *Workflow, s *Step, path []string, depth int) kind {
	if len(path) == 0 {
		return kind{}
	}
	for i := range s.outputs {
		if s.outputs[i].Name == path[0] {
			k := t.value(w, s, &s.outputs[i].value, depth+1)
			k.sure = false // the step may be left out
			return k.follow(path[1:])
		}
	}
	return t.output(t.d.Workflow(s.Workflow), path, depth)
}

func (t *typer) output(w *Workflow, path []string, depth int) kind {
	if w == nil || len(path) == 0 {
		return kind{}
	}
	for i := range w.Outputs {
		if w.Outputs[i].Name == path[0] {
			k := t.value(w, nil, &w.Outputs[i].value, depth+1)
			k.sure = false
			return k.follow(path[1:])
		}
	}
	return kind{}
}

func (t *typer) input(w *Workflow, path []string) kind {
	if w == nil || len(path) == 0 {
		return kind{}
	}
	root, err := decode(w.Inputs)
	if err != nil {
		return kind{}
	}
	schema, _ := root.(map[string]any)
	return kind{schema: schema, root: root}.follow(path)
}

// follow is the type of a member, or of an item.
func (k kind) follow(path []string) kind {
	for _, name := range path {
		if k = k.member(name, 0); k.schema == nil {
			return kind{}
		}
	}
	return k
}

func (k kind) member(name string, depth int) kind {
	k = k.resolved()
	if k.schema == nil || depth > maxFollowed {
		return kind{}
	}
	at := func(v any) kind {
		schema, _ := v.(map[string]any)
		return kind{schema: schema, root: k.root}
	}
	if properties, ok := k.schema["properties"].(map[string]any); ok {
		if v, has := properties[name]; has {
			return at(v)
		}
	}
	if _, err := strconv.ParseUint(name, 10, 31); err == nil && k.schema["items"] != nil {
		return at(k.schema["items"])
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := k.schema[word].([]any)
		found := kind{}
		for _, v := range list {
			m := at(v).member(name, depth+1)
			if m.schema != nil && found.schema != nil && word != "allOf" {
				return kind{} // it depends on which it is
			}
			if m.schema != nil {
				found = m
			}
		}
		if found.schema != nil {
			return found
		}
	}
	return at(k.schema["additionalProperties"])
}

// resolved follows references within the schema.
func (k kind) resolved() kind {
	for range maxFollowed {
		ref, ok := k.schema["$ref"].(string)
		if !ok {
			return k
		}
		var path []string
		if pointer, below := strings.CutPrefix(ref, "#/"); below {
			for token := range strings.SplitSeq(pointer, "/") {
				path = append(path, unescapePointer(token))
			}
		} else if ref != "#" {
			return kind{}
		}
		schema, _ := follow(k.root, path, false).(map[string]any)
		k.schema = schema
	}
	return kind{}
}

// loose is the type as a schema that an answer which is a little different does not break.
func (k kind) loose(depth int) map[string]any {
	k = k.resolved()
	out := map[string]any{}
	if k.schema == nil || depth > maxTyped {
		return out
	}
	if text, ok := k.schema["description"].(string); ok && text != "" {
		out["description"] = text
	}
	types := typesOf(k.schema["type"])
	if len(types) == 0 {
		return out
	}
	if !k.sure && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	if out["type"] = types; len(types) == 1 {
		out["type"] = types[0]
	}
	if properties, ok := k.schema["properties"].(map[string]any); ok && slices.Contains(types, "object") {
		members := make(map[string]any, len(properties))
		for name, v := range properties {
			schema, _ := v.(map[string]any)
			members[name] = kind{schema: schema, root: k.root, sure: k.sure && k.root == nil}.loose(depth + 1)
		}
		out["properties"] = members
	}
	if items, ok := k.schema["items"].(map[string]any); ok && slices.Contains(types, "array") {
		out["items"] = kind{schema: items, root: k.root}.loose(depth + 1)
	}
	return out
}

func typesOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []string:
		return slices.Clone(v)
	case []any:
		var out []string
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
