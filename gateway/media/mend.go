package media

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// maxBeside is how much text in front of JSON or behind it is looked past: a few
// warnings of the interpreter that ran there.
const maxBeside = 4096

// maxRemark is how much of that text is told.
const maxRemark = 256

// notJSON is said of text that comes as JSON.
const notJSON = "[the API calls this JSON, and it is not]"

// Mend returns what a body means that is nearly JSON: literals as Python and JavaScript write
// them, single quotes, names without quotes, commas too many, comments, control characters and
// unknown escapes in strings, a call around it (JSONP), several documents one after the other
// (an array of them), and text in front of it or behind it. NaN and numbers that JSON does not
// have, such as 007, become strings of their text. Anything else stays as it is, with false: a
// document that was cut too, as nobody knows what is missing then. remark is what must be said
// beside either.
func Mend(body []byte) (out, remark []byte, ok bool) {
	out, beside, ok := mend(body)
	if !ok {
		return body, []byte(notJSON), false
	}
	if len(beside) > 0 {
		text := AppendClipped(nil, AppendHTMLText(nil, beside), maxRemark)
		remark = append(textfilter.Append([]byte("[beside the JSON was: "), text), ']')
	}
	return out, remark, true
}

// IsProse reports whether a body that comes as JSON is plain text: OK, or lines of CSV or YAML.
// It is the answer then, where damaged JSON and a page are none.
func IsProse(body []byte) bool {
	start := bytes.TrimLeft(body, blanks)
	return len(start) == 0 || bytes.IndexByte([]byte("{[\"<"), start[0]) < 0 && utf8.Valid(start) && bytes.IndexByte(start, 0) < 0
}

func mend(body []byte) (out, beside []byte, ok bool) {
	m := mender{in: body}
	if rest, ok := m.documents(); ok {
		return m.out, bytes.TrimSpace(rest), true
	}
	start := bytes.TrimLeft(body, blanks)
	if len(start) == 0 || start[0] == '{' || start[0] == '[' || hasHTML(start[:min(len(start), maxGuard)]) {
		return nil, nil, false
	}
	for at := 1; at < min(len(body), maxBeside); at++ {
		if c := body[at-1]; c != '\n' && c != '>' || !beginsJSON(body[at:]) {
			continue // JSON in a line of other text is a part of that
		}
		if bytes.Contains(bytes.ToLower(body[:at]), []byte("<script")) {
			break // a page whose data that is
		}
		m = mender{in: body[at:]}
		if rest, ok := m.documents(); ok {
			beside = append(bytes.TrimSpace(body[:at:at]), ' ')
			return m.out, bytes.TrimSpace(append(beside, rest...)), true
		}
		break // what begins later is a part of it
	}
	return nil, nil, false
}

// mender reads what is nearly JSON and writes JSON.
type mender struct {
	in, out []byte
	at      int
	depth   int
}

// documents reads one document or several, and returns the text behind them. The first is an
// object or an array: any text could be a word or a number.
func (m *mender) documents() (rest []byte, ok bool) {
	from, n := len(m.out), 0
	for ; ; n++ {
		m.space()
		mark, at := len(m.out), m.at
		c := m.peek()
		if n == 0 && isName(c) { // JSONP
			m.word()
			if m.space(); m.peek() != '(' {
				return nil, false
			}
			m.at++
			m.space()
			c = m.peek()
			if c != '{' && c != '[' || !m.value() || !m.closes(')') {
				return nil, false
			}
			if m.space(); m.peek() == ';' {
				m.at++
			}
			continue
		}
		if c == '{' || c == '[' {
			if n > 0 {
				m.out = append(m.out, ',')
			}
			if m.value() {
				continue
			}
			if n == 0 {
				return nil, false
			}
			m.out, m.at = m.out[:mark], at
		}
		break
	}
	if rest = m.in[m.at:]; n == 0 || len(rest) > maxBeside || bytes.IndexByte(rest, '{') >= 0 {
		return nil, false // what is behind it is not just a warning
	}
	if n > 1 {
		m.out = append(slices.Insert(m.out, from, '['), ']')
	}
	return rest, true
}

func (m *mender) peek() byte {
	if m.at < len(m.in) {
		return m.in[m.at]
	}
	return 0
}

// space skips white space and comments.
func (m *mender) space() {
	for m.at < len(m.in) {
		switch rest := m.in[m.at:]; {
		case bytes.IndexByte([]byte(blanks+"\f\v"), rest[0]) >= 0:
			m.at++
		case bytes.HasPrefix(rest, []byte("\xef\xbb\xbf")):
			m.at += len("\xef\xbb\xbf")
		case bytes.HasPrefix(rest, []byte("//")):
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			m.at += len(line)
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest, []byte("*/"))
			if end < 0 {
				return
			}
			m.at += end + len("*/")
		default:
			return
		}
	}
}

