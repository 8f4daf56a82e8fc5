package compress

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// errTooMany: a document has more values than the encoders look at.
var errTooMany = errors.New("the document has too many values")

// Toon writes Token-Oriented Object Notation, specification 4.0
// (github.com/toon-format/spec). The zero value has the format's defaults. Operators choose
// it by name (docs/adr/0022).
type Toon struct {
	Delimiter byte // ',', '|' or '\t'. Default: ','
	Indent    int  // blanks of a level, 1 to 16. Default: 2
	Lenient   bool // decode without the format's strict mode: counts and repeated keys are not checked. Default: false
}

func (o Toon) level() int {
	if o.Indent < 1 || o.Indent > 16 {
		return 2
	}
	return o.Indent
}

// AppendTOON appends doc, a JSON text, as TOON with the format's defaults. See
// [Toon.Append].
func AppendTOON(dst, doc []byte) ([]byte, error) { return Toon{}.Append(dst, doc) }

// Append appends doc, a JSON text, as TOON to dst. Numbers keep every digit: they
// are written without exponent where the format asks for it (1e-6 to 1e21), with
// trailing zeros of a fraction removed. Members of an object that came twice stay
// twice. It fails as [jsonscan.Parse] does, and for documents of more values than
// table text takes. It keeps neither argument.
func (o Toon) Append(dst, doc []byte) ([]byte, error) {
	v, err := jsonscan.Parse(doc, jsonscan.DefaultMaxDepth)
	if err != nil {
		return dst, err
	}
	w := toonWriter{out: dst, delimiter: o.Delimiter, indent: o.level()}
	if w.delimiter == 0 {
		w.delimiter = ','
	}
	if !w.build(v.Raw()) {
		return dst, errTooMany
	}
	w.root()
	return w.out, nil
}

type toonWriter struct {
	tree
	out       []byte
	delimiter byte
	indent    int
	scratch   []byte
}

// field is a column of a tabular form; sub are the columns of a nested object.
type field struct {
	key []byte
	sub []field
}

func (w *toonWriter) root() {
	n := &w.nodes[0]
	switch {
	case n.kind == jsonscan.Array:
		w.array(0, 0, true, true)
	case n.kind == jsonscan.Object:
		if f := w.keyed(0); f != nil {
			w.keyedObject(0, f, 0)
			return
		}
		w.object(0, 0)
	default:
		w.scalar(0, w.delimiter)
	}
}

func (w *toonWriter) line(depth int) {
	w.out = append(w.out, '\n')
	for range depth * w.indent {
		w.out = append(w.out, ' ')
	}
}

// object writes the members, one a line.
func (w *toonWriter) object(id int32, depth int) {
	for c := w.first(id); c >= 0; c = w.next(c) {
		if c != w.first(id) || depth > 0 {
			w.line(depth)
		}
		w.member(c, depth)
	}
}

// member writes a key and its value; the cursor is where the key belongs, and
// depth is the member's.
func (w *toonWriter) member(id int32, depth int) {
	n := &w.nodes[id]
	w.key(w.name(n))
	switch n.kind {
	case jsonscan.Object:
		if f := w.keyed(id); f != nil {
			w.keyedObject(id, f, depth)
			return
		}
		w.out = append(w.out, ':')
		if w.size(id) > 0 {
			w.object(id, depth+1)
		}
	case jsonscan.Array:
		w.array(id, depth, true, false)
	default:
		w.out = append(w.out, ": "...)
		w.scalar(id, w.delimiter)
	}
}

// array writes from the bracket on. tables says that the tabular form may stand
// here; root that there is no key before.
func (w *toonWriter) array(id int32, depth int, tables, root bool) {
	if w.size(id) == 0 {
		switch {
		case root:
			w.out = append(w.out, "[]"...)
		case tables:
			w.out = append(w.out, ": []"...)
		default:
			w.header(0, false)
			w.out = append(w.out, ':')
		}
		return
	}
	w.header(w.size(id), false)
	scalars := true
	for c := w.first(id); c >= 0 && scalars; c = w.next(c) {
		scalars = !w.nodes[c].container()
	}
	if scalars {
		w.out = append(w.out, ": "...)
		for c := w.first(id); c >= 0; c = w.next(c) {
			if c != w.first(id) {
				w.out = append(w.out, w.delimiter)
			}
			w.scalar(c, w.delimiter)
		}
		return
	}
	if tables {
		if f := w.uniform(w.children(id)); f != nil {
			w.fields(f)
			w.out = append(w.out, ':')
			for c := w.first(id); c >= 0; c = w.next(c) {
				w.line(depth + 1)
				w.cells(c, f, true)
			}
			return
		}
	}
	w.out = append(w.out, ':')
	for c := w.first(id); c >= 0; c = w.next(c) {
		w.line(depth + 1)
		w.item(c, depth+1)
	}
}

