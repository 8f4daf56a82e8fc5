package openapi

import (
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of what is taken over from the top of a document.
const (
	maxServers   = 50
	maxSchemes   = 50
	maxVariables = 32
	maxURL       = 2048
)

// servers reads a list of OpenAPI 3 servers (rule 33); nil when the list is
// absent or nothing in it can be called.
func (c *compiler) servers(list value) []operation.Server {
	if !list.exists() {
		return nil
	}
	if !list.isArray() {
		c.wrongType(list, "servers", "an array")
		return nil
	}
	var out []operation.Server
	for _, v := range list.elements() {
		if len(out) >= maxServers {
			break
		}
		if s, ok := c.server(v); ok {
			out = append(out, s)
		}
	}
	return out
}

// ownServers reads the servers of an operation or a path. Where they are relative to a document
// that came from no URL, calls go to the servers of the document.
func (c *compiler) ownServers(list value) []operation.Server {
	at := c.relative
	c.relative = ""
	out := c.servers(list)
	if c.relative != "" && len(out) == 0 && len(c.api.Servers) > 0 {
		c.warnFor(c.relative, codeServerMissing, list, "write an absolute URL there, or read the specification from its own URL",
			"the server %s of an operation is relative to the URL of the specification, which was not fetched from one; calls go to %s instead",
			quoteShort(c.relative), quoteShort(c.api.Servers[0].URL))
	}
	c.relative = at
	return out
}

func (c *compiler) server(v value) (operation.Server, bool) {
	raw := v.get("url")
	s := operation.Server{Description: cutWords(plain(v.get("description").str()), maxPropertyText)}
	for k, m := range v.get("variables").members() {
		if len(s.Variables) >= maxVariables {
			break
		}
		sv := operation.ServerVariable{Name: k.text(), Default: m.get("default").str(), Description: cutWords(plain(m.get("description").str()), maxPropertyText)}
		for _, e := range m.get("enum").elements() {
			if len(sv.Enum) < maxListedEnum*5 {
				sv.Enum = append(sv.Enum, e.str())
			}
		}
		if sv.Default == "" && len(sv.Enum) > 0 {
			sv.Default = sv.Enum[0]
			c.warn(codeServerVariable, m, "add a default", "server variable %s has no default; the first value is taken", quoteShort(sv.Name))
		} else if !m.get("default").exists() {
			c.warn(codeServerVariable, m, "set the variable when the base URL is chosen", "server variable %s has no default and must be set", quoteShort(sv.Name))
		}
		s.Variables = append(s.Variables, sv)
	}
	var ok bool
	s.URL, ok = c.baseURL(raw, v)
	if ok {
		s.Variables = c.declareVariables(s, v)
	}
	return s, ok
}

// declareVariables adds the variables that the URL uses and nobody declared, and
// drops those it does not use.
func (c *compiler) declareVariables(s operation.Server, v value) []operation.ServerVariable {
	var out []operation.ServerVariable
	rest := s.URL
	for len(out) < maxVariables {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			break
		}
		name, tail, ok := strings.Cut(after, "}")
		if !ok {
			break
		}
		rest = tail
		found := operation.ServerVariable{Name: name}
		declared := false
		for _, sv := range s.Variables {
			if sv.Name == name {
				found, declared = sv, true
			}
		}
		if !declared {
			c.warnFor(name, codeServerVariable, v, "declare it under variables, with a default", "server variable %s is not declared and must be set", quoteShort(name))
		}
		out = append(out, found)
	}
	return out
}

