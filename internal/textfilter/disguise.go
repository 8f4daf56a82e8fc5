package textfilter

import (
	"cmp"
	"html"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// form is one way to understand a text.
type form struct {
	text    string
	names   bool // names were taken apart: those of files are none any more
	foreign bool // its letters were not made Latin
}

// forms are the ways in which a reader may understand text: as it stands, and, where it
// looks like it, without spaces or hyphens between letters, with letters for digits, as
// words in names, and without escapes. The last one of a text that is not all ASCII has
// its letters as they are, in the others those that look Latin are.
func forms(text string, g *glance) []form {
	read := func(s string) form { return form{text: fold(s, g.foreign)} }
	latin := read(text)
	out := []form{latin}
	if g.spaced {
		joined := read(join(text))
		out = append(out, joined, form{text: hyphened().ReplaceAllString(joined.text, "$1")}, form{text: joinFolded(latin.text)})
	}
	if g.disguised {
		out = append(out, form{text: digits.Replace(latin.text)})
	}
	if g.named && g.any {
		words := read(named().ReplaceAllString(text, "$1$2 $3"))
		words.names = true
		out = append(out, words)
	}
	if g.escaped {
		if plain := unescape(text); plain != text {
			out = append(out, form{text: fold(plain, true)})
		}
	}
	if g.foreign {
		out = append(out, form{text: fold(text, false), foreign: true})
	}
	return out
}

var (
	// named are the bounds of words in a name: read_all_keys, readAllKeys.
	named = expression(`([A-Za-z])[_-]+|([a-z])([A-Z])`)
	// hyphened are hyphens in a word.
	hyphened = expression(`([a-z])-\b`)
	// unicoded are characters as source text writes them.
	unicoded = expression(`\\(?:u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})`)
	percent  = expression(`(?:%[0-9a-fA-F]{2})+`)
)

// unescape resolves what HTML, URLs and source text write for characters.
func unescape(text string) string {
	text = html.UnescapeString(text)
	if strings.IndexByte(text, '%') >= 0 {
		text = percent().ReplaceAllStringFunc(text, func(m string) string {
			if plain, err := url.PathUnescape(m); err == nil && utf8.ValidString(plain) {
				return plain
			}
			return m
		})
	}
	if strings.IndexByte(text, '\\') >= 0 {
		text = unicoded().ReplaceAllStringFunc(text, func(m string) string {
			n, err := strconv.ParseUint(strings.Trim(m[2:], "{}"), 16, 32)
			if err != nil || n > unicode.MaxRune {
				return m
			}
			return string(rune(n))
		})
	}
	return text
}

// spaced are letters with something between each two of them, letters the same of text
// in which several spaces may part the words.
var (
	spaced  = expression(`(?:\b[a-z](?: |\.|-|_|\*)){5,}`)
	letters = expression(`\b[A-Za-z](?:(?: [A-Za-z]\b){2,}|(?:\.[A-Za-z]\b){2,}|(?:-[A-Za-z]\b){2,}|(?:\*[A-Za-z]\b){2,}|(?:_[A-Za-z]){2,}\b)`)
)

// join takes what stands between spaced letters away, where words stand further apart.
func join(s string) string {
	return letters().ReplaceAllStringFunc(s, func(m string) string {
		out := make([]byte, 0, len(m)/2+1)
		for i := 0; i < len(m); i += 2 {
			out = append(out, m[i])
		}
		return string(out)
	})
}

// joinFolded is join for text whose words are not further apart than its letters.
func joinFolded(s string) string {
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
		case latin && r >= 0x300 && r < 0x370: // marks above and below letters
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
