package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// outspoken is a server with sessions whose tool says everything on the stream of the
// session, as servers made with the TypeScript SDK do: it asks there, and its result is the
// answer.
type outspoken struct {
	*httptest.Server

	ended chan string // streams, by session

	mu       sync.Mutex
	sessions int                    // guarded by mu
	streams  map[string]chan string // guarded by mu; messages, by session
	answers  map[string]chan string // guarded by mu; by session
	open     map[string]bool        // guarded by mu; the stream of a session is
}

func newOutspoken(t testing.TB) *outspoken {
	t.Helper()
	o := &outspoken{ended: make(chan string, 8), streams: map[string]chan string{}, answers: map[string]chan string{}, open: map[string]bool{}}
	o.Server = httptest.NewServer(o)
	endWith(t, o.Server)
	return o
}

// endWith closes a server with the test, also one to which a stream is open, which would be
// opened again.
func endWith(t testing.TB, s *httptest.Server) {
	t.Cleanup(func() {
		_ = s.Listener.Close()
		_ = s.Listener.Close() // or a client is back before the end
		s.CloseClientConnections()
		s.Close()
	})
}

func (o *outspoken) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	o.mu.Lock()
	out, answers := o.streams[id], o.answers[id]
	if r.Method == http.MethodGet {
		o.open[id] = true
	}
	heard := o.open[id]
	o.mu.Unlock()
	switch {
	case r.Method == http.MethodDelete:
		return
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case m := <-out:
				fmt.Fprintf(w, "data: %s\n\n", m)
			case <-r.Context().Done():
				o.ended <- id
				return
			}
		}
	}
	var m struct {
		ID            json.RawMessage
		Method        string
		Result, Error json.RawMessage
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	result := `{}`
	switch m.Method {
	case "initialize":
		o.mu.Lock()
		o.sessions++
		id = fmt.Sprint("s", o.sessions)
		o.streams[id], o.answers[id] = make(chan string, 64), make(chan string, 1)
		o.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"o","version":"1"}}`
	case "":
		answers <- string(m.Result) + string(m.Error)
		w.WriteHeader(http.StatusAccepted)
		return
	case "tools/call":
		if !heard {
			result = `{"content":[{"type":"text","text":"nobody listens"}]}`
			break
		}
		out <- `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"unwanted of ` + id + `"}}`
		out <- `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"said of ` + id + `"}}`
		out <- `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"` + id + `"}}`
		out <- `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Who at ` + id + `?","requestedSchema":{"type":"object"}}}`
		select {
		case a := <-answers:
			b, _ := json.Marshal(a) // a text
			result = `{"content":[{"type":"text","text":` + string(b) + `}]}`
		case <-time.After(20 * time.Second):
			result = `{"isError":true,"content":[]}`
		}
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// serveOutspoken makes the server live as "acme".
func serveOutspoken(t testing.TB, s *gatewaytest.Stack, o *outspoken, edit func(*registry.Toolset)) {
	t.Helper()
	c, err := gatewaytest.ServerConnector("up", &connector.MCPServer{
		URL: o.URL, Transport: manifest.TransportStreamable, Protocol: "2025-11-25", Name: "o", Version: "1",
		Tools: []json.RawMessage{[]byte(`{"name":"outside","inputSchema":{"type":"object"}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, edit)); err != nil {
		t.Fatal(err)
	}
}

// askable opens a session whose client can be asked by form and by URL.
func askable(t testing.TB, url string) string {
	t.Helper()
	resp := request(t, http.MethodPost, url, strings.Replace(handshake, `"capabilities":{}`, `"capabilities":{"elicitation":{"form":{},"url":{}}}`, 1))
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get("Mcp-Session-Id")
}

// callOutside calls the tool in a session and sends what answers it.
func callOutside(t testing.TB, url, session string) <-chan string {
	t.Helper()
	done := make(chan string, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(callBody("outside", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			done <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		done <- string(b)
	}()
	return done
}

// TestHears: what a server says on the stream of a session reaches its client alone, and
// the client's answer the server.
func TestHears(t *testing.T) {
	o, s := newOutspoken(t), start(t, gatewaytest.Options{})
	serveOutspoken(t, s, o, nil)
	type client struct {
		session string
		next    func() (id, data string)
		done    <-chan string
	}
	clients := make([]client, 2)
	for i := range clients {
		c := &clients[i]
		c.session = askable(t, s.URL("acme"))
		c.next = events(t, s.URL("acme"), c.session, "")
		c.next() // the beginning
		c.done = callOutside(t, s.URL("acme"), c.session)
	}
	for i := range clients {
		c := &clients[i]
		_, data := c.next()
		_, own, _ := strings.Cut(data, "said of ")
		own, _, ok := strings.Cut(own, `"`)
		if want := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"said of ` + own + `"}}`; !ok || data != want {
			t.Fatalf("the client hears %s", data)
		}
		if _, data = c.next(); data != `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"`+own+`"}}` {
			t.Errorf("then %s", data)
		}
		if _, data = c.next(); data != `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who at `+own+`?","requestedSchema":{"type":"object"}}}` {
			t.Errorf("it is asked %s", data)
		}
		resp := request(t, http.MethodPost, s.URL("acme"), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":%d}}}`, i), "Mcp-Session-Id", c.session)
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("its answer: %d", resp.StatusCode)
		}
		if got := <-c.done; !strings.Contains(got, fmt.Sprintf(`{\"action\":\"accept\",\"content\":{\"n\":%d}}`, i)) {
			t.Errorf("the call of client %d ends with %s", i, got)
		}
	}
}

// TestHearsNothing: who must not, or cannot be asked, is told nothing, and the server gets
// an error for its request.
func TestHearsNothing(t *testing.T) {
	o, s := newOutspoken(t), start(t, gatewaytest.Options{})
	serveOutspoken(t, s, o, nil)
	session := openSession(t, s.URL("acme"), "")
	next := events(t, s.URL("acme"), session, "")
	next()
	if got := <-callOutside(t, s.URL("acme"), session); !strings.Contains(got, "no such capability") {
		t.Errorf("a client that cannot be asked: %s", got)
	}
	if _, data := next(); !strings.Contains(data, `"said of`) {
		t.Errorf("it hears %s", data)
	}
	statusOf(t, http.MethodDelete, s.URL("acme"), session, "")
	waitFor(t, "the end of the stream", o.ended, "s1")
}

// TestHearsNothingRedacted: where something must see all that a server says, its clients do
// not hear what nothing has seen.
func TestHearsNothingRedacted(t *testing.T) {
	o, s := newOutspoken(t), start(t, gatewaytest.Options{})
	serveOutspoken(t, s, o, func(ts *registry.Toolset) { ts.Answers = &registry.Answers{Redact: true} })
	session := askable(t, s.URL("acme"))
	events(t, s.URL("acme"), session, "")
	<-callOutside(t, s.URL("acme"), session)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sessions != 1 || len(o.open) != 0 {
		t.Errorf("%d sessions, %d streams", o.sessions, len(o.open))
	}
}
