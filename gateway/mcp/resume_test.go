package mcp

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/session"
)

// reader is a client's second connection.
type reader struct {
	mu    sync.Mutex
	got   string // guarded by mu
	ended bool   // guarded by mu
}

func (r *reader) Write(b []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got += string(b)
	return true
}

func (r *reader) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// lose serves a call in a session whose client loses its connection after the first event,
// and does something meanwhile. It returns how long the call took, and whether it was
// cancelled.
func lose(t *testing.T, version string, calling func(to *Stream, cancelled <-chan struct{}), meanwhile func(*session.Session)) (took time.Duration, cancelled bool) {
	t.Helper()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ts := newStub(t)
	ts.table, ts.cancelled = session.New(session.Options{}), make(chan struct{})
	ts.calling = func(to *Stream) {
		to.Progress(1, 3, "")
		calling(to, ts.cancelled)
	}
	own := ts.OpenSession(session.Client{Version: version})
	rc := request(strings.Replace(legacyCall, `"arguments"`, `"_meta":{"progressToken":1},"arguments"`, 1),
		"MCP-Protocol-Version", version, "Mcp-Session-Id", own.ID(), "Accept", both)
	s.Serve(rc, ts)
	begin := time.Now()
	if meanwhile != nil {
		go meanwhile(own)
	}
	if err := rc.Response.Write(bufio.NewWriterSize(brokenWriter{}, 16)); err == nil {
		t.Fatal("writing to a closed connection worked")
	}
	if len(ts.done) != 1 {
		t.Fatalf("done %+v", ts.done)
	}
	select {
	case <-ts.cancelled:
		cancelled = true
	default:
	}
	if got := (&reader{}); !own.Resume(got, "1-0") || !strings.Contains(got.got, `"id":3,"result":`) || !got.ended {
		t.Errorf("afterwards it reads %q", got.got)
	}
	return time.Since(begin), cancelled
}

// TestStreamResumed: a call goes on whose client lost its connection, for half a minute or
// as long as the client reads its stream on another.
func TestStreamResumed(t *testing.T) {
	// The clock of fasthttp begins with the first response, and never ends.
	if err := new(fasthttp.Response).Write(bufio.NewWriter(io.Discard)); err != nil {
		t.Fatal(err)
	}
	until := func(d time.Duration) func(*Stream, <-chan struct{}) {
		return func(to *Stream, cancelled <-chan struct{}) {
			to.Progress(2, 3, "")
			select {
			case <-cancelled:
			case <-time.After(d):
				to.Progress(3, 3, "")
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		if took, cancelled := lose(t, "2025-11-25", until(5*time.Second), nil); took != 5*time.Second || cancelled {
			t.Errorf("a call of five seconds took %s, cancelled %t", took, cancelled)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if took, cancelled := lose(t, "2025-06-18", until(time.Hour), nil); took < returnWithin || took > returnWithin+2*awayEvery || !cancelled {
			t.Errorf("a call whose client stays away took %s, cancelled %t", took, cancelled)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		back := &reader{}
		took, cancelled := lose(t, "2025-11-25", until(time.Hour), func(own *session.Session) {
			time.Sleep(20 * time.Second)
			if !own.Resume(back, "1-0") {
				t.Error("it cannot be resumed")
			}
			synctest.Wait()
			time.Sleep(10 * time.Minute)
			own.Detach(back) // lost again
		})
		if want := 10*time.Minute + 20*time.Second + returnWithin; took < want || took > want+2*awayEvery || !cancelled {
			t.Errorf("a call whose client came back took %s, cancelled %t", took, cancelled)
		}
		if !strings.HasPrefix(back.got, "id: 1-1\nevent: message\ndata: ") || !strings.Contains(back.got, "id: 1-2\n") || strings.Contains(back.got, `"result"`) {
			t.Errorf("on its second connection it reads %q", back.got)
		}
	})
}

// TestStreamPrimed: what the first event is, and that a stream without a session has no ids.
func TestStreamPrimed(t *testing.T) {
	f := func(version, prefix string, inSession bool) {
		t.Helper()
		s, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		ts := newStub(t)
		ts.calling = func(to *Stream) { to.Progress(1, 3, "") }
		header := []string{"MCP-Protocol-Version", version, "Accept", both}
		if inSession {
			ts.table = session.New(session.Options{})
			header = append(header, "Mcp-Session-Id", ts.OpenSession(session.Client{Version: version}).ID())
		}
		rc := request(strings.Replace(legacyCall, `"arguments"`, `"_meta":{"progressToken":1},"arguments"`, 1), header...)
		s.Serve(rc, ts)
		if got := string(rc.Response.Body()); !strings.HasPrefix(got, prefix) || !strings.Contains(got, `"result"`) {
			t.Errorf("%s: %q", version, got)
		}
	}
	f("2025-11-25", "id: 1-0\nretry: 1000\ndata: \n\nid: 1-1\nevent: message\ndata: {", true)
	f("2025-06-18", "id: 1-1\nevent: message\ndata: {", true)
	f("2025-11-25", "event: message\ndata: {", false)
}
