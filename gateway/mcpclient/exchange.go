package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/textfilter"
)

const (
	notificationProgress = "notifications/progress"
	notificationMessage  = "notifications/message"
)

// keepBuffer is the largest buffer an Exchange keeps between calls.
const keepBuffer = 256 << 10

// maxDepth is the nesting of an answer. Deeper ones are refused: they are scanned
// again by everything behind.
const maxDepth = jsonscan.DefaultMaxDepth

// Exchange is one call and its answer, reused from call to call. It owns all
// buffers: what it gives is valid until Reset. It belongs to one goroutine.
type Exchange struct {
	http   upstream.Exchange
	body   []byte // request
	header []byte // a header's value
	events eventReader
	stream *bufio.Reader
	answer []byte // kept event or message

	target   *Target   // set by send
	deadline time.Time // of the call, when progress moved it

	// Set by post.
	id     uint64
	notify func(method string, params jsonscan.Value)
	link   *link // what requests of the server are answered on; nil: none can come
	client *Client
	asks   *asks // nil: the caller cannot be asked
	ear    *ear  // of a stream that belongs to no call; nil: asks are those of the call
	flood  flood
	result jsonscan.Value
	fault  *Fault
	got    bool // result or fault is set
	broken bool // something came that is not JSON-RPC
	astray bool // something came that answers no request of ours
	cut    bool // the stream ended without the answer

	// Modern says that the server speaks 2026-07-28, after a call.
	Modern bool
}

// ID is that of the last request, which is its progress token too.
func (x *Exchange) ID() uint64 { return x.id }

// Reset makes x ready for the next call and lets large buffers go.
func (x *Exchange) Reset() {
	x.http.Reset()
	x.forget()
	x.body, x.header, x.answer = keep(x.body), keep(x.header), keep(x.answer)
	x.events.text, x.events.data, x.events.r = keep(x.events.text), keep(x.events.data), nil
	x.notify, x.link, x.asks, x.target, x.Modern, x.deadline = nil, nil, nil, nil, false, time.Time{}
}

func (x *Exchange) forget() {
	x.result, x.fault, x.got, x.broken, x.astray, x.cut, x.id, x.flood = jsonscan.Value{}, nil, false, false, false, false, 0, flood{}
	x.events.id = x.events.id[:0]
}

