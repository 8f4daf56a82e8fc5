package compress

import "github.com/sluicegate/sluice/internal/jsonscan"

// treeLimit bounds the values of one document. A tree node takes about a hundred
// bytes, so this keeps the encoder under 200 MB whatever arrives; a larger
// document is answered as minified JSON.
const treeLimit = 2 << 20

// node is one JSON value; the children of a container are linked by next.
type node struct {
	raw   []byte // literal; of strings what stands between the quotes; of containers the whole text
	key   []byte // of members: what stands between the quotes
	kind  jsonscan.Kind
	esc   bool  // the string has an escape
	first int32 // first child, -1
	next  int32 // next sibling, -1
	size  int32 // children
	shape int32 // of objects: index of the key sequence, -1 for none
	row   int32 // of objects whose record is used: their row
}

// plain says that n is a string without escapes.
func (n *node) plain() bool { return n.kind == jsonscan.String && !n.esc }

// ref returns the text another column may refer to: a number, or a string
// without escapes that is not empty.
func (n *node) ref() ([]byte, bool) {
	if n.kind == jsonscan.Number || n.plain() {
		return n.raw, len(n.raw) > 0
	}
	return nil, false
}

// empty says that n is a container without children.
func (n *node) empty() bool {
	return (n.kind == jsonscan.Object || n.kind == jsonscan.Array) && n.size == 0
}

func (n *node) container() bool { return n.kind == jsonscan.Object || n.kind == jsonscan.Array }

// tree is a parsed document: nodes in document order, the root first.
type tree struct {
	nodes []node
	b     []byte
	i     int
	depth int // of open containers
	bad   bool
}

// build reads b, which is valid JSON. It reports false when there are more than treeLimit
// values, when they nest deeper than [jsonscan.DefaultMaxDepth], and when it comes upon
// what is no JSON after all.
func (t *tree) build(b []byte) bool {
	t.b, t.i, t.depth, t.bad = b, 0, 0, false
	t.nodes = t.nodes[:0]
	t.value()
	return len(t.nodes) <= treeLimit && !t.bad
}

// stop ends the reading of what cannot be read.
func (t *tree) stop() { t.bad, t.i = true, len(t.b) }

func (t *tree) space() byte {
	for t.i < len(t.b) {
		if c := t.b[t.i]; c > ' ' {
			return c
		}
		t.i++
	}
	return 0
}

// str reads the string that starts at the cursor.
func (t *tree) str() (raw []byte, esc bool) {
	t.i++
	start := t.i
	for t.i < len(t.b) && t.b[t.i] != '"' {
		if t.b[t.i] == '\\' {
			esc = true
			t.i++
		}
		t.i++
	}
	if t.i >= len(t.b) {
		t.stop()
		return nil, false
	}
	t.i++
	return t.b[start : t.i-1], esc
}

func (t *tree) value() int32 {
	c := t.space()
	id := int32(len(t.nodes))
	t.nodes = append(t.nodes, node{first: -1, next: -1, shape: -1})
	start := t.i
	switch c {
	case '"':
		raw, esc := t.str()
		n := &t.nodes[id]
		n.kind, n.raw, n.esc = jsonscan.String, raw, esc
		return id
	case '{':
		t.children(id, '}')
		t.nodes[id].kind = jsonscan.Object
	case '[':
		t.children(id, ']')
		t.nodes[id].kind = jsonscan.Array
	default:
		for t.i < len(t.b) && t.b[t.i] > ' ' && t.b[t.i] != ',' && t.b[t.i] != '}' && t.b[t.i] != ']' {
			t.i++
		}
		if t.i == start {
			t.stop()
			return id
		}
		kind := jsonscan.Number
		switch c {
		case 'n':
			kind = jsonscan.Null
		case 't', 'f':
			kind = jsonscan.Bool
		}
		t.nodes[id].kind = kind
	}
	t.nodes[id].raw = t.b[start:min(t.i, len(t.b))]
	return id
}

// children reads the members or elements up to end. Past treeLimit it only moves
// on, so that a hostile document costs no more memory.
func (t *tree) children(id int32, end byte) {
	if t.depth++; t.depth > jsonscan.DefaultMaxDepth {
		t.stop()
		return
	}
	t.i++
	last := int32(-1)
	for t.space() != end && !t.bad {
		var key []byte
		if end == '}' {
			key, _ = t.str()
			if t.space() != ':' {
				t.stop()
				return
			}
			t.i++
		}
		child := t.value()
		t.nodes[child].key = key
		if last < 0 {
			t.nodes[id].first = child
		} else {
			t.nodes[last].next = child
		}
		last = child
		t.nodes[id].size++
		if t.space() == ',' {
			t.i++
		}
		if len(t.nodes) > treeLimit {
			t.nodes = t.nodes[:treeLimit+1]
		}
	}
	if t.bad {
		return
	}
	t.i++
	t.depth--
}
