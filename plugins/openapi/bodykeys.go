package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// bodyCredentialNames are members of bodies that may mean a credential. None does by
// its name alone: an operation may be about a key or a token, so most bodies of the
// specification have to take it (rule 6).
var bodyCredentialNames = []string{
	"apikey", "xapikey", "apitoken", "authtoken", "authkey", "appkey", "appsecret", "apisecret", "consumerkey", "consumersecret", "clientid", "clientsecret",
	"accesstoken", "subscriptionkey", "key", "token", "secret", "auth", "password", "sessiontoken",
}

// Shares of the operations with a body from which on a name means a credential. An
// access token may be whose data a call is about, one of many that an agent handles.
const (
	bodyCredentialShare = 0.5
	accessTokenShare    = 0.9
	// minBodyCredentials is how many operations a habit needs.
	minBodyCredentials = 3
)

// bodyUse counts how many bodies have a member that may be a credential.
type bodyUse struct {
	bodies int
	byName map[string]int // by the name as it is written
}

// hideBodyCredentials takes credentials out of an object body and its variant; their
// schemes are added to what the operation requires (rule 6).
func (c *compiler) hideBodyCredentials(b *body, security []operation.Requirement) []operation.Requirement {
	if b == nil {
		return security
	}
	security = c.hideBodyCredentials(b.variant, security)
	if b.kind != bodyJSON && b.kind != bodyForm && b.kind != bodyMultipart || b.schema.types != operation.TypeObject {
		return security
	}
	var kept []prop
	for i := range b.schema.props {
		q := &b.schema.props[i]
		if !c.bodyCredential(q) {
			continue
		}
		if kept == nil {
			kept = slices.Clone(b.schema.props)
		}
		kept = slices.DeleteFunc(kept, func(p prop) bool { return p.name == q.name })
		c.info(codeCredentialParam, b.at, "configure the credential of the toolset",
			"member %s of the body is a credential; it is applied by the gateway and not shown to agents", quoteShort(q.name))
		b.keyed = true
		if c.otherScheme(q.name) {
			continue // a declared scheme carries the same elsewhere
		}
		p := parameter{in: "body", name: q.name, required: slices.Contains(b.schema.required, q.name)}
		security = c.requireScheme(security, c.schemeFor(&p), p.required)
		b.required = true
	}
	if kept == nil {
		return security
	}
	s := *b.schema
	s.props = kept
	has := func(list []prop, name string) bool {
		return slices.ContainsFunc(list, func(p prop) bool { return p.name == name })
	}
	s.required = slices.DeleteFunc(slices.Clone(s.required), func(name string) bool { return has(b.schema.props, name) && !has(kept, name) })
	b.schema = &s
	return security
}

// bodyCredential tells whether a member of a body is a credential.
func (c *compiler) bodyCredential(q *prop) bool {
	name := compact(q.name)
	if !slices.Contains(bodyCredentialNames, name) {
		return false
	}
	if s := c.normal(&q.child); s.types&^(operation.TypeString|operation.TypeInteger) != 0 || s.hasEnum {
		return false
	}
	use := c.bodyUse()
	share := bodyCredentialShare
	if name == "accesstoken" {
		share = accessTokenShare
	}
	n := use.byName[q.name]
	return n >= minBodyCredentials && float64(n) >= share*float64(use.bodies) || c.takenElsewhere(q.name)
}

// takenElsewhere reports that most operations take a parameter of that name: the few
// that have it in the body mean the same.
func (c *compiler) takenElsewhere(name string) bool {
	use := c.credentialUse()
	return use.enough(use.anywhere[strings.ToLower(name)])
}

// otherScheme reports that a declared scheme carries the same in another place: an API
// key of that name, "in a header or in the body", or the token of a bearer or OAuth
// scheme (Slack declares both).
func (c *compiler) otherScheme(name string) bool {
	if token := compact(name); token == "token" || token == "accesstoken" {
		if slices.ContainsFunc(c.api.Schemes, bearsToken) {
			return true
		}
	}
	return slices.ContainsFunc(c.api.Schemes, func(s operation.SecurityScheme) bool {
		return s.Type == "apiKey" && s.In != "body" && (compact(s.ID) == compact(name) || strings.HasSuffix(compact(s.Name), compact(name)))
	})
}

// bodyUse counts the members of all bodies, once and only when a doubtful name was met.
func (c *compiler) bodyUse() *bodyUse {
	if c.bodies != nil {
		return c.bodies
	}
	c.bodies = &bodyUse{byName: map[string]int{}}
	for _, item := range c.main.root().get("paths").members() {
		shared := item.get("parameters")
		for k, at := range item.members() {
			if _, ok := methods[string(k.raw())]; !ok {
				continue
			}
			names := map[string]bool{}
			found := c.bodyNames(c.resolved(at.get("requestBody")).get("content"), names)
			for _, list := range [...]value{shared, at.get("parameters")} {
				for _, v := range list.elements() {
					switch v = c.resolved(v); v.get("in").str() {
					case "body":
						found = true
						c.memberNames(v.get("schema"), names, 0)
					case "formData":
						found = true
						noteName(v.get("name").str(), names)
					}
				}
			}
			if found {
				c.bodies.bodies++
			}
			for name := range names {
				c.bodies.byName[name]++
			}
		}
	}
	return c.bodies
}

// bodyNames notes the members of the first described media type.
func (c *compiler) bodyNames(content value, names map[string]bool) bool {
	for _, m := range content.members() {
		if s := m.get("schema"); s.exists() {
			c.memberNames(s, names, 0)
			return true
		}
	}
	return content.size() > 0
}

// memberNames notes the members of an object schema that may be credentials, of its
// allOf too.
func (c *compiler) memberNames(s value, names map[string]bool, depth int) {
	const levels = 4 // of allOf within allOf
	if depth == levels {
		return
	}
	s = c.resolved(s)
	for k := range s.get("properties").members() {
		noteName(k.text(), names)
	}
	for _, part := range s.get("allOf").elements() {
		c.memberNames(part, names, depth+1)
	}
}

func noteName(name string, names map[string]bool) {
	if slices.Contains(bodyCredentialNames, compact(name)) {
		names[name] = true
	}
}

// resolved is what a value refers to, or itself; nothing when there is no such thing.
func (c *compiler) resolved(v value) value {
	for range 8 {
		ref, isRef := refOf(v)
		if !isRef {
			return v
		}
		var ok bool
		if v, ok = c.target(ref); !ok {
			return value{}
		}
	}
	return value{}
}
