// Package jsonshape makes a JSON Schema of a JSON value: of what kind it and its members are,
// with nothing of the value but the names of members.
package jsonshape

import (
	"encoding/json"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxDepth of a value that is described: what is deeper may be anything.
	maxDepth = 8
	// maxMembers of an object: one with more is a map, whose names are data.
	maxMembers = 64
	// maxItems of an array are looked at: the others are like them.
	maxItems = 64
	// maxSchema in bytes; a larger one is none.
	maxSchema = 16 << 10
)

// node is what is known of a place.
type node struct {
	types   []string
	members map[string]*node
	order   []string
	seen    int // objects
	isMap   bool
	items   *node
}

// Of describes a value; nil: it is not JSON, or its description is too large.
func Of(doc []byte) json.RawMessage {
	v, err := jsonscan.Parse(doc, jsonscan.DefaultMaxDepth)
	if err != nil {
		return nil
	}
	n := &node{}
	n.add(v, 0)
	out, err := json.Marshal(n.schema())
	if err != nil || len(out) > maxSchema {
		return nil
	}
	return out
}

func (n *node) is(name string) {
	if !slices.Contains(n.types, name) {
		n.types = append(n.types, name)
	}
}

func (n *node) add(v jsonscan.Value, depth int) {
	switch v.Kind() {
	case jsonscan.Null:
		n.is("null")
	case jsonscan.String:
		n.is("string")
	case jsonscan.Number:
		n.is("number") // an integer today may have a fraction tomorrow
	case jsonscan.Array:
		n.is("array")
		if n.items == nil {
			n.items = &node{}
		}
		left := maxItems
		for it := v.Elements(); it.Next() && left > 0 && depth < maxDepth; left-- {
			n.items.add(it.Value(), depth+1)
		}
	case jsonscan.Object:
		n.is("object")
		n.object(v, depth)
	default:
		n.is("boolean")
	}
}

func (n *node) object(v jsonscan.Value, depth int) {
	if n.members == nil {
		n.members = map[string]*node{}
	}
	n.seen++
	for it := v.Members(); it.Next() && !n.isMap && depth < maxDepth; {
		name := string(it.KeyText(nil))
		m := n.members[name]
		if m == nil {
			if len(n.members) == maxMembers {
				n.isMap = true
				break
			}
			m = &node{}
			n.members[name], n.order = m, append(n.order, name)
		}
		m.add(it.Value(), depth+1)
	}
}

func (n *node) schema() map[string]any {
	out := map[string]any{}
	switch len(n.types) {
	case 0:
		return out
	case 1:
		out["type"] = n.types[0]
	default:
		out["type"] = n.types
	}
	if n.items != nil {
		out["items"] = n.items.schema()
	}
	if n.members != nil && !n.isMap && len(n.members) > 0 {
		properties := map[string]any{}
		for _, name := range n.order {
			properties[name] = n.members[name].schema()
		}
		out["properties"] = properties
	}
	return out
}
