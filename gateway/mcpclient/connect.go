package mcpclient

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// connect finds out how the server is spoken to, what was spoken before first.
// See MCP 2026-07-28 basic/transports "Backward Compatibility".
func (c *Client) connect(x *Exchange, t *Target) (*link, error) {
	if t.Hint.Transport == manifest.TransportSSE {
		l, err := c.connectSSE(x, t)
		if !errors.Is(err, errNoStream) {
			return l, err
		}
	}
	legacyFirst := t.Session || t.wasLegacy()
	var plain *link // without a session
	if legacyFirst {
		l, _, err := c.initialize(x, t)
		if t.Session && !t.wasLegacy() {
			if problem.Is(err, problem.CannotConnectMCP) {
				err = nil // it may speak the revision that it spoke before
			}
			if l != nil && !l.stateful() {
				// It could ask the client nothing: 2026-07-28 can.
				l, plain = nil, l
			}
		}
		if l != nil || err != nil {
			return l, err
		}
	}
	probe := t
	if !legacyFirst {
		probe = t.probe()
	}
	l, unknown, err := c.discover(x, probe)
	first := err // of a server that may speak an older revision
	if l != nil || err != nil && (legacyFirst || !mayBeOlder(err)) {
		return l, err
	}
	if plain != nil {
		return plain, nil
	}
	if !legacyFirst {
		var refused *answered
		if l, refused, err = c.initialize(x, t); l != nil || err != nil {
			return l, err
		}
		unknown = refused
		if first != nil { // it may only be slow to wake up
			if l, _, err = c.discover(x, t); l != nil || err != nil {
				return l, err
			}
		}
	}
	if t.Hint.Transport == manifest.TransportSSE || t.Endpoint.stdio {
		return nil, unknown.problem(t)
	}
	// Servers of 2024-11-05 answer a POST with 400, 404 or 405, and those behind some
	// frameworks with anything.
	l, err = c.connectSSE(x, t)
	if errors.Is(err, errStreamFailed) && unknown.takesNoPost() {
		return nil, err // it is a server of 2024-11-05, and something is wrong with it
	}
	if errors.Is(err, errNoStream) {
		return nil, unknown.problem(t)
	}
	return l, err
}

// takesNoPost reports whether a server of 2024-11-05 may have answered a POST so.
func (a *answered) takesNoPost() bool {
	return !a.rpc && (a.status == fasthttp.StatusBadRequest || a.status == fasthttp.StatusNotFound || a.status == fasthttp.StatusMethodNotAllowed)
}

// probeTime is how long server/discover may be without an answer before initialize is tried.
const probeTime = 10 * time.Second

// probe is the target for server/discover: what comes after it needs time too.
func (t *Target) probe() *Target {
	if t.Endpoint.stdio {
		return t // whoever starts the process limits it
	}
	now, own := time.Now(), *t
	own.Deadline = now.Add(min(t.Deadline.Sub(now)/2, probeTime))
	return &own
}

// mayBeOlder reports whether err of server/discover may come of a server that does not know
// it: some let a caller without a credential ask for the methods that they know and refuse
// every other, say nothing, or break off. A 401 with a challenge is an answer.
func mayBeOlder(err error) bool {
	if auth, ok := errors.AsType[*AuthError](err); ok {
		return auth.Challenge == ""
	}
	return problem.Is(err, problem.Timeout) || upstream.Closed(err)
}

// answered is an answer that is not what an MCP server answers.
type answered struct {
	status int
	said   string
	html   bool
	rpc    bool // it was JSON-RPC all the same
}

func (x *Exchange) answered() *answered {
	media, _, _ := bytes.Cut(x.Header(fasthttp.HeaderContentType), []byte(";"))
	return &answered{
		status: x.Status(), said: x.said(), html: bytes.EqualFold(bytes.TrimSpace(media), []byte("text/html")), rpc: x.got,
	}
}

