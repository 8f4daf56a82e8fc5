package tokens

import (
	"strings"
	"unicode/utf8"
)

// Encoding is the name of the encoding that [Count] counts in.
const Encoding = "o200k_base"

// Count returns the number of o200k_base tokens of b. Bytes that are not valid
// UTF-8 count as one U+FFFD for each byte. The text of special tokens, such as
// "<|endoftext|>", is counted as ordinary text. b is not kept.
func Count(b []byte) int { return CountString(string(b)) }

// CountString is [Count] of a string.
func CountString(s string) int {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	n := 0
	var m merger
	for i := 0; i < len(s); {
		end := cut(s, i)
		n += m.tokens(s[i:end])
		i = end
	}
	return n
}

// merger is scratch memory for pieces.
type merger struct {
	ends  []int32  // by where a part starts: where it ends; 0: none starts there
	left  []int32  // by where a part starts: where the one before starts
	ranks []uint32 // by where a part starts: of it with the one behind it
	heap  []uint64 // rank and start of pairs, the least first; some are gone
}

// tokens is how many tokens a piece is: its bytes are joined in pairs, always the pair of the
// lowest rank and of those the first, until no two are one token. Time is n log n.
func (m *merger) tokens(piece string) int {
	if _, ok := rank(piece); ok {
		return 1
	}
	n := len(piece)
	m.heap = m.heap[:0]
	m.ends, m.left, m.ranks = resized(m.ends, n), resized(m.left, n), resized(m.ranks, n)
	for i := range n {
		m.ends[i], m.left[i] = int32(i+1), int32(i-1)
	}
	for i := range n {
		m.pair(piece, i)
	}
	parts := n
	for len(m.heap) > 0 {
		r, i := m.least()
		if m.ends[i] == 0 || m.ranks[i] != r {
			continue // it was joined with another part meanwhile
		}
		next := m.ends[i]
		m.ends[i], m.ends[next] = m.ends[next], 0
		parts--
		if end := m.ends[i]; int(end) < n {
			m.left[end] = int32(i)
		}
		m.pair(piece, i)
		if before := m.left[i]; before >= 0 {
			m.pair(piece, int(before))
		}
	}
	return parts
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// pair notes the rank of the part at i with the one behind it.
func (m *merger) pair(piece string, i int) {
	m.ranks[i] = noRank
	next := int(m.ends[i])
	if next == len(piece) {
		return
	}
	if r, ok := rank(piece[i:m.ends[next]]); ok {
		m.ranks[i] = r
		m.heap = append(m.heap, uint64(r)<<32|uint64(i))
		for k := len(m.heap) - 1; k > 0 && m.heap[k] < m.heap[(k-1)/2]; k = (k - 1) / 2 {
			m.heap[k], m.heap[(k-1)/2] = m.heap[(k-1)/2], m.heap[k]
		}
	}
}

// least takes the first pair off the heap.
func (m *merger) least() (rank uint32, at int) {
	h := m.heap
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for k := 0; 2*k+1 < len(h); {
		c := 2*k + 1
		if c+1 < len(h) && h[c+1] < h[c] {
			c++
		}
		if h[k] <= h[c] {
			break
		}
		h[k], h[c] = h[c], h[k]
		k = c
	}
	m.heap = h
	return uint32(top >> 32), int(uint32(top))
}
