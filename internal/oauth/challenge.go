package oauth

import (
	"strings"
)

// maxChallenge is how much of a WWW-Authenticate header is read, in bytes: a list
// of a hundred scopes fits.
const maxChallenge = 8 << 10

// Challenge is what a protected resource wants of a request that it refused
// (RFC 6750 §3, RFC 9728 §5.1). Everything in it comes from outside.
type Challenge struct {
	ResourceMetadata string   // URL of its metadata; "": not said
	Scopes           []string // that it wants; empty: not said
	Error            string   // "insufficient_scope", "invalid_token", …; "": none
}

// ParseChallenge reads the first Bearer challenge of a WWW-Authenticate header;
// ok is false when there is none. A header that ends in the middle gives what
// stands before. Scopes that are none (RFC 6749 §3.3) are left out.
func ParseChallenge(header string) (c Challenge, ok bool) {
	rest := header[:min(len(header), maxChallenge)]
	for rest != "" {
		var scheme string
		rest = strings.TrimLeft(rest, " \t,")
		scheme, rest = cutToken(rest)
		if scheme == "" {
			return c, false
		}
		mine := strings.EqualFold(scheme, "Bearer")
		rest = strings.TrimLeft(rest, " \t")
		for {
			name, value, after, found := cutParameter(rest)
			if !found {
				rest = skipBlob(rest)
				break
			}
			rest = after
			if mine {
				c.set(name, value)
			}
		}
		if mine {
			return c, true
		}
	}
	return c, false
}

func (c *Challenge) set(name, value string) {
	switch strings.ToLower(name) {
	case "resource_metadata":
		c.ResourceMetadata = value
	case "scope":
		c.Scopes = ValidScopes(strings.Fields(value))
	case "error":
		c.Error = clean(value)
	}
}

// cutParameter takes name=value, with the comma before it, from the front of s;
// found is false when the next thing is something else, such as another scheme.
func cutParameter(s string) (name, value, rest string, found bool) {
	rest = strings.TrimLeft(s, " \t,")
	if name, rest = cutToken(rest); name == "" {
		return "", "", s, false
	}
	rest = strings.TrimLeft(rest, " \t")
	if !strings.HasPrefix(rest, "=") {
		return "", "", s, false
	}
	rest = strings.TrimLeft(rest[1:], " \t")
	if strings.HasPrefix(rest, `"`) {
		value, rest = cutQuoted(rest[1:])
		return name, value, rest, true
	}
	if value, rest = cutToken(rest); value == "" {
		return "", "", s, false // token68, as of Negotiate
	}
	return name, value, rest, true
}

// cutQuoted takes a quoted-string (RFC 9110 §5.6.4) whose first quote is gone.
func cutQuoted(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// cutToken takes a token (RFC 9110 §5.6.2) from the front of s.
func cutToken(s string) (token, rest string) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] >= 'A' && s[i] <= 'Z' || s[i] >= 'a' && s[i] <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~:/", s[i]) >= 0) {
		i++
	}
	return s[:i], s[i:]
}

// skipBlob goes to the next challenge: behind a comma.
func skipBlob(s string) string {
	trimmed := strings.TrimLeft(s, " \t,")
	if len(trimmed) < len(s) && strings.Contains(s[:len(s)-len(trimmed)], ",") {
		return trimmed
	}
	_, rest, found := strings.Cut(trimmed, ",")
	if !found {
		return ""
	}
	return rest
}

// Bounds of scopes.
const (
	// MaxScopes of one request; the largest known list has 90.
	MaxScopes = 200
	// MaxScopeBytes of one scope: Google's are URLs of 80.
	MaxScopeBytes = 256
)

// ValidScope reports whether s is a scope-token of RFC 6749 §3.3 of a bearable
// length.
func ValidScope(s string) bool {
	return s != "" && len(s) <= MaxScopeBytes && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// ValidScopes are the valid ones of a list from outside, each once, at most
// MaxScopes. The list is not changed.
func ValidScopes(list []string) []string {
	var out []string
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		if len(out) == MaxScopes {
			break
		}
		if ValidScope(s) && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
