package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// streamLife is how long the stream of a session is kept before it is opened again:
	// proxies cut longer ones anyway.
	streamLife = time.Hour
	// maxWaiting is how many calls may wait for answers of one stream.
	maxWaiting = 1024
)

// errNoStream says that an address gives no event stream.
var errNoStream = errors.New("there is no event stream")

// errStreamFailed says so of one where the server failed to open it.
var errStreamFailed = fmt.Errorf("%w: the server failed", errNoStream)

var errStreamEnded = errors.New("the event stream of the session ended")

// events is the stream of a session over HTTP with SSE (MCP 2024-11-05
// "Transports"): answers to what is posted elsewhere come on it.
type events struct {
	target string // where messages are posted
	cancel upstream.Cancel
	closed chan struct{}

	mu      sync.Mutex
	waiting map[uint64]*waiter                         // guarded by mu; nil: the stream has ended
	tell    func(method string, params jsonscan.Value) // guarded by mu; nil: there is no listener
	asks    *asks                                      // guarded by mu; of the listener; nil: it cannot be asked
	ready   func(target string, err error)
}

// waiter is a call that waits for its answer.
type waiter struct {
	own    bool // the stream is its caller's alone
	notify func(method string, params jsonscan.Value)
	asks   *asks         // nil: the client of the call cannot be asked
	also   uint64        // see Call.Also
	answer chan []byte   // one message
	moved  chan struct{} // holds one token: there was progress
	flood  flood         // guarded by events.mu
}

func (e *events) end() { e.cancel.Cancel() }

func (e *events) ended() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting == nil
}

// connectSSE opens the stream and makes the handshake over it. It fails with
// [problem.CannotConnectMCP] when the address gives no such stream.
func (c *Client) connectSSE(x *Exchange, t *Target) (*link, error) {
	e := &events{closed: make(chan struct{}), waiting: map[uint64]*waiter{}}
	type opened struct {
		target string
		err    error
	}
	first := make(chan opened, 1)
	e.ready = func(target string, err error) {
		select {
		case first <- opened{target, err}:
		default:
		}
	}
	if !c.begin() {
		return nil, problem.New(problem.Unavailable, "this gateway is stopping")
	}
	own := *t
	own.Deadline, own.Cancel = time.Now().Add(streamLife), &e.cancel
	go func() {
		defer c.work.Done()
		c.read(e, &own)
	}()
	timer := time.NewTimer(time.Until(t.Deadline))
	defer timer.Stop()
	select {
	case o := <-first:
		if o.err != nil {
			return nil, o.err
		}
		e.target = o.target
	case <-timer.C:
		e.end()
		return nil, problem.New(problem.CannotConnectMCP, "%s opened an event stream and did not say where to post", shownURL(t)).Fix("look at the log of the server")
	case <-c.stop:
		e.end()
		return nil, problem.New(problem.Unavailable, "this gateway is stopping")
	}
	l := &link{version: versionSSE, stream: e}
	id := c.ids.Add(1)
	x.body = c.appendInitialize(x.body[:0], id, versionSSE, t)
	m := &message{method: "initialize", id: id, body: x.body, link: l}
	if err := c.ask(x, t, l, m); err != nil {
		e.end()
		return nil, err
	}
	if err := x.refusedAuth(t); err != nil {
		e.end()
		return nil, err
	}
	if x.fault != nil || !x.got {
		e.end()
		return nil, x.answered().problem(t)
	}
	if v := string(x.result.Get("protocolVersion").AppendText(nil)); knownVersion(v) {
		l.version = v
	}
	l.about = readAbout(x.result, x.result.Get("serverInfo"))
	if err := c.post(x, t, e.target, &message{body: []byte(initialized), link: l}); err != nil {
		e.end()
		return nil, err
	}
	return l, nil
}

// read reads the stream until it ends.
func (c *Client) read(e *events, t *Target) {
	var x Exchange
	req := &x.http.Request
	req.Header.SetMethod(fasthttp.MethodGet)
	t.setURL(&x, t.Endpoint.target)
	req.Header.Set(fasthttp.HeaderAccept, "text/event-stream")
	begun := false
	x.http.Standing = true
	x.http.Events = func(status int, body io.Reader) error {
		if status != fasthttp.StatusOK {
			return nil
		}
		x.events.reset(bufio.NewReader(body), t.maxBody())
		for {
			if err := x.events.next(); err != nil {
				return err
			}
			switch string(x.events.name) {
			case "endpoint":
				target, err := endpointOf(t, string(x.events.data))
				begun = err == nil
				if e.ready(target, err); err != nil {
					return err
				}
			case "", "message":
				c.route(e, t, t.redact(x.events.data))
			}
		}
	}
	err := c.send(&x, t)
	e.mu.Lock()
	for _, w := range e.waiting {
		close(w.answer)
	}
	e.waiting = nil
	e.mu.Unlock()
	close(e.closed)
	switch {
	case begun:
	case err != nil:
		e.ready("", err)
	default:
		if err = x.refusedAuth(t); err == nil {
			why := errNoStream
			if x.Status() >= fasthttp.StatusInternalServerError {
				why = errStreamFailed
			}
			err = x.answered().problem(t).Because(why)
		}
		e.ready("", err)
	}
}

