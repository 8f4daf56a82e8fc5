package mcpclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// TestProgressOnTheStreamOfTheSession reaches the call whose token it has, and moves its end,
// though nothing of the answer has come; progress of no call is what the stream says.
func TestProgressOnTheStreamOfTheSession(t *testing.T) {
	said := make(chan string, 64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"o","version":"1"}}`
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				_ = http.NewResponseController(w).Flush()
				select {
				case m := <-said:
					fmt.Fprintf(w, "data: %s\n\n", m)
				case <-r.Context().Done():
					return
				}
			}
		case m.Method == "server/discover":
			w.WriteHeader(http.StatusNotFound)
			return
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
		case m.Method == "tools/call":
			for i := range 8 {
				select {
				case <-time.After(100 * time.Millisecond):
				case <-r.Context().Done():
					return
				}
				said <- `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":123456789,"progress":1}}`
				if token := m.Params.Meta.ProgressToken; token != nil {
					said <- fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, i+1)
				}
			}
			time.Sleep(50 * time.Millisecond) // the answer does not overtake the last
			result = `{"content":[]}`
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(func() { _ = srv.Listener.Close(); srv.CloseClientConnections(); srv.Close() })
	c := newClient(t, safedial.Options{AllowPrivate: true})
	own := func() *Target {
		tg := target(t, srv.URL)
		tg.Caller = "ada"
		return tg
	}
	opened, strangers := make(chan struct{}), atomic.Int64{}
	following := own()
	following.Cancel = new(upstream.Cancel)
	ended := make(chan error, 1)
	go func() {
		var x Exchange
		ended <- c.Follow(&x, following, &Feed{Opened: func(bool) { close(opened) }, Notify: func(string, jsonscan.Value) { strangers.Add(1) }})
	}()
	<-opened
	for _, row := range []struct {
		idle, latest time.Duration
		progress     bool
		told, done   bool
	}{
		{time.Second, time.Hour, true, true, true},
		{time.Second, 500 * time.Millisecond, true, true, false},
		{0, time.Hour, true, true, false},
		{time.Second, time.Hour, false, false, false},
	} {
		tg, told := own(), atomic.Int64{}
		now := time.Now()
		tg.Deadline, tg.Idle, tg.Latest, tg.Cancel = now.Add(400*time.Millisecond), row.idle, now.Add(row.latest), new(upstream.Cancel)
		var x Exchange
		err := c.Call(&x, tg, &Call{Tool: "slow", Progress: row.progress, Notify: func(string, jsonscan.Value) { told.Add(1) }})
		if row.done && err != nil || !row.done && !problem.Is(err, problem.Timeout) || told.Load() > 0 != row.told || row.done && told.Load() != 8 {
			t.Errorf("%+v: %v, told %d times", row, err, told.Load())
		}
		if row.done && !x.Deadline().After(now.Add(time.Second)) {
			t.Errorf("it would have ended at %v", x.Deadline().Sub(now))
		}
	}
	if strangers.Load() < 8 {
		t.Errorf("the stream said %d reports of no call", strangers.Load())
	}
	following.Cancel.Cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestReportsAreBounded: a server that reports without end is heard no more.
func TestReportsAreBounded(t *testing.T) {
	var r reports
	told := 0
	end := r.begin(7, 0, func(string, jsonscan.Value) { told++ }, &Target{})
	for range maxNotifications + 10 {
		if !r.tell(notificationProgress, jsonscan.Trusted([]byte(`{"progressToken":7}`))) {
			t.Fatal("it is of no call")
		}
	}
	if told != maxNotifications {
		t.Errorf("%d are told", told)
	}
	if d := end(); !d.IsZero() || r.tell(notificationProgress, jsonscan.Trusted([]byte(`{"progressToken":7}`))) {
		t.Errorf("after its end: %v", d)
	}
	for _, params := range []string{`{}`, `{"progressToken":"x"}`, `{"progressToken":-7}`, `[]`} {
		if r.tell(notificationProgress, jsonscan.Trusted([]byte(params))) || r.tell("notifications/message", jsonscan.Trusted([]byte(`{"progressToken":7}`))) {
			t.Errorf("%s is of a call", params)
		}
	}
}
