package gateway

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	// watchAfter is how long a call runs before its client is watched: nearly all
	// calls have ended by then and cost nothing here.
	watchAfter = time.Second
	// watchInterval is how often clients of long calls are looked at: a call goes
	// on for at most this long after its client went.
	watchInterval = 250 * time.Millisecond
)

// watcher notices clients that went away while their call runs: fasthttp reads a
// connection only between requests. One goroutine looks at the connections of all
// long calls; looking consumes nothing. See docs/architecture.md, "Cancellation".
type watcher struct {
	mu    sync.Mutex
	calls map[*watched]struct{} // guarded by mu
	ended bool                  // guarded by mu; see endAll
	wake  chan struct{}         // something is in calls
}

// watched is the connection of one call. It is reused from call to call. Lock
// order: watcher.mu, then watched.mu; a call that ends in time takes only its own.
type watched struct {
	w       *watcher
	timer   *time.Timer
	gone    func() // called once when the client went, not after end returned
	stopped func() // called when the gateway ends all calls, not after end returned

	mu         sync.Mutex
	conn       net.Conn // guarded by mu; nil: no call runs
	registered bool     // guarded by mu; in watcher.calls
}

func newWatcher() *watcher {
	return &watcher{calls: map[*watched]struct{}{}, wake: make(chan struct{}, 1)}
}

// begin starts the time after which conn is watched.
func (c *watched) begin(conn net.Conn) {
	c.mu.Lock()
	c.conn = conn
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
	c.conn = nil // register may be on its way
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

// look calls gone when the client went, and reports whether it did.
func (c *watched) look() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil || !hasGone(c.conn) {
		return false
	}
	c.gone()
	return true
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

// look tells the calls whose clients went; false: nothing is left to watch.
func (w *watcher) look() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.calls {
		if c.look() {
			delete(w.calls, c)
		}
	}
	return len(w.calls) > 0
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
