package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/request"
)

type refreshInput struct {
	ToolsetInput
	request.MatchInput
	Body change.RefreshRequest
}

type changesInput struct {
	ToolsetInput
	Connector string `query:"connector" maxLength:"63" doc:"Of this one only."`
	ListInput
}

func registerRefresh(s *Server) {
	tags := []string{"toolsets"}
	register(s, huma.Operation{
		OperationID: "refresh-toolset", Method: http.MethodPost, Path: "/v1/toolsets/{id}/refresh", Summary: "Read the specification of a toolset again", Tags: tags,
		Description: "Fetches it from its URL (only when the server says it changed), applies the toolset's overlays, says what changed tool by tool, " +
			"and keeps names, descriptions and disabled tools. Changes that break nothing are tested and deployed when the toolset is live; breaking ones wait in the draft. " +
			"With If-Match, nothing is read when the toolset was changed since it was read.",
	}, func(ctx context.Context, in *refreshInput) (*jobOutput, error) {
		return s.run(ctx, "toolset.refresh", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.changes.Refresh(ctx, in.ID, &in.MatchInput, &in.Body, phase)
		})
	})
	documentJob(s.api.OpenAPI(), "/v1/toolsets/{id}/refresh", change.Refreshed{}, http.StatusOK)
	register(s, huma.Operation{
		OperationID: "list-changes", Method: http.MethodGet, Path: "/v1/toolsets/{id}/changes", Summary: "List what refreshes changed, newest first", Tags: tags,
	}, func(ctx context.Context, in *changesInput) (*listOutput[difference.Changes], error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		path := "/v1/toolsets/" + ts.ID + "/changes"
		p, err := in.page(path)
		if err != nil {
			return nil, err
		}
		rows, next, err := ws.ToolsetChanges(ctx, ts.ID, in.Connector, p)
		if err != nil {
			return nil, err
		}
		shown := make([]difference.Changes, len(rows))
		for i := range rows {
			if shown[i], err = difference.Show(&rows[i]); err != nil {
				return nil, err
			}
		}
		return list(&in.ListInput, path, shown, next, same), nil
	})
}
