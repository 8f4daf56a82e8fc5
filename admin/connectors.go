package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/adoption"
	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// ConnectorInput is the path of a connector.
type ConnectorInput struct {
	Name string `path:"name" maxLength:"128"`
}

type versionsInput struct {
	ConnectorInput
	ListInput
}

// PreviewRequest asks what a specification would become.
type PreviewRequest struct {
	Source CreateSource        `json:"source"`
	Auth   *credential.SetAuth `json:"authentication,omitempty" doc:"For an MCP server that wants it."`
}

type previewInput struct {
	Body PreviewRequest
}

func (s *Server) registerConnectors() {
	tags := []string{"connectors"}
	register(s, huma.Operation{
		OperationID: "list-connectors", Method: http.MethodGet, Path: "/v1/connectors", Summary: "List connectors by name", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[Connector], error) {
		p, err := in.page("/v1/connectors")
		if err != nil {
			return nil, err
		}
		ws := s.workspace(ctx)
		rows, next, err := ws.Connectors(ctx, p)
		if err != nil {
			return nil, err
		}
		shown := make([]Connector, len(rows))
		for i := range rows {
			v, err := ws.ConnectorVersion(ctx, rows[i].Name, rows[i].LatestDigest)
			if err != nil {
				return nil, err
			}
			shown[i] = showConnector(&rows[i], v)
		}
		return list(in, "/v1/connectors", shown, next, func(c *Connector) Connector { return *c }), nil
	})
	register(s, huma.Operation{
		OperationID: "get-connector", Method: http.MethodGet, Path: "/v1/connectors/{name}", Summary: "Read a connector and the report of its latest version", Tags: tags,
	}, func(ctx context.Context, in *ConnectorInput) (*bodyOutput[ConnectorDetail], error) {
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
		return &bodyOutput[ConnectorDetail]{ConnectorDetail{Connector: showConnector(row, v), Report: *r}}, nil
	})
	register(s, huma.Operation{
		OperationID: "list-connector-versions", Method: http.MethodGet, Path: "/v1/connectors/{name}/versions", Summary: "List the versions of a connector", Tags: tags,
	}, func(ctx context.Context, in *versionsInput) (*listOutput[ConnectorRef], error) {
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
		return list(&in.ListInput, path, rows, next, refOf), nil
	})
	register(s, huma.Operation{
		OperationID: "preview-connector", Method: http.MethodPost, Path: "/v1/connectors/preview", Summary: "Compile a specification and store nothing", Tags: tags,
	}, func(ctx context.Context, in *previewInput) (*jobOutput, error) {
		return s.run(ctx, "connector.preview", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.preview(ctx, &CreateToolset{Source: in.Body.Source, Auth: in.Body.Auth}, phase)
		})
	})
	documentJob(s.api.OpenAPI(), "/v1/connectors/preview", Preview{}, http.StatusOK)
}

func (s *Server) preview(ctx context.Context, in *CreateToolset, phase func(string)) (*request.Done, error) {
	if err := s.useCommand(ctx, in); err != nil {
		return nil, err
	}
	named := in.addresses()
	in, entry, err := s.fromCatalog(in)
	if err != nil {
		return nil, err
	}
	ctx, _ = s.grants.See(ctx, named) // for reading it alone: no toolset is made
	src, err := s.readSource(ctx, in, nil, phase)
	if err != nil {
		return nil, err
	}
	ws := s.workspace(ctx)
	c, err := s.compiler.compile(ctx, ws.ID(), src, phase)
	if err != nil {
		return nil, err
	}
	d := &draft.Draft{Toolset: new(store.Toolset), Part: &draft.Part{Conn: c.Conn}}
	d.Parts = []*draft.Part{d.Part}
	if entry != nil {
		if err := adoption.Adopt(d, entry); err != nil {
			return nil, err
		}
	}
	return &request.Done{Status: http.StatusOK, Body: Preview{Name: draft.ConnectorName(c.Pushed, ws.ID()), Report: *c.Report, Tools: d.Tools(false)}}, nil
}

func showConnector(row *store.Connector, v *store.ConnectorVersion) Connector {
	return Connector{
		Name: row.Name, Title: row.Title, Kind: row.Kind, Source: row.Source, Latest: refOf(v), Tools: int(v.Tools),
		CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time,
	}
}
