package plugin

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxCallers of a plugin are judged each for itself. What further ones do counts together.
	maxCallers = 256
	// outForAll callers, and half of those that called lately, are left out: so are all.
	outForAll = 3
)

// A record is how a plugin behaved lately in the calls of one caller.
type record struct {
	used    atomic.Int64 // unix nanoseconds of the last call
	unbound atomic.Int64 // unix nanoseconds until which it is left out
	times   atomic.Int64 // that it was left out, since it last behaved

	calls, failed, micros atomic.Int64 // of the window
}

// restart begins a window.
func (c *record) restart() {
	c.calls.Store(0)
	c.failed.Store(0)
	c.micros.Store(0)
}

// out leaves the plugin out until a time, and reports whether it was not already.
func (c *record) out(now time.Time, until time.Time) bool {
	c.restart()
	old := c.unbound.Load()
	if old > now.UnixNano() || !c.unbound.CompareAndSwap(old, until.UnixNano()) {
		return false // another call was faster
	}
	c.times.Add(1)
	return true
}

// records are those of a plugin's callers: what a caller's arguments do to the plugin is not
// to cost others their calls. That of all is for callers without a name, too.
type records struct {
	all record

	mu    sync.Mutex
	named map[string]*record // guarded by mu
}

// of returns the record of a caller.
func (r *records) of(caller string, now time.Time) *record {
	if caller == "" {
		return &r.all
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.named[caller]
	if c == nil {
		if len(r.named) >= maxCallers {
			r.forget(now)
		}
		if len(r.named) >= maxCallers {
			return &r.all
		}
		if r.named == nil {
			r.named = map[string]*record{}
		}
		c = &record{}
		r.named[caller] = c
	}
	c.used.Store(now.UnixNano())
	return c
}

// forget drops those that did not call lately. r.mu is held.
func (r *records) forget(now time.Time) {
	for caller, c := range r.named {
		if late := now.Add(-Unbound).UnixNano(); c.used.Load() < late && c.unbound.Load() < late {
			delete(r.named, caller)
		}
	}
}

// outForMost reports whether the plugin is left out for so many callers that it is not for
// what they asked.
func (r *records) outForMost(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	active, out := 0, 0
	for _, c := range r.named {
		switch {
		case c.unbound.Load() > now.UnixNano():
			out++
			active++
		case c.used.Load() > now.Add(-Unbound).UnixNano():
			active++
		}
	}
	return out >= outForAll && 2*out >= active
}
