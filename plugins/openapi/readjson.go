package openapi

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"
)

// syntaxError is why a document could not be parsed, and where.
type syntaxError struct {
	code         string
	line, column int
	detail       string
	remedy       string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.line, e.column, e.detail)
}

// duplicate is a member name that occurs twice in one object; the second counts.
type duplicate struct{ first, second value }

// maxDuplicates bounds how many duplicate names are remembered for warnings.
const maxDuplicates = 100

// jsonReader parses RFC 8259 text in one pass. It is recursive; depth is capped
// well below what a goroutine's stack holds.
type jsonReader struct {
	ctx   context.Context
	d     *document
	s     []byte
	i     int
	limit Limits
	steps int // nodes until the context is looked at again
	dups  []duplicate
}

// stepsPerCheck is how many nodes are read between two looks at the deadline.
const stepsPerCheck = 4096

// readJSON parses data, which is valid UTF-8 without NUL.
func readJSON(ctx context.Context, data []byte, lim Limits) (*document, []duplicate, error) {
	d := &document{text: data}
	// Real documents have a node for every 20 to 40 bytes; growing costs a copy.
	d.nodes = make([]node, 0, min(len(data)/24+16, lim.MaxNodes))
	r := &jsonReader{ctx: ctx, d: d, s: data, limit: lim, steps: stepsPerCheck}
	r.space()
	if err := r.value(0); err != nil {
		return nil, nil, err
	}
	r.space()
	if r.i < len(r.s) {
		return nil, nil, r.fail("text after the end of the document")
	}
	return d, r.dups, nil
}

func (r *jsonReader) fail(format string, args ...any) error {
	return r.failWith(codeJSONSyntax, "correct the JSON syntax at this place", format, args...)
}

func (r *jsonReader) failWith(code, remedy, format string, args ...any) error {
	e := &syntaxError{code: code, detail: fmt.Sprintf(format, args...), remedy: remedy}
	e.line, e.column = r.d.placeOf(uint32(min(r.i, len(r.s))))
	return e
}

func (r *jsonReader) space() {
	i, s := r.i, r.s
	for i < len(s) && s[i] <= ' ' && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	r.i = i
}

// add appends a node and checks the node and time budgets.
func (r *jsonReader) add(n node) (uint32, error) {
	if len(r.d.nodes) >= r.limit.MaxNodes {
		return 0, r.failWith(codeTooManyNodes, "split the specification", "more than %d values", r.limit.MaxNodes)
	}
	if r.steps--; r.steps <= 0 {
		r.steps = stepsPerCheck
		if err := r.ctx.Err(); err != nil {
			return 0, err
		}
	}
	n.next = uint32(len(r.d.nodes)) + 1
	r.d.nodes = append(r.d.nodes, n)
	return n.next - 1, nil
}

func (r *jsonReader) value(depth int) error {
	if depth > r.limit.MaxDepth {
		return r.failWith(codeTooDeep, "flatten the specification", "nesting deeper than %d levels", r.limit.MaxDepth)
	}
	if r.i >= len(r.s) {
		return r.fail("the document ends in the middle of a value")
	}
	switch c := r.s[r.i]; {
	case c == '"':
		return r.str(0)
	case c == '{':
		return r.object(depth)
	case c == '[':
		return r.array(depth)
	case c == '-' || isDigit(c):
		n := scanNumber(r.s[r.i:])
		if n == 0 {
			return r.fail("not a number")
		}
		_, err := r.add(node{kind: kindNumber, off: uint32(r.i), end: uint32(r.i + n)})
		r.i += n
		return err
	case c == 't':
		return r.literal("true", kindBool)
	case c == 'f':
		return r.literal("false", kindBool)
	case c == 'n':
		return r.literal("null", kindNull)
	case c == ',' || c == ']' || c == '}':
		return r.fail("expected a value, found %q (a comma too many?)", c)
	case c == '/' || c == '#':
		return r.fail("expected a value, found %q (JSON has no comments)", c)
	default:
		ch, _ := utf8.DecodeRune(r.s[r.i:])
		return r.fail("expected a value, found %q", ch)
	}
}

func (r *jsonReader) literal(s string, k kind) error {
	if !bytes.HasPrefix(r.s[r.i:], []byte(s)) {
		return r.fail("expected %s", s)
	}
	_, err := r.add(node{kind: k, off: uint32(r.i), end: uint32(r.i + len(s))})
	r.i += len(s)
	return err
}

