package session

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestEndsEverything: what a session had open is closed with it, and nothing begins
// afterwards.
func TestEndsEverything(t *testing.T) {
	var over []*Session
	table := New(Options{Ended: func(s *Session, _ bool) { over = append(over, s) }})
	s := table.Open(ada, Client{})
	standing, resumed, cancelled := &stream{}, &stream{}, 0
	s.Attach(standing, "")
	r := s.Replay([]byte("1"), "")
	s.Replay([]byte("2"), "") // on its first connection
	r.Append(nil, []byte(`{}`), false)
	if !s.Resume(resumed, "1-0") || s.Begin([]byte("1"), func() { cancelled++ }) == nil {
		t.Fatal("nothing begins")
	}
	q := s.Ask()
	table.End(t.Context(), s)
	if _, open := <-q.Answer(); open || cancelled != 1 || !standing.ended || !resumed.ended || len(over) != 1 || over[0] != s {
		t.Errorf("a question is open: %v, %d calls cancelled, streams ended: %v, %v, reported %d", open, cancelled, standing.ended, resumed.ended, len(over))
	}
	late := &stream{}
	if s.Use("server") || len(s.Used()) != 0 || s.Ask() != nil || s.Begin([]byte("2"), func() {}) != nil || s.Replay([]byte("3"), "") != nil ||
		s.Resume(late, "1-0") || s.Attach(late, "") || s.Send([]byte(`{}`)) || s.Listening() {
		t.Error("something begins in a session that has ended")
	}
	out, elsewhere := r.Append(nil, []byte(`{}`), true)
	if table.kept.Load() != 0 || s.replays.all != nil || s.outbox.events != nil || !elsewhere && len(out) == 0 {
		t.Errorf("%d bytes are kept", table.kept.Load())
	}
	// A session without any of them ends as well.
	table.End(t.Context(), table.Open(ada, Client{}))
	if len(over) != 2 || table.Len() != 0 {
		t.Errorf("reported %d", len(over))
	}
}

// TestInUse: a session is in use from the beginning of each of its calls, questions and
// its stream to the end of the last.
func TestInUse(t *testing.T) {
	s := New(Options{}).Open(ada, Client{})
	first, second := &stream{}, &stream{}
	var nobody *Call
	nobody.End()
	check := func(what string, want int32) {
		t.Helper()
		if got := s.inUse.Load(); got != want || s.busy() != (want > 0) {
			t.Errorf("%s: in use %d times, want %d; busy %v", what, got, want, s.busy())
		}
	}
	check("at its beginning", 0)
	a, b := s.Begin([]byte("1"), func() {}), s.Begin([]byte("2"), func() {})
	check("with two calls", 2)
	a.End()
	check("with one", 1)
	if s.Cancel([]byte("1")) || !s.Cancel([]byte("2")) {
		t.Error("the wrong call has ended")
	}
	b.End()
	check("with none", 0)
	if s.calls != nil {
		t.Error("memory for calls is kept")
	}
	q := s.Ask()
	check("with a question", 1)
	q.Close()
	check("without it", 0)
	if s.Resolve(q.ID, []byte(`"result":1`)) {
		t.Error("a question that was closed is answered")
	}
	s.Attach(first, "")
	s.Attach(second, "")
	check("with a stream in place of another", 1)
	s.Detach(first)
	check("when the other is gone", 1)
	if !s.Listening() || !first.ended {
		t.Error("the stream is not the newest")
	}
	s.Detach(second)
	check("without a stream", 0)
	if s.Listening() {
		t.Error("it listens without a stream")
	}
	if s.Level() != 0 {
		t.Error("a level that nobody set")
	}
	if s.SetLevel(5); s.Level() != 5 {
		t.Errorf("level %d", s.Level())
	}
}

// TestSweep: a session that is not used for as long as it may ends at the next look, one in
// use stays, and old events go.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over []*Session
		table := New(Options{Ended: func(s *Session, _ bool) { over = append(over, s) }})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() { table.Run(ctx); close(done) }()
		synctest.Wait()
		idle, used := table.Open(ada, Client{}), table.Open(ada, Client{})
		call := used.Begin([]byte("1"), func() {})
		used.Send([]byte(`{}`))
		time.Sleep(keepEvents + sweepEvery)
		synctest.Wait()
		if len(used.outbox.events) != 0 || used.outbox.events != nil {
			t.Error("an old event is kept")
		}
		time.Sleep(idleTime - keepEvents - sweepEvery - 1)
		synctest.Wait()
		if table.Len() != 2 {
			t.Fatalf("%d sessions before their time", table.Len())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if table.Len() != 1 || len(over) != 1 || over[0] != idle || table.Find(t.Context(), ada, []byte(idle.ID())) != nil {
			t.Errorf("%d sessions after an hour, reported %d", table.Len(), len(over))
		}
		call.End()
		time.Sleep(sweepEvery)
		synctest.Wait()
		if table.Len() != 0 {
			t.Error("a session stays after its last call")
		}
		cancel()
		<-done
	})
}

