package mcp

import (
	"bytes"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

var notifications = []byte("notifications/")

// serveLegacy serves a message of an era with handshake. A client that never
// initialised is served too.
func (x *exchange) serveLegacy() {
	x.served.Version = V20250326 // MCP 2025-06-18 "Protocol Version Header": the version of a client that names none
	if len(x.header) != 0 {
		if x.served.Version = versionOf(x.header); x.served.Version == VersionNone {
			// A dual-era client recognises this body and stays modern.
			x.failVersion(x.header)
			return
		}
	}
	m := &x.msg
	if id := x.req.Peek(headerSession); len(id) > 0 && string(m.method) != "initialize" {
		var ok bool
		if x.session, ok = x.ts.Session(id); !ok {
			x.fail(&faultSession)
			return
		}
	}
	if m.method == nil {
		x.resolve()
		x.accepted()
		return
	}
	if m.id == nil || bytes.HasPrefix(m.method, notifications) {
		switch {
		case x.session == nil:
		case string(m.method) == "notifications/cancelled":
			x.session.Cancel(m.params.Get("requestId").Raw())
		case string(m.method) == "notifications/roots/list_changed" && jsonscan.Trusted(x.session.Client().Capabilities).Get("roots").Exists():
			x.session.ChangeRoots()
		}
		x.accepted()
		return
	}
	switch string(m.method) {
	case "initialize":
		x.initialize()
	case "ping":
		x.served.Method = MethodPing
		x.out = appendHead(x.out, m.id)
		x.out = append(x.out, `,"result":{}}`...)
	case "tools/list":
		x.listTools(false)
	case "tools/call":
		x.callTool(false)
	case "logging/setLevel":
		x.setLevel()
	default:
		if x.items(false) {
			return
		}
		// JSON instead of a bare status: clients probe for resources and prompts.
		x.failf(fasthttp.StatusOK, codeMethodNotFound, "method not found:", m.method)
	}
}

// resolve gives a response to who waits for it in the session. To others no request was
// made.
func (x *exchange) resolve() {
	id, err := strconv.ParseUint(string(x.msg.id), 10, 64)
	if x.session == nil || err != nil {
		return
	}
	name := `"result":`
	if x.msg.refused {
		name = `"error":`
	}
	x.scratch = append(append(x.scratch[:0], name...), x.msg.result.Raw()...)
	x.session.Resolve(id, x.scratch)
}

// initialize answers with the requested revision, or with the newest one that
// has a handshake, never with an error (MCP 2025-11-25 "Version Negotiation").
func (x *exchange) initialize() {
	x.served.Method = MethodInitialize
	requested := x.msg.params.Get("protocolVersion")
	if requested.Kind() != jsonscan.String {
		x.fail(&fault{status: fasthttp.StatusOK, code: codeInvalidParams, text: "params.protocolVersion is missing"})
		return
	}
	version := V20251125
	for v := V20241105; v < V20260728; v++ {
		if requested.EqualText(versionNames[v]) {
			version = v
		}
	}
	x.served.Version = version
	x.out = appendHead(x.out, x.msg.id)
	x.out = append(x.out, `,"result":{"protocolVersion":`...)
	x.out = jsonscan.AppendStringOf(x.out, versionNames[version])
	if opened := x.openSession(version); opened != nil {
		x.rc.Response.Header.Set(headerSession, opened.ID())
		if x.session = opened; x.callsTasks() {
			x.out = append(x.out, x.ts.Card().tasked...)
		} else {
			x.out = append(x.out, x.ts.Card().session...)
		}
	} else {
		x.out = append(x.out, x.ts.Card().initialize...)
	}
	x.out = append(x.out, '}')
}

// openSession makes the session of a client that shakes hands; nil: it gets none.
func (x *exchange) openSession(v Version) *session.Session {
	if x.rc == nil {
		return nil
	}
	declared := x.msg.params.Get("capabilities")
	x.scratch = append(x.scratch[:0], '{')
	for _, name := range [...]string{"sampling", "elicitation", "roots", "tasks"} {
		c := declared.Get(name)
		if name == "tasks" && (v != V20251125 || c.Get("requests").Kind() != jsonscan.Object) {
			continue // it runs none for servers
		}
		if c.Kind() == jsonscan.Object {
			x.scratch = jsonscan.AppendMember(x.scratch, 1, []byte(name), c.Raw())
		}
	}
	c := session.Client{Version: versionNames[v]}
	if len(x.scratch) > 1 {
		c.Capabilities = append(x.scratch, '}')
	}
	return x.ts.OpenSession(c)
}

// setLevel answers logging/setLevel. Without a session nothing keeps the level, and
// nothing follows from it; clients that declare interest must not fail over it (MCP
// 2025-11-25 "Logging").
func (x *exchange) setLevel() {
	x.served.Method = MethodSetLevel
	level := levelOf(x.msg.params.Get("level"))
	if level == LevelNone {
		x.fail(&fault{status: fasthttp.StatusOK, code: codeInvalidParams, text: "params.level is none of the levels of RFC 5424"})
		return
	}
	if x.session != nil {
		x.session.SetLevel(uint8(level))
	}
	x.out = appendHead(x.out, x.msg.id)
	x.out = append(x.out, `,"result":{}}`...)
}
