package front

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/problem"
)

// nulEscape is how JSON writes the character NUL (RFC 8259 §7).
const nulEscape = `\u0000`

// checkText refuses strings that no database stores as text: NUL, and bytes that are
// not UTF-8 or escapes of no character, which a JSON reader would replace without a word. It
// looks at the query, at the path, and at the body, whatever type it is said to be: all of
// them are read as JSON, or refused. Position counts bytes.
func checkText(r *http.Request, body []byte) error {
	if bad(r.URL.Path) {
		return NotHere(r)
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return textProblem("the query is not a list of parameters")
	}
	for name, values := range query {
		if bad(name) || slices.ContainsFunc(values, bad) {
			return textProblem("the query has a NUL character, or bytes that are not UTF-8")
		}
	}
	if !utf8.Valid(body) {
		return textProblem("the body is not UTF-8 (RFC 8259 section 8.1)")
	}
	switch at, code := badEscape(body); {
	case at < 0:
		return nil
	case code == 0:
		return textProblem("the body has a NUL character in a string, at byte %d", at)
	default:
		return textProblem("the body has half of a surrogate pair in a string, at byte %d (RFC 8259 section 8.2)", at)
	}
}

func textProblem(format string, args ...any) error {
	p := ProblemOf(problem.New(problem.InvalidArgument, format, args...).Fix("remove the character, or send the text in UTF-8"))
	p.Status = http.StatusUnprocessableEntity
	return p
}

func bad(s string) bool {
	return !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0
}

// badEscape returns where a JSON text has the escape of NUL or of half of a surrogate pair,
// and its code; -1: nowhere. Outside of strings a backslash is not JSON, which is refused
// later.
func badEscape(body []byte) (at int, code rune) {
	for from := 0; ; {
		i := bytes.IndexByte(body[from:], '\\')
		if i < 0 {
			return -1, 0
		}
		at = from + i
		code = escape(body[at:])
		switch {
		case code < 0: // another escape: of a backslash, too
			from = min(at+2, len(body))
		case utf16.IsSurrogate(code) && utf16.DecodeRune(code, escape(body[at+len(nulEscape):])) != utf8.RuneError:
			from = at + 2*len(nulEscape)
		case code == 0 || utf16.IsSurrogate(code):
			return at, code
		default:
			from = at + len(nulEscape)
		}
	}
}

// escape is the code of the escape that text begins with, such as that of NUL; -1: it
// begins with another or with none.
func escape(text []byte) rune {
	if len(text) < len(nulEscape) || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	code, err := strconv.ParseUint(string(text[2:len(nulEscape)]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(code)
}