func keep(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// Status is the HTTP status of the answer; 0 when it came on another stream.
func (x *Exchange) Status() int { return x.http.Status() }

// Header is a header of the answer; nil when it has none of that name.
func (x *Exchange) Header(name string) []byte { return x.http.Header(name) }

// Result is the result of the last call as the server wrote it.
func (x *Exchange) Result() jsonscan.Value { return x.result }

// Fault is the JSON-RPC error the last call was answered with; nil: it was not.
func (x *Exchange) Fault() *Fault { return x.fault }

// Deadline is when the last call would have ended, when reports of progress moved its end;
// else the zero time.
func (x *Exchange) Deadline() time.Time { return x.deadline }

// progressed moves the end of the call that x makes for the target t.
func (x *Exchange) progressed(t *Target) {
	if t == nil || t.Idle <= 0 {
		return
	}
	x.deadline = t.moved(time.Now())
	x.http.Extend(x.deadline)
}

// moved is when a call ends that reported progress now.
func (t *Target) moved(now time.Time) time.Time {
	if d := now.Add(t.Idle); d.Before(t.Latest) {
		return d
	}
	return t.Latest
}

// message is a message to the server.
type message struct {
	method, name string // name: of the tool
	id           uint64 // 0: a notification or an answer
	body         []byte
	params       []Header
	link         *link // nil: nothing is agreed yet
	version      string
	repeatable   bool
	standing     bool   // the answer stays open
	reports      bool   // it wants progress
	also         uint64 // see Call.Also
	hears        bool   // what the server says on the stream of the session is for its caller

	then func(l *link) error // goes on from a result; nil: it is the end
}

// post sends a message to an address of the server and reads what answers it. Every
// status is an answer; x.got says whether there was one to the message.
func (c *Client) post(x *Exchange, t *Target, target string, m *message) error {
	x.http.Reset()
	x.forget()
	x.id = m.id
	req := &x.http.Request
	req.Header.SetMethod(fasthttp.MethodPost)
	t.setURL(x, target)
	h := &req.Header
	h.SetContentType("application/json")
	h.Set(fasthttp.HeaderAccept, "application/json, text/event-stream")
	if m.version != "" {
		h.Set("Mcp-Protocol-Version", m.version)
	}
	if m.version == versionModern && m.id != 0 {
		h.Set("Mcp-Method", m.method)
		if m.name != "" {
			x.header = appendHeaderValue(x.header[:0], []byte(m.name))
			h.SetBytesV("Mcp-Name", x.header)
		}
		for i := range m.params {
			x.header = appendHeaderValue(x.header[:0], m.params[i].Value)
			h.SetBytesV(m.params[i].Name, x.header)
		}
	}
	if m.link != nil && m.link.session != "" {
		h.Set("Mcp-Session-Id", m.link.session)
	}
	req.SetBodyRaw(m.body)
	x.http.Events = x.readEvents(t, false)
	x.http.Repeatable, x.http.Standing = m.repeatable, m.standing
	err := c.send(x, t)
	if x.resumable(m, err) {
		return c.resume(x, t, m.link, err)
	}
	if err != nil || x.got || m.id == 0 {
		return err
	}
	return x.readBody(t)
}

// send makes the HTTP exchange with the credential of the target.
func (c *Client) send(x *Exchange, t *Target) error {
	x.target, x.client = t, c
	var strip upstream.Stripper
	if t.Auth != nil {
		if err := t.Auth.Apply(&x.http.Request); err != nil {
			return err
		}
		strip = t.Auth
	}
	to, err := c.client(t)
	if err != nil {
		return err
	}
	lim := upstream.Limits{Deadline: t.Deadline, MaxBody: t.MaxBody, Client: t.Certificate, Cancel: t.Cancel, Scope: t.Scope, Loop: t.Loop}
	if err := to.Do(&x.http, &t.Endpoint.base, lim, strip); err != nil {
		if errors.Is(err, errEventTooLarge) {
			return problem.New(problem.UpstreamTooLarge, "the answer of %s is larger than %d bytes", t.Endpoint.Name(), t.maxBody()).
				Fix("ask for less, or raise the limit: sluice toolset optimize TOOLSET --max-response MIB").Because(err)
		}
		if x.flood.overrun {
			return flooding(t)
		}
		return err
	}
	if x.Status() == fasthttp.StatusLoopDetected { // whatever is tried next would be refused too
		return problem.New(problem.UpstreamStatus, "the MCP server at %s refused the request: HTTP 508 Loop Detected", shownURL(t)).
			Fix("look for toolsets that call each other in a circle, and remove the connector that leads back: sluice toolset connector remove")
	}
	return x.commandFault(t)
}

func (t *Target) setURL(x *Exchange, target string) {
	x.http.Request.SetRequestURI(t.Endpoint.origin.Origin() + target)
	x.http.Request.URI().DisablePathNormalizing = true
}

func (t *Target) maxBody() int64 {
	if t.MaxBody <= 0 {
		return upstream.DefaultMaxBody
	}
	return min(t.MaxBody, upstream.HardMaxBody)
}

// defaults are the limits of a call that does not say.
func (t *Target) defaults() {
	if t.Deadline.IsZero() {
		t.Deadline = time.Now().Add(upstream.DefaultTimeout)
	}
}

// readEvents reads a stream until the answer is in it; resumes says that it goes on with
// the one before.
func (x *Exchange) readEvents(t *Target, resumes bool) func(int, io.Reader) error {
	return func(_ int, body io.Reader) error {
		if x.stream == nil {
			x.stream = bufio.NewReader(body)
		} else {
			x.stream.Reset(body)
		}
		defer x.stream.Reset(nil)
		if resumes {
			x.events.resume(x.stream)
		} else {
			x.events.reset(x.stream, t.maxBody())
		}
		x.events.http = &x.http
		for !x.got {
			if err := x.events.next(); err != nil {
				x.cut = !errors.Is(err, errEventTooLarge) && !errors.Is(err, errFlood) && !errors.Is(err, upstream.ErrNoMemory)
				x.flood.overrun = x.flood.overrun || errors.Is(err, errFlood)
				if errors.Is(err, io.EOF) {
					return nil // without an answer, which the caller sees
				}
				return err
			}
			if len(x.events.data) == 0 {
				continue // an event for its id (MCP 2025-11-25 "Sending Messages to the Server")
			}
			if len(x.events.name) == 0 || string(x.events.name) == "message" {
				x.take(t.redact(x.events.data))
			}
			if !x.got && x.flood.over(len(x.events.data)) {
				return errFlood
			}
		}
		return nil
	}
}

// byteOrderMark is what some servers write before JSON; readers of the web remove it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// readBody reads an answer that is not a stream. A body of another status than 200
// may be a JSON-RPC error too.
func (x *Exchange) readBody(t *Target) error {
	body := bytes.TrimPrefix(x.http.Body(), byteOrderMark)
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if x.http.IsEvents() { // a compressed stream, which was read to its end
		err := x.readEvents(t, false)(x.http.Status(), bytes.NewReader(body))
		if x.flood.overrun {
			return flooding(t)
		}
		return err
	}
	x.take(x.target.redact(body))
	return nil
}

// redact removes the credential from everything a server sent: results, errors and
// notifications reach agents and logs.
func (t *Target) redact(b []byte) []byte {
	if t == nil || t.Auth == nil {
		return b
	}
	return t.Auth.Redact(b)
}

// take looks at one message of the server, or at a batch of them. b is kept.
func (x *Exchange) take(b []byte) {
	v, err := jsonscan.Parse(b, maxDepth)
	if err != nil {
		x.broken = true
		return
	}
	if v.Kind() == jsonscan.Array { // 2025-03-26
		for it := v.Elements(); it.Next() && !x.got; {
			x.takeOne(it.Value())
		}
		return
	}
	x.takeOne(v)
}

func (x *Exchange) takeOne(v jsonscan.Value) {
	var version, method, id, params, fault, result jsonscan.Value
	for it := v.Members(); it.Next(); {
		switch { // the last of several members of a name wins, as in encoding/json
		case it.KeyEqual("jsonrpc"):
			version = it.Value()
		case it.KeyEqual("id"):
			id = it.Value()
		case it.KeyEqual("result"):
			result = it.Value()
		case it.KeyEqual("error"):
			fault = it.Value()
		case it.KeyEqual("method"):
			method = it.Value()
		case it.KeyEqual("params"):
			params = it.Value()
		}
	}
	switch {
	case method.Kind() == jsonscan.String && !id.Exists():
		if method.EqualText(notificationProgress) {
			if n, ok := params.Get("progressToken").Whole(); ok && n > 0 && n == x.id { // our tokens are our ids
				x.progressed(x.target)
			}
		}
		if x.notify != nil {
			x.notify(string(method.AppendText(nil)), params)
		}
		return
	case method.Exists():
		if x.link != nil {
			asks := x.asks
			if x.ear != nil {
				asks = x.ear.asked()
			}
			x.client.requested(asks, x.target, x.link, id, method, params)
		}
		return
	}
	if n, ok := id.Whole(); !ok || n != x.id {
		// An error without an id is about the message that was posted.
		if fault.Kind() != jsonscan.Object || id.Exists() && id.Kind() != jsonscan.Null {
			x.broken = x.broken || v.Kind() != jsonscan.Object || !version.Exists()
			x.astray = true
			return
		}
	}
	switch {
	case fault.Kind() > jsonscan.Null && result.Kind() > jsonscan.Null: // JSON-RPC 2.0 §5: never both
		x.broken = true
	case fault.Kind() == jsonscan.Object:
		x.fault, x.got = readFault(fault), true
	case result.Kind() == jsonscan.Object:
		x.result, x.got = result, true
	default:
		x.broken = true
	}
}

// said is what a person reads of an answer that is none: the status and the
// beginning of the body.
func (x *Exchange) said() string {
	if x.fault != nil && x.target.Endpoint.stdio { // the status is our own
		return x.fault.Message
	}
	out := "HTTP " + strconv.Itoa(x.http.Status())
	if s := fasthttp.StatusMessage(x.http.Status()); s != "Unknown Status Code" {
		out += " " + s
	}
	if x.fault != nil {
		return out + ": " + x.fault.Message
	}
	const most = 200
	if text := strings.Join(strings.Fields(clip(x.target.redact(x.http.Body()), most)), " "); text != "" && !strings.HasPrefix(text, "<") {
		out += ": " + text
	}
	return out
}

// clip is at most n bytes of text from outside, without hidden characters.
func clip(b []byte, n int) string {
	cut := len(b) > n
	if cut {
		for n > 0 && !utf8.RuneStart(b[n]) {
			n--
		}
		b = b[:n]
	}
	s := textfilter.Clean(string(b))
	if cut {
		s += "…"
	}
	return s
}
