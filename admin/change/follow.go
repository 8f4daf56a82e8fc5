package change

import (
	"context"
	"log/slog"

	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/admin/login/upstream"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/safedial"
)

// Follow refreshes one connector of a toolset as its policy wants it.
func (r *Room) Follow(ctx context.Context, ts *store.Toolset, c *store.ToolsetConnector) error {
	ctx = request.With(ctx, &request.Request{Workspace: ts.WorkspaceID})
	req := &RefreshRequest{Connector: c.Name}
	if c.UpstreamPolicy == upstream.Follow {
		req.Accept, req.follows = true, true
		req.Deploy = &CreateDeploy{UntestedReason: "the toolset follows its MCP server"}
	}
	_, err := r.Refresh(ctx, ts.ID, &request.MatchInput{}, req, func(string) {})
	return err
}

// upstreamChanged tells that the MCP server of a toolset changed its tools.
func (r *Room) upstreamChanged(d *draft.Draft, c *difference.Changes, level slog.Level) {
	r.Log.LogAttrs(r.Work, level, "an MCP server changed its tools", slog.String("toolset", d.Toolset.Slug), slog.String("connector", d.Row.Name), slog.String("policy", d.Policy()),
		slog.Int("added", c.Added), slog.Int("removed", c.Removed), slog.Int("changed", c.Changed), slog.Bool("quarantined", c.Waits))
	to := "changed"
	if c.Waits {
		to = "quarantined"
	}
	r.Events.Emit(publish.Event{Type: "toolset.upstream_changed", Workspace: d.Toolset.WorkspaceID, Toolset: d.Toolset.ID, Revision: d.Toolset.LiveRevision, Digest: c.To.Digest, From: c.From.Digest, To: to})
}

// Listen keeps one stream to a server open until it ends.
func (r *Room) Listen(ctx context.Context, c *store.ToolsetConnector, opened, changed func()) error {
	ctx = request.With(ctx, &request.Request{Workspace: c.WorkspaceID})
	ws := r.Drafts.Store.Workspace(c.WorkspaceID)
	ts, err := ws.Toolset(ctx, c.ToolsetID)
	if err != nil {
		return err
	}
	d, err := draft.Outline(ctx, ws, ts)
	if err != nil {
		return err
	}
	if err := d.Focus(c.Name); err != nil {
		return err
	}
	conn, err := r.Drafts.Opened.Open(ctx, d.Version)
	if err != nil {
		return err
	}
	t, err := r.Servers.Target(mcpserver.Target{URL: d.BaseURL(), Hint: *conn.Opened.MCP()}, d.Creds)
	if err != nil {
		return err
	}
	return r.Servers.MCP.Listen(safedial.WithHolder(ctx, ts.ID), t, opened, changed)
}
