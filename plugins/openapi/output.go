package openapi

import (
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of what is said about answers.
const (
	maxOutputSchema = 8 << 10 // rule 25; longer ones say less
	outputDepth     = 2       // rule 25: objects inside each other; fewer where that is too long
	// maxResponseDepth bounds the recursion that makes a response graph; deeper
	// parts are kept whole by a projection.
	maxResponseDepth = 64
)

// outputSchema makes the published output schema (rules 25 and 26): an object
// root, every scalar nullable (real APIs return undeclared nulls and clients
// validate), nothing required, no combinators. nil when its first level is too large.
func (c *compiler) outputSchema(s *schema) []byte {
	id := c.outputKey(s)
	if b, ok := c.outputs[id]; ok {
		return b
	}
	b := c.writeOutputSchema(s)
	if id.s.name != "" {
		c.outputs[id] = b
	}
	return b
}

// outputKey names what many operations answer with: what they share is not written
// twice, and receivers do not change it.
func (c *compiler) outputKey(s *schema) outputKey {
	key := s
	if s.types == operation.TypeArray && s.name == "" && s.items.exists() && len(s.items.more) == 0 {
		key = c.normal(&s.items)
	}
	return outputKey{key, key != s}
}

// outputKey is a component, or a plain list of it.
type outputKey struct {
	s    *schema
	list bool
}

// writeOutputSchema writes as many levels as fit: the names of the first alone tell
// a caller who asks for fields which there are.
func (c *compiler) writeOutputSchema(s *schema) []byte {
	for most := outputDepth; most >= 0; most-- {
		if b := c.writeOutputLevels(s, most); b != nil {
			return b
		}
	}
	return nil
}

func (c *compiler) writeOutputLevels(s *schema, most int) []byte {
	w := outputWriter{c: c, b: c.scratch[:0], most: most}
	object := s.types == operation.TypeObject || s.types == 0 && len(s.alts) > 0 && w.allObjects(s, 0)
	if object {
		w.schema(s, 0, true)
	} else {
		w.b = append(w.b, `{"type":"object","properties":{"result":`...)
		w.schema(s, 0, false)
		w.b = append(w.b, `}}`...)
	}
	c.scratch = w.b[:0]
	if len(w.b) > maxOutputSchema {
		return nil
	}
	return slices.Clone(w.b)
}

type outputWriter struct {
	c     *compiler
	b     []byte
	most  int // levels of objects
	stack []*schema
}

func (w *outputWriter) allObjects(s *schema, depth int) bool {
	if depth > maxBranches {
		return false
	}
	for i := range s.alts {
		for j := range s.alts[i].branches {
			b := w.c.normal(&s.alts[i].branches[j])
			if b.types != operation.TypeObject && !(b.types == 0 && len(b.alts) > 0 && w.allObjects(b, depth+1)) {
				return false
			}
		}
	}
	return len(s.alts) > 0
}

func (w *outputWriter) schema(s *schema, depth int, root bool) {
	if len(w.b) > maxOutputSchema {
		w.b = append(w.b, "{}"...)
		return
	}
	w.c.tick()
	if slices.Contains(w.stack, s) || len(w.stack) > maxFold {
		w.b = append(w.b, "{}"...)
		return
	}
	w.stack = append(w.stack, s)
	defer func() { w.stack = w.stack[:len(w.stack)-1] }()
	object := root || s.types == operation.TypeObject
	switch {
	case object && !root && depth > w.most:
		w.b = append(w.b, `{"type":["object","null"]}`...)
	case object:
		w.object(s, depth, root)
	case s.types == operation.TypeArray:
		w.b = append(w.b, `{"type":["array","null"],"items":`...)
		if s.items.exists() {
			w.schema(w.c.normal(&s.items), depth, false)
		} else {
			w.b = append(w.b, "{}"...)
		}
		w.b = append(w.b, '}')
	default:
		w.scalar(s)
	}
}

// scalar is a leaf. Numbers declared as integers come back with fractions and
// numbers as strings often enough that only the kind is promised.
func (w *outputWriter) scalar(s *schema) {
	if s.types == 0 || len(s.alts) > 0 {
		w.b = append(w.b, "{}"...)
		return
	}
	w.b = append(w.b, `{"type":[`...)
	for _, t := range typeList(s.types) {
		w.b = append(w.b, '"')
		w.b = append(w.b, typeName(t)...)
		w.b = append(w.b, `",`...)
	}
	w.b = append(w.b, `"null"]}`...)
}

func (w *outputWriter) object(s *schema, depth int, root bool) {
	u := union{p: &publisher{c: w.c}}
	u.add(s, 0)
	if root {
		w.b = append(w.b, `{"type":"object"`...)
	} else {
		w.b = append(w.b, `{"type":["object","null"]`...)
	}
	if len(u.props) > 0 || root {
		w.b = append(w.b, `,"properties":{`...)
		first := true
		for i := range u.props {
			q := w.c.normal(&u.props[i].child)
			if q.writeOnly || q.never || len(u.props[i].name) > maxPointerToken {
				continue
			}
			if !first {
				w.b = append(w.b, ',')
			}
			first = false
			p := publisher{b: w.b}
			p.name(u.props[i].name)
			w.b = p.b
			w.schema(q, depth+1, false)
			if len(w.b) > maxOutputSchema {
				break
			}
		}
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, '}')
}

// response converts a schema to the graph that projections are made from.
// Schemas referenced from several places are shared, so it may have cycles.
func (c *compiler) response(s *schema, depth int) *operation.Schema {
	if o, ok := c.responses[s]; ok {
		return o
	}
	if depth > maxResponseDepth || s == c.anything {
		return nil
	}
	c.tick()
	o := &operation.Schema{
		Type: s.types, Format: s.format, Required: s.required, Name: s.name,
		ReadOnly: s.readOnly, WriteOnly: s.writeOnly, Deprecated: s.deprecated, Closed: s.closed,
		Description: plain(s.desc.str()),
	}
	if s.null && s.types != 0 {
		o.Type |= operation.TypeNull
	}
	if s.hasEnum && len(s.enum) == 1 && s.enum[0].isString() { // a constant; projections want no other enum
		o.Enum = []string{string(jsonscan.AppendStringOf(nil, s.enum[0].str()))}
	}
	// Only what others refer to is remembered; the rest hangs on its parent.
	if s.name != "" || len(s.alts) > 0 || len(s.props) > 0 {
		c.responses[s] = o
	}
	if len(s.props) > 0 {
		o.Properties = make([]operation.Property, 0, len(s.props))
		for i := range s.props {
			o.Properties = append(o.Properties, operation.Property{
				Name: s.props[i].name, Schema: c.response(c.normal(&s.props[i].child), depth+1),
			})
		}
	}
	if s.hasAddl {
		o.Additional = c.response(c.normal(&s.addl), depth+1)
	}
	if s.items.exists() {
		o.Items = c.response(c.normal(&s.items), depth+1)
	}
	for i := range s.prefix {
		if q := c.response(c.normal(&s.prefix[i]), depth+1); q != nil {
			o.Prefix = append(o.Prefix, q)
		}
	}
	if s.format == "binary" {
		o.Media = "application/octet-stream"
	}
	for i := range s.alts {
		for j := range s.alts[i].branches {
			q := c.response(c.normal(&s.alts[i].branches[j]), depth+1)
			if q == nil {
				q = &operation.Schema{} // anything
			}
			o.AnyOf = append(o.AnyOf, q)
		}
	}
	return o
}
