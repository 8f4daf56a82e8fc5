package admin

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// maxLeftOut bounds what is kept of plugins that are left out, of all toolsets and nodes:
// past it the one whose time ends first is forgotten.
const maxLeftOut = 1000

// LeftOutPlugin is a plugin that a gateway takes out of the calls of one toolset by
// itself, until a time.
type LeftOutPlugin struct {
	Workspace, Toolset, Name, Version string // Toolset is its slug
	Edge                              string // its name; "": this node
	Reason                            string // for people
	Until                             time.Time
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
	list []LeftOutPlugin // guarded by mu
}

// note adds a plugin, or gives it another end.
func (l *leftOut) note(p LeftOutPlugin, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(q LeftOutPlugin) bool {
		same := q.Workspace == p.Workspace && q.Toolset == p.Toolset && q.Name == p.Name && q.Version == p.Version && q.Edge == p.Edge
		return same || !now.Before(q.Until)
	})
	if l.list = append(l.list, p); len(l.list) > maxLeftOut {
		first := slices.MinFunc(l.list, func(a, b LeftOutPlugin) int { return a.Until.Compare(b.Until) })
		l.list = slices.Delete(l.list, slices.Index(l.list, first), slices.Index(l.list, first)+1)
	}
}

// of returns where a version of a plugin is left out of a toolset, by edge.
func (l *leftOut) of(workspace, toolset, name, version string, now time.Time) []PluginLeftOut {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []PluginLeftOut
	for i := range l.list {
		if q := &l.list[i]; q.Workspace == workspace && q.Toolset == toolset && q.Name == name && q.Version == version && now.Before(q.Until) {
			out = append(out, PluginLeftOut{Edge: q.Edge, Reason: q.Reason, Until: q.Until})
		}
	}
	slices.SortFunc(out, func(a, b PluginLeftOut) int { return cmp.Compare(a.Edge, b.Edge) })
	return out
}

// LeaveOut notes that a gateway left a plugin out of the calls of a toolset, records it
// and tells of it.
func (s *Server) LeaveOut(ctx context.Context, p LeftOutPlugin) {
	if p.Toolset != "" {
		s.leftOut.note(p, s.now())
	}
	reason := p.Reason
	if p.Toolset != "" {
		reason = "left out of the calls of toolset " + p.Toolset + " until " + p.Until.UTC().Format(time.RFC3339) + ": " + reason
	}
	if p.Edge != "" {
		reason = "on edge " + p.Edge + ": " + reason
	}
	s.PluginFailed(ctx, p.Workspace, p.Name, p.Version, reason)
}
