package compress

import (
	"encoding/binary"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// The credit that a list begins with, and the most that it can have: see frame.
const (
	firstCredit = 2
	mostCredit  = 8
)

// again reads the object at i of b as one that differs from its twin, the element before it, in
// nothing but its strings, numbers, true, false and null: what stands between those is compared
// with what stands there in the twin, and the nodes are those of the twin with other texts. It returns
// where the object ends; 0, and has read nothing, when it is another one.
func (t *tree) again(twin int32, i int) (end int) {
	id := int32(len(t.nodes))
	size := id - twin
	t.nodes = slices.Grow(t.nodes, int(size))
	nodes := t.nodes[:id+size]
	from, to := nodes[twin:id], nodes[id:]
	copy(to, from)
	b, boxes := t.b, uint32(len(t.boxes))-from[0].end
	p := int(from[0].start) // until where the twin was compared
	d := i - p              // how far from there its like is
	for j := range from {
		s, n := &from[j], &to[j]
		if s.container() {
			n.start += uint32(d)
			n.end += boxes
			if n.flags &= filled; s.kind == jsonscan.Object {
				n.flags |= twinKeys
			}
			continue
		}
		at, following := int(s.start), int(s.end)
		if s.kind == jsonscan.String {
			at, following = at-1, following+1
		}
		// What is between two values is mostly a comma and a short key.
		if size := at - p; size > 16 || at+d+8 > len(b) {
			if !equal(b, p, p+d, size) {
				return 0
			}
		} else if x := word(b, p) ^ word(b, p+d); size < 8 {
			if x<<(64-8*size) != 0 {
				return 0
			}
		} else if x|(word(b, at-8)^word(b, at+d-8)) != 0 {
			return 0
		}
		at += d
		switch c := b[at]; c {
		case '"':
			end, flags := t.text(at + 1)
			if end < 0 {
				return 0
			}
			n.start, n.end, n.kind, n.flags = uint32(at+1), uint32(end), jsonscan.String, flags
			at = end + 1
		case '{', '[', ']':
			return 0
		default:
			n.start, n.kind, n.flags = uint32(at), literalKind(c), bare
			at = t.ends(at)
			n.end = uint32(at)
		}
		p, d = following, at-following
	}
	end = int(t.boxOf(&from[0]).end)
	if !equal(b, p, p+d, end-p) {
		return 0
	}
	t.nodes = nodes
	t.againBoxes(int32(from[0].end), size)
	return end + d
}

// againBoxes appends the boxes from k on again, for nodes that come n later.
func (t *tree) againBoxes(k, n int32) {
	all := int32(len(t.boxes))
	t.boxes = slices.Grow(t.boxes, int(all-k))[:2*all-k]
	from, to := t.boxes[k:all], t.boxes[all:]
	for i := len(from) - 1; i >= 0; i-- { // inner ones first
		s, x := &from[i], &to[i]
		x.id, x.in, x.size, x.tail, x.shape, x.row, x.path, x.twin = s.id+n, s.in+n, s.size, s.tail+n, -1, 0, 0, k+int32(i)
		// From the end of the last thing in it both end equally far.
		if s.tail == s.id {
			x.end = t.nodes[x.id].start + s.end - t.nodes[s.id].start
		} else {
			x.end = t.ended(x.tail) + s.end - t.ended(s.tail)
		}
	}
	to[0].in = from[0].in
}

// ended returns where the text of node id ends, quotes included.
func (t *tree) ended(id int32) uint32 {
	switch n := &t.nodes[id]; n.kind {
	case jsonscan.String:
		return n.end + 1
	case jsonscan.Object, jsonscan.Array:
		return t.boxOf(n).end
	default:
		return n.end
	}
}

// word is the eight bytes at i of b.
func word(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// equal reports whether the n bytes at p of b, which are there, are those at q, and others follow.
func equal(b []byte, p, q, n int) bool {
	for ; n >= 8; n, p, q = n-8, p+8, q+8 {
		if q+8 > len(b) || word(b, p) != word(b, q) {
			return false
		}
	}
	if q+8 > len(b) {
		return q+n < len(b) && string(b[p:p+n]) == string(b[q:q+n])
	}
	return (word(b, p)^word(b, q))<<(64-8*n) == 0
}
