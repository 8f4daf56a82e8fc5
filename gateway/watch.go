package gateway

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/snapshot"
)

const (
	// watchAfter is how long a call runs before its client is watched: nearly all
	// calls have ended by then and cost nothing here.
	watchAfter = time.Second
	// watchInterval is how often clients of long calls are looked at: a call goes
	// on for at most this long after its client went, or lost its access.
	watchInterval = 250 * time.Millisecond
)

// watcher notices clients that went away while their call runs, fasthttp reads a
// connection only between requests, and callers who lost their access meanwhile. One
// goroutine looks at the connections of all long calls; looking consumes nothing. See
// docs/gateway.md, "Cancellation".
type watcher struct {
	holder *snapshot.Holder

	mu    sync.Mutex
	calls map[*watched]struct{} // guarded by mu
	ended bool                  // guarded by mu; see endAll
	wake  chan struct{}         // something is in calls
}

// watched is the connection of one call. It is reused from call to call. Lock
// order: watcher.mu, then watched.mu; a call that ends in time takes only its own.
type watched struct {
	w     *watcher
	timer *time.Timer
	// None of these is called after end returned.
	gone    func() (goesOn bool)                      // called once, when the client went
	stopped func()                                    // called when the gateway ends all calls
	expel   func(now *snapshot.Snapshot) (ended bool) // called once for each snapshot: ends the call of who lost access

	mu         sync.Mutex
	conn       net.Conn           // guarded by mu; nil: no call runs
	registered bool               // guarded by mu; in watcher.calls
	left       bool               // guarded by mu; gone was called
	seen       *snapshot.Snapshot // guarded by mu; expel was called with it
}

func newWatcher(h *snapshot.Holder) *watcher {
	return &watcher{holder: h, calls: map[*watched]struct{}{}, wake: make(chan struct{}, 1)}
}

// begin starts the time after which conn is watched.
func (c *watched) begin(conn net.Conn) {
	c.mu.Lock()
	c.conn, c.left, c.seen = conn, false, nil
	c.mu.Unlock()
	if c.timer == nil {
		c.timer = time.AfterFunc(watchAfter, c.register)
		return
	}
	c.timer.Reset(watchAfter)
}

// end stops watching.
func (c *watched) end() {
	c.timer.Stop()
	c.mu.Lock()
	c.conn, c.seen = nil, nil // register may be on its way
	registered := c.registered
	c.mu.Unlock()
	if registered {
		c.w.mu.Lock()
		delete(c.w.calls, c)
		c.w.mu.Unlock()
		c.mu.Lock()
		c.registered = false
		c.mu.Unlock()
	}
}

func (c *watched) register() {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil || c.registered {
		return
	}
	if c.w.ended {
		c.stopped()
		return
	}
	c.registered = true
	c.w.calls[c] = struct{}{}
	select {
	case c.w.wake <- struct{}{}:
	default:
	}
}

// look ends the call when its client went or lost its access, and reports whether it did.
func (c *watched) look(now *snapshot.Snapshot) (ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return false
	}
	if c.seen != now {
		if c.seen = now; c.expel(now) {
			return true
		}
	}
	if c.left || !hasGone(c.conn) {
		return false
	}
	c.left = true
	return !c.gone()
}

// run looks at the registered connections until ctx ends.
func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
		for w.look() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// endAll ends the calls that are watched now, and every other one when its time comes.
func (w *watcher) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for c := range w.calls {
		c.mu.Lock()
		if c.conn != nil {
			c.stopped()
		}
		c.mu.Unlock()
	}
}

// look tells the calls whose clients went or lost their access; false: nothing is left to
// watch.
func (w *watcher) look() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.holder.Load()
	for c := range w.calls {
		if c.look(now) {
			delete(w.calls, c)
		}
	}
	return len(w.calls) > 0
}

// errExpelled answers a call whose caller lost its access. What the server did of it is not
// known.
var errExpelled = &mcp.Error{Code: codeInternal, Message: "access to this toolset ended while the call ran: its token was revoked, who may call it was changed, or it was deleted; the call may have changed data"}

// expel ends the call when its caller has no access to the toolset of now: what was revoked
// is not served to the end of a call that may take an hour. A draft is no part of a snapshot.
func (x *request) expel(now *snapshot.Snapshot) (ended bool) {
	if x.preview != nil {
		return false
	}
	if ts := now.Slug(x.ts.Slug); ts != nil && ts.ID == x.ts.ID && ts.Access.StillAdmits(x.pass) {
		return false
	}
	x.expelled.Store(true)
	x.cancel.Cancel()
	return true
}

// hasGone reports whether the other end of a connection has closed it, as far as
// this system can tell.
func hasGone(conn net.Conn) bool {
	for inner, ok := conn.(interface{ NetConn() net.Conn }); ok; inner, ok = conn.(interface{ NetConn() net.Conn }) {
		conn = inner.NetConn() // framing, TLS
	}
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true // it was closed here
	}
	closed := false
	if err := raw.Control(func(fd uintptr) { closed = hungUp(fd) }); err != nil {
		return true
	}
	return closed
}
