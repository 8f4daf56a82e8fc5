package openapi

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/wording"
)

// Descriptions of operations often tell a programmer which request to write. An agent calls a
// tool: of such a sentence what it is for stays, and what it has to say beyond.
var (
	// sends is "To list all keys, send a GET request to /v2/keys with …".
	sends = regexp.MustCompile(`^(?:To|In order to) ([^.?!:;]{3,160}?),? (?:please )?(?:send|make|issue|perform|submit|execute|use) an? (?:HTTP )?(?:GET|POST|PUT|PATCH|DELETE|HEAD) ` +
		`(?:request|call)(?: to (?:the )?(?:endpoint )?(?:https?://\S*[^\s.,]|/(?:\S*[^\s.,])?)(?: endpoint)?)?(?:([.!]|$)|,?( (?:with|setting|using|including|containing|specifying|where|that|and|providing|supplying) ))`)
	// lets is "This endpoint allows you to list keys."
	lets = regexp.MustCompile(`^(?:[Tt]his|[Tt]he) (?:API )?(?:endpoint|operation|method|API|call|request|service|resource|route|function) (?:(?:allows?|lets?|enables?) (?:you|users?|clients?|the user|the client|the caller) (?:to )?|(?:is|can be) used to )`)
	// uses is "Use this endpoint to list keys."
	uses = regexp.MustCompile(`^(?:You can )?[Uu]se this (?:API )?(?:endpoint|operation|method|API|call|request|service|resource|route|function) to `)
)

// direct says of the first sentence of a plain text what it is for.
func direct(text string) string {
	head, rest := text[:min(len(text), maxDirect)], ""
	if m := sends.FindStringSubmatchIndex(head); m != nil {
		switch { // what is between is the request
		case m[4] >= 0:
			head, rest = text[m[2]:m[3]], text[m[4]:]
		case m[6] >= 0:
			head, rest = text[m[2]:m[3]], text[m[6]:]
		}
		return capital(head + rest)
	}
	for _, r := range [...]*regexp.Regexp{lets, uses} {
		if at := r.FindStringIndex(head); at != nil && at[1] < len(text) {
			return capital(text[at[1]:])
		}
	}
	return text
}

// maxDirect is how much of a description is searched for its first sentence.
const maxDirect = 512

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// news leaves out sentences behind the first that say no more than that what succeeds
// succeeds: "A successful request gets a 204 status code with no body."
func news(text string) string {
	end := SentenceEnd(text)
	if end < 0 || len(text) > maxPlainInput {
		return text
	}
	out, rest := text[:end], text[end:]
	for rest != "" {
		if end = SentenceEnd(rest); end < 0 {
			end = len(rest)
		}
		if saysMore(wording.Split(rest[:end]), "") {
			out += rest[:end]
		}
		rest = rest[end:]
	}
	return out
}

// covers reports whether a description begins with what the summary says, but for
// articles.
func covers(text, summary string) bool {
	said, is := wordsOf(text[:min(len(text), len(summary)+maxDirect)]), wordsOf(summary)
	return len(is) > 0 && len(said) >= len(is) && slices.Equal(said[:len(is)], is)
}

func wordsOf(s string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '/'
	}),
		func(w string) bool { return w == "a" || w == "an" || w == "the" })
}
