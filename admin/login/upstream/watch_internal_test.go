package upstream

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// TestDue: a server is looked at when its list is no longer good, within bounds, and at
// once when it reported a change or was not looked at yet.
func TestDue(t *testing.T) {
	seen := time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		ttl    time.Duration // 0: the server does not say
		after  time.Duration
		called bool
		want   bool
	}{
		"nothing said, early":        {after: checkInterval - time.Second},
		"nothing said":               {after: checkInterval, want: true},
		"it reported a change":       {called: true, want: true},
		"good for long, early":       {ttl: time.Hour, after: time.Hour - time.Second},
		"good for long":              {ttl: time.Hour, after: time.Hour, want: true},
		"good for ever, early":       {ttl: maxCheckInterval + 1, after: maxCheckInterval - 1},
		"good for ever":              {ttl: maxCheckInterval + 1, after: maxCheckInterval, want: true},
		"good for no time, early":    {ttl: 1, after: minCheckInterval - 1},
		"good for no time":           {ttl: 1, after: minCheckInterval, want: true},
		"good as long as is allowed": {ttl: maxCheckInterval, after: maxCheckInterval - 1},
	} {
		r := New(Options{})
		if !r.due("t/c", seen) {
			t.Errorf("%s: one that was not looked at yet is not due", name)
		}
		r.seen["t/c"], r.ttl["t/c"], r.called["t/c"] = sighted{at: seen}, c.ttl, c.called
		if got := r.due("t/c", seen.Add(c.after)); got != c.want {
			t.Errorf("%s: due %v, want %v", name, got, c.want)
		}
	}
}

// TestListenedBound: streams are kept open to so many servers and no more, and they end
// when a server is gone and when the room is closed.
func TestListenedBound(t *testing.T) {
	work, stop := context.WithCancel(t.Context())
	defer stop()
	r := New(Options{
		Log: slog.New(slog.DiscardHandler), Work: work, Go: func(f func()) { f() },
		Listen: func(ctx context.Context, _ *store.ToolsetConnector, opened, _ func()) error {
			opened()
			<-ctx.Done()
			return ctx.Err()
		},
	})
	defer r.Close()
	servers := map[string]store.ToolsetConnector{}
	for i := range maxListened + 1 {
		servers[keyOf("t", strconv.Itoa(i))] = store.ToolsetConnector{ToolsetID: "t", Name: strconv.Itoa(i)}
		if i == maxListened-1 {
			if r.listenTo(servers); len(r.listeners.open) != maxListened {
				t.Fatalf("%d streams for %d servers", len(r.listeners.open), len(servers))
			}
		}
	}
	if r.listenTo(servers); len(r.listeners.open) != maxListened {
		t.Fatalf("%d streams for %d servers, want %d", len(r.listeners.open), len(servers), maxListened)
	}
	clear(servers)
	if r.listenTo(servers); len(r.listeners.open) != 0 {
		t.Fatalf("%d streams for no server", len(r.listeners.open))
	}
}

// TestOneRound: a round waits for the one that runs, as long as its context lasts.
func TestOneRound(t *testing.T) {
	r := New(Options{})
	r.round <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := r.CheckAll(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
