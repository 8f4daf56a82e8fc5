package session

import (
	"bytes"
	"container/list"
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/cdnloop"
)

const (
	// maxCalls is how many calls of one session can be cancelled at the same time.
	// Agents run a few side by side; further ones are served all the same.
	maxCalls = 256
	// maxQuestions is how many requests of servers a client may owe an answer to: a
	// person answers them one by one.
	maxQuestions = 32
	// maxUsed is how many servers of its toolset a session remembers to have used: of more
	// the client does not hear what they say outside of its calls.
	maxUsed = 32
	// maxCapabilities bounds what is kept of what a client declared, in bytes of JSON.
	maxCapabilities = 2 << 10
)

// Client is what a client says in its handshake.
type Client struct {
	Version string // of the protocol
	// Capabilities are what it can be asked: a JSON object. Larger ones than are kept
	// count as none; nil: there are none.
	Capabilities []byte
}

func (c Client) clipped() Client {
	if len(c.Capabilities) > maxCapabilities {
		c.Capabilities = nil
	}
	c.Capabilities = bytes.Clone(c.Capabilities)
	return c
}

// Session is what the node keeps for one client. It is safe for concurrent use.
type Session struct {
	id     string
	owner  Owner
	client Client
	table  *Table

	lastUsed time.Time     // guarded by Table.mu
	place    *list.Element // guarded by Table.mu

	level atomic.Uint32 // of the log messages that are wanted; 0: the client named none
	roots atomic.Uint32 // how often the client changed its roots
	inUse atomic.Int32  // calls, questions and open streams

	mu        sync.Mutex
	closed    bool                 // guarded by mu
	calls     map[string]*Call     // guarded by mu; by the JSON of the request's id
	questions map[uint64]*Question // guarded by mu; by the id of the request to the client
	asked     uint64               // guarded by mu; id of the last question

	seen   string           // guarded by mu; see Saw
	used   []string         // guarded by mu; see Use
	tasks  []task           // guarded by mu; see KeepTask
	caller any              // guarded by mu; see SetCaller
	loop   *cdnloop.Request // guarded by mu; see SetLoop
	shared shared           // guarded by mu
	outbox outbox

	replays replays
}

// ID is the value of the header Mcp-Session-Id.
func (s *Session) ID() string { return s.id }

// Owner is whose it is.
func (s *Session) Owner() Owner { return s.owner }

// Key tells this session from every other caller of a server. It is not for clients.
func (s *Session) Key() string { return "session\x00" + s.id }

// Client is what the client said of itself. Its bytes must not be changed.
func (s *Session) Client() Client { return s.client }

// Level is the least level of log messages that the client set; 0: it set none.
func (s *Session) Level() uint8 { return uint8(s.level.Load()) }

// SetLevel keeps the level of logging/setLevel.
func (s *Session) SetLevel(level uint8) {
	s.level.Store(uint32(level))
	s.set(fieldLevel, []byte{level}, false)
}

// Roots is how often the client said that its roots changed, and ChangeRoots that they did.
func (s *Session) Roots() uint32 { return s.roots.Load() }

// ChangeRoots is described at Roots.
func (s *Session) ChangeRoots() {
	s.set(fieldRoots, strconv.AppendUint(nil, uint64(s.roots.Add(1)), 10), false)
}

// SetCaller keeps who used the session last, as it was admitted, and Caller returns it.
func (s *Session) SetCaller(caller any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caller = caller
}

// Caller is what SetCaller kept; nil: nothing.
func (s *Session) Caller() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caller
}

// SetLoop keeps the newest request of the session that came through a gateway: for it streams
// are opened outside of calls. nil: it did not.
func (s *Session) SetLoop(r *cdnloop.Request) {
	if r == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loop = r
}

// Loop is described at SetLoop.
func (s *Session) Loop() *cdnloop.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loop
}

// Saw keeps which lists the client knows of or is about to learn of, and returns what it
// was before; "": there is no before.
func (s *Session) Saw(lists string) (before string) {
	s.mu.Lock()
	before, s.seen = s.seen, lists
	known := s.shared.version != ""
	s.mu.Unlock()
	if known && before != lists {
		s.set(fieldSeen, []byte(lists), false)
	}
	return before
}

