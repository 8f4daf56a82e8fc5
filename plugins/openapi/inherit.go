package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// maxSubtypes bounds the subtypes of one schema; the longest known list of a real
// specification has 60.
const maxSubtypes = 100

// maxSubtyped bounds the subtypes that one specification makes: where a subtype has
// subtypes by another discriminator, they multiply. Real ones make a few hundred.
const maxSubtyped = 5000

// subtype is a component that extends another by allOf.
type subtype struct {
	name string
	at   value
}

// extensions are the components that extend others, by what they extend. They are
// collected when the first schema with a discriminator needs them: by OpenAPI
// ("Discriminator Object"), a schema with a discriminator stands for all of the
// schemas that include it by allOf.
func (c *compiler) extensions(d *document) map[value][]subtype {
	if m, ok := c.extends[d]; ok {
		return m
	}
	m := map[value][]subtype{}
	c.extends[d] = m
	for _, list := range [...]value{d.root().get("components").get("schemas"), d.root().get("definitions")} {
		for k, s := range list.members() {
			c.tick()
			if c.err != nil {
				return m
			}
			if _, isRef := refOf(s); isRef {
				t, ok := c.follow(s, "schema")
				if !ok {
					continue
				}
				s = t
			}
			for _, part := range s.get("allOf").elements() {
				ref, isRef := refOf(part)
				if !isRef || strings.Contains(ref.text(), "://") {
					continue
				}
				if base, ok := c.target(ref); ok && base != s {
					m[base] = append(m[base], subtype{k.text(), s})
				}
			}
		}
	}
	return m
}

// subtypes are the components that extend base, those that extend these too, in
// the order of the documents.
func (c *compiler) subtypes(base value) []subtype {
	if list, ok := c.extended[base]; ok {
		return list
	}
	var out []subtype
	var walk func(at value, depth int)
	walk = func(at value, depth int) {
		for _, d := range [...]*document{c.main, base.d} {
			for _, s := range c.extensions(d)[at] {
				if len(out) >= maxSubtypes || s.at == base || slices.ContainsFunc(out, func(o subtype) bool { return o.at == s.at }) {
					continue
				}
				out = append(out, s)
				if depth < maxFold {
					walk(s.at, depth+1)
				}
			}
		}
	}
	walk(base, 0)
	c.extended[base] = out
	return out
}

// discriminatorName is the member that a discriminator names: an object's
// propertyName, and Swagger 2.0's text.
func discriminatorName(disc value) string {
	if disc.isString() {
		return disc.text()
	}
	return disc.get("propertyName").str()
}

// inherit gives a schema with a discriminator, and no alternatives of its own, its
// subtypes as alternatives. Where it is itself folded into a subtype it stays what
// it is.
func (c *compiler) inherit(s *schema, v, disc value, stack []value) {
	name := discriminatorName(disc)
	if name == "" || c.within == name || c.nested {
		return
	}
	if len(c.subtyped) >= maxSubtyped {
		c.manySubtypes()
		return
	}
	list := c.subtypes(v)
	for i, over := range stack[:len(stack)-1] {
		_, isRef := refOf(over)
		alone := over.get("allOf").size() == 1 && !over.get("properties").exists()
		if !isRef && !alone || slices.ContainsFunc(list, func(o subtype) bool { return o.at == stack[i] }) {
			return
		}
	}
	a := alternatives{disc: disc}
	add := func(at value, component string, values []string) {
		if i := slices.IndexFunc(a.branches, func(b child) bool { return b.at == at }); i >= 0 {
			a.values[i] = append(a.values[i], values...)
			return
		}
		if len(a.branches) < maxSubtypes {
			a.branches = append(a.branches, child{at: at, disc: name, name: component, nested: c.within != ""})
			a.values = append(a.values, values)
		}
	}
	for k, m := range disc.get("mapping").members() {
		if at, component := c.mapped(m, list); at.exists() {
			add(at, component, []string{cutText(k.text(), maxPropertyText)})
		}
	}
	for _, o := range list {
		if slices.ContainsFunc(a.branches, func(b child) bool { return b.at == o.at }) {
			continue
		}
		key := o.name
		if x := o.at.get("x-ms-discriminator-value"); x.isString() {
			key = x.text()
		} else if own := c.fixedValue(o.at, name, 0); own != "" {
			key = own
		}
		add(o.at, o.name, []string{cutText(key, maxPropertyText)})
	}
	if len(a.branches) == 0 {
		return
	}
	// Values that the discriminating member lists and no subtype has are of the
	// schema itself; so is its name, which is published when nothing else is known.
	var rest []string
	for i := range s.props {
		if s.props[i].name == name {
			for _, e := range c.normal(&s.props[i].child).enum {
				text := e.text()
				if !slices.ContainsFunc(a.values, func(known []string) bool { return slices.Contains(known, text) }) && len(rest) < maxEnumValues {
					rest = append(rest, text)
				}
			}
		}
	}
	if len(rest) > 0 {
		add(v, s.name, rest)
	}
	if len(a.branches) > 1 || len(a.values) > 0 {
		s.alts = append(s.alts, a)
		s.types |= operation.TypeObject
	}
}

