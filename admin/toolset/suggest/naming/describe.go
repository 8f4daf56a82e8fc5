package naming

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// Bounds of descriptions.
const (
	// maxSentences of the author that are kept: what it does, and what to know of it.
	maxSentences = 3
	// maxText of a description in bytes.
	maxText = 400
)

// What is wrong with a description.
const (
	faultNothing = "there is no description, and agents choose tools by it"
	faultRepeats = "the description repeats the name or itself"
	faultOthers  = "the description is about tokens, plans and status codes instead of what the operation does"
)

// Describe proposes a description for a tool that will have a name, with what is wrong
// with the present one; "" when that is good.
func Describe(t *Tool, name string) (text, fault string) {
	all := sentences(t.Description)
	var kept, last []string // the latter stay whatever is left out
	size := 0
	drop := func(why string) {
		if fault == "" || fault == faultRepeats {
			fault = why
		}
	}
	for i, s := range all {
		switch {
		case i == 0 && (sameLetters(s, t.Name) || sameLetters(s, t.Title) && sameLetters(t.Title, t.Name)) && len(all) > 1 && !other(all[1]):
			drop(faultRepeats)
		case other(s):
			drop(faultOthers)
		case len(kept) > 0 && repeats(s, kept):
			drop(faultRepeats)
		case i > 0 && told(s) && (len(kept) > 0 || !says(s)):
			last = append(last, s)
		case len(kept) == maxSentences || size+len(s) > maxText && len(kept) > 0:
		default:
			kept, size = append(kept, s), size+len(s)
		}
	}
	if len(kept) == 0 && len(all) > 0 && fault == "" {
		kept = all[:1]
	}
	words := strings.Split(name, "_")
	if len(kept) == 0 || len(all) == 1 && sameLetters(all[0], t.Name) && (name != t.Name || len(t.Needs) > 0) {
		kept = []string{sentence(words, t.Needs)}
		fault = faultNothing
		if len(all) > 0 {
			fault = faultRepeats
		}
	}
	kept[0] = capital(kept[0])
	text = strings.Join(append(kept, last...), " ")
	if fault == "" || text == t.Description {
		return "", ""
	}
	return text, fault
}

// sentence says what a name says, and what a call needs.
func sentence(name, needs []string) string {
	const most = 8 // more are in the schema
	s := capital(strings.Join(name, " ")) + "."
	if len(needs) > 0 {
		s += " Needs " + strings.Join(needs[:min(len(needs), most)], ", ") + "."
	}
	return s
}

// capital begins a sentence.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// sentences parts a plain text.
func sentences(s string) []string {
	const most = 40 // of 1,024 bytes
	var out []string
	for s = strings.TrimSpace(s); s != "" && len(out) < most; {
		n := openapi.SentenceEnd(s)
		if n < 0 {
			n = len(s)
		}
		out = append(out, s[:n])
		s = strings.TrimSpace(s[n:])
	}
	return out
}

// others are beginnings and words of sentences about something else than what is done.
var others = []string{
	"for more information", "see the ", "returns: success", "returns: ok", "returns: http status", "returns: no content", "returns: default response", "returns: the request", "returns: response",
	"returns: a success", "returns: typical success", "returns: standard success", "[!note]", "[!warning]", "http status", "rate limit label", "scopes:", "scope:", "required scope", "prerequisite",
	"oauth app tokens", "oauth tokens", "personal access token", "fine-grained", "github app user access tokens", "if you are looking for", "this endpoint works with", "note that this endpoint",
	"authenticated users must", "the authenticated user must", "this operation can be accessed anonymously", "this operation can only be accessed", "this command can only be accessed",
	"this method requires an access_token", "permissions required", "permission required", "permissions:", "to call this endpoint with", "returns: apiempty", "returns: empty", "returns: expected response", "returns: successful", "this endpoint supports the following custom media types",
}

// otherWithin are words of such sentences, wherever they stand.
var otherWithin = []string{"permission for the project", "security permission to ", "jira permission", "where the user has", "scope is also required"}

// other reports a sentence that is about tokens, permissions, statuses or other documents.
func other(s string) bool {
	low := strings.ToLower(strings.TrimSpace(s))
	return slices.ContainsFunc(others, func(p string) bool { return strings.HasPrefix(low, p) }) ||
		slices.ContainsFunc(otherWithin, func(p string) bool { return strings.Contains(low, p) })
}

// says reports a sentence of the author about what comes back, such as "Returns all comments of
// an issue.", which says what an operation does when nothing before it does. Those that
// name a schema have no article.
func says(s string) bool {
	w := strings.Fields(s)
	return len(w) > 2 && strings.HasPrefix(w[0], "Return") && articles[w[1]]
}

// told reports a sentence that callers need: what a body must have, what comes back, and
// that the operation is deprecated.
func told(s string) bool {
	const short = 80 // bytes of what comes back
	return s == "Deprecated." || strings.HasPrefix(s, "With a body, required") || strings.HasPrefix(s, "Needs ") || strings.HasPrefix(s, "Return") && len(s) <= short
}

// repeats reports whether every word of a sentence stands in those before.
func repeats(s string, before []string) bool {
	known := map[string]bool{}
	for _, b := range before {
		for _, w := range wording.Split(b) {
			known[stem(w)] = true
		}
	}
	return !slices.ContainsFunc(wording.Split(s), func(w string) bool { return !known[stem(w)] && !fillers[w] && !empty[w] })
}

// stem is the base form of a verb or noun, roughly.
func stem(w string) string {
	if b := baseOf(w); b != "" {
		return verbOf(b)
	}
	return wording.Singular(w)
}

// empty are words that sentences of this kind have and that say nothing.
var empty = words("this endpoint allows you your given specified existing new that their its with be can will use used using operation method api resource object objects endpoint retrieves returns which these")
