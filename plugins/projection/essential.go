package projection

import "strings"

// essential lists the words that a member's name is or ends in when its value is
// what people ask for. Rules by name and schema leave such members alone, unless
// they name them.
var essential = strings.Fields(`id key number name login email title subject summary description body text
	message state status type kind amount total price balance currency count date time _at created updated
	due priority value`)

// Essential reports whether a member's name says that its value is what people ask
// for: identity, name, text, state, time, amount. It looks at the end of the name
// whatever its case and at no word boundary: "orderid" ends in id, and that "paid"
// does too costs nothing.
func Essential(name string) bool {
	for _, w := range essential {
		if n := len(name) - len(w); n >= 0 && strings.EqualFold(name[n:], w) {
			return true
		}
	}
	return strings.HasSuffix(name, "At")
}

// words cuts a name in snake_case, kebab-case or camelCase into words in lower case.
func words(name string) []string {
	var out []string
	start := 0
	cut := func(i int) {
		if i > start {
			out = append(out, strings.ToLower(name[start:i]))
		}
		start = i
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.' || c == ' ' || c == '@':
			cut(i)
			start = i + 1
		case c >= 'A' && c <= 'Z' && i > 0 && (name[i-1] < 'A' || name[i-1] > 'Z'):
			cut(i)
		}
	}
	cut(len(name))
	return out
}

// IsURL reports whether a string is one web address and nothing else.
func IsURL(s string) bool {
	rest, ok := strings.CutPrefix(s, "http")
	if !ok {
		return false
	}
	rest = strings.TrimPrefix(rest, "s")
	return strings.HasPrefix(rest, "://") && !strings.ContainsAny(rest, " \t\n")
}
