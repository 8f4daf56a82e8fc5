package snapshot

import (
	"strings"
	"unicode"
)

// maxSentence bounds what a found tool says of itself, in bytes.
const maxSentence = 160

// FirstSentence is the first sentence or line of a description.
func FirstSentence(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	if len(s) <= maxSentence {
		return s
	}
	cut := strings.LastIndexFunc(s[:maxSentence], unicode.IsSpace)
	if cut < maxSentence/2 {
		for cut = maxSentence; s[cut]&0xC0 == 0x80; cut-- {
		}
	}
	return s[:cut] + " …"
}
