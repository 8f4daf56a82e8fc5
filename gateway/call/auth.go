package call

import (
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/problem"
)

// authenticate gets the credentials of the operation and puts them on the request: none
// of them goes to an origin that it is not for. An operation that is served by another
// origin than the toolset's base URL is called without those; any other is refused.
// wire is nil for an MCP server, where a call may take several requests.
func (x *exchange) authenticate(wire *fasthttp.Request, origin string) (credentials.Bound, error) {
	b := x.bound
	for _, rule := range x.ready.Rules {
		var cred credentials.Credential
		var err error
		if rule.User {
			cred, err = x.userCredential(rule.ID, 0, nil)
		} else {
			cred, err = x.c.credentials.Credential(x.ctx, rule.ID)
		}
		switch {
		case problem.Is(err, problem.NotFound):
			x.missingCredential = true
			return b, problem.New(problem.Unauthenticated, "this toolset needs an API key and has none").
				Fix("set the authentication of the toolset %s", x.ts.Slug).Because(err)
		case err != nil:
			x.missingCredential = problem.Is(err, problem.Unauthenticated)
			return b, err
		case !cred.Origins.Has(origin) && x.ready.Elsewhere:
			continue
		case !cred.Origins.Has(origin):
			x.missingCredential = true
			return b, credentials.WrongOrigin(cred.Origins, origin)
		}
		if wire != nil && x.ready.Auth == nil { // an auth plugin gets handles
			if err := rule.Apply(wire, cred); err != nil {
				return b, err
			}
		}
		b.Values = append(b.Values, x.c.redactors.Prepare(rule, cred))
		b.Rules = append(b.Rules, rule)
	}
	if x.ready.Auth != nil && len(b.Rules) == len(x.ready.Rules) {
		return b, x.sign(wire, b)
	}
	return b, nil
}

// clientCertificate is what the connection shows; nil: none.
func (x *exchange) clientCertificate() *upstream.ClientCertificate {
	for i, r := range x.bound.Rules {
		if r.Type == credentials.Certificate {
			x.certificate = upstream.ClientCertificate{ID: r.ID, Version: x.bound.Values[i].Version, PEM: x.bound.Values[i].Value}
			return &x.certificate
		}
	}
	return nil
}

// renew replaces the access tokens that the upstream refused, once, and reports
// whether the request can be sent again. It can with any method, because a 401
// says that the request was not applied (RFC 9110 §15.5.2); but not when it was
// redirected, and only with a newer token.
func (x *exchange) renew(status int) bool {
	return status == fasthttp.StatusUnauthorized && x.http.Redirects == 0 && x.ready.Auth == nil && x.renewTokens()
}

// renewTokens replaces the access tokens of the call by newer ones and reports
// whether there were any.
func (x *exchange) renewTokens() bool {
	refresher, _ := x.c.credentials.(credentials.Refresher)
	renewed := false
	for i, r := range x.bound.Rules {
		if r.Type != credentials.Token {
			continue
		}
		var cred credentials.Credential
		var err error
		switch {
		case r.User:
			cred, err = x.userCredential(r.ID, x.bound.Values[i].Version, nil)
			x.mustLogin = err // what the caller can do says more than the upstream's answer
		case refresher == nil:
			return false
		default:
			cred, err = refresher.Refresh(x.ctx, r.ID, x.bound.Values[i].Version)
		}
		if err != nil || cred.Version == x.bound.Values[i].Version {
			return false // the upstream's own answer says more to the agent
		}
		if x.wire != nil && r.Apply(x.wire, cred) != nil {
			return false
		}
		x.bound.Values[i], renewed = x.c.redactors.Prepare(r, cred), true
	}
	return renewed
}
