package answer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/plugins/engine"
)

// shape is what an output schema says of names. The published schemas have no
// references and end after a few levels; what they do not say is open.
type shape struct {
	props map[string]*shape
	order []string
	open  bool // other names may be there
	// list says that the answer itself is an array or a scalar, which an output
	// schema, always an object, describes as the member "result".
	list *shape
}

type schemaNode struct {
	Properties           map[string]json.RawMessage `json:"properties"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	Items                json.RawMessage            `json:"items"`
	AnyOf                []json.RawMessage          `json:"anyOf"`
	OneOf                []json.RawMessage          `json:"oneOf"`
	AllOf                []json.RawMessage          `json:"allOf"`
	Ref                  string                     `json:"$ref"`
}

// maxShapeDepth bounds the reading of a schema.
const maxShapeDepth = 16

// wrapped is the member under which an output schema describes what is not an object.
const wrapped = "result"

func readShape(raw json.RawMessage) *shape {
	s := &shape{open: true}
	if len(raw) > 0 {
		s.read(raw, 0)
	}
	if len(s.order) == 1 && s.order[0] == wrapped {
		s.list = s.props[wrapped]
	}
	return s
}

// read adds what a schema says; arrays are transparent, as they are for programs.
func (s *shape) read(raw json.RawMessage, depth int) {
	var n schemaNode
	if depth > maxShapeDepth || json.Unmarshal(raw, &n) != nil || n.Ref != "" {
		return
	}
	if len(n.Items) > 0 {
		s.read(n.Items, depth+1)
	}
	for _, list := range [][]json.RawMessage{n.AnyOf, n.OneOf, n.AllOf} {
		for _, b := range list {
			s.read(b, depth+1)
		}
	}
	if len(n.Properties) == 0 {
		return
	}
	if s.props == nil {
		s.props, s.open = map[string]*shape{}, false
	}
	if a := string(n.AdditionalProperties); a != "" && a != "false" {
		s.open = true
	}
	it := jsonscan.Trusted(raw).Get("properties").Members() // in the order of the specification
	for it.Next() {
		name := string(it.KeyText(nil))
		c := s.props[name]
		if c == nil {
			c = &shape{open: true}
			s.props[name] = c
			s.order = append(s.order, name)
		}
		c.read(it.Value().Raw(), depth+1)
	}
}

// check tells which name of a mask the answers do not have.
func (s *shape) check(m *engine.Mask) error {
	if s.list != nil && s.list.names(m, "") == nil {
		return nil
	}
	if s.list != nil && !slices.Contains(m.Names(), wrapped) {
		return s.list.names(m, "")
	}
	return s.names(m, "")
}

func (s *shape) names(m *engine.Mask, at string) error {
	for _, name := range m.Names() {
		c := s.props[name]
		if c == nil {
			if s.open {
				continue
			}
			return s.unknown(name, at)
		}
		if err := c.names(m.Sub(name), at+name+"."); err != nil {
			return err
		}
	}
	return nil
}

// unknown says what is wrong with a name, and what was perhaps meant: a name that
// is nearly the same, or the same name one level down.
func (s *shape) unknown(name, at string) error {
	if near := s.nearest(name); near != "" {
		return fmt.Errorf("unknown field %.80q; did you mean %q?", at+name, at+near)
	}
	known := s.order
	const most = 24
	more := ""
	if len(known) > most {
		more = fmt.Sprintf(" and %d more", len(known)-most)
		known = known[:most]
	}
	return fmt.Errorf("unknown field %.80q; there are %s%s", at+name, strings.Join(known, ", "), more)
}

func (s *shape) nearest(name string) string {
	if best := nearest.Name(name, slices.Values(s.order)); best != "" {
		return best
	}
	for _, n := range s.order {
		if s.props[n].props[name] != nil {
			return n + "." + name
		}
	}
	return ""
}

// projectSchema is an output schema without what programs leave out.
func projectSchema(raw json.RawMessage, tables [][]byte) json.RawMessage {
	return projectTables(raw, tables, false)
}

// likelySchema is projectSchema without the members that a rule by value nearly always
// leaves out, and without the object around an answer that is none.
func likelySchema(raw json.RawMessage, tables [][]byte) json.RawMessage {
	raw = projectTables(raw, tables, true)
	if props := jsonscan.Trusted(raw).Get("properties"); len(raw) > 0 && props.Len() == 1 && props.Get(wrapped).Exists() {
		return props.Get(wrapped).Raw()
	}
	return raw
}

func projectTables(raw json.RawMessage, tables [][]byte, likely bool) json.RawMessage {
	for _, t := range tables {
		p, err := engine.Decompile(t)
		if err != nil {
			return nil
		}
		v, err := jsonscan.Parse(raw, jsonscan.DefaultMaxDepth)
		if err != nil {
			return nil
		}
		root := p.Root
		props := v.Get("properties")
		if it := props.Members(); props.Len() == 1 && it.Next() && it.KeyEqual(wrapped) && !root.Names(wrapped) {
			root = &engine.Node{Fields: []engine.Field{{Name: wrapped, Node: root}}} // the answer is not an object
		}
		raw = appendProjected(nil, v, root, likely)
	}
	return raw
}

func appendProjected(dst []byte, schema jsonscan.Value, n *engine.Node, likely bool) []byte {
	if n == nil || schema.Kind() != jsonscan.Object {
		return append(dst, schema.Raw()...)
	}
	dst = append(dst, '{')
	mark := len(dst)
	for it := schema.Members(); it.Next(); {
		dst = jsonscan.AppendKey(dst, mark, it.Key())
		switch {
		case it.KeyEqual("properties") && it.Value().Kind() == jsonscan.Object:
			dst = appendProjectedMembers(dst, it.Value(), n, likely)
		case it.KeyEqual("items") && n.MaxNumbers > 0 && isNumbers(it.Value()):
			dst = append(dst, cutNumbers...)
		case it.KeyEqual("items"):
			dst = appendProjected(dst, it.Value(), n, likely)
		default:
			dst = append(dst, it.Value().Raw()...)
		}
	}
	return append(dst, '}')
}

// cutNumbers describes the elements of an array of numbers that may be cut: then
// the last one is a text that says how many there were.
const cutNumbers = `{"type":["number","string","null"]}`

// isNumbers reports whether a schema describes numbers and nothing else.
func isNumbers(schema jsonscan.Value) bool {
	found := false
	for it := schema.Get("type").Elements(); it.Next(); {
		switch t, _ := it.Value().Plain(); string(t) {
		case "number", "integer":
			found = true
		case "null":
		default:
			return false
		}
	}
	return found
}

func appendProjectedMembers(dst []byte, props jsonscan.Value, n *engine.Node, likely bool) []byte {
	dst = append(dst, '{')
	mark := len(dst)
	for it := props.Members(); it.Next(); {
		name := string(it.KeyText(nil))
		if child, kept := n.Member(name); kept && !(likely && dropsURL(n, name)) {
			dst = appendProjected(jsonscan.AppendKey(dst, mark, it.Key()), it.Value(), child, likely)
		}
	}
	return append(dst, '}')
}

// dropsURL reports whether a member is an address by its name, and the node leaves such
// addresses out that programs follow.
func dropsURL(n *engine.Node, name string) bool {
	if n.Rules&engine.DropURL == 0 || !strings.HasSuffix(strings.ToLower(name), "url") {
		return false
	}
	for i := range n.Fields {
		if f := &n.Fields[i]; f.Name == name {
			return !f.KeepURL && !f.Exempt
		}
	}
	return true
}

// Names of the argument for a field mask: the second when the API owns the first.
var fieldsNames = [...]string{"fields", "_fields"}

// FieldsArgument is the name of a tool's argument for a field mask; "" when all
// are taken.
func FieldsArgument(input json.RawMessage) string {
	props := jsonscan.Trusted(input).Get("properties")
	for _, n := range fieldsNames {
		if !props.Get(n).Exists() {
			return n
		}
	}
	return ""
}

// fieldsSchema describes the argument; each tool of a list pays for it.
const fieldsSchema = `{"type":"string","description":"Answer only id,user.name; *: all"}`

// WithFields is an input schema with the argument for a field mask.
func WithFields(input json.RawMessage, name string) json.RawMessage {
	if name == "" {
		return input
	}
	v := jsonscan.Trusted(input)
	if v.Kind() != jsonscan.Object {
		return input
	}
	out := append(make([]byte, 0, len(input)+len(fieldsSchema)+32), '{')
	found := false
	for it := v.Members(); it.Next(); {
		raw := it.Value().Raw()
		out = jsonscan.AppendKey(out, 1, it.Key())
		if !found && it.KeyEqual("properties") && it.Value().Kind() == jsonscan.Object {
			found = true
			mark := len(out) + 1
			out = append(out, raw[:len(raw)-1]...)
			out = append(jsonscan.AppendMember(out, mark, []byte(name), []byte(fieldsSchema)), '}')
			continue
		}
		out = append(out, raw...)
	}
	if !found {
		out = append(jsonscan.AppendKey(out, 1, []byte("properties")), '{')
		out = append(jsonscan.AppendMember(out, len(out), []byte(name), []byte(fieldsSchema)), '}')
	}
	return append(out, '}')
}
