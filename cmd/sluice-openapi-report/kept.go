package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

// kept compares published tools with the specification they come from, read by
// encoding/json: a short list is worth nothing when it leaves out what a call
// needs. Deprecated and read-only members are left out on purpose and not looked
// for.
type kept struct {
	root                       object
	op                         string // the one under way
	required, enums, sentences int    // looked for
	lost                       []string
}

type object = map[string]any

// lookKept checks every operation of a specification in JSON.
func (r *report) lookKept(ctx context.Context, file string) (*kept, error) {
	data, err := os.ReadFile(filepath.Join(r.corpus, file))
	if err != nil {
		return nil, err
	}
	k := new(kept)
	if err := json.Unmarshal(data, &k.root); err != nil {
		return nil, err
	}
	_, err = openapi.Compile(ctx, openapi.Source{Name: file, Data: data}, openapi.Options{Each: func(op *operation.Operation) error {
		return k.tool(op)
	}})
	return k, err
}

func (k *kept) lose(format string, args ...any) {
	k.lost = append(k.lost, k.op+": "+fmt.Sprintf(format, args...))
}

func (k *kept) tool(op *operation.Operation) error {
	k.op = op.Method + " " + op.Path
	var input object
	if err := json.Unmarshal(op.InputSchema, &input); err != nil {
		return err
	}
	item := sub(sub(k.root, "paths"), op.Path)
	spec := sub(item, strings.ToLower(op.Method))
	if spec == nil {
		return fmt.Errorf("%s is not in the specification", k.op)
	}
	for _, text := range []string{text(spec, "summary"), text(spec, "description")} {
		k.sentence("", text, op.Title+" "+op.Description)
	}
	for _, p := range k.parameters(item, spec) {
		k.parameter(op, p, input)
	}
	k.body(op, spec, input)
	return nil
}

// parameters are those of the operation and those of its path that it does not
// replace.
func (k *kept) parameters(item, spec object) []object {
	var out []object
	for _, from := range []object{spec, item} {
		for _, v := range list(from, "parameters") {
			p := k.resolve(v)
			if !slices.ContainsFunc(out, func(o object) bool { return o["name"] == p["name"] && o["in"] == p["in"] }) {
				out = append(out, p)
			}
		}
	}
	return out
}

func (k *kept) parameter(op *operation.Operation, p, input object) {
	name, in := text(p, "name"), text(p, "in")
	i := slices.IndexFunc(op.Plan.Params, func(q operation.Param) bool { return q.Name == name && string(q.In) == in })
	must := p["required"] == true || in == "path"
	if i < 0 {
		if must || p["deprecated"] != true {
			k.lose("parameter %s", name)
		}
		return
	}
	q := op.Plan.Params[i]
	if q.Arg == "" {
		return // a constant of the plan: an agent has no choice
	}
	if q.Unlisted {
		return // deprecated, or its schema is
	}
	if must {
		k.needs(name, q.Arg, input)
	}
	pub := sub(sub(input, "properties"), q.Arg)
	k.sentence(name, text(p, "description"), text(pub, "description")+" "+spaced(name))
	k.schema(name, k.resolve(p["schema"]), pub, nil)
}

func (k *kept) needs(at, name string, pub object) {
	k.required++
	if !slices.Contains(list(pub, "required"), any(name)) {
		k.lose("%s is not required", at)
	}
}

func (k *kept) body(op *operation.Operation, spec, input object) {
	b := k.resolve(spec["requestBody"])
	if b == nil || op.Plan.Body == nil {
		if b != nil && op.Method != http.MethodGet && op.Method != http.MethodHead {
			k.lose("no body")
		}
		return
	}
	media := sub(sub(b, "content"), op.Plan.Body.MediaType)
	schema := k.resolve(media["schema"])
	if arg := op.Plan.Body.Arg; arg != "" {
		if b["required"] == true {
			k.needs("the body", arg, input)
		}
		k.schema("body", schema, sub(sub(input, "properties"), arg), nil)
		return
	}
	// Members of the body are arguments. One that may be absent as a whole requires
	// none of them.
	lifted := object{"type": "object", "properties": sub(input, "properties")}
	if b["required"] == true {
		lifted["required"] = input["required"]
	} else {
		schema = without(schema, "required")
	}
	named := object{}
	for _, f := range op.Plan.Body.Fields {
		named[f.Name] = f.Arg // empty: one value is possible, the plan sends it
	}
	k.schema("body", renamed(schema, named), lifted, nil)
}

// renamed gives members the names of their arguments.
func renamed(schema, named object) object {
	out := without(schema, "")
	props := object{}
	for name, v := range sub(schema, "properties") {
		if arg, known := named[name]; !known {
			props[name] = v
		} else if arg, _ := arg.(string); arg != "" {
			props[arg] = v
		}
	}
	out["properties"] = props
	required := []any{}
	for _, v := range list(schema, "required") {
		name, _ := v.(string)
		if arg, known := named[name]; !known {
			required = append(required, v)
		} else if arg != "" {
			required = append(required, arg)
		}
	}
	out["required"] = required
	return out
}

func without(o object, key string) object {
	out := make(object, len(o))
	for name, v := range o {
		if name != key {
			out[name] = v
		}
	}
	return out
}

