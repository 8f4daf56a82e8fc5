package session

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func callEvent(stream, n int, text string) string {
	return fmt.Sprintf("id: %d-%d\nevent: message\ndata: %s\n\n", stream, n, text)
}

// TestReplay: a client that lost the stream of a call reads what follows its last event on
// another, now and as it comes; what is sent there is not sent on the first.
func TestReplay(t *testing.T) {
	table := New(Options{})
	s := table.Open(ada, Client{})
	r, other := s.Replay([]byte("7"), ""), s.Replay([]byte(`"x"`), "")
	first := r.AppendPrime(nil)
	for i := range 2 {
		var elsewhere bool
		if first, elsewhere = r.Append(first, fmt.Appendf(nil, `{"n":%d}`, i+1), false); elsewhere {
			t.Error("elsewhere before anybody came back")
		}
	}
	other.Append(nil, []byte(`{"other":1}`), false)
	if got, want := string(first), "id: 1-0\nretry: 1000\ndata: \n\n"+callEvent(1, 1, `{"n":1}`)+callEvent(1, 2, `{"n":2}`); got != want {
		t.Errorf("the first connection has %q", got)
	}
	for _, odd := range []string{"", "0-1", "3-1", "1-", "x", "-1", "1-x", strings.Repeat("9", 400) + "-1"} {
		if s.Resume(&stream{}, odd) {
			t.Errorf("resumed behind %q", odd)
		}
	}
	if kept, call := s.Keeps("3-1"); kept || !call {
		t.Errorf("of a stream that never was: kept %t, of a call %t", kept, call)
	}
	if kept, call := s.Keeps("0-1"); kept || call {
		t.Errorf("of the standing stream: kept %t, of a call %t", kept, call)
	}
	second := &stream{}
	if kept, call := s.Keeps("1-1"); !kept || !call || !s.Resume(second, "1-1") {
		t.Fatal("it cannot be resumed")
	}
	if out, elsewhere := r.Append(nil, []byte(`{"n":3}`), false); !elsewhere || len(out) > 0 {
		t.Errorf("the first connection gets %q", out)
	}
	third := &stream{}
	if !s.Resume(third, "1-2") || !second.ended {
		t.Error("the one before was not ended")
	}
	s.Detach(second) // later than its successor came
	r.Append(nil, []byte(`{"n":4}`), true)
	if got := second.got.String(); got != callEvent(1, 2, `{"n":2}`)+callEvent(1, 3, `{"n":3}`) {
		t.Errorf("the second connection has %q", got)
	}
	if got := third.got.String(); got != callEvent(1, 3, `{"n":3}`)+callEvent(1, 4, `{"n":4}`) || !third.ended {
		t.Errorf("the third connection has %q, ended %t", got, third.ended)
	}
	late := &stream{}
	if !s.Resume(late, "1-3") || late.got.String() != callEvent(1, 4, `{"n":4}`) || !late.ended {
		t.Errorf("behind the end came %q, ended %t", late.got.String(), late.ended)
	}
	table.End(t.Context(), s)
	if s.Replay(nil, "") != nil || s.Resume(&stream{}, "1-3") || table.kept.Load() != 0 {
		t.Errorf("a session that has ended keeps streams, %d bytes", table.kept.Load())
	}
	other.Append(nil, []byte(`{}`), true)
	if table.kept.Load() != 0 {
		t.Error("a session that has ended keeps an event")
	}
}

// TestReplayAway: for how long nobody reads a stream.
func TestReplayAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{}).Open(ada, Client{})
		r, sink := s.Replay([]byte("1"), ""), &stream{}
		f := func(want time.Duration) {
			t.Helper()
			time.Sleep(time.Second)
			if got := r.Away(); got != want {
				t.Errorf("away for %s, want %s", got, want)
			}
		}
		f(0)
		r.Leave()
		f(time.Second)
		r.Leave()
		f(2 * time.Second)
		s.Resume(sink, "1-0")
		f(0)
		r.Leave() // later than it came back
		f(0)
		s.Detach(sink)
		f(time.Second)
	})
}

