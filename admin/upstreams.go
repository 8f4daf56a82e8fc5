package admin

import (
	"context"
	"log/slog"

	"github.com/sluicegate/sluice/admin/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/mcpserver"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/upstream"
	"github.com/sluicegate/sluice/internal/safedial"
)

// openUpstreams opens the room of MCP servers.
func (s *Server) openUpstreams() {
	o := upstream.Options{Store: s.o.Store, Log: s.log, Work: s.work, Go: s.jobs.Go, Check: s.checkServer}
	if s.o.MCP != nil {
		o.Listen = s.listenToServer
	}
	s.upstreams = upstream.New(o)
}

// Upstreams is the room of MCP servers, for a caller who wants them looked at now. Run
// does it all the time.
func (s *Server) Upstreams() *upstream.Room { return s.upstreams }

// checkServer refreshes one connector of a toolset as its policy wants it.
func (s *Server) checkServer(ctx context.Context, ts *store.Toolset, c *store.ToolsetConnector) error {
	ctx = request.With(ctx, &request.Request{Workspace: ts.WorkspaceID})
	req := &RefreshRequest{Connector: c.Name}
	if c.UpstreamPolicy == upstream.Follow {
		req.Accept, req.follows = true, true
		req.Deploy = &CreateDeploy{UntestedReason: "the toolset follows its MCP server"}
	}
	_, err := s.refresh(ctx, ts.ID, req, func(string) {})
	return err
}

// upstreamChanged tells that the MCP server of a toolset changed its tools.
func (s *Server) upstreamChanged(d *draft.Draft, c *difference.Changes, level slog.Level) {
	s.log.LogAttrs(s.work, level, "an MCP server changed its tools", slog.String("toolset", d.Toolset.Slug), slog.String("connector", d.Row.Name), slog.String("policy", d.Policy()),
		slog.Int("added", c.Added), slog.Int("removed", c.Removed), slog.Int("changed", c.Changed), slog.Bool("quarantined", c.Waits))
	to := "changed"
	if c.Waits {
		to = "quarantined"
	}
	s.events.Emit(publish.Event{Type: "toolset.upstream_changed", Workspace: d.Toolset.WorkspaceID, Toolset: d.Toolset.ID, Revision: d.Toolset.LiveRevision, Digest: c.To.Digest, From: c.From.Digest, To: to})
}

// listenToServer keeps one stream to a server open until it ends.
func (s *Server) listenToServer(ctx context.Context, c *store.ToolsetConnector, opened, changed func()) error {
	ctx = request.With(ctx, &request.Request{Workspace: c.WorkspaceID})
	ws := s.o.Store.Workspace(c.WorkspaceID)
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
	conn, err := s.opened.Open(ctx, d.Version)
	if err != nil {
		return err
	}
	t, err := s.asked.Target(mcpserver.Target{URL: d.BaseURL(), Hint: *conn.Opened.MCP()}, d.Creds)
	if err != nil {
		return err
	}
	return s.o.MCP.Listen(safedial.WithHolder(ctx, ts.ID), t, opened, changed)
}
