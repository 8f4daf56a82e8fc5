package engine

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// sorted is a field of a node while these are sorted: the first bytes of its name, as
// a number that compares like them, and where it was.
type sorted struct {
	begin uint64
	at    int
}

// sort sorts fields by name. Names are compared as a whole only where the first eight
// bytes are the same, and fields are moved once.
func (c *compiler) sort(fields []flatField) {
	if slices.IsSortedFunc(fields, func(a, b flatField) int { return strings.Compare(a.name, b.name) }) {
		return
	}
	c.sorted = c.sorted[:0]
	for i := range fields {
		var begin [8]byte
		copy(begin[:], fields[i].name)
		c.sorted = append(c.sorted, sorted{binary.BigEndian.Uint64(begin[:]), i})
	}
	slices.SortFunc(c.sorted, func(a, b sorted) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		return strings.Compare(fields[a.at].name, fields[b.at].name)
	})
	c.moved = append(c.moved[:0], fields...)
	for i, s := range c.sorted {
		fields[i] = c.moved[s.at]
	}
	clear(c.moved)
}
