package admin

import (
	"context"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// workspace returns the workspace that the request works in.
func (s *Server) workspace(ctx context.Context) *store.Workspace {
	return request.Workspace(ctx, s.o.Store)
}
