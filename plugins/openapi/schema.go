package openapi

import (
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/plugins/operation"
)

// schema is one level of a schema, normalised from whatever version: references
// followed, allOf merged, nullable folded in. Its children are normalised when
// they are asked for, so that a cycle of references is a cycle of pointers.
type schema struct {
	at       value  // where it was first seen, for messages
	name     string // component it was referenced as
	types    operation.Type
	null     bool
	format   string
	title    value
	desc     value
	enum     []value
	hasEnum  bool
	props    []prop
	required []string
	pattern  []prop // patternProperties by their patterns
	addl     child
	hasAddl  bool // additionalProperties has a schema that says something
	closed   bool // additionalProperties: false
	extra    bool // additionalProperties: true, in as many words
	items    child
	prefix   []child
	alts     []alternatives
	// evaluated: unevaluatedProperties: false, which closes what has no part that holds only sometimes.
	evaluated bool

	min, max, xmin, xmax, multiple string // literal numbers
	minLen, maxLen                 bound
	minItems, maxItems             bound
	minProps, maxProps             bound
	regexp                         string
	unique                         bool
	media, encoding                string   // contentMediaType, contentEncoding
	labels                         value    // x-enum-varnames and its like: names of the values
	meanings                       value    // x-enum-descriptions
	titles                         []string // of the values, from alternatives that are one value each

	readOnly, writeOnly, deprecated bool
	never                           bool // the schema false: no value is valid
	open                            bool // the author's schema could not be used; anything is let through
	def, example, xml               value
	rare                            *rare // what few schemas say
}

// bound is an optional non-negative integer.
type bound struct {
	n   int
	set bool
}

// child is a schema not yet normalised: one place, or several that must all
// hold.
type child struct {
	at   value
	more []value
	disc string // not empty: a subtype by this discriminator, without subtypes of its own
	name string // component of the subtype
	// nested: a subtype of a subtype, by another discriminator, which has none itself
	nested bool
	s      *schema
}

func (ch *child) exists() bool { return ch.at.exists() || ch.s != nil }

type prop struct {
	name string
	child
}

// alternatives is one oneOf or anyOf with the discriminator beside it.
type alternatives struct {
	branches []child
	disc     value
	// values are the discriminator's values of each branch where they were found by
	// inheritance; nil: the mapping and the names of the components say.
	values [][]string
}

// Bounds of normalising.
const (
	// maxSchemas is how many schema levels one specification may make; GitHub
	// makes 40,000. It stops combinations of allOf that multiply.
	maxSchemas = 1 << 20
	// maxFold bounds the depth of allOf and $ref inside one level.
	maxFold = 64
	// maxLevelFolds bounds the objects merged into one level; real ones merge a
	// few dozen. allOf that doubles would merge 2^depth.
	maxLevelFolds = 4096
	// maxFolds bounds all merging together; GitHub needs 60,000 steps.
	maxFolds = 2 << 20
)

// normal gives the schema of a child.
func (c *compiler) normal(ch *child) *schema {
	if ch.s == nil {
		within, nested := c.within, c.nested // a member is no part of what it is a member of
		c.within, c.nested = "", false
		if ch.disc != "" {
			ch.s = c.subtype(ch)
		} else {
			ch.s = c.normalise(ch.at, ch.more)
		}
		c.within, c.nested = within, nested
	}
	return ch.s
}

// schemaAt normalises the schema at v; anything goes when there is none.
func (c *compiler) schemaAt(v value) *schema { return c.normalise(v, nil) }

func (c *compiler) normalise(at value, more []value) *schema {
	if !at.exists() {
		return c.anything
	}
	if c.created >= maxSchemas {
		c.warn(codeSchemaBudget, c.main.root(), "split the specification", "its schemas combine to more than %d; the rest is left open", maxSchemas)
		return c.anything
	}
	if len(more) > 0 {
		return c.combine(at, more)
	}
	ref, isRef := refOf(at)
	if isRef && !c.keepsSiblings(at) {
		return c.referenced(ref)
	}
	// What may lead back to itself without a plain reference is remembered by
	// its place, so that the graph of schemas is finite.
	remember := isRef || at.node().flags&flagShared != 0 || at.get("allOf").exists() || at.get("oneOf").exists() || at.get("anyOf").exists()
	if remember {
		if s, ok := c.memo[at]; ok {
			return s
		}
	}
	s := c.newSchema(at)
	if remember {
		c.memo[at] = s
		if target, null, ok := c.wrapped(at); ok {
			c.wrap(s, c.normalise(target, nil), null)
			return s
		}
	}
	c.fold(s, at, nil)
	c.infer(s)
	return s
}

