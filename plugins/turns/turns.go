package turns

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// After a call that was stopped by a limit or a trap its share rests restFor times as long as
// that call ran, but for longestRest at most. What such a call leaves behind, memory to clear
// and an instance to make anew, is work that no turn pays for. The rest is for the callers
// whose calls were stopped within suspectFor: the next call of each begins after that. Calls
// of others go on.
const (
	restFor     = 9
	longestRest = 50 * time.Millisecond
	suspectFor  = 10 * time.Second
	// maxSuspects is how many such callers of a share are known. Where there are more, all of
	// the share rest: somebody may have many names.
	maxSuspects = 32
)

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
	users   int       // that joined; guarded by Queue.mu, as are the others
	untaxed bool      // one of its calls runs without a turn
	rested  time.Time // when it has rested
	suspect []suspect // whose calls were stopped
	all     time.Time // until when all of its callers count as such
	waiting line
}

// A suspect is a caller whose calls were stopped of late.
type suspect struct {
	caller string
	until  time.Time
}

// A Turn is a call's place in the queue. Its zero value is a call that has not begun; it
// may be used again when the call ended. It belongs to one goroutine.
type Turn struct {
	waiter  // guarded by Queue.mu
	queue   *Queue
	share   *Share
	untaxed bool        // it runs without; guarded by Queue.mu
	waiting *time.Timer // reused
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

// Enter begins a call of a share, on behalf of a caller, and reports whether it may run without
// a turn, for a while: one call of each share may, unless the caller rests. One that may not
// calls [Turn.Begin]. [Turn.Give] ends it.
func (t *Turn) Enter(q *Queue, s *Share, caller string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.queue, t.share, t.caller = q, s, caller
	if !s.untaxed && s.rest(caller) <= 0 {
		s.untaxed, t.untaxed = true, true
	}
	return t.untaxed
}

// rest is how long a caller still rests.
func (s *Share) rest(caller string) time.Duration {
	if s.rested.IsZero() {
		return 0
	}
	now := time.Now()
	if rest := s.rested.Sub(now); rest > 0 && s.suspects(caller, now) {
		return rest
	}
	return 0
}

// suspects reports whether a caller's calls were stopped of late.
func (s *Share) suspects(caller string, now time.Time) bool {
	if now.Before(s.all) {
		return true
	}
	for n := range s.suspect {
		if c := &s.suspect[n]; c.caller == caller {
			return now.Before(c.until)
		}
	}
	return false
}

// suspectCaller remembers that a call of a caller was stopped.
func (s *Share) suspectCaller(caller string, now time.Time) {
	until := now.Add(suspectFor)
	for n := range s.suspect {
		if c := &s.suspect[n]; c.caller == caller {
			c.until = until
			return
		}
	}
	s.suspect = slices.DeleteFunc(s.suspect, func(c suspect) bool { return !now.Before(c.until) })
	if len(s.suspect) >= maxSuspects {
		s.all = until
		return
	}
	s.suspect = append(s.suspect, suspect{caller, until})
}

// Stopped says that the call was stopped by a limit or a trap, after it used so much
// processor time.
func (t *Turn) Stopped(used time.Duration) {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	now := time.Now()
	t.share.rested = now.Add(min(restFor*used, longestRest))
	t.share.suspectCaller(t.caller, now)
}

// ask takes a turn for a call without one when one is free, and otherwise a place among those who wait. It
// reports whether the call has its turn, and whether there was a place.
func (q *Queue) ask(t *Turn) (has, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		t.held = true
		return true, false
	}
	if !t.share.waiting.add(&t.waiter) {
		return false, false
	}
	if len(t.share.waiting.list) == 1 {
		q.ring = append(q.ring, t.share)
	}
	return false, true
}

// withdraw gives up waiting. It reports whether the turn came meanwhile.
func (q *Queue) withdraw(t *Turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.share.waiting.withdraw(&t.waiter) {
		return true
	}
	if s := t.share; len(s.waiting.list) == 0 {
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
	s.waiting.serve(nil)
	if len(s.waiting.list) > 0 {
		q.ring = append(q.ring, s)
	}
}

// Untaxed reports whether the call may run without a turn, as [Turn.Enter] said. It may
// be asked by the call's own goroutine only.
func (t *Turn) Untaxed() bool { return t.untaxed }

// Begin waits for the first turn of a call, and until its caller has rested. It fails like
// [Turn.Take].
func (t *Turn) Begin(ctx context.Context, until time.Time) error {
	for {
		switch rest, held := t.stands(); {
		case rest > 0:
			t.Give() // it came after another call was stopped
			if time.Now().Add(rest).After(until) {
				return ErrBusy
			}
			select {
			case <-t.in(rest):
			case <-ctx.Done():
				t.waiting.Stop()
				return ctx.Err()
			}
		case held:
			return nil
		default:
			if err := t.Take(ctx, until); err != nil {
				return err
			}
		}
	}
}

// stands reports how long the caller still rests, and whether the call has a turn.
func (t *Turn) stands() (rest time.Duration, held bool) {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	return t.share.rest(t.caller), t.held
}

// in returns a channel that has an element after d, with the turn's timer.
func (t *Turn) in(d time.Duration) <-chan time.Time {
	if t.waiting == nil {
		t.waiting = time.NewTimer(d)
	} else {
		t.waiting.Reset(d)
	}
	return t.waiting.C
}

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
	late := t.in(time.Until(until))
	defer t.waiting.Stop()
	err := ErrBusy
	select {
	case <-t.granted:
		if t.refused {
			return ErrBusy
		}
		return nil
	case <-late:
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
