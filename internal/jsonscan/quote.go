package jsonscan

import (
	"encoding/binary"
	"unicode/utf8"
)

// ParseQuoted is [ParseMinified] that meanwhile appends b to dst as [AppendString] would:
// that costs less than a second walk over b. plain is what [AppendPlain] reports. Nothing is
// appended beside an error, and where there is white space around or in the value.
func ParseQuoted(dst, b []byte, maxDepth int) (out []byte, minified, plain bool, err error) {
	if plain = printable(b); !plain && !utf8.Valid(b) {
		return dst, false, false, &SyntaxError{Offset: badUTF8(b), Msg: "invalid UTF-8"}
	}
	s := scanner{b: b, quoting: quoting{quotes: true, out: grown(dst, len(b)), n: len(dst) + 1}}
	s.out[len(dst)] = '"'
	v, err := s.document(maxDepth)
	if err != nil || s.spaced || len(v.b) < len(b) {
		return s.out[:len(dst)], !s.spaced, false, err
	}
	s.escape(len(b))
	s.out[s.n-1] = '"' // in place of a backslash
	return s.out[:s.n], true, plain, nil
}

// quoting is how far a document is written as a string.
type quoting struct {
	quotes bool   // it is
	out    []byte // all of its capacity in its length
	n      int    // of out, what is written
	from   int    // of the document, what comes next
}

// quote writes the document up to the string between i and j, where its quotes are, and
// the string, which has nothing to escape.
func (s *scanner) quote(i, j int) {
	b, from, n := s.b, s.from, s.n
	if n+j-from+widest > len(s.out) {
		s.out = grown(s.out[:n], len(b)-from)
	}
	before, out := i-from, s.out[n:]
	if before > 16 || j-i > 16 || len(b)-i < 16 {
		s.escape(i)
		s.escape(j)
		return
	}
	// As with most names and values: 16 bytes are copied, and what is too much is written over.
	*(*[16]byte)(out) = [16]byte(b[from:])
	out = out[before:]
	out[0] = '\\'
	*(*[16]byte)(out[1:]) = [16]byte(b[i:])
	out[1+j-i] = '\\'
	s.from, s.n = j, n+before+j-i+2
}

// escape writes the document up to i, where there is nothing to escape, and a backslash.
func (s *scanner) escape(i int) {
	b, from, n := s.b, s.from, s.n
	if n+i-from+widest > len(s.out) {
		s.out = grown(s.out[:n], len(b)-from)
	}
	n += copy(s.out[n:], b[from:i])
	s.out[n] = '\\'
	s.from, s.n = i, n+1
}

// printable reports whether b has ASCII only and no DEL. Of control characters a document
// has none but white space.
func printable(b []byte) bool {
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		if d := w ^ ones*0x7f; (w|(d-ones)&^d)&highs != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= 0x7f {
			return false
		}
	}
	return true
}
