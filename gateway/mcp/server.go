package mcp

import (
	"bytes"
	"log/slog"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// maxBatch bounds a 2025-03-26 batch: each message may be a tool call.
const maxBatch = 64

// Toolset is what the protocol asks of the gateway while it serves one request.
// An implementation belongs to that request and need not be safe for concurrent
// use.
type Toolset interface {
	// Card is the toolset's rendered description.
	Card() *Card
	// AppendTools appends the JSON array of all tools.
	AppendTools(dst []byte) ([]byte, error)
	// Select makes name the tool that the next Call calls; false if there is none.
	// params are the tool's arguments that must be repeated as headers.
	Select(name []byte) (params []HeaderParam, ok bool, err error)
	// Call calls the selected tool and appends the members of its result
	// ("content":[…] and, when it failed, ,"isError":true). meta, when not nil,
	// holds further members of the result's _meta. Everything the agent may know,
	// also a failure, is a result; an error is a fault of the gateway.
	Call(c *CallParams, dst []byte) (out, meta []byte, err error)
}

// CallParams are the parameters of tools/call, views of the request body.
type CallParams struct {
	Arguments jsonscan.Value // an object, or missing
	Meta      jsonscan.Value // _meta, or missing
	Trace     bool           // _meta["dev.sluice/trace"] is true
	Version   Version        // of the protocol
}

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
	MethodNotification
	MethodBatch
	methodCount
)

// MethodCount is the number of Methods, for tables.
const MethodCount = int(methodCount)

var methodNames = [MethodCount]string{
	"_other", "initialize", "server/discover", "ping", "tools/list", "tools/call", "notifications", "_batch",
}

// String is the name in the protocol; "_other" and "_batch" have none.
func (m Method) String() string { return methodNames[m] }

// Served says what a request was, for metrics.
type Served struct {
	Method  Method
	Version Version
	Code    int // JSON-RPC error code of the answer; 0: a result
}

// Options configures a Server.
type Options struct {
	// Logger receives faults of the gateway. Default: discard.
	Logger *slog.Logger
}

// Server serves the protocol. It is safe for concurrent use.
type Server struct {
	log  *slog.Logger
	pool sync.Pool // *exchange
}

// New makes a Server.
func New(o Options) (*Server, error) {
	s := &Server{log: o.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.pool.New = func() any { return &exchange{} }
	return s, nil
}

// exchange is one request being served, pooled.
type exchange struct {
	s       *Server
	req     *fasthttp.RequestHeader
	ts      Toolset
	msg     message
	call    CallParams
	header  []byte // V_h, the protocol version of the header
	out     []byte // the response body
	status  int
	served  Served
	scratch []byte // unescaped method
	text    []byte // unescaped names and header values
	fault   fault  // a fault with a quote
}

func (x *exchange) reset() {
	x.s, x.req, x.ts, x.header, x.out = nil, nil, nil, nil, nil
	x.msg, x.call, x.fault, x.served, x.status = message{}, CallParams{}, fault{}, Served{}, 0
	x.scratch, x.text = x.scratch[:0], x.text[:0]
}

// Serve answers the request in rc. The caller has checked Host, Origin and who is
// calling. It neither keeps rc nor ts.
func (s *Server) Serve(rc *fasthttp.RequestCtx, ts Toolset) Served {
	if !rc.IsPost() {
		rc.Response.Header.Set(fasthttp.HeaderAllow, fasthttp.MethodPost)
		rc.SetStatusCode(fasthttp.StatusMethodNotAllowed)
		return Served{}
	}
	if !isJSON(rc.Request.Header.ContentType()) {
		rc.SetStatusCode(fasthttp.StatusUnsupportedMediaType)
		return Served{}
	}
	x := s.pool.Get().(*exchange)
	defer func() {
		x.reset()
		s.pool.Put(x)
	}()
	x.s, x.req, x.ts = s, &rc.Request.Header, ts
	x.status = fasthttp.StatusOK
	x.out = rc.Response.SwapBody(nil)[:0]
	x.serve(rc.Request.Body())
	rc.SetStatusCode(x.status)
	if len(x.out) > 0 {
		rc.Response.Header.SetContentType("application/json")
		rc.Response.Header.Set(fasthttp.HeaderCacheControl, "no-cache, no-transform")
	}
	rc.Response.SwapBody(x.out)
	return x.served
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
