package selection

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// stop lists words that tell tools apart no better than chance: function words
// and the ways in which people ask.
var stop = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`a about above after again all also am an and any are as at be because been before being below between both but by
		can cannot could did do does doing down during each few for from further had has have having he her here hers him his how i if in into is it its
		itself just let me more most my myself no nor not now of off on once only or other our ours out over own please same she should so some such than
		that the their theirs them then there these they this those through to too under until up us very was we were what when where which while who whom
		why will with would you your yours want need like would help kindly tell know wonder thanks thank hi hello hey im ive id want wants needs looking
		assist give provide using use used via able
		s t d m ll re ve don isn doesn`) {
		m[w] = true
	}
	return m
}()

// alike maps words of tool names and requests that mean the same action or thing
// to one of them, after stemming.
var alike = func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(`create add make new insert generate register
delete remove drop erase destroy
update edit change modify patch alter
message text sms
retrieve get fetch obtain
picture photo image
movie film
song track
email mail
weather forecast
`) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		to := stem(words[0])
		for _, w := range words {
			m[stem(w)] = to
		}
	}
	return m
}()

// stem reduces an English word in lower case to its Snowball (Porter 2) stem.
func stem(w string) string { return english.Stem(w, true) }

// fold lower-cases s and strips accents (Unicode NFD without marks).
func fold(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return s
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// class is what splitting looks at.
type class uint8

const (
	classOther class = iota
	classLower
	classUpper
	classDigit
	classIdeograph // scripts written without spaces: each rune is a word
)

func classOf(r rune) class {
	switch {
	case r >= 'a' && r <= 'z':
		return classLower
	case r >= 'A' && r <= 'Z':
		return classUpper
	case r >= '0' && r <= '9':
		return classDigit
	case r < utf8.RuneSelf:
		return classOther
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
		return classIdeograph
	case unicode.IsUpper(r):
		return classUpper
	case unicode.IsLetter(r):
		return classLower
	case unicode.IsDigit(r):
		return classDigit
	}
	return classOther
}

// eachWord calls f with the words of s in lower case: it splits at what is
// neither letter nor digit, at camelCase, and between letters and digits. buf is
// scratch and is returned for reuse; w is valid during the call only.
func eachWord(s string, buf []byte, f func(w []byte)) []byte {
	s = fold(s)
	buf = buf[:0]
	flush := func() {
		if len(buf) > 0 {
			f(buf)
			buf = buf[:0]
		}
	}
	prev := classOther
	for i, r := range s {
		c := classOf(r)
		switch {
		case c == classOther:
			flush()
		case c == classIdeograph:
			flush()
			buf = utf8.AppendRune(buf, r)
			flush()
		default:
			next := classOther
			if j := i + utf8.RuneLen(r); c == classUpper && j < len(s) {
				nr, _ := utf8.DecodeRuneInString(s[j:])
				next = classOf(nr)
			}
			digit := (c == classDigit) != (prev == classDigit)
			if prev != classOther && (digit || c == classUpper && (prev == classLower || next == classLower)) {
				flush()
			}
			buf = utf8.AppendRune(buf, unicode.ToLower(r))
		}
		prev = c
	}
	flush()
	return buf
}