// item writes an element of an expanded list.
func (w *toonWriter) item(id int32, depth int) {
	n := &w.nodes[id]
	w.out = append(w.out, '-')
	if n.kind == jsonscan.Object && w.size(id) == 0 {
		return
	}
	w.out = append(w.out, ' ')
	switch n.kind {
	case jsonscan.Object:
		for c := w.first(id); c >= 0; c = w.next(c) {
			if c != w.first(id) {
				w.line(depth + 1)
			}
			w.member(c, depth+1)
		}
	case jsonscan.Array:
		w.array(id, depth, false, false)
	default:
		w.scalar(id, w.delimiter)
	}
}

func (w *toonWriter) header(size int32, keyed bool) {
	w.out = append(w.out, '[')
	w.out = strconv.AppendInt(w.out, int64(size), 10)
	if keyed {
		w.out = append(w.out, ':')
	}
	if w.delimiter != ',' {
		w.out = append(w.out, w.delimiter)
	}
	w.out = append(w.out, ']')
}

func (w *toonWriter) fields(list []field) {
	w.out = append(w.out, '{')
	for i, f := range list {
		if i > 0 {
			w.out = append(w.out, w.delimiter)
		}
		w.key(f.key)
		if f.sub != nil {
			w.fields(f.sub)
		}
	}
	w.out = append(w.out, '}')
}

// cells writes the leaves of object id in the order of the fields.
func (w *toonWriter) cells(id int32, list []field, first bool) {
	for _, f := range list {
		c := w.get(id, f.key)
		if f.sub != nil {
			w.cells(c, f.sub, first)
			first = false
			continue
		}
		if !first {
			w.out = append(w.out, w.delimiter)
		}
		first = false
		w.scalar(c, w.delimiter)
	}
}

// keyed returns the columns of an object whose members are uniform objects; nil
// when it is none (§9.5).
func (w *toonWriter) keyed(id int32) []field {
	if w.size(id) < 2 || w.twice(id) {
		return nil
	}
	return w.uniform(w.children(id))
}

func (w *toonWriter) keyedObject(id int32, f []field, depth int) {
	w.header(w.size(id), true)
	w.fields(f)
	w.out = append(w.out, ':')
	for c := w.first(id); c >= 0; c = w.next(c) {
		w.line(depth + 1)
		w.key(w.name(&w.nodes[c]))
		w.out = append(w.out, ": "...)
		w.cells(c, f, true)
	}
}

func (w *toonWriter) children(id int32) []int32 {
	list := make([]int32, 0, w.size(id))
	for c := w.first(id); c >= 0; c = w.next(c) {
		list = append(list, c)
	}
	return list
}

// uniform returns the columns of objects with one set of keys whose columns are
// scalars or, in turn, uniform objects (§9.3); nil when they are not.
func (w *toonWriter) uniform(list []int32) []field {
	for _, id := range list {
		if n := &w.nodes[id]; n.kind != jsonscan.Object || w.size(id) == 0 || w.size(id) != w.size(list[0]) || w.size(id) > maxColumns || w.twice(id) {
			return nil
		}
	}
	var out []field
	column := make([]int32, len(list))
	for k := w.first(list[0]); k >= 0; k = w.next(k) {
		f := field{key: w.name(&w.nodes[k])}
		objects := 0
		for i, id := range list {
			c := w.get(id, f.key)
			if c < 0 || w.nodes[c].kind == jsonscan.Array {
				return nil
			}
			if w.nodes[c].kind == jsonscan.Object {
				objects++
			}
			column[i] = c
		}
		switch objects {
		case 0:
		case len(list):
			if f.sub = w.uniform(slices.Clone(column)); f.sub == nil {
				return nil
			}
		default:
			return nil
		}
		out = append(out, f)
	}
	return out
}

// get finds the member of object id; objects mostly have their keys in one order,
// so this is cheap for tables. -1: none.
func (w *toonWriter) get(id int32, key []byte) int32 {
	for c := w.first(id); c >= 0; c = w.next(c) {
		if bytes.Equal(w.name(&w.nodes[c]), key) {
			return c
		}
	}
	return -1
}

// twice reports whether an object has a key twice.
func (w *toonWriter) twice(id int32) bool {
	if w.size(id) <= 16 {
		for a := w.first(id); a >= 0; a = w.next(a) {
			for b := w.next(a); b >= 0; b = w.next(b) {
				if bytes.Equal(w.name(&w.nodes[a]), w.name(&w.nodes[b])) {
					return true
				}
			}
		}
		return false
	}
	seen := make(map[string]bool, w.size(id))
	for c := w.first(id); c >= 0; c = w.next(c) {
		if seen[string(w.name(&w.nodes[c]))] {
			return true
		}
		seen[string(w.name(&w.nodes[c]))] = true
	}
	return false
}

