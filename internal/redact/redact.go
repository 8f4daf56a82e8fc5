package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Mark stands where something was taken out.
const Mark = "[redacted]"

// MaxBytes of a text that is looked at; what follows is cut off first. The
// expressions take linear time, about a millisecond for this much.
const MaxBytes = 64 << 10

// secretWords are the words of names that promise a secret.
const secretWords = `(?:passw(?:or)?d|passphrase|passwd|secret|token|api[_\-]?key|access[_\-]?key|private[_\-]?key|` +
	`authorization|cookie|credential|signature|session)`

var (
	// named is a name that promises a secret, and its value, in JSON, in a query, in
	// a header or in prose.
	named = regexp.MustCompile(`(?i)([a-z0-9_\-]*` + secretWords +
		`[a-z0-9_\-]*\\?["']?\s*[:=]\s*)(\\"(?:[^"\\]|\\[^"])*(?:\\")?|"(?:[^"\\]|\\.)*"?|'[^']*'?|(?:(?:bearer|basic|digest|token)\s+)?[^\s"'&,;<>{}]+)`)
	// scheme is a credential of HTTP authentication without its header.
	scheme = regexp.MustCompile(`(?i)\b(bearer|basic|digest)\s+[a-z0-9+/_\-.=~]{6,}`)
	// userinfo of a URL, up to its last @: people write passwords with one as they are.
	userinfo = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.\-]*://)[^\s/"']+@`)
	pem      = regexp.MustCompile(`-----BEGIN [A-Z ]+-----[^-]*(?:-----END [A-Z ]+-----)?`)
	// jwt is a JSON Web Token, whole or in part.
	jwt   = regexp.MustCompile(`\beyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*){0,4}`)
	email = regexp.MustCompile(`(?i)[a-z0-9._%+\-]+@[a-z0-9\-]+(?:\.[a-z0-9\-]+)+`)
	// number is a phone, account or card number: nine digits or more, grouped or not.
	number = regexp.MustCompile(`\+?\d(?:[ \-.()/]{0,2}\d){8,}`)
	// run is a long run of the letters keys are made of.
	run = regexp.MustCompile(`[A-Za-z0-9+/_\-]{20,}={0,2}`)
)

// Text returns at most limit bytes of s without what looks like a secret or names a
// person; invalid UTF-8 is replaced. Times and words of more than 20 letters stay.
func Text(s string, limit int) string {
	if len(s) > MaxBytes {
		s = s[:MaxBytes]
	}
	s = replace(strings.ToValidUTF8(s, "\uFFFD"), true, func(kind, string) string { return Mark })
	if len(s) <= limit {
		return s
	}
	end := max(limit, 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// kind is what was taken out.
type kind byte

const (
	aSecret kind = iota
	anEmail
	aNumber // a telephone's, or of an account
)

// replace puts marks in the place of what looks like a secret, and of what names a person.
func replace(s string, personal bool, mark func(k kind, found string) string) string {
	secret := func(found string) string { return mark(aSecret, found) }
	behind := func(of *regexp.Regexp, between, end string) { // the first part of each match stays
		s = of.ReplaceAllStringFunc(s, func(m string) string {
			first := of.FindStringSubmatch(m)[1]
			return first + between + secret(m[len(first):]) + end
		})
	}
	s = pem.ReplaceAllStringFunc(s, secret)
	behind(userinfo, "", "@")
	behind(named, "", "")
	behind(scheme, " ", "")
	if personal {
		s = email.ReplaceAllStringFunc(s, func(m string) string { return mark(anEmail, m) })
	}
	s = jwt.ReplaceAllStringFunc(s, secret)
	s = run.ReplaceAllStringFunc(s, func(m string) string {
		if random(m) {
			return secret(m)
		}
		return m
	})
	if !personal {
		return s
	}
	return number.ReplaceAllStringFunc(s, func(m string) string {
		if timestamp.MatchString(m) {
			return m
		}
		return mark(aNumber, m)
	})
}

// timestamp is a date and more, which number would take for a telephone's.
var timestamp = regexp.MustCompile(`^(?:19|20)\d\d-[01]\d-[0-3]\d(?:[ .\-]|$)`)

// random reports whether a run mixes letters and digits, or cases, as keys do and
// words and paths do not.
func random(s string) bool {
	var letters, digits, changes int
	var last byte
	for i := range len(s) {
		class := classOf(s[i])
		switch class {
		case 'd':
			digits++
		case 'a', 'A':
			letters++
		case 0:
			continue
		}
		if last != 0 && class != last {
			changes++
		}
		last = class
	}
	// Every third or fourth character of random text changes its class.
	return digits >= 3 && letters >= 3 && changes*5 >= letters+digits || digits >= 12 && letters > 0 || changes*4 >= letters+digits && changes > 4
}

func classOf(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return 'd'
	case c >= 'a' && c <= 'z':
		return 'a'
	case c >= 'A' && c <= 'Z':
		return 'A'
	}
	return 0
}