// endpointOf is the target of the messages that are posted. It must be on the same origin: the
// credential goes there.
func endpointOf(t *Target, s string) (string, error) {
	base, err := url.Parse(t.Endpoint.text)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(strings.TrimSpace(s))
	if err != nil || u.Scheme != base.Scheme || !strings.EqualFold(u.Host, base.Host) || u.User != nil {
		return "", problem.New(problem.CannotConnectMCP, "the MCP server at %s wants messages posted to another origin", shownURL(t)).
			Fix("ask its operator to correct the address that it announces")
	}
	target := u.EscapedPath()
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	return target, nil
}

// route hands a message of the stream to who waits for it.
func (c *Client) route(e *events, t *Target, b []byte) {
	v, err := jsonscan.Parse(b, maxDepth)
	if err != nil {
		return
	}
	id, method := v.Get("id"), v.Get("method")
	switch {
	case method.Exists() && id.Exists():
		c.requested(e.asked(), t, &link{version: versionSSE, stream: e}, id, method, v.Get("params"))
	case method.Exists():
		params := v.Get("params")
		n, ok := params.Get("progressToken").Whole() // our tokens are our ids
		logs := !ok && method.EqualText(notificationMessage)
		e.mu.Lock()
		if logs {
			n, ok = e.newestLocked(func(w *waiter) bool { return w.own && w.notify != nil })
		}
		if !ok {
			e.mu.Unlock()
			e.told(method.AppendText(nil), params)
			return
		}
		w := e.waiting[n]
		if w == nil && n != 0 {
			w = e.alsoLocked(n)
		}
		if w != nil && w.flood.over(len(b)) {
			maps.DeleteFunc(e.waiting, func(_ uint64, one *waiter) bool { return one == w })
			close(w.answer)
		} else if w != nil && method.EqualText(notificationProgress) {
			select {
			case w.moved <- struct{}{}:
			default:
			}
		}
		if w != nil && !w.flood.overrun && w.notify != nil {
			w.notify(string(method.AppendText(nil)), params) // under the lock: the call must not end meanwhile
		}
		e.mu.Unlock()
	default:
		n, ok := id.Whole()
		if !ok {
			return
		}
		e.mu.Lock()
		w := e.waiting[n]
		delete(e.waiting, n)
		e.mu.Unlock()
		if w != nil {
			w.answer <- bytes.Clone(b)
		}
	}
}

// asked are the questions of the newest call that runs: on this stream a request of the server
// does not say which call it belongs to. Where none runs they are those of who listens; nil:
// nobody does. A stream that several callers share asks none of them: it could be another's question.
func (e *events) asked() *asks {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n, ok := e.newestLocked(func(w *waiter) bool { return w.own && w.asks != nil }); ok {
		return e.waiting[n].asks
	}
	return e.asks
}

// alsoLocked is a call that waits for the result of a task, by the token of the call that made the
// task; nil: there is none.
func (e *events) alsoLocked(token uint64) *waiter {
	for _, w := range e.waiting {
		if w.also == token {
			return w
		}
	}
	return nil
}

// newestLocked is the id of the newest call that waits and is of a kind: what the server says
// without naming a call is taken for one of it, as on stdio.
func (e *events) newestLocked(kind func(*waiter) bool) (id uint64, ok bool) {
	for n, w := range e.waiting {
		if kind(w) && n >= id {
			id, ok = n, true
		}
	}
	return id, ok
}

// ask posts a request and waits for its answer on the stream.
func (c *Client) ask(x *Exchange, t *Target, l *link, m *message) error {
	e := l.stream
	w := &waiter{own: t.separate(), notify: x.notify, asks: x.asks, also: m.also, answer: make(chan []byte, 1), moved: make(chan struct{}, 1)}
	e.mu.Lock()
	if e.waiting == nil {
		e.mu.Unlock()
		return streamEnded(t)
	}
	if len(e.waiting) >= maxWaiting {
		e.mu.Unlock()
		return problem.New(problem.Unavailable, "too many calls to %s are running", t.Endpoint.Name()).Fix("try again in a few seconds")
	}
	e.waiting[m.id] = w
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		delete(e.waiting, m.id)
		e.mu.Unlock()
	}()
	id := m.id
	post := *m
	post.id = 0 // the POST itself is only accepted
	if err := c.post(x, t, e.target, &post); err != nil {
		return err
	}
	if s := x.Status(); s < 200 || s > 299 {
		x.id = id
		return x.readBody(t)
	}
	timer := time.NewTimer(time.Until(t.Deadline))
	defer timer.Stop()
	tick := time.NewTicker(cancelPoll)
	defer tick.Stop()
	for {
		select {
		case b, ok := <-w.answer:
			if !ok {
				e.mu.Lock()
				flooded := w.flood.overrun
				e.mu.Unlock()
				if flooded {
					return flooding(t)
				}
				return streamEnded(t)
			}
			x.id = id
			x.answer = b
			x.take(b)
			return nil
		case <-w.moved:
			if x.progressed(t); !x.deadline.IsZero() {
				timer.Reset(time.Until(x.deadline))
			}
		case <-timer.C:
			return problem.New(problem.Timeout, "%s did not answer in time", t.Endpoint.Name()).Fix(upstream.WaitLonger)
		case <-tick.C:
			if t.Cancel.Cancelled() {
				return problem.New(problem.Cancelled, "the call was cancelled: the client has gone")
			}
		}
	}
}

// cancelPoll is how often a call that waits on a stream looks whether it was
// cancelled: there is no connection of its own that could be closed.
const cancelPoll = 100 * time.Millisecond

func streamEnded(t *Target) error {
	return problem.New(problem.Unreachable, "%s ended its event stream before it answered", t.Endpoint.Name()).Fix("try again").Because(errStreamEnded)
}
