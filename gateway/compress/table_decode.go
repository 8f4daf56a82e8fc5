package compress

import (
	"bytes"
	"fmt"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// MaxDecoded bounds what DecodeTable makes of a text, in bytes: the rules of a
// header may stand for much more than they take.
const MaxDecoded = 64 << 20

// TableError says where a text is not table text.
type TableError struct {
	Line int // 1-based
	Msg  string
}

// Error renders the line and what was expected.
func (e *TableError) Error() string { return fmt.Sprintf("table text, line %d: %s", e.Line, e.Msg) }

// DecodeTable appends the minified JSON that text, table text or JSON, stands
// for. It keeps neither argument. It fails with *[TableError], and for results
// larger than [MaxDecoded].
func DecodeTable(dst, text []byte) ([]byte, error) {
	if v, err := jsonscan.Parse(text, jsonscan.DefaultMaxDepth); err == nil {
		return jsonscan.AppendMinified(dst, v.Raw()), nil
	}
	d := decoder{b: text, types: map[string]*header{}, limit: len(dst) + MaxDecoded}
	mark := len(dst)
	d.out = dst
	if err := d.document(); err != nil {
		return dst[:mark], err
	}
	// What stood between quotes was taken over as it is: only now it is known to be JSON.
	if _, err := jsonscan.Parse(d.out[mark:], jsonscan.DefaultMaxDepth); err != nil {
		return dst[:mark], &TableError{Line: d.line(), Msg: "a quoted string is not a JSON string"}
	}
	return d.out, nil
}

// header is a declared type.
type header struct {
	columns []headColumn
	index   map[string]int
	sep     byte // between cells: tab or space
}

type headColumn struct {
	key      []byte // with quotes, as JSON
	mode     mode
	konst    []byte // JSON, when parts is nil
	parts    []part
	obj, arr string
}

type decoder struct {
	b     []byte
	i     int
	depth int
	out   []byte
	types map[string]*header
	limit int
	sep   byte // what ends a bare string here, but for brackets: tab, space, line feed
}

func (d *decoder) line() int { return 1 + bytes.Count(d.b[:min(d.i, len(d.b))], []byte{'\n'}) }

func (d *decoder) fail(format string, args ...any) error {
	return &TableError{Line: d.line(), Msg: fmt.Sprintf(format, args...)}
}

// peek returns the byte at the cursor, 0 at the end.
func (d *decoder) peek() byte {
	if d.i < len(d.b) {
		return d.b[d.i]
	}
	return 0
}

func (d *decoder) expect(c byte) error {
	if d.peek() != c {
		return d.fail("expected %q", c)
	}
	d.i++
	return nil
}

func (d *decoder) document() error {
	for d.peek() == '#' {
		if err := d.declaration(); err != nil {
			return err
		}
	}
	// A column may name a type that is declared after it, so this is checked last.
	for _, h := range d.types {
		for i := range h.columns {
			c := &h.columns[i]
			if c.obj != "" && d.types[c.obj] == nil || c.arr != "" && d.types[c.arr] == nil {
				return d.fail("column %s names a type that is not declared", c.key)
			}
		}
	}
	d.sep = '\n'
	if d.peek() == '[' {
		if err := d.block(); err != nil {
			return err
		}
	} else if err := d.members('\n', 0); err != nil {
		return err
	}
	if d.i != len(d.b) {
		return d.fail("text after the end")
	}
	return nil
}

func (d *decoder) declaration() error {
	d.i++
	name := d.name()
	if name == "" || d.types[name] != nil {
		return d.fail("expected a new type name of capital letters after #")
	}
	h := &header{index: map[string]int{}, sep: '\t'}
	if d.peek() == ' ' {
		h.sep = ' '
	}
	d.sep = h.sep
	for d.peek() == h.sep {
		d.i++
		if err := d.column(h); err != nil {
			return err
		}
	}
	for i := range h.columns {
		for j := range h.columns[i].parts {
			if err := d.resolve(h, &h.columns[i].parts[j]); err != nil {
				return err
			}
		}
	}
	d.types[name] = h
	return d.expect('\n')
}

// resolve turns the name in a reference into the column's number. Only columns
// with cells can be referred to: then no two rules wait for each other, but for
// holes, which row watches.
func (d *decoder) resolve(h *header, p *part) error {
	if p.ref < 0 {
		return nil
	}
	c, ok := h.index[string(p.lit)]
	if !ok || h.columns[c].mode == modeFixed || h.columns[c].mode == modeDefault {
		return d.fail("reference to %s, which is not a column with cells", p.lit)
	}
	p.ref, p.lit = c, nil
	return nil
}

func (d *decoder) column(h *header) error {
	if len(h.columns) >= maxColumns {
		return d.fail("more than %d columns", maxColumns)
	}
	key, err := d.key()
	if err != nil {
		return err
	}
	if _, twice := h.index[string(key)]; twice {
		return d.fail("column %s stands twice", key)
	}
	c := headColumn{key: key}
	if c.obj, c.arr, err = d.annotation(); err != nil {
		return err
	}
	if d.peek() == '?' {
		d.i++
		c.mode = modeDefault
	}
	if d.peek() == '=' {
		d.i++
		if err := d.rule(&c); err != nil {
			return err
		}
	} else if c.mode == modeDefault {
		return d.fail("expected = after ?")
	}
	h.index[string(key)] = len(h.columns)
	h.columns = append(h.columns, c)
	return nil
}

// rule reads a constant or a template.
func (d *decoder) rule(c *headColumn) error {
	if c.mode != modeDefault {
		c.mode = modeFixed
	}
	end := d.i
	for end < len(d.b) && d.b[end] != d.sep && d.b[end] != '\n' {
		end++
	}
	text := d.b[d.i:end]
	if len(text) == 0 || !startsBare(text[0]) || !bytes.ContainsAny(text, "<>") {
		mark := len(d.out)
		if err := d.value("", ""); err != nil {
			return err
		}
		c.konst = bytes.Clone(d.out[mark:])
		d.out = d.out[:mark]
		return nil
	}
	d.i = end
	for len(text) > 0 {
		lit, rest, open := bytes.Cut(text, []byte{'<'})
		if len(lit) > 0 {
			c.parts = append(c.parts, part{lit: lit, ref: partLiteral})
		}
		if !open {
			break
		}
		name, after, closed := bytes.Cut(rest, []byte{'>'})
		if !closed {
			return d.fail("< without >")
		}
		p := part{ref: 0, lit: name}
		switch string(name) {
		case "":
			p = part{ref: partHole}
		case "@t":
			p = part{ref: partTime}
		case "@u":
			p = part{ref: partUUID}
		default:
			if name[0] != '"' {
				p.lit = append(append([]byte{'"'}, name...), '"')
			}
		}
		if p.ref < partLiteral {
			if c.mode == modeCoded || c.mode == modeDefault {
				return d.fail("a rule has one hole at most, and a default none")
			}
			c.mode = modeCoded
		}
		c.parts = append(c.parts, p)
		text = after
	}
	return nil
}

func (d *decoder) name() string {
	start := d.i
	for c := d.peek(); c >= 'A' && c <= 'Z'; c = d.peek() {
		d.i++
	}
	return string(d.b[start:d.i])
}

// key reads a bare or quoted key and returns it with quotes.
func (d *decoder) key() ([]byte, error) {
	if d.peek() == '"' {
		return d.quoted()
	}
	start := d.i
	for d.i < len(d.b) && isBareKey(d.b[d.i:d.i+1]) {
		d.i++
	}
	if d.i == start {
		return nil, d.fail("expected a key")
	}
	return append(append([]byte{'"'}, d.b[start:d.i]...), '"'), nil
}

// quoted returns a view of the string at the cursor with its quotes.
func (d *decoder) quoted() ([]byte, error) {
	start := d.i
	for d.i++; d.i < len(d.b); d.i++ {
		switch d.b[d.i] {
		case '\\':
			d.i++
		case '"':
			d.i++
			return d.b[start:d.i], nil
		}
	}
	return nil, d.fail("string without an end")
}

func (d *decoder) annotation() (obj, arr string, err error) {
	if d.peek() == '(' {
		d.i++
		if obj = d.name(); obj == "" {
			return "", "", d.fail("expected a type name")
		}
		if err := d.expect(')'); err != nil {
			return "", "", err
		}
	}
	if d.peek() == '[' {
		d.i++
		if arr = d.name(); arr == "" {
			return "", "", d.fail("expected a type name")
		}
		err = d.expect(']')
	}
	return obj, arr, err
}

// members reads key:value pairs separated by sep up to the byte end; 0 is the
// end of the text.
func (d *decoder) members(sep, end byte) error {
	d.out = append(d.out, '{')
	for first := true; first || d.peek() != end; first = false {
		if !first {
			if err := d.expect(sep); err != nil {
				return err
			}
			d.out = append(d.out, ',')
		} else if d.peek() == end && end != 0 {
			break
		}
		key, err := d.key()
		if err != nil {
			return err
		}
		obj, arr, err := d.annotation()
		if err != nil {
			return err
		}
		if obj != "" && d.types[obj] == nil || arr != "" && d.types[arr] == nil {
			return d.fail("member %s names a type that is not declared", key)
		}
		if err := d.expect(':'); err != nil {
			return err
		}
		d.out = append(append(d.out, key...), ':')
		if sep == '\n' && d.startsBlock() {
			err = d.block()
		} else {
			err = d.value(obj, arr)
		}
		if err != nil {
			return err
		}
	}
	d.out = append(d.out, '}')
	return nil
}

// startsBlock tells "[A" and a line feed from a list.
func (d *decoder) startsBlock() bool {
	if d.peek() != '[' {
		return false
	}
	i := d.i + 1
	for i < len(d.b) && d.b[i] >= 'A' && d.b[i] <= 'Z' {
		i++
	}
	return i > d.i+1 && i < len(d.b) && d.b[i] == '\n'
}

func (d *decoder) block() error {
	d.i++
	name := d.name()
	h := d.types[name]
	if h == nil {
		return d.fail("type %q is not declared", name)
	}
	if err := d.expect('\n'); err != nil {
		return err
	}
	d.out = append(d.out, '[')
	for first := true; d.peek() != ']'; first = false {
		if d.i >= len(d.b) {
			return d.fail("expected a row or ]")
		}
		if !first {
			d.out = append(d.out, ',')
		}
		var err error
		if d.peek() == '!' {
			d.i++
			err = d.value("", name)
		} else {
			err = d.row(h)
		}
		if err != nil {
			return err
		}
		if err := d.expect('\n'); err != nil {
			return err
		}
	}
	d.i++
	d.out = append(d.out, ']')
	return nil
}

// value reads one value of a cell or a line.
func (d *decoder) value(obj, arr string) error {
	if d.depth++; d.depth > jsonscan.DefaultMaxDepth+1 {
		return d.fail("nested deeper than %d", jsonscan.DefaultMaxDepth)
	}
	defer func() { d.depth-- }()
	if len(d.out) > d.limit {
		return d.fail("stands for more than %d bytes", MaxDecoded)
	}
	switch d.peek() {
	case '"':
		s, err := d.quoted()
		d.out = append(d.out, s...)
		return err
	case '(':
		h := d.types[obj]
		if h == nil {
			return d.fail("( without a type")
		}
		d.i++
		if err := d.row(h); err != nil {
			return err
		}
		return d.expect(')')
	case '{':
		d.i++
		outer := d.sep
		d.sep = d.listSeparator()
		if err := d.members(d.sep, '}'); err != nil {
			return err
		}
		d.sep = outer
		return d.expect('}')
	case '[':
		return d.array(arr)
	}
	s := d.bare()
	if len(s) == 0 || !startsBare(s[0]) {
		return d.fail("expected a value")
	}
	if literal(s) {
		d.out = append(d.out, s...)
	} else {
		d.out = append(append(append(d.out, '"'), s...), '"')
	}
	return nil
}

// bare reads up to a byte that ends a cell.
func (d *decoder) bare() []byte {
	start := d.i
	for c := d.peek(); c >= ' ' && c != ')' && c != ']' && c != '}' && (c != ' ' || d.sep != ' '); c = d.peek() {
		d.i++
	}
	return d.b[start:d.i]
}

func (d *decoder) array(arr string) error {
	d.i++
	d.out = append(d.out, '[')
	if c := d.peek(); c == '-' || c >= '0' && c <= '9' {
		if done, err := d.numbers(); done || err != nil {
			return err
		}
	}
	outer := d.sep
	d.sep = d.listSeparator()
	for first := true; d.peek() != ']'; first = false {
		if !first {
			if d.b[d.i-1] != ')' || d.peek() == d.sep {
				if err := d.expect(d.sep); err != nil {
					return err
				}
			}
			d.out = append(d.out, ',')
		}
		if err := d.value(arr, arr); err != nil {
			return err
		}
	}
	d.sep = outer
	d.i++
	d.out = append(d.out, ']')
	return nil
}

// numbers takes over a list of numbers as it stands; false: other values follow
// a number.
func (d *decoder) numbers() (bool, error) {
	end := bytes.IndexByte(d.b[d.i:], ']')
	if end < 0 {
		return false, d.fail("list without an end")
	}
	text := d.b[d.i : d.i+end]
	if bytes.IndexByte(text, '\t') >= 0 {
		return false, nil
	}
	for n := range bytes.SplitSeq(text, []byte{','}) {
		if !isNumber(n) {
			return false, d.fail("%q in a list of numbers", n)
		}
	}
	d.out = append(append(d.out, text...), ']')
	d.i += end + 1
	return true, nil
}
