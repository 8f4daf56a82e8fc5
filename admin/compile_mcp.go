package admin

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/mcpserver"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// readServer asks the MCP server of a request what it has.
func (s *Server) readServer(ctx context.Context, in *CreateToolset, again *refresh, phase func(string)) (*source.Source, error) {
	u, err := s.serverAddress(ctx, in, again, phase)
	if err != nil {
		return nil, err
	}
	t := mcpserver.Target{URL: u, Noticed: noticedOf(ctx)}
	creds, err := s.serverCredentials(ctx, in, again, u)
	if err != nil {
		return nil, err
	}
	if in.BaseURL != "" {
		t.URL = in.BaseURL
	}
	phase("connecting to the MCP server")
	l, err := s.asked.List(ctx, t, creds)
	if err != nil {
		return nil, err
	}
	l.Server.URL = u
	if again != nil {
		s.upstreams.Keep(again.toolset.ID, again.source.Connector, l.TTL, l.Tells)
	}
	src := &source.Source{URL: u, Server: &l.Server, TTL: l.TTL, Tells: l.Tells, Notices: l.Notices, Refused: l.Refused}
	src.Title = cmp.Or(l.Server.Title, l.Server.Name, credential.Hostname(u))
	if c := in.Source.MCP.Command; c != nil {
		src.Title = cmp.Or(l.Server.Title, l.Server.Name, filepath.Base(c.Argv[0]))
	}
	return src, nil
}

// serverCredentials are those of the request, or of the toolset that it refreshes.
func (s *Server) serverCredentials(ctx context.Context, in *CreateToolset, again *refresh, u string) ([]credential.Draft, error) {
	ws := s.workspace(ctx)
	d := &draft.Draft{Toolset: &store.Toolset{}, Part: &draft.Part{Report: &draft.Report{}}}
	connector := ""
	if again != nil {
		d.Toolset, connector = again.toolset, again.source.Connector
	} else if in.Slug != "" || in.Name != "" {
		found, err := ws.ToolsetBySlug(ctx, in.slug(""))
		if err != nil && !problem.Is(err, problem.NotFound) {
			return nil, err
		}
		if err == nil {
			rows, err := ws.ToolsetConnectors(ctx, found)
			if err != nil {
				return nil, err
			}
			for i := range rows {
				if rows[i].SourceKind == store.SourceMCP && rows[i].SourceURL == u && connector == "" {
					d.Toolset, connector = found, rows[i].Name
				}
			}
		}
	}
	if connector != "" {
		var err error
		if d.Creds, err = credential.Load(ctx, ws, d.Toolset.ID, connector); err != nil {
			return nil, err
		}
	}
	if in.Auth != nil {
		if err := s.drafts.Authenticate(d, in.Auth, "/authentication"); err != nil {
			return nil, err
		}
	}
	return d.Creds, nil
}
