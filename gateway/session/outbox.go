package session

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxEvents and maxEventBytes bound what a session keeps to send again. What is sent
	// outside of a call is small and rare; of a call its result must fit.
	maxEvents     = 128
	maxEventBytes = 256 << 10
	// keepEvents is how long: a client that lost its connection is back within seconds.
	keepEvents = 5 * time.Minute
)

// Sink is an open stream to the client.
type Sink interface {
	// Write sends events, and reports whether the connection took them.
	Write(events []byte) bool
	// End closes the stream.
	End()
}

// outbox are the messages to the client that belong to no call, and the stream that they
// are sent on. Its lock is held while a stream is written, whose sink bounds the time:
// what is sent must keep its order.
type outbox struct {
	mu     sync.Mutex
	closed bool    // guarded by mu
	sink   Sink    // guarded by mu; nil: no stream is open
	last   uint64  // guarded by mu; number of the last event
	sent   uint64  // guarded by mu; number of the last event that a stream took
	events []event // guarded by mu; the oldest first
	size   int     // guarded by mu; bytes of events
	made   string  // guarded by mu; see Session.Under
}

// event is a message that was numbered.
type event struct {
	number uint64
	text   []byte
	at     time.Time
}

// Send sends a message, one JSON object, to the client: on its open stream now, else on
// the next it opens, as far as there is room to keep it. It reports whether it was sent
// now. The message is kept. Where another node of the pool has the stream, it is sent there.
func (s *Session) Send(text []byte) bool {
	if home := s.Elsewhere(); home != "" && s.table.tell(context.Background(), home, message{Kind: kindSend, Session: s.id, Body: text}) == nil {
		return true
	}
	return s.sendHere(text)
}

func (s *Session) sendHere(message []byte) bool {
	o := &s.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.last++
	e := event{number: o.last, text: AppendEvent(nil, s.standing(o.last), message), at: time.Now()}
	if len(e.text) <= maxEventBytes {
		o.events, o.size = append(o.events, e), o.size+len(e.text)
	}
	for len(o.events) > maxEvents || o.size > maxEventBytes {
		o.dropLocked()
	}
	if o.sink == nil || !o.sink.Write(e.text) {
		return false
	}
	o.sent = o.last
	return true
}

// primed is the first revision whose streams begin with an event that has nothing but an
// id (MCP 2025-11-25 "Listening for Messages from the Server"). Clients of the older ones
// take it for a broken message.
const primed = "2025-11-25"

// Primed reports whether a stream begins with an event that has nothing but an id.
func (s *Session) Primed() bool { return s.client.Version >= primed }

// Attach makes a stream the one that messages are sent on, in place of the one before,
// and sends what waited, or with the id of an event what came behind it. It is false when
// the session has ended.
func (s *Session) Attach(sink Sink, lastEventID string) bool {
	o := &s.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if o.sink != nil {
		o.sink.End()
	} else {
		s.inUse.Add(1)
	}
	o.sink = sink
	after := o.sent
	if n, ok := s.parseStanding(lastEventID); ok {
		after = n
	}
	var b []byte
	if s.Primed() {
		b = append(append(append(b, "id: "...), s.standing(after)...), "\ndata: \n\n"...)
	}
	for _, e := range o.events {
		if e.number > after {
			b = append(b, e.text...)
		}
	}
	if len(b) == 0 || sink.Write(b) {
		o.sent = o.last
	}
	return true
}

// under is Session.Under for the messages that belong to no call. Of what is kept when the
// settings change it is not known which of them made it.
func (o *outbox) under(made string, only bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for only && o.made != made && len(o.events) > 0 {
		o.dropLocked()
	}
	o.made = made
}

// Listening reports whether the client has a stream open.
func (s *Session) Listening() bool {
	s.outbox.mu.Lock()
	defer s.outbox.mu.Unlock()
	return s.outbox.sink != nil && !s.outbox.closed
}

// Detach says that a stream was closed. It may be another than the one in use.
func (s *Session) Detach(sink Sink) {
	o := &s.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sink == sink {
		o.sink = nil
		s.inUse.Add(-1)
	}
	s.replays.detach(sink)
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.events, o.size = true, nil, 0
	if o.sink != nil {
		o.sink.End()
	}
}

func (o *outbox) dropLocked() {
	o.size -= len(o.events[0].text)
	o.events[0] = event{}
	if o.events = o.events[1:]; len(o.events) == 0 {
		o.events = nil
	}
}

// forgetOld drops what nobody asked for again.
func (s *Session) forgetOld(now time.Time) {
	if s.replays.mu.TryLock() { // else a stream is being written
		s.forgetReplaysLocked(now)
		s.replays.mu.Unlock()
	}
	o := &s.outbox
	if !o.mu.TryLock() {
		return // a stream is being written
	}
	defer o.mu.Unlock()
	for len(o.events) > 0 && now.Sub(o.events[0].at) > keepEvents {
		o.dropLocked()
	}
}

// standing is the id of an event of the stream that belongs to no call. The events of each
// node of a pool have numbers of their own.
func (s *Session) standing(n uint64) string {
	return s.standingPrefix() + strconv.FormatUint(n, 10)
}

func (s *Session) standingPrefix() string {
	if s.Pooled() {
		return "0-" + s.table.node + "."
	}
	return "0-"
}

func (s *Session) parseStanding(id string) (uint64, bool) {
	number, ok := strings.CutPrefix(id, s.standingPrefix())
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(number, 10, 64)
	return n, err == nil
}

// AppendEvent appends one server-sent event (WHATWG HTML "Server-sent events"); id ""
// is none. Line ends in JSON are white space, and would end the event's data here.
func AppendEvent(dst []byte, id string, message []byte) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	dst = append(dst, "event: message\ndata: "...)
	mark := len(dst)
	dst = append(dst, message...)
	if line := dst[mark:]; bytes.ContainsAny(line, "\r\n") {
		for i, c := range line {
			if c == '\n' || c == '\r' {
				line[i] = ' '
			}
		}
	}
	return append(dst, "\n\n"...)
}