// decoded is the text of what stands between quotes in JSON.
func (w *toonWriter) decoded(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	w.scratch = append(append(append(w.scratch[:0], '"'), raw...), '"')
	return jsonscan.Trusted(w.scratch).AppendText(nil)
}

func (w *toonWriter) key(raw []byte) {
	k := w.decoded(raw)
	if plainToonKey(k) {
		w.out = append(w.out, k...)
		return
	}
	w.quoted(k)
}

// plainToonKey reports whether a key may stand without quotes (§7.3).
func plainToonKey(k []byte) bool {
	plain := len(k) > 0 && (k[0]|0x20 >= 'a' && k[0]|0x20 <= 'z' || k[0] == '_')
	for _, c := range k {
		plain = plain && (c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.')
	}
	return plain
}

// scalar writes a value without members, quoted where §7.2 asks for it.
func (w *toonWriter) scalar(id int32, delimiter byte) {
	n := &w.nodes[id]
	switch n.kind {
	case jsonscan.String:
		s := w.raw(n)
		if !n.plain() {
			s = w.decoded(s)
		}
		if toonPlain(s, delimiter) {
			w.out = append(w.out, s...)
		} else {
			w.quoted(s)
		}
	case jsonscan.Number:
		w.out = appendToonNumber(w.out, w.raw(n))
	default:
		w.out = append(w.out, w.raw(n)...)
	}
}

// toonPlain reports whether a string may stand without quotes (§7.2).
func toonPlain(s []byte, delimiter byte) bool {
	if len(s) == 0 || s[0] == ' ' || s[0] == '-' || s[0] == '#' || s[len(s)-1] == ' ' {
		return false
	}
	for _, c := range s {
		switch c {
		case ':', '"', '\\', '[', ']', '{', '}', delimiter:
			return false
		}
		if c < ' ' {
			return false
		}
	}
	switch string(s) {
	case "true", "false", "null":
		return false
	}
	return !toonNumeric(s)
}

// toonNumeric reports what looks like a number: ^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$
func toonNumeric(s []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	sign := func() {
		if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
	}
	sign()
	if !digits() {
		return false
	}
	if len(s) > 0 && s[0] == '.' {
		s = s[1:]
		if !digits() {
			return false
		}
	}
	if len(s) > 0 && s[0]|0x20 == 'e' {
		s = s[1:]
		sign()
		return digits() && len(s) == 0
	}
	return len(s) == 0
}

func (w *toonWriter) quoted(s []byte) {
	const hex = "0123456789abcdef"
	w.out = append(w.out, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			w.out = append(w.out, '\\', c)
		case c == '\n':
			w.out = append(w.out, '\\', 'n')
		case c == '\r':
			w.out = append(w.out, '\\', 'r')
		case c == '\t':
			w.out = append(w.out, '\\', 't')
		case c < ' ':
			w.out = append(w.out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			w.out = append(w.out, c)
		}
	}
	w.out = append(w.out, '"')
}

// appendToonNumber writes a JSON number in the form of §2: without exponent from
// 1e-6 to below 1e21, without trailing zeros of the fraction, -0 as 0; outside of
// that with one digit before the point and an exponent. No digit is lost.
func appendToonNumber(dst, raw []byte) []byte {
	negative := raw[0] == '-'
	if negative {
		raw = raw[1:]
	}
	mantissa, exponent := raw, 0
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		mantissa = raw[:i]
		e, err := strconv.Atoi(string(raw[i+1:]))
		if err != nil || e > 1<<20 || e < -1<<20 { // beyond any form: as it came
			if negative {
				dst = append(dst, '-')
			}
			return append(dst, raw...)
		}
		exponent = e
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	point := len(whole) + exponent // of digits, before the point
	lead := len(digits) - len(bytes.TrimLeft(digits, "0"))
	digits, point = digits[lead:], point-lead
	digits = bytes.TrimRight(digits, "0")
	if len(digits) == 0 {
		return append(dst, '0')
	}
	if negative {
		dst = append(dst, '-')
	}
	switch {
	case point > 21 || point < -5:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		dst = append(dst, 'e')
		if point > 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(point-1), 10)
	case point <= 0:
		dst = append(dst, "0."...)
		for range -point {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	case point >= len(digits):
		dst = append(dst, digits...)
		for range point - len(digits) {
			dst = append(dst, '0')
		}
		return dst
	}
	return append(append(append(dst, digits[:point]...), '.'), digits[point:]...)
}
