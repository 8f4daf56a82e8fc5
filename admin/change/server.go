package change

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// envHeader begins the name of the header that gives a command a credential as an
// environment variable, as package process of the gateway reads it.
const envHeader = "Sluice-Env-"

// useCommand gives a source that is a command its address. Nothing is kept or run.
func (r *Reader) useCommand(ctx context.Context, in *CreateToolset) error {
	m := in.Source.MCP
	switch {
	case m == nil:
		return nil
	case m.Command == nil && m.URL == "":
		return request.FieldFault("/source/mcp", "source.mcp needs url or command")
	case m.Command == nil:
		return nil
	case m.URL != "" || in.BaseURL != "" || in.Login != "":
		return request.FieldFault("/source/mcp/command", "a command has no URL and no login")
	}
	if err := local.Require(ctx, r.Local.Commands); err != nil {
		return err
	}
	if in.Auth != nil {
		for _, it := range in.Auth.Each() {
			if it.AuthType != registry.AuthNone && (it.AuthType != registry.AuthHeader || !strings.HasPrefix(it.HeaderName, envHeader) || it.HeaderPrefix != "") {
				return request.FieldFault("/authentication", "a command gets credentials as environment variables: authType header with headerName %sNAME (--auth env:NAME)", envHeader)
			}
		}
	}
	at, err := r.Local.Commands.Address(m.Command)
	if err != nil {
		return err
	}
	in.Source.MCP = &MCPSource{URL: at, Command: m.Command}
	return nil
}

// serverAddress is the address of the MCP server of a request. That of a command comes
// from the command itself, or from the toolset that is refreshed.
func (r *Reader) serverAddress(ctx context.Context, in *CreateToolset, again *refresh, phase func(string)) (string, error) {
	m := in.Source.MCP
	if m.Command == nil && (again == nil || !registry.IsStdio(m.URL)) {
		return mcpserver.CheckURL(m.URL)
	}
	if m.Command != nil {
		phase("installing the command")
		if err := r.Local.Add(ctx, m.Command); err != nil {
			return "", err
		}
	}
	return m.URL, nil
}

// readServer asks the MCP server of a request what it has.
func (r *Reader) readServer(ctx context.Context, in *CreateToolset, again *refresh, phase func(string)) (*source.Source, error) {
	u, err := r.serverAddress(ctx, in, again, phase)
	if err != nil {
		return nil, err
	}
	t := mcpserver.Target{URL: u, Noticed: noticedOf(ctx)}
	creds, err := r.serverCredentials(ctx, in, again, u)
	if err != nil {
		return nil, err
	}
	if in.BaseURL != "" {
		t.URL = in.BaseURL
	}
	phase("connecting to the MCP server")
	l, err := r.Servers.List(ctx, t, creds)
	if err != nil {
		if in.Source.MCP.Command != nil { // the operator adds it, and perhaps there is no toolset to look at
			err = r.Local.Explain(u, err)
		}
		return nil, err
	}
	l.Server.URL = u
	if again != nil {
		r.Upstreams.Keep(again.toolset.ID, again.source.Connector, l.TTL, l.Tells)
	}
	src := &source.Source{URL: u, Server: &l.Server, TTL: l.TTL, Tells: l.Tells, Notices: l.Notices, Refused: l.Refused}
	src.Title = cmp.Or(l.Server.Title, l.Server.Name, credential.Hostname(u))
	if c := in.Source.MCP.Command; c != nil {
		src.Title = cmp.Or(l.Server.Title, l.Server.Name, filepath.Base(c.Argv[0]))
	}
	return src, nil
}

// serverCredentials are those of the request, or of the toolset that it refreshes.
func (r *Reader) serverCredentials(ctx context.Context, in *CreateToolset, again *refresh, u string) ([]credential.Draft, error) {
	ws := r.workspace(ctx)
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
		if err := r.Drafts.Authenticate(d, in.Auth, "/authentication"); err != nil {
			return nil, err
		}
	}
	return d.Creds, nil
}
