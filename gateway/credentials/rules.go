package credentials

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// Rules are credentials that go on one request together.
type Rules []Rule

// Compile makes the rules of a toolset's binding; nil: no authentication. It
// fails with [problem.Unsupported] on a type this gateway does not know, so that
// a toolset is refused rather than called without its credential.
func Compile(shape *registry.AuthShape) (Rules, error) {
	if shape != nil && shape.Type != registry.AuthNone && shape.Type != registry.AuthList {
		r, err := compileItem(shape)
		if err != nil {
			return nil, err
		}
		return Rules{r}, nil
	}
	var out Rules
	for _, item := range shape.Each() {
		r, err := compileItem(&item)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func compileItem(shape *registry.AuthShape) (Rule, error) {
	r := Rule{ID: shape.CredentialID, Scheme: shape.Scheme, User: shape.User}
	switch shape.Type {
	case registry.AuthHeader:
		r.Type, r.Name, r.Prefix = Header, shape.HeaderName, shape.HeaderPrefix
	case registry.AuthQuery:
		r.Type, r.Name = Query, shape.ParameterName
	case registry.AuthCookie:
		r.Type, r.Name = Cookie, shape.CookieName
	case registry.AuthBody:
		r.Type, r.Name = Body, shape.MemberName
	case registry.AuthBasic:
		r.Type = Basic
	case registry.AuthBearer:
		r.Type = Bearer
	case registry.AuthOAuth2, registry.AuthOIDC:
		r.Type = Token
	case registry.AuthMTLS:
		r.Type = Certificate
	default:
		return r, problem.New(problem.Unsupported, "authentication of type %.40q is not known to this gateway", shape.Type).
			Fix("update the gateway")
	}
	return r, nil
}

// For chooses what an operation is called with. security is what its
// specification asks for: alternatives, each a set of schemes that are applied
// together; nil when it does not say. declared says that the specification names
// schemes at all; one that names none cannot say anything about them.
//
//   - nothing said: everything that is configured;
//   - an empty list: nothing, the operation is called without a credential;
//   - otherwise the first alternative all of whose schemes are configured, and
//     with it the rules that are bound to no scheme. An empty alternative makes
//     authentication optional: it is used when it is configured.
//
// See OpenAPI 3.2 §4.30, Security Requirement Object.
func (rs Rules) For(security []operation.Requirement, declared bool) Rules {
	if security == nil || !declared {
		return rs
	}
	if len(security) == 0 {
		return nil
	}
	var out Rules
	for _, r := range rs {
		if r.Scheme == "" {
			out = append(out, r)
		}
	}
	for _, alternative := range security {
		if len(alternative) == 0 || !rs.fulfil(alternative) {
			continue
		}
		for _, r := range rs {
			if r.Scheme != "" && slices.Contains(alternative, r.Scheme) {
				out = append(out, r)
			}
		}
		return out
	}
	return out
}

func (rs Rules) fulfil(alternative operation.Requirement) bool {
	for _, id := range alternative {
		if !slices.ContainsFunc(rs, func(r Rule) bool { return r.Scheme == id }) {
			return false
		}
	}
	return true
}

// Strip takes off what Apply of each rule put on.
func (rs *Rules) Strip(req *fasthttp.Request) {
	for _, r := range *rs {
		r.Strip(req)
	}
}

// Bound are rules with the values that they apply.
type Bound struct {
	Rules  Rules
	Values []Credential // one for each rule
}

// Bind gets the values of rules. It fails as [Source.Credential] does.
func Bind(ctx context.Context, rules Rules, source Source) (*Bound, error) {
	b := &Bound{Rules: rules}
	var redactors Redactors
	for i := range rules {
		c, err := source.Credential(ctx, rules[i].ID)
		if err != nil {
			return nil, err
		}
		b.Values = append(b.Values, redactors.Prepare(rules[i], c))
	}
	return b, nil
}

// Apply puts all of them on req. It fails as [Rule.Apply] does.
func (b *Bound) Apply(req *fasthttp.Request) error {
	for i := range b.Values {
		if err := b.Rules[i].Apply(req, b.Values[i]); err != nil {
			return err
		}
	}
	return nil
}

// Strip takes off what Apply put on, and the values wherever else the address of the
// request has them: servers repeat what they were sent in the address that they
// redirect to.
func (b *Bound) Strip(req *fasthttp.Request) {
	b.Rules.Strip(req)
	u := req.URI()
	for i := range b.Values {
		query := u.QueryString()
		if clean := b.Rules[i].Redact(query, b.Values[i]); !bytes.Equal(clean, query) {
			u.SetQueryStringBytes(clean)
		}
		path := u.PathOriginal()
		if clean := b.Rules[i].Redact(path, b.Values[i]); !bytes.Equal(clean, path) {
			u.SetPathBytes(clean)
		}
	}
}

// String says for people what is sent and where, without any value. A prefix is
// quoted, because the blank at its end is what is forgotten most often.
func (r Rule) String() string {
	switch r.Type {
	case Header:
		switch {
		case r.Prefix == "":
			return "header " + r.Name + " without a prefix"
		case strings.HasSuffix(r.Prefix, " "):
			return "header " + r.Name + ` with the prefix "` + r.Prefix + `" (with its trailing space)`
		}
		return "header " + r.Name + ` with the prefix "` + r.Prefix + `" (without a trailing space)`
	case Query:
		return "query parameter " + r.Name
	case Cookie:
		return "cookie " + r.Name
	case Body:
		return "member " + r.Name + " of the body"
	case Basic:
		return `header Authorization with the prefix "Basic " (user name and password)`
	case Bearer:
		return `header Authorization with the prefix "Bearer " (with its trailing space)`
	case Token:
		return `header Authorization with the prefix "Bearer " and an OAuth access token`
	case Certificate:
		return "client certificate"
	case None:
	}
	return "nothing"
}

// String lists what is sent.
func (rs Rules) String() string {
	if len(rs) == 0 {
		return "nothing"
	}
	parts := make([]string, len(rs))
	for i, r := range rs {
		parts[i] = r.String()
	}
	return strings.Join(parts, " and ")
}
