package upstream

import (
	"net"
	"slices"
	"sync"
	"time"
)

// Cancel ends exchanges from another goroutine: the client has gone, and the
// upstream need not go on. One Cancel may belong to several
// exchanges at once. The zero Cancel is ready; it is safe for concurrent use.
//
// An exchange that still waits for a connection notices when it gets one.
type Cancel struct {
	mu    sync.Mutex
	done  bool       // guarded by mu
	conns []net.Conn // of exchanges that run; guarded by mu
	after []*func()  // see After; guarded by mu
}

// Cancel closes the connections of the exchanges that run and makes those that
// follow fail with [problem.Cancelled]. It may be called more than once.
func (c *Cancel) Cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	for _, f := range c.after {
		(*f)()
	}
	for _, conn := range c.conns {
		_ = conn.Close() // the exchange reports it
	}
}

// After has f called by Cancel, once or more often, until stop is; at once when it was
// called before. f must not block, and not use c. Nothing calls it on a nil Cancel.
func (c *Cancel) After(f func()) (stop func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = append(c.after, &f)
	if c.done {
		f()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.after = slices.DeleteFunc(c.after, func(g *func()) bool { return g == &f })
	}
}

// Extend gives the answers of the exchanges that run time until deadline, in place of what
// their limits say. A nil Cancel has none.
func (c *Cancel) Extend(deadline time.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.SetReadDeadline(deadline) // a connection that was closed fails the next read
	}
}

// Cancelled reports whether Cancel was called. A nil Cancel never is.
func (c *Cancel) Cancelled() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// Reset makes c ready for other exchanges. None may run.
func (c *Cancel) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.conns)
	c.done, c.conns = false, c.conns[:0]
}

// attach lets Cancel close conn; false: it is too late.
func (c *Cancel) attach(conn net.Conn) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.done {
		c.conns = append(c.conns, conn)
	}
	return !c.done
}

// detach ends what attach began. After it Cancel does not touch conn any more.
func (c *Cancel) detach(conn net.Conn) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.conns, conn); i >= 0 {
		c.conns = slices.Delete(c.conns, i, i+1)
	}
}