// wrapped recognises the commonest combinator of real specifications, a single
// reference with annotations beside it: {$ref, description}, {allOf: [$ref],
// nullable}, {anyOf: [$ref, null]}. null says that null is also allowed.
func (c *compiler) wrapped(at value) (target value, null, ok bool) {
	for k, m := range at.members() {
		switch string(k.raw()) {
		case "description", "title", "default", "example", "examples", "deprecated", "readOnly", "writeOnly", "xml", "externalDocs", "summary":
		case "nullable", "x-nullable":
			null = null || m.truth()
		case "allOf", "oneOf", "anyOf":
			for _, b := range m.elements() {
				if !k.is("allOf") && isNullSchema(b) {
					null = true
					continue
				}
				if _, isRef := refOf(b); !isRef || c.keepsSiblings(b) || target.exists() {
					return value{}, false, false
				}
				target = b
			}
		default:
			if len(k.raw()) < 2 || string(k.raw()[:2]) != "x-" {
				return value{}, false, false
			}
		}
	}
	return target, null, target.exists()
}

// wrap makes s what base is, with the annotations of its own place. The children
// are shared: hundreds of places wrap the same component.
func (c *compiler) wrap(s, base *schema, null bool) {
	at := s.at
	*s = *base
	s.at = at
	s.null = base.null || null
	keepFirst(&s.desc, at.get("description"), value{})
	keepFirst(&s.title, at.get("title"), value{})
	keepFirst(&s.def, at.get("default"), value{})
	keepFirst(&s.example, c.exampleOf(at), value{})
	s.readOnly = s.readOnly || at.get("readOnly").truth()
	s.writeOnly = s.writeOnly || at.get("writeOnly").truth()
	s.deprecated = at.get("deprecated").truth()
}

func (c *compiler) newSchema(at value) *schema {
	c.created++
	return &schema{at: at}
}

// combine makes the schema that all of several places describe.
func (c *compiler) combine(at value, more []value) *schema {
	key := make([]byte, 0, 64)
	for _, v := range append([]value{at}, more...) {
		key = fmt.Appendf(key, "%p/%d;", v.d, v.i)
	}
	if s, ok := c.combined[string(key)]; ok {
		return s
	}
	s := c.newSchema(at)
	c.combined[string(key)] = s
	c.fold(s, at, nil)
	for _, v := range more {
		c.fold(s, v, nil)
	}
	c.infer(s)
	return s
}

// keepsSiblings reports whether members beside a $ref count: in 3.1 and later
// all do; before only descriptions are kept, which authors do write.
func (c *compiler) keepsSiblings(at value) bool {
	for k, m := range at.members() {
		if k.is("$ref") || k.is("$dynamicRef") {
			continue
		}
		if c.version >= openapi31 || (k.is("description") || k.is("title")) && m.isString() {
			return true
		}
	}
	return false
}

// referenced is the schema a plain reference names; shared by all who refer.
func (c *compiler) referenced(ref value) *schema {
	t, ok := c.target(ref)
	if !ok {
		return c.anything
	}
	if s, ok := c.memo[t]; ok {
		return s
	}
	if chain, isRef := refOf(t); isRef && !c.keepsSiblings(t) {
		if c.hops++; c.hops > maxHops {
			c.warn(codeRefCycle, ref, "point the reference at a schema", "the schema reference %s leads back to itself or is too long a chain", quoteShort(ref.text()))
			c.hops = 0
			c.memo[t] = c.anything
			return c.anything
		}
		s := c.referenced(chain)
		c.hops = 0
		c.memo[t] = s
		return s
	}
	s := c.newSchema(t)
	s.name = refName(ref.text())
	c.memo[t] = s
	c.fold(s, t, nil)
	c.infer(s)
	return s
}

