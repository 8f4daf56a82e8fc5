package change

import (
	"context"
	"net/http"

	"github.com/sluicegate/sluice/admin/change/adoption"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
)

// PreviewRequest asks what a specification would become.
type PreviewRequest struct {
	Source CreateSource        `json:"source"`
	Auth   *credential.SetAuth `json:"authentication,omitempty" doc:"For an MCP server that wants it."`
}

// Preview is a specification compiled and not stored.
type Preview struct {
	Name   string         `json:"name" doc:"Name the connector would get."`
	Report draft.Report   `json:"report"`
	Tools  []toolset.Tool `json:"tools"`
}

// Preview compiles a source and stores nothing.
func (r *Room) Preview(ctx context.Context, req *PreviewRequest, phase func(string)) (*request.Done, error) {
	in := &CreateToolset{Source: req.Source, Auth: req.Auth}
	if err := r.useCommand(ctx, in); err != nil {
		return nil, err
	}
	named := in.addresses()
	in, entry, err := r.fromCatalog(in)
	if err != nil {
		return nil, err
	}
	ctx, _ = r.Grants.See(ctx, named) // for reading it alone: no toolset is made
	src, err := r.readSource(ctx, in, nil, phase)
	if err != nil {
		return nil, err
	}
	ws := r.workspace(ctx)
	c, err := r.Compiler.Source(ctx, ws.ID(), src, phase)
	if err != nil {
		return nil, err
	}
	d := &draft.Draft{Toolset: new(store.Toolset), Part: &draft.Part{Conn: c.Conn}}
	d.Parts = []*draft.Part{d.Part}
	if entry != nil {
		if err := adoption.Adopt(d, entry); err != nil {
			return nil, err
		}
		// Servers of the vendor's document are not used; an entry that asks for the address has none.
		if base, err := entry.BaseURL(""); err != nil || base != "" {
			c.Report.BaseURL = base
		}
	}
	return &request.Done{Status: http.StatusOK, Body: Preview{Name: draft.ConnectorName(c.Pushed, ws.ID()), Report: *c.Report, Tools: d.Tools(false)}}, nil
}
