package mcpclient

import (
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxFollowed bounds the resources that one feed asks for.
const maxFollowed = 64

// Feed is what a caller hears from a server outside of its calls.
type Feed struct {
	// URIs are resources of the server, at most 64, of whose changes it is asked to tell.
	URIs []string
	// Except is one of them to which the client subscribes itself at a server of the older
	// revisions, as soon as the stream is open; "": none.
	Except string
	// Opened is told that the stream is open and that the server was asked, and whether it
	// speaks 2026-07-28.
	Opened func(modern bool)
	// Notify gets the notifications of the stream, from one goroutine, and must not block.
	// params is valid during Notify.
	Notify func(method string, params jsonscan.Value)
	// Ask puts a request that the server makes on the stream to the client, as Call.Ask
	// does; at most 16 wait at a time. nil: they are refused.
	Ask func(method string, params jsonscan.Value, done <-chan struct{}) []byte
}

// Follow keeps a stream open in the caller's session at the server until it ends, the
// deadline of t comes (default: an hour) or t is cancelled: the GET stream of the revisions
// with sessions or the stream of HTTP with SSE, on which it subscribes to the resources, or
// subscriptions/listen of 2026-07-28 with them. It returns nil when the stream ended after it
// was open, and fails with [problem.Unsupported] where the server opens none, otherwise as
// [Client.Call] does.
func (c *Client) Follow(x *Exchange, t *Target, f *Feed) error {
	own := *t
	t = &own
	if t.Certificate != nil { // a session keeps it beyond the stream
		certificate := *t.Certificate
		t.Certificate = &certificate
	}
	if t.Deadline.IsZero() {
		t.Deadline = time.Now().Add(streamLife)
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
	opened, err := c.follow(v, x, t, f)
	p.breaker.leave(entered, opened || !problem.Is(err, problem.Unreachable), time.Now())
	if opened {
		return nil
	}
	return err
}

func (c *Client) follow(v *visit, x *Exchange, t *Target, f *Feed) (opened bool, err error) {
	l, err := c.linkOf(v, x, t)
	if err != nil {
		return false, err
	}
	x.asks = nil
	if f.Ask != nil {
		x.asks = &asks{ask: f.Ask, done: make(chan struct{})}
		defer x.asks.end()
	}
	var asking sync.WaitGroup
	defer asking.Wait()
	subscribe := sync.OnceFunc(func() {
		if c.begin() {
			asking.Go(func() {
				defer c.work.Done()
				c.subscribeAll(t, l, f)
			})
		}
	})
	tell := func(method string, params jsonscan.Value) {
		if !opened { // an acknowledgement, or already what was asked for
			opened = true
			switch {
			case l.modern, len(f.URIs) == 0:
				f.Opened(l.modern)
			default:
				subscribe()
			}
		}
		if method != "" && !l.reports.tell(method, params) {
			f.Notify(method, params)
		}
	}
	switch {
	case l.stream != nil:
		return opened, l.stream.listen(t, x.asks, tell)
	case l.modern:
		return opened, c.listenTo(x, t, l, f.URIs, tell)
	case l.session == "":
		return false, silent(t) // what would be told is of no session
	}
	if len(f.URIs) > 0 {
		ended := make(chan struct{})
		defer close(ended)
		asking.Go(func() {
			timer := time.NewTimer(earWait)
			defer timer.Stop()
			select {
			case <-ended:
			case <-timer.C: // some servers send nothing of a stream before there is something to tell
				subscribe()
			}
		})
	}
	err = c.watch(x, t, l, tell)
	if !opened && x.Status() == fasthttp.StatusNotFound { // it does not know the session any more
		v.drop(t, l)
		return false, problem.New(problem.Unavailable, "%s has ended the session", t.Endpoint.server()).Fix("try again")
	}
	return opened, err
}

// listenTo asks a server of 2026-07-28 to report changes of resources.
func (c *Client) listenTo(x *Exchange, t *Target, l *link, uris []string, tell func(string, jsonscan.Value)) error {
	if len(uris) == 0 {
		return silent(t) // it tells nothing that was not asked for
	}
	return c.subscribe(x, t, l, func(dst []byte, mark int) []byte {
		dst = append(jsonscan.AppendKey(dst, mark, []byte("resourceSubscriptions")), '[')
		for i, uri := range uris[:min(len(uris), maxFollowed)] {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonscan.AppendStringOf(dst, uri)
		}
		return append(dst, ']')
	}, tell)
}

// subscribeAll subscribes to the resources of a feed in a session. What the server refuses
// it does not report; who subscribed was told so when it did.
func (c *Client) subscribeAll(t *Target, l *link, f *Feed) {
	own := *t
	var x Exchange
	for _, uri := range f.URIs[:min(len(f.URIs), maxFollowed)] {
		if uri == f.Except {
			continue
		}
		own.Deadline = time.Now().Add(answerTimeout)
		id := c.ids.Add(1)
		x.body = append(appendRequest(x.body[:0], id, "resources/subscribe"), `"uri":`...)
		x.body = append(jsonscan.AppendStringOf(x.body, uri), '}', '}')
		x.notify, x.link = nil, nil
		m := &message{method: "resources/subscribe", id: id, body: x.body, link: l, version: l.version, repeatable: true}
		var err error
		if l.stream != nil {
			err = c.ask(&x, &own, l, m)
		} else {
			err = c.post(&x, &own, own.Endpoint.target, m)
		}
		if err != nil {
			break // the stream shows what is wrong with the session
		}
	}
	f.Opened(false)
}
