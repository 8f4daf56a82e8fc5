package textfilter

import (
	"unicode"
	"unicode/utf8"
)

const (
	joiners     = '\u200c' // ZERO WIDTH NON-JOINER; U+200D, the joiner, follows it
	textStyle   = '\ufe0e' // variation selector 15; 16, the emoji style, follows it
	emojiStyle  = '\ufe0f'
	keycap      = '\u20e3'
	nextLine    = '\u0085'
	softHyphen  = '\u00ad'
	byteOrder   = '\ufeff'
	zeroSpace   = '\u200b'
	firstMarker = '\u200e' // LEFT-TO-RIGHT MARK; U+200F, the other direction, follows it
)

// isJoiner reports the two characters that join and separate letters of many scripts
// and the parts of an emoji.
func isJoiner(r rune) bool { return r == joiners || r == joiners+1 }

// isStyle reports the variation selectors of emoji.
func isStyle(r rune) bool { return r == textStyle || r == emojiStyle }

// unseen reports a character that is never kept, whatever stands around it. Joiners
// and variation selectors of emoji are judged by what stands around them, see [look].
func unseen(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	case r < 0xa0, r == softHyphen:
		return true
	case r < 0x34f:
		return false
	case r == 0x34f, r == 0x61c, // COMBINING GRAPHEME JOINER, ARABIC LETTER MARK
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // fillers of Hangul
		r == 0x17b4, r == 0x17b5, // inherent vowels of Khmer, discouraged
		r >= 0x180b && r <= 0x180f, // variation selectors of Mongolian
		r >= zeroSpace && r <= 0x200f && !isJoiner(r),
		r >= 0x202a && r <= 0x202e, // embeddings and overrides of direction
		r >= 0x2060 && r <= 0x206f, // word joiner, invisible operators, isolates of direction
		r >= 0xe000 && r <= 0xf8ff, // private use
		r >= 0xfdd0 && r <= 0xfdef, // noncharacters
		r >= 0xfe00 && r <= 0xfe0f && !isStyle(r),
		r == byteOrder,
		r >= 0xfff0 && r <= 0xfffb,                                 // interlinear annotation and unassigned ignorable ones
		r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a, // controls of shorthand and of musical notation
		r >= 0xe0000 && r <= 0xe0fff, // tags and supplementary variation selectors
		r >= 0xf0000,                 // private use
		r&0xfffe == 0xfffe:           // noncharacters
		return true
	}
	return false
}

// wordly reports a letter or a mark of one; digits count where the other neighbour is
// a letter.
func wordly(r rune) bool {
	return r != utf8.RuneError && !unseen(r) && !isJoiner(r) && !isStyle(r) && (unicode.IsLetter(r) || unicode.IsMark(r) && r != keycap)
}

// pictorial reports a character that emoji are made of.
func pictorial(r rune) bool {
	return r > 0x7f && r != utf8.RuneError && !unseen(r) && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk)
}

// styled reports the characters outside of the categories of symbols that have an
// emoji style: ‼ ⁉ ℹ 〰.
func styled(r rune) bool {
	return pictorial(r) || r == 0x203c || r == 0x2049 || r == 0x2139 || r == 0x3030
}

// ends reports a mark after which a joiner is part of a letter although nothing
// follows: the half forms of the scripts of India and the chillu letters of Malayalam.
func ends(r rune) bool { return r >= 0x900 && r <= 0xdff && unicode.Is(unicode.Mn, r) }

// joins reports whether a joiner between before and after is part of legitimate text.
func joins(before, after rune) bool {
	switch {
	case isJoiner(after) || before == utf8.RuneError:
		return false
	case wordly(before):
		return wordly(after) || unicode.IsDigit(after) || ends(before)
	case unicode.IsDigit(before):
		return wordly(after)
	}
	return (pictorial(before) || before == emojiStyle) && pictorial(after)
}
