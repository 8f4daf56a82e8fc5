package compress

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// leastNodes is what a list of nodes starts with.
const leastNodes = 64

// treeLimit bounds the values of one document. A tree node takes 48 bytes, so this
// keeps the encoder under 200 MB whatever arrives; a larger document is answered as
// minified JSON.
const treeLimit = 2 << 20

// node is one JSON value; the children of a container are linked by next. It holds
// offsets instead of slices, so that a kept list of nodes has nothing to clear.
type node struct {
	start, end       uint32 // of the literal; of strings what stands between the quotes; of containers the whole text
	keyStart, keyEnd uint32 // of members: what stands between the quotes; 0 for others
	first            int32  // first child, -1
	next             int32  // next sibling, -1
	size             int32  // children
	shape            int32  // of objects: index of the key sequence, -1 for none
	row              int32  // of objects whose record is used: their row; until then the container that a value is in, 0 for the root
	path             int32  // of containers: the number of the path to it
	// twin is an earlier value at the same path, -1 for none known: the element before this
	// one, or what stands at the same place of the twin of the container. It is what the
	// reader guesses keys by, and spares numbering shapes and paths again.
	twin  int32
	kind  jsonscan.Kind
	flags nodeFlags
}

// nodeFlags are what the reader of a value saw on its way.
type nodeFlags uint8

const (
	escaped  nodeFlags = 1 << iota // the string has an escape
	bare                           // the string may stand without quotes
	blanks                         // the string has a blank
	twinKeys                       // the object has the keys of its twin, in its order
	nests                          // there is a container in the container
)

// plain says that n is a string without escapes.
func (n *node) plain() bool { return n.kind == jsonscan.String && n.flags&escaped == 0 }

// empty says that n is a container without children.
func (n *node) empty() bool { return n.container() && n.size == 0 }

func (n *node) container() bool { return n.kind == jsonscan.Object || n.kind == jsonscan.Array }

// member says that n has a key.
func (n *node) member() bool { return n.keyStart > 0 }

// tree is a parsed document: nodes in document order, the root first.
type tree struct {
	nodes []node
	open  []frame
	b     []byte
}

// frame is a container that is being read.
type frame struct {
	id, last int32 // the container, and its latest child, -1
	// like is the member of the twin that the next one is expected to be; of lists the
	// element before, and at first that of the twin.
	like int32
	end  byte
	same bool // all members until now are those of the twin
}

// raw and name are the text of a value and its key.
func (t *tree) raw(n *node) []byte  { return t.b[n.start:n.end] }
func (t *tree) name(n *node) []byte { return t.b[n.keyStart:n.keyEnd] }

// ref returns the text another column may refer to: a number, or a string
// without escapes that is not empty.
func (t *tree) ref(n *node) ([]byte, bool) {
	if n.kind == jsonscan.Number || n.plain() {
		return t.raw(n), n.end > n.start
	}
	return nil, false
}

// build reads b, which is valid JSON. It reports false when b is longer than offsets
// reach, when there are more than treeLimit values, when they nest deeper than
// [jsonscan.DefaultMaxDepth], and when it comes upon what is not JSON after all.
func (t *tree) build(b []byte) bool {
	t.b = b
	if len(b) > math.MaxInt32 {
		return false
	}
	nodes, open := t.nodes[:0], t.open[:0]
	i, twin := 0, int32(-1) // twin and the key are those of the value at i
	keyStart, keyEnd := 0, 0
	ok := false
values:
	for len(nodes) < treeLimit {
		i = blank(b, i)
		if i == len(b) {
			break
		}
		id := int32(len(nodes))
		if len(nodes) == cap(nodes) {
			nodes = slices.Grow(nodes, max(len(nodes), leastNodes))
		}
		nodes = nodes[:id+1]
		// Field by field: a literal would be made elsewhere first, and copied.
		n := &nodes[id]
		n.start, n.keyStart, n.keyEnd = uint32(i), uint32(keyStart), uint32(keyEnd)
		n.first, n.next, n.size, n.shape, n.twin, n.flags = -1, -1, 0, -1, twin, 0
		if len(open) > 0 {
			f := &open[len(open)-1]
			parent := &nodes[f.id]
			parent.size++
			n.row = f.id
			if f.last < 0 {
				parent.first = id
			} else {
				nodes[f.last].next = id
			}
			f.last = id
			if f.end == ']' {
				f.like = id
			}
		}
		switch c := b[i]; c {
		case '"':
			end, seen := str(b, i+1)
			if end < 0 {
				break values
			}
			n.kind, n.flags = jsonscan.String, stringFlags(b[i+1:end], seen)
			n.start, n.end = uint32(i+1), uint32(end)
			i = end + 1
		case '{', '[':
			f := frame{id: id, last: -1, like: -1, end: c + 2} // } and ] are two behind
			if n.kind = jsonscan.Object; c == '[' {
				n.kind = jsonscan.Array
			}
			if twin >= 0 && nodes[twin].kind == n.kind {
				f.like, f.same = nodes[twin].first, true
			}
			if open = append(open, f); len(open) > jsonscan.DefaultMaxDepth {
				break values
			}
			i++
		default:
			n.kind = jsonscan.Number
			switch c {
			case 'n':
				n.kind = jsonscan.Null
			case 't', 'f':
				n.kind = jsonscan.Bool
			}
			from := i
			for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
				i++
			}
			if i == from {
				break values
			}
			n.end = uint32(i)
		}
		// What is closed here, and the key of the next value.
		for {
			if len(open) == 0 {
				ok = true
				break values
			}
			f := &open[len(open)-1]
			if f.like >= 0 && f.end == '}' && f.last >= 0 {
				// Mostly the next member is that of the twin, with nothing between it and the last.
				m := &nodes[f.like]
				if k := int(m.keyEnd - m.keyStart); begins(b, i, m.keyStart, k) {
					keyStart, keyEnd, twin = i+2, i+2+k, f.like
					f.like = m.next
					i = keyEnd + 2
					break
				}
			}
			if i = blank(b, i); i < len(b) && b[i] == ',' && f.last >= 0 {
				i = blank(b, i+1)
			}
			if i == len(b) {
				break values
			}
			if b[i] == f.end {
				i++
				p := &nodes[f.id]
				p.end = uint32(i)
				if f.same && f.like < 0 && f.end == '}' {
					p.flags |= twinKeys
				}
				open = open[:len(open)-1]
				continue
			}
			keyStart, keyEnd = 0, 0
			twin = f.like
			if f.end == '}' {
				keyStart = i + 1
				if twin = guess(b, keyStart, nodes, f.like); twin >= 0 {
					m := &nodes[twin]
					keyEnd = keyStart + int(m.keyEnd-m.keyStart)
					f.same = f.same && twin == f.like
					f.like = m.next
				} else {
					f.same = false
					if keyEnd, _ = str(b, keyStart); keyEnd < 0 {
						break values
					}
				}
				if i = blank(b, keyEnd+1); i == len(b) || b[i] != ':' {
					break values
				}
				i++
			}
			break
		}
	}
	t.nodes, t.open = nodes, open
	return ok
}

