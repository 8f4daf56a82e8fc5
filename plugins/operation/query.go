package operation

import (
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// undefined reports what RFC 6570 §2.3 calls undefined: nothing is sent for it. An
// empty string is defined.
func undefined(v jsonscan.Value) bool {
	switch v.Kind() {
	case jsonscan.Missing, jsonscan.Null:
		return true
	case jsonscan.Array:
		for it := v.Elements(); it.Next(); {
			if it.Value().Kind() != jsonscan.Null {
				return false
			}
		}
		return true
	case jsonscan.Object:
		for it := v.Members(); it.Next(); {
			if it.Value().Kind() != jsonscan.Null {
				return false
			}
		}
		return true
	}
	return false
}

// delimiter is what stands between the items of a value that is not exploded. It
// is percent-encoded where the values are and it is not a URL character.
func delimiter(s Style, e escape) string {
	raw, encoded := ",", ","
	switch s {
	case StyleSpace, StyleSSV:
		raw, encoded = " ", "%20"
	case StyleTSV:
		raw, encoded = "\t", "%09"
	case StylePipe, StylePipes:
		raw, encoded = "|", "%7C"
	}
	if e == escNone {
		return raw
	}
	return encoded
}

// list writes a value as one text: the styles simple, label and matrix, and all
// others when they are not exploded. OpenAPI 3.2 "Style Examples", RFC 6570 §3.2.
type list struct {
	b       *builder
	schema  *Schema
	nested  []Style // Swagger 2.0: how items that are arrays are joined
	esc     escape
	delim   string
	lead    string // label: "."
	matrix  string // matrix: the parameter's name
	explode bool
}

// append writes nothing when v is undefined.
func (l *list) append(dst []byte, v jsonscan.Value) []byte {
	if undefined(v) {
		return dst
	}
	isMatrix := l.matrix != ""
	switch v.Kind() {
	case jsonscan.Array:
		i, n := 0, 0
		for it := v.Elements(); it.Next(); i++ {
			if it.Value().Kind() == jsonscan.Null {
				continue
			}
			switch {
			case isMatrix && (n == 0 || l.explode):
				dst = append(appendEscaped(append(dst, ';'), l.matrix, escStrict), '=')
			case n == 0:
				dst = append(dst, l.lead...)
			default:
				dst = append(dst, l.delim...)
			}
			dst = l.item(dst, element(l.schema, i), it.Value())
			n++
		}
	case jsonscan.Object:
		n := 0
		for it := v.Members(); it.Next(); {
			if it.Value().Kind() == jsonscan.Null {
				continue
			}
			switch {
			case isMatrix && l.explode:
				dst = append(dst, ';')
			case isMatrix && n == 0:
				dst = append(appendEscaped(append(dst, ';'), l.matrix, escStrict), '=')
			case n == 0:
				dst = append(dst, l.lead...)
			default:
				dst = append(dst, l.delim...)
			}
			dst = l.b.appendName(dst, &it, l.esc)
			if l.explode {
				dst = append(dst, '=')
			} else {
				dst = append(dst, l.delim...)
			}
			dst = l.b.appendScalar(dst, property(l.schema, &it), it.Value(), l.esc)
			n++
		}
	default:
		if isMatrix {
			dst = appendEscaped(append(dst, ';'), l.matrix, escStrict)
			n := len(dst)
			dst = l.b.appendScalar(append(dst, '='), l.schema, v, l.esc)
			if len(dst) == n+1 {
				dst = dst[:n] // RFC 6570 §3.2.7: ";name" for an empty value
			}
			return dst
		}
		dst = l.b.appendScalar(append(dst, l.lead...), l.schema, v, l.esc)
	}
	return dst
}

// item writes one item of an array.
func (l *list) item(dst []byte, s *Schema, v jsonscan.Value) []byte {
	if len(l.nested) == 0 || v.Kind() != jsonscan.Array {
		return l.b.appendScalar(dst, s, v, l.esc)
	}
	inner := list{b: l.b, schema: s, nested: l.nested[1:], esc: l.esc, delim: delimiter(l.nested[0], l.esc)}
	return inner.append(dst, v)
}

// pairs writes name=value pairs: query, form body, cookies; or parts of a
// multipart body with the same names.
type pairs struct {
	b        *builder
	dst      []byte
	sep      string
	esc      escape // of values
	nameEsc  escape
	some     bool   // a pair was written
	boundary string // not empty: parts instead of pairs
	cookie   string // argument whose values must be verbatim cookie octets
}

// begin starts a pair whose name is already encoded.
func (p *pairs) begin(name []byte) {
	if p.boundary != "" {
		p.dst = appendPartHead(p.dst, p.boundary, name, "form-data")
		p.dst = append(p.dst, "\r\n"...)
		return
	}
	if p.some {
		p.dst = append(p.dst, p.sep...)
	}
	p.some = true
	p.dst = append(append(p.dst, name...), '=')
}

// pair starts a pair.
func (p *pairs) pair(name string) {
	p.b.r.prefix = appendEscaped(p.b.r.prefix[:0], name, p.nameEsc)
	p.begin(p.b.r.prefix)
}

// end ends a pair whose value starts at from.
func (p *pairs) end(from int) {
	if p.boundary != "" {
		p.dst = append(p.dst, "\r\n"...)
	}
	if p.cookie != "" && !cookieOctets(p.dst[from:]) {
		p.b.fail(p.cookie, "a cookie value must not have spaces, commas, semicolons, quotes, backslashes or control characters")
	}
}

func (p *pairs) scalar(s *Schema, v jsonscan.Value) {
	from := len(p.dst)
	p.dst = p.b.appendScalar(p.dst, s, v, p.esc)
	p.end(from)
}

// style writes one parameter or member. Nothing is written when v is undefined.
func (p *pairs) style(name string, style Style, explode bool, s *Schema, nested []Style, v jsonscan.Value) {
	v = p.b.heal(s, v)
	if undefined(v) {
		return
	}
	kind := v.Kind()
	switch {
	case style == StyleDeep:
		p.b.r.prefix = appendEscaped(p.b.r.prefix[:0], name, p.nameEsc)
		p.deep(s, v)
	case kind == jsonscan.Array && (explode || style == StyleMulti):
		i := 0
		for it := v.Elements(); it.Next(); i++ {
			if it.Value().Kind() == jsonscan.Null {
				continue
			}
			p.pair(name)
			from := len(p.dst)
			l := list{b: p.b, nested: nested, esc: p.esc}
			p.dst = l.item(p.dst, element(s, i), it.Value())
			p.end(from)
		}
	case kind == jsonscan.Object && (explode || style == StyleMulti):
		for it := v.Members(); it.Next(); {
			if it.Value().Kind() == jsonscan.Null {
				continue
			}
			p.b.r.prefix = p.b.appendName(p.b.r.prefix[:0], &it, p.nameEsc)
			if p.cookie != "" && !isToken(string(p.b.r.prefix)) {
				p.b.fail(p.cookie, "a cookie name must be letters, digits and -._~ only")
			}
			p.begin(p.b.r.prefix)
			p.scalar(property(s, &it), it.Value())
		}
	default:
		p.pair(name)
		from := len(p.dst)
		l := list{b: p.b, schema: s, nested: nested, esc: p.esc, delim: delimiter(style, p.esc)}
		p.dst = l.append(p.dst, v)
		p.end(from)
	}
}

// deep writes deepObject: name[a][b]=v. OpenAPI defines objects of scalars;
// deeper objects, arrays of scalars as name[]= and arrays of objects as name[0][a]=
// are what servers with that style read (docs/request-plans.md).
func (p *pairs) deep(s *Schema, v jsonscan.Value) {
	v = p.b.heal(s, v)
	open, end := "%5B", "%5D"
	if p.nameEsc == escNone {
		open, end = "[", "]"
	}
	n := len(p.b.r.prefix)
	switch v.Kind() {
	case jsonscan.Missing, jsonscan.Null:
	case jsonscan.Object:
		for it := v.Members(); it.Next(); {
			p.b.r.prefix = append(p.b.r.prefix, open...)
			p.b.r.prefix = p.b.appendName(p.b.r.prefix, &it, p.nameEsc)
			p.b.r.prefix = append(p.b.r.prefix, end...)
			p.deep(property(s, &it), it.Value())
			p.b.r.prefix = p.b.r.prefix[:n]
		}
	case jsonscan.Array:
		i := 0
		for it := v.Elements(); it.Next(); i++ {
			p.b.r.prefix = append(p.b.r.prefix, open...)
			if k := it.Value().Kind(); k == jsonscan.Object || k == jsonscan.Array {
				p.b.r.prefix = strconv.AppendInt(p.b.r.prefix, int64(i), 10)
			}
			p.b.r.prefix = append(p.b.r.prefix, end...)
			p.deep(element(s, i), it.Value())
			p.b.r.prefix = p.b.r.prefix[:n]
		}
	default:
		p.begin(p.b.r.prefix)
		p.scalar(s, v)
	}
}

// queryParam writes one query parameter.
func (b *builder) queryParam(q *pairs, p *Param, v jsonscan.Value) {
	if undefined(v) && p.Content == "" || !v.Exists() {
		return
	}
	q.esc = escStrict
	if p.AllowReserved {
		q.esc = escReservedQuery
	}
	if p.Content != "" {
		q.pair(p.Name)
		q.dst = b.appendContent(q.dst, p, v, q.esc)
		return
	}
	q.style(p.Name, p.Style, p.Explode, p.Schema, p.Nested, v)
}

// queryString writes a parameter that is the whole query (OpenAPI 3.2).
func (b *builder) queryString(q *pairs, p *Param, v jsonscan.Value) {
	if !v.Exists() {
		return
	}
	v = b.heal(p.Schema, v)
	if kindOf(p.Content) == bodyForm && v.Kind() == jsonscan.Object {
		q.esc, q.nameEsc = escForm, escForm
		for it := v.Members(); it.Next(); {
			b.r.prefix = b.appendName(b.r.prefix[:0], &it, escForm)
			b.formMember(q, property(p.Schema, &it), it.Value())
		}
		q.esc, q.nameEsc = escStrict, escStrict
		return
	}
	if q.some {
		q.dst = append(q.dst, '&')
	}
	q.some = true
	if kindOf(p.Content) == bodyJSON {
		q.dst = b.appendContent(q.dst, p, v, escStrict)
		return
	}
	// A text: the agent wrote the query itself. What would end it is encoded.
	b.r.text = v.AppendText(b.r.text[:0])
	for _, c := range b.r.text {
		switch {
		case c == '&' || c == '=' || c == '+' || c == '%' || c < 128 && keep[escReservedQuery][c]:
			q.dst = append(q.dst, c)
		default:
			q.dst = append(q.dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
}

// formMember writes one member of a form without style (WHATWG URL, OpenAPI
// "Encoding Object" defaults): scalars as text, objects as JSON, arrays as a pair
// for each item. The name is in the request's prefix.
func (b *builder) formMember(q *pairs, s *Schema, v jsonscan.Value) {
	v = b.heal(s, v)
	if undefined(v) {
		return
	}
	if v.Kind() != jsonscan.Array {
		q.begin(b.r.prefix)
		q.scalar(s, v)
		return
	}
	i := 0
	for it := v.Elements(); it.Next(); i++ {
		if it.Value().Kind() != jsonscan.Null {
			q.begin(b.r.prefix)
			q.scalar(element(s, i), it.Value())
		}
	}
}

// appendContent writes a parameter that has `content` instead of a style: JSON as
// minified text, everything else as the text itself.
func (b *builder) appendContent(dst []byte, p *Param, v jsonscan.Value, e escape) []byte {
	if kindOf(p.Content) != bodyJSON {
		return b.appendScalar(dst, p.Schema, v, e)
	}
	b.r.text = b.appendJSON(b.r.text[:0], p.Schema, v)
	return appendEscaped(dst, b.r.text, e)
}

// cookieOctets checks a value that is written verbatim (RFC 6265 §4.1.1).
func cookieOctets(b []byte) bool {
	for _, c := range b {
		if c < '!' || c > '~' || c == '"' || c == ',' || c == ';' || c == '\\' {
			return false
		}
	}
	return true
}
