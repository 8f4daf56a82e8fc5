package openapi

import (
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of the private schemas of one plan.
const (
	maxPlanNodes     = 2000     // schemas; guards of reference §5 allow as much per tool
	maxCheckedEnum   = 1000     // values that are checked; more are let through
	maxCheckedBytes  = 16 << 10 // bytes of one enum
	maxEnumValueSize = 1024     // bytes of one value that is an object or array
)

// planner makes the private schemas of one operation: everything that is checked
// before a request is sent. They go as deep as the published schema, for an
// agent knows nothing of what lies below.
type planner struct {
	c     *compiler
	depth int
	nodes int
	files int // as in publisher
	xml   bool
	stack []*schema
}

// schema converts one level and what lies below; nil means anything.
func (p *planner) schema(s *schema, depth int) *operation.Schema {
	if s == p.c.anything || s.never || p.nodes >= maxPlanNodes || len(p.stack) > maxFold || slices.Contains(p.stack, s) {
		return nil
	}
	if depth > p.depth && (len(s.props) > 0 || len(s.alts) > 0) {
		return nil
	}
	p.c.tick()
	p.nodes++
	p.stack = append(p.stack, s)
	defer func() { p.stack = p.stack[:len(p.stack)-1] }()

	o := &operation.Schema{Type: s.types}
	if s.null && s.types != 0 {
		o.Type |= operation.TypeNull
	}
	if depth == p.files && isFile(s) && s.types&operation.TypeArray == 0 {
		o.Type = 0
		o.Media = "application/octet-stream"
		if s.media != "" {
			o.Media = s.media
		}
		o.Base64 = s.format == "byte" || s.format == "base64" || s.encoding != ""
		return o
	}
	if s.onlyNull() {
		o.Type = operation.TypeNull
	}
	p.leaf(o, s)
	if p.xml {
		o.XML = xmlOf(s)
	}
	for i := range s.props {
		if p.nodes >= maxPlanNodes {
			break
		}
		q := &s.props[i]
		ps := p.c.normal(&q.child)
		if ps.never || ps.readOnly {
			continue
		}
		o.Properties = append(o.Properties, operation.Property{Name: q.name, Schema: p.schema(ps, depth+1)})
	}
	for _, r := range s.required {
		if i := slices.IndexFunc(s.props, func(q prop) bool { return q.name == r }); i >= 0 {
			if ps := p.c.normal(&s.props[i].child); ps.readOnly || ps.never || ps.null && ps.def.exists() {
				continue
			}
		} else if len(s.props) > 0 {
			continue // declared nowhere: an agent cannot know of it
		}
		o.Required = append(o.Required, r)
	}
	// What is not declared may match a pattern, whose schema is another one.
	switch {
	case s.hasAddl && len(s.pattern) == 0:
		o.Additional = p.schema(p.c.normal(&s.addl), depth+1)
	case s.closed && len(s.pattern) == 1:
		o.Additional = p.schema(p.c.normal(&s.pattern[0].child), depth+1)
	}
	// patternProperties are let through: what is not declared may match one. So
	// is everything when the properties are not all here.
	o.Closed = s.closed && len(s.pattern) == 0 && len(s.alts) == 0 && p.nodes < maxPlanNodes
	if s.items.exists() {
		o.Items = p.schema(p.c.normal(&s.items), depth)
	}
	if len(s.prefix) > 0 && len(s.prefix) <= maxListedEnum {
		for i := range s.prefix {
			o.Prefix = append(o.Prefix, p.schema(p.c.normal(&s.prefix[i]), depth))
		}
		if !slices.ContainsFunc(o.Prefix, func(q *operation.Schema) bool { return q != nil }) {
			o.Prefix = nil
		}
		for i := range o.Prefix {
			if o.Prefix[i] == nil {
				o.Prefix[i] = &operation.Schema{}
			}
		}
	}
	o.Rare = p.rare(s)
	p.alternatives(o, s, depth)
	return o
}

// xmlOf reads the XML Object of a schema; nil when it says nothing.
func xmlOf(s *schema) *operation.XML {
	x := s.xml
	if !x.exists() {
		return nil
	}
	return &operation.XML{
		Name: cutPlain(x.get("name").str(), maxPointerToken), Namespace: cutPlain(x.get("namespace").str(), maxURL), Prefix: cutPlain(x.get("prefix").str(), maxPointerToken),
		Attribute: x.get("attribute").truth() || x.get("nodeType").is("attribute"), Wrapped: x.get("wrapped").truth(),
	}
}

// alternatives converts each group of alternatives: the first is AnyOf, the others
// hold as well.
func (p *planner) alternatives(o *operation.Schema, s *schema, depth int) {
	for i := range s.alts {
		into := o
		if i > 0 {
			into = &operation.Schema{Type: o.Type}
		}
		p.anyOf(into, s, &s.alts[i], depth)
		if i > 0 && len(into.AnyOf) > 0 {
			o.All = append(o.All, into)
		}
	}
}

// anyOf converts one group. A branch that allows anything makes it pointless, but
// for the values of its discriminator.
func (p *planner) anyOf(o *operation.Schema, s *schema, a *alternatives, depth int) {
	keys := p.c.discriminatorKeys(*a)
	if len(a.branches) > maxListedEnum*2 && len(keys) == 0 {
		return
	}
	told := true
	for i := range a.branches {
		b := p.c.normal(&a.branches[i])
		if b.never {
			continue
		}
		q := p.schema(b, depth)
		d, ok := keys[b]
		ok = ok && (b.types == operation.TypeObject || b.types == 0 && len(b.alts) > 0 && len(d.keys) > 0)
		told = told && ok
		switch {
		case ok:
			q = discriminate(q, d)
		case q == nil:
			o.AnyOf = nil
			return
		}
		p.unasked(q, s)
		// Branches may be published merged: what is a member of one is not refused
		// because it is none of another.
		q.Closed = false
		o.AnyOf = append(o.AnyOf, q)
	}
	if told && len(o.AnyOf) > 0 {
		o.Disc = discriminatorName(a.disc)
		allValues(o)
	}
	if s.null && len(o.AnyOf) > 0 && o.Type == 0 {
		o.AnyOf = append(o.AnyOf, &operation.Schema{Type: operation.TypeNull})
	}
}

// allValues gives the member that tells branches apart the values of all of them, so
// that a message about it names them.
func allValues(o *operation.Schema) {
	i := slices.IndexFunc(o.Properties, func(m operation.Property) bool { return m.Name == o.Disc })
	if i < 0 || o.Properties[i].Schema == nil || o.Properties[i].Schema.Type != operation.TypeString {
		return
	}
	all := &operation.Schema{Type: operation.TypeString}
	for _, b := range o.AnyOf {
		for _, m := range b.Properties {
			if m.Name == o.Disc && m.Schema != nil {
				all.Enum = append(all.Enum, m.Schema.Enum...)
			}
		}
	}
	o.Properties[i].Schema = all
}

// unasked drops from what a branch requires what is not sent at all.
func (p *planner) unasked(q *operation.Schema, s *schema) {
	q.Required = slices.DeleteFunc(q.Required, func(r string) bool {
		i := slices.IndexFunc(s.props, func(q prop) bool { return q.name == r })
		if i < 0 {
			return false
		}
		ps := p.c.normal(&s.props[i].child)
		return ps.readOnly || ps.never
	})
}

// discriminate gives a branch the values of the member that tells it from others,
// unless its own list is of another type than text.
func discriminate(q *operation.Schema, d discriminated) *operation.Schema {
	if q == nil {
		q = &operation.Schema{Type: operation.TypeObject}
	}
	own := &operation.Schema{Type: operation.TypeString}
	for _, k := range d.keys {
		own.Enum = append(own.Enum, string(jsonscan.AppendStringOf(nil, k)))
	}
	i := slices.IndexFunc(q.Properties, func(m operation.Property) bool { return m.Name == d.name })
	switch {
	case i < 0:
		q.Properties = append(q.Properties, operation.Property{Name: d.name, Schema: own})
	case q.Properties[i].Schema != nil && q.Properties[i].Schema.Type != 0 && q.Properties[i].Schema.Type&operation.TypeString == 0:
	default:
		q.Properties[i].Schema = own
	}
	if !slices.Contains(q.Required, d.name) {
		q.Required = append(q.Required, d.name)
	}
	return q
}

// leaf fills in the keywords of one level.
func (p *planner) leaf(o *operation.Schema, s *schema) {
	o.Format = s.format
	if s.hasEnum {
		o.Enum = enumTexts(s)
	}
	if o.Type == 0 && !s.hasEnum {
		return
	}
	if o.Type&(operation.TypeInteger|operation.TypeNumber) != 0 {
		o.Min, o.Max, o.XMin, o.XMax, o.Multiple = shortNumber(s.min), shortNumber(s.max), shortNumber(s.xmin), shortNumber(s.xmax), shortNumber(s.multiple)
	}
	// One pair of length bounds serves strings, arrays and objects: with several
	// types it would be ambiguous, and is left to the upstream.
	var lo, hi bound
	switch o.Type &^ operation.TypeNull {
	case operation.TypeString:
		lo, hi = s.minLen, s.maxLen
		if s.format == "binary" || s.format == "byte" {
			lo, hi = bound{}, bound{}
		}
		if s.regexp != "" && len(s.regexp) <= 1000 && p.c.compiles(s.regexp) {
			o.Pattern = s.regexp
		}
	case operation.TypeArray:
		lo, hi = s.minItems, s.maxItems
		o.Unique = s.unique
	case operation.TypeObject:
		lo, hi = s.minProps, s.maxProps
	}
	if lo.set {
		o.MinLen = lo.n
	}
	if hi.set && (!lo.set || hi.n >= lo.n) {
		n := hi.n
		o.MaxLen = &n
	}
}

// shortNumber leaves out bounds that no double holds or that are absurdly long.
func shortNumber(n string) string { return finite(n) }

// enumTexts gives the values as JSON; nil when there are too many to check.
func enumTexts(s *schema) []string {
	if len(s.enum) > maxCheckedEnum {
		return nil
	}
	var out []string
	bytes := 0
	for _, e := range s.enum {
		var text string
		switch e.kind() {
		case kindObject, kindArray:
			b, ok := appendJSON(nil, e, 0, maxEnumValueSize)
			if !ok {
				return nil
			}
			text = string(b)
		default:
			text = string(appendLiteral(nil, e, s.types))
			if text == "" {
				continue
			}
		}
		if bytes += len(text); bytes > maxCheckedBytes {
			return nil
		}
		out = append(out, text)
	}
	if s.null && len(out) > 0 {
		out = append(out, "null")
	}
	return out
}

// appendJSON appends a value of a document as minified JSON; ok is false when it
// is deeper than 8 levels or longer than limit.
func appendJSON(b []byte, v value, depth, limit int) (out []byte, ok bool) {
	if depth > maxBranches || len(b) > limit {
		return b, false
	}
	switch v.kind() {
	case kindObject:
		b = append(b, '{')
		first := true
		for k, m := range v.members() {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(jsonscan.AppendStringOf(b, k.text()), ':')
			if b, ok = appendJSON(b, m, depth+1, limit); !ok {
				return b, false
			}
		}
		b = append(b, '}')
	case kindArray:
		b = append(b, '[')
		for i, e := range v.elements() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, ok = appendJSON(b, e, depth+1, limit); !ok {
				return b, false
			}
		}
		b = append(b, ']')
	case kindString:
		b = jsonscan.AppendStringOf(b, v.text())
	case kindNumber:
		n := v.number()
		if n == "" {
			return b, false
		}
		b = append(b, n...)
	case kindBool:
		b = strconv.AppendBool(b, v.truth())
	default:
		b = append(b, "null"...)
	}
	return b, len(b) <= limit
}
