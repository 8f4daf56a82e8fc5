package gateway_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/script"
	"github.com/sluicegate/sluice/registry"
)

// many are the three tools that make several calls: each reads what is held, and then makes
// an order.
var many = map[string]map[string]any{
	"batch": {"calls": []any{map[string]any{"tool": "slow"}, map[string]any{"tool": "create_order"}}, "allow_writes": true},
	"flow":  {}, "saved": {},
}

const flowDocument = "arazzo: 1.0.1\nworkflows:\n- workflowId: flow\n  steps:\n  - {stepId: a, operationId: slow}\n  - {stepId: b, operationId: order, outputs: {o: $response.body}}\n  outputs: {o: $steps.b.outputs.o}\n"

func manyCalls(b *registry.Toolset) {
	b.Selection = &registry.Selection{Mode: registry.SelectAll, Batch: true}
	b.Workflows = []registry.Workflow{
		{Name: "flow", ID: "flow", Document: flowDocument, Calls: []registry.CalledTool{
			{Name: "slow", Connector: "api", Method: "GET", Path: "/slow"}, {Name: "order", Connector: "api", Method: "POST", Path: "/orders"},
		}},
		savedScript("saved", `await tools.api.slow({}); return tools.api.create_order({})`, `{"type":"object"}`, "", callsSlow, callsOrder),
	}
}

// serveMany makes "acme" live with the three tools. GET /slow waits until it is let go;
// order answers POST /orders.
func serveMany(t *testing.T, order http.Handler) (s *gatewaytest.Stack, up *upstreamtest.Server, begun, release chan struct{}) {
	t.Helper()
	return serveManyFor(t, order, 0)
}

// serveManyFor does so with a drain of so long.
func serveManyFor(t *testing.T, order http.Handler, drain time.Duration) (s *gatewaytest.Stack, up *upstreamtest.Server, begun, release chan struct{}) {
	t.Helper()
	begun, release = make(chan struct{}, 1), make(chan struct{})
	up = upstreamtest.New(t)
	up.Handle("POST /orders", order)
	up.Handle("GET /slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case begun <- struct{}{}:
		default:
		}
		select {
		case <-release:
			upstreamtest.JSON(200, `{"held":true}`).ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	e := script.New(script.Options{})
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	s = start(t, gatewaytest.Options{Scripts: e, Drain: drain})
	in := searchInput(t, up, nil, manyCalls, getItem(), gatewaytest.Operation("create_order", "POST", "/orders"), gatewaytest.Operation("slow", "GET", "/slow"))
	in.Index = nil
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	return s, up, begun, release
}

func ordered() http.Handler { return upstreamtest.JSON(201, `{"order":7}`) }

func orders(up *upstreamtest.Server) (n int) {
	for _, r := range up.Requests() {
		if r.Method == http.MethodPost {
			n++
		}
	}
	return n
}

// TestRunsKeepTheirSnapshot: a run ends on the snapshot that it began with, also where the
// next one does not have its tool any more.
func TestRunsKeepTheirSnapshot(t *testing.T) {
	for tool, args := range many {
		t.Run(tool, func(t *testing.T) {
			s, up, begun, release := serveMany(t, ordered())
			c := connect(t, s, eras[0])
			ended := make(chan string, 1)
			go func() {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
				if err != nil {
					ended <- err.Error()
					return
				}
				ended <- r.Content[0].(*mcp.TextContent).Text
			}()
			<-begun
			next := searchInput(t, up, nil, nil, getItem()) // it has neither the tool nor what it calls
			next.Digest = registry.DigestOf([]byte("next"))
			if err := s.Serve(next); err != nil {
				t.Fatal(err)
			}
			close(release)
			if got := <-ended; !strings.Contains(got, "7") {
				t.Errorf("it ended with %s", got)
			}
			if n := orders(up); n != 1 {
				t.Errorf("%d orders were made", n)
			}
			if _, got := post(t, s.URL("acme"), callBody(tool, `{}`)); !strings.Contains(got, `"error"`) {
				t.Errorf("the next call of it: %s", got)
			}
		})
	}
}

// TestRunsEndWithTheirClient: a client that goes away ends a run, and no further call of it
// is made.
func TestRunsEndWithTheirClient(t *testing.T) {
	for tool, args := range many {
		t.Run(tool, func(t *testing.T) {
			s, up, begun, _ := serveMany(t, ordered())
			c := connect(t, s, eras[0])
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
				ended <- err
			}()
			<-begun
			cancel()
			if err := <-ended; err == nil {
				t.Error("the call ended well")
			}
			if err := s.Stop(); err != nil { // when nothing runs any more
				t.Error(err)
			}
			if n := orders(up); n != 0 {
				t.Errorf("%d orders were made after the client had gone", n)
			}
		})
	}
}

