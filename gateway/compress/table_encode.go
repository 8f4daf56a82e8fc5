package compress

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// AppendTable appends the table text of doc, a JSON text, to dst. It appends the
// minified JSON instead, and reports false, when table text could not be shorter:
// for scalars, empty and very large documents, and where there is nothing to name
// once. It keeps neither argument. It fails as [jsonscan.Parse] does when doc is
// not JSON or too deep.
//
// The time is linear in len(doc) but for the search of column rules, which is
// bounded for each column.
func AppendTable(dst, doc []byte) ([]byte, bool, error) {
	v, err := jsonscan.Parse(doc, jsonscan.DefaultMaxDepth)
	if err != nil {
		return dst, false, err
	}
	dst, table := appendTable(dst, v)
	if !table {
		dst = jsonscan.AppendMinified(dst, v.Raw())
	}
	return dst, table, nil
}

// appendTable is AppendTable for a document that was validated; it appends nothing
// where table text could not be shorter, and for what is nested too deeply.
func appendTable(dst []byte, v jsonscan.Value) ([]byte, bool) {
	mark := len(dst)
	if k := v.Kind(); k == jsonscan.Object || k == jsonscan.Array {
		e := encoders.Get().(*encoder)
		e.reset(dst)
		table := e.build(v.Raw()) && e.nodes[0].flags&filled != 0 && e.document()
		dst = e.out
		e.release()
		if table {
			return dst, true
		}
	}
	return dst[:mark], false
}

// encoder writes one document. It is kept for the next one: see encoders.
type encoder struct {
	tree
	records   []*record // by shape; only roots are used
	parent    []int32   // union-find over records
	order     []int32   // used records in the order of their names
	paths     numbering // of members
	last      []int32   // by path: the last shape that was seen there, -1 none
	sequences numbering // of keys
	shape     []int32   // by sequence, -1 none
	layouts   []int32   // of shapes: the columns of their members
	laid      []int32   // by shape: where its layout starts+1, 0 none
	out       []byte
	sep       byte // what ends a bare string here: tab, space, or line feed

	// What parts of the work need for a while.
	names      numbering
	merged     [][]byte
	columns    []int    // in the order of their sizes
	refs       []int    // of one record: columns that rules may refer to
	rows       []int    // of one column
	texts      [][]byte // of one column; cut as rules are tried
	deepest    int      // most of texts that were used
	candidates []int
	parts      []part // of all rules
	objects    tally
	arrays     tally
	elements   tally
	scratch    []byte
}

// document writes the whole text; false: table text has no form for it.
func (e *encoder) document() bool {
	e.shapes()
	e.laid = slices.Grow(e.laid[:0], len(e.records))[:len(e.records)]
	clear(e.laid)
	for s, r := range e.records {
		if e.root(int32(s)) == int32(s) && len(r.instances) >= 2 {
			r.used = true
			r.name = appendTypeName(r.name[:0], len(e.order))
			e.order = append(e.order, int32(s))
			e.analyse(r)
		}
	}
	for _, s := range e.order {
		e.annotate(e.records[s])
	}
	for _, s := range e.order {
		e.records[s].sep = e.rowSeparator(e.records[s])
	}
	root := &e.nodes[0]
	if root.kind == jsonscan.Array {
		t := e.elementType(0)
		if t < 0 {
			return false
		}
		e.declarations()
		e.sep = '\n'
		e.block(0, t)
		return true
	}
	e.declarations()
	e.sep = '\n'
	for c := e.first(0); c >= 0; c = e.next(c) {
		if c != 1 {
			e.out = append(e.out, '\n')
		}
		e.member(c, true)
	}
	return true
}

// appendTypeName counts A, B … Z, AA, AB …
func appendTypeName(name []byte, i int) []byte {
	for ; i >= 0; i = i/26 - 1 {
		name = append(name, byte('A'+i%26))
	}
	slices.Reverse(name)
	return name
}

