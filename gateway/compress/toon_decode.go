package compress

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// ToonError says where a text is not TOON.
type ToonError struct {
	Line int // 1-based
	Msg  string
}

// Error renders the line and what is wrong there.
func (e *ToonError) Error() string { return fmt.Sprintf("TOON, line %d: %s", e.Line, e.Msg) }

// DecodeTOON appends the minified JSON that text, TOON with the format's defaults,
// stands for. See [Toon.Decode].
func DecodeTOON(dst, text []byte) ([]byte, error) { return Toon{}.Decode(dst, text) }

// Decode appends the minified JSON that text stands for: TOON 4.0 in the format's
// strict mode, or in the other with [Toon.Lenient]. Numbers keep their literal. The
// delimiters are those of the text's headers. It keeps neither argument. It fails
// with *[ToonError], for results larger than [MaxDecoded], and for values nested
// deeper than [jsonscan.DefaultMaxDepth].
func (o Toon) Decode(dst, text []byte) ([]byte, error) {
	d := toonReader{out: dst, limit: len(dst) + MaxDecoded, lenient: o.Lenient, span: -1}
	if err := d.split(text, o.level()); err != nil {
		return dst, err
	}
	if err := d.root(); err != nil {
		return dst, err
	}
	return d.out, nil
}

// toonLine is a line that is neither blank nor a comment.
type toonLine struct {
	text   []byte // without indentation and line end
	number int
	depth  int
	blank  bool // a blank line stands before it
}

type toonReader struct {
	lines   []toonLine
	i       int
	line    int // number of the line that is being read
	out     []byte
	limit   int
	nested  int
	lenient bool
	span    int    // depth of the items of the outermost array being read, once it has one; -1: none
	scratch []byte // of unescaped strings
}

func (d *toonReader) fail(format string, args ...any) error {
	return &ToonError{Line: max(1, d.line), Msg: fmt.Sprintf(format, args...)}
}

// split reads the lines: comments and blank ones go, indentation becomes depth.
// Without strict mode, half a level counts as none, and a tab is not indentation.
func (d *toonReader) split(text []byte, indent int) error {
	if !d.lenient && !utf8.Valid(text) {
		return d.fail("the text is not UTF-8")
	}
	blank := false
	for line := range bytes.Lines(text) {
		d.line++
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
		content := bytes.TrimLeft(line, " ")
		spaces := len(line) - len(content)
		if len(content) > 0 && content[0] == '#' {
			continue
		}
		if len(bytes.Trim(content, " \t")) == 0 {
			blank = true
			continue
		}
		d.lines = append(d.lines, toonLine{text: content, number: d.line, depth: spaces / indent, blank: blank})
		blank = false
		if !d.lenient && (spaces%indent != 0 || content[0] == '\t') {
			return d.fail("the indentation is not a multiple of %d blanks", indent)
		}
	}
	return nil
}

// at returns the line at the cursor when it stands at depth, nil when the scope
// ended before it.
func (d *toonReader) at(depth int) (*toonLine, error) {
	if d.i == len(d.lines) || d.lines[d.i].depth < depth {
		return nil, nil
	}
	l := &d.lines[d.i]
	d.line = l.number
	if l.depth > depth {
		return nil, d.fail("the line is indented deeper than anything that is open")
	}
	if l.blank && !d.lenient && d.span >= 0 && depth >= d.span {
		return nil, d.fail("a blank line inside an array")
	}
	return l, nil
}

func (d *toonReader) enter() error {
	if d.nested++; d.nested > jsonscan.DefaultMaxDepth {
		return d.fail("values are nested deeper than %d", jsonscan.DefaultMaxDepth)
	}
	if len(d.out) > d.limit {
		return d.fail("the text stands for more than %d MiB", MaxDecoded>>20)
	}
	return nil
}

