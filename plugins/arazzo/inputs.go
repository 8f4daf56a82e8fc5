package arazzo

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

func itoa(n int) string { return strconv.Itoa(n) }

// object is a JSON object whose members keep their order.
type object []orderedMember

type orderedMember struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := marshal(m.name)
		if err != nil {
			return nil, err
		}
		v, err := marshal(m.value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), v...)
	}
	return append(out, '}'), nil
}

// marshal is [json.Marshal] that leaves < and & alone.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// inputs reads the schema of a workflow's inputs. What is not a schema of an object takes
// any object: some documents have such.
func (r *reader) inputs(n node, w *Workflow) {
	w.Inputs = json.RawMessage(`{"type":"object","properties":{}}`)
	if n.missing() || !r.object(n, "inputs") {
		return
	}
	size := 0
	resolved, ok := r.resolve(n, nil, &size)
	if !ok {
		return
	}
	o, ok := resolved.(object)
	if !ok || !isObjectSchema(o) {
		return
	}
	if !slices.ContainsFunc(o, func(m orderedMember) bool { return m.name == "type" }) {
		o = append(object{{"type", "object"}}, o...)
	}
	text, err := marshal(o)
	if err != nil || len(text) > maxSchema {
		r.fault(n, "the schema of the inputs has more than %d bytes", maxSchema)
		return
	}
	w.Inputs = text
	for _, m := range o {
		if properties, is := m.value.(object); is && m.name == "properties" {
			w.defaults = defaultsOf(properties)
			for _, p := range properties {
				w.names = append(w.names, p.name)
			}
		}
	}
}

func isObjectSchema(o object) bool {
	for _, m := range o {
		if m.name == "type" {
			return m.value == "object"
		}
	}
	return true
}

// defaultsOf are the values of inputs that a caller leaves out.
func defaultsOf(properties object) map[string]any {
	out := map[string]any{}
	for _, p := range properties {
		schema, _ := p.value.(object)
		for _, m := range schema {
			if m.name == "default" {
				if text, err := marshal(m.value); err == nil {
					if v, err := Decode(text); err == nil {
						out[p.name] = v
					}
				}
			}
		}
	}
	return out
}

// resolve writes references to other parts of the document out; via are those being
// resolved.
func (r *reader) resolve(n node, via []string, size *int) (any, bool) {
	if *size++; *size > maxSchema/8 {
		r.fault(n, "the schema of the inputs is larger than %d bytes with its references", maxSchema)
		return nil, false
	}
	switch n.Kind {
	case yaml.MappingNode:
		if ref := n.get("$ref"); ref.isText() {
			at, ok := r.referred(ref.Value)
			if !ok || slices.Contains(via, ref.Value) {
				r.fault(ref, "the reference %.200q leads to nothing in this document, or to itself", ref.Value)
				return nil, false
			}
			return r.resolve(at, append(slices.Clone(via), ref.Value), size)
		}
		out := object{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			v, ok := r.resolve(node{n.Content[i+1], n.pointer + "/" + escapePointer(name)}, via, size)
			if !ok {
				return nil, false
			}
			out = append(out, orderedMember{name, v})
		}
		return out, true
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, ok := r.resolve(node{c, n.pointer + "/" + itoa(i)}, via, size)
			if !ok {
				return nil, false
			}
			out[i] = v
		}
		return out, true
	}
	return scalar(n), true
}

func (r *reader) referred(ref string) (node, bool) {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return node{}, false
	}
	at := r.top
	for token := range strings.SplitSeq(pointer, "/") {
		if at = at.get(unescapePointer(token)); at.missing() {
			return at, false
		}
	}
	return at, true
}
