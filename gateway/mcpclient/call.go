package mcpclient

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/problem"
)

// Call calls a tool, or asks for something else. Afterwards x has a result or a fault of the server. It fails
// with [AuthError] when the server wants another credential, with the problems of
// upstream.Client.Do, with [problem.CannotConnectMCP] when nothing there speaks
// MCP, [problem.UpstreamMalformed] or [problem.Unavailable]. A call that the server
// did not take, because it forgot the session or speaks another revision now, is
// repeated once.
func (c *Client) Call(x *Exchange, t *Target, call *Call) error {
	x.asks = nil
	if call.Ask != nil {
		x.asks = &asks{ask: call.Ask, done: make(chan struct{})}
		defer x.asks.end()
	}
	var agreed *link
	err := c.call(x, t, call, &agreed)
	if err == nil && agreed.taskOnly(x.fault, call) {
		again := *call
		again.Task = true
		err = c.call(x, t, &again, &agreed)
	}
	return err
}

// taskOnly reports whether a server refused a call because its tool runs as a task only (MCP
// 2025-11-25 "Tool-Level Negotiation"). A server of both eras says so in the older one
// alone, whose lists are not read; and the call was not made.
func (l *link) taskOnly(f *Fault, call *Call) bool {
	return f != nil && f.Code == codeMethodNotFound && !l.modern && l.about.tasks && !call.Task && len(call.AsTask) == 0 && call.Method == ""
}

// call makes the request of a call once, and keeps what was agreed for it in agreed.
func (c *Client) call(x *Exchange, t *Target, call *Call, agreed **link) error {
	return c.do(x, t, func(l *link) (*message, error) {
		*agreed = l
		if err := c.setLevel(x, t, l, call); err != nil {
			return nil, err
		}
		c.tellRoots(t, l, call)
		id := c.ids.Add(1)
		asked := *call
		asked.Tasks = call.Tasks && !(t.Once && l.stateful()) // which ends with the call, and the task with it
		x.body = c.appendCall(x.body[:0], l, id, &asked)
		x.notify = nil
		if call.Notify != nil {
			x.notify = call.Notify
		}
		m := &message{method: call.method(), name: call.Tool, id: id, body: x.body, repeatable: call.Repeatable, reports: call.Progress, hears: call.Hears, also: call.Also}
		if l.modern {
			m.params = call.Headers
		} else if call.Task && len(call.AsTask) == 0 {
			m.then = func(l *link) error { return c.awaitTask(x, t, l, call) }
		}
		return m, nil
	})
}

// do makes a request with what is agreed with the server.
func (c *Client) do(x *Exchange, t *Target, compose func(*link) (*message, error)) error {
	limited := *t
	t = &limited
	t.defaults()
	if t.Certificate != nil { // a session keeps it beyond the call
		own := *t.Certificate
		t.Certificate = &own
	}
	p, err := c.peer(t)
	if err != nil {
		return err
	}
	v := &visit{peer: p}
	defer c.release(v)
	entered, err := p.breaker.enter(t.Endpoint.server(), time.Now())
	if err != nil {
		return err
	}
	err = c.twice(v, x, t, compose)
	p.breaker.leave(entered, !problem.Is(err, problem.Unreachable), time.Now())
	return err
}

// twice makes the request, and again when the server did not take it.
func (c *Client) twice(v *visit, x *Exchange, t *Target, compose func(*link) (*message, error)) error {
	for again := false; ; again = true {
		l, err := c.linkOf(v, x, t)
		if err != nil {
			return err
		}
		m, err := compose(l)
		if err != nil {
			return err
		}
		m.link, m.version = l, l.version
		if l.stream != nil {
			err = c.ask(x, t, l, m)
		} else {
			x.link = l
			err = c.postHeard(v, x, t, m)
		}
		x.Modern = l.modern
		if err != nil {
			c.sendCancelled(t, l, m, err)
			if errors.Is(err, errStreamEnded) && !again && m.repeatable {
				v.drop(t, l)
				continue
			}
			return err
		}
		if err := x.refusedAuth(t); err != nil {
			return err
		}
		if !again && x.sessionLost(l) {
			v.drop(t, l)
			continue
		}
		if err := x.answerError(t, l); err != nil || m.then == nil || !x.result.Exists() {
			return err
		}
		return m.then(l)
	}
}

