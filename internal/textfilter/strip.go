package textfilter

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// What becomes of a character.
type verdict uint8

const (
	keep    verdict = iota
	drop            // nothing is left of it
	newline         // a line feed stands in its place
	replace         // U+FFFD stands in its place: it is not UTF-8
)

// maxSequence is how many bytes of a text one ANSI control string may take away: a
// hyperlink to a long address. The text behind an unterminated one stays.
const maxSequence = 2 << 10

// Append appends text, which may be anything, to dst without the characters that a
// person does not see. What is kept: line feed, tab, the joiners U+200C and U+200D
// between letters or parts of an emoji, and one variation selector behind a character
// that has an emoji style. A carriage return becomes a line feed unless one follows
// it; what is not UTF-8 becomes U+FFFD. The result is valid UTF-8, and appending it
// again changes nothing.
func Append(dst, text []byte) []byte {
	mark := len(dst)
	for i := 0; i < len(text); {
		end := printable(text, i)
		if end > i {
			dst = append(dst, text[i:end]...)
			i = end
			continue
		}
		n, v := look(dst[mark:], text[i:])
		switch v {
		case keep:
			dst = append(dst, text[i:i+n]...)
		case newline:
			dst = append(dst, '\n')
		case replace:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		case drop:
		}
		i += n
	}
	return dst
}

// Index returns where the first character is that [Append] would change; -1: there
// is none.
func Index(text []byte) int {
	for i := 0; i < len(text); {
		if i = printable(text, i); i == len(text) {
			break
		}
		if c := text[i]; c >= utf8.RuneSelf && !suspect[c] { // most of what is not ASCII
			_, n := utf8.DecodeRune(text[i:])
			if n == 1 {
				return i
			}
			i += n
			continue
		}
		n, v := look(text[:i], text[i:])
		if v != keep {
			return i
		}
		i += n
	}
	return -1
}

// Clean is [Append] for a string. It returns s itself when there is nothing to
// remove.
func Clean(s string) string {
	if ascii(s) {
		return s
	}
	b := []byte(s)
	if Index(b) < 0 {
		return s
	}
	return string(Append(nil, b))
}

// ascii reports printable ASCII, line feeds and tabs.
func ascii(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// odd has the high bit of the first byte set that is a control character, DEL or no
// ASCII, and perhaps those of later ones.
func odd(w uint64) uint64 {
	d := w ^ ones*0x7f
	return (((w - ones*0x20) &^ w) | ((d - ones) &^ d) | w) & highs
}

// printable returns the index of the first byte at or after i that is neither
// printable ASCII nor a line feed nor a tab; len(b): there is none.
func printable(b []byte, i int) int {
	for {
		i = asciiRun(b, i)
		if i == len(b) || b[i] != '\n' && b[i] != '\t' {
			return i
		}
		i++
	}
}

// asciiRun returns the index of the first byte at or after i that is not printable
// ASCII. 32 bytes at a time: answers are long and nearly always all of it.
func asciiRun(b []byte, i int) int {
	for ; i+32 <= len(b); i += 32 {
		s := b[i : i+32]
		if odd(binary.LittleEndian.Uint64(s))|odd(binary.LittleEndian.Uint64(s[8:]))|
			odd(binary.LittleEndian.Uint64(s[16:]))|odd(binary.LittleEndian.Uint64(s[24:])) != 0 {
			break
		}
	}
	for ; i+8 <= len(b); i += 8 {
		if hit := odd(binary.LittleEndian.Uint64(b[i:])); hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x7f {
		i++
	}
	return i
}

// look judges the character that text begins with, which is not printable ASCII;
// before is what was kept. n is how many bytes it takes, with the rest of a control
// sequence that it begins.
func look(before, text []byte) (n int, v verdict) {
	r, n := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && n == 1:
		return 1, replace
	case r == '\n' || r == '\t':
		return n, keep
	case r == '\r':
		if len(text) > 1 && text[1] == '\n' {
			return 1, drop
		}
		return 1, newline
	case r == nextLine:
		return n, newline
	case r == 0x1b || r >= 0x80 && r < 0xa0:
		return sequence(text, r, n), drop
	case isJoiner(r):
		last, _ := utf8.DecodeLastRune(before)
		next, _ := utf8.DecodeRune(text[n:])
		if !joins(last, next) {
			return n, drop
		}
	case isStyle(r):
		last, _ := utf8.DecodeLastRune(before)
		if !styled(last) && (!keycapBase(last) || !bytes.HasPrefix(text[n:], []byte(string(keycap)))) {
			return n, drop
		}
	case unseen(r):
		return n, drop
	}
	return n, keep
}

// keycapBase reports the characters that keycaps are made of.
func keycapBase(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }

// sequence is the length of the ANSI control function at the start of text (ECMA-48
// §5.4, §5.6), whose first character is r of n bytes. A control string that does not
// end is its introducer only.
func sequence(text []byte, r rune, n int) int {
	if r == 0x1b {
		if len(text) == 1 {
			return 1
		}
		// ESC and a character of 0x40 to 0x5f is the C1 control with the same five bits.
		c := text[1]
		if c < 0x40 || c >= 0x60 {
			for n < len(text) && text[n] >= 0x20 && text[n] < 0x30 { // nF: designate a character set
				n++
			}
			if n < len(text) && text[n] >= 0x30 && text[n] < 0x7f {
				n++
			}
			return n
		}
		r, n = rune(c)+0x40, 2
	}
	switch r {
	case 0x9b: // CSI
		at := n
		for at < len(text) && at < maxSequence && text[at] >= 0x20 && text[at] < 0x40 {
			at++
		}
		if at < len(text) && text[at] >= 0x40 && text[at] < 0x7f {
			return at + 1
		}
		return n
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC
		for at := n; at < len(text) && at < maxSequence && text[at] != '\n'; at++ {
			switch {
			case text[at] == 7:
				return at + 1
			case text[at] == 0x1b && at+1 < len(text) && text[at+1] == '\\', text[at] == 0xc2 && at+1 < len(text) && text[at+1] == 0x9c:
				return at + 2
			}
		}
	}
	return n
}
