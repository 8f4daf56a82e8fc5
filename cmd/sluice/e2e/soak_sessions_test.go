package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// soakSessions is 2,000 with make soak.
var soakSessions = flag.Int("sessions", 50, "how many clients with sessions and streams TestSoakSessions has")

// soakRate is how many of them do something in a second.
const soakRate = 120

// soakKept is how long a client keeps a connection that it does not use; the node keeps it
// for two minutes.
const soakKept = time.Minute

// TestSoakSessions has clients with sessions at a server with sessions, each with its stream
// open, that call, are asked, are told, cancel, lose their streams, end their sessions and
// begin others. Each keeps its own session at the server all the time, hears what that says
// to it alone, and what the node holds at the end is what it held before.
func TestSoakSessions(t *testing.T) {
	const left = 20 // more of each than before the first client
	up := sessionServer(t)
	n := startSluice(t)
	n.cli(t, "add", up.URL, "--slug", "acme")
	idle := settled(t, n)
	k := &sessionSoak{addr: n.gateway, ended: map[string]int{}}

	clients := make([]*sessionClient, *soakSessions)
	k.each(t, clients, func(c *sessionClient) error { return c.call("count") }, 0)
	if t.Failed() {
		t.Log(last(n.out.String(), 4000))
		return
	}
	k.pause = time.Duration(len(clients)) * time.Second / soakRate
	k.each(t, clients, (*sessionClient).act, *soakTime/10) // what pools and caches keep is there then
	before := settled(t, n)
	began := time.Now()
	k.each(t, clients, (*sessionClient).act, *soakTime)
	took := time.Since(began)
	slack := map[string]float64{"go_goroutines": 30, "process_open_fds": 30, "process_resident_memory_bytes": 64 << 20}
	most := map[string]float64{}
	for name := range slack {
		most[name] = before[name] + slack[name]
	}
	after := settledTo(t, n, most)
	k.each(t, clients, (*sessionClient).leave, 0)
	none := map[string]float64{"go_goroutines": idle["go_goroutines"] + left, "process_open_fds": idle["process_open_fds"] + left}
	// What served a connection of HTTP/1.1 is kept for the next one, 10 to 20 seconds: what
	// was unused for ten ends when the server looks for that, every ten.
	ended := settledWithin(t, n, none, 30*time.Second)
	const kept = 32 << 20 // more of the heap than before the first client: pools and caches
	if *soakTime >= time.Minute {
		// A node without calls collects garbage every two minutes.
		const name = "go_memstats_heap_inuse_bytes"
		heap := map[string]float64{name: idle[name] + kept}
		ended[name] = settledWithin(t, n, heap, 3*time.Minute)[name]
		if ended[name] > heap[name] {
			t.Errorf("%s was %.0f without a session and is %.0f when all had left", name, idle[name], ended[name])
		}
	}
	k.mu.Lock()
	counts, _ := json.Marshal(k.ended) // a map of numbers can be marshalled
	k.mu.Unlock()
	t.Logf("%d clients for %s: %s", len(clients), took.Round(time.Second), counts)
	for _, name := range []string{"go_goroutines", "process_open_fds", "process_resident_memory_bytes", "go_memstats_heap_inuse_bytes"} {
		t.Logf("%s: idle %.0f, with all sessions %.0f, after the soak %.0f, when all had left %.0f", name, idle[name], before[name], after[name], ended[name])
	}
	for name, slack := range slack {
		// A client whose stream to the server ended may not have it again yet.
		if after[name] > before[name]+slack+0.02*before[name] {
			t.Errorf("%s was %.0f before and is %.0f", name, before[name], after[name])
		}
	}
	for _, name := range []string{"go_goroutines", "process_open_fds"} {
		if ended[name] > idle[name]+left {
			t.Errorf("%s was %.0f without a session and is %.0f when all had left", name, idle[name], ended[name])
		}
	}
	if t.Failed() {
		t.Log(last(n.out.String(), 4000))
	}
}

