package openapi

import (
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// Texts that names, dates, ids and patterns of real specifications take.
var plainTexts = []string{"a", "abc", "example", "x1"}

var oddTexts = []string{"a b", "ä&b=c", "50%", "a/b?c#d", "x+y", "it's", "\"q\"", "a,b|c", "[1]"}

var shapes = []string{
	"1", "12", "123", "1234", "12345", "123456", "1234567890", "a1", "A", "AB", "ABC", "USD", "en", "en-US", "US", "A1", "2026-01-02", "2026-01-02T03:04:05Z", "10:20", "10:20:30",
	"01234567-89ab-4def-8123-456789abcdef", "user@example.com", "https://example.com/a", "http://example.com", "127.0.0.1", "10.0.0.0/24", "+15551234567", "#aabbcc", "aabbcc",
	"1.0", "1.0.0", "1.2.3", "0.5", "10.00", "true", "a-b", "a_b", "a.b", "a:b", "/a", "/a/b", "a/b", "a,b", "10s", "1h", "5m", "P1D", "PT1H", "0123456789abcdef", "0123456789abcdef01234567",
	"0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef01234567", "0x1234567890abcdef1234567890abcdef12345678", "00:11:22:33:44:55", "arn:aws:iam::123456789012:role/a", "aGVsbG8=",
	"abcdefghijkl", "abcdefghijklmnopqrst", "a@b", "key=value", "*", "@me", "$a", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "1000000000000000000", "projects/a", "asc", "-1", "", "abcd1234", "Abcdef1!",
}

// matching is a text that a pattern is likely to match: of a repetition the fewest, and
// of a class one that is easy to read.
func (g *generator) matching(re *syntax.Regexp) string {
	var b strings.Builder
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for _, easy := range "aA1x0" {
				if re.Rune[i] <= easy && easy <= re.Rune[i+1] {
					return string(easy)
				}
			}
		}
		if len(re.Rune) > 0 {
			b.WriteRune(max(re.Rune[0], '!'))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus:
		b.WriteString(g.matching(re.Sub[0]))
	case syntax.OpRepeat:
		b.WriteString(strings.Repeat(g.matching(re.Sub[0]), max(re.Min, 1)))
	case syntax.OpAlternate:
		b.WriteString(g.matching(re.Sub[g.r.IntN(len(re.Sub))]))
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			b.WriteString(g.matching(sub))
		}
	}
	return b.String()
}

func (g *generator) text(a *all, kind string) any {
	if g.files && (a.format == "binary" || a.format == "byte" || kind == "file" || strings.HasPrefix(a.media, "image/")) {
		return fileValue("content of a file\r\n--" + strconv.Itoa(g.r.IntN(100)))
	}
	lo, _ := whole(a.bounds["minLength"])
	hi, bounded := whole(a.bounds["maxLength"])
	if lo > 4000 {
		g.stuck = "a long text"
		return nil
	}
	if a.format == "byte" || a.format == "base64" {
		return "aGVsbG8="
	}
	first := map[string]string{
		"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "10:20:30Z", "uuid": "01234567-89ab-4def-8123-456789abcdef", "email": "user@example.com",
		"uri": "https://example.com/a?b=c", "url": "https://example.com/a", "ipv4": "127.0.0.1", "ipv6": "::1", "hostname": "example.com",
	}[a.format]
	fits := func(s string) bool {
		n := len([]rune(s))
		if n < lo || bounded && n > hi {
			return false
		}
		for _, p := range a.pattern {
			if re, err := regexp.Compile(p); err == nil && !re.MatchString(s) {
				return false
			}
		}
		return true
	}
	var candidates []string
	if first != "" {
		candidates = append(candidates, first)
	} else if !g.plain && g.r.IntN(3) == 0 {
		candidates = append(candidates, oddTexts[g.r.IntN(len(oddTexts))])
	}
	candidates = append(candidates, plainTexts[g.r.IntN(len(plainTexts))])
	for _, e := range a.example {
		if s, ok := e.(string); ok {
			candidates = append(candidates, s)
		}
	}
	candidates = append(candidates, strings.Repeat("a", lo), strings.Repeat("1", lo), strings.Repeat("A", lo))
	candidates = append(candidates, shapes...)
	for _, p := range a.pattern {
		if re, err := syntax.Parse(p, syntax.Perl); err == nil {
			candidates = append(candidates, g.matching(re.Simplify()))
		}
	}
	for _, s := range candidates {
		if fits(s) && (s != "" || !g.plain) {
			return s
		}
	}
	g.stuck = "a pattern that no sample matches"
	return nil
}
