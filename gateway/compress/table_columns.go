package compress

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// mode says what stands in the cells of a column.
type mode uint8

const (
	modePlain   mode = iota // the value; empty is missing
	modeFixed               // no cell: the rule in the header is the value
	modeDefault             // empty is the rule, "=" is missing, "=v" is v
	modeCoded               // what the hole of the rule holds; empty is missing, "=v" is v
)

// The parts of a rule: literal text, a reference to another column, or one of
// the holes that the cell fills.
const (
	partLiteral = -1
	partHole    = -2 // "<>": the cell as it is
	partTime    = -3 // "<@t>": RFC 3339 in the basic format of ISO 8601
	partUUID    = -4 // "<@u>": RFC 9562 without hyphens
)

type part struct {
	lit []byte
	ref int // column, or one of the constants above
}

type column struct {
	mode  mode
	konst int32  // the constant's node when parts is nil; until the mode is decided the winner of the vote
	parts []part //
	obj   int32  // record of object values, -1
	arr   int32  // record of array elements, -1
	size  int    // average length, which orders the references

	present, containers int // rows that have a value, and one that is an object or array
	strings             int // rows with a string without escapes
	voters, votes       int // rows with a value that is no filled container, and what the vote for konst came to
	// What the separators of cells would cost or save: see separatorGain.
	words, blanks int
}

// The share of rows, in tenths, from which a rule is worth its header.
const (
	defaultShare  = 7
	templateShare = 6
)

// analyse decides the mode of each column, shortest values first: a rule refers
// only to columns whose cells are written, so that no two refer to each other.
func (e *encoder) analyse(r *record) {
	r.columns = slices.Grow(r.columns[:0], len(r.keys))[:len(r.keys)]
	for c := range r.columns {
		r.columns[c] = column{obj: -1, arr: -1, konst: -1}
	}
	e.fill(r)
	order := e.columns[:0]
	for c := range r.columns {
		order = append(order, c)
		col := &r.columns[c]
		col.size /= max(col.present, 1)
	}
	e.columns = order
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.columns[a].size, r.columns[b].size) })
	refs := e.refs[:0]
	for _, c := range order {
		e.decide(r, c, refs)
		if m := r.columns[c].mode; (m == modePlain || m == modeCoded) && len(refs) < maxRefs && !bytes.ContainsAny(r.keys[c], "<>") {
			refs = append(refs, c)
		}
	}
	e.refs = refs
}

func (e *encoder) decide(r *record, c int, refs []int) {
	col := &r.columns[c]
	rows := len(r.instances)
	best, bestN := col.konst, 0
	col.konst = -1
	// A value in k of the rows has at least 2k - voters votes.
	if col.votes > 0 && (col.voters+col.votes)*10 >= 2*rows*defaultShare {
		best, bestN = e.occurrences(r, c, best)
	}
	if bestN == rows {
		col.mode, col.konst = modeFixed, best
		return
	}
	if col.strings >= 2 && col.strings*10 >= col.present*templateShare && col.size >= minTemplateSize {
		if parts, hole := e.template(r, c, refs); parts != nil {
			col.parts = parts
			switch {
			case hole:
				col.mode = modeCoded
			case col.strings == rows:
				col.mode = modeFixed
			default:
				col.mode = modeDefault
			}
			return
		}
	}
	if rows >= 3 && bestN*10 >= rows*defaultShare {
		col.mode, col.konst = modeDefault, best
	}
}

// plainRows are the rows with a string without escapes in column c, which a template may make:
// the first n of them, or all that there are.
func (e *encoder) plainRows(r *record, c, n int) []int {
	rows := e.rows[:0]
	for i := 0; i < len(r.instances) && len(rows) < n; i++ {
		if id := r.row(i)[c]; id >= 0 && e.nodes[id].plain() {
			rows = append(rows, i)
		}
	}
	e.rows = rows
	return rows
}

// occurrences counts the rows whose value in column c is that of node id, and
// returns the last one.
func (e *encoder) occurrences(r *record, c int, id int32) (last int32, n int) {
	for i := range r.instances {
		if v := r.row(i)[c]; v >= 0 && e.same(v, id) {
			last, n = v, n+1
		}
	}
	return last, n
}

// same reports whether two nodes have one text and kind: null is not the string
// "null". Of containers only empty ones are compared.
func (e *encoder) same(a, b int32) bool {
	x, y := &e.nodes[a], &e.nodes[b]
	if x.kind != y.kind {
		return false
	}
	if x.container() {
		return (x.flags|y.flags)&filled == 0
	}
	// Numbers and names of a list differ at their ends.
	if x.end-x.start != y.end-y.start || x.end > x.start && e.b[x.end-1] != e.b[y.end-1] {
		return false
	}
	return bytes.Equal(e.raw(x), e.raw(y))
}