// TestFullOfUsed: where all sessions are in use there is none for another, and the table
// goes on.
func TestFullOfUsed(t *testing.T) {
	table := New(Options{})
	s := table.Open(ada, Client{})
	call := s.Begin([]byte("1"), func() {})
	for range maxOwnerSessions - 1 {
		s := table.Open(ada, Client{})
		s.inUse.Add(1)
	}
	for range 2 { // a lock that is kept would stop the second
		if table.Open(ada, Client{}) != nil || table.Len() != maxOwnerSessions {
			t.Fatal("more sessions than one owner may have")
		}
	}
	bob := Owner{Workspace: "w", Toolset: "t", Caller: "bob"}
	for range maxSessions - maxOwnerSessions {
		s := table.Open(bob, Client{})
		s.inUse.Add(1)
	}
	eve := Owner{Workspace: "w", Toolset: "t", Caller: "eve"}
	for range 2 {
		if table.Open(eve, Client{}) != nil || table.Len() != maxSessions {
			t.Fatal("more sessions than there may be")
		}
	}
	call.End()
	if table.Open(ada, Client{}) == nil || table.Find(t.Context(), ada, []byte(s.ID())) != nil || table.Len() != maxSessions {
		t.Error("the session that is unused makes no room")
	}
}

// TestEventIDs: what is an id of each kind of stream, to the character.
func TestEventIDs(t *testing.T) {
	standingOf := New(Options{}).Open(ada, Client{})
	for id, want := range map[string]int64{"": -1, "0": -1, "0-": -1, "0-0": 0, "0-1": 1, "0-x": -1, "1-1": -1, "00-1": -1, "0-18446744073709551616": -1} {
		n, ok := standingOf.parseStanding(id)
		if ok != (want >= 0) || ok && n != uint64(want) {
			t.Errorf("%q of the standing stream: %d, %v", id, n, ok)
		}
	}
	for id, want := range map[string]bool{
		"": false, "1": false, "1-": false, "-1": false, "1-0": true, "0-1": false, "x-1": false, "1-x": false, "1-1-1": false,
		"18446744073709551616-1": false, "1-18446744073709551616": false,
	} {
		if _, _, ok := parseReplay(id); ok != want {
			t.Errorf("%q of the stream of a call: %v", id, ok)
		}
	}
	for message, want := range map[string]string{"{}": "{}", "{\n}": "{ }", "{\r}": "{ }", "{\r\n}": "{  }", "\n": " "} {
		if got := string(AppendEvent([]byte("x\n"), "", []byte(message))); got != "x\nevent: message\ndata: "+want+"\n\n" {
			t.Errorf("%q becomes %q", message, got)
		}
	}
}

// TestKeepsOfTheStandingStream: an event as large as all may be is kept, one byte more is
// sent and not kept.
func TestKeepsOfTheStandingStream(t *testing.T) {
	frame := len(AppendEvent(nil, "0-1", nil))
	for over := range 2 {
		s := New(Options{}).Open(ada, Client{})
		s.Send(bytes.Repeat([]byte{'1'}, maxEventBytes-frame+over))
		if kept := len(s.outbox.events) == 1; kept != (over == 0) || s.outbox.size > maxEventBytes {
			t.Errorf("%d bytes past the bound: kept %v", over, kept)
		}
	}
}

