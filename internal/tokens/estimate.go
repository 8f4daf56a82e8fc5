package tokens

import "unicode/utf8"

// Estimate returns about how many o200k_base tokens b has. It walks b once,
// cutting it where the encoding's own splitting expression cuts ASCII text, and
// takes the cost of each piece from a table by the kind and length of the piece:
// digits and short punctuation are exact, words are the mean of real answers.
// Text outside ASCII costs by its script's usual share. It allocates nothing
// and keeps nothing. b need not be valid UTF-8.
//
// Measured error against [Count]: see docs/tokens.md and this package's tests.
func Estimate(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	var cost uint64
	for i := 0; i < len(b); {
		end, c := piece(b, i)
		cost += uint64(c)
		i = end
	}
	return max(int((cost+scale/2)/scale), 1)
}

// Exceeds reports whether [Estimate] of b is more than n. It reads no more of b than it
// needs to know.
func Exceeds(b []byte, n int) bool {
	if n < 0 {
		return true
	}
	if len(b) == 0 {
		return false
	}
	if n == 0 {
		return true
	}
	var cost uint64
	over := (uint64(n)+1)*scale - scale/2
	for i, unsure := 0, true; i < len(b); {
		// What is not UTF-8 may cost more than a token for a byte.
		if unsure && cost+uint64(len(b)-i)*scale < over {
			if utf8.Valid(b[i:]) {
				return false
			}
			unsure = false
		}
		end, c := piece(b, i)
		if cost += uint64(c); cost >= over {
			return true
		}
		i = end
	}
	return false
}

// UpTo is [Estimate] of b where that is at most n; within says so. It reads no more of b
// than it needs to know that it is not.
func UpTo(b []byte, n int) (count int, within bool) {
	if n < 0 {
		return 0, false
	}
	var cost uint64
	over := (uint64(n)+1)*scale - scale/2
	for i := 0; i < len(b); {
		end, c := piece(b, i)
		if cost += uint64(c); cost >= over {
			return 0, false
		}
		i = end
	}
	count = int((cost + scale/2) / scale)
	if len(b) > 0 {
		count = max(count, 1)
	}
	return count, count <= n
}

// scale is the fixed point of the costs: hundredths of a token.
const scale = 100

// class of a byte, as the splitting expression sees it.
type class uint8

const (
	punct class = iota
	lower
	upper
	digit
	space // blank, tab and the rarer ASCII white space
	newline
	wide // any byte of a rune outside ASCII
)

var classes = func() (t [256]class) {
	for c := range t {
		switch {
		case c >= 0x80:
			t[c] = wide
		case c >= 'a' && c <= 'z':
			t[c] = lower
		case c >= 'A' && c <= 'Z':
			t[c] = upper
		case c >= '0' && c <= '9':
			t[c] = digit
		case c == '\n' || c == '\r':
			t[c] = newline
		case c == ' ' || c >= '\t' && c <= '\f':
			t[c] = space
		}
	}
	return t
}()

// piece returns where the piece that starts at i ends, and its cost.
func piece(b []byte, i int) (end int, cost uint32) {
	switch classes[b[i]] {
	case lower, upper:
		return word(b, i, 0)
	case digit:
		end = i + 1
		for end < len(b) && end < i+3 && classes[b[end]] == digit {
			end++
		}
		return end, scale
	case wide:
		return script(b, i)
	case newline, space:
		return blank(b, i)
	default:
		return symbols(b, i)
	}
}

// word costs [upper]*[lower]+ or [upper]+ that starts at i. prefix is the one
// byte before it that belongs to the piece, 0 when there is none.
func word(b []byte, i int, prefix byte) (end int, cost uint32) {
	end = i
	for end < len(b) && classes[b[end]] == upper {
		end++
	}
	caps := end - i
	for end < len(b) && classes[b[end]] == lower {
		end++
	}
	n := end - i
	table := &bare
	switch {
	// Letters that touch a digit are mostly part of an identifier or a hash, and
	// those have no words in them.
	case end < len(b) && classes[b[end]] == digit || prefix == 0 && i > 0 && classes[b[i-1]] == digit:
		table = &random
	case caps > 1 && caps < n:
		table = &mixed
	case caps == n:
		table = &capitals
	case prefix == ' ':
		table = &afterBlank
	case prefix == 0 && caps == 1:
		table = &title
	case prefix == '_':
		table = &afterUnderscore
	case prefix != 0:
		table = &afterSymbol
	}
	if last := len(table) - 1; n > last {
		return end, uint32(table[last]) + uint32(min(n-last, maxRun))*longLetter
	}
	return end, uint32(table[n])
}

// symbols costs a run of punctuation; a single one before a letter is part of
// the word.
func symbols(b []byte, i int) (end int, cost uint32) {
	end = i + 1
	for end < len(b) && classes[b[end]] == punct {
		end++
	}
	if end == i+1 && end < len(b) && (classes[b[end]] == lower || classes[b[end]] == upper) {
		return word(b, end, b[i])
	}
	n := end - i
	for end < len(b) && classes[b[end]] == newline {
		end++
	}
	if last := len(marks) - 1; n > last {
		return end, uint32(marks[last]) + uint32(min(n-last, maxRun))*longMark
	}
	return end, uint32(marks[n])
}

// blank costs white space. All of it up to the last line end is one piece, and
// the last blank before a word or a symbol is part of that.
func blank(b []byte, i int) (end int, cost uint32) {
	end = i
	line := -1
	for end < len(b) && (classes[b[end]] == space || classes[b[end]] == newline) {
		if classes[b[end]] == newline {
			line = end
		}
		end++
	}
	if line >= 0 && line+1 < end {
		return line + 1, scale
	}
	if line >= 0 || end == len(b) || classes[b[end]] == digit {
		return end, scale
	}
	if end-i > 1 {
		return end - 1, scale
	}
	switch classes[b[end]] {
	case lower, upper:
		return word(b, end, ' ')
	case punct:
		stop := end + 1
		for stop < len(b) && classes[b[stop]] == punct {
			stop++
		}
		if n := stop - end; n < len(marks) {
			return stop, uint32(marks[n])
		}
		return symbols(b, end)
	default:
		return end, 0 // before a letter outside ASCII it costs nothing of its own
	}
}

// script costs a run outside ASCII by the leading byte of each rune. The shares
// are those of running text: two-byte scripts (Latin with accents, Cyrillic,
// Arabic) carry several runes in a token, CJK rather less than two, emoji cost
// two to three tokens each.
func script(b []byte, i int) (end int, cost uint32) {
	for end = i; end < len(b) && classes[b[end]] == wide; end++ {
		switch c := b[end]; {
		case c < 0xc0: // a later byte of a rune
		case c < 0xc8:
			cost += costLatin
		case c < 0xe0:
			cost += costTwoByte
		case c == 0xe2:
			cost += scale // general punctuation, arrows, box drawing
		case c < 0xf0:
			cost += costThreeByte
		default:
			cost += costFourByte
		}
	}
	return end, max(cost, scale/4)
}
