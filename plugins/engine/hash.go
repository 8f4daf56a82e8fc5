package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// hash is [buildHash] of the names of fields, once for the same names.
func (c *compiler) hash(fields []flatField) (hashed, error) {
	m, key := c.memory, c.sig[:0]
	for i := range fields {
		key = append(binary.AppendUvarint(key, uint64(len(fields[i].name))), fields[i].name...)
	}
	c.sig = key
	m.mu.RLock()
	h, ok := m.hashes[string(key)]
	m.mu.RUnlock()
	if ok {
		return h, nil
	}
	names := make([][]byte, len(fields))
	for i := range fields {
		names[i] = []byte(fields[i].name)
	}
	h, err := buildHash(names)
	if err != nil {
		return h, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hashes == nil {
		m.hashes = map[string]hashed{}
	}
	m.hashes[string(key)] = h
	return h, nil
}

type hashed struct {
	mul          uint64
	mbits, gbits uint8
	slots        []uint16
	disp         []byte
}

// buildHash finds a perfect hash by hash and displace: names fall into groups,
// and each group, largest first, gets the first displacement that puts all its
// names on free slots. Deterministic.
func buildHash(names [][]byte) (hashed, error) {
	n := len(names)
	mbits := uint8(0)
	if n > 0 {
		mbits = uint8(bits.Len(uint(n + n/4)))
	}
	full := make([]uint64, n)
	for i, s := range names {
		full[i] = nameHash(s)
	}
	if s := slices.Sorted(slices.Values(full)); len(slices.Compact(s)) != n {
		return hashed{}, fmt.Errorf("names of a node collide: rename or leave out one of %s", strings.ToValidUTF8(string(bytes.Join(names[:min(n, 8)], []byte(", "))), "?"))
	}
	mul := uint64(0x9E3779B97F4A7C15)
	var h hashed
	var g groups
	for ; mbits <= 14; mbits++ {
		h.mbits, h.gbits = mbits, 0
		if mbits > 3 {
			h.gbits = mbits - 2
		}
		for range 64 {
			mul = mul*6364136223846793005 + 1442695040888963407
			h.mul = mul | 1
			if h.place(full, &g) {
				return h, nil
			}
		}
	}
	return hashed{}, fmt.Errorf("no perfect hash for %d names", n)
}

// groups are the names of one attempt by their group, in memory that all attempts
// for a node share.
type groups struct {
	of      []int // group of each name
	members []int // names, sorted by group
	start   []int // of each group in members; one more at the end
	order   []int // groups, the largest first, equal ones by their number
	sizes   []int // how many groups are larger than the index
}

// resized returns n zeros, in s when they fit.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

func (g *groups) fill(h *hashed, full []uint64) {
	n := 1 << h.gbits
	g.of, g.members, g.start, g.order = resized(g.of, len(full)), resized(g.members, len(full)), resized(g.start, n+1), resized(g.order, n)
	for i, f := range full {
		g.of[i] = int(groupOf(spread(f, h.mul), h.gbits))
		g.start[g.of[i]+1]++
	}
	largest := slices.Max(g.start)
	g.sizes = resized(g.sizes, largest+2)
	for _, size := range g.start[1:] {
		g.sizes[size]++
	}
	before := 0
	for size := largest; size >= 0; size-- {
		g.sizes[size], before = before, before+g.sizes[size]
	}
	for i, size := range g.start[1:] {
		g.order[g.sizes[size]] = i
		g.sizes[size]++
	}
	for i := range n {
		g.start[i+1] += g.start[i]
	}
	for i, group := range g.of {
		// start[group] moves behind the group, and back below.
		g.members[g.start[group]] = i
		g.start[group]++
	}
	copy(g.start[1:], g.start[:n])
	g.start[0] = 0
}

func (h *hashed) place(full []uint64, g *groups) bool {
	g.fill(h, full)
	h.disp, h.slots = resized(h.disp, 1<<h.gbits), resized(h.slots, 1<<h.mbits)
	for i := range h.slots {
		h.slots[i] = slotEmpty
	}
	for _, i := range g.order {
		group := g.members[g.start[i]:g.start[i+1]]
		if len(group) == 0 {
			break
		}
		if !h.fit(full, group, i) {
			return false
		}
	}
	return true
}

func (h *hashed) fit(full []uint64, group []int, g int) bool {
	for d := range 256 {
		h.disp[g] = byte(d)
		k := 0
		for ; k < len(group); k++ {
			s := slotOf(full[group[k]], h.mul, h.mbits, h.gbits, h.disp)
			if h.slots[s] != slotEmpty {
				break
			}
			h.slots[s] = uint16(group[k])
		}
		if k == len(group) {
			return true
		}
		for k--; k >= 0; k-- {
			h.slots[slotOf(full[group[k]], h.mul, h.mbits, h.gbits, h.disp)] = slotEmpty
		}
	}
	return false
}
