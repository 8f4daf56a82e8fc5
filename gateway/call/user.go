package call

import (
	"errors"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// loginRequest is the name under which a client is asked to open a login page. It
// is ours: an answer under it never goes to an MCP server.
const loginRequest = "sluice_login"

// own gets the token of whoever calls. rejected and scopes are as in
// [credentials.Users].
func (x *exchange) own(r *credentials.Rule, rejected uint64, scopes []string) (credentials.Credential, error) {
	users, ok := x.c.credentials.(credentials.Users)
	if !ok {
		return credentials.Credential{}, problem.New(problem.Unavailable, "this node keeps no logins of single callers")
	}
	return users.UserCredential(x.ctx, r.ID, x.user(), rejected, scopes)
}

// user is who calls, for what belongs to a caller; the zero User is nobody.
func (x *exchange) user() registry.User {
	switch x.caller.Kind() {
	case access.Token:
		return registry.User{Kind: registry.UserToken, ID: x.caller.ID(), Toolset: x.ts.ID}
	case access.JWT:
		return registry.User{Kind: registry.UserJWT, ID: x.caller.ID(), Issuer: x.caller.Issuer()}
	case access.Anonymous:
	}
	return registry.User{}
}

// personal reports whether the call shows a token that belongs to its caller.
func (x *exchange) personal() bool {
	for i := range x.rules {
		if x.rules[i].User {
			return true
		}
	}
	return false
}

// stepUp says what to do when the upstream wants more scopes than the token has;
// nil: it does not say so. A caller's own token can be got anew by the caller.
func (x *exchange) stepUp(challenge string) error {
	c, ok := oauth.ParseChallenge(challenge)
	if !ok || c.Error != "insufficient_scope" || len(c.Scopes) == 0 {
		return nil
	}
	for i := range x.rules {
		switch r := &x.rules[i]; {
		case r.Type != credentials.Token:
		case r.User:
			_, err := x.own(r, 0, c.Scopes)
			return err
		default:
			p := problem.New(problem.Unauthenticated, "the upstream wants more permissions than the toolset's login has")
			return p.Fix("the operator must log in with them: sluice toolset auth %s login --scope %s", x.ts.Slug, strings.Join(c.Scopes, ","))
		}
	}
	return nil
}

// settleLogin turns a problem that the caller can solve by logging in into what its
// client can do about it: open the page itself, where it says that it can, or show
// a text with the link. It reports whether the problem is settled: then the result
// asks for input.
func (x *exchange) settleLogin(p *problem.Error) bool {
	login, ok := errors.AsType[*registry.LoginError](p)
	if !ok {
		return false
	}
	x.noKey = true
	if login.URL == "" {
		return false
	}
	x.link = login.URL
	if !x.opensPages() {
		return false
	}
	message := "Log in to use " + x.ts.Name + ": " + p.Detail + "."
	x.written = append(x.written[:0], `"inputRequests":{"`+loginRequest+`":{"method":"elicitation/create","params":{"mode":"url","message":`...)
	x.written = jsonscan.AppendStringOf(x.written, message)
	x.written = append(x.written, `,"url":`...)
	x.written = jsonscan.AppendStringOf(x.written, login.URL)
	x.written = append(x.written, `}}}`...)
	x.members, x.usedMCP, x.settled = x.written, true, true
	x.call.InputRequired = true
	return true
}

// opensPages reports whether the client can be asked to open a page, and was not
// asked already: one that answers before its user is done would ask for ever.
func (x *exchange) opensPages() bool {
	return x.call != nil && x.call.Modern() && x.call.ClientCapabilities().Get("elicitation").Get("url").Exists() &&
		!x.call.InputResponses.Get(loginRequest).Exists()
}

// appendLink appends what an agent tells its user to do about a login.
func appendLink(dst []byte, link string) []byte {
	dst = append(dst, "\nTell your user to open this link in a browser, check that it names them, and log in; then call the tool again. The link is only for them, works once and for ten minutes:\n"...)
	return append(dst, link...)
}

// answersForServer are what the client answered to the questions of an MCP server,
// without what it answered to ours.
func answersForServer(dst []byte, answers jsonscan.Value) (own, out []byte) {
	if !answers.Get(loginRequest).Exists() {
		return dst, answers.Raw()
	}
	dst = append(dst, '{')
	mark := len(dst)
	for it := answers.Members(); it.Next(); {
		if it.KeyEqual(loginRequest) {
			continue
		}
		if len(dst) > mark {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), it.Key()...), `":`...)
		dst = append(dst, it.Value().Raw()...)
	}
	if len(dst) == mark {
		return dst[:mark-1], nil
	}
	dst = append(dst, '}')
	return dst, dst[mark-1:]
}

// challenge is what a refused answer says that it wants.
func (x *exchange) challenge() string {
	if x.status != fasthttp.StatusForbidden {
		return ""
	}
	return string(x.http.Header(fasthttp.HeaderWWWAuthenticate))
}
