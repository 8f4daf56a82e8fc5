package admin

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
	"github.com/sluicegate/sluice/internal/safedial"
)

const (
	// maxListened bounds the streams that are kept open to MCP servers: each is a
	// connection and a goroutine. Servers beyond it are looked at in their time.
	maxListened = 1000
	// listenFirst and listenMost are how long after the end of a stream the next is
	// opened; it doubles with each that could not be.
	listenFirst = time.Second
	listenMost  = 5 * time.Minute
	// listenAgain is when a server that tells of no changes is asked anew.
	listenAgain = time.Hour
	// calmInterval is the least time between two looks at a server that tells of
	// changes all the time.
	calmInterval = 2 * time.Second
)

// listeners are the streams of this node on which MCP servers tell of changes.
type listeners struct {
	mu   sync.Mutex
	open map[string]*listening // guarded by mu; by toolset and connector
	// closed says that no stream is opened any more; guarded by mu.
	closed bool
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

// follow looks at a server when it tells of a change, not too often.
func (s *Server) follow(ctx context.Context, key string, one *listening) {
	for {
		select {
		case <-one.told:
		case <-ctx.Done():
			return
		}
		s.servers.call(key)
		s.startLook()
		if retry.Sleep(ctx, calmInterval) != nil {
			return
		}
	}
}

// listenTo keeps a stream open to each of these servers, and to no other.
func (s *Server) listenTo(servers map[string]store.ToolsetConnector) {
	l := &s.listeners
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
		ctx, stop := context.WithCancel(s.work)
		one := &listening{stop: stop, told: make(chan struct{}, 1)}
		l.open[key] = one
		s.streams.Go(func() {
			defer stop()
			s.listen(ctx, row.WorkspaceID, row.ToolsetID, row.Name, one)
		})
		s.streams.Go(func() { s.follow(ctx, key, one) })
	}
}

// listen opens the stream of one server again and again.
func (s *Server) listen(ctx context.Context, workspace, toolset, name string, one *listening) {
	pause, before := retry.Backoff{First: listenFirst, Longest: listenMost}, false
	for ctx.Err() == nil {
		opened := false
		err := s.listenOnce(ctx, workspace, toolset, name, func() {
			opened = true
			s.listeners.heard(one, true)
			if before { // what changed between two streams nobody told
				one.tell()
			}
		}, one.tell)
		s.listeners.heard(one, false)
		before = before || opened
		switch {
		case opened:
			pause.Reset()
		case problem.Is(err, problem.Unsupported):
			pause.Reset()
			_ = retry.Sleep(ctx, listenAgain) // the loop looks at ctx
			continue
		case ctx.Err() == nil:
			s.log.LogAttrs(ctx, slog.LevelDebug, "an MCP server is not listened to", slog.String("toolset", toolset), slog.String("connector", name), slog.Any("error", err))
		}
		_ = pause.Wait(ctx) // the loop looks at ctx
	}
}

// listenOnce keeps one stream open until it ends.
func (s *Server) listenOnce(ctx context.Context, workspace, toolset, name string, opened, changed func()) error {
	ctx = request.With(ctx, &request.Request{Workspace: workspace})
	ws := s.o.Store.Workspace(workspace)
	ts, err := ws.Toolset(ctx, toolset)
	if err != nil {
		return err
	}
	d, err := outline(ctx, ws, ts)
	if err != nil {
		return err
	}
	if err := d.focus(name); err != nil {
		return err
	}
	conn, err := s.opened.Open(ctx, d.version)
	if err != nil {
		return err
	}
	t, err := s.mcpTarget(MCPTarget{URL: d.baseURL(), Hint: *conn.Opened.MCP()}, d.creds)
	if err != nil {
		return err
	}
	return s.o.MCP.Listen(safedial.WithHolder(ctx, toolset), t, opened, changed)
}

func (l *listeners) heard(one *listening, heard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one.heard = heard
}

// hears reports whether a server tells of changes on an open stream.
func (l *listeners) hears(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.open[key]
	return one != nil && one.heard
}
