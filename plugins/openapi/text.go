package openapi

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/textfilter"
)

// cutText shortens s to at most n bytes at a rune boundary, with an ellipsis
// when something was cut. n is at least 4.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], " ,;:") + "…"
}

// cutWords is cutText at a word boundary where one is near.
func cutWords(s string, n int) string {
	if len(s) <= n {
		return s
	}
	t := cutText(s, n)
	body := strings.TrimSuffix(t, "…")
	if i := strings.LastIndexByte(body, ' '); i > len(body)*2/3 {
		return strings.TrimRight(body[:i], " ,;:") + "…"
	}
	return t
}

// maxPlainInput is how much of a text plain looks at: what it gives is cut to
// 1,024 bytes or less, and markup rarely is more than three quarters of a text.
const maxPlainInput = 2 << 10

// plain turns CommonMark or HTML into one line of plain text (rule 21): links
// become their text, tags and emphasis lose their marks, headings and code blocks are left out,
// white space is collapsed. It never grows a text.
func plain(s string) string {
	s = textfilter.Clean(s)
	if len(s) > maxPlainInput {
		s = cutText(s, maxPlainInput)
	}
	if isPlain(s) {
		return unpointed(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	lineStart := true
	for i := 0; i < len(s); {
		c := s[i]
		if lineStart {
			if n := lineMark(s[i:]); n > 0 {
				i += n
				lineStart = false
				continue
			}
		}
		switch c {
		case '\n':
			lineStart = true
			b.WriteByte(' ')
			i++
			continue
		case '<':
			if n := tagLength(s[i:]); n > 0 {
				if blockTag(s[i : i+n]) {
					b.WriteByte(' ')
				}
				i += n
				continue
			}
		case '[':
			if text, n := link(s[i:]); n > 0 {
				b.WriteString(text)
				i += n
				continue
			}
		case '!':
			if i+1 < len(s) && s[i+1] == '[' {
				if _, n := link(s[i+1:]); n > 0 { // an image
					i += n + 1
					continue
				}
			}
		case '&':
			if text, n := entity(s[i:]); n > 0 {
				b.WriteString(text)
				i += n
				continue
			}
		case '*', '`':
			i++
			lineStart = false
			continue
		case '_':
			if i+1 < len(s) && s[i+1] == '_' {
				i += 2
				continue
			}
		case '\\':
			if i+1 < len(s) && strings.IndexByte("*_`#[]()<>-.!|", s[i+1]) >= 0 {
				b.WriteByte(s[i+1])
				i += 2
				continue
			}
		}
		if c != ' ' && c != '\t' && c != '\r' {
			lineStart = false
		}
		b.WriteByte(c)
		i++
	}
	return unpointed(collapse(b.String()))
}

// pointers begin sentences that only say where documentation is: an agent has what it is
// given.
var pointers = [...]string{
	"For more information", "For more details", "For more detail", "For further information", "For further details", "For additional information", "For additional details",
	"For details", "For full details", "Learn more", "Read more", "Find out more",
}

// unpointed leaves such sentences out, but for one that begins the text.
func unpointed(s string) string {
	found := false
	for _, p := range pointers {
		found = found || strings.Contains(s, p)
	}
	if !found {
		return s
	}
	var out []byte
	for rest := s; rest != ""; {
		end := 0
		if text := strings.TrimLeft(rest, " "); len(out) > 0 && slices.ContainsFunc(pointers[:], func(p string) bool { return strings.HasPrefix(text, p) }) {
			end = pointerEnd(rest)
		}
		if end > 0 {
			rest = rest[end:]
			continue
		}
		if end = SentenceEnd(rest); end < 0 {
			end = len(rest)
		}
		out, rest = append(out, rest[:end]...), rest[end:]
	}
	return string(out)
}

// pointerEnd is the length of a sentence that begins as a pointer; 0 where it has no
// clear end, or more to say.
func pointerEnd(s string) int {
	const most = 250 // bytes; longer ones say what it is about
	end := SentenceEnd(s)
	for _, quoted := range [...]string{`." `, `.) `, ".\u201d "} {
		if i := strings.Index(s, quoted); i >= 0 && (end < 0 || i+len(quoted)-1 < end) {
			end = i + len(quoted) - 1
		}
	}
	if end < 0 && len(s) <= most && !strings.Contains(s, " - ") {
		end = len(s)
	}
	if end > most || end < 0 || strings.Contains(s[:end], ": ") {
		return 0
	}
	return end
}

// isPlain reports text that plain would not change: the common case.
func isPlain(s string) bool {
	space := true
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ':
			if space {
				return false
			}
			space = true
			continue
		case c < 0x20 || c == '<' || c == '[' || c == '&' || c == '*' || c == '`' || c == '_' || c == '\\' || c == '#' || c >= 0x7f:
			return false
		}
		space = false
	}
	return !space || s == ""
}

