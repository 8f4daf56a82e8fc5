package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
)

// twoEras is a server of the official SDK that can speak 2025-11-25 with sessions and
// 2026-07-28. Its tools ask as asker's do, and besides remember something of a session (put
// and get), say which revision is spoken (era), report until they are cancelled (slow), and
// log (say).
type twoEras struct {
	*httptest.Server

	sessions, modern http.Handler
	server           *mcp.Server // of the sessions
	offered          atomic.Int32
	cancelled        chan string

	mu         sync.Mutex
	handshakes int // guarded by mu; initialize
}

const (
	offersBoth = iota
	offersSessions
	offersModern // and refuses initialize
	offersPlain  // 2026-07-28 and, without sessions, 2025-11-25
)

func newTwoEras(t testing.TB, offered int32) *twoEras {
	t.Helper()
	e := &twoEras{cancelled: make(chan string, 1)}
	e.offered.Store(offered)
	e.server = e.make()
	e.sessions = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return e.server }, nil)
	modern := e.make()
	e.modern = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return modern }, &mcp.StreamableHTTPOptions{Stateless: true})
	e.Server = httptest.NewServer(e)
	endWith(t, e.Server)
	return e
}

func (e *twoEras) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	shakes := bytes.Contains(body, []byte(`"method":"initialize"`))
	if shakes {
		e.mu.Lock()
		e.handshakes++
		e.mu.Unlock()
	}
	switch offered, modern := e.offered.Load(), r.Header.Get("Mcp-Protocol-Version") == "2026-07-28"; {
	case offered == offersModern && !modern:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28"]}}}`)
	case offered == offersPlain, modern && offered != offersSessions:
		e.modern.ServeHTTP(w, r)
	default:
		e.sessions.ServeHTTP(w, r)
	}
}

// shaken is how often a client began.
func (e *twoEras) shaken() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.handshakes
}

func (e *twoEras) open() (n int) {
	for range e.server.Sessions() {
		n++
	}
	return n
}

func (e *twoEras) make() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "eras", Version: "1"}, nil)
	var remembered sync.Map
	for name, run := range map[string]func(context.Context, *mcp.CallToolRequest) (any, error){
		"form": func(ctx context.Context, r *mcp.CallToolRequest) (any, error) {
			return r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		},
		"sample": func(ctx context.Context, r *mcp.CallToolRequest) (any, error) {
			return r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 9, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Hi"}}}})
		},
		"roots": func(ctx context.Context, r *mcp.CallToolRequest) (any, error) { return r.Session.ListRoots(ctx, nil) },
		"put": func(_ context.Context, r *mcp.CallToolRequest) (any, error) {
			remembered.Store(r.Session.ID(), string(r.Params.Arguments))
			return "ok", nil
		},
		"get": func(_ context.Context, r *mcp.CallToolRequest) (any, error) {
			v, _ := remembered.Load(r.Session.ID())
			return v, nil
		},
		"era": func(_ context.Context, r *mcp.CallToolRequest) (any, error) {
			return r.Session.InitializeParams().ProtocolVersion + " " + fmt.Sprint(r.Session.ID() != ""), nil
		},
		"slow": func(ctx context.Context, r *mcp.CallToolRequest) (any, error) {
			for {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "on the way"})
				select {
				case <-time.After(50 * time.Millisecond):
				case <-ctx.Done():
					e.cancelled <- "slow"
					return nil, ctx.Err()
				}
			}
		},
		"say": func(ctx context.Context, r *mcp.CallToolRequest) (any, error) {
			return "ok", r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "said"})
		},
	} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			v, err := run(ctx, r)
			if err != nil {
				return nil, err
			}
			b, err := json.Marshal(v)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}}, err
		})
	}
	return s
}

// serveEras makes its tools live as "acme", as they were listed in 2026-07-28.
func serveEras(t testing.TB, e *twoEras) *gatewaytest.Stack {
	t.Helper()
	var tools []string
	for _, name := range []string{"form", "sample", "roots", "put", "get", "era", "slow", "say"} {
		tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
	}
	c, err := gatewaytest.MCPConnector("up", e.URL, tools...)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, gatewaytest.Options{})
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
		t.Fatal(err)
	}
	return s
}

func callEra(t testing.TB, c *mcp.ClientSession, tool string, args any) string {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "error: " + err.Error()
	}
	return text(t, res)
}

