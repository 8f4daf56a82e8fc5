package admin

import (
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/login/upstream"
)

// openChanges opens the rooms of changes and of MCP servers, which begin some.
func (s *Server) openChanges() {
	read := &change.Reader{
		Drafts: s.drafts, Sources: s.sources, Catalog: s.catalog, Local: s.local, Servers: s.asked, Logins: s.logins, Grants: s.grants,
	}
	s.changes = &change.Room{
		Reader: read, Compiler: s.compiler, Rollouts: s.rollouts, Advices: s.advices, Access: s.access, Events: s.events, Log: s.log, Work: s.work, Go: s.jobs.Go,
	}
	o := upstream.Options{Store: s.o.Store, Log: s.log, Work: s.work, Go: s.jobs.Go, Check: s.changes.Follow}
	if s.o.MCP != nil {
		o.Listen = s.changes.Listen
	}
	s.upstreams = upstream.New(o)
	s.views = &view.Room{Domains: s.domains, Upstreams: s.upstreams, Catalog: s.catalog, GatewayURL: s.o.GatewayURL, Closed: s.o.Closed, Now: s.now}
	read.Upstreams, s.changes.Views = s.upstreams, s.views
}

// Changes is the room of changes, for a caller who wants specifications read again now. Run
// does it all the time.
func (s *Server) Changes() *change.Room { return s.changes }

// Upstreams is the room of MCP servers, for a caller who wants them looked at now. Run
// does it all the time.
func (s *Server) Upstreams() *upstream.Room { return s.upstreams }
