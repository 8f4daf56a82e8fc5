package openapi

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of what is published for one value; measured on what clients and model
// APIs accept, see docs/openapi-support.md.
const (
	maxPropertyText   = 200  // bytes of a property's description (rule 21)
	maxEnumValues     = 40   // rule 13
	maxEnumBytes      = 1024 // rule 13
	maxListedEnum     = 20   // values named in the description instead
	maxPattern        = 120  // rule 17
	maxDefault        = 64   // rule 19
	maxExample        = 60   // rule 19
	maxBranches       = 8    // rule 9
	maxPublishedDepth = 6    // rule 7, where it starts
)

// publisher writes published input schemas: small, portable JSON Schema without
// references. One publisher serves one attempt at one tool.
type publisher struct {
	c     *compiler
	b     []byte
	depth int  // how deep objects are written out (D of rule 7)
	limit int  // bytes after which the attempt is given up
	over  bool // the limit was passed
	cut   bool // something was left out because of depth
	files int  // depth at which binary values are files: 1 members of multipart, 0 a raw body, noFiles none
	clear bool // null clears a member (PUT and PATCH bodies)
	spare bool // only required members (the last attempt)
	stack []*schema
}

// schema appends the published form of s. prefix is put before its own
// description.
func (p *publisher) schema(s *schema, depth int) { p.schemaWith(s, depth, "", nil) }