// schema walks a schema and what was published of it side by side.
func (k *kept) schema(at string, s, pub object, open []string) {
	if s == nil || pub == nil || len(open) > 40 {
		return
	}
	for _, v := range list(s, "allOf") {
		if ref := reference(v); ref != "" {
			if slices.Contains(open, ref) {
				continue
			}
			k.schema(at, k.resolve(v), pub, append(open, ref))
			continue
		}
		k.schema(at, k.resolve(v), pub, append(open, ""))
	}
	k.enum(at, s, pub)
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, v := range list(s, key) {
			branch := k.resolve(v)
			k.enum(at, branch, pub)
		}
	}
	if props := sub(s, "properties"); props != nil {
		k.members(at, s, props, pub, open)
	}
	if items := s["items"]; items != nil {
		k.follow(at+"[]", items, anyBranch(pub, "items"), open)
	}
}

// follow goes into a member, unless that is a cycle.
func (k *kept) follow(at string, v any, pub object, open []string) {
	ref := reference(v)
	if ref != "" && slices.Contains(open, ref) {
		return
	}
	if pub == nil {
		k.lose("%s is not described", at)
		return
	}
	k.schema(at, k.resolve(v), pub, append(slices.Clone(open), ref))
}

func (k *kept) members(at string, s, props, pub object, open []string) {
	shown := sub(pub, "properties")
	if shown == nil {
		for _, v := range list(pub, "anyOf") {
			if b, ok := v.(object); ok && sub(b, "properties") != nil {
				pub, shown = b, sub(b, "properties")
			}
		}
	}
	for name, v := range props {
		member := k.resolve(v)
		if member["readOnly"] == true {
			continue
		}
		must := slices.Contains(list(s, "required"), any(name))
		p := sub(shown, name)
		if must {
			k.needs(at+"."+name, name, pub)
		}
		switch {
		case p != nil:
			k.sentence(at+"."+name, text(member, "description"), text(p, "description")+" "+spaced(name))
			k.follow(at+"."+name, v, p, open)
		case member["deprecated"] != true:
			k.lose("%s.%s is not published", at, name)
		}
	}
}

// enum looks for each value of a closed list.
func (k *kept) enum(at string, s, pub object) {
	values := list(s, "enum")
	if len(values) == 0 {
		return
	}
	k.enums++
	all, err := json.Marshal(pub)
	if err != nil {
		k.lose("%s: %v", at, err)
		return
	}
	truth := strings.Contains(string(all), `"boolean"`) // "true" in quotes is taken for it
	for _, v := range values {
		b, err := json.Marshal(v)
		if err != nil || v != nil && !strings.Contains(string(all), string(b)) && (!truth || v != "true" && v != "false") {
			k.lose("%s: the value %s", at, b)
		}
	}
}

var words = regexp.MustCompile(`[A-Za-z0-9_]+`)

// markup is what a text for people has around its words.
var markup = regexp.MustCompile(`(?s)<!--.*?-->|<[^>]*>|\]\([^)]*\)|\[!\w+\]`)

// spaced are the words of a name, which a description need not repeat.
func spaced(name string) string {
	return strings.Join(capitals.FindAllString(strings.ReplaceAll(name, "_", " "), -1), " ")
}

var capitals = regexp.MustCompile(`[A-Z]*[a-z0-9]+|[A-Z]+`)

// lead are first words that say of a tool that it is one, which the compiler leaves out.
var lead = regexp.MustCompile(`^(?:you can )?use this (?:endpoint|method) to |^(?:this (?:endpoint|method)|the api) `)

// sentence looks for the words of the first sentence of a text, in their order.
func (k *kept) sentence(at, said, shown string) {
	said = strings.TrimSpace(markup.ReplaceAllString(strings.ReplaceAll(said, "`", ""), " "))
	if i := strings.IndexAny(said, "\n"); i >= 0 && strings.TrimSpace(said[:i]) != "" {
		said = said[:i]
	}
	if i := strings.Index(said, ". "); i >= 0 {
		said = said[:i]
	}
	want := words.FindAllString(lead.ReplaceAllString(strings.ToLower(said), ""), -1)
	if len(want) == 0 {
		return
	}
	k.sentences++
	have := words.FindAllString(strings.ToLower(shown), -1)
	n := 0
	for _, w := range have {
		if n < len(want) && w == want[n] {
			n++
		}
	}
	if n < len(want) {
		k.lose("%s: the sentence %q is %q", at, said, shown)
	}
}

func (k *kept) resolve(v any) object {
	for range 32 {
		o, ok := v.(object)
		if !ok {
			return nil
		}
		ref := reference(o)
		if ref == "" {
			return o
		}
		var at any = k.root
		for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			o, _ := at.(object)
			at = o[strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")]
		}
		v = at
	}
	return nil
}

func reference(v any) string {
	o, _ := v.(object)
	return text(o, "$ref")
}

func sub(o object, key string) object {
	v, _ := o[key].(object)
	return v
}

func text(o object, key string) string {
	v, _ := o[key].(string)
	return v
}

func list(o object, key string) []any {
	v, _ := o[key].([]any)
	return v
}

// anyBranch is a member of a schema or of one of its alternatives.
func anyBranch(o object, key string) object {
	if v := sub(o, key); v != nil {
		return v
	}
	for _, b := range list(o, "anyOf") {
		if b, ok := b.(object); ok && sub(b, key) != nil {
			return sub(b, key)
		}
	}
	return nil
}
