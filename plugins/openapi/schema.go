package openapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	pattern  []child // patternProperties
	addl     child
	hasAddl  bool // additionalProperties has a schema that says something
	closed   bool // additionalProperties: false
	items    child
	prefix   []child
	alts     []alternatives

	min, max, xmin, xmax, multiple string // literal numbers
	minLen, maxLen                 bound
	minItems, maxItems             bound
	minProps, maxProps             bound
	regexp                         string
	unique                         bool
	media, encoding                string // contentMediaType, contentEncoding

	readOnly, writeOnly, deprecated bool
	never                           bool // the schema false: no value is valid
	open                            bool // the author's schema could not be used; anything is let through
	def, example, xml               value
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
	s    *schema
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
		ch.s = c.normalise(ch.at, ch.more)
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
		return c.referenced(at, ref)
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
	keepFirst(&s.example, exampleOf(at), value{})
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
func (c *compiler) referenced(at, ref value) *schema {
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
		s := c.referenced(t, chain)
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
	// What a level says itself goes before what its branches say; what a level
	// before it said goes before both.
	keepFirst(&s.desc, desc, v.get("description"))
	keepFirst(&s.title, title, v.get("title"))
	keepFirst(&s.def, def, v.get("default"))
	keepFirst(&s.example, example, exampleOf(v))
}

func keepFirst(dst *value, before, own value) {
	if before.exists() {
		*dst = before
	} else if own.exists() {
		*dst = own
	}
}

