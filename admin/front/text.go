package front

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/problem"
)

// nulEscape is how JSON writes the character NUL (RFC 8259 §7).
var nulEscape = []byte(`u0000`)

// checkText refuses strings that no database stores as text: NUL, and bytes that are
// not UTF-8, which a JSON reader would replace without a word. It looks at the query,
// at the path, and at a body of JSON; position counts bytes.
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
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil //nolint:nilerr // the handlers refuse what is not JSON
	}
	if !utf8.Valid(body) {
		return textProblem("the body is not UTF-8 (RFC 8259 section 8.1)")
	}
	if at := escapedNUL(body); at >= 0 {
		return textProblem("the body has a NUL character in a string, at byte %d", at)
	}
	return nil
}

func textProblem(format string, args ...any) error {
	p := ProblemOf(problem.New(problem.InvalidArgument, format, args...).Fix("remove the character, or send the text in UTF-8"))
	p.Status = http.StatusUnprocessableEntity
	return p
}

func bad(s string) bool {
	return !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0
}

// escapedNUL returns where a JSON text has the escape of NUL; -1: nowhere. A
// backslash that is itself escaped begins none.
func escapedNUL(body []byte) int {
	for from := 0; ; {
		i := bytes.Index(body[from:], nulEscape)
		if i < 0 {
			return -1
		}
		at := from + i
		slashes := 0
		for at-slashes > 0 && body[at-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 1 {
			return at - 1
		}
		from = at + len(nulEscape)
	}
}
