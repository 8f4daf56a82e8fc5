package openapi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of a tool.
const (
	maxDescription = 1024    // OpenAI and Azure refuse more (rule 21)
	maxSummary     = 400     // bytes of the author's text that a description takes over
	targetTool     = 8 << 10 // bytes of an input schema that is aimed at (rule 7)
	maxLifted      = 30      // properties of a body that become arguments (rule 4)
	maxTitle       = 80
)

// argument is one property of the input schema.
type argument struct {
	name     string
	schema   *schema
	text     string // replaces the schema's description
	required bool
	order    int // rule 1: path, required, required body, rest
	files    int // as in publisher
	xml      bool
	clear    bool // null clears it
	depth    int
	unlisted bool    // accepted, not published
	variant  bool    // of the body's variant
	shared   bool    // named by the body as well
	param    int     // index in the plan's parameters; -1: of the body
	parent   *schema // the body it is a member of: what contains that again is a cycle
	field    int     // index in the body's fields; -1: not lifted
}

// operation compiles one operation. An error is *unsupported.
func (c *compiler) operation(e entry) (*operation.Operation, error) {
	if !e.at.isObject() {
		return nil, notCallable(codeOperationType, "the operation is %s, not an object", e.at.kind())
	}
	if len(e.path) > maxPath {
		return nil, notCallable(codePathTooLong, "the path has %d bytes, more than %d", len(e.path), maxPath)
	}
	if e.method == "TRACE" || strings.EqualFold(e.method, "CONNECT") || !headerToken(e.method) || len(e.method) > 32 {
		return nil, notCallable(codeMethod, "the method %s is not callable", quoteShort(e.method))
	}
	if _, isRef := refOf(e.at); isRef {
		v, ok := c.follow(e.at, "operation")
		if !ok || !v.isObject() {
			return nil, notCallable(codeUnresolvedOp, "the operation is a reference that cannot be resolved")
		}
		e.at = v
	}
	params, bodyParam := c.parameters(e)
	var fields []parameter
	params = slices.DeleteFunc(params, func(p parameter) bool {
		if p.form {
			fields = append(fields, p)
		}
		return p.form
	})
	t := c.parsePath(e, func(name string) bool {
		return slices.ContainsFunc(params, func(p parameter) bool { return p.in == operation.InPath && p.name == name })
	})
	params = c.pathParameters(e, t, params)
	var b *body
	var err error
	if c.version == swagger20 {
		b = c.swaggerBody(e, bodyParam, fields)
	} else {
		b, err = c.requestBody(e)
	}
	if err != nil {
		return nil, err
	}
	if b != nil && (e.method == "GET" || e.method == "HEAD") {
		if e.method == "GET" && (b.required || c.searches(b, params)) {
			c.warn(codeBodyOfGet, b.at, "describe the values as query parameters", "a GET request has no body, but this one is described: it is sent when it is given, and may be lost on its way")
		} else {
			c.warn(codeBodyIgnored, b.at, "describe the values as query parameters", "a %s request has no body; it is left out", e.method)
			b = nil
		}
	}

	op := &operation.Operation{
		ID: cutText(e.at.get("operationId").str(), maxPropertyText), Method: e.method, Path: e.path, Pointer: e.pointer,
		Deprecated: e.at.get("deprecated").truth(), Tags: c.tags(e.at.get("tags")),
	}
	op.Line, _ = e.at.place()
	plan := &operation.Plan{Version: operation.PlanVersion, Method: e.method, Path: t.path, Query: t.query}
	op.Plan = plan
	security := c.requirements(e.at.get("security"))
	plan.Scopes = c.scopes(e.at.get("security"))
	params, security = c.hideCredentials(params, security)
	op.Security = c.hideBodyCredentials(b, security)

	if err := c.assemble(e.at, op, params, b); err != nil {
		return nil, err
	}
	if media, required := c.mediaHeader(e, "Content-Type"); required && b == nil {
		plan.Params = append(plan.Params, operation.Param{
			Name: "Content-Type", In: operation.InHeader, Required: true, Const: strconv.Quote(cmp.Or(media, "application/json")),
		})
	}
	c.nameIt(e, op, c.answers(e, op))
	if media, _ := c.mediaHeader(e, "Accept"); media != "" && (isJSON(mediaType(media)) || !strings.Contains(op.Plan.Accept, "json")) {
		op.Plan.Accept = media
	}
	servers := c.ownServers(e.at.get("servers"))
	if servers == nil {
		servers = c.ownServers(e.item.get("servers"))
	}
	if servers == nil && c.version == swagger20 {
		servers = c.swaggerOperationServers(e.at)
	}
	op.Servers = servers
	return op, nil
}

// swaggerOperationServers applies an operation's own schemes, the only thing
// about servers that Swagger lets an operation say.
func (c *compiler) swaggerOperationServers(at value) []operation.Server {
	list := at.get("schemes")
	if list.size() == 0 || len(c.api.Servers) == 0 {
		return nil
	}
	_, rest, _ := strings.Cut(c.api.Servers[0].URL, "://")
	var out []operation.Server
	for _, want := range [...]string{"https", "http"} {
		for _, s := range list.elements() {
			if strings.EqualFold(s.str(), want) && !slices.ContainsFunc(out, func(o operation.Server) bool { return o.URL == want+"://"+rest }) {
				out = append(out, operation.Server{URL: want + "://" + rest})
			}
		}
	}
	if len(out) > 0 && out[0].URL == c.api.Servers[0].URL {
		return nil
	}
	return out
}

func (c *compiler) tags(v value) []string {
	var out []string
	for _, t := range v.elements() {
		if s := cutText(collapse(t.str()), maxPropertyText); s != "" && len(out) < maxListedEnum {
			out = append(out, s)
		}
	}
	return out
}

// hideCredentials takes credentials out of the parameters; their schemes are
// added to what the operation requires (rule 6).
func (c *compiler) hideCredentials(params []parameter, security []operation.Requirement) ([]parameter, []operation.Requirement) {
	out := make([]parameter, 0, len(params))
	for _, p := range params {
		hide, scheme := c.credential(&p, params)
		if !hide {
			out = append(out, p)
			continue
		}
		c.info(codeCredentialParam, p.at, "configure the credential of the toolset",
			"parameter %s is a credential; it is applied by the gateway and not shown to agents", quoteShort(p.name))
		security = c.requireScheme(security, scheme, p.required)
	}
	return out, security
}

// requireScheme adds the scheme of a credential that was found to what an operation
// requires.
func (c *compiler) requireScheme(security []operation.Requirement, scheme string, required bool) []operation.Requirement {
	effective := security
	if effective == nil {
		effective = c.api.Security
	}
	if scheme == "" || slices.ContainsFunc(effective, func(r operation.Requirement) bool { return slices.Contains(r, scheme) }) {
		return security
	}
	// Named by no requirement: it goes with every alternative.
	next := make([]operation.Requirement, 0, len(effective)+1)
	for _, r := range effective {
		if len(r) > 0 {
			next = append(next, append(slices.Clone(r), scheme))
		}
	}
	if len(next) == 0 {
		next = append(next, operation.Requirement{scheme})
	}
	if !required {
		next = append(next, operation.Requirement{})
	}
	return next
}