const (
	// maxRefs bounds the columns a template may choose from; the shortest come
	// first, which are the names and numbers that URLs are made of.
	maxRefs = 48
	// minTemplateSize is the average length from which a rule can pay for itself.
	minTemplateSize = 6
	// minHoleLiteral is the same for the constant part of a rule with a hole.
	minHoleLiteral = 8
	// maxTemplateParts bounds the references of one rule.
	maxTemplateDepth = 4
	// fitSteps bounds the comparisons made for one column, so that a document made
	// to be slow costs no more than its size.
	fitSteps = 1 << 16
)

// template looks for the rule that makes the column's strings, of which there are two or more. hole
// says that the rule has a hole and the column keeps its cells.
func (e *encoder) template(r *record, c int, refs []int) (parts []part, hole bool) {
	e.texts, e.candidates = e.texts[:0], e.candidates[:0]
	rows := e.plainRows(r, c, 2)
	f := fitter{e: e, r: r, rows: rows, refs: refs, steps: fitSteps}
	if f.hopeless(e.raw(&e.nodes[r.row(rows[0])[c]]), e.raw(&e.nodes[r.row(rows[1])[c]])) {
		return nil, false
	}
	rows = e.plainRows(r, c, len(r.instances))
	f.rows = rows
	values := e.spans(len(rows))
	for i, row := range rows {
		values[i] = e.raw(&e.nodes[r.row(row)[c]])
	}
	switch {
	case all(values, isTime):
		return e.rule(part{ref: partTime}), true
	case all(values, isUUID):
		return e.rule(part{ref: partUUID}), true
	}
	parts, ok := f.fit(values, 0)
	if !ok || len(parts) == 0 {
		return nil, false
	}
	if len(parts) == 1 && parts[0].ref == partLiteral {
		return nil, false // one text for all is a value, which may need quotes
	}
	literal := 0
	for _, p := range parts {
		literal += len(p.lit)
		if bytes.ContainsAny(p.lit, "<>") {
			return nil, false
		}
	}
	if f.hole && !f.refers && literal < minHoleLiteral {
		return nil, false
	}
	if parts[0].ref == partLiteral && !startsBare(parts[0].lit[0]) {
		return nil, false
	}
	return parts, f.hole
}

// fitter finds a rule by example: a reference whose text occurs in every value
// splits the values, and both sides are fitted in turn.
type fitter struct {
	e          *encoder
	r          *record
	rows, refs []int
	steps      int
	hole       bool // one hole is taken
	refers     bool
}

// hopeless says that no rule makes the first two values: each is one that would be told from
// the others by a hole alone, with too little around it.
func (f *fitter) hopeless(a, b []byte) bool {
	if isTime(a) || isUUID(a) || bytes.Equal(a, b) || len(f.candidates(a)) > 0 {
		return false
	}
	n := min(len(a), len(b))
	k, from := 0, 0
	for k < n && a[k] == b[k] {
		k++
	}
	for from < n && a[len(a)-1-from] == b[len(b)-1-from] {
		from++
	}
	return k+from < minHoleLiteral
}

func (f *fitter) fit(values [][]byte, depth int) ([]part, bool) {
	first := values[0]
	if all(values, func(v []byte) bool { return bytes.Equal(v, first) }) {
		if len(first) == 0 {
			return nil, true
		}
		return f.e.rule(part{lit: first, ref: partLiteral}), true
	}
	if depth < maxTemplateDepth {
		mark := len(f.e.candidates)
		for _, c := range f.candidates(first) {
			for _, last := range [...]bool{false, true} {
				if parts, ok := f.around(values, c, last, depth); ok {
					f.e.candidates = f.e.candidates[:mark]
					return parts, true
				}
			}
		}
		f.e.candidates = f.e.candidates[:mark]
	}
	return f.affix(values)
}

// around fits what stands on both sides of the text of column c, its first or its
// last one in each value.
func (f *fitter) around(values [][]byte, c int, last bool, depth int) ([]part, bool) {
	mark, hole := len(f.e.texts), f.hole
	defer func() { f.e.texts = f.e.texts[:mark] }()
	left, right, ok := f.split(values, c, last)
	if !ok {
		return nil, false
	}
	if l, ok := f.fit(left, depth+1); ok {
		if r, ok := f.fit(right, depth+1); ok {
			f.refers = true
			out := stack(&f.e.parts, len(l)+1+len(r))
			copy(out, l)
			out[len(l)] = part{ref: c}
			copy(out[len(l)+1:], r)
			return out, true
		}
	}
	f.hole = hole
	return nil, false
}