// TestBothEras: at a server that speaks both, a client with a session has one there, with
// everything that belongs to it, and a client of 2026-07-28 is served as such.
func TestBothEras(t *testing.T) {
	e := newTwoEras(t, offersBoth)
	s := serveEras(t, e)
	modern := connectAsked(t, s.URL("acme"), "new", "2026-07-28", true)
	if got := callEra(t, modern, "era", nil); got != `"2026-07-28 false"` {
		t.Errorf("a client of 2026-07-28 is served as %s", got)
	}
	if n := e.shaken(); n != 0 {
		t.Errorf("it cost %d handshakes", n)
	}
	ann, bob := connectAsked(t, s.URL("acme"), "ann", "2025-11-25", true), connectAsked(t, s.URL("acme"), "bob", "2025-06-18", true)
	for name, c := range map[string]*mcp.ClientSession{"ann": ann, "bob": bob} {
		if got := callEra(t, c, "get", nil); got != "null" {
			t.Errorf("%s reads %s before it put something", name, got)
		}
		callEra(t, c, "put", map[string]any{"of": name})
		for tool, want := range map[string]string{
			"era": `"2025-11-25 true"`, "form": `{"name":"` + name + `"}`, "sample": "I am " + name, "roots": "file:///" + name, "get": name,
		} {
			if got := callEra(t, c, tool, nil); !strings.Contains(got, want) {
				t.Errorf("%s, %s: %s", name, tool, got)
			}
		}
	}
	if got := callEra(t, ann, "get", nil); !strings.Contains(got, "ann") {
		t.Errorf("ann reads %s", got)
	}
	if got := callEra(t, modern, "get", nil); got != "null" {
		t.Errorf("the client of 2026-07-28 reads %s", got)
	}
	if got := callEra(t, modern, "era", nil); got != `"2026-07-28 false"` {
		t.Errorf("a client of 2026-07-28 is served as %s beside the others", got)
	}
	if n := e.open(); n != 2 {
		t.Errorf("two clients have %d sessions at the server", n)
	}
	if err := ann.Close(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(10 * time.Second); e.open() != 1 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := e.open(); n != 1 {
		t.Errorf("after the end of a client there are %d sessions at the server", n)
	}
}

// TestBothErasSpeak: progress, log messages and cancellation of a client with a session.
func TestBothErasSpeak(t *testing.T) {
	e := newTwoEras(t, offersBoth)
	s := serveEras(t, e)
	progress, said := make(chan string, 100), make(chan any, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Message },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { said <- r.Params.Data },
	})
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme")}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Error(err)
	}
	callEra(t, c, "say", nil)
	select {
	case <-said:
	case <-time.After(10 * time.Second):
		t.Error("the log message did not come")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	params := &mcp.CallToolParams{Name: "slow"}
	params.SetProgressToken("p")
	go func() {
		_, err := c.CallTool(ctx, params)
		done <- err
	}()
	waitFor(t, "progress", progress, "on the way")
	cancel()
	if err := <-done; err == nil {
		t.Error("a cancelled call has a result")
	}
	waitFor(t, "at the server", e.cancelled, "slow")
}

// TestOneEra: a server that does not offer both is spoken to in the revision that it has,
// and is not asked at each session for one that it has not.
func TestOneEra(t *testing.T) {
	for name, c := range map[string]struct {
		offered    int32
		old, young string // what clients of either era are served as
		asked      int    // handshakes of three sessions
	}{
		"sessions":        {offersSessions, `"2025-11-25 true"`, `"2025-11-25 true"`, 4},
		"2026-07-28":      {offersModern, `"2026-07-28 false"`, `"2026-07-28 false"`, 1},
		"without session": {offersPlain, `"2026-07-28 false"`, `"2026-07-28 false"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTwoEras(t, c.offered)
			s := serveEras(t, e)
			for range 3 {
				if got := callEra(t, connectAsked(t, s.URL("acme"), "ann", "2025-11-25", true), "era", nil); got != c.old {
					t.Errorf("a client with a session is served as %s", got)
				}
			}
			if got := callEra(t, connectAsked(t, s.URL("acme"), "new", "2026-07-28", false), "era", nil); got != c.young {
				t.Errorf("a client of 2026-07-28 is served as %s", got)
			}
			if n := e.shaken(); n != c.asked {
				t.Errorf("%d handshakes, want %d", n, c.asked)
			}
		})
	}
}

// TestErasChange: a server that loses an era while it is used is spoken to in the other at
// the next call.
func TestErasChange(t *testing.T) {
	e := newTwoEras(t, offersBoth)
	s := serveEras(t, e)
	c := connectAsked(t, s.URL("acme"), "ann", "2025-11-25", true)
	for _, step := range []struct {
		offered int32
		want    string
	}{
		{offersBoth, `"2025-11-25 true"`}, {offersModern, `"2026-07-28 false"`}, {offersSessions, `"2025-11-25 true"`}, {offersBoth, `"2025-11-25 true"`},
	} {
		e.offered.Store(step.offered)
		if got := callEra(t, c, "era", nil); got != step.want {
			t.Errorf("where it offers %d the client is served as %s", step.offered, got)
		}
	}
}