func (e *encoder) declarations() {
	for _, s := range e.order {
		r := e.records[s]
		e.sep = r.sep
		e.out = append(append(e.out, '#'), r.name...)
		for c := range r.columns {
			e.out = append(e.out, r.sep)
			e.key(r.keys[c])
			e.annotation(r.columns[c].obj, r.columns[c].arr)
			e.writeRule(r, &r.columns[c])
		}
		e.out = append(e.out, '\n')
	}
}

func (e *encoder) annotation(obj, arr int32) {
	if obj >= 0 {
		e.out = append(append(append(e.out, '('), e.records[obj].name...), ')')
	}
	if arr >= 0 {
		e.out = append(append(append(e.out, '['), e.records[arr].name...), ']')
	}
}

func (e *encoder) writeRule(r *record, c *column) {
	switch c.mode {
	case modePlain:
		return
	case modeDefault:
		e.out = append(e.out, '?')
	}
	e.out = append(e.out, '=')
	if c.parts == nil {
		if n := &e.nodes[c.konst]; n.plain() && bytes.ContainsAny(e.raw(n), "<>") {
			e.quoted(e.raw(n)) // or it would read as a template
		} else {
			e.value(c.konst, -1, -1)
		}
		return
	}
	for _, p := range c.parts {
		switch p.ref {
		case partLiteral:
			e.out = append(e.out, p.lit...)
		case partHole:
			e.out = append(e.out, "<>"...)
		case partTime:
			e.out = append(e.out, "<@t>"...)
		case partUUID:
			e.out = append(e.out, "<@u>"...)
		default:
			e.out = append(e.out, '<')
			e.key(r.keys[p.ref])
			e.out = append(e.out, '>')
		}
	}
}

func (e *encoder) member(id int32, top bool) {
	n := &e.nodes[id]
	e.key(e.name(n))
	obj, arr := int32(-1), int32(-1)
	switch n.kind {
	case jsonscan.Object:
		obj = e.typeOf(id)
	case jsonscan.Array:
		arr = e.elementType(id)
	}
	if top && arr >= 0 && e.boxOf(n).size > 1 {
		e.out = append(e.out, ':')
		e.block(id, arr)
		return
	}
	e.annotation(obj, arr)
	e.out = append(e.out, ':')
	e.value(id, obj, arr)
}

// block writes array id with a row on each line.
func (e *encoder) block(id, t int32) {
	e.out = append(append(append(e.out, '['), e.records[t].name...), '\n')
	for c := e.first(id); c >= 0; c = e.next(c) {
		if e.nodes[c].kind == jsonscan.Object && e.typeOf(c) == t {
			e.row(c, e.records[t])
		} else {
			e.out = append(e.out, '!')
			e.value(c, -1, t)
		}
		e.out = append(e.out, '\n')
	}
	e.out = append(e.out, ']')
}

// value writes a value where objects of record obj stand without keys, and so
// do elements of record arr.
func (e *encoder) value(id, obj, arr int32) {
	n := &e.nodes[id]
	switch n.kind {
	case jsonscan.Number:
		e.text(n)
	case jsonscan.String:
		if n.flags&bare != 0 && (e.sep != ' ' || n.flags&blanks == 0) {
			e.text(n)
		} else {
			e.quoted(e.raw(n))
		}
	case jsonscan.Object:
		if t := e.typeOf(id); t >= 0 && t == obj {
			e.out = append(e.out, '(')
			e.row(id, e.records[t])
			e.out = append(e.out, ')')
			return
		}
		e.out = append(e.out, '{')
		outer := e.sep
		if e.sep = e.separator(id); e.sep == ' ' {
			e.out = append(e.out, ' ')
		}
		for c := e.first(id); c >= 0; c = e.next(c) {
			if c != id+1 {
				e.out = append(e.out, e.sep)
			}
			e.member(c, false)
		}
		e.sep = outer
		e.out = append(e.out, '}')
	case jsonscan.Array:
		e.array(id, arr)
	default:
		e.text(n)
	}
}

// text writes the text of n as it is. Most are short: two words of eight bytes are copied
// sooner than a call begins.
func (e *encoder) text(n *node) {
	from, at, size := int(n.start), len(e.out), int(n.end-n.start)
	if size > 16 || from+16 > len(e.b) || at+16 > cap(e.out) {
		e.out = append(e.out, e.raw(n)...)
		return
	}
	src, dst := e.b[from:from+16], e.out[at:at+16]
	binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src))
	binary.LittleEndian.PutUint64(dst[8:], binary.LittleEndian.Uint64(src[8:]))
	e.out = e.out[:at+size]
}

