package call

import (
	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/problem"
)

// auth puts the credentials of the operation on the request: none of them goes to an
// origin that it is not for. An operation that is served by another origin than the
// toolset's base URL is called without those; any other is refused.
func (x *exchange) auth() error {
	rules := x.ready.Rules
	x.rules = x.chosen[:0]
	origin := x.ready.Base.Key()
	if m := x.ready.MCP; m != nil {
		at := m.Endpoint.Base()
		origin = at.Key()
	}
	for i := range rules {
		var cred credentials.Credential
		var err error
		if rules[i].User {
			cred, err = x.own(&rules[i], 0, nil)
		} else {
			cred, err = x.c.credentials.Credential(x.ctx, rules[i].ID)
		}
		switch {
		case problem.Is(err, problem.NotFound):
			x.noKey = true
			return problem.New(problem.Unauthenticated, "this toolset needs an API key and has none").
				Fix("set the authentication of the toolset %s", x.ts.Slug).Because(err)
		case err != nil:
			x.noKey = problem.Is(err, problem.Unauthenticated)
			return err
		case !cred.Origins.Has(origin) && x.ready.Elsewhere:
			continue
		case !cred.Origins.Has(origin):
			x.noKey = true
			return credentials.WrongOrigin(cred.Origins, origin)
		}
		// A call of an MCP server may take several requests; an auth plugin gets handles.
		if x.ready.MCP == nil && x.ready.Auth == nil {
			if err := rules[i].Apply(&x.http.Request, cred); err != nil {
				return err
			}
		}
		x.creds = append(x.creds, x.c.redactors.Prepare(rules[i], cred))
		x.rules = append(x.rules, rules[i])
	}
	x.chosen = x.rules
	if x.ready.Auth != nil && len(x.rules) == len(rules) {
		return x.sign()
	}
	return nil
}

// client is the certificate the connection shows; nil: none.
func (x *exchange) client() *upstream.ClientCertificate {
	for i, r := range x.rules {
		if r.Type == credentials.Certificate {
			x.certificate = upstream.ClientCertificate{ID: r.ID, Version: x.creds[i].Version, PEM: x.creds[i].Value}
			return &x.certificate
		}
	}
	return nil
}

// renew replaces the access tokens that the upstream refused, once, and reports
// whether the request can be sent again. It can with any method, because a 401
// says that the request was not applied (RFC 9110 §15.5.2); but not when it was
// redirected, and only with a newer token.
func (x *exchange) renew() bool {
	return x.status == fasthttp.StatusUnauthorized && x.http.Redirects == 0 && x.ready.Auth == nil && x.renewTokens()
}

// renewTokens replaces the access tokens of the call by newer ones and reports
// whether there were any.
func (x *exchange) renewTokens() bool {
	refresher, _ := x.c.credentials.(credentials.Refresher)
	renewed := false
	for i, r := range x.rules {
		if r.Type != credentials.Token {
			continue
		}
		var cred credentials.Credential
		var err error
		switch {
		case r.User:
			cred, err = x.own(&r, x.creds[i].Version, nil)
			x.mustLogin = err // what the caller can do says more than the upstream's answer
		case refresher == nil:
			return false
		default:
			cred, err = refresher.Refresh(x.ctx, r.ID, x.creds[i].Version)
		}
		if err != nil || cred.Version == x.creds[i].Version {
			return false // the upstream's own answer says more to the agent
		}
		if x.ready.MCP == nil && r.Apply(&x.http.Request, cred) != nil {
			return false
		}
		x.creds[i], renewed = x.c.redactors.Prepare(r, cred), true
	}
	return renewed
}
