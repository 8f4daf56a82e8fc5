package openapi

import (
	"bytes"
	"iter"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/textfilter"
)

// kind is what a value of a document is.
type kind uint8

const (
	kindMissing kind = iota
	kindNull
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
	kindAlias // YAML alias: off is the index of the node it stands for
)

func (k kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object", "an alias"}[k]
}

// Flags of a node.
const (
	flagEscaped uint8 = 1 << iota // string whose text has JSON escapes
	flagKey                       // member name; the value is the next node
	flagDead                      // member name that a later duplicate replaced
	flagShared                    // YAML: the target of aliases
)

// node is one value of a document. The nodes of a document are in the order of
// the text, a container before its members: 16 bytes each and no pointers, so
// that 13 MB of specification cost 8 MB and the garbage collector has nothing to
// look at.
type node struct {
	off, end uint32 // text[off:end] is a scalar's text without quotes
	next     uint32 // index after the last node of this value
	kind     kind
	flags    uint8
}

// position is where a YAML node starts.
type position struct{ line, column uint32 }

// document is one parsed document. It is immutable after reading, but for the
// lazily built tables.
type document struct {
	name  string // for messages; empty for the main document
	base  string // URL it came from
	path  string // path in an upload
	text  []byte
	nodes []node
	yaml  bool
	at    []position // YAML: by node
	lines []uint32   // JSON: offset of each line start, built on first use
	wide  map[uint32]map[string]uint32
}

// value is a place in a document. The zero value is "missing".
type value struct {
	d *document
	i uint32
}

func (d *document) root() value { return value{d, 0} }

func (v value) node() *node { return &v.d.nodes[v.i] }

// deref follows a YAML alias. Targets are never aliases themselves.
func (v value) deref() value {
	if v.d != nil && v.d.nodes[v.i].kind == kindAlias {
		return value{v.d, v.d.nodes[v.i].off}
	}
	return v
}

func (v value) exists() bool { return v.d != nil }

func (v value) kind() kind {
	if v.d == nil {
		return kindMissing
	}
	return v.node().kind
}

func (v value) isObject() bool { return v.kind() == kindObject }
func (v value) isArray() bool  { return v.kind() == kindArray }
func (v value) isString() bool { return v.kind() == kindString }

// raw is a scalar's text as it stands in the document, escapes included. Containers
// give nil: their end is not a place in the text.
func (v value) raw() []byte {
	n := v.node()
	if n.kind == kindArray || n.kind == kindObject || n.kind == kindAlias {
		return nil
	}
	return v.d.text[n.off:n.end]
}

// is reports whether a scalar's text equals s.
func (v value) is(s string) bool {
	if v.d == nil {
		return false
	}
	if v.node().flags&flagEscaped != 0 {
		return v.text() == s
	}
	return string(v.raw()) == s
}

// text is a scalar's text, unescaped: valid UTF-8. Containers and missing values
// give "".
func (v value) text() string {
	if v.d == nil {
		return ""
	}
	if v.node().flags&flagEscaped != 0 {
		return string(unescape(make([]byte, 0, len(v.raw())), v.raw()))
	}
	return string(v.raw())
}

// str is the text of a string, and of a number or boolean that stands where a
// string belongs (YAML authors forget quotes); "" for anything else.
func (v value) str() string {
	switch v.kind() {
	case kindString, kindNumber, kindBool:
		return v.text()
	default:
		return ""
	}
}

// truth is a boolean's value. Strings "true" and "yes" count: both are seen.
func (v value) truth() bool {
	switch v.kind() {
	case kindBool:
		b := v.raw()
		return b[0] == 't' || b[0] == 'T'
	case kindString:
		return v.is("true") || v.is("yes")
	default:
		return false
	}
}

// isTrue reports an explicit true.
func (v value) isTrue() bool { return v.kind() == kindBool && v.truth() }

// isFalse reports an explicit false.
func (v value) isFalse() bool { return v.kind() == kindBool && !v.truth() }

// number is a number's literal text as JSON writes it; "" when it is not a number
// that JSON can express.
func (v value) number() string {
	if v.kind() != kindNumber {
		return ""
	}
	if !v.d.yaml {
		return string(v.raw())
	}
	return jsonNumber(string(v.raw()))
}

// count is a non-negative integer that fits an int32; ok is false otherwise.
func (v value) count() (n int, ok bool) {
	s := v.number()
	if s == "" {
		return 0, false
	}
	s = strings.TrimSuffix(s, ".0")
	u, err := strconv.ParseUint(s, 10, 31)
	return int(u), err == nil
}

// size is the number of members or elements.
func (v value) size() int {
	n := 0
	switch v.kind() {
	case kindObject:
		for range v.members() {
			n++
		}
	case kindArray:
		for range v.elements() {
			n++
		}
	default:
	}
	return n
}

// members gives the names and values of an object in order; nothing for
// anything else. Of duplicate names the last is given.
func (v value) members() iter.Seq2[value, value] {
	return func(yield func(value, value) bool) {
		if v.kind() != kindObject {
			return
		}
		nodes := v.d.nodes
		end := nodes[v.i].next
		for i := v.i + 1; i < end; {
			k := i
			i = nodes[k+1].next
			if nodes[k].flags&flagDead != 0 {
				continue
			}
			if !yield(value{v.d, k}, value{v.d, k + 1}.deref()) {
				return
			}
		}
	}
}

// elements gives the elements of an array; nothing for anything else.
func (v value) elements() iter.Seq2[int, value] {
	return func(yield func(int, value) bool) {
		if v.kind() != kindArray {
			return
		}
		nodes := v.d.nodes
		end := nodes[v.i].next
		n := 0
		for i := v.i + 1; i < end; i = nodes[i].next {
			if !yield(n, value{v.d, i}.deref()) {
				return
			}
			n++
		}
	}
}