// lineMark is the length of a heading, quote, list, fence or rule mark.
func lineMark(s string) int {
	trimmed := strings.TrimLeft(s, " \t")
	indent := len(s) - len(trimmed)
	switch {
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		// Code is left out: a description has no room for it.
		if i := strings.Index(trimmed[3:], "\n"+trimmed[:3]); i >= 0 {
			return indent + 3 + i + 1 + 3
		}
		return len(s)
	case strings.HasPrefix(trimmed, "#"):
		// A heading names what follows: it is left out when something does.
		n := len(trimmed) - len(strings.TrimLeft(trimmed, "#"))
		if n <= 6 && n < len(trimmed) && trimmed[n] == ' ' {
			if i := strings.IndexByte(trimmed, '\n'); i >= 0 && strings.TrimSpace(trimmed[i:]) != "" {
				return indent + i
			}
			return indent + n
		}
	case strings.HasPrefix(trimmed, "> "):
		return indent + 2
	case strings.HasPrefix(trimmed, "* "), strings.HasPrefix(trimmed, "+ "):
		return indent + 2
	case strings.HasPrefix(trimmed, "---"), strings.HasPrefix(trimmed, "==="):
		rest := strings.TrimLeft(trimmed, "-=")
		if rest == "" || rest[0] == '\n' || rest[0] == '\r' {
			return len(s) - len(rest)
		}
	}
	return 0
}

// tagLength is the length of an HTML tag or comment at the start of s; 0 when it
// is none ("a < b").
func tagLength(s string) int {
	if strings.HasPrefix(s, "<!--") {
		if i := strings.Index(s, "-->"); i >= 0 {
			return i + 3
		}
		return 0
	}
	i := 1
	if i < len(s) && s[i] == '/' {
		i++
	}
	if i >= len(s) || !isLetter(s[i]) {
		return 0
	}
	for j := i; j < len(s) && j < i+512; j++ {
		if s[j] == '>' {
			return j + 1
		}
		if s[j] == '<' {
			return 0
		}
		if j < i+12 && s[j] == ':' { // an autolink: keep its text
			return 0
		}
	}
	return 0
}