// TestEndedStreams: the client of a call that has ended reads what it lacks, or hears that
// it is lost, once; and a stream that ended makes room, but for itself.
func TestEndedStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(Options{})
		s := table.Open(ada, Client{})
		frame := len(callEvent(1, 1, ""))
		resume := func(id string) (string, bool) {
			sink := &stream{}
			ok := s.Resume(sink, id)
			if ok && !sink.ended {
				t.Errorf("%s: it does not end", id)
			}
			return sink.got.String(), ok
		}
		r := s.Replay([]byte("1"), "")
		r.Append(nil, []byte(strings.Repeat("x", maxReplayBytes-frame+1)), true)
		if got, _ := resume("1-0"); !strings.Contains(got, `"error"`) {
			t.Errorf("a lost answer is told as %q", got)
		}
		if got, ok := resume("1-1"); got != "" || !ok {
			t.Errorf("one that has read it all gets %q", got)
		}
		if table.kept.Load() != 0 {
			t.Errorf("%d bytes are counted of what is not kept", table.kept.Load())
		}
		// To the byte, by the bound of all sessions: what does not fit is not counted.
		table.kept.Store(maxKept - int64(frame) - 2)
		s.Replay([]byte("2"), "").Append(nil, []byte(`{}`), true)
		if got, _ := resume("2-0"); got != callEvent(2, 1, `{}`) || table.kept.Load() != maxKept {
			t.Errorf("%q, %d bytes", got, table.kept.Load())
		}
		s.Replay([]byte("3"), "").Append(nil, bytes.Repeat([]byte{'x'}, maxReplayBytes-frame), true)
		if got, _ := resume("3-0"); !strings.Contains(got, `"error"`) || table.kept.Load() != maxKept {
			t.Errorf("%.100q, %d bytes", got, table.kept.Load())
		}
		time.Sleep(keepReplay - 1)
		if kept, _ := s.Keeps("2-1"); !kept {
			t.Error("forgotten too early")
		}
		time.Sleep(time.Nanosecond)
		if kept, call := s.Keeps("2-1"); kept || !call || s.replays.all != nil {
			t.Error("not forgotten when it is asked for")
		}
		// A new stream forgets them too.
		s.Replay([]byte("4"), "").Append(nil, []byte(`{}`), true)
		time.Sleep(keepReplay)
		s.Replay([]byte("5"), "")
		if len(s.replays.all) != 1 {
			t.Errorf("%d streams are kept", len(s.replays.all))
		}
	})
}

// TestRoomForEvents: the oldest events make as much room as is needed and no more, of
// streams that have ended first, and never the newest event.
func TestRoomForEvents(t *testing.T) {
	quarter := func(stream, n int) []byte {
		return bytes.Repeat([]byte{'x'}, maxReplayBytes/4-len(callEvent(stream, n, "")))
	}
	s := New(Options{}).Open(ada, Client{})
	held := func() string {
		var b strings.Builder
		for _, r := range s.replays.all {
			fmt.Fprintf(&b, "%d:", r.number)
			for _, e := range r.events {
				fmt.Fprintf(&b, " %d", e.number)
			}
			b.WriteString("; ")
		}
		return b.String()
	}
	first, second, third := s.Replay([]byte("1"), ""), s.Replay([]byte("2"), ""), s.Replay([]byte("3"), "")
	first.Append(nil, quarter(1, 1), false)
	first.Append(nil, quarter(1, 2), false)
	second.Append(nil, quarter(2, 1), true)
	third.Append(nil, quarter(3, 1), false)
	if got := held(); got != "1: 1 2; 2: 1; 3: 1; " || s.replays.size != maxReplayBytes {
		t.Errorf("full: %s, %d bytes", got, s.replays.size)
	}
	third.Append(nil, quarter(3, 2), false)
	if got := held(); got != "1: 1 2; 3: 1 2; " || s.replays.size != maxReplayBytes {
		t.Errorf("what has ended is not the first to go: %s", got)
	}
	third.Append(nil, quarter(3, 3), false)
	if got := held(); got != "1: 2; 3: 1 2 3; " || first.missing != 1 {
		t.Errorf("one event more: %s", got)
	}
	third.Append(nil, quarter(3, 4), false)
	third.Append(nil, quarter(3, 5), true)
	if got := held(); got != "1:; 3: 2 3 4 5; " || first.events != nil || third.missing != 1 {
		t.Errorf("own events: %s", got)
	}
	// One that has ended makes room for another, not for itself when it is the last.
	fourth := s.Replay([]byte("4"), "")
	fourth.Append(nil, bytes.Repeat([]byte{'x'}, maxReplayBytes-len(callEvent(4, 1, ""))), true)
	if got := held(); got != "1:; 4: 1; " || s.replays.size != maxReplayBytes {
		t.Errorf("the largest: %s", got)
	}
	if s.dropOverLocked() {
		t.Error("the newest stream was dropped")
	}
}
