package compress

import (
	"bytes"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxColumns bounds the columns of a type: wider objects are maps with data as
	// keys, which a header only makes longer.
	maxColumns = 512
	// maxShapes bounds the distinct key sequences that are looked at; objects with
	// further ones are written with their keys.
	maxShapes = 4096
)

// record is a type: objects with the same keys in a compatible order.
type record struct {
	name      []byte
	keys      [][]byte
	columns   []column
	instances []int32 // nodes in document order
	mixed     bool    // they are of several shapes
	cells     []int32 // a row of len(columns) nodes for each instance, -1 missing
	used      bool
	sep       byte // between cells: tab, or space
}

func (r *record) row(i int) []int32 { return r.cells[i*len(r.keys) : (i+1)*len(r.keys)] }

// shapes gives each container the number of its path and each object the index of its key
// sequence; objects without members or with a key twice get none. Shapes of objects that stand at
// the same path become one record: optional members are columns with missing cells.
func (e *encoder) shapes() {
	for i := range e.boxes {
		x := &e.boxes[i]
		n := &e.nodes[x.id]
		x.path = 0
		if i > 0 {
			in := &e.nodes[x.in]
			in.flags |= nests
			x.path = e.step(e.boxOf(in).path, x)
		}
		if n.kind != jsonscan.Object || x.size == 0 || x.size > maxColumns {
			continue
		}
		if n.flags&twinKeys != 0 {
			x.shape = e.boxes[x.twin].shape
		} else {
			x.shape = e.shapeOf(x.id)
		}
		if x.shape < 0 {
			continue
		}
		r := e.records[e.root(x.shape)]
		r.instances = append(r.instances, x.id)
		for int(x.path) >= len(e.last) {
			e.last = append(e.last, -1)
		}
		if last := e.last[x.path]; last >= 0 && last != x.shape {
			e.union(last, x.shape)
		}
		e.last[x.path] = x.shape
	}
}

// shapeOf returns the shape of the keys of object id, -1 for none.
func (e *encoder) shapeOf(id int32) int32 {
	seq := e.scratch[:0]
	for c := e.first(id); c >= 0; c = e.next(c) {
		seq = append(append(seq, e.name(&e.nodes[c])...), 0)
	}
	e.scratch = seq
	q, fresh := e.sequences.follow(seq)
	if fresh {
		e.shape = append(e.shape, e.newShape(id))
	}
	return e.shape[q]
}

// newShape makes a record of the keys of object id; -1 when one is there twice.
func (e *encoder) newShape(id int32) int32 {
	if len(e.records) >= maxShapes {
		return -1
	}
	e.names.reset()
	for c := e.first(id); c >= 0; c = e.next(c) {
		if _, fresh := e.names.number(e.name(&e.nodes[c])); !fresh {
			return -1
		}
	}
	s := int32(len(e.records))
	r := e.record()
	for c := e.first(id); c >= 0; c = e.next(c) {
		r.keys = append(r.keys, e.name(&e.nodes[c]))
	}
	e.parent = append(e.parent, s)
	return s
}

// root finds the record that shape s was merged into.
func (e *encoder) root(s int32) int32 {
	for e.parent[s] != s {
		e.parent[s] = e.parent[e.parent[s]]
		s = e.parent[s]
	}
	return s
}

// step returns the number of the path that continues path with x.
func (e *encoder) step(path int32, x *box) int32 {
	if x.twin >= 0 {
		return e.boxes[x.twin].path
	}
	e.scratch = append(e.scratch[:0], byte(path), byte(path>>8), byte(path>>16), byte(path>>24))
	if n := &e.nodes[x.id]; n.key > 0 {
		e.scratch = append(append(e.scratch, '.'), e.name(n)...)
	}
	p, _ := e.paths.follow(e.scratch)
	return p + 1
}

func (e *encoder) union(a, b int32) {
	a, b = e.root(a), e.root(b)
	if a == b {
		return
	}
	if a > b {
		a, b = b, a
	}
	ra, rb := e.records[a], e.records[b]
	keys := e.mergeKeys(ra.keys, rb.keys)
	// Twice the smaller set and a few: more would be rows of mostly missing cells.
	if keys == nil || len(keys) > maxColumns || len(keys) > 2*min(len(ra.keys), len(rb.keys))+4 {
		return
	}
	ra.keys = append(ra.keys[:0], keys...)
	ra.instances = append(ra.instances, rb.instances...)
	ra.mixed = true
	rb.instances = rb.instances[:0]
	e.parent[b] = a
}