func blockTag(tag string) bool {
	t := strings.ToLower(strings.Trim(tag, "</> "))
	for _, p := range [...]string{"p", "br", "li", "ul", "ol", "div", "h1", "h2", "h3", "h4", "td", "th", "tr", "table", "pre"} {
		if t == p || strings.HasPrefix(t, p+" ") {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// maxLink bounds the text of a link, and its target, in bytes: an open bracket does not
// make the rest of a document be searched for each of them.
const maxLink = 2000

// link reads "[text](target)", "[text][ref]" and gives the text.
func link(s string) (text string, n int) {
	end := strings.IndexByte(s[:min(len(s), maxLink)], ']')
	if end < 0 || end+1 >= len(s) {
		return "", 0
	}
	var closing byte
	switch s[end+1] {
	case '(':
		closing = ')'
	case '[':
		closing = ']'
	default:
		return "", 0
	}
	stop := strings.IndexByte(s[end+1:min(len(s), end+maxLink)], closing)
	if stop < 0 {
		return "", 0
	}
	return strings.ReplaceAll(strings.Trim(s[1:end], "`*_"), "`", ""), end + 1 + stop + 1
}

func entity(s string) (text string, n int) {
	for _, e := range [...][2]string{{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}, {"&quot;", `"`}, {"&#39;", "'"}, {"&apos;", "'"}, {"&nbsp;", " "}} {
		if strings.HasPrefix(s, e[0]) {
			return e[1], len(e[0])
		}
	}
	return "", 0
}

// collapse makes runs of white space one space and drops control and invisible
// characters (which can hide instructions from a person reading the text).
func collapse(s string) string {
	s = textfilter.Clean(s)
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if r > ' ' && r < 0x7f { // nearly always
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteByte(byte(r))
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c' {
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// firstSentences gives whole sentences of a plain text, at least one (cut if it
// is longer), at most n bytes.
func firstSentences(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := 0
	for i := 0; i < n; {
		j := SentenceEnd(s[i:])
		if j < 0 || i+j > n {
			break
		}
		end = i + j
		i = end
	}
	if end == 0 {
		return cutWords(s, n)
	}
	return strings.TrimSpace(s[:end])
}

// lostMeasure names what numbers are counted in, or the standards that texts follow,
// where only the part of a description says so that has no room.
func lostMeasure(kept, rest string, numeric bool) string {
	var names []string
	lower := strings.ToLower(kept)
	if numeric {
		for _, unit := range [...]string{"milliseconds", "seconds", "minutes", "hours", "days", "bytes", "cents"} {
			if !strings.Contains(lower, unit) && (strings.Contains(rest, "in "+unit) || strings.Contains(rest, "number of "+unit)) {
				return "In " + unit + "."
			}
		}
		return ""
	}
	for _, standard := range [...]string{"ISO", "RFC", "E.164", "BCP", "base64", "Base64"} {
		for at := 0; len(names) < 3; {
			i := strings.Index(rest[at:], standard)
			if i < 0 {
				break
			}
			at += i
			end := at + len(standard)
			if standard != "base64" && standard != "Base64" && standard != "E.164" {
				if end < len(rest) && (rest[end] == ' ' || rest[end] == '-') {
					end++
				}
				digits := end
				for end < len(rest) && (isDigit(rest[end]) || rest[end] == '-' && end > digits) {
					end++
				}
				if end == digits {
					at += len(standard)
					continue
				}
			}
			name := strings.TrimRight(rest[at:end], "-")
			if !strings.Contains(lower, strings.ToLower(name)) && !slices.Contains(names, name) {
				names = append(names, name)
			}
			at = end
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "By " + strings.Join(names, ", ") + "."
}

// firstText is firstSentences, with the beginning of the next sentence where whole ones
// use less than half of n: what is a table or a list to its end has few.
func firstText(s string, n int) string {
	t := firstSentences(s, n)
	if len(t) < n/2 && len(s) > len(t) {
		return cutWords(s, n)
	}
	return t
}

// SentenceEnd is the length of the first sentence of a plain text; -1 when none ends.
func SentenceEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '.', '!', '?':
			if i+1 == len(s) {
				return i + 1
			}
			if s[i+1] != ' ' {
				continue
			}
			if s[i] == '.' && abbreviation(s[:i]) {
				continue
			}
			return i + 1
		}
	}
	return -1
}

// abbreviation reports "e.g", "i.e", "etc", "vs" and single letters before a
// full stop.
func abbreviation(s string) bool {
	w := s[strings.LastIndexByte(s, ' ')+1:]
	w = strings.ToLower(strings.TrimLeft(w, "("))
	switch w {
	case "e.g", "i.e", "vs", "cf", "approx", "no", "incl", "max", "min":
		return true
	}
	return len(w) == 1 && isLetter(w[0])
}
