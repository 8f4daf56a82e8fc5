package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"hash/maphash"
	"time"
)

const (
	// hearers is how many goroutines take in what other nodes say, each that of some sessions,
	// and maxWaiting how many messages wait for each: a client that does not read holds one up
	// for 200 ms. What comes above that is left out.
	hearers    = 8
	maxWaiting = 1024
	// maxAsked is how many questions of other nodes are answered at the same time.
	maxAsked = 256
)

// Kinds of messages between nodes of a pool.
const (
	kindEnd    = "end"    // the session has ended
	kindMove   = "move"   // its client listens at another node now
	kindSend   = "send"   // a message to its client
	kindCancel = "cancel" // its client cancels a call
	kindAnswer = "answer" // its client answers a question
	kindAsk    = "ask"    // the node wants something of another
	kindReply  = "reply"
)

// message is what a node says to others about a session.
type message struct {
	Kind    string `json:"kind"`
	From    string `json:"from"`
	Session string `json:"session"`
	ID      uint64 `json:"id,omitempty"`    // of a question
	Token   string `json:"token,omitempty"` // of what a node asks another
	Body    []byte `json:"body,omitempty"`
}

// tell sends a message to a node; "": to all others.
func (t *Table) tell(ctx context.Context, node string, m message) error {
	m.From = t.node
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return t.pool.Tell(ctx, node, b)
}

// hear takes in what other nodes say, until ctx ends.
func (t *Table) hear(ctx context.Context) {
	var queues [hearers]chan message
	for i := range queues {
		queues[i] = make(chan message, maxWaiting)
		go func() {
			for {
				select {
				case m := <-queues[i]:
					t.heard(ctx, m)
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	seed := maphash.MakeSeed()
	t.pool.Hear(ctx, t.node, func() { t.resume(ctx) }, func(b []byte) {
		var m message
		if json.Unmarshal(b, &m) != nil || m.From == t.node {
			return
		}
		if m.Kind == kindReply {
			t.replied(m)
			return
		}
		put(queues[maphash.String(seed, m.Session)%hearers], m)
	})
}

// put reports whether there was room for a message.
func put(q chan<- message, m message) bool {
	select {
	case q <- m:
		return true
	default:
		return false
	}
}

// resume catches up with what other nodes said while this one did not hear them, and shares what
// the server lost, or has under the key of before only.
func (t *Table) resume(ctx context.Context) {
	for _, s := range t.busy(func(*Session) bool { return true }) {
		if t.findShared(ctx, s.owner, s.id, s) != nil && s.home() != t.node && s.Listening() {
			t.movedAway(ctx, s)
		}
	}
	t.shareLost(ctx)
}

// heard does what another node says.
func (t *Table) heard(ctx context.Context, m message) {
	t.mu.Lock()
	s := t.byID[m.Session]
	t.mu.Unlock()
	if s == nil {
		if m.Kind == kindAsk { // who asks need not wait
			_ = t.tell(ctx, m.From, message{Kind: kindReply, Session: m.Session, Token: m.Token}) // or waits
		}
		return
	}
	switch m.Kind {
	case kindEnd:
		t.remove(s, false)
	case kindMove:
		s.mu.Lock()
		s.shared.home = m.From
		s.mu.Unlock()
		t.movedAway(ctx, s)
	case kindSend:
		s.sendHere(m.Body)
	case kindCancel:
		s.cancelHere(m.Body)
	case kindAnswer:
		s.resolveHere(m.ID, m.Body)
	case kindAsk:
		select {
		case t.asked <- struct{}{}:
		default:
			return // who asks goes on without
		}
		go func() {
			defer func() { <-t.asked }()
			answer := t.answers(s, m.Body)
			_ = t.tell(ctx, m.From, message{Kind: kindReply, Session: m.Session, Token: m.Token, Body: answer}) // it waits no longer than it must
		}()
	}
}

// movedAway gives to the node where the client listens now what it was not sent here, and
// ends its stream here.
func (t *Table) movedAway(ctx context.Context, s *Session) {
	t.moved(s)
	home := s.home()
	for _, b := range s.outbox.leave() {
		_ = t.tell(ctx, home, message{Kind: kindSend, Session: s.id, Body: b}) // it is told then that all may have changed
	}
}

// leave ends the stream, and returns the messages that no stream took.
func (o *outbox) leave() (unsent [][]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sink != nil {
		o.sink.End()
	}
	for _, e := range o.events {
		if e.number <= o.sent {
			continue
		}
		_, data, _ := bytes.Cut(e.text, []byte("\ndata: "))
		unsent = append(unsent, bytes.TrimSuffix(data, []byte("\n\n")))
	}
	o.sent = o.last
	return unsent
}

// home is the node that has, or had last, the stream of the client; "": none.
func (s *Session) home() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared.home
}

// Elsewhere is another node that has, or had last, the stream of the client; "": none.
func (s *Session) Elsewhere() string {
	if home := s.home(); home != s.table.node {
		return home
	}
	return ""
}

// Claim makes this node the one that sends to the client, if there is none, and returns the
// other, if there is one.
func (s *Session) Claim() (other string) {
	if !s.Pooled() || s.home() != "" {
		return s.Elsewhere()
	}
	holds := s.set(fieldHome, []byte(s.table.node), true)
	s.mu.Lock()
	s.shared.home = string(holds)
	s.mu.Unlock()
	return s.Elsewhere()
}

// Move makes this node the one that sends to the client, in place of any other. It reports
// whether there was another.
func (s *Session) Move(ctx context.Context) (moved bool) {
	if !s.Pooled() || s.home() == s.table.node {
		return false
	}
	before := s.home()
	s.mu.Lock()
	s.shared.home = s.table.node
	s.mu.Unlock()
	s.set(fieldHome, []byte(s.table.node), false)
	_ = s.table.tell(ctx, "", message{Kind: kindMove, Session: s.id}) // they see it with the next request
	return before != ""
}

// AskNode asks another node something about the session, and waits for its answer; nil: there
// is none in time.
func (s *Session) AskNode(ctx context.Context, node string, what []byte, wait time.Duration) []byte {
	t := s.table
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	token, answer := hex.EncodeToString(random[:]), make(chan []byte, 1)
	t.mu.Lock()
	t.asking[token] = answer
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.asking, token)
	}()
	if t.tell(ctx, node, message{Kind: kindAsk, Session: s.id, Token: token, Body: what}) != nil {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case b := <-answer:
		return b
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// replied hands over the answer of another node.
func (t *Table) replied(m message) {
	t.mu.Lock()
	answer := t.asking[m.Token]
	delete(t.asking, m.Token)
	t.mu.Unlock()
	if answer != nil {
		answer <- m.Body // has room for the one answer
	}
}
