package compress

import (
	"bytes"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// A space before a word is one token with it, a tab is a token of its own. But
// where spaces separate, a string with a space in it needs quotes. So each type,
// object and list has the separator that is fewer tokens for it, by these rules of
// thumb.
const (
	wordGain  = 1 // a separator before a word
	quoteLoss = 2 // quotes around a string with spaces
)

// separatorGain is what a space before node id saves over a tab.
func (e *encoder) separatorGain(id int32, before bool) int {
	n := &e.nodes[id]
	switch n.kind {
	case jsonscan.String:
		if n.flags&bare == 0 {
			return 0
		}
		if n.flags&blanks != 0 {
			return -quoteLoss
		}
		if before && isLetter(e.b[n.start]) {
			return wordGain
		}
	case jsonscan.Bool, jsonscan.Null:
		if before {
			return wordGain
		}
	}
	return 0
}

func startsWithLetter(s []byte) bool { return len(s) > 0 && isLetter(s[0]) }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// separator is what stands between the members of object id, or the elements of
// array id.
func (e *encoder) separator(id int32) byte {
	gain := 0
	n := &e.nodes[id]
	first := e.first(id)
	for c := first; c >= 0; c = e.next(c) {
		if n.kind == jsonscan.Array {
			gain += e.separatorGain(c, c != first)
			continue
		}
		gain += e.separatorGain(c, false)
		if m := &e.nodes[c]; c != first && m.key > 0 && startsWithLetter(e.name(m)) {
			gain += wordGain
		}
	}
	if gain > 0 {
		return ' '
	}
	return '\t'
}

// rowSeparator is what stands between the cells of a type, and its columns. A
// header with spaces in keys or templates, which nothing quotes, has tabs.
func (e *encoder) rowSeparator(r *record) byte {
	gain := 0
	for c := range r.columns {
		col := &r.columns[c]
		if !isBareKey(r.keys[c]) {
			return '\t'
		}
		for _, p := range col.parts {
			if bytes.IndexByte(p.lit, ' ') >= 0 {
				return '\t'
			}
		}
		if isLetter(r.keys[c][0]) {
			gain += wordGain
		}
		if col.mode == modeFixed || col.mode == modeDefault {
			if col.parts == nil {
				gain += e.separatorGain(col.konst, false)
			}
			if col.mode == modeFixed {
				continue
			}
		}
	}
	first := true
	for c := range r.columns {
		col := &r.columns[c]
		switch col.mode {
		case modeFixed:
			continue
		case modePlain:
			gain -= quoteLoss * col.blanks
			if !first {
				gain += wordGain * col.words
			}
		case modeCoded:
			gain -= quoteLoss * col.blanks
		case modeDefault:
			for i := range r.instances {
				row := r.row(i)
				if id := row[c]; id >= 0 && !e.isDefault(col, row, id) {
					gain += e.separatorGain(id, false)
				}
			}
		}
		first = false
	}
	if gain > 0 {
		return ' '
	}
	return '\t'
}

// listSeparator tells what separates the members or elements that follow a
// bracket: spaces, when one follows it.
func (d *decoder) listSeparator() byte {
	if d.peek() == ' ' {
		d.i++
		return ' '
	}
	return '\t'
}
