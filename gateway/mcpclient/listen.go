package mcpclient

import (
	"bufio"
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// Listener is told what happens on a stream of a server. Its functions are called
// from one goroutine and must not block.
type Listener struct {
	Opened  func() // the stream is open: what changes from here on is told
	Changed func() // one of the lists changed
}

// told are the notifications that a list changed, and how 2026-07-28 asks for them.
var told = [...]struct {
	method, wanted string
	declared       func(*about) bool
}{
	{"notifications/tools/list_changed", "toolsListChanged", func(a *about) bool { return a.listChanged }},
	{"notifications/prompts/list_changed", "promptsListChanged", func(a *about) bool { return a.promptsChanged }},
	{"notifications/resources/list_changed", "resourcesListChanged", func(a *about) bool { return a.resourcesChanged }},
}

// tells reports whether the server reports changes of a list.
func (a *about) tells() bool { return a.listChanged || a.promptsChanged || a.resourcesChanged }

func isListChanged(method string) bool {
	for i := range told {
		if told[i].method == method {
			return true
		}
	}
	return false
}

// Listen keeps a stream of the server open until it ends, the deadline of t comes
// (default: an hour) or t is cancelled, and tells the listener when one of its lists
// changes: subscriptions/listen of 2026-07-28, the GET stream of the older revisions,
// or the stream of HTTP with SSE. It returns nil when the stream ended after it was
// open. It fails with [problem.Unsupported] when the server does not report changes,
// and otherwise as [Client.Call] does.
func (c *Client) Listen(x *Exchange, t *Target, to Listener) error {
	own := *t
	t = &own
	if t.Deadline.IsZero() {
		t.Deadline = time.Now().Add(streamLife)
	}
	opened := false
	tell := func(method string, _ jsonscan.Value) {
		if !opened { // an acknowledgement, or already what was asked for
			opened = true
			to.Opened()
		}
		if isListChanged(method) {
			to.Changed()
		}
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
	err = c.listen(v, x, t, tell)
	p.breaker.leave(entered, opened || !problem.Is(err, problem.Unreachable), time.Now())
	if opened {
		return nil
	}
	return err
}

func (c *Client) listen(v *visit, x *Exchange, t *Target, tell func(string, jsonscan.Value)) error {
	l, err := c.linkOf(v, x, t)
	if err != nil {
		return err
	}
	switch {
	case !l.about.tells():
		return silent(t)
	case l.stream != nil:
		return l.stream.listen(t, nil, tell)
	case l.modern:
		return c.subscribe(x, t, l, func(dst []byte, mark int) []byte {
			for i := range told {
				if told[i].declared(&l.about) {
					dst = jsonscan.AppendMember(dst, mark, []byte(told[i].wanted), []byte("true"))
				}
			}
			return dst
		}, tell)
	}
	return c.watch(x, t, l, tell)
}

func silent(t *Target) error {
	return problem.New(problem.Unsupported, "the MCP server at %s does not tell when its lists change", shownURL(t))
}

// subscribe asks as MCP 2026-07-28 does (basic/utilities "subscriptions/listen"). wanted
// appends what it asks for, as members of an object that begins at mark.
func (c *Client) subscribe(x *Exchange, t *Target, l *link, wanted func(dst []byte, mark int) []byte, tell func(string, jsonscan.Value)) error {
	id := c.ids.Add(1)
	x.body = appendRequest(x.body[:0], id, "subscriptions/listen")
	x.body = append(x.body, `"notifications":{`...)
	x.body = append(wanted(x.body, len(x.body)), '}')
	x.body = append(c.appendMeta(x.body, l, id, &Call{}), '}', '}')
	x.notify = tell
	err := c.post(x, t, t.Endpoint.target, &message{method: "subscriptions/listen", id: id, body: x.body, link: l, version: l.version, standing: true})
	if err != nil {
		return err
	}
	if err := x.refusedAuth(t); err != nil {
		return err
	}
	if x.fault != nil || x.Status() == fasthttp.StatusNotFound || x.Status() == fasthttp.StatusMethodNotAllowed {
		return silent(t)
	}
	return x.answerError(t, l)
}

// watch opens the stream of the revisions from 2025-03-26 to 2025-11-25 ("Listening
// for Messages from the Server").
func (c *Client) watch(x *Exchange, t *Target, l *link, tell func(string, jsonscan.Value)) error {
	x.forget()
	x.asksStream(t, l)
	x.notify, x.link = tell, l
	x.http.Standing = true
	x.http.Events = func(status int, body io.Reader) error {
		if status != fasthttp.StatusOK {
			return nil
		}
		tell("", jsonscan.Value{})
		x.events.reset(bufio.NewReader(body), t.maxBody())
		for {
			if err := x.events.next(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if len(x.events.name) == 0 || string(x.events.name) == "message" {
				x.take(t.redact(x.events.data))
			}
		}
	}
	if err := c.send(x, t); err != nil {
		return err
	}
	if err := x.refusedAuth(t); err != nil {
		return err
	}
	if s := x.Status(); s >= 200 && s < 300 || s == fasthttp.StatusMethodNotAllowed || s == fasthttp.StatusNotFound || s == fasthttp.StatusBadRequest {
		return silent(t) // no stream is opened on this address
	}
	return x.answerError(t, l)
}

// asksStream makes the request a GET for a stream in the session of a link.
func (x *Exchange) asksStream(t *Target, l *link) {
	x.http.Reset()
	t.setURL(x, t.Endpoint.target)
	h := &x.http.Request.Header
	h.SetMethod(fasthttp.MethodGet)
	h.Set(fasthttp.HeaderAccept, "text/event-stream")
	h.Set("Mcp-Protocol-Version", l.version)
	if l.session != "" {
		h.Set("Mcp-Session-Id", l.session)
	}
}

// listen waits on the stream of a session over HTTP with SSE until it ends.
// asks are the questions of who listens; nil: it cannot be asked.
func (e *events) listen(t *Target, asks *asks, tell func(string, jsonscan.Value)) error {
	e.mu.Lock()
	if e.waiting == nil || e.tell != nil { // it has ended, or somebody else listens
		e.mu.Unlock()
		return streamEnded(t)
	}
	e.tell, e.asks = tell, asks
	tell("", jsonscan.Value{})
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.tell, e.asks = nil, nil
		e.mu.Unlock()
	}()
	timer := time.NewTimer(time.Until(t.Deadline))
	defer timer.Stop()
	tick := time.NewTicker(cancelPoll)
	defer tick.Stop()
	for {
		select {
		case <-e.closed:
			return streamEnded(t)
		case <-timer.C:
			return nil
		case <-tick.C:
			if t.Cancel.Cancelled() {
				return problem.New(problem.Cancelled, "the subscription has ended")
			}
		}
	}
}

// told hands a notification that belongs to no call to who listens, which may be a caller
// or who keeps the lists.
func (e *events) told(method []byte, params jsonscan.Value) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tell != nil {
		e.tell(string(method), params)
	}
}
