package mcp

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// maxSubscriptionID is the longest JSON-RPC id a subscription may have, in bytes
// of JSON: it is repeated in each message and kept as long as the stream.
const maxSubscriptionID = 256

// Subscription is an open subscriptions/listen request (MCP 2026-07-28
// "Subscriptions"): what the client wants to be told. It is a value of its own and
// outlives the request.
type Subscription struct {
	id    []byte // raw JSON
	tools bool
}

// Tools reports whether the client wants to know that the list of tools changed.
func (s *Subscription) Tools() bool { return s.tools }

// AppendAck appends the event that must come first: what will be told.
func (s *Subscription) AppendAck(dst []byte) []byte {
	b := s.appendHead(nil, "notifications/subscriptions/acknowledged")
	b = append(b, `,"notifications":{`...)
	if s.tools {
		b = append(b, `"toolsListChanged":true`...)
	}
	return appendEvent(dst, append(b, `}}}`...))
}

// AppendChanged appends the event that says that the list of tools changed.
func (s *Subscription) AppendChanged(dst []byte) []byte {
	return appendEvent(dst, append(s.appendHead(nil, "notifications/tools/list_changed"), `}}`...))
}

// AppendEnd appends the last event of a stream that the server ends.
func (s *Subscription) AppendEnd(dst []byte) []byte {
	b := appendHead(nil, s.id)
	b = append(b, `,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":`...)
	return appendEvent(dst, append(append(b, s.id...), `}}}`...))
}

func (s *Subscription) appendHead(dst []byte, method string) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","method":"`...), method...)
	dst = append(dst, `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`...)
	return append(append(dst, s.id...), '}')
}

// listen serves subscriptions/listen: the toolset takes the connection over.
func (x *exchange) listen() {
	x.served.Method = MethodListen
	wanted := x.msg.params.Get("notifications")
	switch {
	case wanted.Kind() != jsonscan.Object:
		x.failf(fasthttp.StatusBadRequest, codeInvalidParams, "missing or invalid parameter", []byte("notifications"))
		return
	case len(x.msg.id) > maxSubscriptionID:
		x.fail(&fault{status: fasthttp.StatusBadRequest, code: codeInvalidRequest, text: "the id of a subscription is too long"})
		return
	case x.rc == nil:
		x.failInternal("subscriptions/listen", errNoConnection)
		return
	}
	tools, _ := wanted.Get("toolsListChanged").Bool()
	if err := x.ts.Listen(&Subscription{id: bytes.Clone(x.msg.id), tools: tools}); err != nil {
		x.rc.Response.Header.Set(fasthttp.HeaderRetryAfter, "60")
		x.fail(&fault{status: fasthttp.StatusServiceUnavailable, code: codeInternal, text: "too many streams are open here"})
		return
	}
	x.hijacked = true
}