func (e *encoder) array(id, arr int32) {
	first := e.first(id)
	numbers := first >= 0
	for c := first; c >= 0 && numbers; c = e.next(c) {
		numbers = e.nodes[c].kind == jsonscan.Number
	}
	if numbers { // commas: a comma and a minus sign are one token
		e.out = append(e.out, '[')
		for c := first; c >= 0; c = e.next(c) {
			if c != first {
				e.out = append(e.out, ',')
			}
			e.text(&e.nodes[c])
		}
		e.out = append(e.out, ']')
		return
	}
	e.out = append(e.out, '[')
	outer := e.sep
	if e.sep = e.separator(id); e.sep == ' ' {
		e.out = append(e.out, ' ')
	}
	for c := first; c >= 0; c = e.next(c) {
		if c != first && e.out[len(e.out)-1] != ')' {
			e.out = append(e.out, e.sep)
		}
		if n := &e.nodes[c]; n.plain() && numeral(e.raw(n)) {
			e.quoted(e.raw(n)) // or [1,2 would read as numbers
			continue
		}
		e.value(c, arr, arr)
	}
	e.sep = outer
	e.out = append(e.out, ']')
}

// row writes the cells of object id, without the empty ones at the end.
func (e *encoder) row(id int32, r *record) {
	row := r.row(int(e.boxOf(&e.nodes[id]).row))
	keep, first := len(e.out), true
	outer := e.sep
	e.sep = r.sep
	mask := bare // what says that a value is written as it stands
	if r.sep == ' ' {
		mask |= blanks
	}
	for c := range r.columns {
		col := &r.columns[c]
		if col.mode == modeFixed {
			continue
		}
		if !first {
			e.out = append(e.out, r.sep)
		}
		first = false
		mark := len(e.out)
		if col.mode == modePlain {
			if row[c] < 0 {
				continue
			}
			// Mostly it is a short text as it stands, for which this spares two calls.
			n := &e.nodes[row[c]]
			from, size := int(n.start), int(n.end-n.start)
			if n.flags&mask == bare && size <= 16 && from+16 <= len(e.b) && mark+16 <= cap(e.out) {
				src, dst := e.b[from:from+16], e.out[mark:mark+16]
				binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src))
				binary.LittleEndian.PutUint64(dst[8:], binary.LittleEndian.Uint64(src[8:]))
				e.out = e.out[:mark+size]
			} else {
				e.value(row[c], col.obj, col.arr)
			}
		} else {
			e.cell(r, row, c)
		}
		if len(e.out) > mark {
			keep = len(e.out)
		}
	}
	e.out = e.out[:keep]
	e.sep = outer
}

// cell writes a cell of a column with a rule.
func (e *encoder) cell(r *record, row []int32, c int) {
	col := &r.columns[c]
	id := row[c]
	switch {
	case col.mode == modeCoded && id < 0:
		return
	case col.mode == modeDefault && id < 0:
		e.out = append(e.out, '=')
		return
	case col.mode == modeDefault && e.isDefault(col, row, id):
		return
	case col.mode == modeCoded && e.nodes[id].plain() && e.hole(col, row, id):
		return
	}
	e.out = append(e.out, '=')
	e.value(id, col.obj, col.arr)
}

// partText returns what a literal or a reference stands for in row.
func (e *encoder) partText(p part, row []int32) ([]byte, bool) {
	if p.ref < 0 {
		return p.lit, true
	}
	if row[p.ref] < 0 {
		return nil, false
	}
	return e.ref(&e.nodes[row[p.ref]])
}

func (e *encoder) isDefault(c *column, row []int32, id int32) bool {
	n := &e.nodes[id]
	if c.parts == nil {
		return e.same(id, c.konst)
	}
	if !n.plain() {
		return false
	}
	rest, ok := e.cut(c.parts, row, e.raw(n), false)
	return ok && len(rest) == 0
}

