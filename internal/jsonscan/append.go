package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a quoted JSON string with the fewest escapes: only
// quote, backslash and control characters. What is not valid UTF-8 becomes U+FFFD,
// so that the output always is.
func AppendString(dst, s []byte) []byte {
	dst, _ = appendQuoted(dst, s)
	return dst
}

// AppendStringOf is [AppendString] for a string.
func AppendStringOf(dst []byte, s string) []byte {
	return appendString(dst, s)
}

// AppendPlain is [AppendString] that also reports whether s is plain: printable ASCII,
// line feeds and tabs. It knows from writing it, but for DEL.
func AppendPlain(dst, s []byte) (out []byte, plain bool) {
	out, plain = appendQuoted(dst, s)
	return out, plain && bytes.IndexByte(s, 0x7f) < 0
}

// appendQuoted reports whether s has ASCII only, and of control characters only those
// with a short escape and DEL. Eight bytes are copied at once, up to the next one that
// cannot stand as it is. What follows a character that is not ASCII is written by
// [appendUTF8] where it is valid.
func appendQuoted(dst, s []byte) (out []byte, plain bool) {
	n := len(dst)
	out = grown(dst, len(s))
	out[n] = '"'
	n++
	plain = true
	looked := false // whether all that follows is UTF-8
	for i, next := 0, 0; ; {
		if n+widest > len(out) {
			out = grown(out[:n], len(s)-i)
		}
		if escapesBlocks && i >= next {
			i, n = escapeWide(out, s, n, i, foreign)
			next = i + blockEscaped
		}
		if i+8 <= len(s) {
			w := binary.LittleEndian.Uint64(s[i:])
			binary.LittleEndian.PutUint64(out[n:], w)
			hit := special(w)
			if hit == 0 {
				i += 8
				n += 8
				continue
			}
			k := bits.TrailingZeros64(hit) >> 3
			i += k
			n += k
		} else if i == len(s) {
			break
		}
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			if !looked && utf8.Valid(s[i:]) {
				return appendUTF8(out[:n], s[i:]), false
			}
			plain, looked = false, true
			r, size := utf8.DecodeRune(s[i:])
			n += utf8.EncodeRune(out[n:], r) // RuneError for what is not UTF-8
			i += size
		case shortEscapes[c] != 0:
			plain = plain && (c >= 0x20 || c == '\n' || c == '\t')
			out[n], out[n+1] = '\\', shortEscapes[c]
			n += 2
			i++
		case c < 0x20:
			plain = false
			copy(out[n:], `\u00`)
			out[n+4], out[n+5] = hexDigits[c>>4], hexDigits[c&15]
			n += 6
			i++
		default:
			out[n] = c
			n++
			i++
		}
	}
	out[n] = '"'
	return out[:n+1], plain
}

// appendUTF8 appends s, which is valid UTF-8, and a quote, as appendQuoted does.
func appendUTF8(dst, s []byte) []byte {
	n := len(dst)
	out := grown(dst, len(s))
	for i, next := 0, 0; ; {
		if n+widest > len(out) {
			out = grown(out[:n], len(s)-i)
		}
		if escapesBlocks && i >= next {
			i, n = escapeWide(out, s, n, i, nothing)
			next = i + blockEscaped
		}
		if i+8 <= len(s) {
			w := binary.LittleEndian.Uint64(s[i:])
			binary.LittleEndian.PutUint64(out[n:], w)
			hit := reserved(w)
			if hit == 0 {
				i += 8
				n += 8
				continue
			}
			k := bits.TrailingZeros64(hit) >> 3
			i += k
			n += k
		} else if i == len(s) {
			break
		}
		if c := s[i]; c >= 0x20 && c != '"' && c != '\\' {
			out[n] = c
			n++
		} else {
			n = len(appendEscape(out[:n], c))
		}
		i++
	}
	out[n] = '"'
	return out[:n+1]
}

// blockEscaped is how many bytes [escapeBlocks] takes at once.
const blockEscaped = 16

// What [escapeBlocks] is to end at beside control characters.
const (
	nothing = 0
	foreign = 1<<blockEscaped - 1 // to ASCII
)

