package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/operation"
)

// credentialNames are parameter names that mean a credential wherever they stand
// in a query, header or cookie (rule 6).
var credentialNames = []string{
	"apikey", "xapikey", "accesstoken", "authtoken", "xauthtoken", "xaccesstoken", "apitoken", "xapitoken", "authkey",
	"subscriptionkey", "ocpapimsubscriptionkey", "appkey", "consumerkey", "clientsecret",
}

// sometimesCredential are names that mean one only when most operations of the
// specification take it: a token may also be what an operation is about.
var sometimesCredential = []string{"token", "key", "auth", "secret", "password", "apisecret", "sessiontoken", "session"}

// credentialWords end the names of headers that carry a credential where nearly all
// operations take them (X-Postmark-Server-Token), and otherWords are of tokens and
// keys that are none.
var (
	credentialWords = []string{"token", "key", "auth", "authentication", "authorization", "secret", "credential", "credentials", "password", "apikey", "signature"}
	otherWords      = []string{"idempotency", "idempotence", "csrf", "xsrf", "page", "continuation", "cursor", "sync", "device", "push", "request", "trace", "correlation", "cache", "partition", "sort", "lock"}
)

// headerShare of the operations take a header whose name only ends as a credential's does.
const headerShare = 0.9

// minCredentials is how many operations a habit needs.
const minCredentials = 3

// credentialTexts are how the description of a parameter starts that carries the caller's
// own credential, whatever share of the operations takes it.
var credentialTexts = []string{
	"authentication token", "auth token", "api key", "your api key", "your api token", "api token", "access token to use", "your access token", "an access token to use",
	"authentication key", "authorization token", "your authentication token", "the api key", "oauth token", "bearer token", "your auth token",
}

// credentialUse counts how many operations take a parameter.
type credentialUse struct {
	operations int
	byName     map[string]int    // by its place and name
	anywhere   map[string]int    // by its name as written: operations that take it, wherever
	schemes    map[string]string // (in, name) → scheme made for it
}

// most reports that the caller of most operations gives a parameter of that name: where
// it travels, in a query, a header or a form, often follows from the method. Where an
// operation takes it in two places, each counts alone: one of them is what it is about.
func (u *credentialUse) most(p *parameter, all []parameter) bool {
	if slices.ContainsFunc(all, func(o parameter) bool { return o.in != p.in && strings.EqualFold(o.name, p.name) }) {
		return u.enough(u.byName[credentialKey(p.in, p.name)])
	}
	return u.enough(u.anywhere[strings.ToLower(p.name)])
}

// enough reports that n operations are most of them, and not just a few.
func (u *credentialUse) enough(n int) bool { return n >= minCredentials && n*2 >= u.operations }

// byHeader reports a header that nearly all operations take and whose name ends as that
// of a credential.
func (c *compiler) byHeader(p *parameter) bool {
	if p.in != operation.InHeader || !credentialHeader(p.name) {
		return false
	}
	use := c.credentialUse()
	n := use.byName[credentialKey(p.in, p.name)]
	return n >= minCredentials && float64(n) >= headerShare*float64(use.operations)
}

// credentialHeader reports a name that ends as that of a credential.
func credentialHeader(name string) bool {
	ws := wording.Split(name)
	return len(ws) > 0 && slices.Contains(credentialWords, ws[len(ws)-1]) &&
		!slices.ContainsFunc(ws, func(w string) bool { return slices.Contains(otherWords, w) })
}

// describedAsCredential reports a description that starts with what a credential is
// called.
func describedAsCredential(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, article := range [...]string{"the ", "an ", "a "} {
		text = strings.TrimPrefix(text, article)
	}
	return slices.ContainsFunc(credentialTexts, func(s string) bool {
		rest, ok := strings.CutPrefix(text, s)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == ' ' && !strings.HasPrefix(rest, " id") && !strings.HasPrefix(rest, " to ") && !strings.HasPrefix(rest, " of "))
	})
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
// instead of the agent. scheme is the security scheme that applies it; empty when
// one of the operation's declared schemes already does. all are the parameters of the
// operation.
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
	switch {
	case slices.Contains(credentialNames, name):
	case slices.Contains(sometimesCredential, name) && (c.credentialUse().most(p, all) || describedAsCredential(p.desc.str())):
	case c.byHeader(p):
		if !p.required && len(c.api.Schemes) > 0 {
			return true, "" // what is declared signs or says the same
		}
	default:
		return false, ""
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
	c.creds = &credentialUse{byName: make(map[string]int), anywhere: make(map[string]int), schemes: make(map[string]string)}
	for _, item := range c.main.root().get("paths").members() {
		shared := item.get("parameters")
		for k, at := range item.members() {
			if _, ok := methods[string(k.raw())]; !ok {
				continue
			}
			c.creds.operations++
			taken := map[string]bool{}
			for _, list := range [...]value{shared, at.get("parameters")} {
				for _, v := range list.elements() {
					if ref, isRef := refOf(v); isRef {
						var ok bool
						if v, ok = c.target(ref); !ok {
							continue
						}
					}
					name, in := v.get("name"), v.get("in").str()
					if !name.isString() || !slices.Contains(sometimesCredential, compact(name.text())) && (in != string(operation.InHeader) || !credentialHeader(name.text())) {
						continue
					}
					c.creds.byName[credentialKey(operation.Location(in), name.text())]++
					if in != string(operation.InPath) {
						taken[strings.ToLower(name.text())] = true
					}
				}
			}
			for name := range taken {
				c.creds.anywhere[name]++
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