// sessionServer is a server of the official SDK with sessions. It counts the calls of each,
// asks, says and takes its time.
func sessionServer(t *testing.T) *httptest.Server {
	t.Helper()
	var counts sync.Map // of *int64 by session
	s := mcp.NewServer(&mcp.Implementation{Name: "sessions", Version: "1"}, nil)
	text := func(format string, args ...any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil, nil
	}
	next := func(s *mcp.ServerSession) int64 {
		n, _ := counts.LoadOrStore(s.ID(), new(int64))
		return atomic.AddInt64(n.(*int64), 1)
	}
	mcp.AddTool(s, &mcp.Tool{Name: "count", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return text("%d", next(r.Session))
	})
	mcp.AddTool(s, &mcp.Tool{Name: "tell"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3})
		}
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "told"})
		return text("%d", next(r.Session))
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		a, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return nil, nil, err
		}
		return text("%d %v", next(r.Session), a.Content["name"])
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
		return text("waited")
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() { _ = h.Listener.Close(); h.CloseClientConnections(); h.Close() })
	return h
}

type sessionSoak struct {
	addr  string
	pause time.Duration // the mean time between what one client does and does next
	next  atomic.Uint64

	mu    sync.Mutex
	ended map[string]int // guarded by mu; by what was done
}

func (k *sessionSoak) count(what string) {
	k.mu.Lock()
	k.ended[what]++
	k.mu.Unlock()
}

// each lets every client do something, once or, with a time, again and again until it is
// over, and makes those that are missing.
func (k *sessionSoak) each(t *testing.T, clients []*sessionClient, do func(*sessionClient) error, d time.Duration) {
	t.Helper()
	var work sync.WaitGroup
	began := time.Now()
	turns := make(chan struct{}, 64) // as many connect or act at once
	for i := range clients {
		work.Go(func() {
			c := clients[i]
			turn := func(do func(*sessionClient) error) bool {
				turns <- struct{}{}
				defer func() { <-turns }()
				if err := do(c); err != nil {
					t.Errorf("client %d: %v", i, err)
					return false
				}
				return true
			}
			if c == nil {
				c = &sessionClient{k: k, random: rand.New(rand.NewPCG(7, uint64(i)))}
				if clients[i] = c; !turn((*sessionClient).begin) {
					return
				}
			}
			for !t.Failed() {
				if d > 0 {
					time.Sleep(time.Duration(c.random.Int64N(int64(2 * k.pause))))
					if time.Since(began) > d {
						return
					}
				}
				if !turn(do) || d == 0 {
					return
				}
			}
		})
	}
	work.Wait()
}

// sessionClient is one client: a connection for its requests and one for its stream.
type sessionClient struct {
	k      *sessionSoak
	random *rand.Rand
	id     string // of the session
	calls  int    // that the server counted in it
	conn   net.Conn
	used   time.Time // conn, last
	r      *bufio.Reader
	stream net.Conn
}

func (c *sessionClient) send(conn net.Conn, method, session, body string) error {
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second)) // a connection that is open takes one
	head := fmt.Sprintf("%s /t/acme HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\n", method, c.k.addr)
	if session != "" {
		head += "Mcp-Session-Id: " + session + "\r\nMCP-Protocol-Version: 2025-11-25\r\n"
	}
	if body != "" {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	_, err := io.WriteString(conn, head+"\r\n"+body)
	return err
}

// post sends a message and returns the head of the answer, whose body is open.
func (c *sessionClient) post(method, body string) (*http.Response, error) {
	if time.Since(c.used) > soakKept {
		c.close()
	}
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.k.addr)
		if err != nil {
			return nil, err
		}
		c.conn, c.r = conn, bufio.NewReaderSize(conn, 1<<10)
	}
	c.used = time.Now()
	if err := c.send(c.conn, method, c.id, body); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(c.r, nil)
	if err == nil && res.Close {
		err = errors.New("the connection is to be closed")
	}
	return res, err
}

// quick sends a message whose answer has this status.
func (c *sessionClient) quick(method, body string, status int) (*http.Response, error) {
	res, err := c.post(method, body)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != status {
		err = fmt.Errorf("%s: %s %s", method, res.Status, b)
	}
	return res, err
}

