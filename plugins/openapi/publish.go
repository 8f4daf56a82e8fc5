package openapi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of what is published for one value; measured on what clients and model
// APIs accept, see docs/openapi-support.md.
const (
	maxPropertyText     = 200  // bytes of a property's description (rule 21)
	maxPropertySentence = 300  // unless its first sentence is longer, which is kept whole
	maxEnumValues       = 40   // rule 13
	maxEnumBytes        = 1024 // rule 13
	maxListedEnum       = 20   // values named in the description instead
	maxPattern          = 120  // rule 17
	maxDefault          = 64   // rule 19
	maxExample          = 60   // rule 19
	maxBranches         = 8    // rule 9
	maxPublishedDepth   = 6    // rule 7, where it starts
	maxKinds            = 64   // schemas of alternatives that are searched for types
)

// publisher writes published input schemas: small, portable JSON Schema without
// references. One publisher serves one attempt at one tool.
type publisher struct {
	c     *compiler
	b     []byte
	grade grade
	need  int              // how deep is written what must be given
	must  bool             // what is being written must be given
	limit int              // bytes after which the attempt is given up
	over  bool             // the limit was passed
	cut   bool             // something was left out because of depth
	files int              // depth at which binary values are files: 1 members of multipart, 0 a raw body, noFiles none
	clear bool             // null clears a member (PUT and PATCH bodies)
	body  bool             // it is of a body
	asOne map[*schema]bool // discriminated alternatives that are written as one object
	stack []*schema
}

// schema appends the published form of s. prefix is put before its own
// description.
func (p *publisher) schema(s *schema, depth int) { p.schemaWith(s, depth, "", nil) }

// discriminated is the property that tells branches apart, fixed for one branch.
type discriminated struct {
	name string
	keys []string // at least one
}

func (p *publisher) schemaWith(s *schema, depth int, text string, disc *discriminated) {
	if len(p.b) > p.limit {
		p.over = true
		p.b = append(p.b, "{}"...)
		return
	}
	if depth == p.files && isFile(s) {
		p.file(s, text)
		return
	}
	p.c.tick()
	cycle := slices.Contains(p.stack, s)
	if cycle || len(p.stack) > maxFold || depth > p.deepest() && (len(s.props) > 0 || len(s.alts) > 0) {
		p.cut = true
		p.nested(s, text)
		return
	}
	p.stack = append(p.stack, s)
	defer func() { p.stack = p.stack[:len(p.stack)-1] }()

	if len(s.alts) > 0 && p.alternatives(s, depth, text) {
		return
	}
	types := typeList(s.types)
	if len(types) > 1 && s.types&(operation.TypeArray|operation.TypeObject) != 0 || len(types) > 1 && !s.hasEnum {
		p.union(s, types, depth, text)
		return
	}
	t := operation.Type(0)
	if len(types) > 0 {
		t = types[0]
	}
	p.b = append(p.b, '{')
	if len(types) > 1 { // an enum of several scalar types
		p.b = append(p.b, `"anyOf":[`...)
		for i, t := range types {
			if i > 0 {
				p.b = append(p.b, ',')
			}
			p.b = append(p.b, `{"type":"`+typeName(t)+`"}`...)
		}
		p.b = append(p.b, `],`...)
	} else if t != 0 {
		p.b = append(p.b, `"type":"`+typeName(t)+`",`...)
	}
	var notes []string
	switch {
	case t == operation.TypeObject:
		notes = p.object(s, depth, disc)
	case t == operation.TypeArray:
		p.array(s, depth)
	default:
		notes = p.scalar(s, t)
	}
	if len(s.alts) > 0 {
		notes = append(notes, p.oneOfRequired(s)...)
	}
	p.describe(s, text, append(notes, p.rareNotes(s)...))
	p.close()
}

// deepest is how deep objects are written out here (D of rule 7).
func (p *publisher) deepest() int {
	if p.must {
		return p.need
	}
	return p.grade.depth
}

// oneOfRequired says in words what alternatives that only list required names
// mean.
func (p *publisher) oneOfRequired(s *schema) []string {
	var notes []string
	for i := range s.alts {
		var names []string
		for j := range s.alts[i].branches {
			if b := p.c.normal(&s.alts[i].branches[j]); len(b.required) > 0 {
				names = append(names, strings.Join(b.required[:min(len(b.required), 4)], " and "))
			}
		}
		if len(names) == len(s.alts[i].branches) && len(names) <= maxBranches {
			notes = append(notes, "Needs "+cutText(strings.Join(names, ", or "), maxPropertyText)+".")
		}
	}
	return notes
}

// close ends an object whose members each end in a comma.
func (p *publisher) close() {
	if p.b[len(p.b)-1] == ',' {
		p.b[len(p.b)-1] = '}'
		return
	}
	p.b = append(p.b, '}')
}