// mergeKeys returns the keys of both in an order that each follows, or nil when
// there is none. The list is valid until the next call.
func (e *encoder) mergeKeys(a, b [][]byte) [][]byte {
	e.names.reset()
	for _, k := range a {
		e.names.number(k) // its place: no key is there twice
	}
	out := e.merged[:0]
	at := int32(0)
	for _, k := range b {
		p := e.names.known(k)
		if p < 0 {
			out = append(out, k)
			continue
		}
		if p < at {
			e.merged = out
			return nil
		}
		out = append(out, a[at:p+1]...)
		at = p + 1
	}
	e.merged = append(out, a[at:]...)
	return e.merged
}

// fill lays the members of each instance out in columns, and sums up what decides about each.
func (e *encoder) fill(r *record) {
	width := len(r.keys)
	n := width * len(r.instances)
	r.cells = slices.Grow(r.cells[:0], n)[:n]
	if r.mixed {
		slices.Sort(r.instances)
		for i := range r.cells {
			r.cells[i] = -1
		}
	}
	for i, id := range r.instances {
		x := e.boxOf(&e.nodes[id])
		x.row = int32(i)
		row := r.row(i)
		if !r.mixed {
			c := id + 1
			for k := range row { // as many as there are members
				row[k] = c
				e.count(&r.columns[k], c)
				c += e.nodes[c].next
			}
			continue
		}
		at := e.layout(r, x)
		for c, k := id+1, 0; c >= 0; c, k = e.next(c), k+1 { // there are members, or there was no shape
			row[at[k]] = c
			e.count(&r.columns[at[k]], c)
		}
	}
}

// count adds value id to what is known of its column.
func (e *encoder) count(col *column, id int32) {
	n := &e.nodes[id]
	col.present++
	if n.container() {
		col.size += int(e.boxOf(n).end - n.start)
		col.containers++
		if n.flags&filled != 0 {
			return
		}
	} else {
		col.size += int(n.end - n.start)
	}
	if n.plain() {
		col.strings++
	}
	switch gain := e.separatorGain(id, true); {
	case gain > 0:
		col.words++
	case gain < 0:
		col.blanks++
	}
	// A value is of use only where most rows have it, so a majority vote finds it:
	// rows with it outvote all others, and counting needs no table of the values.
	switch col.voters++; {
	case col.votes == 0:
		col.konst, col.votes = id, 1
	case e.same(col.konst, id):
		col.votes++
	default:
		col.votes--
	}
}

// layout returns the columns of the members of object x in r, by its shape. It is made once
// for a shape.
func (e *encoder) layout(r *record, x *box) []int32 {
	if from := e.laid[x.shape]; from > 0 {
		return e.layouts[from-1:]
	}
	e.laid[x.shape] = int32(len(e.layouts)) + 1
	p := int32(0)
	for c := x.id + 1; c >= 0; c = e.next(c) {
		for !bytes.Equal(r.keys[p], e.name(&e.nodes[c])) {
			p++
		}
		e.layouts = append(e.layouts, p)
		p++
	}
	return e.layouts[e.laid[x.shape]-1:]
}

// typeOf returns the record whose rows hold object id, or -1.
func (e *encoder) typeOf(id int32) int32 {
	s := e.boxOf(&e.nodes[id]).shape
	if s < 0 {
		return -1
	}
	if s = e.root(s); !e.records[s].used {
		return -1
	}
	return s
}

// elementType returns the commonest record among the objects in array id, nested
// arrays included; -1 when there is none.
func (e *encoder) elementType(id int32) int32 {
	if e.nodes[id].flags&nests == 0 {
		return -1
	}
	e.elements.reset(len(e.records))
	e.countElements(id)
	return e.elements.most()
}

func (e *encoder) countElements(id int32) {
	for c := e.first(id); c >= 0; c = e.next(c) {
		switch e.nodes[c].kind {
		case jsonscan.Object:
			if t := e.typeOf(c); t >= 0 {
				e.elements.add(t)
			}
		case jsonscan.Array:
			e.countElements(c)
		}
	}
}
