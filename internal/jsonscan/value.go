package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is what a value is.
type Kind uint8

// The kinds. Missing is the kind of the zero [Value]: of a member that is not there.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}

// String is the JSON word for the kind: "null", "boolean", "number", …; "nothing"
// for [Missing].
func (k Kind) String() string { return kindNames[k] }

// Value is a view of one validated JSON value. The zero Value is of kind
// [Missing]. Methods that do not fit the kind return zero values, so a path can be
// walked without checks: v.Get("a").Get("b").Exists().
type Value struct{ b []byte }

// Kind tells what v is, from its first byte.
func (v Value) Kind() Kind {
	if len(v.b) == 0 {
		return Missing
	}
	switch v.b[0] {
	case '"':
		return String
	case '{':
		return Object
	case '[':
		return Array
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// Exists reports whether v is anything, null included.
func (v Value) Exists() bool { return len(v.b) != 0 }

// Raw returns the bytes of v exactly as written, without white space around it;
// nil for a missing value. It is a view: do not change it.
func (v Value) Raw() []byte { return v.b }

// Get returns the member of an object with that name; the last one if there are
// several. A missing Value if there is none or v is not an object.
func (v Value) Get(key string) Value {
	var found Value
	it := v.Members()
	for it.Next() {
		if it.KeyEqual(key) {
			found = it.Value()
		}
	}
	return found
}

// Members iterates over the members of an object in their order; over nothing
// when v is none.
func (v Value) Members() MemberIter {
	if v.Kind() != Object {
		return MemberIter{}
	}
	return MemberIter{b: v.b, i: 1}
}

// MemberIter walks the members of an object:
//
//	it := v.Members()
//	for it.Next() { use(it.Key(), it.Value()) }
type MemberIter struct {
	b          []byte
	i          int // after the last member
	key, colon int // key is b[key:colon], between its quotes
	val, end   int
}

// Next moves to the next member and reports whether there is one.
func (it *MemberIter) Next() bool {
	i := skipSeparators(it.b, it.i)
	if i >= len(it.b) || it.b[i] != '"' {
		return false
	}
	end := skipString(it.b, i+1)
	it.key, it.colon = i+1, max(end-1, i+1)
	it.val = skipSeparators(it.b, end)
	it.end = skipValue(it.b, it.val)
	it.i = it.end
	return true
}

// Key returns the member name as written between its quotes, escapes included.
func (it *MemberIter) Key() []byte { return it.b[it.key:it.colon] }

// KeyText appends the unescaped member name to dst.
func (it *MemberIter) KeyText(dst []byte) []byte { return appendUnescaped(dst, it.Key()) }

// KeyEqual reports whether the unescaped member name is s.
func (it *MemberIter) KeyEqual(s string) bool { return equalUnescaped(it.Key(), s) }

// Value returns the member's value.
func (it *MemberIter) Value() Value { return Value{b: it.b[it.val:it.end:it.end]} }

// Elements iterates over the elements of an array; over nothing when v is none.
func (v Value) Elements() ElementIter {
	if v.Kind() != Array {
		return ElementIter{}
	}
	return ElementIter{b: v.b, i: 1}
}

// ElementIter walks the elements of an array:
//
//	it := v.Elements()
//	for it.Next() { use(it.Value()) }
type ElementIter struct {
	b        []byte
	i        int
	val, end int
}

// Next moves to the next element and reports whether there is one.
func (it *ElementIter) Next() bool {
	i := skipSeparators(it.b, it.i)
	if i >= len(it.b) || it.b[i] == ']' {
		return false
	}
	it.val, it.end = i, skipValue(it.b, i)
	it.i = it.end
	return it.end > it.val
}

// ElementsFrom iterates over the elements of an array that begin at offset i of b or behind
// it: b ends where the array does, and i is behind its bracket or one of its elements.
func ElementsFrom(b []byte, i int) ElementIter { return ElementIter{b: b, i: i} }

// Span returns where the element is: in the array, or in the b of [ElementsFrom].
func (it *ElementIter) Span() Span { return Span{it.val, it.end} }

// Value returns the element.
func (it *ElementIter) Value() Value { return Value{b: it.b[it.val:it.end:it.end]} }

// Len is the number of elements of an array or members of an object (names that
// occur twice count twice); 0 for everything else.
func (v Value) Len() int {
	n := 0
	if v.Kind() == Object {
		for it := v.Members(); it.Next(); {
			n++
		}
		return n
	}
	for it := v.Elements(); it.Next(); {
		n++
	}
	return n
}

// AppendText appends the value as text: a string unescaped, as valid UTF-8 (a lone
// surrogate is U+FFFD); everything else as its literal. Nothing when missing.
func (v Value) AppendText(dst []byte) []byte {
	if v.Kind() == String {
		return appendUnescaped(dst, v.inner())
	}
	return append(dst, v.b...)
}

// Plain returns the text of a string that has no escapes as a view, and true;
// nil and false for a string with escapes and for everything else.
func (v Value) Plain() ([]byte, bool) {
	if v.Kind() != String {
		return nil, false
	}
	in := v.inner()
	if bytes.IndexByte(in, '\\') >= 0 {
		return nil, false
	}
	return in, true
}

// EqualText reports whether v is a string and its text is s.
func (v Value) EqualText(s string) bool {
	return v.Kind() == String && equalUnescaped(v.inner(), s)
}

// inner is a string without its quotes.
func (v Value) inner() []byte {
	if len(v.b) < 2 {
		return nil
	}
	return v.b[1 : len(v.b)-1]
}

// Whole returns the whole number from 0 to 2^53 that v says, whatever it says it as: 7, 7.0,
// 7e0 or "7". Peers repeat a number so that keep it in another type.
func (v Value) Whole() (uint64, bool) {
	const most = 1 << 53
	switch v.Kind() {
	case Number:
		if n, ok := v.Int64(); ok {
			return uint64(n), n >= 0 && n <= most
		}
		f, err := strconv.ParseFloat(string(v.b), 64)
		return uint64(f), err == nil && f >= 0 && f <= most && f == math.Trunc(f)
	case String:
		n, err := strconv.ParseUint(string(v.AppendText(nil)), 10, 64)
		return n, err == nil && n <= most
	}
	return 0, false
}

// Int64 returns a number that is written as an integer (no fraction, no exponent)
// and fits; false for everything else.
func (v Value) Int64() (int64, bool) {
	b := v.b
	if v.Kind() != Number {
		return 0, false
	}
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	var n uint64
	for _, c := range b {
		d := uint64(c - '0')
		// 1<<63 is the magnitude of the smallest int64: n*10+d stays far below overflow
		// as long as n is at most that.
		if d > 9 || n > (1<<63)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	switch {
	case len(b) == 0:
		return 0, false
	case neg && n <= 1<<63:
		return -int64(n), true // two's complement: -(1<<63) is exact
	case n < 1<<63 && !neg:
		return int64(n), true
	}
	return 0, false
}

// Bool returns the value of a boolean; false, false for everything else.
func (v Value) Bool() (value, ok bool) {
	return v.Kind() == Bool && v.b[0] == 't', v.Kind() == Bool
}

// The functions below walk validated text. They stay inside b on any input.

// skipSeparators skips white space, commas and colons.
func skipSeparators(b []byte, i int) int {
	for i < len(b) && (b[i] == ',' || b[i] == ':' || isSpace(b[i])) {
		i++
	}
	return i
}

// skipString returns the index after the closing quote of a string whose text
// begins at i: the first quote after an even number of backslashes. Names and words
// end within a few steps of eight bytes, plain text is left to IndexByte, and where
// quotes are escaped, as in JSON inside a string, it is eight bytes at a time again.
func skipString(b []byte, i int) int {
	const (
		begin = 32  // a call to IndexByte costs more than looking at so much
		dense = 256 // after an escaped quote: many follow
	)
	from := i
	for end := i + begin; ; end = i + dense {
		for ; i < end && i+8 <= len(b); i += 8 {
			q := binary.LittleEndian.Uint64(b[i:]) ^ ones*'"'
			// See special; here false alarms are looked at, too.
			for hit := (q - ones) &^ q & highs; hit != 0; hit &= hit - 1 {
				if at := i + bits.TrailingZeros64(hit)>>3; b[at] == '"' && !escaped(b, from, at) {
					return at + 1
				}
			}
		}
		j := bytes.IndexByte(b[min(i, len(b)):], '"')
		if j < 0 {
			return len(b)
		}
		if i += j; !escaped(b, from, i) {
			return i + 1
		}
		i++
	}
}

// escaped reports whether an odd number of backslashes stands before at. They begin
// at from or later.
func escaped(b []byte, from, at int) bool {
	n := at
	for n > from && b[n-1] == '\\' {
		n--
	}
	return (at-n)&1 != 0
}

// skipValue returns the index after the value that begins at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i+1)
	case '{', '[':
		return skipContainer(b, i)
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && !isSpace(b[i]) {
		i++
	}
	return i
}

// appendUnescaped appends the text of a string given between its quotes.
func appendUnescaped(dst, in []byte) []byte {
	for {
		j := bytes.IndexByte(in, '\\')
		if j < 0 {
			return append(dst, in...)
		}
		dst = append(dst, in[:j]...)
		r, n := unescape(in[j:])
		dst = utf8.AppendRune(dst, r)
		in = in[j+n:]
	}
}

func equalUnescaped(in []byte, s string) bool {
	// Unescaping only ever shortens.
	if len(in) <= len(s) {
		return string(in) == s && bytes.IndexByte(in, '\\') < 0
	}
	for {
		j := bytes.IndexByte(in, '\\')
		if j < 0 {
			return string(in) == s
		}
		if len(s) < j || string(in[:j]) != s[:j] {
			return false
		}
		s = s[j:]
		r, n := unescape(in[j:])
		var buf [utf8.UTFMax]byte
		w := utf8.EncodeRune(buf[:], r)
		if len(s) < w || s[:w] != string(buf[:w]) {
			return false
		}
		s, in = s[w:], in[j+n:]
	}
}

// unescape decodes the escape at the start of in and returns its length.
func unescape(in []byte) (r rune, n int) {
	if len(in) < 2 {
		return utf8.RuneError, len(in)
	}
	switch in[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := hex4(in, 2)
		if !ok {
			return utf8.RuneError, min(6, len(in))
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(in) >= 12 && in[6] == '\\' && in[7] == 'u' {
			if low, ok := hex4(in, 8); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, 12
				}
			}
		}
		return utf8.RuneError, 6
	}
	return rune(in[1]), 2
}