// stops marks the bytes that end a run of plain text in a string.
var stops = func() (t [256]bool) {
	for i := range 0x20 {
		t[i] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

func (r *jsonReader) str(flags uint8) error {
	r.i++
	start := r.i
	for {
		// The bytes that end or escape a string are rare: look for them in runs.
		i, s := r.i, r.s
		for i < len(s) && !stops[s[i]] {
			i++
		}
		r.i = i
		if r.i >= len(r.s) {
			r.i = start - 1
			return r.fail("this string has no closing quote")
		}
		switch r.s[r.i] {
		case '"':
			if r.i-start > r.limit.MaxString {
				r.i = start - 1
				return r.failWith(codeStringTooLong, "shorten the text", "a string of more than %d bytes", r.limit.MaxString)
			}
			_, err := r.add(node{kind: kindString, off: uint32(start), end: uint32(r.i), flags: flags})
			r.i++
			return err
		case '\\':
			flags |= flagEscaped
			if err := r.escape(); err != nil {
				return err
			}
		default:
			return r.fail("control character 0x%02x in a string; write it as an escape", r.s[r.i])
		}
	}
}

func (r *jsonReader) escape() error {
	if r.i+1 >= len(r.s) {
		return r.fail("the document ends in the middle of a string")
	}
	switch r.s[r.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.i += 2
		return nil
	case 'u':
		for j := r.i + 2; j < r.i+6; j++ {
			if j >= len(r.s) || !isHex(r.s[j]) {
				return r.fail(`\u needs four hex digits`)
			}
		}
		r.i += 6
		return nil
	default:
		return r.fail("unknown escape \\%c in a string", r.s[r.i+1])
	}
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

func (r *jsonReader) array(depth int) error {
	at, err := r.add(node{kind: kindArray, off: uint32(r.i)})
	if err != nil {
		return err
	}
	r.i++
	r.space()
	if r.i < len(r.s) && r.s[r.i] == ']' {
		r.i++
		return nil
	}
	for {
		r.space()
		if err := r.value(depth + 1); err != nil {
			return err
		}
		r.space()
		if r.i >= len(r.s) {
			return r.fail("the document ends inside an array")
		}
		c := r.s[r.i]
		if c != ',' && c != ']' {
			return r.fail("expected a comma or ] after an array element, found %q", c)
		}
		r.i++
		if c == ']' {
			r.d.nodes[at].next = uint32(len(r.d.nodes))
			return nil
		}
	}
}

func (r *jsonReader) object(depth int) error {
	at, err := r.add(node{kind: kindObject, off: uint32(r.i)})
	if err != nil {
		return err
	}
	r.i++
	r.space()
	if r.i < len(r.s) && r.s[r.i] == '}' {
		r.i++
		return nil
	}
	// Names are compared only when two may be equal: of a name's 64-bit
	// fingerprint one bit is set, and most objects have no bit set twice.
	var bits uint64
	suspect := false
	for members := 1; ; members++ {
		r.space()
		if r.i >= len(r.s) || r.s[r.i] != '"' {
			return r.fail("expected a member name in quotes%s", r.afterComma())
		}
		start := r.i + 1
		if err := r.str(flagKey); err != nil {
			return err
		}
		bit := fingerprint(r.s[start : r.i-1])
		suspect = suspect || bits&bit != 0
		bits |= bit
		r.space()
		if r.i >= len(r.s) || r.s[r.i] != ':' {
			return r.fail("expected a colon after a member name")
		}
		r.i++
		r.space()
		if err := r.value(depth + 1); err != nil {
			return err
		}
		r.space()
		if r.i >= len(r.s) {
			return r.fail("the document ends inside an object")
		}
		c := r.s[r.i]
		if c != ',' && c != '}' {
			return r.fail("expected a comma or } after an object member, found %q", c)
		}
		r.i++
		if c == '}' {
			r.d.nodes[at].next = uint32(len(r.d.nodes))
			if suspect {
				r.dups = markDuplicates(r.d, at, members, r.dups)
			}
			return nil
		}
	}
}

// fingerprint maps a name to one of 64 bits; equal names to the same.
func fingerprint(name []byte) uint64 {
	n := len(name)
	if n == 0 {
		return 1
	}
	h := uint32(n)*0x9E3779B1 ^ uint32(name[0])*0x85EBCA6B ^ uint32(name[n-1])*0xC2B2AE35 ^ uint32(name[n/2])*0x27D4EB2F
	return 1 << (h >> 26)
}

func (r *jsonReader) afterComma() string {
	if r.i < len(r.s) && r.s[r.i] == '}' {
		return ", found } (a comma too many?)"
	}
	return ""
}

// markDuplicates marks all but the last of equal member names as dead. Names are
// compared as written, which misses only names that differ in their escapes.
func markDuplicates(d *document, at uint32, members int, dups []duplicate) []duplicate {
	nodes := d.nodes
	end := nodes[at].next
	found := func(first, second uint32) {
		nodes[first].flags |= flagDead
		if len(dups) < maxDuplicates {
			dups = append(dups, duplicate{value{d, first}, value{d, second}})
		}
	}
	if members > 16 {
		seen := make(map[string]uint32, members)
		for k := at + 1; k < end; k = nodes[k+1].next {
			name := string(d.text[nodes[k].off:nodes[k].end])
			if first, ok := seen[name]; ok {
				found(first, k)
			}
			seen[name] = k
		}
		return dups
	}
	for k := at + 1; k < end; k = nodes[k+1].next {
		a := nodes[k]
		for l := nodes[k+1].next; l < end; l = nodes[l+1].next {
			b := nodes[l]
			if a.end-a.off == b.end-b.off && bytes.Equal(d.text[a.off:a.end], d.text[b.off:b.end]) {
				found(k, l)
				break
			}
		}
	}
	return dups
}

// scanNumber is the length of the JSON number s starts with; 0 for none.
func scanNumber(s []byte) int {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	switch {
	case i < len(s) && s[i] == '0':
		i++
	case i < len(s) && '1' <= s[i] && s[i] <= '9':
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	default:
		return 0
	}
	if i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
		for i++; i < len(s) && isDigit(s[i]); {
			i++
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && isDigit(s[j]) {
			for i = j; i < len(s) && isDigit(s[i]); {
				i++
			}
		}
	}
	return i
}
