package tracing

import (
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// Kinds of spans (OTLP "SpanKind").
const (
	kindInternal = 1
	kindServer   = 2
	kindClient   = 3
)

// Context is where a span stands (W3C Trace Context §3.2).
type Context struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool
}

// valid reports whether neither id is all zero.
func (c *Context) valid() bool { return c.Trace != [16]byte{} && c.Span != [8]byte{} }

// parseTraceparent reads a traceparent; false when it is none. Later versions are read as
// far as this one knows them, as the recommendation wants.
func parseTraceparent(b []byte) (c Context, ok bool) {
	const length = len("00-00000000000000000000000000000000-0000000000000000-00")
	if len(b) < length || b[2] != '-' || b[35] != '-' || b[52] != '-' {
		return c, false
	}
	var version, flags [1]byte
	if !decodeHex(version[:], b[:2]) || !decodeHex(c.Trace[:], b[3:35]) || !decodeHex(c.Span[:], b[36:52]) || !decodeHex(flags[:], b[53:55]) {
		return Context{}, false
	}
	if version[0] == 0xff || version[0] == 0 && len(b) != length || len(b) > length && b[length] != '-' || !c.valid() {
		return Context{}, false
	}
	c.Sampled = flags[0]&1 == 1
	return c, true
}

// decodeHex reads lower-case hexadecimal digits, the only ones that are allowed.
func decodeHex(dst, src []byte) bool {
	for _, c := range src {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	_, err := hex.Decode(dst, src)
	return err == nil
}

// attribute is a string, an int64 or a bool.
type attribute struct {
	key   string
	value any
}

// Span is one part of a trace that is recorded. Its methods may be called by one goroutine
// at a time; children are spans of their own. nil: nothing is recorded.
type Span struct {
	tracer     *Tracer
	context    Context
	parent     [8]byte // all zero: none
	link       Context // all zero: none
	name       string
	kind       int
	start, end time.Time
	attributes []attribute
	failed     bool
	message    string // of a failure
}

// Request is what a span of a request says.
type Request struct {
	Method    string // of MCP
	Target    string // the name of a tool or prompt; "" for a resource, whose URI may hold anything
	Protocol  string // revision of MCP
	RequestID []byte // JSON
	Toolset   string
	Connector string // "" where a request concerns none
	Inner     bool   // a workflow, script or batch calls
}

// Server begins the span of a request: a child of the context in meta, the traceparent
// of the request's _meta, else of header, the traceparent of its HTTP request, which
// otherwise is linked (SEP-414). nil: it is not sampled.
func (t *Tracer) Server(r *Request, meta, header []byte, start time.Time) *Span {
	if t == nil {
		return nil
	}
	parent, given := parseTraceparent(meta)
	link, linked := parseTraceparent(header)
	if !given {
		parent, given, link, linked = link, linked, Context{}, false
	}
	if !given {
		putRandom(parent.Trace[:])
	}
	if !t.config.sampler.sample(&parent, given) {
		return nil
	}
	s := t.span(&parent, kindServer, r.Method, start)
	if linked {
		s.link = link
	}
	s.describe(r)
	return s
}

// Call begins the span of a call that a workflow, a script or a batch makes.
func (s *Span) Call(r *Request, start time.Time) *Span {
	if s == nil {
		return nil
	}
	c := s.tracer.span(&s.context, kindInternal, r.Method, start)
	c.describe(r)
	return c
}

func (s *Span) describe(r *Request) {
	s.set(keyMethod, r.Method)
	switch {
	case r.Target == "":
	case r.Method == MethodCall:
		s.name += " " + r.Target
		s.set(keyTool, r.Target)
		s.set(keyOperation, operationExecution)
	default:
		s.name += " " + r.Target
		s.set(keyPrompt, r.Target)
	}
	if r.Protocol != "" {
		s.set(keyProtocol, r.Protocol)
	}
	if len(r.RequestID) > 0 && !r.Inner {
		s.set(keyRequestID, string(r.RequestID))
	}
	s.set(keyToolset, r.Toolset)
	if r.Connector != "" {
		s.set(keyConnector, r.Connector)
	}
}

// HTTP begins the span of an exchange with an HTTP API. template is the path of the operation with its
// parameters unfilled, so that no value of a caller is in it.
func (s *Span) HTTP(method, template, host string, port int) *Span {
	if s == nil {
		return nil
	}
	c := s.tracer.span(&s.context, kindClient, method+" "+template, time.Now())
	c.set(keyHTTPMethod, method)
	c.set(keyURLTemplate, template)
	c.server(host, port)
	return c
}

// MCP begins the span of an exchange with an MCP server.
func (s *Span) MCP(method, target, host string, port int) *Span {
	if s == nil {
		return nil
	}
	name := method
	if target != "" {
		name += " " + target
	}
	c := s.tracer.span(&s.context, kindClient, name, time.Now())
	c.set(keyMethod, method)
	if target != "" && method == MethodCall {
		c.set(keyTool, target)
	}
	c.server(host, port)
	return c
}

func (s *Span) server(host string, port int) {
	s.set(keyServerAddress, host)
	if port > 0 {
		s.set(keyServerPort, int64(port))
	}
}

// EndExchange ends the span of an exchange. status is that of HTTP; 0: there was no
// answer, for the reason cause.
func (s *Span) EndExchange(status int, cause string) {
	if s == nil {
		return
	}
	if status > 0 {
		s.set(keyHTTPStatus, int64(status))
	}
	switch {
	case status == 0:
		s.fail(cause, "")
	case status >= 400:
		s.fail(statusText(status), "")
	}
	s.finish(time.Now())
}

// Plugin records a run of a plugin that began at start and ends now. message is what may
// be said of its failure; "" when it did not fail.
func (s *Span) Plugin(name, version string, start time.Time, message string) {
	if s == nil {
		return
	}
	c := s.tracer.span(&s.context, kindInternal, "sluice.plugin "+name, start)
	c.set(keyPluginVersion, version)
	if message != "" {
		c.fail("plugin_error", message)
	}
	c.finish(time.Now())
}

// End is how a call ended.
type End struct {
	Outcome          string // as in the metrics
	Failed           bool
	Cause            string // in one word; "" where it did not fail
	Cached           bool
	Received, Result int // sizes of the answer in bytes
}

// EndCall ends the span of a call.
func (s *Span) EndCall(e *End) {
	if s == nil {
		return
	}
	s.set(keyOutcome, e.Outcome)
	if e.Cached {
		s.set(keyCached, true)
	}
	s.set(keyBytesReceived, int64(e.Received))
	s.set(keyBytesResult, int64(e.Result))
	if e.Failed {
		s.fail(e.Outcome, e.Cause)
	}
	s.finish(time.Now())
}

// Traceparent appends the header that makes what is asked next a child of s.
func (s *Span) Traceparent(dst []byte) []byte {
	if s == nil {
		return dst
	}
	dst = append(dst, "00-"...)
	dst = hex.AppendEncode(dst, s.context.Trace[:])
	dst = append(dst, '-')
	dst = hex.AppendEncode(dst, s.context.Span[:])
	return append(dst, "-01"...)
}

func (s *Span) set(key string, value any) {
	s.attributes = append(s.attributes, attribute{key, value})
}

func (s *Span) fail(kind, message string) {
	s.failed, s.message = true, message
	s.set(keyErrorType, kind)
}

func (s *Span) finish(at time.Time) {
	s.end = at
	s.tracer.exporter.add(s)
}

// span makes a span below parent, whose Span is all zero when there is none.
func (t *Tracer) span(parent *Context, kind int, name string, start time.Time) *Span {
	s := &Span{tracer: t, context: Context{Trace: parent.Trace, Sampled: true}, parent: parent.Span, name: name, kind: kind, start: start}
	putRandom(s.context.Span[:])
	return s
}

// putRandom fills an id, which is no secret and must not be all zero.
func putRandom(id []byte) {
	for i := 0; i < len(id); i += 8 {
		v := rand.Uint64() | 1 //nolint:gosec // an id of a span has to differ from others, not to be secret
		for k := range 8 {
			id[i+k] = byte(v >> (8 * k))
		}
	}
}
