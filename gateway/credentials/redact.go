package credentials

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// minRedact is the shortest secret that is looked for: a shorter one would be
// found in ordinary words.
const minRedact = 8

// Redact returns body with every occurrence of the secret replaced: an API that
// repeats what it was sent must not hand the key to the agent, nor to a plugin, a
// log or a sample of failures. A secret is found as it is, and with characters
// written as URLs, JSON (also JSON in a string of JSON), HTML and programming languages
// write them; of Basic, the user name and password in base64 and the password are. It is
// also found in base64 and base64url, at each of the three places it can have in a longer
// text, once and twice, in base32 and base32hex, at each of their five places, in hexadecimal
// digits, together or as a list, in a list of decimal numbers, and backwards; and in base64 of
// UTF-16, of JSON, of digits and of itself backwards, in digits of UTF-16 and of base64, and
// in base64 that is backwards. Capital and small
// ASCII letters are the same, but in base64, where they are
// other values. Escapes of its letters and digits are found where the longest run of them
// is escaped as a whole. Other encodings of a
// secret are not known here. It returns body itself when there is none, which is
// nearly always; otherwise a copy. Of base64 and base32, a character that also holds
// bits of a neighbour stays.
//
// It is faster with a credential that [Redactors.Prepare] returned, and allocates
// nothing then unless it finds something.
func (r Rule) Redact(body []byte, c Credential) []byte {
	switch {
	case !r.sends():
		return body
	case c.redactor != nil:
		return c.redactor.redact(body)
	}
	return newRedactor(r.Type, c.Value).redact(body)
}

// sends reports whether the value is in requests; a private key never is.
func (r Rule) sends() bool { return r.Type != None && r.Type != Certificate }

// Redact is [Rule.Redact] with each of the values. It also finds a secret that characters
// split which nobody sees, and which are removed before an agent or a person reads the text:
// body is without them then. And it finds one in lines, such as those of MIME, and one with
// joiners between its characters.
func (b *Bound) Redact(body []byte) []byte {
	body = b.redact(body)
	if len(b.Values) == 0 || len(body) < minRedact || ordinary(body) {
		return body
	}
	if splits(body) {
		body = b.redactSplit(body)
	}
	if parted(body) {
		body = b.redactParted(body)
	}
	return body
}

// redactSplit is body without what nobody sees, when a secret is in it then.
func (b *Bound) redactSplit(body []byte) []byte {
	clean := textfilter.AppendJSON(nil, body)
	if textfilter.Index(clean) >= 0 { // it is not JSON
		clean = textfilter.Append(nil, clean)
	}
	if found := b.redact(clean); len(found) != len(clean) || !bytes.Equal(found, clean) {
		return found
	}
	return body
}

func (b *Bound) redact(body []byte) []byte {
	for i := range b.Values {
		body = b.Rules[i].Redact(body, b.Values[i])
	}
	return body
}

// appendInner appends the characters of base64 that depend on the secret alone when
// skip bytes stand in front of it; with url in the alphabet of URLs, and then nothing
// when that is the same.
func appendInner(dst, secret []byte, skip int, url bool) []byte {
	var room [256]byte
	plain := append(append(room[:0], 0, 0)[:skip], secret...)
	mark := len(dst)
	dst = base64.RawStdEncoding.AppendEncode(dst, plain)
	from, to := mark, len(dst)
	if skip > 0 {
		from += skip + 1 // it holds the end of what stands in front
	}
	if len(plain)%3 != 0 {
		to-- // it holds the beginning of what stands behind
	}
	n := copy(dst[mark:], dst[from:to])
	dst = dst[:mark+n]
	if !url {
		return dst
	}
	other := false
	for i, c := range dst[mark:] {
		switch c {
		case '+':
			dst[mark+i], other = '-', true
		case '/':
			dst[mark+i], other = '_', true
		}
	}
	if !other {
		return dst[:mark]
	}
	return dst
}

// appendInner32 is appendInner for base32 (RFC 4648), where up to four bytes in front
// change what stands for the secret.
func appendInner32(dst, secret []byte, skip int) []byte {
	plain := append(make([]byte, skip, skip+len(secret)), secret...)
	text := base32.StdEncoding.WithPadding(base32.NoPadding).AppendEncode(nil, plain)
	from, to := (skip*8+4)/5, len(plain)*8/5
	return append(dst, text[from:to]...)
}

// written is a way to write one byte: its digits between other characters.
type written struct {
	before      string
	base, width int // width is the least number of digits
	after       string
}

