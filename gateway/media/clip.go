package media

import "unicode/utf8"

// AppendClipped appends at most n bytes of b, cut at a character.
func AppendClipped(dst, b []byte, n int) []byte {
	mark := len(dst)
	return Clip(append(dst, b[:min(len(b), n+utf8.UTFMax)]...), mark, n)
}

// Clip cuts what was appended after mark to n bytes and a mark of the cut.
func Clip(dst []byte, mark, n int) []byte {
	if len(dst)-mark <= n {
		return dst
	}
	end := mark + n
	for end > mark && !utf8.RuneStart(dst[end]) {
		end--
	}
	return append(dst[:end], " […]"...)
}
