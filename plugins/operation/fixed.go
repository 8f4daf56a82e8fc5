package operation

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// Fixes reports whether name is an argument of the operation that can have a fixed
// value: a parameter, a member of a lifted body, or "body.member", a member of a body
// that is one argument.
func (c *Compiled) Fixes(name string) bool {
	if c.named(name) >= 0 {
		return !slices.ContainsFunc(c.bodies, func(cb compiledBody) bool { return cb.body.Arg == name })
	}
	return slices.ContainsFunc(c.bodies, func(cb compiledBody) bool { return cb.member(name) != nil })
}

// member is the property that a name means of a body which is one argument; nil: none.
// Those are meant that the schema has.
func (cb *compiledBody) member(name string) *Property {
	b := cb.body
	if b.Arg == "" || b.Schema == nil || cb.kind != bodyJSON && cb.kind != bodyForm && cb.kind != bodyMultipart {
		return nil
	}
	member, ok := strings.CutPrefix(name, b.Arg+".")
	if !ok {
		return nil
	}
	return b.Schema.property(member)
}

// property is a member of an object or of one of its alternatives; nil: none.
func (s *Schema) property(name string) *Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	for _, alt := range s.AnyOf {
		if p := alt.property(name); p != nil {
			return p
		}
	}
	return nil
}

func (c *Compiled) named(name string) int {
	return slices.IndexFunc(c.args, func(a argument) bool { return a.name == name })
}

// Fix gives the operation in which arguments have the values of fixed, JSON texts by
// the names that [Compiled.Fixes] knows; others are left out of account. What is fixed
// is not an argument any more: it is unknown to [Compiled.Check], and [Compiled.Build]
// sends it with every request. c stays as it is. It fails with
// [problem.InvalidArgument] when the API would not accept a value.
func (c *Compiled) Fix(fixed map[string]json.RawMessage) (*Compiled, error) {
	plan := c.plan.clone()
	changed := false
	for _, name := range slices.Sorted(maps.Keys(fixed)) {
		if !c.Fixes(name) {
			continue
		}
		value, err := jsonscan.Parse(fixed[name], MaxSchemaDepth)
		if err != nil || value.Kind() == jsonscan.Null {
			return nil, problem.New(problem.InvalidArgument, "the fixed value of %.80q is not a JSON value", name).Fix(`give a value such as "acme", 7 or true`)
		}
		if err := c.fix(plan, name, value); err != nil {
			return nil, err
		}
		changed = true
	}
	if !changed {
		return c, nil
	}
	return plan.Compile()
}

// clone copies what [Compiled.Fix] changes.
func (p *Plan) clone() *Plan {
	out := *p
	out.Params = slices.Clone(p.Params)
	if p.Body != nil {
		body := p.Body.clone()
		body.Variants = slices.Clone(body.Variants)
		for i := range body.Variants {
			body.Variants[i] = body.Variants[i].clone()
		}
		out.Body = &body
	}
	return &out
}

func (body *Body) clone() Body {
	out := *body
	out.Fields, out.Fixed = slices.Clone(body.Fields), slices.Clone(body.Fixed)
	return out
}

// fix puts a value into the plan, everywhere an argument is used.
func (c *Compiled) fix(plan *Plan, name string, value jsonscan.Value) error {
	text := string(jsonscan.AppendMinified(nil, value.Raw()))
	if slot := c.named(name); slot >= 0 {
		if err := c.accepts(name, c.args[slot].schema, value); err != nil {
			return err
		}
	}
	for i := range plan.Params {
		p := &plan.Params[i]
		if p.Arg != name {
			continue
		}
		if why := unsendable(p.In, value); why != "" {
			return problem.New(problem.InvalidArgument, "the fixed value of %.80q %s", name, why).Fix("fix another value")
		}
		p.Arg, p.Const, p.Fixed = "", text, true
	}
	for n := range c.bodies { // the body, then its variants
		b := plan.Body
		if n > 0 {
			b = &plan.Body.Variants[n-1]
		}
		for i := range b.Fields {
			if f := &b.Fields[i]; f.Arg == name || f.Else == name {
				f.Arg, f.Else, f.Const, f.Fixed = "", "", text, true
			}
		}
		if member := c.bodies[n].member(name); member != nil {
			if err := c.accepts(name, member.Schema, value); err != nil {
				return err
			}
			b.Fixed = append(b.Fixed, Field{Name: member.Name, Const: text})
			b.Schema = b.Schema.without(member.Name)
		}
	}
	return nil
}

// unsendable says why a scalar cannot travel in its place; "": it can.
func unsendable(in Location, v jsonscan.Value) string {
	text := v.AppendText(nil)
	switch {
	case in == InPath && (len(text) == 0 || string(text) == "." || string(text) == ".."):
		return "would leave its place in the path"
	case in == InHeader && !isHeaderValue(text):
		return "has characters that a header cannot have"
	}
	return ""
}

// accepts checks a fixed value against the schema of its argument.
func (c *Compiled) accepts(name string, s *Schema, v jsonscan.Value) error {
	k := checkers.Get().(*checker)
	defer k.release()
	k.c = c
	k.path = append(append(k.path, '/'), pointerEscape(name)...)
	k.value(s, v)
	if err := k.error(); err != nil {
		detail := err.Error()
		if p := problem.As(err); p != nil {
			detail = p.Detail // without what an agent is told to do about it
		}
		return problem.New(problem.InvalidArgument, "the API does not accept the fixed value of %.80q: %s", name, detail).Because(err).
			Fix("give another value; what the argument takes is in the tool's input schema")
	}
	return nil
}

// without is s without a member.
func (s *Schema) without(name string) *Schema {
	out := *s
	out.Properties = slices.DeleteFunc(slices.Clone(s.Properties), func(p Property) bool { return p.Name == name })
	out.Required = slices.DeleteFunc(slices.Clone(s.Required), func(r string) bool { return r == name })
	out.AnyOf = slices.Clone(s.AnyOf)
	if out.Disc == name {
		out.Disc = ""
	}
	for i := range out.AnyOf {
		out.AnyOf[i] = out.AnyOf[i].without(name)
	}
	return &out
}

// withFixed is the body that is one argument with its fixed members, which replace
// those that were given.
func withFixed(fixed []Field, v jsonscan.Value) jsonscan.Value {
	if v.Exists() && v.Kind() != jsonscan.Object {
		return v
	}
	for i := range fixed {
		v = jsonscan.Trusted(jsonscan.AppendSet(nil, v, fixed[i].Name, []byte(fixed[i].Const)))
	}
	return v
}
