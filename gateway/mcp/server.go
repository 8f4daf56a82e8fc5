package mcp

import (
	"bytes"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

// maxBatch bounds a 2025-03-26 batch: each message may be a tool call.
const maxBatch = 64

// Request is one request as the gateway has it.
type Request interface {
	// Body reads the body of the request in rc, whose head was accepted. It is valid until
	// Done. When it is false the body could not be read and the implementation has
	// answered.
	Body(rc *fasthttp.RequestCtx) ([]byte, bool)
	// Toolset is the toolset that the request is for.
	Toolset() Toolset
	// Done is the last call: the request was served, and how. For a call whose
	// answer is a stream that is when the stream ended, after Serve returned.
	Done(served Served)
}

// Toolset is a toolset as the caller of one request sees it. Its methods, and those of
// its tools, are called one after the other, Cancel excepted.
type Toolset interface {
	// Card is the toolset's rendered description.
	Card() *Card
	// Tools returns the JSON array of one page of the tools, which nobody may change.
	// cursor is nil for the first page, else what a page before gave as next; next is ""
	// behind the last page. ok is false for a cursor that none of the pages gave. Tools
	// that need what the client does not declare are not in it.
	Tools(cursor []byte, client Capabilities) (page []byte, next string, ok bool, err error)
	// Tool finds a tool by its name; nil if there is none. It is valid until the next
	// Tool. params are the tool's arguments that must be repeated as headers.
	Tool(name []byte) (tool Tool, params []HeaderParam, err error)
	// OpenSession makes a session for a client that begins to speak a revision with
	// handshake; nil: it has none.
	OpenSession(c session.Client) *session.Session
	// Session is the one that a request names; ok is false when its client must begin
	// another. Both may be nothing: the toolset keeps no sessions.
	Session(id []byte) (s *session.Session, ok bool)
	// Made names the settings of the toolset that make its answers.
	Made() string
	// Items is Tools for another list of the toolset: MethodPromptsList,
	// MethodResourcesList or MethodTemplatesList.
	Items(cursor []byte, list Method) (page []byte, next string, ok bool, err error)
	// Item finds what a request of another method than tools/call is about, by its method and
	// parameters: MethodPromptsGet, MethodResourcesRead, MethodComplete or, in a session,
	// MethodSubscribe and MethodUnsubscribe; or which task, or for MethodTasksList those of the caller. It is as a tool that appends the
	// members of the method's result; nil if there is none.
	Item(c *CallParams) (Tool, error)
	// Listen takes the connection over for the messages of a subscription; its
	// first event is s.AppendAck, before which it keeps with s.Follow only the resources of
	// which it will tell. It fails when too many are open.
	Listen(s *Subscription) error
}

// Tool is a tool that one request calls.
type Tool interface {
	// Permit reports whether the caller may call the tool with these
	// arguments: a tool that calls others names one in them. When it may not, the
	// implementation has set the headers that say what is missing.
	Permit(arguments jsonscan.Value) bool
	// Logs reports, after Permit, whether the call may have messages for the log of
	// its client.
	Logs() bool
	// Call calls the tool and appends the members of its result
	// ("content":[…] and, when it failed, ,"isError":true). meta, when not nil,
	// holds further members of the result's _meta. Everything the agent may know,
	// also a failure, is a result; an [*Error] is for its client, and any other error
	// is a fault of the gateway.
	Call(c *CallParams, dst []byte) (out, meta []byte, err error)
	// Cancel ends the Call that runs, from another goroutine: the client went away.
	Cancel()
}

// CallParams are the parameters of tools/call, or of another method about an item, views
// of the request body.
type CallParams struct {
	ID        []byte         // of the request, a JSON string or integer
	Method    Method         // of an item; 0: tools/call
	Params    jsonscan.Value // of an item: all of them
	Arguments jsonscan.Value // of a tool: an object, or missing
	Meta      jsonscan.Value // _meta, or missing
	Trace     bool           // _meta["dev.sluice/trace"] is true
	Version   Version        // of the protocol
	// Stream takes notifications of the call; nil: the client wants none.
	Stream *Stream
	// Session is that of a client of an older revision; nil: it has none.
	Session *session.Session
	// InputResponses and RequestState are what the client answers to an earlier
	// result that wanted input (MCP 2026-07-28 "Multi Round-Trip Requests"), or
	// missing.
	InputResponses, RequestState jsonscan.Value

	// Task is JSON of what a client of 2025-11-25 says of the task that the call is to be; nil:
	// it is to be none.
	Task []byte

	// Reported is the progress token under which the server tells of the task of a request.
	Reported uint64

	// InputRequired is set by Call: the result asks the client for input.
	InputRequired bool
	// TaskStarted is set by Call: the result is a task.
	TaskStarted bool
}

// SessionKey is the key of Session; "": there is none.
func (c *CallParams) SessionKey() string {
	if c == nil || c.Session == nil {
		return ""
	}
	return c.Session.Key()
}

// AsTask is Task, also of no request.
func (c *CallParams) AsTask() []byte {
	if c == nil {
		return nil
	}
	return c.Task
}

// Modern reports whether the client speaks a revision without handshake.
func (c *CallParams) Modern() bool { return c.Version >= V20260728 }

// ClientCapabilities is what a client of such a revision declares of what it can be
// asked; missing otherwise.
func (c *CallParams) ClientCapabilities() jsonscan.Value { return c.Meta.Get(metaCapabilities) }

// LogLevel is the least level of log messages that the client wants; missing: none.
func (c *CallParams) LogLevel() jsonscan.Value { return c.Meta.Get(metaLogLevel) }

// Error is an error of the protocol that a Call ends with instead of a result: what
// an agent can do nothing about and its client can.
type Error struct {
	Code    int
	Message string
	Data    []byte // raw JSON; nil: none
}

// Error codes of servers that mean something for a client.
const (
	// CodeMissingCapability says that the client must declare a capability for this call (MCP
	// 2026-07-28 "Error Codes").
	CodeMissingCapability = -32021
	// CodeURLElicitation says that the user must open addresses before this call (MCP
	// 2025-11-25 "URL Elicitation Required Error").
	CodeURLElicitation = -32042
)

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Method is a method of the protocol, as a metric label.
type Method uint8

// The methods that are served. MethodOther is everything else.
const (
	MethodOther Method = iota
	MethodInitialize
	MethodDiscover
	MethodPing
	MethodToolsList
	MethodToolsCall
	MethodListen
	MethodSetLevel
	MethodNotification
	MethodBatch
	MethodPromptsList
	MethodPromptsGet
	MethodResourcesList
	MethodTemplatesList
	MethodResourcesRead
	MethodComplete
	MethodSubscribe
	MethodUnsubscribe
	MethodTasksGet
	MethodTasksUpdate
	MethodTasksCancel
	MethodTasksResult
	MethodTasksList
	methodCount
)

// MethodCount is the number of Methods, for tables.
const MethodCount = int(methodCount)

var methodNames = [MethodCount]string{
	"_other", "initialize", "server/discover", "ping", "tools/list", "tools/call",
	"subscriptions/listen", "logging/setLevel", "notifications", "_batch",
	"prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read", "completion/complete",
	"resources/subscribe", "resources/unsubscribe", "tasks/get", "tasks/update", "tasks/cancel", "tasks/result", "tasks/list",
}

// String is the name in the protocol; "_other" and "_batch" have none.
func (m Method) String() string { return methodNames[m] }

// OfTask reports whether the method is about a task.
func (m Method) OfTask() bool { return m >= MethodTasksGet && m <= MethodTasksResult }

// Served says what a request was, for metrics.
type Served struct {
	Method  Method
	Version Version
	Code    int // JSON-RPC error code of the answer; 0: a result
}

// Options configures a Server.
type Options struct {
	// WriteTimeout is how long a client may take to read what was written to a
	// stream. Default: as the server says for whole answers.
	WriteTimeout time.Duration
	// Stopping reports whether the gateway stops: calls whose clients lost their connection
	// are not waited for any more. Default: it does not.
	Stopping func() bool
	// Logger receives faults of the gateway. Default: discard.
	Logger *slog.Logger
}

// Server serves the protocol. It is safe for concurrent use.
type Server struct {
	log          *slog.Logger
	pool         sync.Pool // *exchange
	writeTimeout time.Duration
	stopping     func() bool
}

// New makes a Server.
func New(o Options) (*Server, error) {
	s := &Server{log: o.Logger, writeTimeout: o.WriteTimeout, stopping: o.Stopping}
	if s.stopping == nil {
		s.stopping = func() bool { return false }
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.pool.New = func() any { return &exchange{} }
	return s, nil
}

// exchange is one request being served, pooled.
type exchange struct {
	s        *Server
	rc       *fasthttp.RequestCtx
	req      *fasthttp.RequestHeader
	from     Request
	ts       Toolset
	tool     Tool             // that is called
	session  *session.Session // nil: none
	msg      message
	call     CallParams
	header   []byte // V_h, the protocol version of the header
	out      []byte // the response body, without inserts
	inserts  []insert
	status   int
	served   Served
	scratch  []byte // unescaped method
	text     []byte // unescaped names and header values
	fault    fault  // a fault with a quote
	batched  bool   // the message is one of several
	taken    bool   // the answer is a stream; who has it releases x
	hijacked bool   // the connection was taken over: nothing is answered here
}

var errNoConnection = errors.New("the request has no connection")

func (x *exchange) reset() {
	x.s, x.rc, x.req, x.from, x.ts, x.tool, x.session, x.header, x.out = nil, nil, nil, nil, nil, nil, nil, nil, nil
	x.msg, x.call, x.fault, x.served, x.status = message{}, CallParams{}, fault{}, Served{}, 0
	x.batched, x.taken, x.hijacked = false, false, false
	x.scratch, x.text = x.scratch[:0], x.text[:0]
	clear(x.inserts)
	if x.inserts = x.inserts[:0]; cap(x.inserts) > keepInserts {
		x.inserts = nil
	}
}

// release ends the exchange: nothing of the request is used any more.
func (x *exchange) release() {
	s, from, served := x.s, x.from, x.served
	x.reset()
	s.pool.Put(x)
	from.Done(served)
}

// Serve answers the request in rc, whose body r reads. The caller has checked
// Host, Origin and who is calling. It keeps rc and r no longer than until r.Done.
func (s *Server) Serve(rc *fasthttp.RequestCtx, r Request) {
	if !rc.IsPost() {
		rc.Response.Header.Set(fasthttp.HeaderAllow, fasthttp.MethodPost)
		rc.SetStatusCode(fasthttp.StatusMethodNotAllowed)
		r.Done(Served{})
		return
	}
	if !isJSON(rc.Request.Header.ContentType()) {
		rc.SetStatusCode(fasthttp.StatusUnsupportedMediaType)
		r.Done(Served{})
		return
	}
	x := s.pool.Get().(*exchange)
	defer func() {
		if !x.taken {
			x.release()
		}
	}()
	x.s, x.rc, x.req, x.from, x.ts = s, rc, &rc.Request.Header, r, r.Toolset()
	body, ok := r.Body(rc)
	if !ok {
		return
	}
	x.status = fasthttp.StatusOK
	o := outputs.Get().(*output)
	x.out, o.b = o.b, nil
	x.serve(body)
	if x.taken || x.hijacked { // whoever has the answer has the memory, too
		outputs.Put(o)
		return
	}
	o.b = x.out
	rc.SetUserValue(outputKey{}, o)
	rc.SetStatusCode(x.status)
	if len(x.out) > 0 {
		rc.Response.Header.SetContentType("application/json")
		rc.Response.Header.Set(fasthttp.HeaderCacheControl, "no-cache, no-transform")
	}
	rc.Response.SetBodyRaw(x.out)
	if len(x.inserts) > 0 {
		rc.Response.SetBodyStream(x.sharedBody())
	}
}

func (x *exchange) serve(body []byte) {
	x.header = trim(x.req.Peek(headerVersion))
	v, err := jsonscan.Parse(body, maxDepth)
	if err != nil {
		x.fail(&faultParse)
		return
	}
	if v.Kind() == jsonscan.Array {
		x.batch(v)
		return
	}
	x.one(v)
}

// one serves a single message.
func (x *exchange) one(v jsonscan.Value) {
	var f *fault
	x.scratch, f = x.msg.parse(v, x.scratch)
	if f != nil {
		x.fail(f)
		return
	}
	if x.modern() {
		x.serveModern()
	} else {
		x.serveLegacy()
	}
}

// batch serves an array of messages, which only 2025-03-26 knows (and a client
// that sends no version header is taken to be of that version).
func (x *exchange) batch(v jsonscan.Value) {
	switch {
	case len(x.header) != 0 && versionOf(x.header) != V20250326:
		x.fail(&faultBatch)
		return
	case v.Len() == 0:
		x.fail(&faultEmpty)
		return
	case v.Len() > maxBatch:
		x.fail(&faultTooMany)
		return
	}
	x.batched = true
	x.out = append(x.out, '[')
	start := len(x.out)
	it := v.Elements()
	for it.Next() {
		mark := len(x.out)
		if mark > start {
			x.out = append(x.out, ',')
		}
		before := len(x.out)
		var f *fault
		x.scratch, f = x.msg.parse(it.Value(), x.scratch)
		switch {
		case f != nil:
			x.fail(f)
		case x.modern():
			x.fail(&faultBatch)
		case string(x.msg.method) == "initialize":
			x.fail(&faultInBatch)
		default:
			x.serveLegacy()
		}
		if len(x.out) == before { // nothing is answered to a notification
			x.out = x.out[:mark]
		}
	}
	x.served.Method, x.served.Version, x.served.Code = MethodBatch, V20250326, 0
	if len(x.out) == start {
		x.out, x.status = x.out[:0], fasthttp.StatusAccepted
		return
	}
	x.out, x.status = append(x.out, ']'), fasthttp.StatusOK
}

// fail answers with a protocol error.
func (x *exchange) fail(f *fault) {
	x.status, x.served.Code = f.status, f.code
	x.out = appendError(x.out, x.msg.id, f)
}

// failf answers with a protocol error that repeats a text of the client.
func (x *exchange) failf(status, code int, text string, quote []byte) {
	if quote == nil {
		quote = []byte{}
	}
	x.fault = fault{status: status, code: code, text: text, quote: quote}
	x.fail(&x.fault)
}

// failVersion answers that a protocol version is not supported.
func (x *exchange) failVersion(requested []byte) {
	x.status, x.served.Code = fasthttp.StatusBadRequest, codeUnsupportedVersion
	x.out = appendErrorOpen(x.out, x.msg.id, &fault{code: codeUnsupportedVersion, text: "unsupported protocol version"})
	x.out = append(x.out, `,"data":{"supported":`...)
	x.out = appendVersions(x.out)
	x.out = append(x.out, `,"requested":`...)
	x.out = jsonscan.AppendString(x.out, requested[:min(len(requested), maxQuoted)])
	x.out = append(x.out, `}}}`...)
}

// failInternal logs a fault of the gateway and answers without its text.
func (x *exchange) failInternal(doing string, err error) {
	x.s.log.Error("request could not be served", slog.String("method", doing), slog.Any("error", err))
	x.fail(&faultInternal)
}

// accepted answers a notification.
func (x *exchange) accepted() {
	x.served.Method, x.status = MethodNotification, fasthttp.StatusAccepted
}

// isJSON reports whether a Content-Type is application/json, with or without
// parameters.
func isJSON(contentType []byte) bool {
	if i := bytes.IndexByte(contentType, ';'); i >= 0 {
		contentType = contentType[:i]
	}
	return bytes.EqualFold(trim(contentType), []byte("application/json"))
}

// trim removes optional white space (RFC 9110 §5.6.3).
func trim(b []byte) []byte { return bytes.Trim(b, " \t") }
