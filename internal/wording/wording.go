// Package wording splits names into words and knows the singular of English nouns. It
// chooses no names: packages plugins/openapi and admin/toolset/suggest/naming do.
package wording

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of a text that is split: names come from strangers, and no name says more.
const (
	maxText  = 512 // bytes
	maxWords = 64
)

// Split parts a name at case changes and at everything that is not a letter or
// digit, lower case, with Latin letters as [ASCII] has them. Other letters outside of ASCII
// are dropped.
func Split(s string) []string {
	var out []string
	var w []byte
	capital := false // a capital letter alone parted the word from the one before
	flush := func() {
		if len(w) > 0 && len(out) < maxWords {
			word := string(w)
			if capital && len(out) > 0 {
				if brand, ok := brands[[2]string{out[len(out)-1], word}]; ok {
					out, word = out[:len(out)-1], brand
				}
			}
			out = append(out, word)
		}
		w, capital = w[:0], false
	}
	rs := []rune(ASCII(s[:min(len(s), maxText)]))
	for i, r := range rs {
		switch {
		case 'a' <= r && r <= 'z':
			w = append(w, byte(r))
		case '0' <= r && r <= '9':
			w = append(w, byte(r))
		case 'A' <= r && r <= 'Z':
			// A new word starts at "aB" and at the last capital of "ABc".
			before := i > 0 && (unicode.IsLower(rs[i-1]) || unicode.IsDigit(rs[i-1]))
			after := i > 0 && i+1 < len(rs) && unicode.IsUpper(rs[i-1]) && unicode.IsLower(rs[i+1])
			if after && rs[i+1] == 's' && (i+2 == len(rs) || !unicode.IsLower(rs[i+2])) {
				after = false // the plural of an abbreviation: "IDs"
			}
			if before || after {
				flush()
				capital = true
			}
			w = append(w, byte(r-'A'+'a'))
		case r == '\'':
		default:
			flush()
		}
	}
	flush()
	return out
}

// letters are those of Latin scripts that are not letters of ASCII with a mark.
var letters = strings.NewReplacer("ß", "ss", "ẞ", "SS", "æ", "ae", "Æ", "AE", "œ", "oe", "Œ", "OE", "ø", "o", "Ø", "O", "ł", "l", "Ł", "L", "đ", "d", "Đ", "D",
	"ð", "d", "Ð", "D", "þ", "th", "Þ", "TH", "ı", "i", "ħ", "h", "Ħ", "H", "ŧ", "t", "Ŧ", "T", "ŋ", "n", "Ŋ", "N")

// ASCII writes Latin letters without their marks, as people do where they cannot write them:
// "récupérerPogodę" is recupererPogode. What is of another script stays.
func ASCII(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(letters.Replace(s)) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Dedupe drops a word that repeats the one before.
func Dedupe(ws []string) []string {
	return slices.CompactFunc(ws, func(a, b string) bool { return a == b })
}

// irregular are plurals that the rules of Singular would spoil.
var irregular = map[string]string{
	"aliases": "alias", "statuses": "status", "buses": "bus", "bonuses": "bonus", "viruses": "virus", "campuses": "campus", "censuses": "census",
	"atlases": "atlas", "canvases": "canvas", "gases": "gas", "lenses": "lens", "biases": "bias", "focuses": "focus", "radiuses": "radius",
	"choruses": "chorus", "corpuses": "corpus", "pluses": "plus", "surpluses": "surplus", "caucuses": "caucus", "geniuses": "genius", "irises": "iris",
	"substatuses": "substatus", "analyses": "analysis", "diagnoses": "diagnosis", "crises": "crisis", "hypotheses": "hypothesis", "theses": "thesis",
	"synopses": "synopsis", "parentheses": "parenthesis", "emphases": "emphasis", "axes": "axis", "indices": "index", "matrices": "matrix",
	"vertices": "vertex", "appendices": "appendix", "quizzes": "quiz", "movies": "movie", "cookies": "cookie", "selfies": "selfie", "zombies": "zombie",
	"calories": "calorie", "pies": "pie", "ties": "tie", "lies": "lie", "caches": "cache", "niches": "niche", "headaches": "headache", "heroes": "hero",
	"echoes": "echo", "potatoes": "potato", "tomatoes": "tomato", "vetoes": "veto", "people": "person", "children": "child", "men": "man", "women": "woman",
	"geese": "goose", "mice": "mouse", "teeth": "tooth", "feet": "foot", "shelves": "shelf", "halves": "half", "wolves": "wolf", "wives": "wife",
	"lives": "life", "knives": "knife", "thieves": "thief", "selves": "self",
}

// unchanging end like plurals and have no singular that means the same, or are
// abbreviations.
var unchanging = map[string]bool{
	"series": true, "species": true, "news": true, "analytics": true, "statistics": true, "diagnostics": true, "logistics": true, "physics": true,
	"graphics": true, "demographics": true, "sales": true, "savings": true, "earnings": true, "goods": true, "means": true, "headquarters": true,
	"kubernetes": true, "postgres": true, "redis": true, "jenkins": true, "windows": true, "always": true, "https": true, "dns": true, "aws": true,
	"sms": true, "mms": true, "tls": true, "css": true, "cors": true, "gps": true, "rss": true, "ics": true, "ios": true, "macos": true, "saas": true,
	"paas": true, "iaas": true, "apns": true, "hls": true, "kms": true, "iops": true, "devops": true, "rights": true, "whois": true, "pos": true,
	"chaos": true, "cosmos": true, "kudos": true, "lens": true, "gas": true, "bias": true, "alias": true, "atlas": true, "canvas": true, "christmas": true,
}

// Singular is the singular of a noun; what no rule is known for stays.
func Singular(w string) string {
	if one, ok := irregular[w]; ok {
		return one
	}
	switch {
	case len(w) < 4, unchanging[w], strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"), strings.HasSuffix(w, "news"):
		return w
	case strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "zzes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

// brands are names whose own capitals begin no word, in lower case, by their parts.
var brands = map[[2]string]string{
	{"o", "auth"}: "oauth", {"o", "auth1"}: "oauth1", {"o", "auth2"}: "oauth2", {"git", "hub"}: "github", {"git", "lab"}: "gitlab", {"i", "os"}: "ios",
	{"mac", "os"}: "macos", {"graph", "ql"}: "graphql", {"open", "id"}: "openid", {"my", "sql"}: "mysql", {"no", "sql"}: "nosql", {"you", "tube"}: "youtube",
	{"pay", "pal"}: "paypal", {"linked", "in"}: "linkedin", {"whats", "app"}: "whatsapp", {"java", "script"}: "javascript", {"i", "pv4"}: "ipv4", {"i", "pv6"}: "ipv6",
	{"ip", "v4"}: "ipv4", {"ip", "v6"}: "ipv6", {"o", "data"}: "odata", {"o", "embed"}: "oembed",
}
