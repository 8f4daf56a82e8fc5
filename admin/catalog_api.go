package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/listing"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/toolset"
	entries "github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/registry"
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

func (s *Server) registerCatalog() {
	tags := []string{"catalog"}
	register(s, huma.Operation{
		OperationID: "list-catalog", Method: http.MethodGet, Path: "/v1/catalog", Summary: "List the pre-built connectors", Tags: tags,
		Description: "A toolset is made of one with POST /v1/toolsets and source.catalog.",
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
	s.registerEntryUpdates()
}

// fromCatalog is a request whose source is an entry of the catalog, with the document or
// server of the entry as its source. The entry is nil for any other source.
func (s *Server) fromCatalog(in *CreateToolset) (*CreateToolset, *catalog.Adoption, error) {
	from := in.Source.Catalog
	switch {
	case from == nil:
		return in, nil, nil
	case in.Source.OpenAPI != nil || in.Source.MCP != nil:
		return nil, nil, request.FieldFault("/source", "the request names two sources: send source.catalog alone")
	}
	var wanted func(string) bool
	if len(in.Tools) > 0 {
		g, err := toolset.ParseGlobs(in.Tools, "/tools")
		if err != nil {
			return nil, nil, err
		}
		wanted = g.Match
	}
	entry, err := s.catalog.Adopt(from, wanted)
	if err != nil {
		return nil, nil, err
	}
	entry.Wants(in.Tools)
	whole := *in
	if entry.Kind() == entries.KindMCP {
		whole.Source = CreateSource{MCP: &MCPSource{URL: entry.URL}}
	} else {
		whole.Source = CreateSource{OpenAPI: &source.OpenAPISource{URL: entry.URL}}
		whole.Policy = ""
	}
	if whole.Slug == "" && whole.Name == "" {
		whole.Slug = entry.ID
	}
	return &whole, entry, nil
}

// begin gives a new connector what its entry says besides the tools.
func (c *change) begin() (err error) {
	d, e := c.d, c.entry
	if d.Row.BaseURL, err = e.BaseURL(c.in.BaseURL); err != nil {
		return err
	}
	switch {
	case c.in.Profile != "":
	case c.isNew:
		d.Toolset.Profile = registry.ProfileConcise
	default:
		d.Row.Answers, err = toolset.ChangeAnswers(d.Row.Answers, &toolset.PatchAnswers{Profile: &concise}, "", registry.OfConnector, nil)
	}
	if c.isNew {
		if c.in.Name == "" {
			d.Toolset.Name = e.Name
		}
		if e.Instructions != "" {
			d.Toolset.Instructions = e.Instructions
		}
	}
	return err
}

var concise = registry.ProfileConcise