// escapeWide writes s from i on to out from n on by [escapeBlocks], as far as that is possible
// and there is room, and returns where it ended in both.
func escapeWide(out, s []byte, n, i int, stop uint64) (int, int) {
	for {
		most := min(len(s)-i, (len(out)-n-widest)/2)
		if most < blockEscaped {
			return i, n
		}
		read, written := escapeBlocks(&out[n], &s[i], most, stop)
		if i, n = i+read, n+written; read+blockEscaped <= most {
			return i, n
		}
	}
}

// widest is more than a step writes beyond what it has to: of appendQuoted eight bytes, of
// which seven stay, and an escape; of [escapeBlocks] 16 bytes.
const widest = 40

// grown returns dst with room for n bytes as a string, all of its capacity in its length.
func grown(dst []byte, n int) []byte {
	dst = slices.Grow(dst, n+n/4+2*widest)
	return dst[:cap(dst)]
}

// shortEscapes are the letters of the escapes of two bytes.
var shortEscapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f'}

// special has the high bit of the lowest byte of w set that is a quote, a backslash, below
// 0x20 or no ASCII; 0 when there is none. A borrow makes false
// alarms only above a true one.
func special(w uint64) uint64 { return reserved(w) | w&highs }

// reserved is special without what is not ASCII.
func reserved(w uint64) uint64 {
	q := w ^ ones*'"'
	e := w ^ ones*'\\'
	return (((q - ones) &^ q) | ((e - ones) &^ e) | ((w - ones*0x20) &^ w)) & highs
}

// appendString is appendQuoted for the short strings of the program itself.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && shortEscapes[c] == 0 {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[from:i]...)
			dst = appendEscape(dst, c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[from:i]...)
			dst = append(dst, "\uFFFD"...)
			from = i + 1
		}
		i += n
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	if short := shortEscapes[c]; short != 0 {
		return append(dst, '\\', short)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendMinified appends raw, which must be validated JSON, without insignificant
// white space. Strings and numbers are kept byte for byte.
func AppendMinified(dst, raw []byte) []byte {
	from := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			i = skipString(raw, i+1)
		case isSpace(c):
			dst = append(dst, raw[from:i]...)
			i = skipSpace(raw, i)
			from = i
		default:
			i++
		}
	}
	return append(dst, raw[from:]...)
}

// AppendSet appends the object v with the member key set to value, a JSON text, in
// front of the others; with a nil value, without that member. Members of v by that name
// are dropped, however they are escaped. v that is missing or no object is taken for an
// empty one.
func AppendSet(dst []byte, v Value, key string, value []byte) []byte {
	dst = append(dst, '{')
	mark := len(dst)
	if value != nil {
		dst = append(append(AppendStringOf(dst, key), ':'), value...)
	}
	for it := v.Members(); it.Next(); {
		if !it.KeyEqual(key) {
			dst = AppendMember(dst, mark, it.Key(), it.Value().Raw())
		}
	}
	return append(dst, '}')
}

// AppendMember appends a member to an object that is written: key as [Members.Key] gives
// it, between its quotes. The members begin at offset mark of dst; all but the first get
// a comma.
func AppendMember(dst []byte, mark int, key, raw []byte) []byte {
	return append(AppendKey(dst, mark, key), raw...)
}

// AppendKey is AppendMember without the value.
func AppendKey(dst []byte, mark int, key []byte) []byte {
	if len(dst) > mark {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), key...), `":`...)
}

// AppendUnescaped appends a JSON document with every character written as itself where a
// string may have it so. It is never longer than raw, which dst may begin where raw does. In
// what is no JSON, and of half a surrogate pair, bytes stay as they are.
func AppendUnescaped(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 == len(raw) {
			return append(dst, raw...)
		}
		dst, raw = append(dst, raw[:i]...), raw[i:]
		r, n := rune('/'), 2
		switch raw[1] {
		case '/':
		case 'u':
			if r, n = unescape(raw); r == utf8.RuneError {
				dst, raw = append(dst, raw[:n]...), raw[n:]
				continue
			}
		default:
			dst, raw = append(dst, raw[:2]...), raw[2:]
			continue
		}
		if raw = raw[n:]; r < 0x20 || r == '"' || r == '\\' {
			dst = appendEscape(dst, byte(r))
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
}
