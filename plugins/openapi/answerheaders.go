package openapi

import (
	"slices"
	"strings"
)

const (
	// maxToldHeaders bounds the response headers that are declared by one operation.
	maxToldHeaders = 8
	// maxHeaderName: a longer one is not told.
	maxHeaderName = 64
)

// silentHeaders say nothing to whoever called: they are of caches, connections, browsers
// and limits, or the gateway reads them itself (ETag, Link, Content-Disposition).
var silentHeaders = wordSet("age allow cache-control connection date deprecation etag expires keep-alive last-modified link pragma server set-cookie sunset " +
	"strict-transport-security trailer transfer-encoding upgrade vary via warning www-authenticate authorization authentication-info alt-svc nel report-to " +
	"x-powered-by x-runtime x-cache x-served-by x-timer x-frame-options x-xss-protection x-expires-after")

// silentParts make a header silent wherever they stand in its name: limits, what tells
// one request from others, what proves something, and credentials.
var silentParts = [...]string{
	"ratelimit", "rate-limit", "request-id", "response-id", "requestid", "correlation", "trace", "signature", "access-control-", "content-", "accept-",
	"secret", "password", "api-key", "apikey", "access-key", "accesskey", "private-key", "session", "csrf", "xsrf", "cookie", "auth", "credential", "jwt", "bearer", "nonce", "otp",
}

// toldHeaders are the headers that the specification declares of successful responses
// and that carry information for the caller, in the specification's order; and those of
// them, in lower case, that each such response has always.
func (c *compiler) toldHeaders(e entry) (told, always []string) {
	answers := 0
	required := map[string]int{}
	for k, r := range e.at.get("responses").members() {
		if code := k.text(); len(code) != 3 || code[0] != '2' {
			continue
		}
		r, ok := c.follow(r, "response")
		if !ok {
			continue
		}
		answers++
		for name, h := range r.get("headers").members() {
			n := name.text()
			if !tellsHeader(n) || !h.isObject() {
				continue
			}
			if len(told) < maxToldHeaders && !slices.ContainsFunc(told, func(o string) bool { return strings.EqualFold(o, n) }) {
				told = append(told, n)
			}
			if h, ok = c.follow(h, "header"); ok && h.get("required").truth() {
				required[strings.ToLower(n)]++
			}
		}
	}
	for _, n := range told {
		if n = strings.ToLower(n); required[n] == answers {
			always = append(always, n)
		}
	}
	return told, always
}

// tellsHeader reports a header that is worth a place beside the answer.
func tellsHeader(name string) bool {
	if name == "" || len(name) > maxHeaderName || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r > 'z' || !isLetter(byte(r)) && !isDigit(byte(r)))
	}) {
		return false
	}
	lower := strings.ToLower(name)
	if silentHeaders[lower] || slices.ContainsFunc(silentParts[:], func(p string) bool { return strings.Contains(lower, p) }) {
		return false
	}
	// A token is a credential, unless it continues a list.
	return !strings.Contains(lower, "token") || strings.Contains(lower, "next") || strings.Contains(lower, "continu") || strings.Contains(lower, "page")
}