// fixedValue is the one value that a schema, or what it extends, gives a member;
// "" when there is none.
func (c *compiler) fixedValue(at value, member string, depth int) string {
	for _, p := range at.get("allOf").elements() {
		if _, isRef := refOf(p); !isRef && depth < 2 {
			if own := c.fixedValue(p, member, depth+1); own != "" {
				return own
			}
		}
	}
	m := at.get("properties").get(member)
	if k := m.get("const"); k.isString() {
		return k.text()
	}
	if e := m.get("enum"); e.isArray() && e.size() == 1 && e.element(0).isString() {
		return e.element(0).text()
	}
	return ""
}

// mapped is the schema that an entry of a discriminator's mapping names: a
// reference, or the name of a component.
func (c *compiler) mapped(m value, list []subtype) (at value, component string) {
	name := m.str()
	if i := slices.IndexFunc(list, func(o subtype) bool { return o.name == refName(name) }); i >= 0 {
		return list[i].at, list[i].name
	}
	if name == "" {
		return value{}, ""
	}
	if !strings.ContainsAny(name, "/#.") {
		name = "#/components/schemas/" + name
	}
	t := c.lookUp(m, name)
	if !t.exists() {
		return value{}, ""
	}
	return t.deref(), refName(name)
}

// subtype is a subtype's schema with what it extends, but not what extends it by
// the same discriminator: the list of alternatives has that already.
func (c *compiler) subtype(ch *child) *schema {
	key := subtypeKey{ch.at, ch.disc, ch.nested}
	if s, ok := c.subtyped[key]; ok {
		return s
	}
	if c.created >= maxSchemas || len(c.subtyped) >= maxSubtyped {
		c.manySubtypes()
		return c.anything
	}
	s := c.newSchema(ch.at)
	s.name = ch.name
	c.subtyped[key] = s
	within, nested, folds := c.within, c.nested, c.levelFolds
	c.within, c.nested = ch.disc, ch.nested
	c.fold(s, ch.at, nil)
	c.infer(s)
	c.within, c.nested, c.levelFolds = within, nested, folds
	return s
}

type subtypeKey struct {
	at     value
	disc   string
	nested bool
}

// leadsBack reports alternatives of which one is a schema that is being folded: a
// base lists its subtypes, and each of these includes the base.
func (c *compiler) leadsBack(m value, stack []value) bool {
	for _, b := range m.elements() {
		ref, isRef := refOf(b)
		if !isRef {
			continue
		}
		if t, ok := c.target(ref); ok && slices.Contains(stack[:len(stack)-1], t) {
			return true
		}
	}
	return false
}

func (c *compiler) manySubtypes() {
	c.warn(codeSchemaBudget, c.main.root(), "simplify its discriminators", "its subtypes combine to more than %d; the rest is left open", maxSubtyped)
}
