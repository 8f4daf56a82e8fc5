package credentials

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/sluicegate/sluice/internal/textfilter"
)

// splits reports whether text may have a character that is removed before somebody reads
// it, as JSON or as what it is.
func splits(text []byte) bool {
	if textfilter.IndexJSON(text) >= 0 {
		return true
	}
	if text[0] == '{' || text[0] == '[' { // nearly always JSON, which has no others, but text may begin so as well
		return hasControl(text) || bytes.IndexByte(text, 0x7f) >= 0
	}
	return textfilter.Index(text) >= 0
}

// ordinary reports whether all of text is printable ASCII without backslashes, as most JSON
// is: nothing in it is removed before somebody reads it, and nothing parts it.
func ordinary(text []byte) bool {
	const highs = 0x8080808080808080
	if bytes.IndexByte(text, '\\') >= 0 || bytes.IndexByte(text, 0x7f) >= 0 {
		return false
	}
	for len(text) >= 32 {
		s := (*[32]byte)(text)
		a, b := binary.LittleEndian.Uint64(s[:]), binary.LittleEndian.Uint64(s[8:])
		c, d := binary.LittleEndian.Uint64(s[16:]), binary.LittleEndian.Uint64(s[24:])
		if (a|b|c|d|(a-blanks)|(b-blanks)|(c-blanks)|(d-blanks))&highs != 0 {
			return false
		}
		text = text[32:]
	}
	return !slices.ContainsFunc(text, func(c byte) bool { return c < ' ' || c > '~' })
}

// blanks are eight of them: of ASCII, what is less has its high bit set without them.
const blanks = 0x2020202020202020

// hasControl reports whether text has a control character that no JSON has as it is.
func hasControl(text []byte) bool {
	const width = 32
	i := 0
	for ; i+width <= len(text); i += width {
		part := text[i : i+width]
		below := belowBlank(part) | belowBlank(part[8:]) | belowBlank(part[16:]) | belowBlank(part[24:])
		if below != 0 && slices.ContainsFunc(part, control) {
			return true
		}
	}
	return slices.ContainsFunc(text[i:], control)
}

// belowBlank is not 0 when one of the first eight bytes is less than a blank.
func belowBlank(text []byte) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	x := binary.LittleEndian.Uint64(text)
	return (x - ' '*ones) &^ x & highs
}

func control(c byte) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }
