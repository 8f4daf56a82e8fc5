package gateway

import (
	"context"
	"errors"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/redact"
	"github.com/sluicegate/sluice/registry"
)

// A toolset in search mode may learn from its calls: a search, and after it a call
// that succeeded of a tool the search had found, by the same caller, make an example
// request of that tool. Only toolsets whose operator turned learning on come here.

const (
	// learnWindow is how long after a search a call belongs to it. An agent calls
	// within seconds; a person who is asked for permission takes minutes.
	learnWindow = 5 * time.Minute
	// learnShards of the searches that are remembered, so that callers of one toolset do
	// not wait for those of another.
	learnShards = 16
	// learnSearches of a shard: a thousand on a node, a few hundred bytes each.
	learnSearches = 64
	// learnTools of a search that are remembered: what agents look at.
	learnTools = 10
	// leastQuery is how many bytes a request needs to say anything.
	leastQuery = 3
)

// searches are the last ones of this node, in memory only, redacted, and forgotten
// after learnWindow or when newer ones need the room. Where nodes share what they remember, a
// call may follow a search at another one: then what the pool says holds.
type searches struct {
	pool   *pool.Store // nil: there is none
	seed   maphash.Seed
	shards [learnShards]struct {
		mu   sync.Mutex
		ring [learnSearches]pastSearch // guarded by mu
		next int                       // guarded by mu
	}

	mu    sync.Mutex
	timer *time.Timer // guarded by mu; armed while something is remembered
}

// pastSearch is a search that a call may follow.
type pastSearch struct {
	who     uint64 // caller and toolset
	at      time.Time
	query   string
	found   []string // names of tools that were not called since
	toolset string
	shared  *atomic.Bool // the other nodes know of it
}

func newSearches(p *pool.Store) *searches { return &searches{pool: p, seed: maphash.MakeSeed()} }

// who tells callers of a toolset apart. Anonymous ones are told apart by their address.
func who(toolset string, p access.Principal, client netip.Addr) string {
	key := p.Key()
	if key == "" && client.IsValid() {
		key = "\x01" + string(client.AsSlice())
	}
	return toolset + "\x00" + key
}

// remember keeps a search and what it found.
func (s *searches) remember(caller, toolset, query string, found []snapshot.Found) {
	query = learnable(query)
	if query == "" || len(found) == 0 {
		return
	}
	who, shared := maphash.String(s.seed, caller), new(atomic.Bool)
	names := make([]string, 0, min(len(found), learnTools))
	for _, f := range found[:cap(names)] {
		names = append(names, f.Tool.Name)
	}
	x := &s.shards[who%learnShards]
	x.mu.Lock()
	x.ring[x.next] = pastSearch{who: who, at: time.Now(), query: query, found: names, toolset: toolset, shared: shared}
	x.next = (x.next + 1) % learnSearches
	x.mu.Unlock()
	s.share(caller, query, slices.Clone(names), shared)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		s.timer = time.AfterFunc(learnWindow, s.sweep)
	}
}

// share lets a call at another node follow the search. Nobody waits for that.
func (s *searches) share(caller, query string, tools []string, shared *atomic.Bool) {
	if s.pool == nil {
		return
	}
	s.pool.Later(len(caller)+len(query), func(ctx context.Context) {
		if s.pool.PutSearch(ctx, caller, query, tools, learnWindow) == nil {
			shared.Store(true)
		}
	})
}

// follow gives the newest search of a caller that found a tool to count, at once or soon.
// Another call of the tool needs another search.
func (s *searches) follow(caller, toolset, tool string, count func(query string)) {
	query, shared, ok := s.take(caller, toolset, tool)
	later := s.pool != nil && s.pool.Later(len(caller)+len(tool), func(ctx context.Context) {
		newest, err := s.pool.TakeSearch(ctx, caller, tool)
		switch {
		case err == nil:
			count(newest)
		case ok && (errors.Is(err, pool.ErrAway) || !shared.Load()): // else a call at another node followed it
			count(query)
		}
	})
	if ok && !later {
		count(query)
	}
}

// take gives the newest search of a caller at this node that found a tool.
func (s *searches) take(caller, toolset, tool string) (query string, shared *atomic.Bool, ok bool) {
	who, oldest := maphash.String(s.seed, caller), time.Now().Add(-learnWindow)
	x := &s.shards[who%learnShards]
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range learnSearches {
		p := &x.ring[(x.next+learnSearches-1-i)%learnSearches]
		if p.at.Before(oldest) {
			break // and so are those before it
		}
		if p.who != who || p.toolset != toolset {
			continue
		}
		if j := slices.Index(p.found, tool); j >= 0 {
			p.found = slices.Delete(p.found, j, j+1)
			if !ok {
				query, shared, ok = p.query, p.shared, true
			}
		}
	}
	return query, shared, ok
}

// sweep forgets old searches, and runs again while any are left.
func (s *searches) sweep() {
	oldest, left := time.Now().Add(-learnWindow), false
	for i := range s.shards {
		x := &s.shards[i]
		x.mu.Lock()
		for j := range x.ring {
			if p := &x.ring[j]; p.at.Before(oldest) || p.at.Equal(oldest) {
				*p = pastSearch{}
			} else {
				left = true
			}
		}
		x.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	if left {
		s.timer = time.AfterFunc(learnWindow, s.sweep)
	}
}

// stop ends the timer.
func (s *searches) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// learnable is a request without what looks like a secret or names a person, in one
// line; "" when nothing is left to learn from.
func learnable(query string) string {
	words := strings.Fields(strings.ReplaceAll(redact.Text(query, registry.MaxUsageQueryBytes), "\x00", " "))
	words = slices.DeleteFunc(words, func(w string) bool { return strings.Contains(w, redact.Mark) })
	if query = strings.Join(words, " "); len(query) < leastQuery {
		return ""
	}
	return query
}

// searched remembers a search of a toolset that learns.
func (x *request) searched(query string) {
	if x.ts.Learns() && x.preview == nil {
		x.s.searches.remember(who(x.ts.ID, x.pass.Principal(), x.s.origin(x.rc).Client), x.ts.ID, query, x.finder.Found)
	}
}

// succeeded counts the search that found the tool whose call succeeded.
func (x *request) succeeded() {
	if !x.ts.Learns() || x.preview != nil || x.tool.Own() || x.tool.Workflow != nil {
		return
	}
	ready, err := x.tool.Load()
	if err != nil {
		return
	}
	connector := x.tool.Binding.Name
	x.s.searches.follow(who(x.ts.ID, x.pass.Principal(), x.s.origin(x.rc).Client), x.ts.ID, x.tool.Name, func(query string) {
		ready.Meter.Found(connector, ready.Method, ready.Path, query)
	})
}
