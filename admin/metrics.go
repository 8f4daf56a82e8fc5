package admin

import (
	"context"
	"errors"

	"github.com/sluicegate/sluice/admin/front/metrics"
	"github.com/sluicegate/sluice/registry"
)

// newMetrics makes the metrics of the control plane.
func (s *Server) newMetrics() *metrics.Metrics {
	return metrics.New(metrics.Options{
		Store: s.o.Store, KeylessTypes: []string{registry.AuthNone, registry.AuthOAuth2, registry.AuthOIDC}, Edges: func(ctx context.Context) (map[string]int, error) { return s.fleet.ByState(ctx) },
		Published: func() uint64 {
			if rel := s.o.Publisher.Current(); rel != nil {
				return rel.Release().Revision
			}
			return 0
		},
		Stopped: func(ctx context.Context) error {
			return errors.Join(s.o.Publisher.Stopped(""), s.o.Store.Claimed(ctx))
		},
	})
}
