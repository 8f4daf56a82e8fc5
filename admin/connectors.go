package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
)

// ConnectorInput is the path of a connector.
type ConnectorInput struct {
	Name string `path:"name" maxLength:"128"`
}

type versionsInput struct {
	ConnectorInput
	ListInput
}

type previewInput struct {
	Body change.PreviewRequest
}

func registerConnectors(s *Server) {
	tags := []string{"connectors"}
	register(s, huma.Operation{
		OperationID: "list-connectors", Method: http.MethodGet, Path: "/v1/connectors", Summary: "List connectors by name", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[view.Connector], error) {
		p, err := in.page("/v1/connectors")
		if err != nil {
			return nil, err
		}
		ws := s.workspace(ctx)
		rows, next, err := ws.Connectors(ctx, p)
		if err != nil {
			return nil, err
		}
		shown := make([]view.Connector, len(rows))
		for i := range rows {
			v, err := ws.ConnectorVersion(ctx, rows[i].Name, rows[i].LatestDigest)
			if err != nil {
				return nil, err
			}
			shown[i] = view.ShowConnector(&rows[i], v)
		}
		return list(in, "/v1/connectors", shown, next, same), nil
	})
	register(s, huma.Operation{
		OperationID: "get-connector", Method: http.MethodGet, Path: "/v1/connectors/{name}", Summary: "Read a connector and the report of its latest version", Tags: tags,
	}, func(ctx context.Context, in *ConnectorInput) (*bodyOutput[view.ConnectorDetail], error) {
		ws := s.workspace(ctx)
		row, err := ws.Connector(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		v, err := ws.ConnectorVersion(ctx, row.Name, row.LatestDigest)
		if err != nil {
			return nil, err
		}
		r, err := draft.ReportOf(v)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[view.ConnectorDetail]{view.ConnectorDetail{Connector: view.ShowConnector(row, v), Report: *r}}, nil
	})
	register(s, huma.Operation{
		OperationID: "list-connector-versions", Method: http.MethodGet, Path: "/v1/connectors/{name}/versions", Summary: "List the versions of a connector", Tags: tags,
	}, func(ctx context.Context, in *versionsInput) (*listOutput[view.ConnectorRef], error) {
		path := "/v1/connectors/" + in.Name + "/versions"
		p, err := in.page(path)
		if err != nil {
			return nil, err
		}
		ws := s.workspace(ctx)
		if _, err := ws.Connector(ctx, in.Name); err != nil {
			return nil, err
		}
		rows, next, err := ws.ConnectorVersions(ctx, in.Name, p)
		if err != nil {
			return nil, err
		}
		return list(&in.ListInput, path, rows, next, view.Ref), nil
	})
	register(s, huma.Operation{
		OperationID: "preview-connector", Method: http.MethodPost, Path: "/v1/connectors/preview", Summary: "Compile a specification and store nothing", Tags: tags,
	}, func(ctx context.Context, in *previewInput) (*jobOutput, error) {
		return s.run(ctx, "connector.preview", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.changes.Preview(ctx, &in.Body, phase)
		})
	})
	documentJob(s.api.OpenAPI(), "/v1/connectors/preview", change.Preview{}, http.StatusOK)
}
