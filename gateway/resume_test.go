package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/registry"
)

// longServer is a server with a tool that reports that it begins, goes on when it is told
// to, and reports that too.
type longServer struct {
	*httptest.Server
	goOn      chan struct{}
	calls     atomic.Int32
	cancelled chan struct{}
	begun     chan struct{}
}

func newLongServer(t testing.TB) *longServer {
	t.Helper()
	l := &longServer{goOn: make(chan struct{}), cancelled: make(chan struct{}, 2), begun: make(chan struct{}, 8)}
	s := mcp.NewServer(&mcp.Implementation{Name: "long", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "long", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := l.calls.Add(1)
		l.begun <- struct{}{}
		report := func(progress float64) {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: progress, Total: 3}) // its client may be gone
		}
		report(1)
		select {
		case <-l.goOn:
		case <-ctx.Done():
			l.cancelled <- struct{}{}
			return nil, ctx.Err()
		}
		report(2)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("done, call %d", n)}}}, nil
	})
	l.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	endWith(t, l.Server)
	t.Cleanup(func() {
		for session := range s.Sessions() { // of toolsets and callers that are gone
			_ = session.Close()
		}
	})
	return l
}

// serveLong makes "acme" live with the tool, opened by the tokens "ada" and "bob".
func serveLong(t testing.TB, s *gatewaytest.Stack, l *longServer) {
	t.Helper()
	serveLongAs(t, s, l, 1, nil)
}

func serveLongAs(t testing.TB, s *gatewaytest.Stack, l *longServer, revision uint64, edit func(*registry.Toolset)) {
	t.Helper()
	serveLongFor(t, s, l, revision, tokens(tokenGrant("ada"), tokenGrant("bob")), edit)
}

func serveLongFor(t testing.TB, s *gatewaytest.Stack, l *longServer, revision uint64, doc *registry.AccessDocument, edit func(*registry.Toolset)) {
	t.Helper()
	c, err := gatewaytest.MCPConnector("up", l.URL+"/mcp", `{"name":"long","inputSchema":{"type":"object"}}`)
	if err != nil {
		t.Fatal(err)
	}
	in := gatewaytest.Toolset("acme", revision, c, edit)
	if in.Programs, err = in.Bundle.CompilePrograms(); err != nil {
		t.Fatal(err)
	}
	doc.Workspace, doc.Toolset = "test", in.ID
	b, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	in.Access, in.AccessDigest = doc, registry.DigestOf(b)
	if err := s.Serve([]snapshot.ToolsetInput{in}...); err != nil {
		t.Fatal(err)
	}
}

// flaky passes connections on and cuts all of them when it is told to.
type flaky struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn // guarded by mu
}

func newFlaky(t testing.TB, to string) *flaky {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{Listener: l}
	t.Cleanup(func() { _ = l.Close(); f.cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			f.mu.Lock()
			f.conns = append(f.conns, in, out)
			f.mu.Unlock()
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					_ = way[0].Close()
				}()
			}
		}
	}()
	return f
}

func (f *flaky) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
}

