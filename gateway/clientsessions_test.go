package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/upstreamtest"
)

const handshake = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// request makes a request of any method; the caller closes its body.
func request(t testing.TB, method, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// statusOf makes a request in a session and returns the status of its answer.
func statusOf(t testing.TB, method, url, session, caller string) int {
	t.Helper()
	body := ""
	if method == http.MethodPost {
		body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	}
	resp := request(t, method, url, body, "Authorization", tokenOf(caller), "Mcp-Session-Id", session)
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func tokenOf(caller string) string {
	if caller == "" {
		return ""
	}
	return "Bearer slt_" + caller
}

// openSession shakes hands and returns the id of the session; "": there is none.
func openSession(t testing.TB, url, caller string) string {
	t.Helper()
	resp := request(t, http.MethodPost, url, handshake, "Authorization", tokenOf(caller))
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("initialize: %d %s %v", resp.StatusCode, b, err)
	}
	id := resp.Header.Get("Mcp-Session-Id")
	if said := strings.Contains(string(b), `"tools":{"listChanged":true}`); said != (id != "") {
		t.Errorf("session %q, and the list is said to be reported: %s", id, b)
	}
	return id
}

// TestSessionIsItsCallers: nobody else can use, listen to or end a session, and it is
// one of its toolset alone.
func TestSessionIsItsCallers(t *testing.T) {
	s, n := start(t, gatewaytest.Options{}), newNotebook(t, false)
	serveNotebooks(t, s, n, false, "acme", "other")
	id := openSession(t, s.URL("acme"), "ada")
	if len(id) != 32 || openSession(t, s.URL("acme"), "ada") == id {
		t.Fatalf("the session's id is %q", id)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		for what, c := range map[string]struct{ slug, session, caller string }{
			"another caller":   {"acme", id, "bob"},
			"another toolset":  {"other", id, "ada"},
			"an unknown one":   {"acme", strings.Repeat("0", 32), "ada"},
			"a very long name": {"acme", strings.Repeat("0", 4000), "ada"},
		} {
			if got := statusOf(t, method, s.URL(c.slug), c.session, c.caller); got != http.StatusNotFound {
				t.Errorf("%s, %s: %d", method, what, got)
			}
		}
	}
	if got := statusOf(t, http.MethodGet, s.URL("acme"), id, "eve"); got != http.StatusUnauthorized {
		t.Errorf("a stranger: %d", got)
	}
	if got := statusOf(t, http.MethodPost, s.URL("acme"), id, "ada"); got != http.StatusOK {
		t.Errorf("its caller: %d", got)
	}
	if got := statusOf(t, http.MethodDelete, s.URL("acme"), id, "ada"); got != http.StatusNoContent {
		t.Errorf("its end: %d", got)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if got := statusOf(t, method, s.URL("acme"), id, "ada"); got != http.StatusNotFound {
			t.Errorf("%s after its end: %d", method, got)
		}
	}
}

// TestNoSessionForAPIs: a toolset of an HTTP API has no use for a session.
func TestNoSessionForAPIs(t *testing.T) {
	up := upstreamtest.New(t)
	s := start(t, gatewaytest.Options{})
	serve(t, s, up, nil, getItem())
	if id := openSession(t, s.URL("acme"), ""); id != "" {
		t.Errorf("it has the session %q", id)
	}
	for method, want := range map[string]int{http.MethodGet: 405, http.MethodDelete: 405, http.MethodPost: 200} {
		if got := statusOf(t, method, s.URL("acme"), strings.Repeat("0", 32), ""); got != want {
			t.Errorf("%s: %d, want %d", method, got, want)
		}
	}
}

// TestSessionsOfServers: each client has a session of its own at the server, also one
// whom nobody knows, and its end is the end of the server's.
func TestSessionsOfServers(t *testing.T) {
	for name, anonymous := range map[string]bool{"anonymous": true, "one token": false} {
		t.Run(name, func(t *testing.T) {
			s, n := start(t, gatewaytest.Options{}), newNotebook(t, false)
			serveNotebooks(t, s, n, anonymous, "acme")
			caller := "ada"
			if anonymous {
				caller = ""
			}
			take := func(id, text string) string {
				t.Helper()
				resp := request(t, http.MethodPost, s.URL("acme"), callBody("note", `{"text":"`+text+`"}`), "Authorization", tokenOf(caller), "Mcp-Session-Id", id)
				b, _ := io.ReadAll(resp.Body)
				_, before, _ := strings.Cut(string(b), "noted before: [")
				before, _, ok := strings.Cut(before, "]")
				if !ok {
					t.Fatalf("%d %s", resp.StatusCode, b)
				}
				return before
			}
			one, two := openSession(t, s.URL("acme"), caller), openSession(t, s.URL("acme"), caller)
			take(one, "first")
			if got := take(two, "second"); got != "" {
				t.Errorf("a client reads the note %q of another", got)
			}
			if got := take(one, "third"); got != "first" {
				t.Errorf("the server remembers %q of the client", got)
			}
			statusOf(t, http.MethodDelete, s.URL("acme"), one, caller)
			deadline := time.Now().Add(10 * time.Second)
			for ended := 0; ended != 1; {
				n.mu.Lock()
				ended = n.ended
				n.mu.Unlock()
				if time.Now().After(deadline) {
					t.Fatalf("%d sessions ended at the server", ended)
				}
			}
			if got := take(two, ""); got != "second" {
				t.Errorf("the server remembers %q of the other client", got)
			}
		})
	}
}

// slowServer is a server of the official SDK whose tool runs until it is cancelled.
func slowServer(t testing.TB) (url string, begun, cancelled chan struct{}) {
	t.Helper()
	begun, cancelled = make(chan struct{}, 8), make(chan struct{}, 8)
	s := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "slow", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		begun <- struct{}{}
		select {
		case <-ctx.Done():
			cancelled <- struct{}{}
		case <-time.After(25 * time.Second):
		}
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	endWith(t, up)
	return up.URL, begun, cancelled
}

// TestCancelReachesServer: notifications/cancelled of a client ends the tool at the
// server, from its own session only.
func TestCancelReachesServer(t *testing.T) {
	url, begun, cancelled := slowServer(t)
	s := start(t, gatewaytest.Options{})
	c, err := gatewaytest.MCPConnector("up", url, `{"name":"slow","inputSchema":{"type":"object"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
		t.Fatal(err)
	}
	mine, other := openSession(t, s.URL("acme"), ""), openSession(t, s.URL("acme"), "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp := request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"slow"}}`, "Mcp-Session-Id", mine)
		_, _ = io.Copy(io.Discard, resp.Body)
	}()
	<-begun
	cancel := func(session string) {
		resp := request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`, "Mcp-Session-Id", session)
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("the notification: %d", resp.StatusCode)
		}
	}
	cancel(other)
	cancel("") // of no session
	select {
	case <-cancelled:
		t.Fatal("another session cancelled the call")
	case <-time.After(300 * time.Millisecond): // nothing can be waited for that must not come
	}
	cancel(mine)
	select {
	case <-cancelled:
	case <-time.After(10 * time.Second):
		t.Fatal("the server was not told")
	}
	<-done
}

// events opens the stream of a session and returns what it reads the next event with: its
// id and its data.
func events(t testing.TB, url, session, last string) func() (id, data string) {
	t.Helper()
	resp := request(t, http.MethodGet, url, "", "Mcp-Session-Id", session, "Last-Event-ID", last)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("GET: %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(resp.Body)
	return func() (id, data string) {
		t.Helper()
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				id = value
			case "data":
				data = value
			case "":
				if lines.Text() == "" && id != "" {
					return id, data
				}
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return "", ""
	}
}

// TestSessionStream: the client of a session hears of a changed list, now or when it
// comes back, and again what it may have missed.
func TestSessionStream(t *testing.T) {
	s, n := start(t, gatewaytest.Options{}), newNotebook(t, false)
	serveRevision := func(revision uint64) {
		t.Helper()
		c, err := gatewaytest.MCPConnector("up", n.URL+"/mcp", `{"name":"note","inputSchema":{"type":"object"}}`)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(gatewaytest.Toolset("acme", revision, c, nil)); err != nil {
			t.Fatal(err)
		}
	}
	serveRevision(1)
	id := openSession(t, s.URL("acme"), "")
	next := events(t, s.URL("acme"), id, "")
	if id, data := next(); id != "0-0" || data != "" {
		t.Fatalf("the stream begins with %s %q", id, data)
	}
	serveRevision(2)
	if id, data := next(); id != "0-1" || !strings.Contains(data, "notifications/tools/list_changed") {
		t.Fatalf("%s %q", id, data)
	}
	again := events(t, s.URL("acme"), id, "0-0")
	again()
	if id, data := again(); id != "0-1" || !strings.Contains(data, "list_changed") {
		t.Errorf("behind 0-0 comes %s %q", id, data)
	}
	// A client that listens for the first time after the change.
	late := openSession(t, s.URL("acme"), "")
	serveRevision(3)
	next = events(t, s.URL("acme"), late, "")
	next()
	if id, data := next(); id != "0-1" || !strings.Contains(data, "list_changed") {
		t.Errorf("later comes %s %q", id, data)
	}
	statusOf(t, http.MethodDelete, s.URL("acme"), late, "")
}
