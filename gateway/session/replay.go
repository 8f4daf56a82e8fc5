package session

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxReplays is how many streams of calls a session keeps. Agents run a few calls side
	// by side; the stream of a further one cannot be resumed.
	maxReplays = 32
	// maxReplayBytes bounds their events, and so the largest answer that is kept.
	maxReplayBytes = 1 << 20
	// maxKept bounds the events of all sessions of a node, in bytes.
	maxKept = 32 << 20
	// keepReplay is how long a stream is kept after its end: the client of a lost
	// connection is back within seconds.
	keepReplay = 30 * time.Second
)

// replays are the streams of calls that a client may resume. The lock is held while such a
// stream is written, whose sink bounds the time: what is sent must keep its order.
type replays struct {
	mu     sync.Mutex
	closed bool      // guarded by mu
	last   uint64    // guarded by mu; number of the last stream
	all    []*Replay // guarded by mu; the oldest first
	size   int       // guarded by mu; bytes of their events
}

// Replay keeps the events of the stream of one call, so that a client which lost its
// connection reads the rest on another (MCP 2025-11-25 "Resumability and Redelivery"). It
// is safe for concurrent use. What follows is guarded by replays.mu.
type Replay struct {
	s       *Session
	number  uint64 // of the stream in its session, from 1
	request []byte // JSON of the id of the call
	made    string // see Session.Under
	dropped bool   // nothing is kept any more
	last    uint64 // number of the last event
	missing uint64 // number of the last event that is not kept; 0: all are
	events  []event
	sink    Sink      // on which the client resumed it; nil: it did not, or lost that too
	away    time.Time // since when nobody reads it; zero: somebody does
	over    time.Time // when the last event was added; zero: more may come
}

// Replay begins to keep the stream of a call. request is JSON of the id of the call, and
// made names the settings that its toolset has for it. nil: too many are open, or the
// session has ended.
func (s *Session) Replay(request []byte, made string) *Replay {
	o := &s.replays
	o.mu.Lock()
	defer o.mu.Unlock()
	s.forgetReplaysLocked(time.Now())
	if len(o.all) >= maxReplays {
		s.dropOverLocked()
	}
	if o.closed || len(o.all) >= maxReplays {
		return nil
	}
	o.last++
	r := &Replay{s: s, number: o.last, request: bytes.Clone(request), made: made}
	o.all = append(o.all, r)
	return r
}

// AppendPrime appends an event that has nothing but an id, with which a client can resume
// before anything else came, and when it may come back: well within the time in which a
// call goes on without it.
func (r *Replay) AppendPrime(dst []byte) []byte {
	return append(r.appendID(append(dst, "id: "...), 0), "\nretry: 1000\ndata: \n\n"...)
}

// Append appends a message, one JSON object, as the next event to dst, which is for the
// first connection. When the client has resumed the stream on another the event is sent
// there instead, and elsewhere is true. last ends the stream.
func (r *Replay) Append(dst, message []byte, last bool) (out []byte, elsewhere bool) {
	o := &r.s.replays
	o.mu.Lock()
	defer o.mu.Unlock()
	r.last++
	mark := len(dst)
	dst = AppendEvent(dst, string(r.appendID(nil, r.last)), message)
	r.keepLocked(event{number: r.last, text: bytes.Clone(dst[mark:]), at: time.Now()})
	if last {
		r.over = time.Now()
	}
	if r.sink == nil {
		return dst, false
	}
	r.sink.Write(dst[mark:]) // what it did not take is kept
	if last {
		r.sink.End()
	}
	return dst[:mark], true
}

// Leave says that the first connection was lost.
func (r *Replay) Leave() {
	r.s.replays.mu.Lock()
	defer r.s.replays.mu.Unlock()
	if r.sink == nil && r.away.IsZero() {
		r.away = time.Now()
	}
}

// Away is how long nobody reads the stream.
func (r *Replay) Away() time.Duration {
	r.s.replays.mu.Lock()
	defer r.s.replays.mu.Unlock()
	if r.away.IsZero() {
		return 0
	}
	return time.Since(r.away)
}

// Under says which settings the toolset of the session has now, by a name. When only they
// may have made what the client reads, because something redacts now that has not seen the
// rest, that is forgotten.
func (s *Session) Under(made string, only bool) {
	s.outbox.under(made, only)
	if !only {
		return
	}
	o := &s.replays
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := 0; i < len(o.all); {
		r := o.all[i]
		if r.made == made {
			i++
			continue
		}
		if r.sink != nil {
			r.sink.End()
			r.sink, r.away = nil, time.Now()
		}
		s.dropReplayLocked(i)
		r.dropped = true // its call may run on
	}
}

// Keeps reports whether the stream of a call is kept that an event belongs to; call is
// false when the id is none of such a stream.
func (s *Session) Keeps(lastEventID string) (kept, call bool) {
	number, _, call := parseReplay(lastEventID)
	if !call {
		return false, false
	}
	s.replays.mu.Lock()
	defer s.replays.mu.Unlock()
	s.forgetReplaysLocked(time.Now())
	return s.replayLocked(number) != nil, true
}

