package mcp

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

var notifications = []byte("notifications/")

// serveLegacy serves a message of an era with handshake, without making a
// session: a client that never initialised is served too.
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
	if m.method == nil { // a response to a request we never made
		x.accepted()
		return
	}
	if m.id == nil || bytes.HasPrefix(m.method, notifications) {
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
		// JSON instead of a bare status: clients probe for resources and prompts.
		x.failf(fasthttp.StatusOK, codeMethodNotFound, "method not found:", m.method)
	}
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
	x.out = append(x.out, x.ts.Card().initialize...)
	x.out = append(x.out, '}')
}

// setLevel answers logging/setLevel. There is no session that could keep the
// level, so nothing follows from it; clients that declare interest must not fail
// over it (MCP 2025-11-25 "Logging").
func (x *exchange) setLevel() {
	x.served.Method = MethodSetLevel
	if levelOf(x.msg.params.Get("level")) == LevelNone {
		x.fail(&fault{status: fasthttp.StatusOK, code: codeInvalidParams, text: "params.level is none of the levels of RFC 5424"})
		return
	}
	x.out = appendHead(x.out, x.msg.id)
	x.out = append(x.out, `,"result":{}}`...)
}
