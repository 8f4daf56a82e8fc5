package mcpclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/safedial"
)

// asideServer is a server with sessions that asks, and logs, on the stream of the session instead of
// that of the call: SDKs do where a tool does not say which request it means.
type asideServer struct {
	sse    bool // it is one of 2024-11-05
	status int  // of that stream

	gets    atomic.Int64
	stream  chan string
	answers chan string   // of the client
	ended   chan struct{} // has a token for each stream that ended
}

func newAside(t *testing.T, status int, sse bool) (*asideServer, string) {
	t.Helper()
	u := &asideServer{status: status, sse: sse, stream: make(chan string, 64), answers: make(chan string, 1), ended: make(chan struct{}, 64)}
	srv := httptest.NewServer(u)
	t.Cleanup(func() { _ = srv.Listener.Close(); srv.CloseClientConnections(); srv.Close() })
	return u, srv.URL
}

func (u *asideServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Result json.RawMessage
		Params struct{ Name string }
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"o","version":"1"}}`
	switch {
	case r.Method == http.MethodGet:
		if u.gets.Add(1); u.status != http.StatusOK {
			w.WriteHeader(u.status)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if u.sse {
			fmt.Fprint(w, "event: endpoint\ndata: /post\n\n")
		}
		defer func() { u.ended <- struct{}{} }()
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case said := <-u.stream:
				fmt.Fprintf(w, "data: %s\n\n", said)
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodDelete:
		return
	case m.Method == "server/discover", u.sse && r.URL.Path != "/post":
		w.WriteHeader(http.StatusNotFound)
		return
	case m.Method == "initialize":
		if !u.sse {
			w.Header().Set("Mcp-Session-Id", "s")
		}
	case m.Method == "" && m.Result != nil:
		u.answers <- string(m.Result)
	case m.Method == "tools/call" && m.Params.Name == "ask":
		if u.sse {
			w.WriteHeader(http.StatusAccepted) // at once: clients of the stream wait there
			_ = http.NewResponseController(w).Flush()
		}
		u.stream <- `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"one"}}`
		u.stream <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		u.stream <- `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`
		result = `{"content":[{"type":"text","text":` + fmt.Sprintf("%q", <-u.answers) + `}]}`
	case m.Method == "tools/call":
		result = `{"content":[]}`
	}
	if m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	if u.sse {
		u.stream <- answer
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, answer)
}

// TestAskedOnTheStreamOfTheSession: where nobody listens on that stream, what the server says
// and asks there is put to the call that runs, and the stream lives as long as the session.
func TestAskedOnTheStreamOfTheSession(t *testing.T) {
	for _, sse := range []bool{false, true} {
		u, url := newAside(t, http.StatusOK, sse)
		c := newClient(t, safedial.Options{AllowPrivate: true})
		for range 2 {
			to := target(t, url)
			to.Caller = "ada"
			var told []string
			var x Exchange
			err := c.Call(&x, to, &Call{
				Tool: "ask", Hears: true, Notify: func(method string, params jsonscan.Value) {
					told = append(told, method+string(params.Get("data").Raw()))
				},
				Ask: func(method string, _ jsonscan.Value, _ <-chan struct{}) []byte {
					return []byte(`"result":{"roots":[],"asked":"` + method + `"}`)
				},
			})
			if err != nil || !strings.Contains(string(x.Result().Raw()), "roots/list") || fmt.Sprint(told) != `[notifications/message"one"]` {
				t.Fatalf("SSE %v: %s, %v, told %v", sse, x.Result().Raw(), err, told)
			}
		}
		if n := u.gets.Load(); n != 1 && !sse || n > 2 {
			t.Errorf("SSE %v: %d streams were opened", sse, n)
		}
		c.EndCaller("ada")
		<-u.ended
	}
}

// TestNoStreamToHear: a server that opens none is not asked at every call; one that does not
// know the session any more is, in the next.
func TestNoStreamToHear(t *testing.T) {
	for status, want := range map[int]int64{http.StatusMethodNotAllowed: 1, http.StatusNotFound: 3, http.StatusBadRequest: 3} {
		u, url := newAside(t, status, false)
		c := newClient(t, safedial.Options{AllowPrivate: true})
		for _, caller := range []string{"ada", "ada", "bob"} {
			to := target(t, url)
			to.Caller = caller
			var x Exchange
			if err := c.Call(&x, to, &Call{Tool: "x", Hears: true}); err != nil {
				t.Fatal(err)
			}
		}
		if n := u.gets.Load(); n != want {
			t.Errorf("HTTP %d: it was asked %d times, want %d", status, n, want)
		}
	}
}

// TestMaxEars: so many sessions have a stream for their calls; calls of one more do without.
func TestMaxEars(t *testing.T) {
	for before, want := range map[int]int64{maxEars - 1: 1, maxEars: 0} {
		u, url := newAside(t, http.StatusOK, false)
		c := newClient(t, safedial.Options{AllowPrivate: true})
		c.mu.Lock()
		c.ears = before
		c.mu.Unlock()
		to := target(t, url)
		to.Caller = "ada"
		var x Exchange
		if err := c.Call(&x, to, &Call{Tool: "x", Hears: true}); err != nil {
			t.Fatal(err)
		}
		if n := u.gets.Load(); n != want {
			t.Errorf("%d are open: it opened %d, want %d", before, n, want)
		}
	}
}

// TestEarsAreBounded: a call hears no more of a server that talks without end.
func TestEarsAreBounded(t *testing.T) {
	e, told := &ear{}, 0
	e.tell(notificationMessage, jsonscan.Trusted([]byte(`{}`))) // nobody hears it
	end := e.begin(&heardCall{notify: func(string, jsonscan.Value) { told++ }})
	for range maxNotifications + 1 {
		e.tell(notificationMessage, jsonscan.Trusted([]byte(`{}`)))
	}
	if end(); told != maxNotifications || e.asked() != nil {
		t.Errorf("%d are told", told)
	}
}

// TestSharedStreamAsksNobody: what is asked on a stream of several callers may be another's.
func TestSharedStreamAsksNobody(t *testing.T) {
	e := &events{waiting: map[uint64]*waiter{1: {asks: &asks{}, notify: func(string, jsonscan.Value) { t.Error("it is told") }}}}
	if e.asked() != nil {
		t.Error("it is asked")
	}
	own, newest := &asks{}, &asks{}
	e.waiting[2], e.waiting[4], e.waiting[3] = &waiter{own: true, asks: own}, &waiter{own: true, asks: newest}, &waiter{own: true, asks: own}
	if e.asked() != newest {
		t.Error("it is not the newest")
	}
	c := newClient(t, safedial.Options{AllowPrivate: true})
	delete(e.waiting, 4)
	c.route(e, target(t, "http://127.0.0.1:1"), []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`))
}
