package selection

import (
	"cmp"
	"slices"
)

// dict is an immutable map from words to numbers in four flat arrays, which is
// how an index is stored: opening one builds nothing.
type dict struct {
	text   []byte
	ends   []uint32 // of each word in text, words sorted
	values []int32
	slots  []uint32 // open addressing, 1 + position of the word; a power of two
}

func newDict(m map[string]int32) dict {
	words := make([]string, 0, len(m))
	for w := range m {
		words = append(words, w)
	}
	slices.SortFunc(words, cmp.Compare[string])
	size := 4
	for size < 2*len(words) {
		size *= 2
	}
	d := dict{slots: make([]uint32, size)}
	for i, w := range words {
		d.text = append(d.text, w...)
		d.ends = append(d.ends, uint32(len(d.text)))
		d.values = append(d.values, m[w])
		s := hash(w) & uint32(size-1)
		for d.slots[s] != 0 {
			s = (s + 1) & uint32(size-1)
		}
		d.slots[s] = uint32(i + 1)
	}
	return d
}

// hash is FNV-1a with a final mix.
func hash[T string | []byte](w T) uint32 {
	h := uint32(2166136261)
	for i := range len(w) {
		h = (h ^ uint32(w[i])) * 16777619
	}
	return h ^ h>>15
}

func lookup[T string | []byte](d *dict, w T) (int32, bool) {
	mask := uint32(len(d.slots) - 1)
	for s := hash(w) & mask; ; s = (s + 1) & mask {
		at := d.slots[s]
		if at == 0 {
			return 0, false
		}
		start := uint32(0)
		if at > 1 {
			start = d.ends[at-2]
		}
		if string(d.text[start:d.ends[at-1]]) == string(w) {
			return d.values[at-1], true
		}
	}
}

// valid reports whether d can be searched: offsets inside the text, values in
// [-1, values), slots within the words and at least one of them free.
func (d *dict) valid(values int) bool {
	n := len(d.ends)
	if len(d.values) != n || len(d.slots) <= n || len(d.slots)&(len(d.slots)-1) != 0 {
		return false
	}
	last := uint32(0)
	for _, e := range d.ends {
		if e < last || e > uint32(len(d.text)) {
			return false
		}
		last = e
	}
	free := false
	for _, s := range d.slots {
		if s > uint32(n) {
			return false
		}
		free = free || s == 0
	}
	for _, v := range d.values {
		if v < -1 || int(v) >= values {
			return false
		}
	}
	return free
}
