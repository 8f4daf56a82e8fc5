package compress

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// name returns a key as JSON.
func (d *toonReader) name(token []byte) ([]byte, error) {
	if len(token) == 0 || token[0] != '"' {
		return jsonscan.AppendString(nil, token), nil
	}
	s, err := d.unescape(token)
	if err != nil {
		return nil, err
	}
	return jsonscan.AppendString(nil, s), nil
}

// primitive writes a value without members (§4).
func (d *toonReader) primitive(token []byte) error {
	if len(token) > 0 && token[0] == '"' {
		s, err := d.unescape(token)
		if err != nil {
			return err
		}
		d.out = jsonscan.AppendString(d.out, s)
		return nil
	}
	switch string(token) {
	case "true", "false", "null":
		d.out = append(d.out, token...)
		return nil
	}
	if toonNumber(token) {
		d.out = append(d.out, token...)
	} else {
		d.out = jsonscan.AppendString(d.out, token)
	}
	return nil
}

// unescape returns the text of a quoted token; valid until the next call.
func (d *toonReader) unescape(token []byte) ([]byte, error) {
	if end := quotedEnd(token); end != len(token) {
		if end < 0 {
			return nil, d.fail("a quoted string is not closed")
		}
		return nil, d.fail("text behind a quoted string")
	}
	token = token[1 : len(token)-1]
	if bytes.IndexByte(token, '\\') < 0 {
		return token, nil
	}
	out := d.scratch[:0]
	for i := 0; i < len(token); i++ {
		if token[i] != '\\' {
			out = append(out, token[i])
			continue
		}
		i++ // quotedEnd saw that a byte follows
		switch token[i] {
		case '\\', '"':
			out = append(out, token[i])
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			if i+5 > len(token) {
				return nil, d.fail(`\u needs four hexadecimal digits`)
			}
			r, err := strconv.ParseUint(string(token[i+1:i+5]), 16, 16)
			if err != nil || !utf8.ValidRune(rune(r)) {
				return nil, d.fail(`\u%s is not a character`, token[i+1:i+5])
			}
			out = utf8.AppendRune(out, rune(r))
			i += 4
		default:
			return nil, d.fail(`\%c is not an escape`, token[i])
		}
	}
	d.scratch = out[:0]
	return out, nil
}

// unquoted returns the first c outside quotes, -1 when there is none.
func unquoted(s []byte, c byte) int {
	in := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			in = !in
		case in && s[i] == '\\':
			i++
		case !in && s[i] == c:
			return i
		}
	}
	return -1
}

// quotedEnd returns what is behind the string that s begins with; -1 when it is
// not closed.
func quotedEnd(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// splitCells appends the tokens between delimiters, without blanks around them.
func splitCells(cells [][]byte, s []byte, delim byte) [][]byte {
	for {
		i := unquoted(s, delim)
		if i < 0 {
			return append(cells, trimSpaces(s))
		}
		cells = append(cells, trimSpaces(s[:i]))
		s = s[i+1:]
	}
}

func trimSpaces(s []byte) []byte { return bytes.Trim(s, " ") }

// toonKey reports whether a key may stand before a bracket: none, quoted, or plain (§7.3).
func toonKey(s []byte) bool {
	if len(s) == 0 {
		return true
	}
	if s[0] == '"' {
		return quotedEnd(s) == len(s)
	}
	return plainToonKey(s)
}

// toonNumber reports a number (§4): JSON's grammar.
func toonNumber(s []byte) bool {
	digits := bytes.TrimPrefix(s, []byte{'-'})
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return false
	}
	return len(s) > 0 && s[0] != '+' && toonNumeric(s)
}
