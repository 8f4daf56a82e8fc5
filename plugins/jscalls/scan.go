package jscalls

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	word  tokenKind = iota // a name or keyword
	text                   // a string without expressions in it
	other                  // a number, a template, a regular expression
	punctuation
)

type token struct {
	kind   tokenKind
	text   string // of a string, its value
	offset int
}

// scanner splits a script into tokens. Expressions in templates are scanned by themselves,
// behind the rest.
type scanner struct {
	code   string
	at     int
	tokens []token
	inner  []span // expressions of templates
}

type span struct{ from, to int }

// scan reads code[from:to]; it ends early where the text is not a script, which whoever runs it
// says.
func scan(code string, from, to int) *scanner {
	s := &scanner{code: code[:to], at: from}
	for s.next() {
	}
	return s
}

func (s *scanner) add(kind tokenKind, t string, from int) {
	s.tokens = append(s.tokens, token{kind, t, from})
}

func (s *scanner) next() bool {
	for s.at < len(s.code) {
		rest := s.code[s.at:]
		switch {
		case strings.HasPrefix(rest, "//"):
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				s.at += i
			} else {
				s.at = len(s.code)
			}
			continue
		case strings.HasPrefix(rest, "/*"):
			i := strings.Index(rest[2:], "*/")
			if i < 0 {
				return false
			}
			s.at += i + 4
			continue
		}
		r, n := utf8.DecodeRuneInString(rest)
		if unicode.IsSpace(r) || r == '\uFEFF' {
			s.at += n
			continue
		}
		return s.token(r)
	}
	return false
}

func isName(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\u200C' || r == '\u200D'
}

func (s *scanner) token(r rune) bool {
	from := s.at
	switch {
	case unicode.IsDigit(r):
		for s.at < len(s.code) && (isName(rune(s.code[s.at])) || s.code[s.at] == '.') {
			s.at++
		}
		s.add(other, "0", from)
	case isName(r) || r == '#':
		for s.at < len(s.code) {
			r, n := utf8.DecodeRuneInString(s.code[s.at:])
			if !isName(r) && (s.at != from || r != '#') {
				break
			}
			s.at += n
		}
		s.add(word, s.code[from:s.at], from)
	case r == '"' || r == '\'':
		return s.quoted(byte(r))
	case r == '`':
		return s.template()
	case r == '/' && s.beginsValue():
		return s.regex()
	default:
		n := utf8.RuneLen(r)
		for _, p := range []string{"...", "?.", "=>"} {
			if strings.HasPrefix(s.code[s.at:], p) {
				n = len(p)
			}
		}
		if n < 1 {
			n = 1 // a byte that is not UTF-8
		}
		s.at = min(s.at+n, len(s.code))
		s.add(punctuation, s.code[from:s.at], from)
	}
	return true
}

// quoted reads a string. One with an escape has no value here: tools are not named so.
func (s *scanner) quoted(quote byte) bool {
	from, plain := s.at, true
	for s.at++; s.at < len(s.code); s.at++ {
		switch c := s.code[s.at]; c {
		case '\\':
			plain = false
			s.at++
		case '\n':
			return false
		case quote:
			s.at++
			if plain {
				s.add(text, s.code[from+1:s.at-1], from)
			} else {
				s.add(other, "", from)
			}
			return true
		}
	}
	return false
}

// template reads a template literal, and notes the expressions in it.
func (s *scanner) template() bool {
	from := s.at
	for s.at++; s.at < len(s.code); s.at++ {
		switch {
		case s.code[s.at] == '\\':
			s.at++
		case s.code[s.at] == '`':
			s.at++
			s.add(other, "`", from)
			return true
		case strings.HasPrefix(s.code[s.at:], "${"):
			end := s.brace(s.at + 2)
			if end < 0 {
				return false
			}
			s.inner = append(s.inner, span{s.at + 2, end})
			s.at = end
		}
	}
	return false
}

// brace finds the } that ends what begins at a place; -1: nothing does.
func (s *scanner) brace(from int) int {
	in := &scanner{code: s.code, at: from}
	for depth := 0; in.next(); {
		t := in.tokens[len(in.tokens)-1]
		switch {
		case t.kind != punctuation:
		case t.text == "{":
			depth++
		case t.text == "}" && depth == 0:
			return t.offset
		case t.text == "}":
			depth--
		}
	}
	return -1
}

// beforeValue are the words behind which a / begins a regular expression.
var beforeValue = map[string]bool{
	"return": true, "typeof": true, "case": true, "in": true, "of": true, "delete": true, "void": true, "throw": true, "new": true, "else": true, "do": true,
	"await": true, "yield": true, "instanceof": true,
}

func (s *scanner) beginsValue() bool {
	if len(s.tokens) == 0 {
		return true
	}
	switch t := s.tokens[len(s.tokens)-1]; t.kind {
	case word:
		return beforeValue[t.text]
	case punctuation:
		return t.text != ")" && t.text != "]" && t.text != "}"
	}
	return false
}

func (s *scanner) regex() bool {
	from, class := s.at, false
	for s.at++; s.at < len(s.code); s.at++ {
		switch c := s.code[s.at]; {
		case c == '\\':
			s.at++
		case c == '\n':
			return false
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for s.at++; s.at < len(s.code) && isName(rune(s.code[s.at])); s.at++ {
			}
			s.add(other, "/", from)
			return true
		}
	}
	return false
}
