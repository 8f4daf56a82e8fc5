package textfilter

import "bytes"

// ruleSet is a set of rules, by their place in rules.
type ruleSet [5]uint64

func (s *ruleSet) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s *ruleSet) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s *ruleSet) join(o *ruleSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// word is one that rules need.
type word struct {
	text         string
	needs, alsos ruleSet // the rules that have it in need, and in also
}

// words finds which of the words that rules need stand in a text, in one walk: by a
// hash of their first three letters.
type words struct {
	short   []*word       // of fewer than three bytes
	begun   [1 << 12]bool // there is a bucket: in a table that stays in the cache
	buckets [1 << 12][]*word
	alone   ruleSet // the rules without also
}

// known is made of the rules.
var known = func() *words {
	w := &words{}
	if len(rules) > 64*len(ruleSet{}) {
		panic("BUG: there are more rules than a set holds")
	}
	at := map[string]*word{}
	of := func(s string) *word {
		one, ok := at[s]
		if ok {
			return one
		}
		one = &word{text: s}
		if at[s] = one; len(s) < 3 {
			w.short = append(w.short, one)
		} else {
			h := hash3(s[0], s[1], s[2])
			w.begun[h] = true
			w.buckets[h] = append(w.buckets[h], one)
		}
		return one
	}
	for i := range rules {
		r := &rules[i]
		for _, s := range r.need {
			of(s).needs.add(i)
		}
		for _, s := range r.also {
			of(s).alsos.add(i)
		}
		if len(r.also) == 0 {
			w.alone.add(i)
		}
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
	may       ruleSet // the rules that may match
	foreign   bool    // some of it is not ASCII
	long      bool    // a run of letters and digits that may be encoded text
	spaced    bool    // letters with something between each two
	disguised bool    // digits among letters
	escaped   bool    // signs that escapes begin with
	named     bool    // words in a name, as in read_all
	any       bool    // some rule may match
}

// plain reports a text in which no rule can match.
func (g *glance) plain() bool {
	return !g.any && !g.foreign && !g.long && !g.spaced && !g.disguised && !g.escaped
}

func glanceAt(text []byte) (g glance) {
	run, single, numbers := 0, 0, 0
	var needed ruleSet
	met := known.alone
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
			if i-2+len(w.text) <= len(text) && begins(text[i-2:], w.text) {
				needed.join(&w.needs)
				met.join(&w.alsos)
			}
		}
	}
	for _, w := range known.short {
		if bytes.IndexByte(text, w.text[0]) >= 0 { // they are signs
			needed.join(&w.needs)
			met.join(&w.alsos)
		}
	}
	for i := range needed {
		g.may[i] = needed[i] & met[i]
		g.any = g.any || g.may[i] != 0
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