// Use keeps that the client called a server of its toolset, at most 32 of them, and
// reports whether it was the first time.
func (s *Session) Use(server string) (first bool) {
	s.mu.Lock()
	first = !s.closed && len(s.used) < maxUsed && !slices.Contains(s.used, server)
	if first {
		s.used = append(s.used, server)
	}
	s.mu.Unlock()
	if first {
		s.set(fieldUsed+server, nil, false)
	}
	return first
}

// Used are the servers that were called.
func (s *Session) Used() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.used)
}

func (s *Session) busy() bool { return s.inUse.Load() > 0 }

// close ends what still belongs to the session here; kept says that other nodes go on with
// it.
func (s *Session) close(kept bool) {
	s.mu.Lock()
	s.closed = true
	for _, c := range s.calls {
		c.cancel()
	}
	s.calls = nil
	for _, q := range s.questions {
		close(q.answer)
	}
	s.questions = nil
	s.mu.Unlock()
	s.outbox.close()
	s.closeReplays()
	s.table.ended(s, kept)
}

// Call is a call that runs in a session.
type Call struct {
	s      *Session
	id     string
	cancel func()
}

// Begin lets the client cancel a call by the id of its request, as JSON, until
// [Call.End]. cancel must return at once and is not called after End returned. nil: the
// call cannot be cancelled, because too many run, one has the same id, or the session has
// ended.
func (s *Session) Begin(id []byte, cancel func()) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.calls) >= maxCalls || s.calls[string(id)] != nil {
		return nil
	}
	if s.calls == nil {
		s.calls = map[string]*Call{}
	}
	c := &Call{s: s, id: string(id), cancel: cancel}
	s.calls[c.id] = c
	s.inUse.Add(1)
	return c
}

// End says that the call has ended. A nil Call has.
func (c *Call) End() {
	if c == nil {
		return
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.calls[c.id] == c {
		delete(c.s.calls, c.id)
	}
	if len(c.s.calls) == 0 {
		c.s.calls = nil
	}
	c.s.inUse.Add(-1)
}

// Cancel cancels the call of a request's id, as JSON, and reports whether one runs here. Else
// the other nodes of the pool are told.
func (s *Session) Cancel(id []byte) bool {
	here := s.cancelHere(id)
	if !here && s.Pooled() {
		_ = s.table.tell(context.Background(), "", message{Kind: kindCancel, Session: s.id, Body: id}) // it may have ended anyway
	}
	return here
}

func (s *Session) cancelHere(id []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[string(id)]
	if c != nil {
		c.cancel()
	}
	return c != nil
}

// Question is a request to the client of a session.
type Question struct {
	// ID of the request, a JSON number.
	ID     uint64
	s      *Session
	answer chan []byte
}

// Ask makes a request of a new id, which the caller sends. nil: the client has too many
// to answer, or the session has ended.
func (s *Session) Ask() *Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.questions) >= maxQuestions {
		return nil
	}
	if s.questions == nil {
		s.questions = map[uint64]*Question{}
	}
	s.asked++
	q := &Question{ID: s.asked, s: s, answer: make(chan []byte, 1)}
	s.questions[q.ID] = q
	s.inUse.Add(1)
	return q
}

// Answer has what the client answered: the member "result" or "error" of its response, as
// JSON text with its name. It is closed when the session ends.
func (q *Question) Answer() <-chan []byte { return q.answer }

// Close ends the question. An answer that comes later is dropped.
func (q *Question) Close() {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if q.s.questions[q.ID] == q {
		delete(q.s.questions, q.ID)
	}
	q.s.inUse.Add(-1)
}

// Resolve answers a question of this session; member is copied. It reports whether one
// was waiting for it here. Else the other nodes of the pool are told.
func (s *Session) Resolve(id uint64, member []byte) bool {
	here := s.resolveHere(id, member)
	if !here && s.Pooled() {
		_ = s.table.tell(context.Background(), "", message{Kind: kindAnswer, Session: s.id, ID: id, Body: member}) // who asked waits no longer than it must
	}
	return here
}

func (s *Session) resolveHere(id uint64, member []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.questions[id]
	if q == nil {
		return false
	}
	delete(s.questions, id)
	q.answer <- bytes.Clone(member) // has room for the one answer
	return true
}