// escapeFormats are ways in which a character is escaped; those with a backslash are there
// for text and for text in a string of JSON, and that of JSON for another string around it.
var escapeFormats = [...]written{
	{"%", 16, 2, ""},
	{"%25", 16, 2, ""},
	{"%2525", 16, 2, ""},
	{"=", 16, 2, ""}, // quoted-printable (RFC 2045, §6.7)
	{`\u`, 16, 4, ""},
	{`\\u`, 16, 4, ""},
	{`\\\\u`, 16, 4, ""},
	{`\u`, 16, 8, ""},
	{`\\u`, 16, 8, ""},
	{`\u{`, 16, 1, "}"},
	{`\\u{`, 16, 1, "}"},
	{`\x`, 16, 2, ""},
	{`\\x`, 16, 2, ""},
	{`\`, 8, 3, ""},
	{`\\`, 8, 3, ""},
	{"&#", 10, 1, ";"},
	{"&#", 10, 3, ";"},
	{"&#", 10, 4, ";"},
	{"&#", 10, 1, ""},
	{"&#x", 16, 1, ";"},
	{"&#x", 16, 4, ";"},
	{"&#x", 16, 1, ""},
	{"&amp;#", 10, 1, ";"},
	{"&amp;#x", 16, 1, ";"},
	// As Go writes those in JSON.
	{`\u0026#`, 10, 1, ";"},
	{`\u0026#`, 10, 3, ";"},
	{`\u0026#`, 10, 4, ";"},
	{`\u0026#`, 10, 1, ""},
	{`\u0026#x`, 16, 1, ";"},
	{`\u0026#x`, 16, 4, ";"},
	{`\u0026#x`, 16, 1, ""},
}

func (w *written) append(dst []byte, c byte) []byte {
	var room [8]byte
	digits := strconv.AppendUint(room[:0], uint64(c), w.base)
	dst = append(dst, w.before...)
	for range w.width - len(digits) {
		dst = append(dst, '0')
	}
	return append(append(dst, digits...), w.after...)
}

// escapes are the longest run of letters and digits of a secret in the ways in which they
// are escaped although nobody needs to, in small letters; of the whole secret when the
// run is too short to look for.
func escapes(secret []byte) [][]byte {
	run := longestPlain(secret)
	if len(run)*len("%2f") < minGrams {
		run = secret
	}
	run = run[:min(len(run), probeBytes)]
	all := make([][]byte, len(escapeFormats))
	for i := range escapeFormats {
		for _, c := range run {
			all[i] = escapeFormats[i].append(all[i], c)
		}
	}
	return all
}

// lowered is b in small letters.
func lowered(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		out[i] = lower(c)
	}
	return out
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// span is a part of a text.
type span struct{ from, to int }

// redact replaces one form of a secret.
func (f *form) redact(body []byte) []byte { return replace(body, f.spans(nil, body)) }

// replace replaces parts of a text, which are in order and apart; without any it returns
// the text itself.
func replace(body []byte, parts []span) []byte {
	if len(parts) == 0 {
		return body
	}
	var out []byte
	kept := 0 // what is before it is in out
	for _, p := range parts {
		out = append(append(out, body[kept:p.from]...), secrets.Redacted...)
		kept = p.to
	}
	return append(out, body[kept:]...)
}

// spans appends where body has the secret in this form.
func (f *form) spans(dst []span, body []byte) []span {
	if !f.in(body) {
		return dst
	}
	whole := !f.fold && len(f.probe) == len(f.text) // there is one way to write it
	first := f.text[0]
	for i := 0; i < len(body); {
		n := 0
		if whole {
			at := bytes.Index(body[i:], f.text)
			if at < 0 {
				break
			}
			i, n = i+at, len(f.text)
		} else if c := body[i]; c == first || f.fold && lower(c) == first || c == '\\' || c == '%' || c == '&' || c == '+' || c == '=' { // it may begin here
			n = encodedPrefix(body[i:], f.text, f.fold)
		}
		if n == 0 {
			i = max(i+1, backslashes(body, i)) // what does not begin at the first of them begins at none
			continue
		}
		dst = append(dst, span{i, i + n})
		i += n
	}
	return dst
}

// in reports whether body may have the secret in this form.
func (f *form) in(body []byte) bool {
	if !f.fold {
		return bytes.Contains(body, f.probe)
	}
	return containsFold(body, f.probe) || slices.ContainsFunc(f.escaped, func(p []byte) bool { return containsFold(body, p) })
}

// containsFold reports whether text has probe, which is in small letters and digits, in
// letters of any case. It looks for a digit where probe has one, as digits have no case.
func containsFold(text, probe []byte) bool {
	if len(probe) == 0 {
		return true
	}
	anchor := max(0, bytes.IndexAny(probe, "0123456789"))
	small := probe[anchor]
	large := small
	if small >= 'a' && small <= 'z' {
		large -= 'a' - 'A'
	}
	nextSmall, nextLarge := -1, -1 // the first at or behind from, -1: not known, len(text): none
	for from := anchor; from < len(text); from++ {
		if nextSmall < from {
			nextSmall = indexFrom(text, small, from)
		}
		if nextLarge < from {
			if nextLarge = nextSmall; large != small {
				nextLarge = indexFrom(text, large, from)
			}
		}
		if from = min(nextSmall, nextLarge); from >= len(text) {
			return false
		}
		if prefixFold(text[from-anchor:], probe) {
			return true
		}
	}
	return false
}

// indexFrom is where c is next in text; its length when it is not.
func indexFrom(text []byte, c byte, from int) int {
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// prefixFold reports whether text begins with probe, which is in small letters.
func prefixFold(text, probe []byte) bool {
	if len(text) < len(probe) {
		return false
	}
	for i, c := range probe {
		if lower(text[i]) != c {
			return false
		}
	}
	return true
}

// longestPlain is the longest run in s of characters that every encoding leaves as
// they are; empty when there is none.
func longestPlain(s []byte) []byte {
	var best []byte
	start := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && plain(s[i]) {
			continue
		}
		if i-start > len(best) {
			best = s[start:i]
		}
		start = i + 1
	}
	return best
}

func plain(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
