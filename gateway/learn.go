package gateway

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
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
// after learnWindow or when newer ones need the room.
type searches struct {
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
}

func newSearches() *searches { return &searches{seed: maphash.MakeSeed()} }

// who tells callers of a toolset apart. Anonymous ones are told apart by their address.
func (s *searches) who(toolset string, p access.Principal, client netip.Addr) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	_, _ = h.WriteString(toolset)
	_ = h.WriteByte(0)
	if key := p.Key(); key != "" {
		_, _ = h.WriteString(key)
	} else if client.IsValid() {
		_ = h.WriteByte(1)
		_, _ = h.Write(client.AsSlice())
	}
	return h.Sum64()
}

// remember keeps a search and what it found.
func (s *searches) remember(who uint64, toolset, query string, found []snapshot.Found) {
	query = learnable(query)
	if query == "" || len(found) == 0 {
		return
	}
	names := make([]string, 0, min(len(found), learnTools))
	for _, f := range found[:cap(names)] {
		names = append(names, f.Tool.Name)
	}
	x := &s.shards[who%learnShards]
	x.mu.Lock()
	x.ring[x.next] = pastSearch{who: who, at: time.Now(), query: query, found: names, toolset: toolset}
	x.next = (x.next + 1) % learnSearches
	x.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		s.timer = time.AfterFunc(learnWindow, s.sweep)
	}
}

// take gives the newest search of a caller that found a tool. Another call of the tool
// needs another search.
func (s *searches) take(who uint64, toolset, tool string) (query string, ok bool) {
	oldest := time.Now().Add(-learnWindow)
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
				query, ok = p.query, true
			}
		}
	}
	return query, ok
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
		x.s.searches.remember(x.s.searches.who(x.ts.ID, x.pass.Principal(), x.s.origin(x.rc).Client), x.ts.ID, query, x.finder.Found)
	}
}

// succeeded counts the search that found the tool whose call succeeded.
func (x *request) succeeded() {
	if !x.ts.Learns() || x.preview != nil || x.tool.Own() || x.tool.Workflow != nil {
		return
	}
	query, ok := x.s.searches.take(x.s.searches.who(x.ts.ID, x.pass.Principal(), x.s.origin(x.rc).Client), x.ts.ID, x.tool.Name)
	if !ok {
		return
	}
	if ready, err := x.tool.Load(); err == nil {
		ready.Meter.Found(x.tool.Binding.Name, ready.Method, ready.Path, query)
	}
}
