package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/plugins/operation"
)

// securitySchemes reads the declared schemes (rule 32).
func (c *compiler) securitySchemes(list value) []operation.SecurityScheme {
	var out []operation.SecurityScheme
	for k, m := range list.members() {
		if len(out) >= maxSchemes {
			break
		}
		v, ok := c.follow(m, "security scheme")
		if !ok || !v.isObject() {
			continue
		}
		if s, ok := c.scheme(k.text(), v); ok {
			out = append(out, s)
		}
	}
	return out
}

func (c *compiler) scheme(id string, v value) (operation.SecurityScheme, bool) {
	s := operation.SecurityScheme{ID: id, Description: cutWords(plain(v.get("description").str()), maxPropertyText)}
	switch t := v.get("type").str(); strings.ToLower(t) {
	case "apikey":
		s.Type, s.In, s.Name = "apiKey", strings.ToLower(v.get("in").str()), v.get("name").str()
		if s.In != "header" && s.In != "query" && s.In != "cookie" || s.Name == "" || s.In == "header" && !headerToken(s.Name) || len(s.Name) > maxPointerToken {
			c.warn(codeSecurityScheme, v, "give in (header, query or cookie) and name", "the security scheme %s says not where its key goes", quoteShort(id))
			return s, false
		}
	case "basic": // Swagger 2.0
		s.Type, s.Scheme = "http", "basic"
	case "http":
		s.Type, s.Scheme, s.BearerFormat = "http", strings.ToLower(v.get("scheme").str()), cutText(v.get("bearerFormat").str(), 100)
		if s.Scheme != "basic" && s.Scheme != "bearer" {
			c.warn(codeSecurityScheme, v, "configure the header by hand", "the HTTP authentication scheme %s is not supported", quoteShort(s.Scheme))
		}
	case "oauth2":
		s.Type, s.Flows = "oauth2", c.flows(v)
	case "openidconnect":
		s.Type, s.OpenIDURL = "openIdConnect", c.schemeURL(v.get("openIdConnectUrl"))
	case "mutualtls":
		s.Type = "mutualTLS"
	default:
		c.warn(codeSecurityScheme, v, "use apiKey, http, oauth2, openIdConnect or mutualTLS", "the security scheme %s has the unknown type %s", quoteShort(id), quoteShort(t))
		return s, false
	}
	return s, true
}

// flows reads OAuth 2 flows of OpenAPI 3 and the one flow of Swagger 2.0.
func (c *compiler) flows(v value) []operation.Flow {
	var out []operation.Flow
	grants := map[string]string{
		"authorizationcode": "authorizationCode", "clientcredentials": "clientCredentials", "password": "password",
		"implicit": "implicit", "deviceauthorization": "deviceAuthorization",
		"accesscode": "authorizationCode", "application": "clientCredentials", // Swagger 2.0
	}
	read := func(name string, f value) {
		g, ok := grants[strings.ToLower(name)]
		if !ok {
			return
		}
		flow := operation.Flow{
			Grant: g, AuthorizationURL: c.schemeURL(f.get("authorizationUrl")), TokenURL: c.schemeURL(f.get("tokenUrl")),
			RefreshURL: c.schemeURL(f.get("refreshUrl")),
		}
		if g == "deviceAuthorization" {
			flow.AuthorizationURL = c.schemeURL(f.get("deviceAuthorizationUrl"))
		}
		for k := range f.get("scopes").members() {
			if len(flow.Scopes) < 500 {
				flow.Scopes = append(flow.Scopes, cutPlain(k.text(), maxPointerToken))
			}
		}
		out = append(out, flow)
	}
	if f := v.get("flow"); f.isString() {
		read(f.text(), v)
		return out
	}
	for k, f := range v.get("flows").members() {
		if f.isObject() {
			read(k.text(), f)
		}
	}
	return out
}

// schemeURL makes a URL of a security scheme absolute.
func (c *compiler) schemeURL(v value) string {
	text := strings.TrimSpace(v.str())
	if text == "" || len(text) > maxURL {
		return ""
	}
	if !strings.Contains(text, "://") {
		abs, ok := c.relativeURL(text, v)
		if !ok {
			return text
		}
		return abs
	}
	return text
}

// requirements reads a security list; nil when it is absent, empty and not nil
// when it says "none".
func (c *compiler) requirements(list value) []operation.Requirement {
	if !list.exists() {
		return nil
	}
	if !list.isArray() {
		if list.isObject() { // seen: one requirement without its list
			if r, ok := c.requirement(list); ok {
				return []operation.Requirement{r}
			}
		}
		return nil
	}
	out := []operation.Requirement{}
	dropped := false
	for _, v := range list.elements() {
		if len(out) >= maxSchemes {
			break
		}
		r, ok := c.requirement(v)
		if !ok {
			dropped = true
			continue
		}
		out = append(out, r)
	}
	if len(out) == 0 && dropped {
		return nil // nothing known: what applies to the document applies
	}
	return out
}

func (c *compiler) requirement(v value) (operation.Requirement, bool) {
	r := operation.Requirement{}
	if !v.isObject() {
		return r, false
	}
	for k := range v.members() {
		id := k.text()
		if !c.schemeIDs[id] {
			remedy := "declare it among the security schemes"
			if s := nearest.Name(id, func(yield func(string) bool) {
				for _, s := range c.api.Schemes {
					if !yield(s.ID) {
						return
					}
				}
			}); s != "" {
				remedy = "did you mean " + quoteShort(s) + "?"
			}
			c.warnFor(id, codeSecurityUnknown, k, remedy, "the security scheme %s is not declared", quoteShort(id))
			return r, false
		}
		if len(r) < maxSchemes {
			r = append(r, id)
		}
	}
	return r, true
}

// maxScopes bounds the scopes that are kept of one alternative, maxScope the bytes of one.
const (
	maxScopes = 64
	maxScope  = 256
)

// scopes are the scopes of an operation's security list, or of the document's where the
// operation has none ([operation.Plan.Scopes]).
func (c *compiler) scopes(list value) [][]string {
	if !list.exists() {
		list = c.main.root().get("security")
	}
	var out [][]string
	some := false
	for _, v := range list.elements() {
		if len(out) == maxSchemes {
			break
		}
		alternative := []string{}
		for k, names := range v.members() {
			id := k.text()
			if !c.schemeIDs[id] || len(alternative) >= maxScopes {
				continue
			}
			alternative = append(alternative, id)
			for _, n := range names.elements() {
				if s := n.str(); s != "" && len(s) <= maxScope && len(alternative) < maxScopes {
					alternative = append(alternative, id+" "+s)
					some = true
				}
			}
		}
		slices.Sort(alternative)
		out = append(out, slices.Compact(alternative))
	}
	if !some {
		return nil
	}
	return out
}

// headerToken reports a legal header name (RFC 9110 §5.1).
func headerToken(s string) bool {
	if s == "" || len(s) > maxPointerToken {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !isLetter(c) && !isDigit(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return true
}
