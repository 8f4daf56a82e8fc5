package session

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stream is a sink that keeps what it was given.
type stream struct {
	mu     sync.Mutex
	got    strings.Builder // guarded by mu
	broken bool            // guarded by mu
	ended  bool            // guarded by mu
}

func (s *stream) Write(b []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b) == 0 {
		panic("an empty chunk ends a response (RFC 9112 §7.1)")
	}
	if !s.broken {
		s.got.Write(b)
	}
	return !s.broken
}

func (s *stream) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

var ada = Owner{Workspace: "w", Toolset: "t", Caller: "ada"}

// TestFind: a session exists for its owner alone.
func TestFind(t *testing.T) {
	table := New(Options{})
	s := table.Open(ada, Client{})
	if len(s.ID()) != 2*idBytes || table.Find(t.Context(), ada, []byte(s.ID())) != s {
		t.Fatalf("%q is not found by its owner", s.ID())
	}
	for _, other := range []Owner{{"w", "t", "bob"}, {"w", "t", ""}, {"w", "other", "ada"}, {"other", "t", "ada"}} {
		if table.Find(t.Context(), other, []byte(s.ID())) != nil {
			t.Errorf("%+v finds the session of %+v", other, ada)
		}
	}
	for _, id := range []string{"", "x", s.ID() + "0", strings.Repeat("a", maxID), strings.Repeat("a", maxID+1)} {
		if table.Find(t.Context(), ada, []byte(id)) != nil {
			t.Errorf("%q is found", id)
		}
	}
	table.End(t.Context(), s)
	table.End(t.Context(), s)
	if table.Find(t.Context(), ada, []byte(s.ID())) != nil || table.Len() != 0 || len(table.owners) != 0 {
		t.Error("a session that was ended is still there")
	}
}

// TestBoundOfOwner: one owner has maxOwnerSessions, of which those in use stay.
func TestBoundOfOwner(t *testing.T) {
	var ended []*Session
	table := New(Options{Ended: func(s *Session, _ bool) { ended = append(ended, s) }})
	bob := table.Open(Owner{Caller: "bob"}, Client{})
	var all []*Session
	for range maxOwnerSessions {
		all = append(all, table.Open(ada, Client{}))
	}
	if len(ended) != 0 {
		t.Fatalf("%d ended at the bound", len(ended))
	}
	call := all[0].Begin([]byte("1"), func() {})      // in use
	table.Find(t.Context(), ada, []byte(all[1].ID())) // used just now
	table.Open(ada, Client{})
	if len(ended) != 1 || ended[0] != all[2] {
		t.Fatalf("past the bound %d ended, not the one unused longest", len(ended))
	}
	call.End()
	for _, s := range all {
		s.Ask()
	}
	for range 3 { // the one that was opened last, and its successors
		if s := table.Open(ada, Client{}); s != nil {
			s.Ask()
		}
	}
	if table.Open(ada, Client{}) != nil || len(ended) != 2 {
		t.Fatalf("sessions in use made room: %d", len(ended))
	}
	if table.Find(t.Context(), Owner{Caller: "bob"}, []byte(bob.ID())) == nil {
		t.Error("another owner lost a session")
	}
}

// TestBoundOfAll: at maxSessions the owner with the most gives one up.
func TestBoundOfAll(t *testing.T) {
	table := New(Options{})
	last := table.Open(Owner{Caller: "last"}, Client{})
	for range 3 {
		table.Open(Owner{Caller: "three"}, Client{})
	}
	for i := range maxSessions - 4 {
		table.Open(Owner{Caller: fmt.Sprint("other", i)}, Client{})
	}
	if table.Len() != maxSessions {
		t.Fatalf("%d sessions, not %d", table.Len(), maxSessions)
	}
	if table.Open(Owner{Caller: "new"}, Client{}) == nil || table.Len() != maxSessions || table.owners[Owner{Caller: "three"}].Len() != 2 {
		t.Error("the owner with the most gave none up")
	}
	if table.Find(t.Context(), Owner{Caller: "last"}, []byte(last.ID())) == nil {
		t.Error("an owner of one session lost it")
	}
}

