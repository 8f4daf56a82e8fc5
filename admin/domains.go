package admin

import (
	"context"

	"github.com/sluicegate/sluice/admin/domain"
	"github.com/sluicegate/sluice/admin/store"
)

// openDomains opens the room of domains.
func (s *Server) openDomains() {
	o := s.o.Domains
	o.Store, o.Publisher, o.Log, o.AwaitRelease = s.o.Store, s.o.Publisher, s.log, s.o.AwaitRelease
	s.domains = domain.Open(o)
}

// Domains is the room of domains, for the gateway of this node.
func (s *Server) Domains() *domain.Room { return s.domains }

// toolsetURL is where clients reach a toolset.
func (s *Server) toolsetURL(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (string, error) {
	return s.domains.ToolsetURL(ctx, ws, ts, s.o.GatewayURL)
}

// tellCertificates lets edges and records know of new certificates until ctx ends.
func (s *Server) tellCertificates(ctx context.Context) {
	if s.domains.Certificates == nil {
		return
	}
	for changed := s.domains.Certificates.Changed(); ; {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		changed = s.domains.Certificates.Changed()
		s.fleet.Ring()
		s.domains.Wake()
	}
}
