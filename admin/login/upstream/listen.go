package upstream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
)

const (
	// maxListened bounds the streams that are kept open to MCP servers: each is a
	// connection and a goroutine. Servers beyond it are looked at in their time.
	maxListened = 1000
	// listenFirst and listenMost are how long after the end of a stream the next is
	// opened; it doubles with each that could not be.
	listenFirst = time.Second
	listenMost  = 5 * time.Minute
	// listenAgain is when a server that reports no changes is asked anew.
	listenAgain = time.Hour
	// calmInterval is the least time between two looks at a server that reports
	// changes all the time.
	calmInterval = 2 * time.Second
)

// listeners are the streams of this node on which MCP servers report changes.
type listeners struct {
	mu   sync.Mutex
	open map[string]*listening // guarded by mu; by toolset and connector
	// closed says that no stream is opened any more; guarded by mu.
	closed bool
}

// Close ends every stream and waits for them. They begin work: it is called before what
// Go of [Options] runs is waited for.
func (r *Room) Close() {
	r.listeners.close()
	r.streams.Wait()
}

// close ends every stream.
func (l *listeners) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, one := range l.open {
		one.stop()
	}
}

type listening struct {
	stop  context.CancelFunc
	told  chan struct{} // something may have changed
	heard bool          // guarded by listeners.mu; the stream is open
}

// tell notes that something may have changed.
func (one *listening) tell() {
	select {
	case one.told <- struct{}{}:
	default: // it is noted already
	}
}

// follow looks at a server when it reports a change, not too often.
func (r *Room) follow(ctx context.Context, key string, one *listening) {
	for {
		select {
		case <-one.told:
		case <-ctx.Done():
			return
		}
		r.call(key)
		r.Look()
		if retry.Sleep(ctx, calmInterval) != nil {
			return
		}
	}
}

// listenTo keeps a stream open to each of these servers, and to no other.
func (r *Room) listenTo(servers map[string]store.ToolsetConnector) {
	l := &r.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, one := range l.open {
		if _, ok := servers[key]; !ok {
			one.stop()
			delete(l.open, key)
		}
	}
	for key, row := range servers {
		if l.open[key] != nil || len(l.open) >= maxListened || l.closed {
			continue
		}
		if l.open == nil {
			l.open = map[string]*listening{}
		}
		ctx, stop := context.WithCancel(r.o.Work)
		one := &listening{stop: stop, told: make(chan struct{}, 1)}
		l.open[key] = one
		r.streams.Go(func() {
			defer stop()
			r.listen(ctx, &row, one)
		})
		r.streams.Go(func() { r.follow(ctx, key, one) })
	}
}

// listen opens the stream of one server again and again.
func (r *Room) listen(ctx context.Context, c *store.ToolsetConnector, one *listening) {
	pause, before := retry.Backoff{First: listenFirst, Longest: listenMost}, false
	for ctx.Err() == nil {
		opened := false
		err := r.o.Listen(ctx, c, func() {
			opened = true
			r.listeners.heard(one, true)
			if before { // what changed between two streams nobody told
				one.tell()
			}
		}, one.tell)
		r.listeners.heard(one, false)
		before = before || opened
		switch {
		case opened:
			pause.Reset()
		case problem.Is(err, problem.Unsupported):
			pause.Reset()
			_ = retry.Sleep(ctx, listenAgain) // the loop looks at ctx
			continue
		case ctx.Err() == nil:
			r.o.Log.LogAttrs(ctx, slog.LevelDebug, "an MCP server is not listened to", slog.String("toolset", c.ToolsetID), slog.String("connector", c.Name), slog.Any("error", err))
		}
		_ = pause.Wait(ctx) // the loop looks at ctx
	}
}

func (l *listeners) heard(one *listening, heard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one.heard = heard
}

// hears reports whether a server reports changes on an open stream.
func (l *listeners) hears(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.open[key]
	return one != nil && one.heard
}