func (p *publisher) name(n string) {
	p.b = jsonscan.AppendStringOf(p.b, n)
	p.b = append(p.b, ':')
}

// nested stands for what is too deep or contains itself.
func (p *publisher) nested(s *schema, text string) {
	types := p.kinds(s)
	p.b = append(p.b, '{')
	if len(types) > 1 {
		p.b = append(p.b, `"anyOf":[`...)
	}
	for i, t := range types {
		if i > 0 {
			p.b = append(p.b, "},{"...)
		} else if len(types) > 1 {
			p.b = append(p.b, '{')
		}
		if p.b = append(p.b, `"type":"`+typeName(t)+`"`...); t == operation.TypeArray {
			p.b = append(p.b, `,"items":{"type":"object"}`...)
		}
	}
	if len(types) > 1 {
		p.b = append(p.b, "}]"...)
	}
	p.b = append(p.b, ',')
	if text == "" {
		text = cutWords(plain(s.desc.str()), 100)
	}
	if !slices.ContainsFunc(types, func(t operation.Type) bool { return t&(operation.TypeObject|operation.TypeArray) != 0 }) {
		if text != "" {
			p.b = append(p.b, `"description":`...)
			p.b = append(jsonscan.AppendStringOf(p.b, text), ',')
		}
		p.close()
		return
	}
	word := "any object"
	if names := p.needed(s); names != "" {
		word += " with " + names
	}
	switch {
	case s.name != "" && text == "":
		text = cutText(s.name, 60) + " (nested, " + word + ")"
	case text == "":
		text = "nested, " + word
	default:
		text += " (nested, " + word + ")"
	}
	p.b = append(p.b, `"description":`...)
	p.b = jsonscan.AppendStringOf(p.b, text)
	p.b = append(p.b, '}')
}

// kinds are the types that a value may have by its alternatives, where it has none of its own:
// model APIs refuse a schema without a type. Of what nothing is known it is an object.
func (p *publisher) kinds(s *schema) []operation.Type {
	var t operation.Type
	all := []*schema{s}
	for i := 0; i < len(all); i++ {
		at := all[i]
		t |= at.types
		if len(at.props) > 0 {
			t |= operation.TypeObject
		}
		for k := range at.alts {
			for j := range at.alts[k].branches {
				if b := p.c.normal(&at.alts[k].branches[j]); at.types == 0 && len(all) < maxKinds && !slices.Contains(all, b) {
					all = append(all, b)
				}
			}
		}
	}
	if t&operation.TypeNumber != 0 {
		t &^= operation.TypeInteger
	}
	if t &^= operation.TypeNull; t == 0 {
		t = operation.TypeObject
	}
	return typeList(t)
}

// needed lists the members that an object must have, for where it is not written
// out.
func (p *publisher) needed(s *schema) string {
	const most = 6 // and 100 bytes: it stands for what had no room
	var names []string
	size := 0
	for _, r := range s.required {
		i := slices.IndexFunc(s.props, func(q prop) bool { return q.name == r })
		if i < 0 || p.c.normal(&s.props[i].child).readOnly {
			continue
		}
		if size += len(r) + 2; len(names) == most || size > 100 {
			break
		}
		names = append(names, r)
	}
	return strings.Join(names, ", ")
}

// file is the published form of a binary value (rule 28).
func (p *publisher) file(s *schema, text string) {
	if s.types == operation.TypeArray {
		p.b = append(p.b, `{"type":"array","items":`...)
		p.file(p.c.normal(&s.items), "")
		p.b = append(p.b, ',')
		p.describe(s, text, nil)
		p.close()
		return
	}
	p.b = append(p.b, `{"type":"object","properties":{"data":{"type":"string","description":"base64"},"text":{"type":"string"},"url":{"type":"string"},"filename":{"type":"string"},"mediaType":{"type":"string"}},`...)
	p.describe(s, text, []string{"File: data (base64) or text."})
	p.close()
}

// noFiles says that no binary value is a file: inside JSON it is base64 text.
const noFiles = -1

// isFile reports a value that is sent as raw bytes where the body allows it:
// binary strings, and what has no type at all (multipart's default for those is
// octet-stream since OpenAPI 3.1).
func isFile(s *schema) bool {
	if s.types == 0 && !s.open && !s.hasEnum && len(s.alts) == 0 && s.format == "" && s.media == "" && s.encoding == "" {
		return true
	}
	if s.types&operation.TypeString != 0 || s.types == 0 && (s.media != "" || s.encoding != "") {
		switch {
		case s.format == "binary" || s.format == "byte" || s.format == "base64":
			return true
		case s.encoding == "base64" || s.encoding == "base64url":
			return true
		case s.media != "" && s.media != "application/json" && !strings.HasPrefix(s.media, "text/"):
			return true
		}
	}
	return false
}

