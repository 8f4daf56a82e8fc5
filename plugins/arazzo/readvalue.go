package arazzo

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"
)

// value reads a value with the expressions in it. Where only an expression makes sense,
// what looks like one and is none is a fault; elsewhere it is text.
func (r *reader) value(n node, strict bool) value {
	switch n.Kind {
	case yaml.MappingNode:
		if s := r.selector(n); s != nil {
			return value{kind: valueSelector, selector: s}
		}
		v := value{kind: valueMembers}
		for _, m := range r.members(n) {
			v.members = append(v.members, member{m.name, r.value(m.node, false)})
		}
		return v
	case yaml.SequenceNode:
		v := value{kind: valueList}
		if len(n.Content) > maxMembers {
			r.fault(n, "the list has %d items, at most %d", len(n.Content), maxMembers)
			return v
		}
		for i := range n.Content {
			v.list = append(v.list, r.value(node{n.Content[i], n.pointer + "/" + itoa(i)}, false))
		}
		return v
	}
	if !n.isText() {
		return value{constant: scalar(n)}
	}
	v, err := parseText(n.Value)
	if err == nil && strict && v.kind == valueConstant && strings.HasPrefix(n.Value, "$") {
		_, err = parseExpression(n.Value)
	}
	if err != nil {
		r.fault(n, "%s", err)
	}
	return v
}

// selector reads a Selector Object of Arazzo 1.1; nil when the node is none.
func (r *reader) selector(n node) *selector {
	context, sel := n.get("context"), n.get("selector")
	if !context.isText() || !sel.isText() || len(n.Content) > 6 || !isExpression(context.Value) {
		return nil
	}
	kind := r.selectorType(n.get("type"))
	if kind == "" && !n.get("type").missing() {
		return nil
	}
	s := &selector{}
	var err error
	if s.context, err = parseExpression(context.Value); err != nil {
		r.fault(context, "%s", err)
		return nil
	}
	if kind == kindJSONPointer {
		for token := range strings.SplitSeq(strings.TrimPrefix(sel.Value, "/"), "/") {
			s.pointer = append(s.pointer, unescapePointer(token))
		}
		return s
	}
	if s.path, err = parsePath(sel.Value); err != nil {
		r.fault(sel, "%s", err)
		return nil
	}
	return s
}

// scalar is a constant as JSON has it.
func scalar(n node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
		var f float64
		if n.Decode(&f) == nil {
			if b, err := json.Marshal(f); err == nil {
				return json.Number(b)
			}
		}
	}
	return n.Value
}