// problem says that there is no MCP server, and what may be wrong.
func (a *answered) problem(t *Target) *problem.Error {
	p := problem.New(problem.CannotConnectMCP, "%s is not an MCP server as far as it shows: it answered %s", shownURL(t), a.said)
	switch {
	case a.rpc:
		who := "the MCP server at " + shownURL(t)
		if t.Endpoint.stdio {
			who = t.Endpoint.server()
		}
		p.Detail = who + " refused the handshake: " + a.said
		p.Remedy = "look at the log of the server"
	case a.status == fasthttp.StatusNotFound:
		p.Remedy = "check the path of the URL; most servers are at /mcp or /sse"
	case a.status == fasthttp.StatusMethodNotAllowed:
		p.Remedy = "check the path of the URL: this one takes no POST, and a GET opened no event stream"
	case a.html:
		p.Remedy = "the address is that of a web page; look up the endpoint in the documentation of the server, often /mcp or /sse"
	case a.status >= 300 && a.status < 400:
		p.Remedy = "its redirect is not followed (to another origin, or with a status that does not preserve a POST): use the address that it leads to"
	case a.status >= 500:
		p.Remedy = "look at the log of the server, or try again later"
	default:
		p.Remedy = "check that the URL is that of an MCP server that speaks Streamable HTTP or SSE; one that speaks stdio needs a bridge"
	}
	return p
}

// shownURL is the address for people, without its query.
func shownURL(t *Target) string {
	u, _, _ := strings.Cut(t.Endpoint.text, "?")
	return u
}

// refusedAuth is the problem of an answer that wants authentication; nil for any
// other. The caller may renew the credential.
func (x *Exchange) refusedAuth(t *Target) error {
	switch x.Status() {
	case fasthttp.StatusUnauthorized:
	case fasthttp.StatusForbidden:
		if x.got {
			return nil // the server itself speaks
		}
	default:
		return nil
	}
	challenge := clip(x.Header(fasthttp.HeaderWWWAuthenticate), maxChallenge)
	return &AuthError{Status: x.Status(), Challenge: challenge, addr: shownURL(t), sent: t.Auth != nil}
}

// maxChallenge is how much of a WWW-Authenticate header is kept, in bytes: one that
// names a hundred scopes fits.
const maxChallenge = 8 << 10

// AuthError says that a server wants another credential. Its problem is
// [problem.Unauthenticated].
type AuthError struct {
	Status    int    // 401 or 403
	Challenge string // WWW-Authenticate; may be ""
	addr      string
	sent      bool
}

// Error is the text of its problem.
func (e *AuthError) Error() string { return e.Unwrap().Error() }

// Unwrap is the *problem.Error a person may read.
func (e *AuthError) Unwrap() error {
	want := "authentication"
	switch scheme, _, _ := strings.Cut(e.Challenge, " "); {
	case strings.EqualFold(scheme, "Bearer") && strings.Contains(e.Challenge, "resource_metadata"):
		want = "an OAuth login"
	case strings.EqualFold(scheme, "Bearer"):
		want = "a bearer token"
	case strings.EqualFold(scheme, "Basic"):
		want = "a user name and a password"
	}
	switch {
	case e.Status == fasthttp.StatusForbidden:
		return problem.New(problem.Unauthenticated, "the MCP server at %s does not permit this (HTTP 403)", e.addr).
			Fix("check what the credential of the toolset may do")
	case e.sent:
		return problem.New(problem.Unauthenticated, "the MCP server at %s refused the credential of the toolset (HTTP 401); it wants %s", e.addr, want).
			Fix("set the authentication of the toolset again")
	}
	return problem.New(problem.Unauthenticated, "the MCP server at %s wants %s (HTTP 401)", e.addr, want).
		Fix("set the authentication of the toolset")
}

// discover asks as 2026-07-28 does. Neither a link nor an error: the server is not
// of that era; a says what it answered.
func (c *Client) discover(x *Exchange, t *Target) (l *link, a *answered, err error) {
	id := c.ids.Add(1)
	x.body = appendRequest(x.body[:0], id, "server/discover")
	x.body = append(c.appendModernMeta(append(x.body, `"_meta":{`...), nil, false), `}}}`...)
	err = c.post(x, t, t.Endpoint.target, &message{
		method: "server/discover", id: id, body: x.body, version: versionModern, repeatable: true,
	})
	if err != nil {
		return nil, nil, err
	}
	t.notice(Notice{Status: x.Status()})
	if err := x.refusedAuth(t); err != nil {
		return nil, nil, err
	}
	a = x.answered()
	if x.fault != nil || !x.got {
		return nil, a, nil
	}
	for it := x.result.Get("supportedVersions").Elements(); it.Next(); {
		if it.Value().EqualText(versionModern) {
			l := &link{version: versionModern, modern: true, about: readAbout(x.result, x.result.Get("_meta").Get(metaPrefix+"serverInfo"))}
			if t.Endpoint.stdio { // a process remembers, and each session has one
				l.session = string(x.Header("Mcp-Session-Id"))
			}
			return l, nil, nil
		}
	}
	return nil, a, nil
}

