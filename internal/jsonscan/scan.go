package jsonscan

import (
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// DefaultMaxDepth is the nesting that [Parse] allows for a depth of zero: deeper
// than any real request, shallow enough for any stack.
const DefaultMaxDepth = 128

// ErrDepth says that a document nests deeper than the caller allows.
var ErrDepth = errors.New("JSON is nested too deeply")

// SyntaxError says why bytes are not JSON. It holds none of the input.
type SyntaxError struct {
	Offset int    // of the offending byte, from 0; the length of the input at its end
	Msg    string // what was wrong: "expected a value"
}

// Error renders the message with its offset.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Msg, e.Offset) }

// Parse validates the whole of b and returns a view of its value. White space
// around the value is allowed, anything else is not. maxDepth bounds the nesting
// of arrays and objects ([]: 1, [[]]: 2); 0 means [DefaultMaxDepth]. It fails with
// [*SyntaxError] or [ErrDepth] and allocates only then.
func Parse(b []byte, maxDepth int) (Value, error) {
	v, _, err := ParseMinified(b, maxDepth)
	return v, err
}

// ParseMinified is [Parse] that also reports whether the value is written without
// insignificant white space.
func ParseMinified(b []byte, maxDepth int) (v Value, minified bool, err error) {
	if !utf8.Valid(b) {
		return Value{}, false, &SyntaxError{Offset: badUTF8(b), Msg: "invalid UTF-8"}
	}
	s := scanner{b: b, base: -blockSize}
	v, err = s.document(maxDepth)
	return v, !s.spaced, err
}

// document validates the whole of b, which is valid UTF-8.
func (s *scanner) document(maxDepth int) (Value, error) {
	if s.left = maxDepth; maxDepth <= 0 {
		s.left = DefaultMaxDepth
	}
	b := s.b
	start := skipSpace(b, 0)
	end, ok := s.value(start)
	if !ok {
		if s.deep {
			return Value{}, ErrDepth
		}
		return Value{}, &SyntaxError{Offset: s.at, Msg: s.msg}
	}
	if tail := skipSpace(b, end); tail != len(b) {
		return Value{}, &SyntaxError{Offset: tail, Msg: "unexpected data after the value"}
	}
	return Value{b: b[start:end:end]}, nil
}

// Trusted returns a view of b, which must be one valid JSON value that was
// validated before (by [Parse], or produced by us); leading and trailing white
// space is dropped. On anything else the view's methods return nonsense, though
// they never read outside b.
func Trusted(b []byte) Value {
	i, j := skipSpace(b, 0), len(b)
	for j > i && isSpace(b[j-1]) {
		j--
	}
	return Value{b: b[i:j:j]}
}

func badUTF8(b []byte) int {
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && isSpace(b[i]) {
		i++
	}
	return i
}

// scanner validates; b is valid UTF-8.
type scanner struct {
	b    []byte
	left int // levels that may still be opened
	at   int
	msg  string
	deep bool

	spaced bool // there is white space

	// Of the block that begins at base, where a string may end: see stopsOf.
	base int
	ends uint64
}

// space is skipSpace inside of the value.
func (s *scanner) space(i int) int {
	if i < len(s.b) && s.b[i] <= ' ' {
		return s.spaces(i)
	}
	return i
}

func (s *scanner) spaces(i int) int {
	end := skipSpace(s.b, i)
	if end > i {
		s.spaced = true
	}
	return end
}

func (s *scanner) fail(at int, msg string) (int, bool) {
	s.at, s.msg = at, msg
	return at, false
}

// value validates the value that begins at i and returns where it ends.
func (s *scanner) value(i int) (int, bool) {
	b := s.b
	if i >= len(b) {
		return s.fail(len(b), "expected a value, found the end")
	}
	switch c := b[i]; {
	case c == '"':
		return s.str(i + 1)
	case c == '{':
		return s.object(i)
	case c == '[':
		return s.array(i)
	case c == '-' || c-'0' <= 9:
		return s.number(i)
	case c == 't':
		return s.word(i, "true")
	case c == 'f':
		return s.word(i, "false")
	case c == 'n':
		return s.word(i, "null")
	}
	return s.fail(i, "expected a value")
}

func (s *scanner) word(i int, w string) (int, bool) {
	if len(s.b)-i >= len(w) && string(s.b[i:i+len(w)]) == w {
		return i + len(w), true
	}
	return s.fail(i, "expected a value")
}

func (s *scanner) number(i int) (int, bool) {
	b := s.b
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && b[i]-'0' <= 9:
		i = digits(b, i)
	default:
		return s.fail(i, "expected a digit")
	}
	if i < len(b) && b[i] == '.' {
		j := digits(b, i+1)
		if j == i+1 {
			return s.fail(j, "expected a digit after the decimal point")
		}
		i = j
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := digits(b, i)
		if j == i {
			return s.fail(j, "expected a digit in the exponent")
		}
		i = j
	}
	return i, true
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// str validates a string whose opening quote is at i-1.
func (s *scanner) str(i int) (int, bool) {
	b := s.b
	for {
		// Most strings end in the block that the one before ended in.
		at := uint(i - s.base)
		if at >= blockSize {
			if i >= len(b) {
				return s.fail(len(b), "string is not closed")
			}
			s.look(i)
			at = 0
		}
		rest := s.ends >> at
		if rest == 0 {
			i = s.base + blockSize
			continue
		}
		if i += bits.TrailingZeros64(rest); i >= len(b) {
			return s.fail(len(b), "string is not closed")
		}
		switch b[i] {
		case '"':
			return i + 1, true
		case '\\':
			if i+1 >= len(b) {
				return s.fail(len(b), "string is not closed")
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if _, ok := hex4(b, i+2); !ok {
					return s.fail(i, "escape is not \\u and four hexadecimal digits")
				}
				i += 6
			default:
				return s.fail(i, "unknown escape")
			}
		default:
			return s.fail(i, "control character in a string")
		}
	}
}

// short returns where the string whose text begins at i may end, when that is in the block that
// is known; else the length of the document.
func (s *scanner) short(i int) int {
	if at := uint(i - s.base); at < blockSize {
		if rest := s.ends >> at; rest != 0 {
			return i + bits.TrailingZeros64(rest)
		}
	}
	return len(s.b)
}

// look makes the block that begins at i the one that is known.
func (s *scanner) look(i int) {
	s.base = i
	if i+blockSize <= len(s.b) {
		s.ends = stopsOf((*[blockSize]byte)(s.b[i:]))
		return
	}
	var last [blockSize]byte // what is behind the end is a control character
	copy(last[:], s.b[i:])
	s.ends = stopsOf(&last)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func (s *scanner) array(i int) (int, bool) {
	if s.left == 0 {
		s.deep = true
		return i, false
	}
	s.left--
	b := s.b
	i = s.space(i + 1)
	if i < len(b) && b[i] == ']' {
		s.left++
		return i + 1, true
	}
	for {
		var ok bool
		if i, ok = s.value(i); !ok {
			return i, false
		}
		i = s.space(i)
		if i >= len(b) {
			return s.fail(i, "array is not closed")
		}
		switch b[i] {
		case ']':
			s.left++
			return i + 1, true
		case ',':
			i = s.space(i + 1)
		default:
			return s.fail(i, "expected , or ]")
		}
	}
}

func (s *scanner) object(i int) (int, bool) {
	if s.left == 0 {
		s.deep = true
		return i, false
	}
	s.left--
	b := s.b
	i = s.space(i + 1)
	if i < len(b) && b[i] == '}' {
		s.left++
		return i + 1, true
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return s.fail(i, "expected a member name")
		}
		var ok bool
		if end := s.short(i + 1); end < len(b) && b[end] == '"' {
			i = end + 1
		} else if i, ok = s.str(i + 1); !ok {
			return i, false
		}
		if i < len(b) && b[i] <= ' ' {
			i = s.spaces(i)
		}
		if i >= len(b) || b[i] != ':' {
			return s.fail(i, "expected :")
		}
		if i++; i < len(b) && b[i] <= ' ' {
			i = s.spaces(i)
		}
		if i+1 < len(b) && b[i] == '"' {
			if end := s.short(i + 1); end < len(b) && b[end] == '"' {
				i = end + 1
			} else if i, ok = s.str(i + 1); !ok {
				return i, false
			}
		} else if i, ok = s.value(i); !ok {
			return i, false
		}
		if i < len(b) && b[i] <= ' ' {
			i = s.spaces(i)
		}
		if i >= len(b) {
			return s.fail(i, "object is not closed")
		}
		switch b[i] {
		case '}':
			s.left++
			return i + 1, true
		case ',':
			i = s.space(i + 1)
		default:
			return s.fail(i, "expected , or }")
		}
	}
}

// hex4 reads four hexadecimal digits at i.
func hex4(b []byte, i int) (rune, bool) {
	if len(b)-i < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case c-'0' <= 9:
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
