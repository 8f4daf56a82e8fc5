package call

import (
	"errors"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/oauth"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// loginRequest is the name under which a client is asked to open a login page. It
// is ours: an answer under it never goes to an MCP server.
const loginRequest = "sluice_login"

// userCredential gets the caller's own token. rejected and scopes are as in
// [credentials.Users].
func (x *exchange) userCredential(id string, rejected uint64, scopes []string) (credentials.Credential, error) {
	users, ok := x.c.credentials.(credentials.Users)
	if !ok {
		return credentials.Credential{}, problem.New(problem.Unavailable, "this node keeps no logins of its callers")
	}
	return users.UserCredential(x.ctx, id, x.user(), rejected, scopes)
}

// user is the caller as the owner of a login; the zero User is nobody.
func (x *exchange) user() registry.User {
	switch x.principal.Kind() {
	case access.Token:
		return registry.User{Kind: registry.UserToken, ID: x.principal.ID(), Toolset: x.ts.ID}
	case access.JWT:
		return registry.User{Kind: registry.UserJWT, ID: x.principal.ID(), Issuer: x.principal.Issuer()}
	case access.Anonymous:
	}
	return registry.User{}
}

// personal reports whether the call shows a token that belongs to its caller.
func (x *exchange) personal() bool {
	for i := range x.bound.Rules {
		if x.bound.Rules[i].User {
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
	for i := range x.bound.Rules {
		switch r := &x.bound.Rules[i]; {
		case r.Type != credentials.Token:
		case r.User:
			_, err := x.userCredential(r.ID, 0, c.Scopes)
			return err
		default:
			p := problem.New(problem.Unauthenticated, "the upstream wants more permissions than the toolset's login has")
			return p.Fix("the operator must log in with them: sluice toolset auth %s login --scope %s", x.ts.Slug, strings.Join(c.Scopes, ","))
		}
	}
	return nil
}

// settleLogin handles a problem that the caller can solve by logging in: a client that
// can open a page is asked to, and any other gets a text with the link. It reports
// whether the problem is settled: then the result asks for input.
func (x *exchange) settleLogin(p *problem.Error) bool {
	login, ok := errors.AsType[*registry.LoginError](p)
	if !ok {
		return false
	}
	x.missingCredential = true
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
	x.members, x.settled = x.written, true
	x.request.InputRequired = true
	return true
}

// opensPages reports whether the client can be asked to open a page, and was not
// asked already: one that answers before its user is done would ask for ever.
func (x *exchange) opensPages() bool {
	return x.request != nil && x.request.Modern() && x.request.Method != mcp.MethodComplete && x.request.ClientCapabilities().Get("elicitation").Get("url").Exists() &&
		!x.request.InputResponses.Get(loginRequest).Exists()
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
		if !it.KeyEqual(loginRequest) {
			dst = jsonscan.AppendMember(dst, mark, it.Key(), it.Value().Raw())
		}
	}
	if len(dst) == mark {
		return dst[:mark-1], nil
	}
	dst = append(dst, '}')
	return dst, dst[mark-1:]
}

// challenge is what a refused answer asks for.
func (r *received) challenge() string {
	if r.status != fasthttp.StatusForbidden {
		return ""
	}
	return string(r.header.Header(fasthttp.HeaderWWWAuthenticate))
}
