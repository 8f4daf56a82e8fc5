package openapi

import (
	"slices"

	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of what is kept of the promises of one answer, for the comparison of versions.
const (
	// maxPromises: bytes of names and values of one operation, about what the published
	// schema of its answer has.
	maxPromises = 1500
	// maxPromised: values of one member; a list of countries or currencies is longer,
	// and changes without a consequence.
	maxPromised = 32
)

// promises are what is promised of the first levels of an answer: which members are
// always there, which may be null, and which values they have.
func (c *compiler) promises(s *schema) []operation.Promise {
	id := c.outputKey(s)
	if p, ok := c.promised[id]; ok {
		return p
	}
	w := promiser{c: c}
	at := ""
	if s.types != operation.TypeObject {
		at = "/result" // as the output schema has it
	}
	w.value(s, at, 0)
	if id.s.name != "" {
		c.promised[id] = w.out
	}
	return w.out
}

type promiser struct {
	c     *compiler
	out   []operation.Promise
	size  int
	stack []*schema
}

func (w *promiser) value(s *schema, at string, depth int) {
	around := len(w.stack)
	defer func() { w.stack = w.stack[:around] }()
	for s.types == operation.TypeArray && s.items.exists() && len(s.items.more) == 0 && len(w.stack) < maxFold {
		w.stack = append(w.stack, s)
		s, at = w.c.normal(&s.items), at+"/items"
	}
	if s.types != operation.TypeObject || depth > outputDepth || slices.Contains(w.stack, s) {
		return
	}
	w.stack = append(w.stack, s)
	w.c.tick()
	u := union{p: &publisher{c: w.c}}
	u.add(s, 0)
	p := operation.Promise{At: at}
	size := len(at)
	for i := range u.props {
		name := u.props[i].name
		q := w.c.normal(&u.props[i].child)
		if q.writeOnly || q.never || len(name) > maxPointerToken {
			continue
		}
		if slices.Contains(u.required, name) {
			p.Required = append(p.Required, name)
			size += len(name)
		}
		if q.null {
			p.Null = append(p.Null, name)
			size += len(name)
		}
		if q.hasEnum && len(q.enum) <= maxPromised {
			v := operation.Values{Name: name}
			for _, e := range q.enum {
				if e.isString() {
					v.Texts = append(v.Texts, string(appendLiteral(nil, e, q.types)))
					size += len(v.Texts[len(v.Texts)-1])
				}
			}
			if len(v.Texts) > 0 {
				p.Values = append(p.Values, v)
				size += len(name)
			}
		}
	}
	if kinds := w.kindsOf(s); len(kinds) > 0 {
		p.Values = append(p.Values, operation.Values{Name: operation.FreeMembers, Texts: kinds})
		size += len(kinds) * len(`"integer"`)
	}
	if w.size += size; w.size > maxPromises {
		return
	}
	if len(u.props) > 0 || len(p.Values) > 0 {
		w.out = append(w.out, p)
	}
	for i := range u.props {
		if q := w.c.normal(&u.props[i].child); !q.writeOnly && !q.never && len(u.props[i].name) <= maxPointerToken {
			w.value(q, string(appendPointerToken([]byte(at+"/"), u.props[i].name)), depth+1)
		}
	}
}

// kindsOf are the types of an object's free members, where they are values; none where
// they may be anything or there are none.
func (w *promiser) kindsOf(s *schema) []string {
	if !s.hasAddl {
		return nil
	}
	q := w.c.normal(&s.addl)
	var out []string
	for _, k := range [...]struct {
		t    operation.Type
		text string
	}{{operation.TypeBoolean, `"boolean"`}, {operation.TypeInteger, `"integer"`}, {operation.TypeNumber, `"number"`}, {operation.TypeString, `"string"`}, {operation.TypeArray, `"array"`}, {operation.TypeObject, `"object"`}} {
		if q.types&k.t != 0 {
			out = append(out, k.text)
		}
	}
	return out
}