func exampleOf(v value) value {
	if e := v.get("example"); e.exists() {
		return e
	}
	if e := v.get("x-example"); e.exists() {
		return e
	}
	if e := v.get("examples"); e.isArray() {
		return e.element(0)
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
// branch that is left is no alternative (rule 9).
func (c *compiler) foldAlternatives(s *schema, m, disc value, stack []value) {
	var a alternatives
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
		if disc.isObject() {
			a.disc = disc
		}
		s.alts = append(s.alts, a)
	}
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

// foldKeywords merges the keywords of one object, but for its combinators. branch
// says that v is a branch of an allOf or the target of a reference inside one.
func (c *compiler) foldKeywords(s *schema, v value, branch bool) {
	for k, m := range v.members() {
		switch string(k.raw()) {
		case "type":
			c.foldType(s, m)
		case "nullable", "x-nullable", "x-isnullable":
			s.null = s.null || m.truth()
		case "format":
			if s.format == "" {
				s.format = m.str()
			}
		case "enum":
			c.foldEnum(s, m)
		case "const":
			s.enum, s.hasEnum = intersect(s.enum, s.hasEnum, []value{m}), true
		case "properties":
			c.foldProperties(s, m)
		case "required":
			if m.isArray() {
				for _, r := range m.elements() {
					if len(s.required) >= maxRequired {
						break
					}
					if name := r.str(); !slices.Contains(s.required, name) {
						s.required = append(s.required, name)
					}
				}
			}
		case "additionalProperties", "unevaluatedProperties":
			if m.isFalse() {
				s.closed = s.closed || !branch && k.is("additionalProperties")
			} else if m.isObject() && m.size() > 0 && !s.hasAddl {
				s.addl, s.hasAddl = child{at: m}, true
			}
		case "patternProperties":
			for _, p := range m.members() {
				s.pattern = append(s.pattern, child{at: p})
			}
		case "items":
			c.foldItems(s, m)
		case "prefixItems":
			if len(s.prefix) == 0 {
				for _, e := range m.elements() {
					s.prefix = append(s.prefix, child{at: e})
				}
			}
		case "minimum":
			tighten(&s.min, m.number(), true)
		case "maximum":
			tighten(&s.max, m.number(), false)
		case "exclusiveMinimum":
			c.foldExclusive(&s.min, &s.xmin, v, m, true)
		case "exclusiveMaximum":
			c.foldExclusive(&s.max, &s.xmax, v, m, false)
		case "multipleOf":
			if n := m.number(); n != "" && s.multiple == "" && !strings.HasPrefix(n, "-") && n != "0" {
				s.multiple = n
			}
		case "minLength":
			raise(&s.minLen, m)
		case "maxLength":
			lower(&s.maxLen, m)
		case "minItems":
			raise(&s.minItems, m)
		case "maxItems":
			lower(&s.maxItems, m)
		case "minProperties":
			raise(&s.minProps, m)
		case "maxProperties":
			lower(&s.maxProps, m)
		case "pattern":
			if s.regexp == "" {
				s.regexp = m.str()
			}
		case "uniqueItems":
			s.unique = s.unique || m.truth()
		case "contentMediaType":
			s.media = m.str()
		case "contentEncoding":
			s.encoding = strings.ToLower(m.str())
		case "readOnly":
			s.readOnly = s.readOnly || m.truth()
		case "writeOnly":
			s.writeOnly = s.writeOnly || m.truth()
		case "deprecated":
			s.deprecated = s.deprecated || m.truth() && !branch
		case "xml":
			if m.isObject() {
				s.xml = m
			}
		}
	}
}

// maxRequired bounds the required names of one object; the most seen is 90.
const maxRequired = 1000

// foldProperties merges properties: in both means both hold.
func (c *compiler) foldProperties(s *schema, m value) {
	if !m.isObject() {
		c.wrongType(m, "properties", "an object")
		return
	}
	const linear = 24
	var index map[string]int
	had := len(s.props)
	if had > linear {
		index = make(map[string]int, had)
		for i := range s.props {
			index[s.props[i].name] = i
		}
	}
	if had == 0 {
		s.props = make([]prop, 0, m.size())
	}
	for k, p := range m.members() {
		name := k.text()
		if p.kind() == kindNull { // an empty value in YAML
			p = value{}
		}
		at := -1
		if index != nil {
			if i, ok := index[name]; ok {
				at = i
			}
		} else {
			at = slices.IndexFunc(s.props[:had], func(q prop) bool { return q.name == name })
		}
		switch {
		case at < 0:
			s.props = append(s.props, prop{name, child{at: p}})
		case !s.props[at].at.exists():
			s.props[at].at = p
		case p.exists() && s.props[at].at != p && len(s.props[at].more) < maxFold:
			s.props[at].more = append(s.props[at].more, p)
		}
	}
}

func (c *compiler) foldItems(s *schema, m value) {
	switch {
	case m.isArray(): // Swagger tuples and JSON Schema before 2020-12
		if len(s.prefix) == 0 {
			for _, e := range m.elements() {
				s.prefix = append(s.prefix, child{at: e})
			}
		}
	case !s.items.at.exists():
		s.items.at = m
	case s.items.at != m && len(s.items.more) < maxFold:
		s.items.more = append(s.items.more, m)
	}
}

func (c *compiler) foldEnum(s *schema, m value) {
	if !m.isArray() {
		c.wrongType(m, "enum", "an array")
		return
	}
	list := make([]value, 0, m.size())
	var seen map[string]bool
	if m.size() <= maxCheckedEnum {
		seen = make(map[string]bool, m.size())
	}
	for _, e := range m.elements() {
		if e.kind() == kindNull {
			s.null = true
			continue
		}
		if seen != nil && e.kind() < kindArray {
			if text := e.text(); seen[text] {
				continue
			} else {
				seen[text] = true
			}
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return
	}
	s.enum, s.hasEnum = intersect(s.enum, s.hasEnum, list), true
}

// intersect keeps the members of a that are in b; b when there is no a yet, and
// a when nothing would be left.
func intersect(a []value, has bool, b []value) []value {
	if !has {
		return b
	}
	in := make(map[string]bool, len(b))
	for _, v := range b {
		in[v.text()] = true
	}
	var out []value
	for _, v := range a {
		if in[v.text()] {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return a
	}
	return out
}

var typeNames = map[string]operation.Type{
	"null": operation.TypeNull, "boolean": operation.TypeBoolean, "integer": operation.TypeInteger,
	"number": operation.TypeNumber, "string": operation.TypeString, "array": operation.TypeArray, "object": operation.TypeObject,
}

// looseTypes are names that are no JSON types but are seen in specifications.
var looseTypes = map[string]operation.Type{
	"int": operation.TypeInteger, "int32": operation.TypeInteger, "int64": operation.TypeInteger, "long": operation.TypeInteger,
	"float": operation.TypeNumber, "double": operation.TypeNumber, "decimal": operation.TypeNumber, "bool": operation.TypeBoolean,
	"str": operation.TypeString, "text": operation.TypeString, "date": operation.TypeString, "date-time": operation.TypeString,
	"datetime": operation.TypeString, "uuid": operation.TypeString, "uri": operation.TypeString, "url": operation.TypeString,
	"email": operation.TypeString, "list": operation.TypeArray, "map": operation.TypeObject, "dict": operation.TypeObject,
}

func (c *compiler) foldType(s *schema, m value) {
	var t operation.Type
	one := func(v value) {
		if v.kind() == kindNull {
			s.null = true
			return
		}
		name := v.str()
		if name == "null" {
			s.null = true
			return
		}
		if b, ok := typeNames[name]; ok {
			t |= b
			return
		}
		if name == "file" {
			t |= operation.TypeString
			s.format = "binary"
			return
		}
		if name == "any" || name == "" {
			return
		}
		if b, ok := looseTypes[strings.ToLower(name)]; ok {
			t |= b
		} else if b, ok := typeNames[strings.ToLower(name)]; ok {
			t |= b
		}
		c.warn(codeWrongType, v, "use string, number, integer, boolean, array, object or null", "%s is not a type", quoteShort(name))
	}
	if m.isArray() {
		for _, e := range m.elements() {
			one(e)
		}
	} else {
		one(m)
	}
	if t&operation.TypeNumber != 0 {
		t &^= operation.TypeInteger
	}
	switch {
	case t == 0:
	case s.types == 0:
		s.types = t
	default:
		both := withIntegers(s.types) & withIntegers(t)
		if both&operation.TypeNumber != 0 {
			both &^= operation.TypeInteger
		}
		if both == 0 {
			c.warn(codeSchemaConflict, m, "make the types agree", "the parts of this schema disagree about its type; the first one counts")
			return
		}
		s.types = both
	}
}

func withIntegers(t operation.Type) operation.Type {
	if t&operation.TypeNumber != 0 {
		t |= operation.TypeInteger
	}
	return t
}

// tighten keeps the tighter of two literal bounds.
func tighten(dst *string, n string, lower bool) {
	if n == "" {
		return
	}
	if *dst == "" {
		*dst = n
		return
	}
	a, errA := strconv.ParseFloat(*dst, 64)
	b, errB := strconv.ParseFloat(n, 64)
	if errA == nil && errB == nil && (lower && b > a || !lower && b < a) {
		*dst = n
	}
}

// foldExclusive reads both forms of exclusive bounds: a number (3.1) or a flag
// that belongs to the bound beside it (3.0).
func (c *compiler) foldExclusive(incl, excl *string, v, m value, lower bool) {
	if n := m.number(); n != "" {
		tighten(excl, n, lower)
		return
	}
	if !m.truth() {
		return
	}
	name := "maximum"
	if lower {
		name = "minimum"
	}
	n := v.get(name).number()
	if n == "" {
		return
	}
	if c.version >= openapi31 {
		c.warn(codeSchemaKeyword, m, "write the number itself", "a boolean exclusive bound belongs to OpenAPI 3.0; it is read with the %s beside it", name)
	}
	tighten(excl, n, lower)
	if *incl == n {
		*incl = ""
	}
}

func raise(b *bound, m value) {
	if n, ok := m.count(); ok && (!b.set || n > b.n) {
		*b = bound{n, true}
	}
}

func lower(b *bound, m value) {
	if n, ok := m.count(); ok && (!b.set || n < b.n) {
		*b = bound{n, true}
	}
}

// infer finishes a level: exclusive flags that came before their bound, and the
// type where the author left it to be guessed (rule 14).
func (c *compiler) infer(s *schema) {
	if s.xmin != "" && s.min == s.xmin {
		s.min = ""
	}
	if s.xmax != "" && s.max == s.xmax {
		s.max = ""
	}
	if s.types != 0 || s.never {
		return
	}
	switch {
	case len(s.props) > 0 || s.hasAddl || s.closed || len(s.pattern) > 0:
		s.types = operation.TypeObject
	case s.items.exists() || len(s.prefix) > 0:
		s.types = operation.TypeArray
	case s.hasEnum:
		for _, e := range s.enum {
			switch e.kind() {
			case kindString:
				s.types |= operation.TypeString
			case kindNumber:
				if wholeLiteral(e.number()) {
					s.types |= operation.TypeInteger
				} else {
					s.types |= operation.TypeNumber
				}
			case kindBool:
				s.types |= operation.TypeBoolean
			case kindArray:
				s.types |= operation.TypeArray
			default:
				s.types |= operation.TypeObject
			}
		}
		if s.types&operation.TypeNumber != 0 {
			s.types &^= operation.TypeInteger
		}
	case len(s.alts) > 0:
	case s.regexp != "" || s.minLen.set || s.maxLen.set || s.format != "" && stringFormat(s.format):
		s.types = operation.TypeString
	case s.min != "" || s.max != "" || s.format == "int32" || s.format == "int64":
		s.types = operation.TypeNumber
	}
}

func wholeLiteral(n string) bool {
	return n != "" && strings.Trim(n, "-0123456789") == ""
}

func stringFormat(f string) bool {
	switch f {
	case "int32", "int64", "float", "double", "int-or-string":
		return false
	}
	return true
}
