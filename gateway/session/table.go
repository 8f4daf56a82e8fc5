package session

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/hex"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/gateway/pool"
)

const (
	// maxSessions bounds the sessions of a node. Each costs about half a kilobyte, and
	// as much again where its client can be asked for something.
	maxSessions = 20_000
	// maxOwnerSessions of them may one caller have at one toolset: half, so that no
	// caller, and nobody at an open toolset, takes the sessions of all others. A fleet of
	// agents often shares one access token.
	maxOwnerSessions = maxSessions / 2
	// idleTime is how long a session is kept without a request, a running call or an
	// open stream. A client that is told that its session has ended begins another.
	idleTime = time.Hour
	// sweepEvery is how often idle sessions are looked for.
	sweepEvery = time.Minute
	// maxID is the longest session id that is looked up; ours are idBytes in hexadecimal.
	maxID   = 2 * idBytes
	idBytes = 16
	// nodeBytes are random ones that tell the nodes of a pool apart.
	nodeBytes = 8
)

// Owner is whose sessions are: one caller at one toolset. Caller is "" for everybody
// whom an open toolset does not know; there the id alone tells them apart.
type Owner struct{ Workspace, Toolset, Caller string }

// Options configures a Table.
type Options struct {
	// Ended is called with each session that ended, from any goroutine and behind all locks;
	// kept says that it only did here: other nodes of the pool go on with it. Default: nobody
	// is.
	Ended func(s *Session, kept bool)
	// Pool shares the sessions with other nodes. Default: they are this node's own.
	Pool *pool.Store
	// Moved is called with each session whose client listens at another node now. Default:
	// nobody is.
	Moved func(*Session)
	// Answers answers what another node asks with [Session.AskNode]; nil: it does not know.
	// Default: nothing is known.
	Answers func(s *Session, what []byte) []byte
}

// Table holds the sessions of a node. It is safe for concurrent use.
type Table struct {
	ended   func(s *Session, kept bool)
	moved   func(*Session)
	answers func(s *Session, what []byte) []byte
	pool    *pool.Store // nil: there is none
	node    string      // in the pool
	first   uint64      // number of the first stream of a call, which differs from those of other nodes
	asked   chan struct{}
	kept    atomic.Int64 // bytes of events of the streams of calls

	mu     sync.Mutex
	byID   map[string]*Session    // guarded by mu
	owners map[Owner]*list.List   // guarded by mu; of *Session, the one used longest ago first
	asking map[string]chan []byte // guarded by mu; what was asked of other nodes
	untold []*Session             // guarded by mu; sessions that ended while the pool did not answer
}

// New makes a Table without sessions.
func New(o Options) *Table {
	t := &Table{
		ended: o.Ended, moved: o.Moved, answers: o.Answers, pool: o.Pool, asked: make(chan struct{}, maxAsked),
		byID: map[string]*Session{}, owners: map[Owner]*list.List{}, asking: map[string]chan []byte{},
	}
	if t.ended == nil {
		t.ended = func(*Session, bool) {}
	}
	if t.moved == nil {
		t.moved = func(*Session) {}
	}
	if t.answers == nil {
		t.answers = func(*Session, []byte) []byte { return nil }
	}
	if t.pool != nil {
		t.node, t.first = randomHex(nodeBytes), uint64(mathrand.Uint32())<<32 //nolint:gosec // it tells nodes apart, nothing more
	}
	return t
}

// Open makes a session. Where there are too many the one that was unused longest makes
// room: of the owner at its bound, else of the owner with the most. It returns nil when
// all of them are in use; a client may do without a session.
func (t *Table) Open(o Owner, c Client) *Session {
	s := &Session{id: randomHex(idBytes), owner: o, client: c.clipped(), table: t}
	t.mu.Lock()
	gone, ok := t.insertLocked(s)
	t.mu.Unlock()
	return s.inPlaceOf(gone, ok)
}

// inPlaceOf ends the session that made room for this one, if any did; nil: there was no room.
func (s *Session) inPlaceOf(gone *Session, ok bool) *Session {
	if gone != nil {
		gone.close(gone.known())
	}
	if !ok {
		return nil
	}
	return s
}