func (d *toonReader) root() error {
	if len(d.lines) == 0 {
		d.out = append(d.out, "{}"...)
		return nil
	}
	l := &d.lines[0]
	d.line = l.number
	if l.depth > 0 {
		return d.fail("the first line is indented")
	}
	h, err := d.header(l.text)
	if err != nil {
		return err
	}
	switch single := len(d.lines) == 1; {
	case h != nil && h.key == nil:
		d.i++ // the header's line
		if err := d.array(h, 0); err != nil {
			return err
		}
		if d.i < len(d.lines) && !d.lenient {
			d.line = d.lines[d.i].number
			return d.fail("text after the end of the array")
		}
		return nil
	case single && string(l.text) == "[]":
		d.out = append(d.out, "[]"...)
		return nil
	case single && h == nil && unquoted(l.text, ':') < 0:
		return d.primitive(trimSpaces(l.text))
	}
	return d.object(0, nil)
}

// members are those of one object so far: strict mode refuses a second of a name,
// the other one takes the last.
type members struct {
	seen map[string]int // place in ends
	at   []int          // where each starts in out
}

func (d *toonReader) key(m *members, key []byte) error {
	if len(m.at) > 0 {
		d.out = append(d.out, ',')
	}
	start := len(d.out)
	d.out = append(d.out, key...)
	d.out = append(d.out, ':')
	if m.seen == nil {
		m.seen = map[string]int{}
	}
	if i, twice := m.seen[string(key)]; twice {
		if !d.lenient {
			return d.fail("the key %s stands twice in one object", key)
		}
		// The earlier member goes, with the comma behind it.
		end := m.at[i+1:]
		to := start
		if len(end) > 0 {
			to = end[0]
		}
		cut := to - m.at[i]
		d.out = append(d.out[:m.at[i]], d.out[to:]...)
		start -= cut
		m.at = append(m.at[:i], end...)
		for k := i; k < len(m.at); k++ {
			m.at[k] -= cut
		}
		for name, k := range m.seen {
			if k > i {
				m.seen[name] = k - 1
			}
		}
	}
	m.seen[string(key)] = len(m.at)
	m.at = append(m.at, start)
	return nil
}

// object reads the members at depth. first is the text of one that stands on the
// line before, behind the hyphen of a list; nil: none.
func (d *toonReader) object(depth int, first []byte) error {
	if err := d.enter(); err != nil {
		return err
	}
	d.out = append(d.out, '{')
	var m members
	if first != nil {
		if err := d.member(&m, first, depth); err != nil {
			return err
		}
	}
	for {
		l, err := d.at(depth)
		if err != nil {
			return err
		}
		if l == nil {
			break
		}
		d.i++
		if err := d.member(&m, l.text, depth); err != nil {
			return err
		}
	}
	d.nested--
	d.out = append(d.out, '}')
	return nil
}

// member reads one whose key stands in text, and whose own lines are deeper than
// depth. The cursor is behind text's line.
func (d *toonReader) member(m *members, text []byte, depth int) error {
	h, err := d.header(text)
	if err == nil && h != nil && h.key == nil {
		if h = nil; !d.lenient {
			err = d.fail("an array without a key")
		}
	}
	var key, value []byte
	if err == nil && h != nil {
		key, err = d.name(h.key)
	} else if err == nil {
		colon := unquoted(text, ':')
		if colon < 0 {
			return d.fail("a key and a colon are expected")
		}
		value = trimSpaces(text[colon+1:])
		key, err = d.name(trimSpaces(text[:colon]))
	}
	if err == nil {
		err = d.key(m, key)
	}
	if err != nil {
		return err
	}
	switch {
	case h != nil:
		return d.array(h, depth)
	case len(value) == 0:
		return d.object(depth+1, nil)
	case string(value) == "[]":
		d.out = append(d.out, "[]"...)
		return nil
	}
	return d.primitive(value)
}

