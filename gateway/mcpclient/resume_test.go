package mcpclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// cutting is a server of an older revision whose streams end early. ID stands for the id of
// the call in what it sends, and a NUL for the loss of the connection.
type cutting struct {
	first string                                 // what the call is answered with
	then  func(n int, last string) (int, string) // status and stream of the nth GET

	mu    sync.Mutex
	calls int      // guarded by mu
	asked []string // guarded by mu; the ids that GETs named
	id    string   // guarded by mu; of the call
}

func (s *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		last := r.Header.Get("Last-Event-ID")
		s.asked = append(s.asked, last)
		if r.Header.Get("Mcp-Session-Id") != "one" || r.Header.Get("Mcp-Protocol-Version") != versionLegacy {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		status, text := s.then(len(s.asked), last)
		s.stream(w, status, text)
		return
	}
	b, _ := io.ReadAll(r.Body)
	switch {
	case bytes.Contains(b, []byte(`"initialize"`)):
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "one")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}`, idOf(string(b)))
	case bytes.Contains(b, []byte("notifications/")):
		w.WriteHeader(http.StatusAccepted)
	default:
		s.calls++
		s.id = idOf(string(b))
		s.stream(w, http.StatusOK, s.first)
	}
}

func (s *cutting) stream(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	if status != http.StatusOK {
		w.Header().Set("Content-Type", "text/plain")
	}
	w.WriteHeader(status)
	text, lost := strings.CutSuffix(strings.ReplaceAll(text, "ID", s.id), "\x00")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
	if lost {
		panic(http.ErrAbortHandler)
	}
}

const (
	primer   = "id: a-0\nretry: 10\ndata: \n\n"
	progress = "id: a-1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":ID,\"progress\":1}}\n\n"
	response = "id: a-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n\n"
)

// TestResume: the rest of a stream that was cut is asked for behind the last event that
// came whole, and the call is made once.
func TestResume(t *testing.T) {
	rest := func(int, string) (int, string) { return http.StatusOK, response }
	for name, test := range map[string]struct {
		server *cutting
		asked  string // ids, with spaces
		heard  int    // notifications
		kind   problem.Kind
		text   string
	}{
		"ended on purpose":  {server: &cutting{first: primer, then: rest}, asked: "a-0"},
		"lost":              {server: &cutting{first: primer + progress + "\x00", then: rest}, asked: "a-1", heard: 1},
		"lost in an event":  {server: &cutting{first: primer + progress[:len(progress)-1] + "\x00", then: rest}, asked: "a-0"},
		"lost in an answer": {server: &cutting{first: primer + progress + response[:30] + "\x00", then: rest}, asked: "a-1", heard: 1},
		"again and again": {server: &cutting{first: primer, then: func(n int, _ string) (int, string) {
			return http.StatusOK, []string{"", progress, "retry: 20\n\n", "\x00", response}[n-1]
		}}, asked: "a-0 a-0 a-1 a-1 a-1", heard: 1},
		"busy for a moment": {server: &cutting{first: primer, then: func(n int, _ string) (int, string) {
			return []int{503, 200}[n-1], []string{"busy", response}[n-1]
		}}, asked: "a-0 a-0"},
		"no streams to resume":   {server: &cutting{first: primer, then: func(int, string) (int, string) { return 405, "no" }}, asked: "a-0", kind: problem.UpstreamMalformed, text: "ended its answer without a result"},
		"the session is gone":    {server: &cutting{first: primer, then: func(int, string) (int, string) { return 404, "gone" }}, asked: "a-0", kind: problem.UpstreamMalformed, text: "ended its answer without a result"},
		"without an id":          {server: &cutting{first: strings.ReplaceAll(progress, "id: a-1\n", ""), then: rest}, heard: 1, kind: problem.UpstreamMalformed, text: "ended its answer without a result"},
		"lost without an id":     {server: &cutting{first: strings.ReplaceAll(progress, "id: a-1\n", "") + "\x00", then: rest}, heard: 1, kind: problem.UpstreamMalformed, text: "ended before"},
		"an id that is too long": {server: &cutting{first: strings.ReplaceAll(progress, "a-1", strings.Repeat("x", maxEventID+1)), then: rest}, heard: 1, kind: problem.UpstreamMalformed, text: "without a result"},
		"the longest id":         {server: &cutting{first: strings.ReplaceAll(primer, "a-0", strings.Repeat("x", maxEventID)), then: rest}, asked: strings.Repeat("x", maxEventID)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := test.server
			c := newClient(t, safedial.Options{AllowPrivate: true})
			tg := target(t, serve(t, s.ServeHTTP))
			tg.Hint = manifest.MCPServer{Transport: manifest.TransportStreamable, Protocol: versionLegacy}
			heard := 0
			got, err := call(c, tg, &Call{Tool: "x", Progress: true, Repeatable: true, Notify: func(string, jsonscan.Value) { heard++ }})
			if p := problem.As(err); test.kind == "" && (err != nil || got != `{"content":[]}`) || test.kind != "" && (p == nil || p.Kind != test.kind || !strings.Contains(p.Detail, test.text)) {
				t.Errorf("got %s, %v", got, err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if asked := strings.Join(s.asked, " "); asked != test.asked || s.calls != 1 || heard != test.heard {
				t.Errorf("asked behind %q, want %q; %d calls, %d notifications", asked, test.asked, s.calls, heard)
			}
		})
	}
}

// TestResumeEnds when the client has gone, when the time is up, and after some streams that
// cannot be had.
func TestResumeEnds(t *testing.T) {
	f := func(name string, s *cutting, change func(*Target), kind problem.Kind, most int) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, safedial.Options{AllowPrivate: true})
			tg := target(t, serve(t, s.ServeHTTP))
			tg.Hint = manifest.MCPServer{Transport: manifest.TransportStreamable, Protocol: versionLegacy}
			change(tg)
			if _, err := call(c, tg, &Call{Tool: "x"}); !problem.Is(err, kind) {
				t.Errorf("got %v, want %s", err, kind)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.asked) > most || s.calls != 1 {
				t.Errorf("asked %d times, %d calls", len(s.asked), s.calls)
			}
		})
	}
	patient := strings.ReplaceAll(primer, "retry: 10", "retry: 600000")
	f("cancelled", &cutting{first: patient}, func(tg *Target) {
		tg.Cancel = &upstream.Cancel{}
		cancel := tg.Cancel
		time.AfterFunc(50*time.Millisecond, cancel.Cancel)
	}, problem.Cancelled, 0)
	f("late", &cutting{first: patient}, func(tg *Target) { tg.Deadline = time.Now().Add(200 * time.Millisecond) }, problem.Timeout, 0)
	f("in vain", &cutting{first: primer, then: func(int, string) (int, string) { return 503, "busy" }}, func(*Target) {}, problem.UpstreamMalformed, maxResumes)
}

// TestResumeAtSDKServer: the official server ends the stream of a call on purpose.
func TestResumeAtSDKServer(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "upstream", Version: "7"}, nil)
	s.AddTool(&sdk.Tool{Name: "later", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1}) // it comes with the rest
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
	})
	srv := httptest.NewServer(legacyOnly(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)})))
	t.Cleanup(func() { _ = srv.Listener.Close(); srv.CloseClientConnections(); srv.Close() })
	var heard []string
	got, err := call(newClient(t, safedial.Options{AllowPrivate: true}), target(t, srv.URL), &Call{Tool: "later", Progress: true, Notify: func(method string, _ jsonscan.Value) { heard = append(heard, method) }})
	if err != nil || !strings.Contains(got, `"done"`) || len(heard) != 1 {
		t.Errorf("got %s, %v; heard %q", got, err, heard)
	}
}
