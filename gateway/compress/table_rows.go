package compress

// span is a piece of decoder.out.
type span struct{ from, to int }

// row reads the cells of one object and appends it as JSON.
func (d *decoder) row(h *header) error {
	mark := len(d.out)
	cells := make([]span, len(h.columns))
	present := make([]bool, len(h.columns))
	first := true
	ended := false
	outer := d.sep
	d.sep = h.sep
	for i := range h.columns {
		c := &h.columns[i]
		if c.mode == modeFixed {
			present[i] = true
			continue
		}
		if !first && !ended {
			if d.peek() == h.sep {
				d.i++
			} else {
				ended = true
			}
		}
		first = false
		from := len(d.out)
		var err error
		if present[i], err = d.cell(c, ended); err != nil {
			return err
		}
		cells[i] = span{from, len(d.out)}
	}
	d.sep = outer
	// The object is written behind its cells and then moved over them.
	object := len(d.out)
	d.out = append(d.out, '{')
	for i := range h.columns {
		if !present[i] {
			continue
		}
		if len(d.out) > object+1 {
			d.out = append(d.out, ',')
		}
		d.out = append(append(d.out, h.columns[i].key...), ':')
		if err := d.render(h, cells, i, 0); err != nil {
			return err
		}
		if len(d.out) > d.limit {
			return d.fail("stands for more than %d bytes", MaxDecoded)
		}
	}
	d.out = append(d.out, '}')
	n := copy(d.out[mark:], d.out[object:])
	d.out = d.out[:mark+n]
	return nil
}

// cell reads one cell. A value becomes JSON, the text of a hole stays as it is;
// an empty span of a present column stands for its rule.
func (d *decoder) cell(c *headColumn, ended bool) (present bool, err error) {
	next := d.peek()
	if ended || next == d.sep || next == '\n' || next == ')' || next == 0 {
		return c.mode == modeDefault, nil
	}
	switch c.mode {
	case modeDefault:
		if err := d.expect('='); err != nil {
			return false, err
		}
		if next := d.peek(); next == d.sep || next == '\n' || next == ')' || next == 0 {
			return false, nil
		}
	case modeCoded:
		if next != '=' {
			text := d.bare()
			if d.out = append(d.out, text...); len(text) == 0 || d.peek() == ']' || d.peek() == '}' {
				return false, d.fail("unexpected %q", d.peek())
			}
			return true, nil
		}
		d.i++
		d.out = append(d.out, '=') // keeps it apart from the text of a hole
	}
	return true, d.value(c.obj, c.arr)
}

// render appends column i of the row as JSON.
func (d *decoder) render(h *header, cells []span, i, hops int) error {
	c := &h.columns[i]
	cell := d.out[cells[i].from:cells[i].to]
	switch {
	case c.mode == modePlain, c.mode == modeDefault && len(cell) > 0:
		d.out = append(d.out, cell...)
		return nil
	case c.mode == modeCoded && cell[0] == '=':
		d.out = append(d.out, cell[1:]...)
		return nil
	case c.parts == nil:
		d.out = append(d.out, c.konst...)
		return nil
	}
	d.out = append(d.out, '"')
	if err := d.expand(h, cells, i, hops); err != nil {
		return err
	}
	d.out = append(d.out, '"')
	return nil
}

// expand appends the text that the rule of column i makes.
func (d *decoder) expand(h *header, cells []span, i, hops int) error {
	// Rules with holes may refer to each other; more hops than columns is a circle.
	if hops > len(h.columns) || len(d.out) > d.limit {
		return d.fail("the rules of %s refer to each other", h.columns[i].key)
	}
	for _, p := range h.columns[i].parts {
		hole := d.out[cells[i].from:cells[i].to]
		switch p.ref {
		case partLiteral:
			d.out = append(d.out, p.lit...)
		case partHole:
			d.out = append(d.out, hole...)
		case partTime:
			if len(hole) < 15 || hole[8] != 'T' {
				return d.fail("%q is not a time in basic format", hole)
			}
			d.out = append(append(append(d.out, hole[:4]...), '-'), hole[4:6]...)
			d.out = append(append(append(d.out, '-'), hole[6:11]...), ':')
			d.out = append(append(append(d.out, hole[11:13]...), ':'), hole[13:]...)
		case partUUID:
			if len(hole) != 32 {
				return d.fail("%q is not a UUID without hyphens", hole)
			}
			for k, cut := range [...]int{0, 8, 12, 16, 20} {
				if k > 0 {
					d.out = append(d.out, '-')
				}
				d.out = append(d.out, hole[cut:[...]int{8, 12, 16, 20, 32}[k]]...)
			}
		default:
			if err := d.reference(h, cells, p.ref, hops+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// reference appends the text of column i: what a string holds between its
// quotes, or a number.
func (d *decoder) reference(h *header, cells []span, i, hops int) error {
	c := &h.columns[i]
	cell := d.out[cells[i].from:cells[i].to]
	if len(cell) == 0 {
		return d.fail("reference to %s, which is missing in this row", c.key)
	}
	if c.mode == modeCoded {
		if cell[0] != '=' {
			return d.expand(h, cells, i, hops)
		}
		cell = cell[1:]
	}
	if cell[0] == '"' {
		cell = cell[1 : len(cell)-1]
	}
	d.out = append(d.out, cell...)
	return nil
}