// array reads what a header at depth announces.
func (d *toonReader) array(h *toonHeader, depth int) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer func() { d.nested-- }()
	if len(h.rest) > 0 { // values on the header's line
		cells := splitCells(nil, h.rest, h.delim)
		if len(cells) != h.n && !d.lenient {
			return d.fail("%d values where the header says %d", len(cells), h.n)
		}
		d.out = append(d.out, '[')
		for i, c := range cells {
			if i > 0 {
				d.out = append(d.out, ',')
			}
			if err := d.primitive(c); err != nil {
				return err
			}
		}
		d.out = append(d.out, ']')
		return nil
	}
	header := d.line
	open, end := byte('['), byte(']')
	if h.keyed {
		open, end = '{', '}'
	}
	d.out = append(d.out, open)
	outer := d.span
	var m members
	var cells [][]byte
	count := 0
	for {
		l, err := d.at(depth + 1)
		if err != nil {
			return err
		}
		if l == nil || !h.keyed && !h.holds(l.text) {
			break
		}
		if d.span < 0 {
			d.span = depth + 1
		}
		if count > 0 && !h.keyed {
			d.out = append(d.out, ',')
		}
		count++
		d.i++
		switch {
		case h.keyed:
			cells, err = d.entry(h, &m, l.text, cells[:0])
		case h.fields != nil:
			cells = splitCells(cells[:0], trimSpaces(l.text), h.delim)
			err = d.row(h, cells)
		default:
			err = d.item(trimSpaces(l.text[1:]), depth+1)
		}
		if err != nil {
			return err
		}
		if len(d.out) > d.limit {
			return d.fail("the text stands for more than %d MiB", MaxDecoded>>20)
		}
	}
	d.span = outer
	if count != h.n && !d.lenient {
		d.line = header
		return d.fail("%d items follow where the header says %d", count, h.n)
	}
	d.out = append(d.out, end)
	return nil
}

// holds tells whether a line at the depth of an array's items is one (§5.2, §9.3).
func (h *toonHeader) holds(text []byte) bool {
	if h.fields == nil {
		return text[0] == '-' && (len(text) == 1 || text[1] == ' ')
	}
	colon := unquoted(text, ':')
	if colon < 0 {
		return true
	}
	delim := unquoted(text, h.delim)
	return delim >= 0 && delim < colon
}

// item reads an element of a list whose hyphen stands at depth.
func (d *toonReader) item(text []byte, depth int) error {
	switch {
	case len(text) == 0:
		return d.object(depth+1, nil)
	case string(text) == "[]":
		d.out = append(d.out, "[]"...)
		return nil
	}
	h, err := d.header(text)
	if err != nil {
		return err
	}
	if h != nil && h.key == nil {
		if h.fields == nil {
			return d.array(h, depth)
		}
		if !d.lenient {
			return d.fail("a header with fields needs a key here")
		}
	}
	if h == nil && unquoted(text, ':') < 0 {
		return d.primitive(text)
	}
	return d.object(depth+1, text)
}

// row writes the object of a row's cells.
func (d *toonReader) row(h *toonHeader, cells [][]byte) error {
	if len(cells) != h.leaves {
		return d.fail("%d cells where the header has %d fields", len(cells), h.leaves)
	}
	_, err := d.cells(h.fields, cells)
	return err
}

// entry reads a row that carries its own key.
func (d *toonReader) entry(h *toonHeader, m *members, text []byte, cells [][]byte) ([][]byte, error) {
	colon := unquoted(text, ':')
	if colon < 0 {
		return cells, d.fail("a key and a colon are expected")
	}
	key, err := d.name(trimSpaces(text[:colon]))
	if err == nil {
		err = d.key(m, key)
	}
	if err != nil {
		return cells, err
	}
	if value := trimSpaces(text[colon+1:]); len(value) > 0 {
		cells = splitCells(cells, value, h.delim)
	}
	return cells, d.row(h, cells)
}

// cells writes an object of fields and returns the cells behind it.
func (d *toonReader) cells(fields []field, cells [][]byte) ([][]byte, error) {
	d.out = append(d.out, '{')
	var m members
	for _, f := range fields {
		var err error
		if d.lenient {
			err = d.key(&m, f.key)
		} else { // the header was checked for names that stand twice
			if d.out[len(d.out)-1] != '{' {
				d.out = append(d.out, ',')
			}
			d.out = append(append(d.out, f.key...), ':')
		}
		if err != nil {
			return cells, err
		}
		if f.sub != nil {
			cells, err = d.cells(f.sub, cells)
		} else {
			err = d.primitive(cells[0])
			cells = cells[1:]
		}
		if err != nil {
			return cells, err
		}
	}
	d.out = append(d.out, '}')
	return cells, nil
}
