package turns

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// MaxWaiting is how many calls of a share may wait for a turn. What comes beyond fails at
// once: it would only be late.
const MaxWaiting = 128

// ErrBusy means that a call waited too long for a turn, or found too many waiting.
var ErrBusy = errors.New("too many calls that run for long")

// A Queue hands out the turns. It is safe for concurrent use.
type Queue struct {
	turns  int
	mu     sync.Mutex
	free   int               // turns that nobody has; guarded by mu
	shares map[string]*Share // that are joined; guarded by mu
	ring   []*Share          // those with calls that wait, the next one first; guarded by mu
}

// A Share is what the calls of one owner have in common, such as those of a toolset.
type Share struct {
	name    string
	users   int  // that joined; guarded by Queue.mu, as are the others
	untaxed bool // one of its calls runs without a turn
	waiting []*Turn
}

// A Turn is a call's place in the queue. Its zero value is a call that has not begun; it
// may be used again when the call ended. It belongs to one goroutine.
type Turn struct {
	queue   *Queue
	share   *Share
	held    bool          // guarded by Queue.mu
	untaxed bool          // it runs without; guarded by Queue.mu
	granted chan struct{} // has one element when it got its turn while it waited
	waiting *time.Timer   // reused
}

// NewQueue makes a queue with so many turns as this process has processors, but one.
func NewQueue() *Queue {
	n := max(1, runtime.GOMAXPROCS(0)-1)
	return &Queue{turns: n, free: n, shares: map[string]*Share{}}
}

// Turns is how many calls may run for long at once.
func (q *Queue) Turns() int { return q.turns }

// Taken is how many of the turns are taken.
func (q *Queue) Taken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.turns - q.free
}

// Join returns the share of a name, until as many called [Queue.Part].
func (q *Queue) Join(name string) *Share {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.shares[name]
	if s == nil {
		s = &Share{name: name}
		q.shares[name] = s
	}
	s.users++
	return s
}

// Part leaves a share.
func (q *Queue) Part(s *Share) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(q.shares, s.name)
	}
}

// Enter begins a call of a share and reports whether it may run without a turn, for a
// while: one call of each share may. [Turn.Give] ends it.
func (t *Turn) Enter(q *Queue, s *Share) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.queue, t.share = q, s
	if !s.untaxed {
		s.untaxed, t.untaxed = true, true
	}
	return t.untaxed
}

// ask takes a turn when one is free, and otherwise a place among those who wait. It
// reports whether the call has its turn, and whether there was a place.
func (q *Queue) ask(t *Turn) (has, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case t.held:
		return true, false
	case q.free > 0:
		q.free--
		t.held = true
		return true, false
	case len(t.share.waiting) >= MaxWaiting:
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
func (q *Queue) withdraw(t *Turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.held {
		<-t.granted
		return true
	}
	s := t.share
	s.waiting = slices.DeleteFunc(s.waiting, func(w *Turn) bool { return w == t })
	if len(s.waiting) == 0 {
		q.ring = slices.DeleteFunc(q.ring, func(r *Share) bool { return r == s })
	}
	return false
}

// give gives a turn away, if the call has one, to the share that is next; or that it
// may run without.
func (q *Queue) give(t *Turn) {
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

// Untaxed reports whether the call may run without a turn, as [Turn.Enter] said. It may
// be asked by the call's own goroutine only.
func (t *Turn) Untaxed() bool { return t.untaxed }

// Take gives the turn of the call to one that waits, if any does, and waits for the next,
// until a time at the latest. It fails with [ErrBusy], also when too many wait, and
// with ctx's error.
func (t *Turn) Take(ctx context.Context, until time.Time) error {
	q := t.queue
	q.give(t)
	has, waits := q.ask(t)
	switch {
	case has:
		return nil
	case !waits:
		return ErrBusy
	}
	left := time.Until(until)
	if t.waiting == nil {
		t.waiting = time.NewTimer(left)
	} else {
		t.waiting.Reset(left)
	}
	defer t.waiting.Stop()
	err := ErrBusy
	select {
	case <-t.granted:
		return nil
	case <-t.waiting.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if q.withdraw(t) {
		return nil
	}
	return err
}

// Give gives the call's turn away, if it has one: it ended, or waits for something else.
func (t *Turn) Give() { t.queue.give(t) }