// baseURL makes a server URL absolute; ok is false when it cannot be called.
func (c *compiler) baseURL(raw, at value) (string, bool) {
	text := strings.TrimSpace(raw.str())
	if !at.exists() {
		at = raw
	}
	if len(text) > maxURL || strings.ContainsAny(text, " \t\r\n\x00\\") {
		c.warn(codeServerInvalid, at, "write an absolute http or https URL", "the server URL %s is not a URL", quoteShort(text))
		return "", false
	}
	text, _, _ = strings.Cut(text, "#")
	text, _, _ = strings.Cut(text, "?")
	if strings.HasPrefix(text, "{") { // "{scheme}://…" and "{baseUrl}/v1"
		return strings.TrimRight(text, "/"), true
	}
	if strings.HasPrefix(text, "//") {
		text = "https:" + text
	}
	scheme, _, hasScheme := strings.Cut(text, "://")
	if !hasScheme {
		return c.relativeURL(text, at)
	}
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" && !strings.Contains(scheme, "{") {
		c.warn(codeServerInvalid, at, "write an http or https URL", "the server URL %s is neither http nor https", quoteShort(text))
		return "", false
	}
	if u, err := url.Parse(withoutVariables(text)); err != nil || u.Host == "" || u.User != nil {
		c.warn(codeServerInvalid, at, "write an absolute http or https URL without credentials", "the server URL %s is not usable", quoteShort(text))
		return "", false
	}
	if scheme == "http" && !loopback(withoutVariables(text)) {
		c.warn(codeServerPlain, at, "use https where the server offers it", "the server %s is not encrypted", quoteShort(text))
	}
	return strings.TrimRight(text, "/"), true
}

// withoutVariables has a digit in the place of each variable, which a host, a port and a path
// may have, for what reads the rest of a URL.
func withoutVariables(text string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteByte('0')
		if _, text, ok = strings.Cut(after, "}"); !ok {
			return b.String() + after
		}
	}
}

func loopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	return safedial.Loopback(u.Hostname())
}

// relativeURL resolves a server against where the document came from.
func (c *compiler) relativeURL(text string, at value) (string, bool) {
	base := ""
	if c.main != nil {
		base = c.main.base
	}
	b, err := url.Parse(base)
	if base == "" || err != nil || b.Host == "" {
		if text != "" && text != "/" {
			c.relative = text
		}
		return "", false
	}
	if strings.ContainsAny(text, "{}") {
		if strings.HasPrefix(text, "/") {
			return strings.TrimRight(b.Scheme+"://"+b.Host+text, "/"), true
		}
		return "", false
	}
	u, err := b.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		c.warn(codeServerInvalid, at, "write an absolute http or https URL", "the server URL %s is not a URL", quoteShort(text))
		return "", false
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if text == "" {
		u.Path = ""
	}
	return strings.TrimRight(u.String(), "/"), true
}

// swaggerServers makes servers of Swagger's schemes, host and basePath.
func (c *compiler) swaggerServers(root value) []operation.Server {
	host, basePath := strings.TrimSpace(root.get("host").str()), strings.TrimSpace(root.get("basePath").str())
	var schemes []string
	for _, s := range root.get("schemes").elements() {
		if t := strings.ToLower(s.str()); t == "http" || t == "https" {
			schemes = append(schemes, t)
		}
	}
	b, err := url.Parse(c.main.base)
	known := c.main.base != "" && err == nil && b.Host != ""
	if host == "" && known {
		host = b.Host
		if len(schemes) == 0 {
			schemes = []string{b.Scheme}
		}
	}
	if host == "" {
		if basePath != "" && basePath != "/" {
			c.relative = basePath
		}
		return nil
	}
	if root.get("schemes").size() > 0 && len(schemes) == 0 {
		c.warn(codeServerInvalid, root.get("schemes"), "add https", "none of the schemes is http or https")
		return nil
	}
	if len(schemes) == 0 {
		schemes = []string{"https"}
	}
	if basePath != "" && !strings.HasPrefix(basePath, "/") {
		basePath = "/" + basePath
	}
	// https first: the first server is the default.
	var out []operation.Server
	for _, want := range [...]string{"https", "http"} {
		for _, s := range schemes {
			if s != want || len(out) > 0 && out[len(out)-1].URL == s+"://"+host {
				continue
			}
			at := root.get("host")
			if !at.exists() {
				at = root
			}
			if u, err := url.Parse(s + "://" + host + basePath); err != nil || u.Host == "" || u.User != nil || len(host) > 253 {
				c.warn(codeServerInvalid, at, "write the host name, with a port if needed", "the host %s is not usable", quoteShort(host))
				return nil
			}
			if s == "http" && len(schemes) == 1 && !loopback("http://"+host) {
				c.warn(codeServerPlain, at, "use https where the server offers it", "the server %s is not encrypted", quoteShort(host))
			}
			out = append(out, operation.Server{URL: s + "://" + host + strings.TrimRight(basePath, "/")})
		}
	}
	return out
}
