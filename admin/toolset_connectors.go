package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// ToolsetConnectorInput is the path of a connector of a toolset.
type ToolsetConnectorInput struct {
	ToolsetInput
	Connector string `path:"connector" maxLength:"63" doc:"Its name in the toolset."`
}

type addConnectorInput struct {
	ToolsetInput
	request.MatchInput
	Body change.AddConnector
}

type patchConnectorInput struct {
	ToolsetConnectorInput
	request.MatchInput
	Body draft.PatchConnector `contentType:"application/merge-patch+json"`
}

type deleteConnectorInput struct {
	ToolsetConnectorInput
	request.MatchInput
}

type connectorOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body view.ToolsetConnectorDetail
}

type connectorsOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body List[view.ToolsetConnector]
}

func registerToolsetConnectors(s *Server) {
	tags := []string{"toolsets"}
	const path, one = "/v1/toolsets/{id}/connectors", "/v1/toolsets/{id}/connectors/{connector}"
	register(s, huma.Operation{
		OperationID: "list-toolset-connectors", Method: http.MethodGet, Path: path, Summary: "List the connectors of a toolset in their order", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*connectorsOutput, error) {
		d, t, err := s.outlined(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &connectorsOutput{ETag: request.ETag(d.Toolset.Version), Body: List[view.ToolsetConnector]{Items: t.Connectors}}, nil
	})
	register(s, huma.Operation{
		OperationID: "add-toolset-connector", Method: http.MethodPost, Path: path, Summary: "Add an API or an MCP server to a toolset", Tags: tags,
		Description: "Makes a connector, tests one of its safe tools, and deploys when the test passes. No tool that is there is renamed: " +
			"a new one whose name is taken gets the connector's name in front. The same source again refreshes that connector (200). " +
			"With If-Match, nothing is read when the toolset was changed since it was read.",
	}, func(ctx context.Context, in *addConnectorInput) (*jobOutput, error) {
		return s.run(ctx, "connector.add", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.changes.Add(ctx, in.ID, &in.MatchInput, &in.Body, phase)
		})
	})
	documentJob(s.api.OpenAPI(), path, change.AddedConnector{}, http.StatusCreated, http.StatusOK)
	register(s, huma.Operation{
		OperationID: "get-toolset-connector", Method: http.MethodGet, Path: one, Summary: "Read a connector of a toolset", Tags: tags,
	}, func(ctx context.Context, in *ToolsetConnectorInput) (*connectorOutput, error) {
		d, _, err := s.outlined(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if err := d.Focus(in.Connector); err != nil {
			return nil, err
		}
		return connectorAnswer(ctx, s, s.workspace(ctx), d)
	})
	register(s, huma.Operation{
		OperationID: "patch-toolset-connector", Method: http.MethodPatch, Path: one, Summary: "Change a connector of a toolset", Tags: tags,
		Description: "A change makes a new draft; the live revision stays until the draft is tested or deployed. Needs If-Match.",
	}, func(ctx context.Context, in *patchConnectorInput) (*connectorOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.PatchConnector(ctx, ws, in.ID, in.Connector, &in.MatchInput, &in.Body)
		if err != nil {
			return nil, err
		}
		if in.Body.BaseURL != nil {
			if err := s.grants.GrantNamed(ctx, ws, d.Toolset.ID, *in.Body.BaseURL); err != nil {
				return nil, err
			}
		}
		return connectorAnswer(ctx, s, ws, d)
	})
	register(s, huma.Operation{
		OperationID: "remove-toolset-connector", Method: http.MethodDelete, Path: one, Summary: "Take a connector out of a toolset", Tags: tags,
		Description: "Its edits, its examples and its credential are deleted with it; the live revision stays until the draft is tested or deployed, but its tools answer with an error " +
			"where they need the credential. The other tools keep their names. The last connector stays. Needs If-Match.",
	}, func(ctx context.Context, in *deleteConnectorInput) (*toolsetOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.changes.Remove(ctx, ws, in.ID, in.Connector, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		return s.toolsetAnswer(ctx, ws, d)
	})
}

func (s *Server) outlined(ctx context.Context, id string) (*draft.Draft, view.Toolset, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, view.Toolset{}, err
	}
	d, err := draft.Outline(ctx, ws, ts)
	if err != nil {
		return nil, view.Toolset{}, err
	}
	t, err := s.views.Toolset(ctx, ws, d)
	return d, t, err
}

func connectorAnswer(ctx context.Context, s *Server, ws *store.Workspace, d *draft.Draft) (*connectorOutput, error) {
	c, err := s.views.Detail(ctx, ws, d.Part)
	if err != nil {
		return nil, err
	}
	return &connectorOutput{ETag: request.ETag(d.Toolset.Version), Body: c}, nil
}
