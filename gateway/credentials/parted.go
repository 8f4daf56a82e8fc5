package credentials

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"unicode/utf8"
)

// parted reports whether text has a line break between two characters that may be of one
// secret, or a joiner (U+200C, U+200D), as they are or as JSON escapes them. Both stay in
// what an agent reads, and an encoding in lines is the same with them as without.
func parted(text []byte) bool {
	if inLines(text, '\n') || inLines(text, '\r') {
		return true
	}
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], '\\')
		if n < 0 {
			break
		}
		i += n
		from, to := part(text, i)
		if to > 0 && joins(text, from, to) {
			return true
		}
		i = max(backslashes(text, i), to)
	}
	for _, lead := range wideLeads {
		for i := 0; ; i++ {
			n := bytes.IndexByte(text[i:], lead)
			if n < 0 {
				break
			}
			if i += n; separator(text[i:]) > 0 {
				return true
			}
		}
	}
	return false
}

// inLines reports whether white space with a line feed or carriage return is between two
// characters that may be of one secret.
func inLines(text []byte, end byte) bool {
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], end)
		if n < 0 {
			return false
		}
		i += n
		from, to := lineBreak(text, i)
		if joins(text, from, to) {
			return true
		}
		i = to // behind all of its white space, which is read once
	}
}

// separates reports whether a character begins another line, or is a joiner.
func separates(r rune) bool {
	switch r {
	case '\n', '\r', 0x85, 0x2028, 0x2029, 0x200c, 0x200d:
		return true
	}
	return false
}

// wideLeads begin those of them in UTF-8 that are not ASCII.
var wideLeads = [...]byte{0xc2, 0xe2}

// separator is how long the line break or joiner is that text, which is not empty, begins with;
// 0: it does not.
func separator(text []byte) int {
	switch c := text[0]; {
	case c == '\n' || c == '\r':
		return 1
	case c < utf8.RuneSelf: // most characters
		return 0
	}
	if r, n := utf8.DecodeRune(text); separates(r) {
		return n
	}
	return 0
}

// joins reports whether what is around text[from:to] may be of one secret.
func joins(text []byte, from, to int) bool {
	return from > 0 && to < len(text) && inSecret(text[from-1]) && inSecret(text[to])
}

// inSecret reports whether a character may be inside of a secret or of a list of numbers.
// Quotes and brackets are around one.
func inSecret(c byte) bool {
	return c > ' ' && c != '"' && c != '{' && c != '}' && c != '[' && c != ']' && c != '\\'
}

// lineBreak is the white space around the line break at text[i].
func lineBreak(text []byte, i int) (from, to int) {
	from, to = i, i+1
	for from > 0 && (text[from-1] == '\r' || text[from-1] == ' ' || text[from-1] == '\t') {
		from--
	}
	for to < len(text) && blank(text[to]) {
		to++
	}
	return from, to
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// part is what is left out of text for its search: the line break, with the indentation
// behind it, or joiner that begins at text[i], which is no space or tab; to is 0 when none does.
func part(text []byte, i int) (from, to int) {
	for from, to = i, 0; ; i = to {
		k := backslashes(text, i)
		switch {
		case k >= len(text):
			return from, to
		case k == i && blank(text[k]):
			to = k + 1
		case k == i && separator(text[k:]) > 0:
			to = k + separator(text[k:])
		case k > i && (text[k] == 'n' || text[k] == 'r' || to > 0 && text[k] == 't'):
			to = k + 1
		case k > i && escapedPart(text[k:], to > 0):
			to = k + len("u200c")
		default:
			return from, to
		}
	}
}

// backslashes returns where those end that begin at text[i]. A part begins at the first of
// them or at none.
func backslashes(text []byte, i int) int {
	for i < len(text) && text[i] == '\\' {
		i++
	}
	return i
}

// escapedPart reports whether text begins with the u and four digits of a line break or joiner,
// or, behind one, of a blank.
func escapedPart(text []byte, behind bool) bool {
	if len(text) < len("u200c") || text[0] != 'u' {
		return false
	}
	r := rune(0)
	for _, c := range text[1:len("u200c")] {
		v := hex(c)
		if v < 0 {
			return false
		}
		r = r<<4 | rune(v)
	}
	return separates(r) || behind && (r == ' ' || r == '\t')
}

// whole appends text without its parts, and to at, unless it is nil, where in text each
// byte was.
func whole(dst, text []byte, at *[]int) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c == '\n' || c == '\r' || c == '\\' || slices.Contains(wideLeads[:], c) {
			if _, to := part(text, i); to > 0 {
				i = to
				continue
			}
		}
		// Backslashes, and what the last of them escapes.
		next := i + 1
		if c == '\\' {
			next = backslashes(text, i)
			next = min(next+(next-i)%2, len(text))
		}
		dst = append(dst, text[i:next]...)
		for ; i < next; i++ {
			if at != nil {
				*at = append(*at, i)
			}
		}
	}
	return dst
}

// wholes are buffers for texts that are only searched.
var wholes = sync.Pool{New: func() any { return &buffer{} }}

type buffer struct{ b []byte }

// maxWhole is the largest buffer that is kept: answers are seldom larger.
const maxWhole = 1 << 20

// redactParted replaces the secrets that are in body once its lines are joined. The other
// lines stay.
func (b *Bound) redactParted(body []byte) []byte {
	buf := wholes.Get().(*buffer)
	defer func() {
		clear(buf.b) // there may be a secret in it
		if cap(buf.b) <= maxWhole {
			wholes.Put(buf)
		}
	}()
	buf.b = whole(buf.b[:0], body, nil)
	var found []span
	for i := range b.Values {
		if !b.Rules[i].sends() {
			continue
		}
		r := b.Values[i].redactor
		if r == nil {
			r = newRedactor(b.Rules[i].Type, b.Values[i].Value)
		}
		found = r.spans(found, buf.b)
	}
	if len(found) == 0 {
		return body
	}
	at := make([]int, 0, len(buf.b))
	whole(buf.b[:0], body, &at)
	return replace(body, inPlace(found, at))
}

// inPlace are the places of what was found in the text that at leads to, in order and
// apart.
func inPlace(found []span, at []int) []span {
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	out := found[:0]
	for _, f := range found {
		p := span{at[f.from], at[f.to-1] + 1}
		if last := len(out) - 1; last >= 0 && p.from < out[last].to {
			out[last].to = max(out[last].to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}
