package mcp

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Members of params._meta (MCP 2026-07-28 basic, "_meta").
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
)

// modern reports whether the message is of the era without handshake: it says so
// itself, or its header names that revision or a later one.
func (x *exchange) modern() bool {
	return x.msg.meta.Get(metaVersion).Exists() || string(x.header) >= modernName
}

// serveModern applies the checks of 2026-07-28 in their order, each with its own
// code, then serves the method.
func (x *exchange) serveModern() {
	x.served.Version = V20260728
	m := &x.msg
	switch {
	case m.method == nil:
		x.fail(&faultAnswer)
		return
	case m.id == nil:
		x.accepted()
		return
	case len(x.header) == 0:
		x.fail(&fault{status: fasthttp.StatusBadRequest, code: codeHeaderMismatch, text: "header mismatch: MCP-Protocol-Version is missing"})
		return
	}
	version := m.meta.Get(metaVersion)
	if version.Kind() != jsonscan.String {
		x.failf(fasthttp.StatusBadRequest, codeInvalidParams, "missing or invalid _meta field", []byte(metaVersion))
		return
	}
	if m.meta.Get(metaCapabilities).Kind() != jsonscan.Object {
		x.failf(fasthttp.StatusBadRequest, codeInvalidParams, "missing or invalid _meta field", []byte(metaCapabilities))
		return
	}
	x.text = version.AppendText(x.text[:0])
	if !bytes.Equal(x.header, x.text) {
		x.failf(fasthttp.StatusBadRequest, codeHeaderMismatch, "header mismatch: MCP-Protocol-Version and _meta differ:", x.text)
		return
	}
	if string(x.text) != modernName {
		x.failVersion(x.text)
		return
	}
	if h := trim(x.req.Peek(headerMethod)); !bytes.Equal(h, m.method) {
		x.failf(fasthttp.StatusBadRequest, codeHeaderMismatch, "header mismatch: the Mcp-Method header must be", m.method)
		return
	}
	if !x.checkName() {
		return
	}
	switch string(m.method) {
	case "server/discover":
		x.served.Method = MethodDiscover
		x.out = appendHead(x.out, m.id)
		x.out = append(x.out, `,"result":`...)
		x.out = append(x.out, x.ts.Card().discover...)
		x.out = append(x.out, '}')
	case "tools/list":
		x.listTools(true)
	case "tools/call":
		x.callTool(true)
	case "subscriptions/listen":
		x.listen()
	default:
		if x.items(true) {
			return
		}
		x.failf(fasthttp.StatusNotFound, codeMethodNotFound, "method not found:", m.method)
	}
}

// checkName compares Mcp-Name with the parameter it must repeat; false when it
// answered with an error.
func (x *exchange) checkName() bool {
	var param string
	switch string(x.msg.method) {
	case "tools/call", "prompts/get":
		param = "name"
	case "resources/read":
		param = "uri"
	case "tasks/get", "tasks/update", "tasks/cancel": // SEP-2663 "Streamable HTTP: Routing Headers"
		param = "taskId"
	default:
		return true
	}
	h := x.req.Peek(headerName)
	value := x.msg.params.Get(param)
	ok := false
	if len(h) > 0 && value.Kind() == jsonscan.String {
		x.text, ok = appendHeaderValue(x.text[:0], h)
		ok = ok && equalText(value, x.text, &x.scratch)
	} else if value.Kind() != jsonscan.String {
		x.failf(fasthttp.StatusBadRequest, codeInvalidParams, "missing or invalid parameter", []byte(param))
		return false
	}
	if !ok {
		x.failf(fasthttp.StatusBadRequest, codeHeaderMismatch, "header mismatch: the Mcp-Name header must repeat the parameter", []byte(param))
	}
	return ok
}
