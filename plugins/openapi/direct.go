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
	lets = regexp.MustCompile(`^(?:[Tt]his|[Tt]he) (?:API )?(?:endpoint|operation|method|API|call|request|service|resource|route|function) (?:call )?(?:(?:allows?|lets?|enables?) (?:you|users?|clients?|the user|the client|the caller) (?:to )?|(?:is|can be) used to )`)
	// does is "This endpoint returns a list of keys."
	does = regexp.MustCompile(`^(?:[Tt]his|[Tt]he) (?:API )?(?:endpoint|operation|method|API|call|request|route|function) (?:call )?(?:will )?` +
		`((?:return|list|get|retrieve|fetche|create|add|update|change|edit|modifie|replace|set|delete|remove|send|trigger|start|stop|cancel|search|searche|find|generate|upload|download|export|import|validate|calculate)s? )`)
	// uses is "Use this endpoint to list keys."
	uses = regexp.MustCompile(`^(?:You can )?[Uu]se this (?:API )?(?:endpoint|operation|method|API|call|request|service|resource|route|function)(?: call)? to `)
	// scopes are for who sets up the credential, who reads them there; limits are classes of
	// a vendor that tell no number; requested is how a request is written.
	scopes    = regexp.MustCompile(`(?:^|\b)(?:Scoped OAuth requires: ?(?:[a-z][a-z_]*\.[a-z][a-z_]*(?:, or |, | or | and |\.? |\.?$))+|(?:Required |OAuth |Granular )*[Ss]copes?: ?(?:[a-z][a-z_.-]*:[a-z][a-z_.:-]*[a-z](?:, or |, | or | and |\.? |\.?$))+)`)
	limits    = regexp.MustCompile(`(?:^|\b)Rate [Ll]imit (?:[Ll]abel|[Cc]ategory|[Cc]lass|[Tt]ier): ?[A-Z][a-z-]+ ?[0-9]?(?:\.|$| )`)
	requested = regexp.MustCompile(` by (?:making|sending|issuing) an? (?:GET|POST|PUT|PATCH|DELETE) request (?:on|to) the URL (?:for|of) (?:the|that|this|a) [a-z ]{1,40}`)
)

// bare leaves out of a plain text what no caller can use.
func bare(text string) string {
	if len(text) > maxPlainInput {
		return text
	}
	for _, r := range [...]struct {
		*regexp.Regexp
		needs string // which it does not match without
	}{{scopes, "cope"}, {limits, "Rate "}, {requested, " request "}} {
		if strings.Contains(text, r.needs) && r.MatchString(text) {
			text = unpointed(strings.TrimSpace(r.ReplaceAllString(text, ""))) // what led to them may have had no end
		}
	}
	return text
}

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
	if m := does.FindStringSubmatchIndex(head); m != nil {
		return capital(text[m[2]:])
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
		if next := strings.TrimLeft(rest[:end], " "); saysMore(wording.Split(next), "") {
			out += rest[:end-len(next)] + direct(next)
		}
		rest = rest[end:]
	}
	return out
}

// covers reports whether a description begins with what the summary says, but for
// articles and endings.
func covers(text, summary string) bool {
	said, is := wordsOf(text[:min(len(text), len(summary)+maxDirect)]), wordsOf(summary)
	return len(is) > 0 && len(said) >= len(is) && slices.EqualFunc(said[:len(is)], is, func(a, b string) bool { return a == b || stem(a) == stem(b) })
}

func wordsOf(s string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '/'
	}), func(w string) bool { return plainWords[w] })
}

// plainWords tell nothing of one thing from another in the first words of a text.
var plainWords = wordSet("a an the new given specific specified existing single")

// stem is a word without the ending that its use in a sentence gives it: "creates",
// "created" and "create" are one.
func stem(w string) string {
	const shortest = 3
	w = wording.Singular(w)
	for _, end := range [...]string{"ing", "ed", "es", "e", "s"} {
		if rest, ok := strings.CutSuffix(w, end); ok && len(rest) >= shortest {
			return rest
		}
	}
	return w
}
