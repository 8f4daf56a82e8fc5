package extism

import (
	"slices"
	"sync"
	"time"
)

// Calls that run for long, or beside others of their share, take turns: as many run at
// once as there are processors but one, so that one is left for everybody else: calls
// that run no plugin, garbage collections, and the timers that stop who waits. A share
// is a toolset. Turns go to the shares in turn, whatever number of calls each has.

// maxWaiting is how many calls of a share may wait for a turn. What comes beyond fails at
// once: it would only be late.
const maxWaiting = 128

// queue hands out the turns.
type queue struct {
	mu     sync.Mutex
	free   int               // turns that nobody has; guarded by mu
	shares map[string]*share // those with plugins; guarded by mu
	ring   []*share          // those with calls that wait, the next one first; guarded by mu
}

// share is what the calls of a toolset have. Guarded by queue.mu.
type share struct {
	name    string
	plugins int  // that are loaded
	untaxed bool // one of them runs without a turn
	waiting []*turn
}

// turn is a call's place in the queue.
type turn struct {
	share   *share
	held    bool          // guarded by queue.mu, as are the others
	untaxed bool          // it runs without
	granted chan struct{} // has one element when it got its turn while it waited
}

func newQueue(n int) *queue { return &queue{free: n, shares: map[string]*share{}} }

// join returns the share of a plugin, until it parts.
func (q *queue) join(name string) *share {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.shares[name]
	if s == nil {
		s = &share{name: name}
		q.shares[name] = s
	}
	s.plugins++
	return s
}

func (q *queue) part(s *share) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.plugins--; s.plugins == 0 {
		delete(q.shares, s.name)
	}
}

// enter begins a call and reports whether it may run without a turn, for a while: one
// call of each share may.
func (q *queue) enter(t *turn, s *share) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.share = s
	if !s.untaxed {
		s.untaxed, t.untaxed = true, true
	}
	return t.untaxed
}

// ask takes a turn when one is free, and otherwise a place among those who wait. It
// reports whether the call has its turn, and whether there was a place.
func (q *queue) ask(t *turn) (has, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case t.held:
		return true, false
	case q.free > 0:
		q.free--
		t.held = true
		return true, false
	case len(t.share.waiting) >= maxWaiting:
		return false, false
	}
	if t.granted == nil {
		t.granted = make(chan struct{}, 1)
	}
	if len(t.share.waiting) == 0 {
		q.ring = append(q.ring, t.share)
	}
	t.share.waiting = append(t.share.waiting, t)
	return false, true
}

// withdraw gives up waiting. It reports whether the turn came meanwhile.
func (q *queue) withdraw(t *turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.held {
		<-t.granted
		return true
	}
	s := t.share
	s.waiting = slices.DeleteFunc(s.waiting, func(w *turn) bool { return w == t })
	if len(s.waiting) == 0 {
		q.ring = slices.DeleteFunc(q.ring, func(r *share) bool { return r == s })
	}
	return false
}

// give gives a turn away, if the call has one, to the share that is next; or that it
// may run without.
func (q *queue) give(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.untaxed {
		t.untaxed, t.share.untaxed = false, false
	}
	if !t.held {
		return
	}
	t.held = false
	if len(q.ring) == 0 {
		q.free++
		return
	}
	s := q.ring[0]
	q.ring = slices.Delete(q.ring, 0, 1)
	next := s.waiting[0]
	s.waiting = slices.Delete(s.waiting, 0, 1)
	if len(s.waiting) > 0 {
		q.ring = append(q.ring, s)
	}
	next.held = true
	next.granted <- struct{}{}
}

// taken is how many calls have a turn, of so many turns.
func (q *queue) taken(of int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return of - q.free
}

// takeTurn gives the turn of a call to one that waits, if any does, and waits for the
// next. It fails when there is no place, at the end of the call's patience, and when the
// caller gives up.
func (i *Instance) takeTurn() error {
	q := i.p.h.queue
	q.give(&i.turn)
	has, waits := q.ask(&i.turn)
	switch {
	case has:
		return nil
	case !waits:
		return ErrBusy
	}
	left := time.Until(i.deadline)
	if i.waiting == nil {
		i.waiting = time.NewTimer(left)
	} else {
		i.waiting.Reset(left)
	}
	defer i.waiting.Stop()
	err := ErrBusy
	select {
	case <-i.turn.granted:
		return nil
	case <-i.waiting.C:
	case <-i.ctx.Done():
		err = ErrDeadline
	}
	if q.withdraw(&i.turn) {
		return nil
	}
	return err
}

// endTurn gives the call's turn away, if it has one: it ended, or waits.
func (i *Instance) endTurn() { i.p.h.queue.give(&i.turn) }
