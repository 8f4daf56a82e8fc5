package credentials

import (
	"bytes"
	"strconv"
	"strings"
)

// encodedPrefix is the length of the secret at the beginning of b, in whatever
// encoding; 0: it is not there. A secret may itself look encoded, so characters are
// read as they are first and as escapes then, and those that escape others as what was
// escaped once and as what was more often. With fold the secret is in small letters, and b
// may have it in any.
func encodedPrefix(b, secret []byte, fold bool) int {
	n := max(prefix(b, secret, literalFirst, fold), prefix(b, secret, escapesFirst, fold))
	if n == 0 && bytes.ContainsAny(secret, "%&") {
		n = prefix(b, secret, layersFirst, fold)
	}
	return n
}

// order is what a text is read as first.
type order int

const (
	literalFirst order = iota
	escapesFirst
	layersFirst // as escapes, %2525 as one percent sign and &amp;amp; as one ampersand
)

func prefix(b, secret []byte, first order, fold bool) int {
	i := 0
	for k := 0; k < len(secret); k++ {
		c := secret[k]
		if next := escaped(b, i, c, first == layersFirst, fold); next > 0 && first != literalFirst {
			i = next
			continue
		} else if raw := literal(b, i, c, fold); raw > 0 {
			i = raw
		} else if next > 0 {
			i = next
		} else {
			return 0
		}
		if c == '\\' && b[i-1] == c { // literal took a run of them: how many it stands for cannot be told
			for k+1 < len(secret) && secret[k+1] == '\\' {
				k++
			}
		}
	}
	return i
}

// character reads one character of text at b[i:] as JSON and programming languages escape
// it, behind any number of backslashes, and returns where the next begins; 0: there is none.
func character(b []byte, i int) (c byte, next int) {
	mark := i
	if i = backslashes(b, i); i >= len(b) {
		return 0, 0
	}
	if i == mark {
		return b[i], i + 1
	}
	var width int
	from, base := i+1, 16
	switch b[i] {
	case 'u':
		if from < len(b) && b[from] == '{' {
			if end := bytes.IndexByte(b[from:min(len(b), from+maxBraced)], '}'); end > 1 {
				if c, ok := number(b[from+1:from+end], base); ok {
					return c, from + end + 1
				}
			}
			return b[i], i + 1
		}
		width = len("0041")
	case 'U':
		width = len("00000041")
	case 'x':
		width = len("41")
	case '0', '1', '2', '3':
		from, width, base = i, len("101"), 8
	default:
		return b[i], i + 1
	}
	if to := from + width; to <= len(b) {
		if c, ok := number(b[from:to], base); ok {
			return c, to
		}
	}
	return b[i], i + 1
}

// maxBraced is the longest {XX} that is looked at: six digits, which Unicode needs.
const maxBraced = len("{00005a}")

// number is the value of digits that stand for one byte.
func number(digits []byte, base int) (byte, bool) {
	n := 0
	for _, d := range digits {
		v := hex(d)
		if v < 0 || v >= base {
			return 0, false
		}
		if n = n*base + v; n > 255 {
			return 0, false
		}
	}
	return byte(n), true
}

// literal returns where c ends at b[i:] when it is written as it is, or as JSON
// writes it; 0 when it is not.
func literal(b []byte, i int, c byte, fold bool) int {
	got, next := character(b, i)
	if next > 0 && (same(got, c, fold) || c == ' ' && got == '+') {
		return next
	}
	if next > i+1 { // an escape, unless the backslash stands there for nothing
		if i := backslashes(b, i); c != '\\' && same(b[i], c, fold) {
			return i + 1
		}
	}
	if c == '\\' && i < len(b) && b[i] == '\\' {
		return backslashes(b, i)
	}
	return 0
}

// same reports whether a character stands for c of a secret.
func same(got, c byte, fold bool) bool { return got == c || fold && lower(got) == c }

// entities are the names that HTML has for characters of secrets.
var entities = map[byte]string{'&': "amp", '<': "lt", '>': "gt", '"': "quot", '\'': "apos"}

const (
	// maxEntity is the longest reference that is looked at, without & and ;.
	maxEntity = 8
	// maxLayers is how often a percent sign or an ampersand may be escaped itself.
	maxLayers = 3
)

// escaped returns where c ends at b[i:] when it is written %2B, =2B, %252B, &amp;, &#43;,
// &#x2B; or &amp;#43;, the numbers with or without the semicolon, each perhaps in JSON; 0 when
// it is not. With all, a percent sign or an ampersand ends behind all of its escapes.
func escaped(b []byte, i int, c byte, all, fold bool) int {
	got, i := character(b, i)
	if i == 0 {
		return 0
	}
	var read func([]byte, int, byte, bool) int
	switch got {
	case '=':
		return pair(b, i, c, fold)
	case '%':
		read = pair
	case '&':
		read = reference
	default:
		return 0
	}
	end := 0
	for range maxLayers {
		next := read(b, i, c, fold)
		if next > 0 && (!all || c != got) {
			return next
		}
		if next > 0 {
			end = next
		}
		if i = read(b, i, got, false); i == 0 {
			break
		}
	}
	return end
}

// pair returns where two hexadecimal digits at b[i:] end that stand for c; 0: they do not.
func pair(b []byte, i int, c byte, fold bool) int {
	high, second := character(b, i)
	if second == 0 {
		return 0
	}
	low, next := character(b, second)
	if hex(high) < 0 || hex(low) < 0 { // of nothing character returns 0, which is no digit
		return 0
	}
	if value := byte(hex(high)<<4 | hex(low)); same(value, c, fold) || value == '+' && c == ' ' {
		return next
	}
	return 0
}

// reference returns where the reference of HTML ends whose & is in front of b[i:], when it
// stands for c; 0 when it does not.
func reference(b []byte, i int, c byte, fold bool) int {
	var name [maxEntity + 1]byte
	for n := range name {
		at := i
		got, next := character(b, i)
		digit := hex(got) >= 0 || n == 1 && (got == 'x' || got == 'X')
		switch {
		case next > 0 && got == ';':
			if refers(string(name[:n]), c, fold) {
				return next
			}
			return 0
		case next == 0 || name[0] == '#' && !digit: // a number may end so
			if name[0] == '#' && refers(string(name[:n]), c, fold) {
				return at
			}
			return 0
		}
		name[n], i = got, next
	}
	return 0
}

// refers reports whether a reference of HTML stands for c.
func refers(name string, c byte, fold bool) bool {
	digits, number := strings.CutPrefix(name, "#")
	if !number {
		return name == entities[c] && name != ""
	}
	base := 10
	if len(digits) > 0 && (digits[0] == 'x' || digits[0] == 'X') {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 8)
	return err == nil && same(byte(n), c, fold)
}

// hex is the value of a hexadecimal digit; -1: it is none.
func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
