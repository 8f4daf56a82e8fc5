package mcpclient

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// TestProgressMovesTheDeadline of a call, on every kind of stream that a server answers
// on, and never behind the latest time.
func TestProgressMovesTheDeadline(t *testing.T) {
	const every = 100 * time.Millisecond
	s := sdk.NewServer(&sdk.Implementation{Name: "upstream", Version: "7"}, nil)
	schema := map[string]any{"type": "object"}
	s.AddTool(&sdk.Tool{Name: "report", InputSchema: schema}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := range 9 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-t.Context().Done():
				return nil, t.Context().Err()
			}
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)}) // its client may be gone
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
	})
	get := func(*http.Request) *sdk.Server { return s }
	for name, h := range map[string]http.Handler{
		"stateless": sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true}),
		"stateful":  legacyOnly(sdk.NewStreamableHTTPHandler(get, nil)),
		"sse":       sdk.NewSSEHandler(get, nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(h)
			t.Cleanup(func() { _ = srv.Listener.Close(); srv.CloseClientConnections(); srv.Close() })
			c := newClient(t, safedial.Options{AllowPrivate: true})
			f := func(idle, latest time.Duration, progress, done bool) {
				t.Helper()
				tg := target(t, srv.URL)
				now := time.Now()
				tg.Deadline, tg.Idle, tg.Latest = now.Add(600*time.Millisecond), idle, now.Add(latest)
				_, err := call(c, tg, &Call{Tool: "report", Progress: progress})
				if done && err != nil || !done && !problem.Is(err, problem.Timeout) {
					t.Errorf("idle %s, latest %s, progress %t: %v", idle, latest, progress, err)
				}
			}
			f(time.Second, time.Hour, true, true)
			f(time.Second, 700*time.Millisecond, true, false)
			f(0, time.Hour, true, false)
			f(time.Second, time.Hour, false, false) // the server was not asked to report
		})
	}
}
