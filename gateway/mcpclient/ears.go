package mcpclient

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// maxEars is how many sessions have a stream open for their calls at all servers
	// together, each with a connection. Further calls do without.
	maxEars = 2048
	// earWait is how long a call waits until that stream is open: the server may ask on it
	// at once.
	earWait = 2 * time.Second
	// lateAgain is after how long a stream that was not open by then is asked for again.
	lateAgain = time.Minute
)

// ear is the stream of a session on which nobody listens but its calls. Servers send requests
// and log messages on it that belong to a call and do not say so.
type ear struct {
	cancel upstream.Cancel
	opened chan struct{} // closed when the stream is open, or will not be
	late   atomic.Bool   // it was waited for in vain

	mu    sync.Mutex
	calls []*heardCall // guarded by mu; that run, oldest first
}

// heardCall is a call that runs. Its fields are guarded by the mutex of its ear.
type heardCall struct {
	notify func(method string, params jsonscan.Value)
	asks   *asks
	flood  flood
}

// postHeard is post for a message that may hear of its progress, and be asked, on the stream of
// the session too.
func (c *Client) postHeard(v *visit, x *Exchange, t *Target, m *message) error {
	l := m.link
	if m.hears && !l.modern && l.session != "" && !t.Endpoint.stdio && t.separate() {
		if e := c.earOf(v, t, l); e != nil {
			end := e.begin(&heardCall{notify: x.notify, asks: x.asks})
			defer end()
		}
	}
	if !m.reports && m.also == 0 || l.session == "" || x.notify == nil {
		return c.post(x, t, t.Endpoint.target, m)
	}
	end := l.reports.begin(m.id, m.also, x.notify, t)
	err := c.post(x, t, t.Endpoint.target, m)
	if d := end(); d.After(x.deadline) {
		x.deadline = d
	}
	return err
}

// earOf returns the open stream of a session, and opens it when it is not. nil: the server
// opens none, or too many are open.
func (c *Client) earOf(v *visit, t *Target, l *link) *ear {
	e := l.ear.Load()
	if e == nil {
		if time.Since(time.Unix(v.peer.mute.Load(), 0)) < lookAgain {
			return nil
		}
		e = &ear{opened: make(chan struct{})}
		if !l.ear.CompareAndSwap(nil, e) {
			e = l.ear.Load()
		} else if !c.openEar(v.peer, t, l, e) {
			return nil
		}
	}
	if e == nil { // it ended meanwhile
		return nil
	}
	if e.await() { // it may still come; calls of other sessions do not wait for one soon
		v.peer.mute.Store(time.Now().Add(lateAgain - lookAgain).Unix())
	}
	return e
}

// await waits until the stream is open, or will not be, and reports whether that was in
// vain. Calls after such a one do not wait: some servers send nothing of a stream before
// there is something to say.
func (e *ear) await() bool {
	if e.late.Load() {
		return false
	}
	timer := time.NewTimer(earWait)
	defer timer.Stop()
	select {
	case <-e.opened:
		return false
	case <-timer.C:
		e.late.Store(true)
		return true
	}
}

// openEar reads the stream of a session until it ends, in a goroutine of its own. false: too
// many are open, or the client is closed.
func (c *Client) openEar(p *peer, t *Target, l *link, e *ear) bool {
	c.mu.Lock()
	if c.closed || c.ears >= maxEars {
		c.mu.Unlock()
		l.ear.CompareAndSwap(e, nil)
		close(e.opened)
		return false
	}
	c.ears++
	c.work.Add(1)
	c.mu.Unlock()
	own := *t
	own.Deadline, own.Idle, own.Cancel, own.Noticed = time.Now().Add(streamLife), 0, &e.cancel, nil
	go func() {
		defer c.work.Done()
		x := Exchange{ear: e}
		open := false
		err := c.watch(&x, &own, l, func(method string, params jsonscan.Value) {
			if !open {
				open = true
				close(e.opened)
			}
			if method != "" && !l.reports.tell(method, params) && method == notificationMessage {
				e.tell(method, params)
			}
		})
		// A call shows whatever else is wrong, as a session that the server does not know any more.
		if s := x.Status(); problem.Is(err, problem.Unsupported) && s != fasthttp.StatusNotFound && s != fasthttp.StatusBadRequest {
			p.mute.Store(time.Now().Unix())
		}
		l.ear.CompareAndSwap(e, nil) // before whoever waits goes on: its next call looks anew
		if !open {
			close(e.opened)
		}
		c.mu.Lock()
		c.ears--
		c.mu.Unlock()
	}()
	return true
}

// begin has a call hear what comes until end.
func (e *ear) begin(one *heardCall) (end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, one)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for i, other := range e.calls {
			if other == one {
				e.calls = append(e.calls[:i], e.calls[i+1:]...)
				break
			}
		}
	}
}

// asked are the questions of the newest call that runs, as on stdio; nil: none does.
func (e *ear) asked() *asks {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.calls) == 0 {
		return nil
	}
	return e.calls[len(e.calls)-1].asks
}

// tell hands a log message to the newest call that runs, under the lock: the call must not end
// meanwhile.
func (e *ear) tell(method string, params jsonscan.Value) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.calls) == 0 {
		return
	}
	one := e.calls[len(e.calls)-1]
	if one.notify != nil && !one.flood.over(len(params.Raw())) {
		one.notify(method, params)
	}
}
