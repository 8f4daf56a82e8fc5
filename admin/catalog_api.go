package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/store/listing"
)

type listCatalogInput struct {
	Query    string `query:"q" maxLength:"256" doc:"Words to find in names, summaries, use cases and tools; the best entries first."`
	Category string `query:"category" maxLength:"40" doc:"Only of this category."`
	Kind     string `query:"kind" enum:"openapi,mcp" doc:"Only of this kind."`
	Filter   string `query:"filter" maxLength:"512" doc:"Conditions that must all hold."`
	OrderBy  string `query:"orderBy" maxLength:"200" doc:"Fields to sort by, separated by commas; -FIELD for descending. Default: by name, and with q the best entries first."`
}

type catalogInput struct {
	ID string `path:"id" maxLength:"63"`
}

func registerCatalog(s *Server) {
	tags := []string{"catalog"}
	register(s, huma.Operation{
		OperationID: "list-catalog", Method: http.MethodGet, Path: "/v1/catalog", Summary: "List the pre-built connectors", Tags: tags,
		Description: "POST /v1/toolsets with source.catalog creates a toolset from one.",
	}, func(ctx context.Context, in *listCatalogInput) (*bodyOutput[List[catalog.EntryOutline]], error) {
		q, err := listing.Parse(&catalog.EntryList.Spec, "", in.Filter, in.OrderBy, s.now())
		if err != nil {
			return nil, err
		}
		all := s.catalog.List(in.Query, in.Category, in.Kind)
		items, _, err := catalog.EntryList.Page(all, q, "", len(all))
		if err != nil {
			return nil, err
		}
		uses, err := s.workspace(ctx).EntryUses(ctx)
		if err != nil {
			return nil, err
		}
		err = s.catalog.Mark(items, uses)
		return answer(List[catalog.EntryOutline]{Items: items}, err)
	})
	register(s, huma.Operation{
		OperationID: "get-catalog-entry", Method: http.MethodGet, Path: "/v1/catalog/{id}", Summary: "Read a pre-built connector", Tags: tags,
	}, func(_ context.Context, in *catalogInput) (*bodyOutput[catalog.EntryDetail], error) {
		return answer(s.catalog.Show(in.ID))
	})
	registerEntryUpdates(s)
}