// sessionLost reports whether the server refused a message because it does not know
// the session, or no longer supports the revision that was negotiated.
func (x *Exchange) sessionLost(l *link) bool {
	if x.result.Exists() {
		return false
	}
	switch status := x.Status(); {
	case x.fault != nil && x.fault.Code == codeUnsupportedVersion:
		return true
	case l.modern: // a server that went back to an older version
		return status == fasthttp.StatusNotFound && (x.fault == nil || x.fault.Code == codeMethodNotFound) || status == fasthttp.StatusBadRequest && x.fault == nil
	case l.session == "" && l.stream == nil:
		// The server requires sessions now, or it moved to version 2026-07-28.
		return status == fasthttp.StatusBadRequest && (x.fault == nil || mentionsSession([]byte(x.fault.Message)))
	case status == fasthttp.StatusNotFound:
		return true
	case status == fasthttp.StatusBadRequest:
		// Servers made after an example of the official SDK say it this way.
		return mentionsSession(x.http.Body())
	}
	return false
}

func mentionsSession(b []byte) bool {
	return bytes.Contains(bytes.ToLower(b[:min(len(b), 512)]), []byte("session")) || bytes.Contains(b, []byte("not initialized"))
}

// answerError is the error of an answer that is neither a result nor a fault.
func (x *Exchange) answerError(t *Target, l *link) error {
	if x.got {
		return nil
	}
	switch status := x.Status(); {
	case l.stream != nil:
	case status == fasthttp.StatusTooManyRequests:
		p := problem.New(problem.Unavailable, "the MCP server has too many calls (HTTP 429)").Fix("try again later")
		// Only seconds are repeated: what is none of the two forms (RFC 9110 §10.2.3) is
		// words of the server.
		if n, err := strconv.ParseUint(string(x.Header(fasthttp.HeaderRetryAfter)), 10, 31); err == nil {
			p.Remedy = "try again after " + strconv.FormatUint(n, 10) + " seconds"
		}
		return p
	case status < 200 || status > 299:
		return problem.New(problem.UpstreamStatus, "the MCP server answered %s", x.said()).Fix("look at the log of the server, or try again later")
	}
	if x.broken {
		return problem.New(problem.UpstreamMalformed, "the answer of %s is not valid JSON-RPC", t.Endpoint.server()).
			Fix("look at the log of the server")
	}
	if x.astray {
		return problem.New(problem.UpstreamMalformed, "%s answered with the id of another request", t.Endpoint.server()).
			Fix("look at the log of the server")
	}
	return unanswered(t)
}

func unanswered(t *Target) error {
	return problem.New(problem.UpstreamMalformed, "%s ended its answer without a result", t.Endpoint.server()).Fix("try again")
}

const (
	// maxParting is how many goodbyes are sent at once; more are left out.
	maxParting = 32
	// partingTimeout bounds one.
	partingTimeout = 2 * time.Second
)

// sendCancelled tells a server of an older revision that the client no longer waits for
// an answer. Closing the connection says so only since 2026-07-28.
func (c *Client) sendCancelled(t *Target, l *link, m *message, err error) {
	if l.modern || m.id == 0 || !problem.Is(err, problem.Cancelled) && !problem.Is(err, problem.Timeout) {
		return
	}
	body := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
	body = strconv.AppendUint(body, m.id, 10)
	c.background(t, l, append(body, `,"reason":"the client no longer waits for the answer"}}`...))
}

// reply refuses a request of the server; a ping is answered.
func (c *Client) reply(t *Target, l *link, id []byte, ping bool) {
	body := append([]byte(nil), `{"jsonrpc":"2.0","id":`...)
	body = append(body, id...)
	if ping {
		body = append(body, `,"result":{}}`...)
	} else {
		body = append(body, `,"error":{"code":-32601,"message":"this client has no such capability"}}`...)
	}
	c.background(t, l, body)
}

// background posts a message that nothing waits for.
func (c *Client) background(t *Target, l *link, body []byte) {
	target := t.Endpoint.target
	if l.stream != nil {
		target = l.stream.target
	}
	c.aside(t, func(x *Exchange, t *Target) {
		_ = c.post(x, t, target, &message{body: body, link: l, version: l.version}) // nothing depends on it
	})
}

// begin counts a goroutine of the client, which says c.work.Done at its end; false: the
// client is closed.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.work.Add(1)
	}
	return !c.closed
}

// aside runs f in its own goroutine, unless too many run; it reports whether it does.
func (c *Client) aside(t *Target, f func(x *Exchange, t *Target)) bool {
	select {
	case c.parting <- struct{}{}:
	default:
		return false
	}
	if !c.begin() {
		<-c.parting
		return false
	}
	own := *t
	own.Deadline, own.Cancel = time.Now().Add(partingTimeout), nil
	go func() {
		defer c.work.Done()
		defer func() { <-c.parting }()
		var x Exchange
		f(&x, &own)
	}()
	return true
}