// wideObject is the number of nodes from which looking up members builds a
// table: resolving references into 20,000 schemas would be quadratic otherwise.
const wideObject = 512

// get is the member of that name; missing when v is not an object or has none.
func (v value) get(name string) value {
	if v.kind() != kindObject {
		return value{}
	}
	if v.node().next-v.i > wideObject {
		return v.getWide(name)
	}
	for k, m := range v.members() {
		if k.is(name) {
			return m
		}
	}
	return value{}
}

func (v value) getWide(name string) value {
	t, ok := v.d.wide[v.i]
	if !ok {
		t = make(map[string]uint32)
		for k := range v.members() {
			t[k.text()] = k.i + 1
		}
		if v.d.wide == nil {
			v.d.wide = make(map[uint32]map[string]uint32)
		}
		v.d.wide[v.i] = t
	}
	if i, ok := t[name]; ok {
		return value{v.d, i}.deref()
	}
	return value{}
}

// element is the n-th element of an array.
func (v value) element(n int) value {
	for i, e := range v.elements() {
		if i == n {
			return e
		}
	}
	return value{}
}

// place is the line and column of v, 1-based; columns count bytes.
func (v value) place() (line, column int) {
	if v.d == nil {
		return 0, 0
	}
	if v.d.yaml {
		p := v.d.at[v.i]
		return int(p.line), int(p.column)
	}
	off := v.node().off
	if v.kind() == kindString || v.node().flags&flagKey != 0 {
		off-- // the quote
	}
	return v.d.placeOf(off)
}

// placeOf is the line and column of a byte of a JSON document.
func (d *document) placeOf(off uint32) (line, column int) {
	if d.lines == nil {
		d.lines = append(make([]uint32, 0, bytes.Count(d.text, []byte{'\n'})+1), 0)
		for i := 0; ; {
			n := bytes.IndexByte(d.text[i:], '\n')
			if n < 0 {
				break
			}
			i += n + 1
			d.lines = append(d.lines, uint32(i))
		}
	}
	n := sort.Search(len(d.lines), func(i int) bool { return d.lines[i] > off })
	return n, int(off-d.lines[n-1]) + 1
}

// maxPointerToken is how much of one member name a pointer in a message shows:
// names of megabytes exist in hostile documents.
const maxPointerToken = 256

// pointer is the JSON pointer of v in its document.
func (v value) pointer() string {
	if v.d == nil {
		return ""
	}
	var b []byte
	at := v.d.root()
	for at.i != v.i {
		nodes := v.d.nodes
		end := nodes[at.i].next
		found := false
		n := 0
		for i := at.i + 1; i < end; {
			key := i
			if nodes[at.i].kind == kindObject {
				i++
			}
			if v.i < nodes[i].next {
				b = append(b, '/')
				if nodes[at.i].kind == kindObject {
					b = appendPointerToken(b, value{v.d, key}.text())
				} else {
					b = strconv.AppendInt(b, int64(n), 10)
				}
				if v.i == key && key != i {
					return string(b) // v is the name itself
				}
				at, found = value{v.d, i}, true
				break
			}
			i = nodes[i].next
			n++
		}
		if !found {
			break
		}
	}
	return string(b)
}

// appendPointerToken appends one reference token, escaped (RFC 6901 §3) and cut. What nobody
// sees is written so that it is seen: pointers are printed, and nothing follows them.
func appendPointerToken(b []byte, s string) []byte {
	if len(s) > maxPointerToken {
		s = cutText(s, maxPointerToken)
	}
	if textfilter.Index([]byte(s)) >= 0 {
		s = textfilter.Visible(s, maxPointerToken)
	}
	for i := range len(s) {
		switch s[i] {
		case '~':
			b = append(b, "~0"...)
		case '/':
			b = append(b, "~1"...)
		default:
			b = append(b, s[i])
		}
	}
	return b
}

// unescape appends the text of a JSON string body that was checked before. Lone
// surrogates become U+FFFD.
func unescape(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		c = s[i+1]
		i += 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hex4(s[i:])
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+6 <= len(s) && s[i] == '\\' && s[i+1] == 'u' {
					low = hex4(s[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// hex4 is the value of four checked hex digits.
func hex4(s []byte) rune {
	var r rune
	for _, c := range s[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// jsonNumber rewrites a YAML 1.2 number as JSON writes it; "" when JSON cannot
// (.inf, .nan). No digit is lost: nothing passes through a float.
func jsonNumber(s string) string {
	t := strings.ReplaceAll(s, "_", "")
	sign := ""
	switch {
	case strings.HasPrefix(t, "+"):
		t = t[1:]
	case strings.HasPrefix(t, "-"):
		sign, t = "-", t[1:]
	}
	if len(t) > 2 && t[0] == '0' {
		base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'O': 8, 'b': 2, 'B': 2}[t[1]]
		if base != 0 {
			u, err := strconv.ParseUint(t[2:], base, 64)
			if err != nil {
				return ""
			}
			return sign + strconv.FormatUint(u, 10)
		}
	}
	if strings.HasPrefix(t, ".") {
		t = "0" + t
	}
	for len(t) > 1 && t[0] == '0' && isDigit(t[1]) {
		t = t[1:]
	}
	if i := strings.IndexByte(t, '.'); i >= 0 && (i+1 == len(t) || !isDigit(t[i+1])) {
		t = t[:i] + t[i+1:] // "1." and "1.e3"
	}
	if t = sign + t; !isJSONNumber(t) {
		return ""
	}
	return t
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isJSONNumber checks RFC 8259 §6.
func isJSONNumber(s string) bool {
	n := scanNumber([]byte(s))
	return n > 0 && n == len(s)
}