// fold merges what v says into s (rule 8). stack holds the places that are being
// folded, to cut cycles.
func (c *compiler) fold(s *schema, v value, stack []value) {
	switch v.kind() {
	case kindBool:
		if v.isFalse() {
			s.never = true
		}
		return
	case kindObject:
	default:
		c.warn(codeWrongType, v, "write a schema object", "a schema must be an object, not %s", v.kind())
		return
	}
	c.tick()
	if len(stack) == 0 {
		c.levelFolds = 0
	}
	c.folds++
	c.levelFolds++
	if c.folds > maxFolds || c.err != nil {
		c.warn(codeSchemaBudget, c.main.root(), "simplify allOf and references", "its schemas merge more than %d parts; the rest is left open", maxFolds)
		return
	}
	if c.levelFolds > maxLevelFolds {
		c.warn(codeSchemaBudget, s.at, "simplify allOf and references", "this schema merges more than %d parts; the rest is left open", maxLevelFolds)
		return
	}
	if len(stack) > maxFold || slices.Contains(stack, v) {
		c.warn(codeRefCycle, v, "remove the cycle of allOf or $ref", "this schema contains itself through allOf or $ref")
		return
	}
	stack = append(stack, v)
	desc, title, def, example := s.desc, s.title, s.def, s.example
	var disc value
	var alts []value
	for k, m := range v.members() {
		switch string(k.raw()) {
		case "$ref", "$dynamicRef":
			c.foldRef(s, m, stack)
		case "allOf":
			if !m.isArray() {
				c.wrongType(m, "allOf", "an array")
				continue
			}
			for _, branch := range m.elements() {
				c.fold(s, branch, stack)
			}
		case "oneOf", "anyOf":
			if m.isArray() {
				alts = append(alts, m)
			} else {
				c.wrongType(m, string(k.raw()), "an array")
			}
		case "discriminator":
			disc = m
		}
	}
	c.foldKeywords(s, v, len(stack) > 1)
	for _, m := range alts {
		c.foldAlternatives(s, m, disc, stack)
	}
	if len(alts) == 0 && disc.exists() {
		c.inherit(s, v, disc, stack)
	}
	// What a level says itself goes before what its branches say; what a level
	// before it said goes before both.
	keepFirst(&s.desc, desc, v.get("description"))
	keepFirst(&s.title, title, v.get("title"))
	keepFirst(&s.def, def, v.get("default"))
	keepFirst(&s.example, example, c.exampleOf(v))
}

func keepFirst(dst *value, before, own value) {
	if before.exists() {
		*dst = before
	} else if own.exists() {
		*dst = own
	}
}

// exampleOf is the first example that a schema, parameter or media type declares;
// nothing when there is none.
func (c *compiler) exampleOf(v value) value {
	if e := v.get("example"); e.exists() {
		return e
	}
	if e := v.get("x-example"); e.exists() {
		return e
	}
	list := v.get("examples")
	if list.isArray() { // of JSON Schema
		return list.element(0)
	}
	for _, e := range list.members() { // Example Objects of OpenAPI
		e = c.resolved(e)
		for _, name := range [...]string{"value", "dataValue"} {
			if x := e.get(name); x.exists() {
				return x
			}
		}
	}
	return value{}
}

func (c *compiler) wrongType(v value, what, want string) {
	c.warn(codeWrongType, v, "write "+want, "%s must be %s, not %s", what, want, v.kind())
}

func (c *compiler) foldRef(s *schema, ref value, stack []value) {
	if !ref.isString() {
		c.wrongType(ref, "$ref", "a string")
		return
	}
	t, ok := c.target(ref)
	if !ok {
		return
	}
	if s.name == "" {
		s.name = refName(ref.text())
	}
	c.fold(s, t, stack)
}

// foldAlternatives adds a oneOf or anyOf. Null branches become null; a single
// branch that is left is not an alternative (rule 9).
func (c *compiler) foldAlternatives(s *schema, m, disc value, stack []value) {
	var a alternatives
	if len(stack) > 1 && c.leadsBack(m, stack) {
		return
	}
	for _, b := range m.elements() {
		if isNullSchema(b) {
			s.null = true
			continue
		}
		if !b.isObject() && b.kind() != kindBool {
			c.wrongType(b, "a branch", "a schema object")
			continue
		}
		a.branches = append(a.branches, child{at: b})
	}
	switch len(a.branches) {
	case 0:
	case 1:
		c.fold(s, a.branches[0].at, stack)
	default:
		if disc.isObject() || disc.isString() {
			a.disc = disc
		}
		s.alts = append(s.alts, a)
	}
}

// onlyNull reports a schema that allows null and nothing else.
func (s *schema) onlyNull() bool {
	return s.null && s.types == 0 && !s.hasEnum && len(s.alts) == 0 && s.at.exists() && isNullSchema(s.at)
}

// isNullSchema reports {type: null} and {enum: [null]}.
func isNullSchema(v value) bool {
	if t := v.get("type"); t.exists() {
		return t.kind() == kindNull || t.is("null")
	}
	if e := v.get("enum"); e.isArray() && e.size() == 1 {
		return e.element(0).kind() == kindNull
	}
	if v.isObject() && v.get("const").kind() == kindNull {
		return true
	}
	return false
}
