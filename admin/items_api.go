package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/toolset"
)

type itemsInput struct {
	ToolsetInput
	ListInput
}

type itemsUpdateInput struct {
	ToolsetInput
	request.MatchInput
	Body draft.ItemsUpdate
}

func registerItems(s *Server) {
	tags := []string{"tools"}
	const path = "/v1/toolsets/{id}/items"
	register(s, huma.Operation{
		OperationID: "list-items", Method: http.MethodGet, Path: path, Summary: "List the prompts, resources and resource templates of a toolset", Tags: tags,
		Description: "What its MCP servers have besides tools, in the order of the connectors, prompts first, enabled or not, with the toolset's edits applied.",
	}, of(s, listItems))
	register(s, huma.Operation{
		OperationID: "batch-update-items", Method: http.MethodPost, Path: path + "/batch-update", Summary: "Change prompts, resources and resource templates", Tags: tags,
		Description: "Rename, describe, enable or disable them: all changes or none. Edits are kept by kind and key, so they outlive a new version of the server.",
	}, func(ctx context.Context, in *itemsUpdateInput) (*toolsetOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.UpdateItems(ctx, ws, in.ID, &in.MatchInput, &in.Body)
		if err != nil {
			return nil, err
		}
		return s.toolsetAnswer(ctx, ws, d)
	})
}

func listItems(ctx context.Context, s *Server, in *itemsInput) (*listOutput[toolset.Item], error) {
	d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	path := "/v1/toolsets/" + d.Toolset.ID + "/items"
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	if p.After, err = keyAfter(d, p.After); err != nil {
		return nil, err
	}
	return pageOf(d, &in.ListInput, path, toolset.ItemList, d.Items(), p)
}