// begin shakes hands and opens the stream.
func (c *sessionClient) begin() error {
	c.id, c.calls = "", 0
	res, err := c.quick("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"soak","version":"1"}}}`, http.StatusOK)
	if err != nil {
		return err
	}
	if c.id = res.Header.Get("Mcp-Session-Id"); c.id == "" {
		return errors.New("there is no session")
	}
	if _, err = c.quick("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted); err != nil {
		return err
	}
	return c.listen()
}

// listen opens the stream of the session; what comes on it is read and left.
func (c *sessionClient) listen() error {
	conn, err := net.Dial("tcp", c.k.addr)
	if err != nil {
		return err
	}
	if err := c.send(conn, "GET", c.id, ""); err != nil {
		return err
	}
	r := bufio.NewReaderSize(conn, 1<<10)
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream: %v %w", res, err)
	}
	_ = conn.SetDeadline(time.Time{}) // a connection that is open takes one
	if c.stream != nil {
		_ = c.stream.Close()
	}
	c.stream = conn
	go func() { _, _ = io.Copy(io.Discard, res.Body) }()
	return nil
}

// act does what clients do.
func (c *sessionClient) act() error {
	switch pick := c.random.IntN(100); {
	case pick < 45:
		return c.call("count")
	case pick < 65:
		return c.call("tell")
	case pick < 80:
		return c.call("ask")
	case pick < 85:
		return c.abandon(true)
	case pick < 88:
		return c.abandon(false)
	case pick < 95: // the stream is lost
		c.k.count("listen")
		return c.listen()
	}
	c.k.count("begin")
	if err := c.end(); err != nil {
		return err
	}
	return c.begin()
}

// call makes a call, answers what it is asked, and looks whether the server knows it.
func (c *sessionClient) call(tool string) error {
	id := c.k.next.Add(1)
	res, err := c.post("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":%d}}}`, id, tool, id))
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	for sc := bufio.NewScanner(res.Body); sc.Scan(); {
		line := strings.TrimPrefix(sc.Text(), "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var m struct {
			ID     uint64
			Method string
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
			Error any
		}
		switch err := json.Unmarshal([]byte(line), &m); {
		case err != nil:
			return err
		case m.Method == "elicitation/create":
			if err := c.answer(m.ID); err != nil {
				return err
			}
			continue
		case m.Method != "":
			continue
		}
		c.calls++
		want := fmt.Sprint(c.calls)
		if tool == "ask" {
			want += " soak"
		}
		if m.ID != id || len(m.Result.Content) == 0 || m.Result.Content[0].Text != want {
			return fmt.Errorf("%s: want %q, have %s", tool, want, line)
		}
		c.k.count(tool)
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	return fmt.Errorf("%s: there is no answer", tool)
}

// answer answers a question on a connection of its own.
func (c *sessionClient) answer(id uint64) error {
	other := &sessionClient{k: c.k, id: c.id}
	defer other.close()
	_, err := other.quick("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"action":"accept","content":{"name":"soak"}}}`, id), http.StatusAccepted)
	return err
}

// abandon cancels a call, or goes away from it.
func (c *sessionClient) abandon(politely bool) error {
	other := &sessionClient{k: c.k, id: c.id}
	conn, err := net.Dial("tcp", c.k.addr)
	if err != nil {
		return err
	}
	other.conn, other.r = conn, bufio.NewReader(conn)
	defer other.close()
	id := c.k.next.Add(1)
	if err := other.send(conn, "POST", c.id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait","arguments":{}}}`, id)); err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	if !politely {
		c.k.count("gone")
		return nil
	}
	c.k.count("cancelled")
	_, err = c.quick("POST", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id), http.StatusAccepted)
	return err
}

func (c *sessionClient) end() error {
	if c.stream != nil {
		_ = c.stream.Close()
		c.stream = nil
	}
	_, err := c.quick("DELETE", "", http.StatusNoContent)
	return err
}

func (c *sessionClient) leave() error {
	defer c.close()
	return c.end()
}

func (c *sessionClient) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
