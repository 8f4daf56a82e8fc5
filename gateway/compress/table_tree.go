package compress

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// leastNodes is what a list of nodes starts with.
const leastNodes = 64

// treeLimit bounds the values of one document. A value takes 20 bytes, a container 36 more, so this
// keeps the encoder under 200 MB whatever arrives; a larger document is answered as
// minified JSON.
const treeLimit = 2 << 20

// node is one JSON value; the children of a container follow it and are linked by next. It holds
// numbers instead of pointers, so that a kept list of nodes has nothing to clear, and few: values are
// walked several times. Those that tell where something is are relative, so that the nodes of a
// value that is like the one before are nearly those of that one.
type node struct {
	start uint32 // of the text; of strings what stands between the quotes
	end   uint32 // of the same; of containers their box
	key   int32  // of members: the number of their key, otherwise 0
	next  int32  // how many nodes further the next sibling is, 0 for none
	kind  jsonscan.Kind
	flags nodeFlags
}

// box is what is known of a container beside its node.
type box struct {
	id    int32  // the node
	in    int32  // the container that it is in; 0 for the root
	size  int32  // children
	end   uint32 // of the text
	tail  int32  // the last node in it, or its own
	shape int32  // of objects: index of the key sequence, -1 for none
	row   int32  // of objects whose record is used: their row
	path  int32  // the number of the path to it
	// twin is an earlier container at the same path, -1 for none known: the element before this
	// one, or what stands at the same place of the twin of the container that this is in. It is what
	// the reader guesses keys by, and spares numbering shapes and paths again.
	twin int32
}

// nodeFlags are what the reader of a value saw on its way.
type nodeFlags uint8

const (
	escaped  nodeFlags = 1 << iota // the string has an escape
	bare                           // the value may stand without quotes: it is no container, and not every string
	blanks                         // the string has a blank
	filled                         // the container has children
	twinKeys                       // the object has the keys of its twin, in its order
	nests                          // there is a container in the container
)

// plain says that n is a string without escapes.
func (n *node) plain() bool { return n.kind == jsonscan.String && n.flags&escaped == 0 }

func (n *node) container() bool { return n.kind == jsonscan.Object || n.kind == jsonscan.Array }

// tree is a parsed document: nodes in document order, the root first.
type tree struct {
	nodes []node
	boxes []box
	keys  []key // the first is none
	open  []frame
	marks []jsonscan.Marks // none where making them would take longer than doing without
	b     []byte
}

// key is what stands between the quotes of one.
type key struct{ start, end uint32 }

// frame is a container that is being read.
type frame struct {
	id, box, last int32 // the container, and its latest child, -1
	size          int32 // children until now
	// like is the member of the twin that the next one is expected to be; of lists the
	// element before, and at first that of the twin.
	like int32
	// credit is how many more elements that are read by the one before may turn out to be
	// different: each that is not earns another try. See again.
	credit int8
	end    byte
	same   bool // all members until now are those of the twin
}

// raw is the text of a value that is no container, name that of a key.
func (t *tree) raw(n *node) []byte { return t.b[n.start:n.end] }

func (t *tree) name(n *node) []byte {
	k := t.keys[n.key]
	return t.b[k.start:k.end]
}

// boxOf is that of container n.
func (t *tree) boxOf(n *node) *box { return &t.boxes[n.end] }

// first is the first child of the container id, -1: it has none.
func (t *tree) first(id int32) int32 {
	if t.nodes[id].flags&filled == 0 {
		return -1
	}
	return id + 1
}

// next is the sibling after id, -1: there is none.
func (t *tree) next(id int32) int32 {
	if n := t.nodes[id].next; n > 0 {
		return id + n
	}
	return -1
}

// size is how many children the container id has.
func (t *tree) size(id int32) int32 { return t.boxOf(&t.nodes[id]).size }

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
	if t.marks = t.marks[:0]; jsonscan.MarksAreFast() {
		t.marks = jsonscan.AppendMarks(t.marks, b)
	}
	return t.read(firstCredit)
}