func (m *mender) closes(c byte) bool {
	m.space()
	if m.peek() != c {
		return false
	}
	m.at++
	return true
}

func isName(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// word reads the letters of a literal, a number or a name without quotes.
func (m *mender) word() []byte {
	from := m.at
	for m.at < len(m.in) {
		if c := m.in[m.at]; !isName(c) && c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
			break
		}
		m.at++
	}
	return m.in[from:m.at]
}

func (m *mender) value() bool {
	if m.depth++; m.depth > jsonscan.DefaultMaxDepth {
		return false
	}
	defer func() { m.depth-- }()
	m.space()
	switch c := m.peek(); c {
	case '{':
		return m.list('}', func() bool {
			if m.space(); m.peek() == '"' || m.peek() == '\'' {
				if !m.text() {
					return false
				}
			} else if name := m.word(); len(name) > 0 {
				m.out = jsonscan.AppendString(m.out, name)
			} else {
				return false
			}
			if !m.closes(':') {
				return false
			}
			m.out = append(m.out, ':')
			return m.value()
		})
	case '[':
		return m.list(']', m.value)
	case '"', '\'', '`':
		return m.text()
	}
	return m.literal(m.word())
}

// list reads members or items up to the end of their list.
func (m *mender) list(end byte, item func() bool) bool {
	m.out = append(m.out, m.in[m.at])
	m.at++
	for n := 0; ; n++ {
		if m.closes(end) {
			m.out = append(m.out, end)
			return true
		}
		if n > 0 {
			m.out = append(m.out, ',')
		}
		if !item() {
			return false
		}
		if m.space(); m.peek() == ',' {
			m.at++
		} else if m.peek() != end {
			return false
		}
	}
}

// literal writes a word that is a value, and the text in a call such as ISODate("…").
func (m *mender) literal(word []byte) bool {
	switch string(word) {
	case "":
		return false
	case "true", "True", "TRUE":
		m.out = append(m.out, "true"...)
		return true
	case "false", "False", "FALSE":
		m.out = append(m.out, "false"...)
		return true
	case "null", "None", "undefined", "nil", "NULL":
		m.out = append(m.out, "null"...)
		return true
	case "NaN", "Infinity", "-Infinity", "+Infinity", "nan", "inf", "-inf":
		m.out = jsonscan.AppendString(m.out, word)
		return true
	}
	if isName(word[0]) {
		if m.space(); m.peek() != '(' {
			return false
		}
		m.at++
		m.space()
		return m.value() && m.closes(')')
	}
	if v, err := jsonscan.Parse(word, 0); err == nil && v.Kind() == jsonscan.Number {
		m.out = append(m.out, word...)
		return true
	}
	digits := bytes.TrimLeft(word, "+-.")
	if len(word)-len(digits) > 2 || len(digits) == 0 || digits[0] < '0' || digits[0] > '9' {
		return false
	}
	m.out = jsonscan.AppendString(m.out, word)
	return true
}

// text reads a string. An escape that JSON does not have is its characters.
func (m *mender) text() bool {
	quote := m.in[m.at]
	m.out = append(m.out, '"')
	for m.at++; m.at < len(m.in); {
		c := m.in[m.at]
		switch {
		case c == quote:
			m.at++
			m.out = append(m.out, '"')
			return true
		case c == '\\':
			m.escape()
			continue
		case c == '"':
			m.out = append(m.out, `\"`...)
		case c == '\n':
			m.out = append(m.out, `\n`...)
		case c == '\r':
			m.out = append(m.out, `\r`...)
		case c == '\t':
			m.out = append(m.out, `\t`...)
		case c < ' ':
			m.out = append(m.out, `\u00`...)
			m.out = append(m.out, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(m.in[m.at:])
			m.out = utf8.AppendRune(m.out, r)
			m.at += n
			continue
		default:
			m.out = append(m.out, c)
		}
		m.at++
	}
	return false
}

// escape reads a backslash and what is behind it.
func (m *mender) escape() {
	next := byte(0)
	if m.at+1 < len(m.in) {
		next = m.in[m.at+1]
	}
	switch {
	case next == '\'' || next == '`':
		m.out = append(m.out, next)
		m.at += 2
	case next == '\n':
		m.out = append(m.out, `\n`...)
		m.at += 2
	case next == 'u' && m.at+6 <= len(m.in) && isHex(m.in[m.at+2:m.at+6]), next != 0 && next != 'u' && bytes.IndexByte([]byte(`"\/bfnrt`), next) >= 0:
		m.out = append(m.out, '\\', next)
		m.at += 2
	default:
		m.out = append(m.out, `\\`...)
		m.at++
	}
}

func isHex(b []byte) bool {
	_, err := strconv.ParseUint(string(b), 16, 16)
	return err == nil
}
