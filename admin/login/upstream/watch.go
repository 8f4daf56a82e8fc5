package upstream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// Policies for an MCP server that changes its tools (docs/mcp-upstreams.md).
const (
	Pin    = "pin"    // the change waits until it is accepted
	Warn   = "warn"   // what is added is deployed, everything else waits until it is accepted
	Follow = "follow" // it is deployed, unless it tells models what to do
)

// Interval is how often a room is to see which MCP servers are due.
const Interval = time.Minute

const (
	// checkInterval is how old what is known of an MCP server may get. A server may
	// say how long its list is good, within these bounds.
	checkInterval    = 15 * time.Minute
	minCheckInterval = time.Minute
	maxCheckInterval = 24 * time.Hour
)

// Options of a room.
type Options struct {
	Store *store.Store
	Log   *slog.Logger
	// Work ends when nothing is begun any more, and Go runs a function that is waited for
	// after that.
	Work context.Context //nolint:containedctx // the life of the server, not of a call
	Go   func(func())
	// Check reads the tools of one server again and does with changes what its policy says.
	Check func(ctx context.Context, ts *store.Toolset, c *store.ToolsetConnector) error
	// Listen keeps one stream to a server open until it ends. It calls opened when it is
	// open, and changed when the server reports a change. It fails with
	// [problem.Unsupported] when the server reports none. nil: no server is asked.
	Listen func(ctx context.Context, c *store.ToolsetConnector, opened, changed func()) error
}

// Room is what this node saw of MCP servers since it started.
type Room struct {
	o Options
	// round is full while a round is on its way: two at once would do what a server
	// changed twice, and the second would end before the first has deployed it.
	round chan struct{}

	mu      sync.Mutex
	running bool               // guarded by mu; a round is on its way
	seen    map[string]sighted // guarded by mu; by toolset and connector
	// ttl is how long lists are good, by toolset and connector; guarded by mu.
	ttl map[string]time.Duration
	// tells are those that report changes; guarded by mu.
	tells map[string]bool
	// called are those that reported a change since they were looked at; guarded by mu.
	called map[string]bool
	again  bool // guarded by mu; one was called while a round was on its way

	streams   sync.WaitGroup
	listeners listeners
}

// New makes a room.
func New(o Options) *Room {
	return &Room{o: o, round: make(chan struct{}, 1), seen: map[string]sighted{}, ttl: map[string]time.Duration{}, tells: map[string]bool{}, called: map[string]bool{}}
}

// Sight is what a node saw of a server.
type Sight struct {
	At        *time.Time // nil: it was not looked at
	Fault     string     // why it could not be read then
	Listening bool       // it reports changes on an open stream
}

type sighted struct {
	at    time.Time
	fault string
}

// Look looks at the MCP servers that are due, unless the last round still runs. It does
// not wait for them.
func (r *Room) Look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.Listen == nil {
		return
	}
	if r.running {
		r.again = true
		return
	}
	r.running = true
	r.o.Go(func() {
		work := r.o.Work
		for again := true; again; {
			if err := r.CheckAll(work); err != nil && work.Err() == nil {
				r.o.Log.LogAttrs(work, slog.LevelWarn, "MCP servers were not looked at", slog.Any("error", err))
			}
			r.mu.Lock()
			again = r.again && work.Err() == nil
			r.again, r.running = false, again
			r.mu.Unlock()
		}
	})
}

// CheckAll reads the tools of the MCP servers behind live toolsets whose time has
// come and does with changes what each toolset's policy says. A server that cannot be
// reached is noted and changes nothing. It waits for a round that runs.
func (r *Room) CheckAll(ctx context.Context) error {
	select {
	case r.round <- struct{}{}:
		defer func() { <-r.round }()
	case <-ctx.Done():
		return ctx.Err()
	}
	rows, err := r.o.Store.ToolsetsOfKind(ctx, store.SourceMCP)
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
		connectors, err := r.o.Store.Workspace(ts.WorkspaceID).ToolsetConnectors(ctx, ts)
		if err != nil {
			return err
		}
		for j := range connectors {
			c := &connectors[j]
			if c.SourceKind != store.SourceMCP {
				continue
			}
			key := keyOf(ts.ID, c.Name)
			if !r.due(key, r.o.Store.Now()) {
				r.telling(key, c, telling)
				continue
			}
			fault := ""
			r.answer(key) // what it tells from here on may not be in the list
			if err := r.o.Check(ctx, ts, c); err != nil {
				fault = request.Detail(err)
				r.o.Log.LogAttrs(ctx, slog.LevelWarn, "an MCP server could not be looked at, its tools stay as they are",
					slog.String("toolset", ts.Slug), slog.String("connector", c.Name), slog.Any("error", err))
			}
			r.note(key, fault)
			r.telling(key, c, telling)
		}
	}
	r.listenTo(telling)
	return nil
}

// keyOf names a connector of a toolset.
func keyOf(toolset, connector string) string { return toolset + "/" + connector }

func (r *Room) due(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, ok := r.seen[key]
	if !ok || r.called[key] {
		return true
	}
	every := checkInterval
	if ttl := r.ttl[key]; ttl > 0 {
		every = min(max(ttl, minCheckInterval), maxCheckInterval)
	}
	return now.Sub(seen.at) >= every
}

func (r *Room) note(key, fault string) {
	now := r.o.Store.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[key] = sighted{now, fault}
}

// answer forgets that a server reported a change: it is looked at.
func (r *Room) answer(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.called, key)
}

// call notes that a server reported a change.
func (r *Room) call(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.called[key] = true
}

// telling adds a server to those that report changes, when it does.
func (r *Room) telling(key string, c *store.ToolsetConnector, to map[string]store.ToolsetConnector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tells[key] {
		to[key] = *c
	}
}

// Forget drops what is known of a server that a toolset does not have any more.
func (r *Room) Forget(toolset, connector string) {
	key := keyOf(toolset, connector)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
	delete(r.ttl, key)
	delete(r.tells, key)
	delete(r.called, key)
}

// Keep notes how long the list of a server is good, and whether it reports changes.
func (r *Room) Keep(toolset, connector string, ttl time.Duration, tells bool) {
	key := keyOf(toolset, connector)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ttl[key], r.tells[key] = ttl, tells
}

// Saw notes that a server was read just now.
func (r *Room) Saw(toolset, connector string) { r.note(keyOf(toolset, connector), "") }

// Sight is what this node saw of a server last.
func (r *Room) Sight(toolset, connector string) Sight {
	key := keyOf(toolset, connector)
	out := Sight{Listening: r.listeners.hears(key)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen, ok := r.seen[key]; ok {
		out.At, out.Fault = &seen.at, seen.fault
	}
	return out
}
