package compress

import (
	"hash/maphash"
	"slices"
	"sync"
)

// encoders keeps encoders with all they grew, so that writing table text does not
// allocate.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

// An encoder is kept that has not grown more than this: ten times the usual budget
// of an answer. What is larger is left to the collector.
const (
	keptNodes = 1 << 15 // 0.7 MB, and 36 bytes for each container
	keptMarks = 1 << 14 // 0.5 MB, of 1 MB of JSON
	keptBytes = 1 << 20 // of key sequences
)

// release gives an encoder back, without anything that belongs to its document.
func (e *encoder) release() {
	if cap(e.nodes) > keptNodes || cap(e.marks) > keptMarks || cap(e.sequences.keys) > keptBytes {
		return
	}
	for _, r := range e.records {
		clear(r.keys)
		clear(r.columns)
	}
	clear(e.texts[:e.deepest])
	clear(e.parts)
	clear(e.merged[:cap(e.merged)])
	e.b, e.out = nil, nil
	encoders.Put(e)
}

// reset makes an encoder ready for a document.
func (e *encoder) reset(dst []byte) {
	e.out = dst
	e.records, e.parent, e.order, e.shape, e.last = e.records[:0], e.parent[:0], e.order[:0], e.shape[:0], e.last[:0]
	e.parts, e.texts, e.merged, e.deepest = e.parts[:0], e.texts[:0], e.merged[:0], 0
	e.layouts = e.layouts[:0]
	e.paths.reset()
	e.sequences.reset()
}

// record appends an empty one.
func (e *encoder) record() *record {
	n := len(e.records)
	if n == cap(e.records) {
		e.records = append(e.records, new(record))
	} else if e.records = e.records[:n+1]; e.records[n] == nil {
		e.records[n] = new(record)
	}
	r := e.records[n]
	*r = record{name: r.name[:0], keys: r.keys[:0], columns: r.columns[:0], instances: r.instances[:0], cells: r.cells[:0]}
	return r
}

// stack hands out n values from the end of a list that is only ever cut; what was
// handed out before stays valid when the list moves.
func stack[T any](list *[]T, n int) []T {
	start := len(*list)
	*list = slices.Grow(*list, n)[:start+n]
	return (*list)[start : start+n : start+n]
}

// spans hands out n of e.texts.
func (e *encoder) spans(n int) [][]byte {
	out := stack(&e.texts, n)
	e.deepest = max(e.deepest, len(e.texts))
	return out
}

// rule keeps parts for as long as the document lasts.
func (e *encoder) rule(parts ...part) []part {
	out := stack(&e.parts, len(parts))
	copy(out, parts)
	return out
}

// numbering numbers byte strings in the order in which they come: a map that is
// emptied without leaving the collector its keys. The seed is a process' own, so
// that nobody can write keys that collide.
type numbering struct {
	slots  []int32 // number+1 by hash, 0 free; a power of two of them, at most half taken
	hashes []uint64
	ends   []int // in keys
	keys   []byte
	after  []int32 // number+1 of the key that followed last time, by number+1; see follow
	latest int32   // number+1 of the key that follow was asked for last
}

var numberingSeed = maphash.MakeSeed()

const leastSlots = 16

func (t *numbering) reset() {
	t.hashes, t.ends, t.keys = t.hashes[:0], t.ends[:0], t.keys[:0]
	t.after, t.latest = append(t.after[:0], 0), 0
	t.resize(leastSlots)
}

func (t *numbering) resize(n int) {
	t.slots = slices.Grow(t.slots[:0], n)[:n]
	clear(t.slots)
	for i, h := range t.hashes {
		k := h & uint64(n-1)
		for t.slots[k] != 0 {
			k = (k + 1) & uint64(n-1)
		}
		t.slots[k] = int32(i + 1)
	}
}

func (t *numbering) key(i int32) []byte {
	if i == 0 {
		return t.keys[:t.ends[0]]
	}
	return t.keys[t.ends[i-1]:t.ends[i]]
}

// find returns the number of key, and the slot where it is or belongs.
func (t *numbering) find(key []byte, h uint64) (number int32, slot uint64) {
	mask := uint64(len(t.slots) - 1)
	for slot = h & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if i := t.slots[slot] - 1; t.hashes[i] == h && string(t.key(i)) == string(key) {
			return i, slot
		}
	}
	return -1, slot
}

// follow is number for keys that come in one order again and again, as those of a
// list's objects do: the key that followed the latest one before is compared first,
// which spares hashing.
func (t *numbering) follow(key []byte) (number int32, fresh bool) {
	if guess := t.after[t.latest]; guess > 0 && string(t.key(guess-1)) == string(key) {
		t.latest = guess
		return guess - 1, false
	}
	number, fresh = t.number(key)
	for len(t.after) <= int(number)+1 {
		t.after = append(t.after, 0)
	}
	t.after[t.latest] = number + 1
	t.latest = number + 1
	return number, fresh
}

// number returns the number of key; fresh says that it is a new one.
func (t *numbering) number(key []byte) (number int32, fresh bool) {
	h := maphash.Bytes(numberingSeed, key)
	number, slot := t.find(key, h)
	if number >= 0 {
		return number, false
	}
	number = int32(len(t.ends))
	t.slots[slot] = number + 1
	t.hashes = append(t.hashes, h)
	t.keys = append(t.keys, key...)
	t.ends = append(t.ends, len(t.keys))
	if 2*len(t.ends) > len(t.slots) {
		t.resize(2 * len(t.slots))
	}
	return number, true
}

// known returns the number of key, -1 when it has none.
func (t *numbering) known(key []byte) int32 {
	number, _ := t.find(key, maphash.Bytes(numberingSeed, key))
	return number
}

// tally counts small numbers, which are records.
type tally struct {
	counts []int32
	seen   []int32
}

// reset makes room for numbers below n.
func (t *tally) reset(n int) {
	for _, i := range t.seen {
		t.counts[i] = 0
	}
	t.seen = t.seen[:0]
	if n > len(t.counts) {
		t.counts = append(t.counts, make([]int32, n-len(t.counts))...)
	}
}

func (t *tally) add(i int32) {
	if t.counts[i]++; t.counts[i] == 1 {
		t.seen = append(t.seen, i)
	}
}

// most is the commonest, the least of several; -1 when there is none.
func (t *tally) most() int32 {
	best := int32(-1)
	for _, i := range t.seen {
		if n := t.counts[i]; best < 0 || n > t.counts[best] || n == t.counts[best] && i < best {
			best = i
		}
	}
	return best
}
