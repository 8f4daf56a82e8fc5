package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// credentialNames are parameter names that mean a credential wherever they stand
// in a query, header or cookie (rule 6).
var credentialNames = []string{
	"apikey", "xapikey", "accesstoken", "authtoken", "xauthtoken", "xaccesstoken", "apitoken", "xapitoken", "authkey",
	"subscriptionkey", "ocpapimsubscriptionkey", "appkey", "consumerkey", "clientsecret",
}

// sometimesCredential are names that mean one only when most operations of the
// specification take it, in one place or in several: a token may also be what an
// operation is about.
var sometimesCredential = []string{"token", "key", "auth", "secret", "password", "apisecret", "sessiontoken", "session"}

// credentialUse counts how many operations take a parameter.
type credentialUse struct {
	operations int
	byName     map[string]int
	schemes    map[string]string // (in, name) → scheme made for it
}

func credentialKey(in operation.Location, name string) string {
	return string(in) + " " + strings.ToLower(name)
}

func compact(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// credential tells whether a parameter is a credential that the gateway applies
// instead of the agent; all are the parameters of its operation. scheme is the security scheme that applies it; empty when
// one of the operation's declared schemes already does.
func (c *compiler) credential(p *parameter, all []parameter) (hide bool, scheme string) {
	if p.in == operation.InPath || p.in == operation.InQueryString {
		return false, ""
	}
	in := p.in
	if p.form {
		in = operation.InQuery
	}
	for _, s := range c.api.Schemes {
		if s.Type == "apiKey" && s.In == string(in) && (s.Name == p.name || in == operation.InHeader && strings.EqualFold(s.Name, p.name)) {
			if p.form {
				return false, "" // a key in the body: only the agent can give it
			}
			return true, s.ID
		}
	}
	if p.form {
		return false, ""
	}
	name := compact(p.name)
	sure := slices.Contains(credentialNames, name)
	if !sure && !slices.Contains(sometimesCredential, name) {
		return false, ""
	}
	if !sure {
		use := c.credentialUse()
		n := use.byName[credentialKey(p.in, p.name)]
		// Slack's methods that write take it in a header, those that read in the query.
		if n*2 < use.operations && !slices.ContainsFunc(all, func(o parameter) bool { return o.in != p.in && strings.EqualFold(o.name, p.name) }) {
			n = 0
			for _, in := range [...]operation.Location{operation.InQuery, operation.InHeader, operation.InCookie} {
				n += use.byName[credentialKey(in, p.name)]
			}
		}
		if n < 3 || n*2 < use.operations {
			return false, ""
		}
	}
	// The token of a bearer or OAuth scheme travels in Authorization (Slack
	// declares both); a key of any other name is something else.
	if name == "token" || name == "accesstoken" {
		if slices.ContainsFunc(c.api.Schemes, bearsToken) {
			return true, ""
		}
	}
	return true, c.schemeFor(p)
}

// bearsToken reports a scheme whose token travels in Authorization.
func bearsToken(s operation.SecurityScheme) bool {
	return s.Type == "oauth2" || s.Type == "openIdConnect" || s.Type == "http" && s.Scheme == "bearer"
}

// schemeFor declares a security scheme for a credential parameter.
func (c *compiler) schemeFor(p *parameter) string {
	use := c.credentialUse()
	key := credentialKey(p.in, p.name)
	if id, ok := use.schemes[key]; ok {
		return id
	}
	id := p.name
	for c.schemeIDs[id] {
		id += "_parameter"
	}
	if len(c.api.Schemes) >= maxSchemes {
		return ""
	}
	c.api.Schemes = append(c.api.Schemes, operation.SecurityScheme{ID: id, Type: "apiKey", In: string(p.in), Name: p.name})
	c.schemeIDs[id] = true
	use.schemes[key] = id
	return id
}

// credentialUse counts the parameters of all operations, once and only when a
// doubtful name was met.
func (c *compiler) credentialUse() *credentialUse {
	if c.creds != nil {
		return c.creds
	}
	c.creds = &credentialUse{byName: make(map[string]int), schemes: make(map[string]string)}
	for _, item := range c.main.root().get("paths").members() {
		shared := item.get("parameters")
		for k, at := range item.members() {
			if _, ok := methods[string(k.raw())]; !ok {
				continue
			}
			c.creds.operations++
			for _, list := range [...]value{shared, at.get("parameters")} {
				for _, v := range list.elements() {
					if ref, isRef := refOf(v); isRef {
						var ok bool
						if v, ok = c.target(ref); !ok {
							continue
						}
					}
					if name := v.get("name"); name.isString() && slices.Contains(sometimesCredential, compact(name.text())) {
						c.creds.byName[credentialKey(operation.Location(v.get("in").str()), name.text())]++
					}
				}
			}
		}
	}
	return c.creds
}

// constant is the only value a required parameter can have, as JSON; such a
// parameter is sent without being asked for (rule 6).
func constant(p *parameter) string {
	if !p.required || !p.schema.hasEnum || len(p.schema.enum) != 1 || p.in == operation.InPath {
		return ""
	}
	switch p.schema.enum[0].kind() {
	case kindString, kindNumber, kindBool:
		return string(appendLiteral(nil, p.schema.enum[0], p.schema.types))
	default:
		return ""
	}
}