func (p *publisher) object(s *schema, depth int, disc *discriminated) (notes []string) {
	if len(s.props) == 0 {
		switch {
		case s.hasAddl:
			p.b = append(p.b, `"additionalProperties":`...)
			p.schema(p.c.normal(&s.addl), depth+1)
			p.b = append(p.b, ',')
		case len(s.pattern) > 0:
			p.b = append(p.b, `"additionalProperties":`...)
			p.schema(p.c.normal(&s.pattern[0].child), depth+1)
			p.b = append(p.b, ',')
		}
		return nil
	}
	required := slices.Clone(s.required)
	if disc != nil && !slices.Contains(required, disc.name) {
		required = append(required, disc.name)
	}
	return p.properties(s.props, required, depth, disc)
}

// properties writes properties and required. Names that model APIs refuse are
// not published; they are named in a note and accepted all the same.
func (p *publisher) properties(props []prop, required []string, depth int, disc *discriminated) (notes []string) {
	p.b = append(p.b, `"properties":{`...)
	var written, odd []string
	empty, optional := true, 0
	must := p.must
	defer func() { p.must = must }()
	if disc != nil && !slices.ContainsFunc(props, func(q prop) bool { return q.name == disc.name }) {
		props = append([]prop{{disc.name, child{s: p.c.anything}}}, props...)
	}
	for i := range props {
		q := &props[i]
		s := p.c.normal(&q.child)
		need := slices.Contains(required, q.name)
		if s.never || s.readOnly || s.deprecated && !need {
			continue
		}
		if !need {
			if optional++; p.grade.members >= 0 && optional > p.grade.members {
				continue
			}
		}
		p.must = must && need
		if !goodName(q.name) {
			if len(odd) < 8 && len(q.name) <= 80 {
				odd = append(odd, strconv.Quote(q.name))
			}
			continue
		}
		if !empty {
			p.b = append(p.b, ',')
		}
		empty = false
		p.name(q.name)
		if disc != nil && disc.name == q.name {
			p.fixed(s, disc, depth)
		} else {
			p.schema(untold(s, q.name), depth+1)
		}
		if need && !(s.null && s.def.exists()) {
			written = append(written, q.name)
		}
		if p.over {
			break
		}
	}
	p.b = append(p.b, `},`...)
	p.required(written)
	if len(odd) > 0 {
		notes = append(notes, "Also takes "+strings.Join(odd, ", ")+".")
	}
	return notes
}

// untold is a scalar without its description where that only repeats the name: told
// "ID" of "id", a model knows no more, and siblings have one text.
func untold(s *schema, name string) *schema {
	if !s.desc.exists() && !s.title.exists() || len(s.props) > 0 || len(s.alts) > 0 || s.items.exists() || s.hasAddl {
		return s
	}
	text := plain(s.desc.str())
	if text == "" {
		text = plain(s.title.str())
	}
	if !sameWords(strings.TrimSuffix(text, "."), name) {
		return s
	}
	bare := *s
	bare.desc, bare.title = value{}, value{}
	return &bare
}

// fixed writes the member that tells alternatives apart with the values it may have.
func (p *publisher) fixed(s *schema, disc *discriminated, depth int) {
	if s.types != 0 && s.types&operation.TypeString == 0 { // numbers: the author's own list
		p.schema(s, depth+1)
		return
	}
	p.b = append(p.b, `{"type":"string","enum":[`...)
	for i, key := range disc.keys {
		if i > 0 {
			p.b = append(p.b, ',')
		}
		p.b = jsonscan.AppendStringOf(p.b, key)
	}
	p.b = append(p.b, `]}`...)
}

func (p *publisher) required(names []string) {
	if len(names) == 0 {
		return
	}
	p.b = append(p.b, `"required":[`...)
	for i, n := range names {
		if i > 0 {
			p.b = append(p.b, ',')
		}
		p.b = jsonscan.AppendStringOf(p.b, n)
	}
	p.b = append(p.b, `],`...)
}

// goodName reports a property name that every model API accepts (rule 5).
func goodName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func (p *publisher) array(s *schema, depth int) {
	p.b = append(p.b, `"items":`...)
	switch {
	case s.items.exists():
		p.schema(p.c.normal(&s.items), depth)
	case len(s.prefix) == 1:
		p.schema(p.c.normal(&s.prefix[0]), depth)
	case len(s.prefix) > 1:
		all := &schema{alts: []alternatives{{branches: s.prefix}}}
		p.schema(all, depth)
	default:
		p.b = append(p.b, "{}"...)
	}
	p.b = append(p.b, ',')
	p.count("minItems", s.minItems)
	p.count("maxItems", s.maxItems)
}

func (p *publisher) count(name string, n bound) {
	if n.set && (n.n > 0 || name[1] == 'a') && n.n <= 1<<30 {
		p.name(name)
		p.b = strconv.AppendInt(p.b, int64(n.n), 10)
		p.b = append(p.b, ',')
	}
}
