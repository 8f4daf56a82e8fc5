package admin

import (
	"context"

	"github.com/sluicegate/sluice/admin/fleet/domain"
)

// openDomains opens the room of domains.
func (s *Server) openDomains() {
	o := s.o.Domains
	o.Store, o.Publisher, o.Log, o.AwaitRelease = s.o.Store, s.o.Publisher, s.log, s.o.AwaitRelease
	s.domains = domain.Open(o)
}

// Domains is the room of domains, for the gateway of this node.
func (s *Server) Domains() *domain.Room { return s.domains }

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
