package admin

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// Policies for an MCP server that changes its tools (docs/mcp-upstreams.md).
const (
	policyPin    = "pin"    // the change waits until it is accepted
	policyWarn   = "warn"   // it is deployed unless it breaks something
	policyFollow = "follow" // it is deployed
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

// policy is what happens to changes of the draft's MCP server.
func (d *draft) policy() string {
	if d.ts.UpstreamPolicy == "" {
		return policyPin
	}
	return d.ts.UpstreamPolicy
}

// serverWatch is what this node saw of MCP servers since it started.
type serverWatch struct {
	mu      sync.Mutex
	running bool               // guarded by mu; a round is on its way
	seen    map[string]sighted // guarded by mu; by toolset
	// ttl is how long lists are good, by toolset; guarded by mu.
	ttl map[string]time.Duration
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
	if w.running || s.o.MCP == nil {
		return
	}
	w.running = true
	s.jobs.Go(func() {
		if err := s.CheckServers(s.work); err != nil && s.work.Err() == nil {
			s.log.LogAttrs(s.work, slog.LevelWarn, "MCP servers were not looked at", slog.Any("error", err))
		}
		w.mu.Lock()
		w.running = false
		w.mu.Unlock()
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
	for i := range rows {
		ts := &rows[i]
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ts.LiveRevision == 0 || !s.servers.due(ts.ID, s.now()) {
			continue
		}
		fault := ""
		if err := s.checkServer(ctx, ts); err != nil {
			fault = problemOf(err).Detail
			s.log.LogAttrs(ctx, slog.LevelWarn, "an MCP server could not be looked at, its tools stay as they are", slog.String("toolset", ts.Slug), slog.Any("error", err))
		}
		s.servers.note(ts.ID, sighted{s.now(), fault})
	}
	return nil
}

// checkServer refreshes one toolset as its policy wants it.
func (s *Server) checkServer(ctx context.Context, ts *store.Toolset) error {
	ctx = context.WithValue(ctx, contextKey{}, &request{workspace: ts.WorkspaceID})
	req := &RefreshRequest{}
	if ts.UpstreamPolicy == policyFollow {
		req.Accept = true
		req.Deploy = &CreateDeploy{UntestedReason: "the toolset follows its MCP server"}
	}
	_, err := s.refresh(ctx, ts.ID, req, func(string) {})
	return err
}

func (w *serverWatch) due(toolset string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, ok := w.seen[toolset]
	if !ok {
		return true
	}
	every := checkInterval
	if ttl := w.ttl[toolset]; ttl > 0 {
		every = min(max(ttl, minCheckInterval), maxCheckInterval)
	}
	return now.Sub(seen.at) >= every
}

func (w *serverWatch) note(toolset string, seen sighted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string]sighted{}
	}
	w.seen[toolset] = seen
}

// keep notes how long the list of a toolset's server is good.
func (w *serverWatch) keep(toolset string, ttl time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ttl == nil {
		w.ttl = map[string]time.Duration{}
	}
	w.ttl[toolset] = ttl
}

func (s *Server) upstreamState(ctx context.Context, ws *store.Workspace, d *draft) (*UpstreamState, error) {
	out := &UpstreamState{Policy: d.policy()}
	last, err := lastChange(ctx, ws, d.ts.ID)
	if err != nil {
		return nil, err
	}
	out.Quarantined = last != nil && last.Waits
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	if seen, ok := s.servers.seen[d.ts.ID]; ok {
		out.CheckedAt, out.Fault = &seen.at, seen.fault
	}
	return out, nil
}

// upstreamChanged tells that the MCP server of a toolset changed its tools.
func (s *Server) upstreamChanged(d *draft, c *Changes, level slog.Level) {
	s.log.LogAttrs(s.work, level, "an MCP server changed its tools", slog.String("toolset", d.ts.Slug), slog.String("policy", d.policy()),
		slog.Int("added", c.Added), slog.Int("removed", c.Removed), slog.Int("changed", c.Changed), slog.Bool("quarantined", c.Waits))
	to := "changed"
	if c.Waits {
		to = "quarantined"
	}
	s.emit(Event{Type: "toolset.upstream_changed", Workspace: d.ts.WorkspaceID, Toolset: d.ts.ID, Revision: d.ts.LiveRevision, Digest: c.To.Digest, From: c.From.Digest, To: to})
}
