package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store/cluster"
)

func registerControlPlanes(s *Server) {
	register(s, huma.Operation{
		OperationID: "list-control-planes", Method: http.MethodGet, Path: "/v1/control-planes", Summary: "List the control planes that share the database", Tags: []string{"edges"},
		Description: "Those that were started with --cluster and were seen in the last hour. One of them leads; the others pass requests on to it. A token of the operator's workspace is needed.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[List[cluster.ControlPlane]], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		items, err := cluster.List(ctx, s.o.Store)
		return answer(List[cluster.ControlPlane]{Items: items}, err)
	})
}