// TestIdle: sessions end an hour after they were used, but not while their client waits.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		table := New(Options{})
		go table.Run(ctx)
		idle, used, open := table.Open(ada, Client{}), table.Open(ada, Client{}), table.Open(ada, Client{})
		open.Attach(&stream{}, "")
		has := func(s *Session) bool {
			table.mu.Lock()
			defer table.mu.Unlock()
			return table.byID[s.id] == s
		}
		time.Sleep(idleTime - time.Minute)
		if !has(idle) {
			t.Error("a session ended early")
		}
		table.Find(t.Context(), ada, []byte(used.ID()))
		time.Sleep(3 * time.Minute)
		if has(idle) || !has(used) || !has(open) {
			t.Errorf("idle %v, used %v, with a stream %v", has(idle), has(used), has(open))
		}
		cancel()
	})
}

// TestCancel: a call is cancelled by the id of its request, in its own session, while it
// runs.
func TestCancel(t *testing.T) {
	table := New(Options{})
	mine, other := table.Open(ada, Client{}), table.Open(ada, Client{})
	n := 0
	c := mine.Begin([]byte(`"a"`), func() { n++ })
	if mine.Begin([]byte(`"a"`), func() {}) != nil {
		t.Error("two calls have one id")
	}
	if other.Cancel([]byte(`"a"`)) || mine.Cancel([]byte(`a`)) || !mine.Cancel([]byte(`"a"`)) || n != 1 {
		t.Errorf("cancelled %d times", n)
	}
	c.End()
	if mine.Cancel([]byte(`"a"`)) || mine.busy() {
		t.Error("a call that ended is still there")
	}
	for i := range maxCalls {
		if mine.Begin(fmt.Append(nil, i), func() { n++ }) == nil {
			t.Fatalf("call %d cannot be cancelled", i)
		}
	}
	if mine.Begin([]byte("-1"), func() {}) != nil {
		t.Error("a call past the bound")
	}
	table.End(t.Context(), mine)
	if n != 1+maxCalls || mine.Begin([]byte("1"), func() {}) != nil {
		t.Errorf("%d calls were cancelled with the session", n-1)
	}
}

// TestUse: a session remembers the servers that it used, up to a bound.
func TestUse(t *testing.T) {
	s := New(Options{}).Open(ada, Client{})
	for i := range maxUsed {
		if name := fmt.Sprint(i); !s.Use(name) || s.Use(name) {
			t.Fatalf("server %s is new twice, or never", name)
		}
	}
	if s.Use("more") || len(s.Used()) != maxUsed {
		t.Errorf("%d servers are remembered", len(s.Used()))
	}
	sink := &stream{}
	if s.Listening() {
		t.Error("it listens before its stream is open")
	}
	s.Attach(sink, "")
	if !s.Listening() {
		t.Error("it does not listen")
	}
	s.table.End(t.Context(), s)
	if s.Listening() || s.Use("more") {
		t.Error("it goes on after its end")
	}
}

// TestQuestions: an answer reaches the request of its session, once.
func TestQuestions(t *testing.T) {
	table := New(Options{})
	mine, other := table.Open(ada, Client{}), table.Open(ada, Client{})
	q, foreign := mine.Ask(), other.Ask()
	if q.ID != foreign.ID {
		t.Fatalf("ids %d and %d: the test shows nothing", q.ID, foreign.ID)
	}
	member := []byte(`"result":{}`)
	if !mine.Resolve(q.ID, member) || mine.Resolve(q.ID, member) || mine.Resolve(99, member) {
		t.Error("an answer counts twice or for nothing")
	}
	member[0] = 'x'
	if got := <-q.Answer(); string(got) != `"result":{}` {
		t.Errorf("the answer is %s", got)
	}
	select {
	case got := <-foreign.Answer():
		t.Errorf("another session reads %s", got)
	default:
	}
	q.Close()
	var all []*Question
	for range maxQuestions {
		all = append(all, mine.Ask())
	}
	if all[maxQuestions-1] == nil || mine.Ask() != nil {
		t.Error("the bound of questions does not hold")
	}
	all[0].Close()
	if mine.Ask() == nil {
		t.Error("a question that was closed still counts")
	}
	table.End(t.Context(), mine)
	if _, ok := <-all[1].Answer(); ok || mine.Ask() != nil {
		t.Error("a question outlives its session")
	}
	all[1].Close()
}

