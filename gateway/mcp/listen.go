package mcp

import (
	"bytes"
	"slices"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// maxSubscriptionID is the longest JSON-RPC id a subscription may have, in bytes
// of JSON: it is repeated in each message and kept as long as the stream.
const maxSubscriptionID = 256

// maxFollowed is how many resources a subscription may name; of further ones the client is
// not told.
const maxFollowed = 64

// Lists is a set of lists of a toolset that change.
type Lists uint8

// The lists. Templates are of the resources.
const (
	ListTools Lists = 1 << iota
	ListPrompts
	ListResources
)

// changeable has what clients are told by of each list, and how they ask for it.
var changeable = [...]struct {
	list           Lists
	method, wanted string
}{
	{ListTools, "notifications/tools/list_changed", "toolsListChanged"},
	{ListPrompts, "notifications/prompts/list_changed", "promptsListChanged"},
	{ListResources, "notifications/resources/list_changed", "resourcesListChanged"},
}

// Messages are the notifications for the client of a session that these lists are others.
func (l Lists) Messages() [][]byte {
	var out [][]byte
	for _, c := range changeable {
		if l&c.list != 0 {
			out = append(out, []byte(`{"jsonrpc":"2.0","method":"`+c.method+`"}`))
		}
	}
	return out
}

// Subscription is an open subscriptions/listen request (MCP 2026-07-28
// "Subscriptions"): what the client wants to be told. It is a value of its own and
// outlives the request.
type Subscription struct {
	id    []byte // raw JSON
	lists Lists
	uris  []string
}

// URIs are the resources of whose changes the client wants to know.
func (s *Subscription) URIs() []string { return s.uris }

// Follow keeps the resources of which the client will be told.
func (s *Subscription) Follow(uris []string) { s.uris = uris }

// AppendUpdated appends the event that says that a resource changed.
func (s *Subscription) AppendUpdated(dst []byte, uri string) []byte {
	b := append(s.appendHead(nil, "notifications/resources/updated"), `,"uri":`...)
	return appendEvent(dst, append(jsonscan.AppendStringOf(b, uri), `}}`...))
}

// AppendUpdated appends the message that tells the client of a session that a resource
// changed.
func AppendUpdated(dst []byte, uri string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":`...)
	return append(jsonscan.AppendStringOf(dst, uri), `}}`...)
}

// Lists are those of whose changes the client wants to know, as far as the toolset has
// them.
func (s *Subscription) Lists() Lists { return s.lists }

// AppendAck appends the event that must come first: what will be told.
func (s *Subscription) AppendAck(dst []byte) []byte {
	b := s.appendHead(nil, "notifications/subscriptions/acknowledged")
	b = append(b, `,"notifications":{`...)
	mark := len(b)
	for _, c := range changeable {
		if s.lists&c.list != 0 {
			b = jsonscan.AppendMember(b, mark, []byte(c.wanted), []byte("true"))
		}
	}
	if len(s.uris) > 0 {
		b = append(jsonscan.AppendKey(b, mark, []byte("resourceSubscriptions")), '[')
		for i, uri := range s.uris {
			if i > 0 {
				b = append(b, ',')
			}
			b = jsonscan.AppendStringOf(b, uri)
		}
		b = append(b, ']')
	}
	return appendEvent(dst, append(b, `}}}`...))
}

// AppendChanged appends the events that say that lists changed.
func (s *Subscription) AppendChanged(dst []byte, changed Lists) []byte {
	for _, c := range changeable {
		if changed&c.list != 0 {
			dst = appendEvent(dst, append(s.appendHead(nil, c.method), `}}`...))
		}
	}
	return dst
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
	case wanted.Get("taskIds").Kind() == jsonscan.Array && x.ts.Card().has[MethodTasksGet] && !declaresTasks(x.msg.meta):
		x.failUndeclared()
		return
	case len(x.msg.id) > maxSubscriptionID:
		x.fail(&fault{status: fasthttp.StatusBadRequest, code: codeInvalidRequest, text: "the id of a subscription is too long"})
		return
	case x.rc == nil:
		x.failInternal("subscriptions/listen", errNoConnection)
		return
	}
	sub := &Subscription{id: bytes.Clone(x.msg.id)}
	for _, c := range changeable {
		if wants, _ := wanted.Get(c.wanted).Bool(); wants && x.ts.Card().Lists()&c.list != 0 {
			sub.lists |= c.list
		}
	}
	if x.ts.Card().has[MethodSubscribe] {
		for it := wanted.Get("resourceSubscriptions").Elements(); it.Next() && len(sub.uris) < maxFollowed; {
			if v := it.Value(); v.Kind() == jsonscan.String && !slices.ContainsFunc(sub.uris, v.EqualText) {
				sub.uris = append(sub.uris, string(v.AppendText(nil)))
			}
		}
	}
	if err := x.ts.Listen(sub); err != nil {
		x.rc.Response.Header.Set(fasthttp.HeaderRetryAfter, "60")
		x.fail(&fault{status: fasthttp.StatusServiceUnavailable, code: codeInternal, text: "too many streams are open here"})
		return
	}
	x.hijacked = true
}
