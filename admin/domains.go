package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/sluicegate/sluice/admin/domain"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
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
		s.edgeBell.Ring()
		s.domains.Wake()
	}
}

// edgeCertificates gives an edge the certificates of the domains in its release, sealed to
// it.
func (s *Server) edgeCertificates(w http.ResponseWriter, r *http.Request) error {
	known := r.URL.Query().Get("known")
	return s.hold(w, r, func(ctx context.Context, e *store.Edge) (bool, error) {
		rel, err := s.o.Publisher.Latest(ctx, e.Group)
		if err != nil {
			return false, notYet(err, "the newest release of this edge cannot be read yet")
		}
		name := nameOf(rel)
		nameRelease(w, name)
		list, etag := s.domains.For(rel.Release())
		if etag == known {
			return false, nil
		}
		plain, err := json.Marshal(&registry.EdgeCertificates{Edge: e.ID, ETag: etag, Release: &name, Certificates: list})
		if err != nil {
			return false, err
		}
		defer clear(plain)
		sealed, err := secrets.SealTo(e.SealKey, registry.CertificateSealInfo(e.ID), plain)
		if err != nil {
			return false, err
		}
		return true, writeJSON(w, registry.SealedCredentials{ETag: etag, Sealed: sealed})
	})
}

// edgeChallenge tells an edge what a certificate authority wants to see at one of its
// domains.
func (s *Server) edgeChallenge(ctx context.Context, e *store.Edge, in *registry.EdgeChallengeRequest) (*registry.EdgeChallenge, error) {
	rel, err := s.o.Publisher.Latest(ctx, e.Group)
	if err != nil {
		return nil, notYet(err, "the newest release of this edge cannot be read yet")
	}
	c, err := s.domains.Challenge(ctx, rel.Release(), in.Host)
	if err == nil && c == nil {
		err = problem.New(problem.NotFound, "no challenge is open for %.80q", in.Host)
	}
	return c, err
}
