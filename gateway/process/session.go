package process

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxPending bounds the requests of a session that wait for their answers.
	maxPending = 256
	// maxQueued bounds what waits to be read by one of them, in bytes; notifications
	// beyond it are left out, answers are not.
	maxQueued = 4 << 20
)

// session is a command and who speaks with it.
type session struct {
	id, commandID string
	command       *command      // set by Servers.reserve
	child         *child        // set before started is closed
	started       chan struct{} // closed when child is set

	mu       sync.Mutex
	pending  map[string]*queue // guarded by mu; by the JSON of the id; nil: the command has ended
	order    []*queue          // guarded by mu; pending, as they came
	watch    *queue            // guarded by mu; of what belongs to no request; nil: nobody reads it
	modern   bool              // guarded by mu; it speaks 2026-07-28
	spoke    bool              // guarded by mu; it answered once
	probed   bool              // guarded by mu; its first request is a probe, which older servers may end at
	lastUsed time.Time         // guarded by mu

	began time.Time // for its caller
	given *order    // to one that waits for its caller; nil: to any other
}

func newSession(command string) *session {
	return &session{id: sessionID(), commandID: command, started: make(chan struct{}), pending: map[string]*queue{}, lastUsed: time.Now(), began: time.Now()}
}

// queue is what a request, or the stream of a session, gets to read.
type queue struct {
	id    string
	ready chan struct{} // has a token when there is something new

	mu     sync.Mutex
	items  [][]byte // guarded by mu
	bytes  int      // guarded by mu
	ended  bool     // guarded by mu; nothing follows
	answer bool     // guarded by mu; the last item is the answer
}

func newQueue(id string) *queue { return &queue{id: id, ready: make(chan struct{}, 1)} }

func (q *queue) put(b []byte, answer bool) {
	q.mu.Lock()
	if !q.ended && (answer || q.bytes+len(b) <= maxQueued) {
		q.items, q.bytes = append(q.items, b), q.bytes+len(b)
		q.answer, q.ended = answer, answer
	}
	q.mu.Unlock()
	q.wake()
}

func (q *queue) end() {
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take returns what has come since the last time, whether the answer is the last of
// it, and whether anything can follow.
func (q *queue) take() (items [][]byte, answer, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items, q.bytes = q.items, nil, 0
	return items, q.answer, q.ended
}

// ask notes that a request waits. nil: too many do, or one of the same id, or the
// command has ended.
func (s *session) ask(id string) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUsed = time.Now()
	if s.pending == nil || s.pending[id] != nil || len(s.pending) >= maxPending {
		return nil
	}
	q := newQueue(id)
	s.pending[id] = q
	s.order = append(s.order, q)
	return q
}

// leave notes that nobody waits for a request any more, and reports whether it was
// without an answer.
func (s *session) leave(q *queue) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUsed = time.Now()
	if s.pending[q.id] != q {
		return false
	}
	s.removeLocked(q)
	return true
}

func (s *session) removeLocked(q *queue) {
	delete(s.pending, q.id)
	for i := range s.order {
		if s.order[i] == q {
			s.order = append(s.order[:i], s.order[i+1:]...)
			return
		}
	}
}

// listen takes the stream of what belongs to no request; nil: somebody has it, or the
// command has ended.
func (s *session) listen() *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil || s.pending == nil {
		return nil
	}
	s.watch = newQueue("")
	return s.watch
}

func (s *session) unlisten() {
	s.mu.Lock()
	s.watch, s.lastUsed = nil, time.Now()
	s.mu.Unlock()
}

// idle reports since when nobody waits for anything.
func (s *session) idle() (since time.Time, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastUsed, len(s.pending) == 0 && s.watch == nil
}

// running reports whether the command was started.
func (s *session) running() bool {
	select {
	case <-s.started:
		return true
	default:
		return false
	}
}

func (s *session) probe(probed bool) {
	s.mu.Lock()
	s.probed = probed
	s.mu.Unlock()
}

// answered reports whether the command answered, or did not have to.
func (s *session) answered() (spoke, probed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spoke, s.probed
}

// close ends what waits: the command has ended.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.order {
		q.end()
	}
	if s.watch != nil {
		s.watch.end()
	}
	s.pending, s.order = nil, nil
}

// take hands a message of the server, or an array of them (2025-03-26), to who waits for it.
func (s *session) take(line []byte) {
	v := jsonscan.Trusted(line)
	if v.Kind() != jsonscan.Array {
		s.takeOne(v)
		return
	}
	for it := v.Elements(); it.Next(); {
		s.takeOne(it.Value())
	}
}

func (s *session) takeOne(v jsonscan.Value) {
	id, method := v.Get("id"), v.Get("method")
	if !method.Exists() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.spoke = true
		q := s.pending[idKey(id)]
		if q == nil && (!id.Exists() || id.Kind() == jsonscan.Null) && len(s.order) == 1 && v.Get("error").Kind() == jsonscan.Object {
			q = s.order[0] // an error about what could not be read
		}
		if q != nil { // else it was cancelled
			s.removeLocked(q)
			q.put(v.Raw(), true)
		}
		return
	}
	if q := s.readerOf(v.Get("params"), method, id.Exists()); q != nil {
		q.put(v.Raw(), false)
		return
	}
	if id.Exists() {
		<-s.started
		reply := append([]byte(`{"jsonrpc":"2.0","id":`), id.Raw()...)
		if method.EqualText("ping") {
			reply = append(reply, `,"result":{}}`...)
		} else {
			reply = append(reply, `,"error":{"code":-32601,"message":"no client listens"}}`...)
		}
		_ = s.child.send(reply) // it has ended
	}
}

// idKey is the id of a request as mcpclient wrote it, a whole number, however the server
// repeats it.
func idKey(id jsonscan.Value) string {
	if n, ok := id.Whole(); ok {
		return strconv.FormatUint(n, 10)
	}
	return string(id.Raw())
}

// readerOf is who reads a notification or request of the server. Stdio does not say to
// which request it belongs: what names one, by its progress token or as a subscription,
// goes there; a change of a list to the stream of the session; anything else to the
// newest request. nil: nobody.
func (s *session) readerOf(params, method jsonscan.Value, wantsAnswer bool) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := params.Get("_meta").Get("io.modelcontextprotocol/subscriptionId"); sub.Exists() {
		return s.pending[idKey(sub)]
	}
	if token := params.Get("progressToken"); token.Exists() {
		if of := s.pending[idKey(token)]; of != nil { // tokens of mcpclient are its ids
			return of
		}
		return s.watch // it may be of a task that outlived its request
	}
	name := method.AppendText(nil)
	own := wantsAnswer || bytes.Equal(name, []byte("notifications/message"))
	if own && len(s.order) > 0 {
		return s.order[len(s.order)-1]
	}
	return s.watch
}
