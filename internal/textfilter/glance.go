package textfilter

import "bytes"

// wordSet is a set of the words that rules need, by their place in words.
type wordSet [25]uint64

func (b *wordSet) set(i int) { b[i>>6] |= 1 << (i & 63) }
func (b *wordSet) meets(o *wordSet) bool {
	var both uint64
	for i := range b {
		both |= b[i] & o[i]
	}
	return both != 0
}
func (b *wordSet) empty() bool { return *b == wordSet{} }

// words finds which of the words that rules need stand in a text, in one walk: by a
// hash of their first three letters.
type words struct {
	short   []int // of fewer than three bytes
	all     []string
	begun   [1 << 12]bool // there is a bucket: in a table that stays in the cache
	buckets [1 << 12][]int
}

// known is made of the rules, which get the sets of their words.
var known = func() *words {
	w := &words{}
	at := map[string]int{}
	set := func(list []string) (b wordSet) {
		for _, s := range list {
			i, ok := at[s]
			if !ok {
				i = len(w.all)
				at[s], w.all = i, append(w.all, s)
				if len(s) < 3 {
					w.short = append(w.short, i)
				} else {
					h := hash3(s[0], s[1], s[2])
					w.begun[h] = true
					w.buckets[h] = append(w.buckets[h], i)
				}
			}
			b.set(i)
		}
		return b
	}
	for i := range rules {
		r := &rules[i]
		r.needs, r.alsos = set(r.need), set(r.also)
	}
	if len(w.all) > 64*len(wordSet{}) {
		panic("BUG: the rules need more words than a set holds")
	}
	return w
}()

func hash3(a, b, c byte) uint32 { return (uint32(a)<<7 ^ uint32(b)<<3 ^ uint32(c)) & (1<<12 - 1) }

var lowerCase = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if i >= 'A' && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
		if i == '\n' || i == '\t' || i == '\r' {
			t[i] = ' '
		}
	}
	return t
}()

// glance is what one walk over a text tells.
type glance struct {
	found     wordSet
	foreign   bool // some of it is not ASCII
	long      bool // a run of letters and digits that may be encoded text
	spaced    bool // letters with something between each two
	disguised bool // digits among letters
	escaped   bool // signs that escapes begin with
	named     bool // words in a name, as in read_all
	any       bool // some rule may match
}

// plain reports a text in which no rule can match.
func (g *glance) plain() bool {
	return !g.any && !g.foreign && !g.long && !g.spaced && !g.disguised && !g.escaped
}

// has reports whether r may match.
func (g *glance) has(r *rule) bool {
	return g.found.meets(&r.needs) && (len(r.also) == 0 || g.found.meets(&r.alsos))
}

func glanceAt(text []byte) (g glance) {
	run, single, numbers := 0, 0, 0
	for i := range text {
		c := lowerCase[text[i]]
		if c <= '9' && (c >= '0' || c == ' ' || c == ',') {
			if numbers++; numbers >= minNumbers {
				g.long = true
			}
		} else {
			numbers = 0
		}
		letter := c >= 'a' && c <= 'z'
		switch {
		case letter, c >= '0' && c <= '9', c == '+', c == '/', c == '=', c == '_':
			if run++; run >= minEncoded {
				g.long = true
			}
		case c == ' ' || c == ':':
			// Hexadecimal digits may be written in pairs.
			if i < 2 || run != 2 && run != 0 {
				run = 0
			}
		case c >= 0x80:
			g.foreign, run = true, 0
		case c == '%' || c == '&' || c == '\\':
			g.escaped, run = true, 0
		default:
			run = 0
		}
		if i < 2 {
			continue
		}
		a, b := lowerCase[text[i-2]], lowerCase[text[i-1]]
		if letter && a >= 'a' && a <= 'z' {
			switch {
			case b == ' ' || b == '.' || b == '-' || b == '_' || b == '*':
				if single++; single >= 4 {
					g.spaced = true
				}
				g.named = g.named || b == '_' || b == '-'
			case b >= 'a' && b <= 'z':
				single = 0
				g.named = g.named || text[i] < 'a' && text[i-1] >= 'a'
			case b == '0' || b == '1' || b == '3' || b == '4' || b == '5' || b == '@' || b == '$':
				g.disguised = true
			}
		}
		h := hash3(a, b, c)
		if !known.begun[h] {
			continue
		}
		for _, w := range known.buckets[h] {
			if s := known.all[w]; i-2+len(s) <= len(text) && begins(text[i-2:], s) {
				g.found.set(w)
			}
		}
	}
	for _, w := range known.short {
		if bytes.IndexByte(text, known.all[w][0]) >= 0 { // they are signs
			g.found.set(w)
		}
	}
	if g.found.empty() {
		return g
	}
	for i := range rules {
		if g.has(&rules[i]) {
			g.any = true
			break
		}
	}
	return g
}

// begins reports whether text begins with word, which is in lower case.
func begins(text []byte, word string) bool {
	for i := range len(word) {
		if lowerCase[text[i]] != word[i] {
			return false
		}
	}
	return true
}