// initialize makes the handshake of the older revisions. Neither a link nor an
// error: it was refused.
func (c *Client) initialize(x *Exchange, t *Target) (l *link, a *answered, err error) {
	id := c.ids.Add(1)
	x.body = c.appendInitialize(x.body[:0], id, versionLegacy, t)
	err = c.post(x, t, t.Endpoint.target, &message{method: "initialize", id: id, body: x.body, repeatable: true})
	if err != nil {
		return nil, nil, err
	}
	t.notice(Notice{Status: x.Status()})
	if err := x.refusedAuth(t); err != nil {
		return nil, nil, err
	}
	a = x.answered()
	if x.fault != nil || !x.got {
		return nil, a, nil
	}
	l = &link{
		version: string(x.result.Get("protocolVersion").AppendText(nil)), session: string(x.Header("Mcp-Session-Id")),
		about: readAbout(x.result, x.result.Get("serverInfo")),
	}
	if !knownVersion(l.version) {
		return nil, nil, problem.New(problem.CannotConnectMCP, "the MCP server at %s speaks protocol %q, which is not known here", shownURL(t), clip([]byte(l.version), 40)).
			Fix("update Sluice, or the server")
	}
	err = c.post(x, t, t.Endpoint.target, &message{body: []byte(initialized), link: l, version: l.version, repeatable: true})
	if err != nil {
		return nil, nil, err
	}
	return l, nil, nil
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func (c *Client) appendInitialize(dst []byte, id uint64, version string, t *Target) []byte {
	dst = appendRequest(dst, id, "initialize")
	dst = append(append(append(dst, `"protocolVersion":"`...), version...), `","capabilities":`...)
	if len(t.Capabilities) > 0 {
		dst = append(dst, t.Capabilities...)
	} else {
		dst = append(dst, '{', '}')
	}
	dst = append(dst, `,"clientInfo":`...)
	return append(append(dst, c.info...), '}', '}')
}

func knownVersion(v string) bool {
	switch v {
	case "2024-10-07", versionSSE, "2025-03-26", "2025-06-18", versionLegacy:
		return true
	}
	return false
}

// maxAbout is the longest text that is kept of what a server says of itself, in
// bytes; of instructions maxInstructions.
const (
	maxAbout        = 1024
	maxInstructions = 32 << 10
	// maxDeclared is how many of its extensions are named to who adds a server.
	maxDeclared = 16
)

func readAbout(result, info jsonscan.Value) about {
	text := func(v jsonscan.Value, n int) string {
		if v.Kind() != jsonscan.String {
			return ""
		}
		return clip(v.AppendText(nil), n)
	}
	a := about{
		name: text(info.Get("name"), maxAbout), title: text(info.Get("title"), maxAbout), version: text(info.Get("version"), maxAbout),
		instructions: text(result.Get("instructions"), maxInstructions),
	}
	declared := result.Get("capabilities")
	has := func(v jsonscan.Value) bool { return v.Kind() > jsonscan.Null } // null: it was not set
	a.tools, a.logging = has(declared.Get("tools")), has(declared.Get("logging"))
	a.tasks = has(declared.Get("tasks").Get("requests").Get("tools").Get("call"))
	a.cancelTasks = has(declared.Get("tasks").Get("cancel"))
	a.prompts, a.resources, a.completions = has(declared.Get("prompts")), has(declared.Get("resources")), has(declared.Get("completions"))
	a.listChanged, _ = declared.Get("tools").Get("listChanged").Bool()
	a.promptsChanged, _ = declared.Get("prompts").Get("listChanged").Bool()
	a.resourcesChanged, _ = declared.Get("resources").Get("listChanged").Bool()
	a.subscribe, _ = declared.Get("resources").Get("subscribe").Bool()
	a.makesTasks = has(declared.Get("extensions").Get(ExtensionTasks))
	for _, kind := range [...]string{"extensions", "experimental"} {
		for it := declared.Get(kind).Members(); it.Next() && len(a.extensions) < maxDeclared; {
			if it.KeyEqual(ExtensionTasks) {
				continue // it is passed on
			}
			a.extensions = append(a.extensions, clip(it.KeyText(nil), maxAbout))
		}
	}
	return a
}