// discriminated is the property that tells branches apart, fixed for one branch.
type discriminated struct{ name, key string }

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
	if cycle || len(p.stack) > maxFold || depth > p.depth && (len(s.props) > 0 || len(s.alts) > 0) {
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
	p.describe(s, text, notes)
	p.close()
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
	if s.types == operation.TypeArray {
		p.b = append(p.b, `{"type":"array","items":{"type":"object"},`...)
	} else if len(s.alts) > 0 && s.types == 0 {
		p.b = append(p.b, `{`...)
	} else {
		p.b = append(p.b, `{"type":"object",`...)
	}
	if text == "" {
		text = cutWords(plain(s.desc.str()), 100)
	}
	word := "any object"
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
	p.b = append(p.b, `{"type":"object","properties":{"data":{"type":"string","description":"base64"},"text":{"type":"string"},"filename":{"type":"string"},"mediaType":{"type":"string"}},`...)
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
			p.schema(p.c.normal(&s.pattern[0]), depth+1)
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
	empty := true
	if disc != nil && !slices.ContainsFunc(props, func(q prop) bool { return q.name == disc.name }) {
		props = append([]prop{{disc.name, child{s: p.c.anything}}}, props...)
	}
	for i := range props {
		q := &props[i]
		s := p.c.normal(&q.child)
		need := slices.Contains(required, q.name)
		if s.never || s.readOnly || s.deprecated && !need || p.spare && !need {
			continue
		}
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
			p.b = append(p.b, `{"type":"string","enum":[`...)
			p.b = jsonscan.AppendStringOf(p.b, disc.key)
			p.b = append(p.b, `]}`...)
		} else {
			p.schema(s, depth+1)
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

// scalar writes the keywords of a string, number, boolean or untyped value.
func (p *publisher) scalar(s *schema, t operation.Type) (notes []string) {
	if s.hasEnum && t != operation.TypeBoolean {
		notes = p.enum(s)
	}
	switch t {
	case operation.TypeString:
		if !s.hasEnum {
			if note := p.format(s); note != "" {
				notes = append(notes, note)
			}
			p.count("minLength", s.minLen)
			p.count("maxLength", s.maxLen)
		}
		if s.regexp != "" && !s.hasEnum {
			if len(s.regexp) <= maxPattern && p.c.compiles(s.regexp) {
				p.b = append(p.b, `"pattern":`...)
				p.b = jsonscan.AppendStringOf(p.b, s.regexp)
				p.b = append(p.b, ',')
			} else if len(s.regexp) <= maxPattern {
				notes = append(notes, "Matches "+s.regexp)
			}
		}
	case operation.TypeInteger:
		lo, hi := integerBounds(s)
		p.literalNumber("minimum", lo)
		p.literalNumber("maximum", hi)
	case operation.TypeNumber:
		p.literalNumber("minimum", finite(s.min))
		p.literalNumber("maximum", finite(s.max))
		if s.xmin != "" && finite(s.xmin) != "" {
			if s.min == "" {
				p.literalNumber("minimum", s.xmin)
			}
			notes = append(notes, "Greater than "+cutText(s.xmin, 24)+".")
		}
		if s.xmax != "" && finite(s.xmax) != "" {
			if s.max == "" {
				p.literalNumber("maximum", s.xmax)
			}
			notes = append(notes, "Less than "+cutText(s.xmax, 24)+".")
		}
	}
	p.defaultValue(s, t)
	return notes
}

func (p *publisher) literalNumber(name, n string) {
	if n != "" {
		p.name(name)
		p.b = append(p.b, n...)
		p.b = append(p.b, ',')
	}
}

// finite gives n when a double can hold it (rule 18: 1e400 is not published).
func finite(n string) string {
	if len(n) > 40 {
		return ""
	}
	if _, err := strconv.ParseFloat(n, 64); err != nil {
		return ""
	}
	return n
}

// maxSafe is 2^53-1: bounds beyond it are what generators write for "no bound",
// and clients that parse numbers as doubles would change them.
const maxSafe = 1<<53 - 1

// integerBounds gives inclusive bounds of an integer (rules 12 and 18).
func integerBounds(s *schema) (lo, hi string) {
	pick := func(incl, excl string, step int64) string {
		n, ok := wholeNumber(incl, step > 0)
		if e, okE := wholeNumber(excl, step < 0); okE {
			e += step
			if !ok || step > 0 && e > n || step < 0 && e < n {
				n, ok = e, true
			}
		}
		if !ok || n > maxSafe || n < -maxSafe {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	return pick(s.min, s.xmin, 1), pick(s.max, s.xmax, -1)
}

// wholeNumber reads a literal as an integer, rounding up or down.
func wholeNumber(n string, up bool) (int64, bool) {
	if n == "" {
		return 0, false
	}
	if i, err := strconv.ParseInt(n, 10, 64); err == nil {
		return i, i <= maxSafe && i >= -maxSafe
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil || f > maxSafe || f < -maxSafe {
		return 0, false
	}
	i := int64(f)
	if up && float64(i) < f {
		i++
	} else if !up && float64(i) > f {
		i--
	}
	return i, true
}

// enum writes the values, or names the first of them when there are too many.
func (p *publisher) enum(s *schema) (notes []string) {
	start := len(p.b)
	p.b = append(p.b, `"enum":[`...)
	open := len(p.b)
	n := 0
	for _, e := range s.enum {
		if n++; n > maxEnumValues || len(p.b)-open > maxEnumBytes {
			p.b = p.b[:start]
			return append(notes, p.listed(s))
		}
		if len(p.b) > open {
			p.b = append(p.b, ',')
		}
		was := len(p.b)
		if p.b = appendLiteral(p.b, e, s.types); len(p.b) == was && was > open {
			p.b = p.b[:was-1]
		}
	}
	if len(p.b) == open {
		p.b = p.b[:start]
		return notes
	}
	p.b = append(p.b, `],`...)
	return notes
}

func (p *publisher) listed(s *schema) string {
	var names []string
	for _, e := range s.enum[:min(len(s.enum), maxListedEnum)] {
		names = append(names, cutText(e.text(), 40))
	}
	return "One of " + cutText(strings.Join(names, ", "), 300) + ", … (" + strconv.Itoa(len(s.enum)) + " values)."
}

// appendLiteral appends a scalar of the specification as JSON of the given
// types, digits untouched; nothing for what does not fit.
func appendLiteral(b []byte, v value, t operation.Type) []byte {
	numeric := t&(operation.TypeInteger|operation.TypeNumber) != 0
	switch v.kind() {
	case kindString:
		text := v.text()
		if t&operation.TypeString == 0 && t != 0 {
			if numeric && isJSONNumber(text) {
				return append(b, text...)
			}
			if t == operation.TypeBoolean {
				switch text {
				case "true", "yes", "on":
					return append(b, "true"...)
				case "false", "no", "off":
					return append(b, "false"...)
				}
			}
			return b
		}
		return jsonscan.AppendStringOf(b, text)
	case kindNumber:
		if t&operation.TypeString != 0 && !numeric {
			return jsonscan.AppendStringOf(b, v.text())
		}
		if n := finite(v.number()); n != "" && (numeric || t == 0) {
			return append(b, n...)
		}
	case kindBool:
		if t&operation.TypeString != 0 && t&operation.TypeBoolean == 0 {
			return jsonscan.AppendStringOf(b, v.text())
		}
		if t&operation.TypeBoolean != 0 || t == 0 {
			return strconv.AppendBool(b, v.truth())
		}
	}
	return b
}

func (p *publisher) defaultValue(s *schema, t operation.Type) {
	if !s.def.exists() || t == 0 {
		return
	}
	var buf [maxDefault]byte
	lit := appendLiteral(buf[:0], s.def, s.types)
	if len(lit) == 0 || len(lit) > maxDefault {
		return
	}
	p.b = append(p.b, `"default":`...)
	p.b = append(p.b, lit...)
	p.b = append(p.b, ',')
}

// format publishes date-time, the only string format every model API takes; the
// useful others become words (rule 17).
func (p *publisher) format(s *schema) string {
	word := ""
	if s.encoding == "base64" || s.encoding == "base64url" {
		return s.encoding + "."
	}
	switch s.format {
	case "date-time":
		p.b = append(p.b, `"format":"date-time",`...)
		return ""
	case "date":
		word = "Date YYYY-MM-DD."
	case "time":
		word = "Time HH:MM:SS."
	case "email":
		word = "Email address."
	case "uri", "url":
		word = "URL."
	case "uuid":
		word = "UUID."
	case "duration":
		word = "ISO 8601 duration."
	case "byte", "base64":
		word = "base64."
	case "ipv4", "ipv6":
		word = "IP address."
	case "binary":
		word = "File content."
	}
	return word
}

// describe writes the description: the author's words, then what the keywords
// cannot say.
func (p *publisher) describe(s *schema, text string, notes []string) {
	if text == "" {
		text = plain(s.desc.str())
		if text == "" {
			text = plain(s.title.str())
			if strings.EqualFold(text, s.name) {
				text = ""
			}
		}
	}
	if text == "" {
		if e := s.example; e.exists() && !s.hasEnum && e.kind() != kindNull && e.kind() != kindObject && e.kind() != kindArray {
			if t := e.text(); t != "" && len(t) <= maxExample {
				text = "e.g. " + collapse(t)
			}
		}
	}
	text = firstSentences(text, maxPropertyText)
	lower := strings.ToLower(text)
	for _, n := range notes {
		key, _, _ := strings.Cut(strings.ToLower(strings.TrimSuffix(n, ".")), " ")
		if text != "" && len(n) < 24 && strings.Contains(lower, key) {
			continue // the author says so
		}
		if text != "" && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") {
			text += "."
		}
		text = strings.TrimSpace(text + " " + n)
	}
	if p.clear && s.null {
		text = strings.TrimSpace(text + " null clears it.")
	}
	if text == "" {
		return
	}
	p.b = append(p.b, `"description":`...)
	p.b = jsonscan.AppendStringOf(p.b, text)
	p.b = append(p.b, ',')
}

// union writes a value of several types as anyOf of plain ones.
func (p *publisher) union(s *schema, types []operation.Type, depth int, text string) {
	p.b = append(p.b, `{"anyOf":[`...)
	for i, t := range types {
		if i > 0 {
			p.b = append(p.b, ',')
		}
		p.b = append(p.b, `{"type":"`+typeName(t)+`",`...)
		switch t {
		case operation.TypeObject:
			p.object(s, depth, nil)
		case operation.TypeArray:
			p.array(s, depth)
		}
		p.close()
	}
	p.b = append(p.b, `],`...)
	p.describe(s, text, nil)
	p.close()
}

func typeName(t operation.Type) string {
	switch t {
	case operation.TypeNull:
		return "null"
	case operation.TypeBoolean:
		return "boolean"
	case operation.TypeInteger:
		return "integer"
	case operation.TypeNumber:
		return "number"
	case operation.TypeString:
		return "string"
	case operation.TypeArray:
		return "array"
	default:
		return "object"
	}
}

// typeList gives the types of a set but null, in a fixed order.
func typeList(t operation.Type) []operation.Type {
	var list []operation.Type
	for _, b := range [...]operation.Type{
		operation.TypeString, operation.TypeInteger, operation.TypeNumber, operation.TypeBoolean, operation.TypeArray, operation.TypeObject,
	} {
		if t&b != 0 {
			list = append(list, b)
		}
	}
	return list
}

// compiles reports whether RE2 accepts a pattern; remembered, for patterns repeat.
func (c *compiler) compiles(pattern string) bool {
	ok, known := c.patterns[pattern]
	if !known {
		_, err := regexp.Compile(pattern)
		ok = err == nil
		if len(c.patterns) < 10_000 {
			c.patterns[pattern] = ok
		}
	}
	return ok
}

// sameBytes reports whether b[from:] equals one of the parts before.
func sameBytes(parts [][2]int, b []byte, from int) bool {
	for _, p := range parts {
		if bytes.Equal(b[p[0]:p[1]], b[from:]) {
			return true
		}
	}
	return false
}