// Resume sends what follows an event of the stream of a call, now and as it comes, and ends
// the sink behind the answer. It is false when the stream is not kept.
func (s *Session) Resume(sink Sink, lastEventID string) bool {
	number, after, ok := parseReplay(lastEventID)
	o := &s.replays
	o.mu.Lock()
	defer o.mu.Unlock()
	r := s.replayLocked(number)
	if !ok || o.closed || r == nil {
		return false
	}
	if r.sink != nil {
		r.sink.End()
	}
	r.sink, r.away = sink, time.Time{}
	var b []byte
	for _, e := range r.events {
		if e.number > after {
			b = append(b, e.text...)
		}
	}
	if !r.over.IsZero() && r.missing == r.last && after < r.last {
		b = AppendEvent(b, string(r.appendID(nil, r.last)), append(append([]byte(`{"jsonrpc":"2.0","id":`), r.request...),
			`,"error":{"code":-32603,"message":"the answer was too large to be kept while the connection was lost: make the call again"}}`...))
	}
	if len(b) > 0 {
		sink.Write(b) // what it did not take is kept
	}
	if !r.over.IsZero() {
		sink.End()
	}
	return true
}

// detach says that a stream was closed.
func (o *replays) detach(sink Sink) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.all {
		if r.sink == sink {
			r.sink, r.away = nil, time.Now()
		}
	}
}

// closeReplays lets go of all that is kept.
func (s *Session) closeReplays() {
	o := &s.replays
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, r := range o.all {
		if r.sink != nil {
			r.sink.End()
		}
	}
	for len(o.all) > 0 {
		s.dropReplayLocked(0)
	}
}

// keepLocked keeps an event where there is room, of which older streams make some.
func (r *Replay) keepLocked(e event) {
	o, kept := &r.s.replays, &r.s.table.kept
	if o.closed || r.dropped || len(e.text) > maxReplayBytes || kept.Add(int64(len(e.text))) > maxKept {
		if !o.closed && !r.dropped && len(e.text) <= maxReplayBytes {
			kept.Add(-int64(len(e.text)))
		}
		r.missing = e.number
		return
	}
	r.events, o.size = append(r.events, e), o.size+len(e.text)
	for o.size > maxReplayBytes && r.s.dropOverLocked() {
	}
	for i := 0; o.size > maxReplayBytes; i++ {
		for q := o.all[i]; len(q.events) > 0 && o.size > maxReplayBytes && (q != r || len(q.events) > 1); {
			q.dropEventLocked()
		}
	}
}

func (r *Replay) dropEventLocked() {
	n := len(r.events[0].text)
	r.missing = max(r.missing, r.events[0].number)
	r.events[0] = event{}
	if r.events = r.events[1:]; len(r.events) == 0 {
		r.events = nil
	}
	r.s.replays.size -= n
	r.s.table.kept.Add(-int64(n))
}

// dropOverLocked drops the oldest stream that has ended, and reports whether there was one.
func (s *Session) dropOverLocked() bool {
	for i, r := range s.replays.all {
		if !r.over.IsZero() && i < len(s.replays.all)-1 {
			s.dropReplayLocked(i)
			return true
		}
	}
	return false
}

func (s *Session) dropReplayLocked(i int) {
	o := &s.replays
	for len(o.all[i].events) > 0 {
		o.all[i].dropEventLocked()
	}
	copy(o.all[i:], o.all[i+1:])
	o.all[len(o.all)-1] = nil
	if o.all = o.all[:len(o.all)-1]; len(o.all) == 0 {
		o.all = nil
	}
}

// forgetReplaysLocked drops what nobody asked for again.
func (s *Session) forgetReplaysLocked(now time.Time) {
	o := &s.replays
	for i := 0; i < len(o.all); {
		if r := o.all[i]; !r.over.IsZero() && now.Sub(r.over) >= keepReplay {
			s.dropReplayLocked(i)
		} else {
			i++
		}
	}
}

func (s *Session) replayLocked(number uint64) *Replay {
	for _, r := range s.replays.all {
		if r.number == number {
			return r
		}
	}
	return nil
}

// appendID appends the id of an event: the number of its stream and its own. The stream
// that belongs to no call is 0.
func (r *Replay) appendID(dst []byte, n uint64) []byte {
	return strconv.AppendUint(append(strconv.AppendUint(dst, r.number, 10), '-'), n, 10)
}

func parseReplay(id string) (number, event uint64, ok bool) {
	stream, n, cut := strings.Cut(id, "-")
	number, bad := strconv.ParseUint(stream, 10, 64)
	event, worse := strconv.ParseUint(n, 10, 64)
	return number, event, cut && number > 0 && bad == nil && worse == nil
}
