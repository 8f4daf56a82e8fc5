package textfilter

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Bounds of a search.
const (
	// maxFindings of one text or document: a person reads the first ones.
	maxFindings = 16
	// maxSearched bytes of one text: the rules take linear time, and nobody publishes
	// more of a text.
	maxSearched = 64 << 10
	// maxQuote bytes of a finding are shown.
	maxQuote = 120
	// maxFindDepth of a document that is searched; published ones are six deep.
	maxFindDepth = 64
	// minEncoded is the shortest run of base64 or hexadecimal digits that is decoded: 24
	// bytes are a short sentence.
	minEncoded = 32
	// minNumbers is the shortest list of numbers that is read as the codes of characters.
	minNumbers = 40
)

// Finding is a part of a text that is written for a model.
type Finding struct {
	Kind  Kind
	At    string // JSON pointer in the document; "" of a text
	Quote string // what was found, printable
}

// Find looks for sentences that are written for a model instead of for the reader of a
// description. It knows English, and of other languages the most common sentences.
// Letters that only look Latin, invisible characters, spaced letters, digits in place
// of letters, names and escapes do not hide one from it. The findings are in the order
// of the rules, at most one of a kind.
func Find(text string) []Finding {
	return search(text, nil, "")
}

// FindJSON is [Find] over every string and member name of a JSON document.
func FindJSON(raw []byte) []Finding {
	w := walker{}
	w.value(jsonscan.Trusted(raw), 0)
	return w.found
}

// walker searches a document.
type walker struct {
	at    []byte // JSON pointer
	text  []byte // scratch
	found []Finding
	known *Finder // nil: each string is read
}

func (w *walker) value(v jsonscan.Value, depth int) {
	if depth > maxFindDepth {
		return
	}
	mark := len(w.at)
	switch v.Kind() {
	case jsonscan.String:
		w.string(v.Raw())
	case jsonscan.Array:
		i := 0
		for e := v.Elements(); e.Next(); i++ {
			if e.Value().Kind() >= jsonscan.String {
				w.at = strconv.AppendInt(append(w.at[:mark], '/'), int64(i), 10)
				w.value(e.Value(), depth+1)
			}
		}
	case jsonscan.Object:
		for m := v.Members(); m.Next(); {
			key := m.Key()
			if len(key) < shortName && m.Value().Kind() < jsonscan.String {
				continue
			}
			w.at = appendToken(append(w.at[:mark], '/'), key)
			if len(key) >= shortName { // a name may say something, too
				w.string(key)
			}
			w.value(m.Value(), depth+1)
		}
	}
	w.at = w.at[:mark]
}

// shortName is the length of a member name that is too short for a sentence.
const shortName = 16

// string searches a string given as JSON, with its quotes or without.
func (w *walker) string(raw []byte) {
	if w.known == nil {
		w.read(raw)
		return
	}
	sum := maphash.Bytes(w.known.seed, raw)
	if len(w.found) == maxFindings || w.known.strings.has(sum) {
		return
	}
	n := len(w.found)
	if w.read(raw); n == len(w.found) {
		w.known.strings.add(sum)
	}
}

func (w *walker) read(raw []byte) {
	if bytes.IndexByte(raw, '\\') < 0 {
		if g := glanceAt(raw); g.plain() {
			return
		}
		w.found = search(strings.Trim(string(raw), `"`), w.found, string(w.at))
		return
	}
	quoted := raw
	if raw[0] != '"' {
		w.text = append(append(append(w.text[:0], '"'), raw...), '"')
		quoted = w.text
	}
	w.found = search(string(jsonscan.Trusted(quoted).AppendText(nil)), w.found, string(w.at))
}

// appendToken appends a member name as a token of a JSON pointer (RFC 6901 §3).
func appendToken(dst, name []byte) []byte {
	for _, c := range name {
		switch c {
		case '~':
			dst = append(dst, '~', '0')
		case '/':
			dst = append(dst, '~', '1')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// search adds to found what one text has, at most one of a kind.
func search(text string, found []Finding, at string) []Finding {
	if len(text) > maxSearched {
		text = text[:maxSearched]
	}
	if len(found) >= maxFindings {
		return found
	}
	first := glanceAt([]byte(text))
	if first.plain() {
		return found
	}
	mark := len(found)
	add := func(kind Kind, quote string) {
		if len(found) < maxFindings && !slices.ContainsFunc(found[mark:], func(f Finding) bool { return f.Kind == kind }) {
			found = append(found, Finding{kind, at, Visible(strings.TrimSpace(quote), maxQuote)})
		}
	}
	forms := forms(text, &first)
	for _, f := range forms {
		g := glanceAt([]byte(f.text))
		for i := range rules {
			r := &rules[i]
			if !g.may.has(i) || first.foreign && r.foreign != f.foreign || f.names && r.kind == Sensitive {
				continue
			}
			if m := r.match(f.text); m != "" {
				add(r.kind, m)
			}
		}
	}
	if first.long {
		if inner := decoded(text); inner != "" {
			add(Encoded, inner)
		}
	}
	return found
}

// match returns what the rule finds in s; "": nothing.
func (r *rule) match(s string) string {
	if !r.filter().allows(s) {
		return ""
	}
	for _, m := range r.expr().FindAllString(s, 4) {
		if !strings.HasSuffix(strings.TrimRight(m, "."), ".pub") { // a public key is meant to be read
			return m
		}
	}
	return ""
}

// Visible returns at most n bytes of s with every character escaped that a person
// would not see: \u200b. It is for messages that quote text of others.
func Visible(s string, n int) string {
	var b strings.Builder
	for _, r := range s {
		mark := b.Len()
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case unseen(r) || isJoiner(r) || isStyle(r) || !unicode.IsPrint(r):
			if r > 0xffff {
				b.WriteString(`\U` + hexOf(r, 8))
			} else {
				b.WriteString(`\u` + hexOf(r, 4))
			}
		default:
			b.WriteRune(r)
		}
		if b.Len() > n {
			return b.String()[:mark] + "…"
		}
	}
	return b.String()
}

func hexOf(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(width-len(s), 0)) + s
}