// TestStanding: what was sent while no stream was open, and what came behind an event.
func TestStanding(t *testing.T) {
	table := New(Options{})
	s := table.Open(ada, Client{})
	event := func(n int, text string) string {
		return fmt.Sprintf("id: 0-%d\nevent: message\ndata: %s\n\n", n, text)
	}
	if s.Send([]byte(`{"n":1}`)) {
		t.Error("sent without a stream")
	}
	one := &stream{}
	s.Attach(one, "")
	s.Send([]byte("{\"n\":\n2}"))
	if got := one.got.String(); got != event(1, `{"n":1}`)+event(2, `{"n": 2}`) {
		t.Errorf("the first stream has %q", got)
	}
	one.broken = true
	if s.Send([]byte(`{"n":3}`)) {
		t.Error("sent on a broken stream")
	}
	two := &stream{}
	s.Attach(two, "")
	s.Detach(one) // later than its successor came
	s.Send([]byte(`{"n":4}`))
	if got := two.got.String(); got != event(3, `{"n":3}`)+event(4, `{"n":4}`) || !one.ended {
		t.Errorf("the second stream has %q", got)
	}
	three := &stream{}
	s.Attach(three, "0-2")
	if got := three.got.String(); got != event(3, `{"n":3}`)+event(4, `{"n":4}`) {
		t.Errorf("behind 0-2 came %q", got)
	}
	for _, odd := range []string{"0-", "x", "0-99", "1-2", strings.Repeat("9", 400)} {
		again := &stream{}
		if s.Attach(again, odd); again.got.Len() > 0 {
			t.Errorf("behind %q came %q", odd, again.got.String())
		}
	}
	later, prime := table.Open(ada, Client{Version: primed}), &stream{}
	if later.Attach(prime, ""); prime.got.String() != "id: 0-0\ndata: \n\n" {
		t.Errorf("the stream of a client of %s begins with %q", primed, prime.got.String())
	}
	table.End(t.Context(), s)
	if s.Attach(&stream{}, "") || s.Send([]byte(`{}`)) {
		t.Error("a session that has ended sends")
	}
}

// TestStandingBounds: what is kept is bounded in number, bytes and time.
func TestStandingBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(Options{})
		replay := func(s *Session) int {
			all := &stream{}
			s.Attach(all, "0-0")
			return strings.Count(all.got.String(), "data: ")
		}
		s := table.Open(ada, Client{})
		for range maxEvents + 5 {
			s.Send([]byte(`{}`))
		}
		if n := replay(s); n != maxEvents {
			t.Errorf("%d events are kept, not %d", n, maxEvents)
		}
		time.Sleep(keepEvents)
		s.forgetOld(time.Now())
		if n := replay(s); n != maxEvents {
			t.Errorf("%d events are kept after %v", n, keepEvents)
		}
		time.Sleep(time.Second)
		s.forgetOld(time.Now())
		if n := replay(s); n != 0 {
			t.Errorf("%d events are kept too long", n)
		}
		s = table.Open(ada, Client{})
		half := bytes.Repeat([]byte{'1'}, maxEventBytes/2-100)
		for range 3 {
			s.Send(half)
		}
		if n := replay(s); n != 2 || s.outbox.size > maxEventBytes {
			t.Errorf("%d events of half of what fits, %d bytes", n, s.outbox.size)
		}
		s.Send(bytes.Repeat([]byte{'1'}, maxEventBytes))
		if n := replay(s); n != 2 {
			t.Errorf("%d events after one that is too large", n)
		}
	})
}

// TestCapabilities: a handshake cannot make a session large.
func TestCapabilities(t *testing.T) {
	table := New(Options{})
	fits := bytes.Repeat([]byte{' '}, maxCapabilities)
	if got := table.Open(ada, Client{Capabilities: fits}).Client().Capabilities; !bytes.Equal(got, fits) {
		t.Errorf("%d bytes are kept of %d", len(got), len(fits))
	}
	if got := table.Open(ada, Client{Capabilities: append(fits, ' ')}).Client().Capabilities; got != nil {
		t.Errorf("%d bytes are kept", len(got))
	}
}

// TestSaw: what the client knew last is kept.
func TestSaw(t *testing.T) {
	s := New(Options{}).Open(ada, Client{})
	for i, c := range []struct{ lists, before string }{{"a", ""}, {"a", "a"}, {"b", "a"}, {"b", "b"}} {
		if before := s.Saw(c.lists); before != c.before {
			t.Errorf("%d: before %s it was %s", i, c.lists, before)
		}
	}
}