// blank returns where the white space of b from i on ends.
func blank(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' {
		i++
	}
	return min(i, len(b))
}

// The classes of the bytes of a string.
const (
	endsString = 1 << iota
	escapes
	endsCell
	isBlank
)

var stringBytes = func() (t [256]uint8) {
	for c := range ' ' {
		t[c] = endsCell
	}
	t['"'], t['\\'], t[' '] = endsString, escapes, isBlank
	t[')'], t[']'], t['}'] = endsCell, endsCell, endsCell
	return t
}()

// longString is the length from which a string is searched for single bytes, which
// the standard library does many at a time.
const longString = 64

// str returns where the string whose content starts at i ends, and the classes of its
// bytes; a negative end: it does not. Of a string with an escape only that it has one
// is certain.
func str(b []byte, start int) (end int, seen uint8) {
	i := start
	for stop := min(len(b), start+longString); i < stop; i++ {
		c := stringBytes[b[i]]
		seen |= c
		if c&(endsString|escapes) != 0 {
			if c == endsString {
				return i, seen
			}
			break
		}
	}
	return longStr(b, start, i, seen)
}

// longStr is str from i on.
func longStr(b []byte, start, i int, seen uint8) (end int, _ uint8) {
	// To the first quote with an even number of backslashes before it.
	for {
		k := bytes.IndexByte(b[min(i, len(b)):], '"')
		if k < 0 {
			return -1, 0
		}
		i += k
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			break
		}
		i++
	}
	s := b[start:i]
	switch {
	case seen&escapes != 0 || bytes.IndexByte(s, '\\') >= 0:
		return i, escapes
	case !bareBytes(s):
		seen |= endsCell
	}
	if bytes.IndexByte(s, ' ') >= 0 {
		seen |= isBlank
	}
	return i, seen
}

// stringFlags are those of a string of these classes of bytes.
func stringFlags(s []byte, seen uint8) (f nodeFlags) {
	switch {
	case seen&escapes != 0:
		return escaped
	case seen&endsCell == 0 && endsBare(s):
		f = bare
	}
	if seen&isBlank != 0 {
		f |= blanks
	}
	return f
}

// begins says that a comma, the key of k bytes that stands at like, and a colon begin at i of b,
// without blanks. Longer keys, and those at the end of b, are not looked at.
func begins(b []byte, i int, like uint32, k int) bool {
	if k > 12 || i+16 > len(b) || int(like)+14 > len(b) {
		return false
	}
	x, y := b[i+2:i+16], b[like:like+14]
	if b[i] != ',' || b[i+1] != '"' || x[k+1] != ':' {
		return false
	}
	d := binary.LittleEndian.Uint64(x) ^ binary.LittleEndian.Uint64(y)
	if k <= 6 {
		return d<<(48-8*k) == 0
	}
	return d == 0 && (binary.LittleEndian.Uint64(x[6:])^binary.LittleEndian.Uint64(y[6:]))<<(96-8*k) == 0
}

// guessAhead is how many members of the twin are tried for a key: optional ones may
// be missing.
const guessAhead = 8

// guess returns the member among the next ones of the twin, from c on, whose key is the one
// that starts at i of b; -1: it is none of them.
func guess(b []byte, i int, nodes []node, c int32) int32 {
	rest := b[min(i, len(b)):]
	for range guessAhead {
		if c < 0 {
			break
		}
		n := &nodes[c]
		k := int(n.keyEnd - n.keyStart)
		if k < len(rest) && rest[k] == '"' && string(rest[:k]) == string(b[n.keyStart:n.keyEnd]) {
			return c
		}
		c = n.next
	}
	return -1
}