// read is build when the marks are made. Lists begin with that credit.
func (t *tree) read(credit int8) (ok bool) {
	b := t.b
	nodes, boxes, open := t.nodes[:0], t.boxes[:0], t.open[:0]
	t.keys = append(t.keys[:0], key{})
	i, name, twin := 0, int32(0), int32(-1) // the key and the twin are those of the value at i
	var n *node
	f := new(frame) // the last of open, and none at first
	f.last, f.like = -1, -1
values:
	for len(nodes) < treeLimit {
		i = blank(b, i)
		if i == len(b) {
			break
		}
		id := int32(len(nodes))
		if f.credit > 0 && f.last >= 0 && b[i] == '{' && nodes[f.last].flags&filled != 0 && int(2*id-f.last) <= treeLimit {
			t.nodes, t.boxes = nodes, boxes
			end := t.again(f.last, i)
			if nodes, boxes = t.nodes, t.boxes; end > 0 {
				nodes[f.last].next = id - f.last
				f.last, f.like = id, id
				f.size++
				f.credit = min(f.credit+1, mostCredit)
				i = end
				goto closed
			}
			f.credit--
		}
		nodes = extend(nodes)
		if f.last >= 0 {
			nodes[f.last].next = id - f.last
		}
		f.last = id
		f.size++
		if f.end == ']' {
			f.like = id
		}
		n = &nodes[id]
		n.start, n.key, n.next, n.flags = uint32(i), name, 0, 0
		switch c := b[i]; c {
		case '"':
			end, flags := t.text(i + 1)
			if end < 0 {
				break values
			}
			n.kind, n.flags = jsonscan.String, flags
			n.start, n.end = uint32(i+1), uint32(end)
			i = end + 1
		case '{', '[':
			if n.kind = jsonscan.Object; c == '[' {
				n.kind = jsonscan.Array
			}
			n.end = uint32(len(boxes))
			boxes = extend(boxes)
			x := &boxes[n.end]
			x.id, x.in, x.size, x.shape, x.row, x.path, x.twin = id, f.id, 0, -1, 0, 0, -1
			if open = extend(open); len(open) > jsonscan.DefaultMaxDepth {
				break values
			}
			f = &open[len(open)-1]
			f.id, f.box, f.last, f.size, f.like, f.end, f.same = id, int32(n.end), -1, 0, -1, c+2, false // } and ] are two behind
			f.credit = 0
			if c == '[' {
				f.credit = credit
			}
			if twin >= 0 && nodes[twin].container() {
				like := &nodes[twin]
				if x.twin = int32(like.end); like.kind == n.kind {
					f.same = true
					if like.flags&filled != 0 {
						f.like = twin + 1
					}
				}
			}
			i++
		default:
			n.kind, n.flags = literalKind(c), bare
			from := i
			if i = t.ends(i); i == from {
				break values
			}
			n.end = uint32(i)
		}
	closed: // What is closed here, and the key of the next value.
		for {
			if len(open) == 0 {
				ok = true
				break values
			}
			if f.like >= 0 && f.end == '}' && f.last >= 0 {
				// Mostly the next member is that of the twin, with nothing between it and the last.
				m := &nodes[f.like]
				k := t.keys[m.key]
				if size := int(k.end - k.start); begins(b, i, k.start, size) {
					name, twin = m.key, f.like
					f.like = after(m, f.like)
					i += size + 4
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
				p, x := &nodes[f.id], &boxes[f.box]
				x.end, x.size, x.tail = uint32(i), f.size, int32(len(nodes)-1)
				if f.size > 0 {
					p.flags |= filled
				}
				if f.same && f.like < 0 && f.end == '}' {
					p.flags |= twinKeys
				}
				open = open[:len(open)-1]
				if len(open) > 0 {
					f = &open[len(open)-1]
				}
				continue
			}
			name, twin = 0, f.like
			if f.end == '}' {
				i++
				var end int
				if twin = t.guess(i, nodes, f.like); twin >= 0 {
					m := &nodes[twin]
					name = m.key
					end = i + int(t.keys[name].end-t.keys[name].start)
					f.same = f.same && twin == f.like
					f.like = after(m, twin)
				} else {
					f.same = false
					if end, _ = str(b, i); end < 0 {
						break values
					}
					name = int32(len(t.keys))
					t.keys = append(t.keys, key{uint32(i), uint32(end)})
				}
				if i = blank(b, end+1); i == len(b) || b[i] != ':' {
					break values
				}
				i++
			}
			break
		}
	}
	t.nodes, t.boxes, t.open = nodes, boxes, open
	return ok
}

// after is the sibling after n, which is node id; -1: there is none.
func after(n *node, id int32) int32 {
	if n.next > 0 {
		return id + n.next
	}
	return -1
}

// literalKind is that of a number, null, true or false, by its first byte.
func literalKind(c byte) jsonscan.Kind {
	switch c {
	case 'n':
		return jsonscan.Null
	case 't', 'f':
		return jsonscan.Bool
	}
	return jsonscan.Number
}

// ends returns where the number, null, true or false that begins at i ends.
func (t *tree) ends(i int) int {
	if w := i >> 6; w+1 < len(t.marks) {
		at := uint(i) & 63
		if m := t.marks[w].Ends>>at | t.marks[w+1].Ends<<1<<(63-at); m != 0 {
			return i + bits.TrailingZeros64(m)
		}
	}
	for b := t.b; i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']'; {
		i++
	}
	return i
}

// extend returns list with one more, which is whatever was there: a literal that is appended is made
// elsewhere first, and copied before it has arrived there.
func extend[T any](list []T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), leastNodes))
	}
	return list[:len(list)+1]
}

// text returns where the string whose content starts at i ends, and its flags; a negative end:
// it does not.
func (t *tree) text(i int) (end int, flags nodeFlags) {
	if w := i >> 6; w+1 < len(t.marks) {
		m, after, at := &t.marks[w], &t.marks[w+1], uint(i)&63
		left := 63 - at
		q := m.Quotes>>at | after.Quotes<<1<<left
		n := bits.TrailingZeros64(q)
		end = i + n
		within := q&-q - 1 // the bits of the string; all where it is longer
		if n < 64 && t.b[end] == '"' && (m.Special>>at|after.Special<<1<<left)&within == 0 {
			if (m.Blanks>>at|after.Blanks<<1<<left)&within != 0 {
				flags = blanks
			}
			if endsBare(t.b[i:end]) {
				flags |= bare
			}
			return end, flags
		}
	}
	end, seen := str(t.b, i)
	if end < 0 {
		return end, 0
	}
	return end, stringFlags(t.b[i:end], seen)
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
// that starts at i; -1: it is none of them.
func (t *tree) guess(i int, nodes []node, c int32) int32 {
	rest := t.b[min(i, len(t.b)):]
	for range guessAhead {
		if c < 0 {
			break
		}
		n := &nodes[c]
		name := t.name(n)
		if k := len(name); k < len(rest) && rest[k] == '"' && string(rest[:k]) == string(name) {
			return c
		}
		c = after(n, c)
	}
	return -1
}
