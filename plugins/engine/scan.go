package engine

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The scanners work on in[p:], return the position behind what they read, and
// -1 when it is malformed or ends too early. The strict ones check RFC 8259, the
// skipping ones only find the end (docs/response-programs.md §5).

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func isSpace(c byte) bool { return c <= ' ' && 1<<c&(1<<' '|1<<'\t'|1<<'\n'|1<<'\r') != 0 }

// strictString reads a string from behind its opening quote; escaped tells
// whether it has escapes. UTF-8 is not checked.
func strictString(in []byte, p int) (end int, escaped bool) {
	for {
		for p+8 <= len(in) {
			v := binary.LittleEndian.Uint64(in[p:])
			q, b := v^0x2222222222222222, v^0x5c5c5c5c5c5c5c5c
			m := ((q-ones)&^q | (b-ones)&^b | (v-0x20*ones)&^v) & highs
			if m != 0 {
				p += bits.TrailingZeros64(m) >> 3
				break
			}
			p += 8
		}
		if p >= len(in) {
			return -1, escaped
		}
		switch c := in[p]; {
		case c == '"':
			return p + 1, escaped
		case c == '\\':
			n := escapeBytes(in, p)
			if n == 0 {
				return -1, true
			}
			p += n
			escaped = true
		case c < ' ':
			return -1, escaped
		default: // the last bytes, one by one
			p++
		}
	}
}

// escapeBytes is the length of the escape at in[p], 0 when it is none.
func escapeBytes(in []byte, p int) int {
	if p+1 >= len(in) {
		return 0
	}
	switch in[p+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(in, p+2); ok {
			return 6
		}
	}
	return 0
}

func hex4(in []byte, p int) (rune, bool) {
	if p+4 > len(in) {
		return 0, false
	}
	var r rune
	for _, c := range in[p : p+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// appendDecoded decodes the text between the quotes of a string that
// strictString accepted. A lone surrogate becomes U+FFFD. It stops once dst is
// longer than limit.
func appendDecoded(dst, raw []byte, limit int) []byte {
	for len(raw) > 0 && len(dst) <= limit {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			i = len(raw)
		}
		if i > 0 {
			n := min(i, limit+1-len(dst))
			dst, raw = append(dst, raw[:n]...), raw[i:]
			continue
		}
		c := raw[1]
		if c != 'u' {
			if k := bytes.IndexByte([]byte("bfnrt"), c); k >= 0 {
				c = "\b\f\n\r\t"[k]
			}
			dst, raw = append(dst, c), raw[2:]
			continue
		}
		r, _ := hex4(raw, 2)
		raw = raw[6:]
		if r >= 0xD800 && r < 0xE000 {
			low, ok := rune(0), false
			if r < 0xDC00 && len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
				low, ok = hex4(raw, 2)
			}
			if ok && low >= 0xDC00 && low < 0xE000 {
				r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
				raw = raw[6:]
			} else {
				r = utf8.RuneError
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// skipString finds the closing quote, from behind the opening one.
func skipString(in []byte, p int) int {
	start := p
	for {
		i := bytes.IndexByte(in[p:], '"')
		if i < 0 {
			return -1
		}
		p += i
		b := p
		for b > start && in[b-1] == '\\' {
			b--
		}
		p++
		if (p-1-b)&1 == 0 {
			return p
		}
	}
}

var bracketClass = [256]uint8{'"': 1, '{': 2, '[': 2, '}': 3, ']': 3, '\\': 4}

// skipContainer counts brackets outside strings, from behind the opening one.
func skipContainer(in []byte, p int) int {
	depth := 1
	for p < len(in) {
		c := bracketClass[in[p]]
		p++
		switch c {
		case 1:
			if p = skipString(in, p); p < 0 {
				return -1
			}
		case 2:
			depth++
		case 3:
			if depth--; depth == 0 {
				return p
			}
		case 4: // no JSON; as inside a string, it takes the meaning of a quote or of itself
			if p < len(in) && (in[p] == '"' || in[p] == '\\') {
				p++
			}
		}
	}
	return -1
}

// skipScalar takes all bytes up to white space (here: any byte up to the space),
// a comma or a closing bracket. What starts like no scalar is refused.
func skipScalar(in []byte, p int) int {
	switch c := in[p]; {
	case c == 't', c == 'f', c == 'n', c == '-', '0' <= c && c <= '9':
	default:
		return -1
	}
	for p < len(in) && in[p] > ' ' && in[p] != ',' && in[p] != '}' && in[p] != ']' {
		p++
	}
	return p
}

// numberEnd reads a number strictly.
func numberEnd(in []byte, p int) int {
	digits := func() bool {
		s := p
		for p < len(in) && in[p]-'0' <= 9 {
			p++
		}
		return p > s
	}
	if p < len(in) && in[p] == '-' {
		p++
	}
	if p < len(in) && in[p] == '0' {
		p++
	} else if !digits() {
		return -1
	}
	if p < len(in) && in[p] == '.' {
		p++
		if !digits() {
			return -1
		}
	}
	if p < len(in) && in[p]|0x20 == 'e' {
		p++
		if p < len(in) && (in[p] == '+' || in[p] == '-') {
			p++
		}
		if !digits() {
			return -1
		}
	}
	return p
}

// literalEnd reads true, false or null strictly.
func literalEnd(in []byte, p int) int {
	for _, s := range [...]string{"true", "false", "null"} {
		if hasPrefixAt(in, p, s) {
			return p + len(s)
		}
	}
	return -1
}

func hasPrefixAt(in []byte, p int, s string) bool {
	return len(in)-p >= len(s) && string(in[p:p+len(s)]) == s
}

// isURL tells whether the text between the quotes of a string is one http(s) URL.
func isURL(raw []byte) bool {
	n := len("http")
	if string(raw[:min(n, len(raw))]) != "http" {
		return false
	}
	if n < len(raw) && raw[n] == 's' {
		n++
	}
	if n >= len(raw) || raw[n] != ':' {
		return false
	}
	n++
	for range 2 {
		if n < len(raw) && raw[n] == '\\' {
			n++
		}
		if n >= len(raw) || raw[n] != '/' {
			return false
		}
		n++
	}
	for i := n; i < len(raw); i++ {
		if raw[i] <= ' ' {
			return false
		}
		if raw[i] == '\\' {
			if i++; i >= len(raw) || raw[i] != '/' {
				return false
			}
		}
	}
	return true
}
