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

// scalar writes the keywords of a string, number, boolean or untyped value.
func (p *publisher) scalar(s *schema, t operation.Type) (notes []string) {
	if p.grade.bare && len(s.enum) > bareEnum {
		return nil
	}
	if s.hasEnum && t != operation.TypeBoolean {
		notes = p.enum(s)
	}
	if p.grade.bare {
		return nil
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
	if s.hasEnum && !slices.ContainsFunc(s.enum, func(e value) bool { return bytes.Equal(appendLiteral(nil, e, s.types), lit) }) {
		return // giving it would be refused
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
	if s.onlyNull() {
		notes = append(notes, "Only null.")
	}
	limit := maxPropertyText
	if end := SentenceEnd(text); limit < end && end <= maxPropertySentence {
		limit = end // half a sentence can say the opposite
	}
	if words := p.words(); words >= 0 && words < limit {
		if limit = words; limit == 0 {
			return
		}
	}
	if full := text; len(full) > limit {
		text = firstSentences(full, limit)
		if kept := strings.TrimSuffix(text, "…"); len(kept) < len(full) && s.format != "date-time" {
			const number = operation.TypeInteger | operation.TypeNumber
			note := ""
			switch {
			case s.types == operation.TypeString:
				note = lostMeasure(kept, full[len(kept):], false)
			case s.types != 0 && s.types&^number == 0:
				note = lostMeasure(kept, full[len(kept):], true)
			}
			if note != "" {
				notes = append(notes, note)
			}
		}
	}
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
	text = withExampleOf(s, text)
	switch {
	case !s.null || s.onlyNull():
	case p.clear:
		text = strings.TrimSpace(text + " null clears it.")
	case p.must && p.body && !s.def.exists() && !strings.Contains(strings.ToLower(text), "null"):
		text = strings.TrimSpace(text + " May be null.") // who must give it has no other way to say nothing
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
