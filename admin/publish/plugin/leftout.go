package plugin

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// maxLeftOut bounds what is kept of plugins that are left out, of all toolsets and nodes:
// past it the one whose time ends first is forgotten.
const maxLeftOut = 1000

// leftOutPlugin is a plugin that a gateway takes out of the calls of one toolset by
// itself.
type leftOutPlugin struct {
	registry.PluginKey

	toolset, reason string
	edge            string // its name; "": this node
	until           time.Time
}

// PluginLeftOut is where a binding is left out of calls now.
type PluginLeftOut struct {
	Edge   string    `json:"edge,omitempty" doc:"Name of the edge that says so. Absent: the node of the control plane."`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
}

// leftOut are the plugins that are left out now, as nodes told since this one started.
// The zero leftOut is empty.
type leftOut struct {
	mu   sync.Mutex
	list []leftOutPlugin // guarded by mu
}

// note adds a plugin, or gives it another end.
func (l *leftOut) note(p leftOutPlugin, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(q leftOutPlugin) bool {
		return q.PluginKey == p.PluginKey && q.toolset == p.toolset && q.edge == p.edge || !now.Before(q.until)
	})
	if l.list = append(l.list, p); len(l.list) > maxLeftOut {
		first := slices.MinFunc(l.list, func(a, b leftOutPlugin) int { return a.until.Compare(b.until) })
		l.list = slices.Delete(l.list, slices.Index(l.list, first), slices.Index(l.list, first)+1)
	}
}

// of returns where a version of a plugin is left out of a toolset, by edge.
func (l *leftOut) of(plugin registry.PluginKey, toolset string, now time.Time) []PluginLeftOut {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []PluginLeftOut
	for i := range l.list {
		if q := &l.list[i]; q.PluginKey == plugin && q.toolset == toolset && now.Before(q.until) {
			out = append(out, PluginLeftOut{Edge: q.edge, Reason: q.reason, Until: q.until})
		}
	}
	slices.SortFunc(out, func(a, b PluginLeftOut) int { return cmp.Compare(a.Edge, b.Edge) })
	return out
}

// LeaveOut notes that the gateway of an edge, or of this node when edge is "", left a
// plugin out of the calls of a toolset, records it and reports it.
func (r *Room) LeaveOut(ctx context.Context, edge string, u *registry.PluginUnbound) {
	reason := u.Reason
	if u.Toolset != "" {
		now := r.Store.Now()
		until := u.End(now)
		r.leftOut.note(leftOutPlugin{PluginKey: u.PluginKey, toolset: u.Toolset, reason: reason, edge: edge, until: until}, now)
		reason = "left out of the calls of toolset " + u.Toolset + " until " + until.UTC().Format(time.RFC3339) + ": " + reason
	}
	if edge != "" {
		reason = "on edge " + edge + ": " + reason
	}
	r.Failed(ctx, u.Workspace, u.Name, u.Version, reason)
}

// LeftOut returns where a version of a plugin is left out of the calls of a toolset now,
// by edge.
func (r *Room) LeftOut(plugin registry.PluginKey, toolset string) []PluginLeftOut {
	return r.leftOut.of(plugin, toolset, r.Store.Now())
}
