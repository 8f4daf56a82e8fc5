package change

import (
	"cmp"
	"context"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change/compile"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/admin/login/upstream"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/grant"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	entries "github.com/sluicegate/sluice/plugins/catalog"
)

// Reader reads sources: what a request names, of the catalog, of a command, or of an MCP
// server or a document at an address.
type Reader struct {
	Drafts    *draft.Room
	Sources   *source.Room
	Catalog   *catalog.Room
	Local     *local.Room
	Servers   *mcpserver.Room
	Upstreams *upstream.Room
	Logins    *login.Room
	Grants    *grant.Room
}

// adopt makes the configuration of the login that a creation names its own.
func (r *Reader) adopt(ctx context.Context, in *CreateToolset) (err error) {
	if in.Login == "" || in.Auth != nil && in.Auth.Adopts() {
		return nil
	}
	if in.Source.MCP == nil {
		return problem.New(problem.InvalidArgument, "a login is for MCP servers only").At("", 0, 0, "/login")
	}
	u, err := mcpserver.CheckURL(in.Source.MCP.URL)
	if err != nil {
		return err
	}
	in.Auth, err = r.Logins.TakeOver(ctx, in.Login, u, in.Auth)
	return err
}

// check finds the faults of a creation that need no specification.
func (in *CreateToolset) check() error {
	if err := source.CheckBaseURL(in.BaseURL, "/baseUrl"); err != nil {
		return err
	}
	if in.Auth != nil {
		if in.Source.MCP != nil {
			in.Auth.Aim(cmp.Or(in.BaseURL, in.Source.MCP.URL))
		}
		// A refresh may keep the stored secret; whether there is one is seen later.
		return in.Auth.Check("/authentication", credential.KeepAny)
	}
	return nil
}

// slug is the name of the toolset in URLs: the one given, one made of the given
// name, or the connector's, which is made of the title without what says nothing.
func (in *CreateToolset) slug(connector string) string {
	switch {
	case in.Slug != "":
		return in.Slug
	case in.Name != "":
		if slug := compile.Slug(in.Name); slug != "" {
			return slug
		}
	}
	return connector
}

// addresses are what a creation names for the node to dial.
func (in *CreateToolset) addresses() []string {
	named := []string{in.BaseURL}
	if in.Source.MCP != nil {
		named = append(named, in.Source.MCP.URL)
	}
	if in.Source.Catalog != nil {
		named = append(named, in.Source.Catalog.URL)
	}
	if in.Source.OpenAPI != nil {
		named = append(named, in.Source.OpenAPI.URL)
		for i := range in.Source.OpenAPI.Overlays {
			named = append(named, in.Source.OpenAPI.Overlays[i].URL)
		}
	}
	if in.Auth != nil {
		named = append(named, in.Auth.Addresses()...)
	}
	return named
}

// ofNamed returns a context that has the grants of the toolset that a request is about,
// as far as that is known before its specification is.
func (r *Reader) ofNamed(ctx context.Context, ws *store.Workspace, in *CreateToolset, again *refresh) (context.Context, error) {
	if again != nil {
		return safedial.WithHolder(ctx, again.toolset.ID), nil
	}
	slug := in.slug("")
	if slug == "" {
		return ctx, nil
	}
	ts, err := ws.ToolsetBySlug(ctx, slug)
	switch {
	case problem.Is(err, problem.NotFound):
		return ctx, nil
	case err != nil:
		return nil, err
	}
	return safedial.WithHolder(ctx, ts.ID), nil
}

// readSource takes the source out of a request or fetches it.
func (r *Reader) readSource(ctx context.Context, in *CreateToolset, again *refresh, phase func(string)) (*source.Source, error) {
	o := in.Source.OpenAPI
	switch {
	case o != nil && in.Source.MCP != nil:
		return nil, request.FieldFault("/source", "the request names two sources: send source.openapi or source.mcp")
	case in.Source.MCP != nil:
		return r.readServer(ctx, in, again, phase)
	case o == nil:
		return nil, request.FieldFault("/source", "the request names no source: send source.openapi.url, source.openapi.document, source.mcp.url, source.catalog.entry or a multipart file")
	}
	return r.Sources.Read(ctx, o, again.validators(), phase)
}

// fromCatalog is a request whose source is an entry of the catalog, with the document or
// server of the entry as its source. The entry is nil for any other source.
func (r *Reader) fromCatalog(in *CreateToolset) (*CreateToolset, *catalog.Adoption, error) {
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
	entry, err := r.Catalog.Adopt(from, wanted)
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
