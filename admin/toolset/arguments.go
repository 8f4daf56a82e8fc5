package toolset

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sluicegate/sluice/admin/store"
)

// maxExampleDepth bounds the invention of arguments; input schemas are bounded
// by the compiler, this only bounds the work.
const maxExampleDepth = 8

// argSchema is what of an input schema says how to call a tool.
type argSchema struct {
	Properties map[string]*argSchema `json:"properties"`
	Required   []string              `json:"required"`
	Const      json.RawMessage       `json:"const"`
	Default    json.RawMessage       `json:"default"`
	Example    json.RawMessage       `json:"example"`
	Examples   []json.RawMessage     `json:"examples"`
	Enum       []json.RawMessage     `json:"enum"`
	// Description starts with "e.g. 7" where the specification has an example and
	// nothing else to say: published schemas carry no example keyword.
	Description string          `json:"description"`
	Type        json.RawMessage `json:"type"`
}

// ExampleArguments makes arguments for a tool out of what its input schema gives:
// only the required ones, each from const, example, default or enum. ok is false
// when one has none of them. No required argument: {}.
func ExampleArguments(schema []byte) (args []byte, ok bool) {
	var root argSchema
	if json.Unmarshal(schema, &root) != nil {
		return nil, false
	}
	return root.object(0)
}

func (a *argSchema) object(depth int) ([]byte, bool) {
	out := map[string]json.RawMessage{}
	for _, name := range a.Required {
		v, ok := a.Properties[name].value(depth + 1)
		if !ok {
			return nil, false
		}
		out[name] = v
	}
	return []byte(store.JSON(out)), true
}

func (a *argSchema) value(depth int) (json.RawMessage, bool) {
	if a == nil || depth > maxExampleDepth {
		return nil, false
	}
	for _, v := range append([]json.RawMessage{a.Const, a.Example}, a.Examples...) {
		if present(v) {
			return v, true
		}
	}
	if present(a.Default) {
		return a.Default, true
	}
	if len(a.Enum) > 0 && present(a.Enum[0]) {
		return a.Enum[0], true
	}
	if v, ok := a.described(); ok {
		return v, true
	}
	if len(a.Properties) > 0 && len(a.Required) > 0 {
		return a.object(depth)
	}
	return nil, false
}

// described takes the example out of a description.
func (a *argSchema) described() (json.RawMessage, bool) {
	text, ok := strings.CutPrefix(a.Description, "e.g. ")
	if !ok {
		return nil, false
	}
	text, _, _ = strings.Cut(text, ". ")
	text = strings.TrimSuffix(text, ".")
	if text == "" || strings.HasSuffix(text, "…") {
		return nil, false
	}
	if bytes.Contains(a.Type, []byte(`"string"`)) {
		return json.RawMessage(store.JSON(text)), true
	}
	v := json.RawMessage(text)
	return v, json.Valid(v) && present(v)
}

func present(v json.RawMessage) bool {
	return len(v) > 0 && !bytes.Equal(v, []byte("null"))
}
