package admin

import (
	"context"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/registry"
)

// show renders a toolset.
func (s *Server) show(ctx context.Context, ws *store.Workspace, d *draft) (Toolset, error) {
	test, err := ws.LastTestRun(ctx, d.ts.ID, d.ts.DraftDigest)
	if err != nil {
		return Toolset{}, err
	}
	open, err := ws.Access(ctx, d.ts.ID)
	if err != nil {
		return Toolset{}, err
	}
	t := Toolset{
		ID: d.ts.ID, Slug: d.ts.Slug, Name: d.ts.Name, Description: d.ts.Description, Instructions: d.ts.Instructions,
		Status:  "draft",
		Profile: d.ts.Profile, Access: Access{Mode: access.ModeOf(open), Public: s.o.Closed && access.ModeOf(open) == registry.AccessNone}, Digest: d.ts.DraftDigest, LiveDigest: d.ts.LiveDigest, Revision: d.ts.LiveRevision,
		Changed: d.ts.LiveRevision > 0 && d.ts.LiveDigest != d.ts.DraftDigest, CreatedAt: d.ts.CreatedAt.Time, UpdatedAt: d.ts.UpdatedAt.Time,
	}
	if t.URL, err = s.toolsetURL(ctx, ws, d.ts); err != nil {
		return Toolset{}, err
	}
	if d.ts.LiveRevision > 0 {
		t.Status = "live"
	}
	if d.ts.CacheSeconds > 0 {
		t.Cache = &CachePolicy{TTLSeconds: int(d.ts.CacheSeconds)}
	}
	t.Answers = toolset.ShowAnswers(d.ts.Answers)
	if err = t.showSelection(d.ts); err != nil {
		return Toolset{}, err
	}
	for _, p := range d.parts {
		c, err := s.showPart(ctx, ws, p)
		if err != nil {
			return Toolset{}, err
		}
		t.Connectors = append(t.Connectors, *c)
		t.ToolCount += c.ToolCount
	}
	t.EnabledTools = int(d.ts.EnabledTools)
	c := &t.Connectors[0]
	t.Source, t.Upstream, t.Connector, t.BaseURL, t.Servers = c.Source, c.Upstream, c.Connector, c.BaseURL, c.Servers
	t.Methods, t.Authentication = c.Methods, c.Authentication
	if test != nil {
		if t.Test, err = showTest(test); err != nil {
			return Toolset{}, err
		}
	}
	return t, nil
}

// detailOf adds what the compiler said about all sources.
func detailOf(d *draft, t Toolset) ToolsetDetail {
	out := ToolsetDetail{Toolset: t, Unsupported: []toolset.Unsupported{}, Warnings: []toolset.Diagnostic{}}
	for _, p := range d.parts {
		out.Operations += p.report.Operations
		out.Unsupported = append(out.Unsupported, p.report.Unsupported...)
		out.Warnings = append(out.Warnings, p.report.Warnings...)
	}
	return out
}

func refOf(v *store.ConnectorVersion) ConnectorRef {
	return ConnectorRef{Name: v.Connector, Version: v.Version, Tag: v.Tag, Digest: v.Digest, Repository: v.Repository, Manifest: v.Manifest}
}
