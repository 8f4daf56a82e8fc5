package session

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"
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
)

// Owner is whose sessions are: one caller at one toolset. Caller is "" for everybody
// whom an open toolset does not know; there the id alone tells them apart.
type Owner struct{ Workspace, Toolset, Caller string }

// Options configures a Table.
type Options struct {
	// Ended is called with each session that ended, from any goroutine and behind all locks.
	// Default: nobody is.
	Ended func(*Session)
}

// Table holds the sessions of a node. It is safe for concurrent use.
type Table struct {
	ended func(*Session)
	kept  atomic.Int64 // bytes of events of the streams of calls

	mu     sync.Mutex
	byID   map[string]*Session  // guarded by mu
	owners map[Owner]*list.List // guarded by mu; of *Session, the one used longest ago first
}

// New makes a Table without sessions.
func New(o Options) *Table {
	t := &Table{ended: o.Ended, byID: map[string]*Session{}, owners: map[Owner]*list.List{}}
	if t.ended == nil {
		t.ended = func(*Session) {}
	}
	return t
}

// Open makes a session. Where there are too many the one that was unused longest makes
// room: of the owner at its bound, else of the owner with the most. It returns nil when
// all of them are in use; a client may do without a session.
func (t *Table) Open(o Owner, c Client) *Session {
	var id [idBytes]byte
	_, _ = rand.Read(id[:]) // it never fails
	s := &Session{id: hex.EncodeToString(id[:]), owner: o, client: c.clipped(), table: t}
	t.mu.Lock()
	own := t.owners[o]
	var gone *Session
	if own != nil && own.Len() >= maxOwnerSessions {
		if gone = t.takeUnusedLocked(own); gone == nil {
			t.mu.Unlock()
			return nil
		}
	} else if len(t.byID) >= maxSessions {
		if gone = t.takeUnusedLocked(t.largestLocked()); gone == nil {
			t.mu.Unlock()
			return nil
		}
	}
	if own = t.owners[o]; own == nil { // the one that went may have been its last
		own = list.New()
		t.owners[o] = own
	}
	s.lastUsed = time.Now()
	s.place = own.PushBack(s)
	t.byID[s.id] = s
	t.mu.Unlock()
	if gone != nil {
		gone.close()
	}
	return s
}

// Find returns the session with an id if it is the owner's, and nil otherwise. It was
// used now.
func (t *Table) Find(o Owner, id []byte) *Session {
	if len(id) > maxID {
		return nil
	}
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

// End ends a session: its calls are cancelled, its requests are not answered any more,
// and its stream is closed. It may be called more than once.
func (t *Table) End(s *Session) {
	t.mu.Lock()
	known := t.byID[s.id] == s
	if known {
		t.removeLocked(s)
	}
	t.mu.Unlock()
	if known {
		s.close()
	}
}

// Len is how many sessions there are.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

// Run ends sessions that are idle too long, until ctx ends. Those that are left end with
// the process.
func (t *Table) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			t.sweep(func(s *Session) bool { return now.Sub(s.lastUsed) >= idleTime && !s.busy() })
		case <-ctx.Done():
			return
		}
	}
}

func (t *Table) sweep(over func(*Session) bool) {
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
		s.close()
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