// cut removes the texts of parts from the start of v, or from its end when back
// is set.
func (e *encoder) cut(parts []part, row []int32, v []byte, back bool) ([]byte, bool) {
	for i := range parts {
		p := parts[i]
		if back {
			p = parts[len(parts)-1-i]
		}
		text, ok := e.partText(p, row)
		if !ok {
			return nil, false
		}
		if back {
			v, ok = bytes.CutSuffix(v, text)
		} else {
			v, ok = bytes.CutPrefix(v, text)
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

// hole writes what the column's hole holds of value id; false: the rule does
// not make that value, or the hole's text could not stand in a cell.
func (e *encoder) hole(c *column, row []int32, id int32) bool {
	at := slices.IndexFunc(c.parts, func(p part) bool { return p.ref < partLiteral })
	v, ok := e.cut(c.parts[:at], row, e.raw(&e.nodes[id]), false)
	if ok {
		v, ok = e.cut(c.parts[at+1:], row, v, true)
	}
	if !ok || len(v) == 0 || v[0] == '=' || v[0] == '!' || v[0] == ' ' || !bareBytes(v) || e.sep == ' ' && bytes.IndexByte(v, ' ') >= 0 {
		return false
	}
	switch c.parts[at].ref {
	case partTime:
		if !isTime(v) {
			return false
		}
		e.out = append(append(append(e.out, v[:4]...), v[5:7]...), v[8:13]...)
		e.out = append(append(e.out, v[14:16]...), v[17:]...)
	case partUUID:
		if !isUUID(v) {
			return false
		}
		e.out = append(append(append(e.out, v[:8]...), v[9:13]...), v[14:18]...)
		e.out = append(append(e.out, v[19:23]...), v[24:]...)
	default:
		e.out = append(e.out, v...)
	}
	return true
}

func (e *encoder) key(k []byte) {
	if isBareKey(k) {
		e.out = append(e.out, k...)
	} else {
		e.quoted(k)
	}
}

func (e *encoder) quoted(raw []byte) {
	e.out = append(append(append(e.out, '"'), raw...), '"')
}

// isBareKey reports whether a key may stand without quotes.
func isBareKey(k []byte) bool {
	for _, c := range k {
		if border(c) && c != '_' && c != '-' && c != '.' && c != '$' && c != '/' && c != '+' || c >= 0x80 {
			return false
		}
	}
	return len(k) > 0
}

// endsBare reports whether a string without a byte that ends a cell may stand without
// quotes.
func endsBare(s []byte) bool {
	if len(s) == 0 || s[len(s)-1] == ' ' {
		return false
	}
	first := firstBytes[s[0]]
	return first == 0 || first == startsLiteral && !literal(s)
}

// The classes of the first byte of a string: what no bare one starts with, and what a literal does.
const (
	startsOther = 1 + iota
	startsLiteral
)

var firstBytes = func() (t [256]uint8) {
	for c := range t {
		switch {
		case !startsBare(byte(c)):
			t[c] = startsOther
		case c == 'n' || c == 't' || c == 'f' || numeral([]byte{byte(c)}):
			t[c] = startsLiteral
		}
	}
	return t
}()

func startsBare(c byte) bool {
	switch c {
	case '"', '(', '[', '{', '=', '!', '#', ' ':
		return false
	}
	return true
}

// bareBytes reports whether s has no byte that ends a cell, and no blank at its
// end, which nobody would see.
func bareBytes(s []byte) bool {
	for _, c := range s {
		if stringBytes[c]&endsCell != 0 {
			return false
		}
	}
	return s[len(s)-1] != ' '
}

// literal reports whether s would read as null, true, false or a number.
func literal(s []byte) bool {
	switch string(s) {
	case "null", "true", "false":
		return true
	}
	return numeral(s) && isNumber(s)
}

// numeral reports whether s starts as a number does.
func numeral(s []byte) bool {
	return len(s) > 0 && (s[0] == '-' || s[0] >= '0' && s[0] <= '9')
}

// isNumber reports whether s is a number of RFC 8259 §6.
func isNumber(s []byte) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return false
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(s)
}