// insertLocked puts a session in, in the place of one that it returns where there are too
// many; false: all of them are in use.
func (t *Table) insertLocked(s *Session) (gone *Session, ok bool) {
	own := t.owners[s.owner]
	if own != nil && own.Len() >= maxOwnerSessions {
		if gone = t.takeUnusedLocked(own); gone == nil {
			return nil, false
		}
	} else if len(t.byID) >= maxSessions {
		if gone = t.takeUnusedLocked(t.largestLocked()); gone == nil {
			return nil, false
		}
	}
	if own = t.owners[s.owner]; own == nil { // the one that went may have been its last
		own = list.New()
		t.owners[s.owner] = own
	}
	if t.pool != nil { // a client must not get the same number of two nodes
		s.asked, s.replays.last = uint64(mathrand.Uint32()>>2), t.first //nolint:gosec // it tells nodes apart, nothing more
	}
	s.lastUsed = time.Now()
	s.place = own.PushBack(s)
	t.byID[s.id] = s
	return gone, true
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// Find returns the session with an id if it is the owner's, and nil otherwise. It was
// used now. Where the nodes of a pool share sessions it asks the pool, once.
func (t *Table) Find(ctx context.Context, o Owner, id []byte) *Session {
	if len(id) > maxID {
		return nil
	}
	s := t.own(o, id)
	if t.pool == nil || len(id) != maxID {
		return s
	}
	return t.findShared(ctx, o, string(id), s)
}

// own is what this node knows.
func (t *Table) own(o Owner, id []byte) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[string(id)]
	if s == nil || s.owner != o {
		return nil
	}
	s.lastUsed = time.Now()
	t.owners[o].MoveToBack(s.place)
	return s
}

// End ends a session, at all nodes: its calls are cancelled, its requests are not answered any
// more, and its stream is closed. It may be called more than once.
func (t *Table) End(ctx context.Context, s *Session) {
	if t.remove(s, false) && t.pool != nil {
		t.endShared(ctx, s)
	}
}

// remove ends a session here, and reports whether it was there.
func (t *Table) remove(s *Session, kept bool) bool {
	t.mu.Lock()
	known := t.byID[s.id] == s
	if known {
		t.removeLocked(s)
	}
	t.mu.Unlock()
	if known {
		s.close(kept)
	}
	return known
}

// Len is how many sessions there are.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

// Run ends sessions that are idle too long, and hears what other nodes of the pool say, until
// ctx ends. Those that are left end with the process.
func (t *Table) Run(ctx context.Context) {
	if t.pool != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			t.hear(ctx)
		}()
		defer func() { <-done }()
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			t.sweep(ctx, func(s *Session) bool { return now.Sub(s.lastUsed) >= idleTime && !s.busy() })
			if t.pool != nil {
				t.keepUp(ctx, t.busy(func(s *Session) bool { return now.Sub(s.shared.touched) >= touchEvery }))
			}
		case <-ctx.Done():
			return
		}
	}
}

// busy are the sessions in use that are chosen; choose is called under their lock.
func (t *Table) busy(choose func(*Session) bool) (all []*Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byID {
		s.mu.Lock()
		if s.busy() && choose(s) {
			all = append(all, s)
		}
		s.mu.Unlock()
	}
	return all
}

func (t *Table) sweep(ctx context.Context, over func(*Session) bool) {
	var gone []*Session
	t.mu.Lock()
	for _, s := range t.byID {
		if over(s) {
			gone = append(gone, s)
			t.removeLocked(s)
		} else {
			s.forgetOld(time.Now())
		}
	}
	t.mu.Unlock()
	for _, s := range gone {
		s.close(t.idle(ctx, s))
	}
}

// takeUnusedLocked takes out the session of an owner that was unused longest; nil: all
// are in use.
func (t *Table) takeUnusedLocked(own *list.List) *Session {
	for e := own.Front(); e != nil; e = e.Next() {
		if s, ok := e.Value.(*Session); ok && !s.busy() {
			t.removeLocked(s)
			return s
		}
	}
	return nil
}

func (t *Table) largestLocked() *list.List {
	var most *list.List
	for _, own := range t.owners {
		if most == nil || own.Len() > most.Len() {
			most = own
		}
	}
	return most
}

func (t *Table) removeLocked(s *Session) {
	delete(t.byID, s.id)
	own := t.owners[s.owner]
	own.Remove(s.place)
	if own.Len() == 0 {
		delete(t.owners, s.owner)
	}
}
