package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// category says what o200k_base takes a character for.
type category uint8

const (
	capital category = 1 << iota // Lu and Lt
	small                        // Ll
	either                       // Lm, Lo and M: with capitals and with small letters
	mark                         // M, which is no letter
	numeric                      // N
	whitespace
	lineEnd // CR and LF, which are whitespace too
)

const letters = capital | small | either

func (c category) is(of category) bool { return c&of != 0 }

// leads tells of what may stand before a word and belong to it.
func (c category) leads() bool { return !c.is(lineEnd|numeric) && (!c.is(letters) || c.is(mark)) }

// symbol tells of what is no letter, number or whitespace.
func (c category) symbol() bool { return !c.is(whitespace|numeric) && (!c.is(letters) || c.is(mark)) }

// at returns the category of the character at i and where the next one is; at the end 0 and i.
func at(s string, i int) (category, int) {
	if i >= len(s) {
		return 0, i
	}
	if c := s[i]; c < utf8.RuneSelf {
		switch {
		case c >= 'a' && c <= 'z':
			return small, i + 1
		case c >= 'A' && c <= 'Z':
			return capital, i + 1
		case c >= '0' && c <= '9':
			return numeric, i + 1
		case c == '\r', c == '\n':
			return whitespace | lineEnd, i + 1
		case c == ' ', c == '\t', c == '\v', c == '\f':
			return whitespace, i + 1
		}
		return 0, i + 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	i += n
	switch {
	case unicode.In(r, unicode.Lo, unicode.Lm):
		return either, i
	case unicode.Is(unicode.Ll, r):
		return small, i
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return capital, i
	case unicode.Is(unicode.M, r):
		return either | mark, i
	case unicode.Is(unicode.N, r):
		return numeric, i
	case unicode.IsSpace(r):
		return whitespace, i
	}
	return 0, i
}

// cut returns where the piece ends that starts at i. Tokens do not reach beyond a piece. It is
// this expression of o200k_base, alternative by alternative:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func cut(s string, i int) int {
	first, next := at(s, i)
	words := next // where letters may begin
	if !first.leads() {
		words = i
	}
	if end := smalls(s, words); end > words {
		return contraction(s, end)
	}
	if first.is(mark) {
		return contraction(s, smalls(s, i))
	}
	if end := run(s, words, capital|either); end > words && (words == i || !first.is(letters)) {
		return contraction(s, end)
	}
	switch {
	case first.is(numeric):
		for range 2 {
			if c, after := at(s, next); c.is(numeric) {
				next = after
			}
		}
		return next
	case s[i] == ' ':
		if c, _ := at(s, next); next < len(s) && c.symbol() {
			return punctuation(s, next)
		}
		return blanks(s, i)
	case first.is(whitespace):
		return blanks(s, i)
	}
	return punctuation(s, i)
}

// run is where characters of some classes end.
func run(s string, i int, of category) int {
	for {
		c, next := at(s, i)
		if !c.is(of) {
			return i
		}
		i = next
	}
}

// smalls is where a word with a small letter, or a letter that is neither, ends; i: there is none.
func smalls(s string, i int) int {
	last := i // behind the last letter that is neither
	for {
		c, next := at(s, i)
		switch {
		case c.is(small):
			return run(s, i, small|either)
		case c.is(either):
			last = next
		case !c.is(capital):
			return last
		}
		i = next
	}
}

// contraction is where one that follows a word ends.
func contraction(s string, i int) int {
	if i >= len(s) || s[i] != '\'' {
		return i
	}
	for _, c := range [...]string{"'s", "'\u017f", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if len(s)-i >= len(c) && strings.EqualFold(s[i:i+len(c)], c) {
			return i + len(c)
		}
	}
	return i
}

// punctuation is where symbols from i on end, and the ends of lines and slashes behind them.
func punctuation(s string, i int) int {
	for i < len(s) {
		c, next := at(s, i)
		if !c.symbol() {
			break
		}
		i = next
	}
	for i < len(s) && (s[i] == '\r' || s[i] == '\n' || s[i] == '/') {
		i++
	}
	return i
}

// blanks is where a piece of whitespace ends: with the last line of it, before the last character of
// it when a word follows, or with all of it.
func blanks(s string, i int) int {
	from, line, last := i, i, i
	for {
		c, next := at(s, i)
		if !c.is(whitespace) {
			break
		}
		if c.is(lineEnd) {
			line = next
		}
		last, i = i, next
	}
	switch {
	case line > from:
		return line
	case i == len(s) || last == from:
		return i
	}
	return last
}