// TestReplayBounds: what is kept is bounded in streams, bytes and time, for a session and
// for all. An answer that is not kept is an error when it is asked for.
func TestReplayBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(Options{})
		s := table.Open(ada, Client{})
		resumed := func(id string) string {
			sink := &stream{}
			s.Resume(sink, id)
			return sink.got.String()
		}
		var all []*Replay
		for range maxReplays {
			all = append(all, s.Replay([]byte("1"), ""))
		}
		if s.Replay([]byte("1"), "") != nil {
			t.Fatalf("more than %d streams are open", maxReplays)
		}
		all[3].Append(nil, []byte(`{}`), true)
		if r := s.Replay([]byte("1"), ""); r == nil || resumed("4-0") != "" {
			t.Fatal("a stream that has ended makes no room")
		}
		for i, r := range all {
			if i != 3 {
				r.Append(nil, []byte(`{}`), true)
			}
		}
		time.Sleep(keepReplay - time.Second)
		if s.forgetOld(time.Now()); resumed("1-0") == "" {
			t.Error("forgotten too early")
		}
		time.Sleep(time.Second)
		if s.forgetOld(time.Now()); resumed("1-0") != "" || table.kept.Load() != 0 {
			t.Error("not forgotten")
		}

		s = table.Open(ada, Client{})
		frame := len(callEvent(1, 1, ""))
		r := s.Replay([]byte(`"id"`), "")
		r.Append(nil, []byte(strings.Repeat("x", maxReplayBytes-frame)), true)
		if got := resumed("1-0"); len(got) != maxReplayBytes {
			t.Errorf("of the largest answer %d bytes are kept", len(got))
		}
		r = s.Replay([]byte(`"id"`), "")
		r.Append(nil, []byte(strings.Repeat("x", maxReplayBytes-frame+1)), true)
		if got := resumed("2-0"); !strings.HasPrefix(got, "id: 2-1\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"id\",\"error\":") {
			t.Errorf("an answer that is too large: %.200q", got)
		}
		r = s.Replay([]byte("1"), "")
		half := strings.Repeat("y", maxReplayBytes/2)
		r.Append(nil, []byte(half), false)
		r.Append(nil, []byte(half), false) // drops the first
		if got := resumed("3-0"); !strings.HasPrefix(got, "id: 3-2\n") || resumed("1-0") != "" || s.replays.size > maxReplayBytes {
			t.Errorf("%d bytes, which begin with %.20q", s.replays.size, got)
		}
		table.End(t.Context(), s)

		// Room for the newest is made of all events of older streams that go on.
		s = table.Open(ada, Client{})
		old, young := s.Replay([]byte("1"), ""), s.Replay([]byte("2"), "")
		old.Append(nil, []byte(half[:maxReplayBytes/4]), false)
		old.Append(nil, []byte(half), false)
		young.Append(nil, []byte(strings.Repeat("y", maxReplayBytes-frame)), false)
		if got, all := resumed("1-0"), resumed("2-0"); got != "" || len(all) != maxReplayBytes || s.replays.size != maxReplayBytes {
			t.Errorf("%d bytes of the older stream, %d of the newest", len(got), len(all))
		}
		if got := resumed("2-1"); got != "" {
			t.Errorf("nothing was missed: %.40q", got)
		}
		table.End(t.Context(), s)

		// The newest event stays also when its stream is the oldest.
		s = table.Open(ada, Client{})
		old, young = s.Replay([]byte("1"), ""), s.Replay([]byte("2"), "")
		young.Append(nil, []byte(half), false)
		old.Append(nil, []byte(strings.Repeat("y", maxReplayBytes-frame)), false)
		if got := resumed("1-0"); len(got) != maxReplayBytes || resumed("2-0") != "" {
			t.Errorf("%d bytes of the newest event of the oldest stream", len(got))
		}
		table.End(t.Context(), s)

		big := []byte(strings.Repeat("z", maxReplayBytes-frame))
		for range maxKept / maxReplayBytes {
			table.Open(ada, Client{}).Replay([]byte("1"), "").Append(nil, big, false)
		}
		if table.kept.Load() != maxKept {
			t.Errorf("all sessions keep %d bytes", table.kept.Load())
		}
		s = table.Open(ada, Client{})
		s.Replay([]byte("1"), "").Append(nil, []byte(`{}`), true)
		if got := resumed("1-0"); !strings.Contains(got, `"error"`) || table.kept.Load() != maxKept {
			t.Errorf("past the bound of all sessions: %q, %d bytes", got, table.kept.Load())
		}
	})
}

// TestUnder: what others settings made is forgotten when only those of now may, and goes on
// to be kept otherwise; a call that runs on keeps nothing more.
func TestUnder(t *testing.T) {
	table := New(Options{})
	s := table.Open(ada, Client{Version: "2025-06-18"})
	s.Under("one", false)
	s.Send([]byte(`{"n":1}`))
	ended, running := s.Replay([]byte("1"), "one"), s.Replay([]byte("2"), "one")
	ended.Append(nil, []byte(`{"n":2}`), true)
	running.Append(nil, []byte(`{"n":3}`), false)
	s.Under("two", false)
	for _, id := range []string{"1-0", "2-0"} {
		if kept, _ := s.Keeps(id); !kept {
			t.Errorf("%s is forgotten where nothing redacts", id)
		}
	}
	standing := &stream{}
	if s.Attach(standing, "0-0"); !strings.Contains(standing.got.String(), `"n":1`) {
		t.Errorf("outside of calls it reads %q where nothing redacts", standing.got.String())
	}
	s.Detach(standing)
	back := &stream{}
	s.Resume(back, "2-0")
	s.Under("three", true)
	for _, id := range []string{"1-0", "2-0"} {
		if kept, call := s.Keeps(id); kept || !call || s.Resume(&stream{}, id) {
			t.Errorf("%s is kept", id)
		}
	}
	if !back.ended || running.Away() == 0 {
		t.Error("the stream of a call from before goes on")
	}
	if out, elsewhere := running.Append(nil, []byte(`{"n":4}`), true); elsewhere || len(out) == 0 || strings.Contains(back.got.String(), `"n":4`) {
		t.Errorf("its connection of before is sent %q", out)
	}
	s.Send([]byte(`{"n":5}`))
	now := s.Replay([]byte("3"), "three")
	now.Append(nil, []byte(`{"n":6}`), true)
	s.Under("three", true)
	sink, call := &stream{}, &stream{}
	if s.Attach(sink, "0-0"); strings.Contains(sink.got.String(), `"n":1`) || !strings.Contains(sink.got.String(), `"n":5`) {
		t.Errorf("outside of calls it reads %q", sink.got.String())
	}
	if s.Resume(call, "3-0"); !strings.Contains(call.got.String(), `"n":6`) {
		t.Errorf("of the call of now it reads %q", call.got.String())
	}
	if got, want := table.kept.Load(), int64(len(callEvent(3, 1, `{"n":6}`))); got != want {
		t.Errorf("%d bytes are counted, not %d", got, want)
	}
}