// candidates returns the columns whose text in the first row occurs in value,
// longest text first.
func (f *fitter) candidates(value []byte) []int {
	row := f.r.row(f.rows[0])
	mark := len(f.e.candidates)
	for _, c := range f.refs {
		if row[c] < 0 {
			continue
		}
		if text, ok := f.e.ref(&f.e.nodes[row[c]]); ok && bytes.Contains(value, text) {
			f.e.candidates = append(f.e.candidates, c)
		}
	}
	out := f.e.candidates[mark:]
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Compare(len(f.e.raw(&f.e.nodes[row[b]])), len(f.e.raw(&f.e.nodes[row[a]])))
	})
	return out
}

// split cuts each value at the row's text of column c, the first or the last.
func (f *fitter) split(values [][]byte, c int, last bool) (left, right [][]byte, ok bool) {
	if f.steps -= len(values); f.steps < 0 {
		return nil, nil, false
	}
	left, right = f.e.spans(len(values)), f.e.spans(len(values))
	for i, v := range values {
		id := f.r.row(f.rows[i])[c]
		if id < 0 {
			return nil, nil, false
		}
		text, ok := f.e.ref(&f.e.nodes[id])
		if !ok {
			return nil, nil, false
		}
		k := bytes.Index(v, text)
		if last {
			k = bytes.LastIndex(v, text)
		}
		if k < 0 {
			return nil, nil, false
		}
		left[i], right[i] = v[:k], v[k+len(text):]
	}
	return left, right, true
}

// affix is what remains when no reference fits: the common start and end of the
// values around the hole, cut at the borders of words so that tokens stay whole.
func (f *fitter) affix(values [][]byte) ([]part, bool) {
	if f.hole {
		return nil, false
	}
	pre, suf, shortest := values[0], values[0], len(values[0])
	for _, v := range values[1:] {
		shortest = min(shortest, len(v))
		k := 0
		for k < len(pre) && k < len(v) && pre[k] == v[k] {
			k++
		}
		pre = pre[:k]
		k = 0
		for k < len(suf) && k < len(v) && suf[len(suf)-1-k] == v[len(v)-1-k] {
			k++
		}
		suf = suf[len(suf)-k:]
	}
	for len(pre) > 0 && !border(pre[len(pre)-1]) {
		pre = pre[:len(pre)-1]
	}
	for len(suf) > 0 && !border(suf[0]) {
		suf = suf[1:]
	}
	if len(pre)+len(suf) >= shortest {
		suf = nil
	}
	if len(pre) >= shortest {
		return nil, false
	}
	f.hole = true
	before, hole, after := part{lit: pre, ref: partLiteral}, part{ref: partHole}, part{lit: suf, ref: partLiteral}
	switch {
	case len(pre) > 0 && len(suf) > 0:
		return f.e.rule(before, hole, after), true
	case len(pre) > 0:
		return f.e.rule(before, hole), true
	case len(suf) > 0:
		return f.e.rule(hole, after), true
	}
	return f.e.rule(hole), true
}

// border reports whether c ends a word. Bytes of multi-byte runes do not, so a
// cut never splits one.
func border(c byte) bool {
	return c < 0x80 && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
}

func all(values [][]byte, ok func([]byte) bool) bool {
	return !slices.ContainsFunc(values, func(v []byte) bool { return !ok(v) })
}

// isTime reports whether v starts with an RFC 3339 date and time to the second;
// fraction and offset may follow and are kept.
func isTime(v []byte) bool {
	return len(v) >= 19 && v[4] == '-' && v[7] == '-' && v[10] == 'T' && v[13] == ':' && v[16] == ':' &&
		digitsOnly(v[:4]) && digitsOnly(v[5:7]) && digitsOnly(v[8:10]) && digitsOnly(v[11:13]) && digitsOnly(v[14:16]) && digitsOnly(v[17:19])
}

func digitsOnly(v []byte) bool {
	for _, c := range v {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isUUID reports whether v is a UUID in lower case.
func isUUID(v []byte) bool {
	if len(v) != 36 {
		return false
	}
	for i, c := range v {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// annotate finds, for each column, the records its objects and elements belong to.
func (e *encoder) annotate(r *record) {
	for c := range r.columns {
		if r.columns[c].containers == 0 {
			continue
		}
		e.objects.reset(len(e.records))
		e.arrays.reset(len(e.records))
		for i := range r.instances {
			id := r.row(i)[c]
			if id < 0 {
				continue
			}
			switch e.nodes[id].kind {
			case jsonscan.Object:
				if t := e.typeOf(id); t >= 0 {
					e.objects.add(t)
				}
			case jsonscan.Array:
				if t := e.elementType(id); t >= 0 {
					e.arrays.add(t)
				}
			}
		}
		r.columns[c].obj, r.columns[c].arr = e.objects.most(), e.arrays.most()
	}
}