// TestResumeWithSDKClient: the official client, whose connection is lost in the middle of
// a call, gets what was reported meanwhile and the answer, and the tool runs once.
func TestResumeWithSDKClient(t *testing.T) {
	for _, while := range []string{"it is away", "it is back"} {
		t.Run(while, func(t *testing.T) {
			s, l := start(t, gatewaytest.Options{}), newLongServer(t)
			serveLong(t, s, l)
			way := newFlaky(t, strings.TrimPrefix(strings.TrimSuffix(s.URL("acme"), "/t/acme"), "http://"))
			heard := make(chan float64, 16)
			client := mcp.NewClient(&mcp.Implementation{Name: "ada", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { heard <- r.Params.Progress },
			})
			c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: "http://" + way.Addr().String() + "/t/acme", DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer("slt_ada")},
			}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan string, 1)
			go func() {
				p := &mcp.CallToolParams{Name: "long"}
				p.SetProgressToken("p")
				r, err := c.CallTool(t.Context(), p)
				if err != nil {
					ended <- err.Error()
					return
				}
				ended <- r.Content[0].(*mcp.TextContent).Text
			}()
			if got := <-heard; got != 1 {
				t.Errorf("the first progress is %v", got)
			}
			way.cut()
			if while == "it is back" {
				time.Sleep(1500 * time.Millisecond) // it comes back after a second, and the tool knows nothing of it
			}
			close(l.goOn)
			if got := <-ended; got != "done, call 1" {
				t.Errorf("it ended with %s", got)
			}
			if got := <-heard; got != 2 {
				t.Errorf("the second progress is %v", got)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestResumeBelongsToCaller: the stream of a call is given to nobody but its caller, in
// its session; and what is not kept is said.
func TestResumeBelongsToCaller(t *testing.T) {
	s, l := start(t, gatewaytest.Options{}), newLongServer(t)
	serveLong(t, s, l)
	url := s.URL("acme")
	mine, again, other := openSession(t, url, "ada"), openSession(t, url, "ada"), openSession(t, url, "bob")
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"long","_meta":{"progressToken":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": tokenOf("ada"), "Mcp-Session-Id": mine, "MCP-Protocol-Version": "2025-11-25"} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, len("id: 1-0\nretry: 1000\ndata: \n\nid: 1-1\n"))
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "id: 1-0\nretry: 1000\ndata: \n\nid: 1-1\n" {
		t.Fatalf("the stream begins with %q, %v", first, err)
	}
	leave()
	_ = resp.Body.Close()
	rest := func(caller, session, last string) (int, string) {
		t.Helper()
		resp := request(t, http.MethodGet, url, "", "Authorization", tokenOf(caller), "Mcp-Session-Id", session, "Last-Event-ID", last)
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	close(l.goOn)
	if status, got := rest("bob", mine, "1-1"); status != http.StatusNotFound {
		t.Errorf("another caller reads %d %s", status, got)
	}
	for _, session := range []string{again, other} {
		caller := "ada"
		if session == other {
			caller = "bob"
		}
		if status, got := rest(caller, session, "1-1"); status != http.StatusBadRequest || !strings.Contains(got, "make the call again") {
			t.Errorf("another session reads %d %s", status, got)
		}
	}
	if status, got := rest("ada", mine, "1-1"); status != http.StatusOK || !strings.HasPrefix(got, "id: 1-2\nevent: message\ndata: ") || !strings.Contains(got, `"progress":2`) || !strings.HasSuffix(got, "}\n\n") || !strings.Contains(got, "done, call 1") {
		t.Errorf("its caller reads %d %s", status, got)
	}
	if status, got := rest("ada", mine, "1-0"); status != http.StatusOK || !strings.HasPrefix(got, "id: 1-1\n") {
		t.Errorf("once more it reads %d %s", status, got)
	}
	if n := l.calls.Load(); n != 1 {
		t.Errorf("%d calls were made", n)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	select {
	case <-l.cancelled:
		t.Error("the call was cancelled")
	default:
	}
}

// TestResumeEndsWithSession: a call whose client lost its connection ends with its session,
// and does not hold up a stop.
func TestResumeEndsWithSession(t *testing.T) {
	for _, end := range []string{"session", "gateway"} {
		t.Run(end, func(t *testing.T) {
			s, l := start(t, gatewaytest.Options{}), newLongServer(t)
			serveLong(t, s, l)
			url := s.URL("acme")
			mine := openSession(t, url, "ada")
			resp := request(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"long","_meta":{"progressToken":1}}}`,
				"Authorization", tokenOf("ada"), "Mcp-Session-Id", mine, "MCP-Protocol-Version", "2025-11-25")
			if _, err := io.ReadFull(resp.Body, make([]byte, 20)); err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if end == "session" {
				if status := statusOf(t, http.MethodDelete, url, mine, "ada"); status != http.StatusNoContent {
					t.Errorf("DELETE: %d", status)
				}
			} else if err := s.Stop(); err != nil {
				t.Error(err)
			}
			select {
			case <-l.cancelled:
			case <-time.After(20 * time.Second):
				t.Error("the server was not told")
			}
		})
	}
}

// TestResumeBehindAFilter: what is kept of a call's stream from before something redacted
// cannot be read behind it; after any other change it can.
func TestResumeBehindAFilter(t *testing.T) {
	for name, redact := range map[string]bool{"a setting that redacts": true, "another setting": false} {
		t.Run(name, func(t *testing.T) {
			s, l := start(t, gatewaytest.Options{}), newLongServer(t)
			serveLong(t, s, l)
			url := s.URL("acme")
			mine := openSession(t, url, "ada")
			ended := make(chan error, 1)
			resp := request(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"long","_meta":{"progressToken":1}}}`,
				"Authorization", tokenOf("ada"), "Mcp-Session-Id", mine, "MCP-Protocol-Version", "2025-11-25")
			go func() {
				_, err := io.Copy(io.Discard, resp.Body)
				ended <- err
			}()
			close(l.goOn)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			serveLongAs(t, s, l, 2, func(ts *registry.Toolset) {
				ts.Answers = &registry.Answers{Fields: "-secret", Redact: redact}
			})
			again := request(t, http.MethodGet, url, "", "Authorization", tokenOf("ada"), "Mcp-Session-Id", mine, "Last-Event-ID", "1-1")
			b, err := io.ReadAll(again.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(b); redact && (again.StatusCode != http.StatusBadRequest || !strings.Contains(got, "make the call again")) || !redact && !strings.Contains(got, "done, call 1") {
				t.Errorf("it reads %d %s", again.StatusCode, got)
			}
		})
	}
}