// TestRunsDrain: a run that the stop of a gateway meets is answered whole.
func TestRunsDrain(t *testing.T) {
	for tool, args := range many {
		t.Run(tool, func(t *testing.T) {
			s, up, begun, release := serveMany(t, ordered())
			c := connect(t, s, eras[0])
			ended := make(chan string, 1)
			go func() {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
				if err != nil {
					ended <- err.Error()
					return
				}
				ended <- r.Content[0].(*mcp.TextContent).Text
			}()
			<-begun
			stopped := make(chan error, 1)
			go func() { stopped <- s.Stop() }()
			close(release)
			if got := <-ended; !strings.Contains(got, "7") {
				t.Errorf("it ended with %s", got)
			}
			if err := <-stopped; err != nil {
				t.Error(err)
			}
			if n := orders(up); n != 1 {
				t.Errorf("%d orders were made", n)
			}
		})
	}
}

// TestRunsAreCut: a run that does not end within the drain is ended, and its client is told
// what was done.
func TestRunsAreCut(t *testing.T) {
	cut := map[string]map[string]any{"slow": {}, "create_order": {}}
	maps.Copy(cut, many)
	for tool, args := range cut {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			held := make(chan struct{}, 1)
			s, up, begun, release := serveManyFor(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				held <- struct{}{}
				<-r.Context().Done()
			}), time.Millisecond)
			c := connect(t, s, eras[0])
			ended := make(chan string, 1)
			go func() {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
				if err != nil {
					ended <- err.Error()
					return
				}
				ended <- r.Content[0].(*mcp.TextContent).Text
			}()
			want := []string{"the gateway was stopped before the call ended"}
			if tool != "slow" {
				want = []string{"create_order", "may have changed data"}
				close(release)
				<-held
			} else {
				<-begun
			}
			if many[tool] != nil {
				want = append(want, "slow", "gateway was stopped")
			} else if tool != "slow" {
				want = []string{"the gateway was stopped before the answer came; the call may have changed data"}
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			got := <-ended
			for _, text := range want {
				if !strings.Contains(got, text) {
					t.Errorf("it ended with %s\nwithout %q", got, text)
				}
			}
			if n := orders(up); n > 1 {
				t.Errorf("%d orders were made", n)
			}
		})
	}
}

// TestRunsRepeatNoWrite: a write whose answer is an error is made once, and the run lists
// what was called.
func TestRunsRepeatNoWrite(t *testing.T) {
	for tool, args := range many {
		t.Run(tool, func(t *testing.T) {
			s, up, _, release := serveMany(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			close(release)
			begin := time.Now()
			r, err := connect(t, s, eras[0]).CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
			if err != nil {
				t.Fatalf("after %s: %v", time.Since(begin), err)
			}
			if got := r.Content[0].(*mcp.TextContent).Text; !strings.Contains(got, "503") || !strings.Contains(got, "create_order") {
				t.Errorf("it ended with %s", got)
			}
			if n := orders(up); n != 1 {
				t.Errorf("the order was sent %d times", n)
			}
		})
	}
}
