package jsonscan

import (
	"bytes"
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a quoted JSON string with the fewest escapes: only
// quote, backslash and control characters. What is not valid UTF-8 becomes U+FFFD,
// so that the output always is.
func AppendString(dst, s []byte) []byte {
	dst, _ = appendString(dst, s)
	return dst
}

// AppendStringOf is [AppendString] for a string.
func AppendStringOf(dst []byte, s string) []byte {
	dst, _ = appendString(dst, s)
	return dst
}

// AppendPlain is [AppendString] that also reports whether s is plain: printable ASCII,
// line feeds and tabs. It knows from writing it, but for DEL.
func AppendPlain(dst, s []byte) (out []byte, plain bool) {
	out, plain = appendString(dst, s)
	return out, plain && bytes.IndexByte(s, 0x7f) < 0
}

// appendString reports whether s has ASCII only, and of control characters only line
// feed, tab and DEL.
func appendString[T string | []byte](dst []byte, s T) (out []byte, plain bool) {
	dst = append(dst, '"')
	from := 0
	plain = true
	for i := 0; i < len(s); {
		if i = asciiRun(s, i); i == len(s) {
			break
		}
		c := s[i]
		if c < utf8.RuneSelf {
			plain = plain && (c >= 0x20 || c == '\n' || c == '\t')
			dst = append(dst, s[from:i]...)
			dst = appendEscape(dst, c)
			i++
			from = i
			continue
		}
		plain = false
		r, n := decode(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[from:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			from = i
			continue
		}
		i += n
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"'), plain
}

// asciiRun returns the index of the first byte at or after i that is a quote, a
// backslash, below 0x20 or no ASCII; len(s) when there is none. See [plainRun].
func asciiRun[T string | []byte](s T, i int) int {
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		q := w ^ ones*'"'
		e := w ^ ones*'\\'
		hit := ((q - ones) &^ q) | ((e - ones) &^ e) | ((w - ones*0x20) &^ w) | w
		if hit &= highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
	}
	for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= 0x20 && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}

func decode[T string | []byte](s T) (rune, int) {
	// A copy of at most four bytes: utf8 has no generic form, and converting the
	// whole rest would allocate.
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], s[:min(len(s), utf8.UTFMax)])
	return utf8.DecodeRune(buf[:n])
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
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
