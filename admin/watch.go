package admin

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// Policies for an MCP server that changes its tools (docs/mcp-upstreams.md).
const (
	policyPin    = "pin"    // the change waits until it is accepted
	policyWarn   = "warn"   // what is added is deployed, everything else waits until it is accepted
	policyFollow = "follow" // it is deployed, unless it tells models what to do
)

const (
	// lookInterval is how often the server sees which MCP servers are due.
	lookInterval = time.Minute
	// checkInterval is how old what is known of an MCP server may get. A server may
	// say how long its list is good, within these bounds.
	checkInterval    = 15 * time.Minute
	minCheckInterval = time.Minute
	maxCheckInterval = 24 * time.Hour
)

// serverWatch is what this node saw of MCP servers since it started.
type serverWatch struct {
	mu      sync.Mutex
	running bool               // guarded by mu; a round is on its way
	seen    map[string]sighted // guarded by mu; by toolset and connector
	// ttl is how long lists are good, by toolset and connector; guarded by mu.
	ttl map[string]time.Duration
	// tells are those that tell of changes; guarded by mu.
	tells map[string]bool
	// called are those that told of a change since they were looked at; guarded by mu.
	called map[string]bool
	again  bool // guarded by mu; one was called while a round was on its way
}

type sighted struct {
	at    time.Time
	fault string
}

// startLook looks at the MCP servers that are due, unless the last round still runs.
func (s *Server) startLook() {
	w := &s.servers
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.o.MCP == nil {
		return
	}
	if w.running {
		w.again = true
		return
	}
	w.running = true
	s.jobs.Go(func() {
		for again := true; again; {
			if err := s.CheckServers(s.work); err != nil && s.work.Err() == nil {
				s.log.LogAttrs(s.work, slog.LevelWarn, "MCP servers were not looked at", slog.Any("error", err))
			}
			w.mu.Lock()
			again = w.again && s.work.Err() == nil
			w.again, w.running = false, again
			w.mu.Unlock()
		}
	})
}

// CheckServers reads the tools of the MCP servers behind live toolsets whose time has
// come and does with changes what each toolset's policy says. A server that cannot be
// reached is noted and changes nothing. Run does it all the time; a caller may want it
// now.
func (s *Server) CheckServers(ctx context.Context) error {
	rows, err := s.o.Store.ToolsetsOfKind(ctx, kindMCP)
	if err != nil {
		return err
	}
	telling := map[string]store.ToolsetConnector{}
	for i := range rows {
		ts := &rows[i]
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ts.LiveRevision == 0 {
			continue
		}
		connectors, err := s.o.Store.Workspace(ts.WorkspaceID).ToolsetConnectors(ctx, ts)
		if err != nil {
			return err
		}
		for j := range connectors {
			c := &connectors[j]
			if c.SourceKind != kindMCP {
				continue
			}
			key := watchKey(ts.ID, c.Name)
			if !s.servers.due(key, s.now()) {
				s.servers.telling(key, c, telling)
				continue
			}
			fault := ""
			s.servers.answer(key) // what it tells from here on may not be in the list
			if err := s.checkServer(ctx, ts, c); err != nil {
				fault = request.Detail(err)
				s.log.LogAttrs(ctx, slog.LevelWarn, "an MCP server could not be looked at, its tools stay as they are",
					slog.String("toolset", ts.Slug), slog.String("connector", c.Name), slog.Any("error", err))
			}
			s.servers.note(key, sighted{s.now(), fault})
			s.servers.telling(key, c, telling)
		}
	}
	s.listenTo(telling)
	return nil
}

// watchKey names a connector of a toolset.
func watchKey(toolset, connector string) string { return toolset + "/" + connector }

// checkServer refreshes one connector of a toolset as its policy wants it.
func (s *Server) checkServer(ctx context.Context, ts *store.Toolset, c *store.ToolsetConnector) error {
	ctx = request.With(ctx, &request.Request{Workspace: ts.WorkspaceID})
	req := &RefreshRequest{Connector: c.Name}
	if c.UpstreamPolicy == policyFollow {
		req.Accept, req.follows = true, true
		req.Deploy = &CreateDeploy{UntestedReason: "the toolset follows its MCP server"}
	}
	_, err := s.refresh(ctx, ts.ID, req, func(string) {})
	return err
}

func (w *serverWatch) due(key string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, ok := w.seen[key]
	if !ok {
		return true
	}
	if w.called[key] {
		return true
	}
	every := checkInterval
	if ttl := w.ttl[key]; ttl > 0 {
		every = min(max(ttl, minCheckInterval), maxCheckInterval)
	}
	return now.Sub(seen.at) >= every
}

func (w *serverWatch) note(key string, seen sighted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string]sighted{}
	}
	w.seen[key] = seen
}

// answer forgets that a server told of a change: it is looked at.
func (w *serverWatch) answer(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.called, key)
}

// call notes that a server told of a change.
func (w *serverWatch) call(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.called == nil {
		w.called = map[string]bool{}
	}
	w.called[key] = true
}

// telling adds a server to those that tell of changes, when it does.
func (w *serverWatch) telling(key string, c *store.ToolsetConnector, to map[string]store.ToolsetConnector) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tells[key] {
		to[key] = *c
	}
}

// forget drops what is known of a server that no toolset has any more.
func (w *serverWatch) forget(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, key)
	delete(w.ttl, key)
	delete(w.tells, key)
	delete(w.called, key)
}

// keep notes how long the list of a server is good, and whether it tells of changes.
func (w *serverWatch) keep(key string, ttl time.Duration, tells bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ttl == nil {
		w.ttl, w.tells = map[string]time.Duration{}, map[string]bool{}
	}
	w.ttl[key], w.tells[key] = ttl, tells
}

func (s *Server) upstreamState(ctx context.Context, ws *store.Workspace, p *part) (*UpstreamState, error) {
	out := &UpstreamState{Policy: p.policy(), Stateless: p.row.Stateless}
	last, err := lastChange(ctx, ws, p.row.ToolsetID, p.row.Name)
	if err != nil {
		return nil, err
	}
	out.Quarantined = last != nil && last.Waits
	out.Listening = s.listeners.hears(watchKey(p.row.ToolsetID, p.row.Name))
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	if seen, ok := s.servers.seen[watchKey(p.row.ToolsetID, p.row.Name)]; ok {
		out.CheckedAt, out.Fault = &seen.at, seen.fault
	}
	return out, nil
}

// upstreamChanged tells that the MCP server of a toolset changed its tools.
func (s *Server) upstreamChanged(d *draft, c *Changes, level slog.Level) {
	s.log.LogAttrs(s.work, level, "an MCP server changed its tools", slog.String("toolset", d.ts.Slug), slog.String("connector", d.row.Name), slog.String("policy", d.policy()),
		slog.Int("added", c.Added), slog.Int("removed", c.Removed), slog.Int("changed", c.Changed), slog.Bool("quarantined", c.Waits))
	to := "changed"
	if c.Waits {
		to = "quarantined"
	}
	s.events.Emit(publish.Event{Type: "toolset.upstream_changed", Workspace: d.ts.WorkspaceID, Toolset: d.ts.ID, Revision: d.ts.LiveRevision, Digest: c.To.Digest, From: c.From.Digest, To: to})
}
