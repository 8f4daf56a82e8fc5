package textfilter

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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
)

// Finding is a part of a text that is written for a model.
type Finding struct {
	Kind  Kind
	At    string // JSON pointer in the document; "" of a text
	Quote string // what was found, printable
}

// Find looks for sentences that are written for a model instead of for the reader of a
// description. It knows English, and of a few other languages the most common
// sentence. Letters that only look Latin, invisible characters, spaced letters and
// digits in place of letters do not hide one from it. The findings are in the order
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
	lower := fold(text, false)
	latin := lower
	if first.foreign {
		latin = fold(text, true)
	}
	forms := []string{latin}
	if first.spaced {
		forms = append(forms, join(latin))
	}
	if first.disguised {
		forms = append(forms, digits.Replace(latin))
	}
	if first.foreign {
		forms = append(forms, lower)
	}
	for i, form := range forms {
		g := glanceAt([]byte(form))
		for j := range rules {
			r := &rules[j]
			if first.foreign && r.foreign != (i == len(forms)-1) || !g.has(r) {
				continue
			}
			if m := r.match(form); m != "" {
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
	for _, m := range r.expr().FindAllString(s, 4) {
		if !strings.HasSuffix(strings.TrimRight(m, "."), ".pub") { // a public key is meant to be read
			return m
		}
	}
	return ""
}

// spaced are letters with something between each two of them.
var spaced = lazily(`(?:\b[a-z](?: |\.|-|_|\*)){5,}`)

// join takes what stands between spaced letters away.
func join(s string) string {
	return spaced().ReplaceAllStringFunc(s, func(m string) string {
		out := make([]byte, 0, len(m))
		for i := 0; i < len(m); i += 2 {
			out = append(out, m[i])
		}
		if m[1] != ' ' && m[len(m)-1] == ' ' { // the end of the word
			out = append(out, ' ')
		}
		return string(out)
	})
}

var digits = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")

// fold writes text in lower case, with single spaces and line feeds, without invisible
// characters; and with latin with Latin letters for those that look like them.
func fold(text string, latin bool) string {
	var b strings.Builder
	b.Grow(len(text))
	space, line := false, false
	for _, r := range text {
		switch {
		case r == '\n':
			line = true
			continue
		case unicode.IsSpace(r):
			space = true
			continue
		case r < 0x7f && r > 0x20:
		case unseen(r), isJoiner(r), isStyle(r), r >= 0x334 && r <= 0x338: // the last strike a letter through
			continue
		}
		if line {
			b.WriteByte('\n')
		} else if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space, line = false, false
		switch {
		case r < utf8.RuneSelf:
			if r >= 'A' && r <= 'Z' {
				r += 'a' - 'A'
			}
			b.WriteByte(byte(r))
			continue
		case r == '’' || r == '‘':
			r = '\''
		case latin:
			r = lookalike(r)
		default:
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// homoglyphs are letters of other scripts that look like Latin ones, each followed by
// the one that it looks like.
var homoglyphs = pairs("аaеeоoрpсcуyхxіiјjѕsԁdһhӏlԛqԝwвbнhкkмmтtгrиuпnαaβbεeηnιiκkνvοoρpτtυuχxγyѵvɡgıiօoսuցgⅼlⅿmⅰiⅴvⅹxɪiɢgɴnᴏoʀrᴇeᴀaʟlᴘpᴠvᴜuᴄcᴅdᴋkᴍmʙbꜱsᴛtʏyᴡw")

func pairs(s string) map[rune]rune {
	rs := []rune(s)
	out := make(map[rune]rune, len(rs)/2)
	for i := 0; i < len(rs); i += 2 {
		out[rs[i]] = rs[i+1]
	}
	return out
}

// lookalike is the Latin letter that r looks like, in lower case; r itself otherwise.
func lookalike(r rune) rune {
	switch {
	case r >= 0xff01 && r <= 0xff5e: // fullwidth
		r -= 0xff01 - '!'
	case r >= 0x1d400 && r <= 0x1d6a3: // mathematical alphabets, each of 52 letters
		r = 'a' + (r-0x1d400)%26
	case r >= 0x1f130 && r <= 0x1f149: // squared
		r = 'a' + r - 0x1f130
	case r >= 0x24b6 && r <= 0x24e9: // circled
		r = 'a' + (r-0x24b6)%26
	case r >= 0xc0 && r < 0x180: // letters with marks
		r = unicode.ToLower(r)
		if i := strings.IndexRune("àáâãäåçèéêëìíîïñòóôõöøùúûüýÿ", r); i >= 0 {
			return rune("aaaaaaceeeeiiiinoooooouuuuyy"[i/2])
		}
	}
	r = unicode.ToLower(r)
	return cmp.Or(homoglyphs[r], r)
}

var (
	base64Run = lazily(`[A-Za-z0-9+/_-]{` + strconv.Itoa(minEncoded) + `,}={0,2}`)
	hexRun    = lazily(`(?:[0-9a-fA-F]{2}[ :]?){` + strconv.Itoa(minEncoded) + `,}`)
)

// decoded is prose that text has in base64 or hexadecimal digits; "": none.
func decoded(text string) string {
	for _, m := range base64Run().FindAllString(text, maxFindings) {
		raw := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(m, "="))
		if b, err := base64.RawStdEncoding.DecodeString(raw[:len(raw)/4*4]); err == nil && prose(b) {
			return string(b)
		}
	}
	for _, m := range hexRun().FindAllString(text, maxFindings) {
		if b, err := hex.DecodeString(strings.NewReplacer(" ", "", ":", "").Replace(m)); err == nil && prose(b) {
			return string(b)
		}
	}
	return ""
}

// prose reports words with spaces between them.
func prose(b []byte) bool {
	letters := 0
	for _, c := range b {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c == ' ':
			letters++
		case c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f:
			return false
		}
	}
	return bytes.Count(b, []byte{' '}) >= 3 && letters*5 >= len(b)*4
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
