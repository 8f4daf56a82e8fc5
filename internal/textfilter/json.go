package textfilter

import (
	"bytes"
	"encoding/binary"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// suspect are the first bytes of UTF-8 sequences among which there are characters
// that are not kept, or only in some places; and those that begin none.
var suspect = func() (t [256]bool) {
	for i := utf8.RuneSelf; i < len(t); i++ {
		switch {
		case i == 0xcd || i == 0xd8: // with U+034F, with U+061C
			t[i] = true
		case i >= 0xc3 && i <= 0xe0, i >= 0xe4 && i <= 0xed:
		default:
			t[i] = true
		}
	}
	return t
}()

// IndexJSON returns the index of the first byte that needs a look: of a character
// that [AppendJSON] may remove, raw or escaped; -1: there is none, as in nearly all
// answers. raw is validated JSON, or members of an object without its braces.
func IndexJSON(raw []byte) int { return suspicious(raw, 0) }

// suspicious is IndexJSON from i, which is not inside of an escape.
func suspicious(raw []byte, i int) int {
	for i < len(raw) {
		from := i // what is before it is not looked at again
		if i = jsonRun(raw, i); i >= len(raw) {
			break
		}
		if !evenBackslashes(raw[from:i]) {
			i++ // the second byte of an escape
		}
		var found bool
		if i, found = closely(raw, i); found {
			return i
		}
	}
	return -1
}

// calm is how many ordinary bytes in a row end a close look: where one character is no
// ASCII, others mostly follow soon, and to begin a run costs more than to look at so many.
const calm = 48

// closely looks at one character after the other from i on, which is not inside of an
// escape. It returns the first that needs a look, or where ordinary text goes on.
func closely(raw []byte, i int) (at int, found bool) {
	for ordinary := 0; i < len(raw) && ordinary < calm; {
		c := raw[i]
		switch {
		case c == '\\':
			if i+1 >= len(raw) {
				return len(raw), false
			}
			switch raw[i+1] {
			case 'b', 'f', 'r':
				return i, true
			case 'u':
				r, n := escaped(raw[i:])
				if r < 0 || unseen(r) || isJoiner(r) || isStyle(r) {
					return i, true
				}
				i += n
				ordinary = 0
				continue
			}
			i += 2
			ordinary += 2
		case c < 0x7f:
			i++
			ordinary++
		case c == 0x7f:
			return i, true
		default:
			if suspect[c] {
				if r, n := utf8.DecodeRune(raw[i:]); n == 1 || unseen(r) || isJoiner(r) || isStyle(r) {
					return i, true
				}
			}
			i += width(c)
			ordinary = 0
		}
	}
	return i, false
}

// evenBackslashes reports whether the byte behind b is no part of an escape that ends
// b: an even number of backslashes are escaped ones.
func evenBackslashes(b []byte) bool {
	n := len(b)
	for n > 0 && b[n-1] == '\\' {
		n--
	}
	return (len(b)-n)&1 == 0
}

// width is the length of the UTF-8 sequence that c begins.
func width(c byte) int {
	switch {
	case c >= 0xf0:
		return 4
	case c >= 0xe0:
		return 3
	}
	return 2
}

// escaped reads an escape of four hexadecimal digits, or a pair of them, at the start of b. r is -1 for
// half of a pair and for what is not an escape.
func escaped(b []byte) (r rune, n int) {
	high, ok := hex4(b)
	switch {
	case !ok || high >= 0xdc00 && high < 0xe000:
		return -1, 6
	case high < 0xd800 || high >= 0xe000:
		return high, 6
	}
	if len(b) < 12 {
		return -1, 6
	}
	low, ok := hex4(b[6:])
	if !ok || low < 0xdc00 || low >= 0xe000 {
		return -1, 6
	}
	return (high-0xd800)<<10 | (low - 0xdc00) + 0x10000, 12
}

// hex4 reads an escape of four hexadecimal digits.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

const (
	// chunk is how many bytes jsonRun looks at in one way at first, and maxChunk at most: few,
	// so that what is near costs no more than it takes to come there, and then more, to make
	// up for the calls.
	chunk    = 1 << 10
	maxChunk = 16 << 10

	lows   = ones * 0x7f
	escape = ones * '\\'
)

// jsonRun returns the index of the first byte at or after i that needs a look: DEL, what
// is not ASCII, and a backslash in front of b, f, r or u, which may itself be escaped;
// len(b): there is none. Other escapes stand for characters that are kept, and control
// characters stand between values only.
func jsonRun(b []byte, i int) int {
	for size := chunk; i < len(b); size = min(4*size, maxChunk) {
		part := b[i:min(i+size, len(b))]
		n := asciiEnd(part)
		end := i + n
		// Three walks, because bytes.IndexByte looks at 32 bytes at a time.
		if bytes.IndexByte(part[:n], '\\') < 0 && bytes.IndexByte(part[:n], 0x7f) < 0 {
			i = end
		} else {
			i = riskyEnd(b, i, end)
		}
		if i < end || n < len(part) {
			return i
		}
	}
	return i
}

// asciiEnd returns the index of the first byte that is not ASCII; len(b): there is none.
func asciiEnd(b []byte) int {
	n := len(b)
	for len(b) >= 64 {
		s := (*[64]byte)(b)
		if (binary.LittleEndian.Uint64(s[:])|binary.LittleEndian.Uint64(s[8:])|binary.LittleEndian.Uint64(s[16:])|binary.LittleEndian.Uint64(s[24:])|
			binary.LittleEndian.Uint64(s[32:])|binary.LittleEndian.Uint64(s[40:])|binary.LittleEndian.Uint64(s[48:])|binary.LittleEndian.Uint64(s[56:]))&highs != 0 {
			break
		}
		b = b[64:]
	}
	for len(b) >= 8 && binary.LittleEndian.Uint64(b)&highs == 0 {
		b = b[8:]
	}
	for len(b) > 0 && b[0] < utf8.RuneSelf {
		b = b[1:]
	}
	return n - len(b)
}

// riskyEnd is jsonRun up to end, 16 bytes at a time: in text that is itself JSON there
// is a backslash in front of each quote.
func riskyEnd(b []byte, i, end int) int {
	for i < end {
		stop := end
		for ; i < end && i+17 <= len(b); i += 16 {
			s := (*[17]byte)(b[i:])
			if risky(binary.LittleEndian.Uint64(s[:]), binary.LittleEndian.Uint64(s[1:]))|
				risky(binary.LittleEndian.Uint64(s[8:]), binary.LittleEndian.Uint64(s[9:])) != 0 {
				stop = i + 16
				break
			}
		}
		for ; i < stop; i++ {
			if c := b[i]; c >= 0x7f || c == '\\' && i+1 < len(b) && (b[i+1] == 'b' || b[i+1] == 'f' || b[i+1] == 'r' || b[i+1] == 'u') {
				return i
			}
		}
	}
	return i
}

// risky is not 0 when there is a byte in w that is DEL, no ASCII, or a backslash with a
// b, f, r or u in its place in v, and perhaps when there is a byte in v that is no
// ASCII.
func risky(w, v uint64) uint64 {
	// Of all that may be escaped, these four have the bits 3, 5 and 6 after this. Nothing
	// is carried into another byte of ASCII.
	y := v ^ ones*4 + ones*7
	letter := y & (y << 1) & (y << 3) << 1
	other := w ^ escape + lows
	return (letter&^other | w | (w + ones)) & highs
}

// scratch holds the text of one string while it is treated.
var scratch = sync.Pool{New: func() any { return new([2][]byte) }}

// maxScratch is the largest buffer that is kept for the next string.
const maxScratch = 64 << 10

// AppendJSON appends raw with every string and member name treated as [Append]
// treats text, escaped characters included; half of a surrogate pair becomes U+FFFD.
// Strings without such characters keep their bytes, and so does everything else, so
// the structure is the same. raw is validated JSON, or members of an object without
// its braces; anything else is copied with its strings treated as far as they can be
// told.
func AppendJSON(dst, raw []byte) []byte {
	first := suspicious(raw, 0)
	if first < 0 {
		return append(dst, raw...)
	}
	buf := scratch.Get().(*[2][]byte)
	defer func() {
		if cap(buf[0]) <= maxScratch && cap(buf[1]) <= maxScratch {
			scratch.Put(buf)
		}
	}()
	from := 0 // what is before it is in dst
	for i := 0; i < len(raw); {
		open := bytes.IndexByte(raw[i:], '"')
		if open < 0 {
			break
		}
		open += i
		end := closing(raw, open+1)
		if end == 0 { // no JSON
			break
		}
		if end <= first { // the common case: nothing in it
			i = end
			continue
		}
		inner := raw[open+1 : end-1]
		buf[0] = jsonscan.Trusted(raw[open:end]).AppendText(buf[0][:0])
		if suspicious(inner, 0) >= 0 && (Index(buf[0]) >= 0 || halves(inner)) {
			buf[1] = Append(buf[1][:0], buf[0])
			dst = append(dst, raw[from:open]...)
			dst = jsonscan.AppendString(dst, buf[1])
			from = end
		}
		i = end
		if first < end {
			if first = suspicious(raw, end); first < 0 {
				break
			}
		}
	}
	return append(dst, raw[from:]...)
}

// closing returns the index behind the closing quote of the string whose text begins
// at i; 0: there is none.
func closing(raw []byte, i int) int {
	for i < len(raw) {
		switch raw[i] {
		case '"':
			return i + 1
		case '\\':
			i += 2
		default:
			i++
		}
	}
	return 0
}

// halves reports whether a string, given between its quotes, escapes half of a
// surrogate pair.
func halves(inner []byte) bool {
	for i := 0; ; {
		n := bytes.IndexByte(inner[i:], '\\')
		if n < 0 {
			return false
		}
		if i += n; i+1 < len(inner) && inner[i+1] == 'u' {
			r, n := escaped(inner[i:])
			if r < 0 {
				return true
			}
			i += n
			continue
		}
		if i += 2; i >= len(inner) {
			return false
		}
	}
}

// AppendEscaped appends a JSON document with every character escaped that a person does
// not see: the same values, in a form that no terminal obeys. raw is validated JSON.
func AppendEscaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		c := raw[i]
		if c >= 0x20 && c < 0x7f || c == '\n' || c == '\t' || c == '\r' {
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(raw[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, "\ufffd"...)
		case r > 0xffff && unseen(r):
			high, low := utf16.EncodeRune(r)
			dst = append(append(append(append(dst, `\u`...), hexOf(high, 4)...), `\u`...), hexOf(low, 4)...)
		case unseen(r) || isStyle(r) || isJoiner(r):
			dst = append(append(dst, `\u`...), hexOf(r, 4)...)
		default:
			dst = append(dst, raw[i:i+n]...)
		}
		i += n
	}
	return dst
}
