package openapi

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

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
				s.evaluated = s.evaluated || !branch && k.is("unevaluatedProperties")
			} else if k.is("additionalProperties") && (m.isTrue() || m.isObject() && m.size() == 0) {
				s.extra = true
			} else if m.isObject() && m.size() > 0 && !s.hasAddl {
				s.addl, s.hasAddl = child{at: m}, true
			}
		case "patternProperties":
			for k, p := range m.members() {
				s.pattern = append(s.pattern, prop{k.text(), child{at: p}})
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
		case "dependentRequired", "dependencies", "dependentSchemas", "not", "if", "propertyNames", "contains", "unevaluatedItems":
			c.foldRare(s, v, string(k.raw()), m)
		case "x-enum-varnames", "x-enumNames", "x-enum-names", "x-enumnames", "x-enum-varNames":
			s.labels = m
		case "x-enum-descriptions", "x-enumDescriptions", "x-enum-description", "x-enumdescriptions":
			s.meanings = m
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
	// Some authors keep the members in a place of their own. A member that is called
	// $ref has a schema, not a text.
	if _, isRef := refOf(m); isRef {
		t, ok := c.follow(m, "properties")
		if !ok || !t.isObject() {
			return
		}
		m = t
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

// patternNames reads patternProperties beside additionalProperties: false as what
// names of members may be: that can be told and checked.
func (c *compiler) patternNames(s *schema) {
	if !s.closed || len(s.pattern) == 0 || s.rare != nil && s.rare.names.exists() {
		return
	}
	var names []string
	for i := range s.props {
		names = append(names, "^"+regexp.QuoteMeta(s.props[i].name)+"$")
	}
	for i := range s.pattern {
		names = append(names, s.pattern[i].name)
	}
	re := strings.Join(names, "|")
	if len(re) > maxPattern || !c.compiles(re) {
		return
	}
	r := rare{}
	if s.rare != nil {
		r = *s.rare // wrapped schemas share it
	}
	r.names = child{s: &schema{at: s.at, types: operation.TypeString, regexp: re}}
	s.rare = &r
}

// tuple reads items: false beside prefixItems: there are no more items than those.
func (c *compiler) tuple(s *schema) {
	if n := len(s.prefix); n > 0 && s.items.exists() && s.items.at.isFalse() && (!s.maxItems.set || s.maxItems.n > n) {
		s.maxItems = bound{n, true}
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

// looseTypes are names that are not JSON types but are seen in specifications.
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
	s.closed = s.closed || s.evaluated && len(s.alts) == 0 && s.rare == nil && !s.extra && !s.hasAddl
	if s.xmin != "" && s.min == s.xmin {
		s.min = ""
	}
	if s.xmax != "" && s.max == s.xmax {
		s.max = ""
	}
	if s.types == operation.TypeArray && s.hasEnum {
		c.enumOfItems(s)
	}
	s.finishRare()
	c.patternNames(s)
	c.tuple(s)
	if s.types != 0 || s.never {
		return
	}
	switch {
	case len(s.props) > 0 || s.hasAddl || s.closed || len(s.pattern) > 0:
		s.types = operation.TypeObject
	case (s.items.exists() || len(s.prefix) > 0) && len(s.alts) == 0: // beside alternatives it is for those that are arrays
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

// enumOfItems gives the items of an array the enum that authors write beside them: as an
// enum of the array no value could match.
func (c *compiler) enumOfItems(s *schema) {
	for _, e := range s.enum {
		if e.kind() == kindArray {
			return
		}
	}
	items := *c.anything
	if s.items.exists() {
		items = *c.normal(&s.items)
	}
	if items.hasEnum || items.types&(operation.TypeArray|operation.TypeObject) != 0 || len(items.alts) > 0 || items.never {
		return
	}
	c.warn(codeWrongType, s.at, "write the enum under items", "the enum of an array lists values of its items; it is taken as theirs")
	items.at, items.open, items.enum, items.hasEnum = s.at, false, s.enum, true
	c.infer(&items)
	s.items, s.enum, s.hasEnum = child{s: &items}, nil, false
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
