package admin

import (
	"context"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/rollout"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/registry"
)

// show renders a toolset.
func (s *Server) show(ctx context.Context, ws *store.Workspace, d *draft.Draft) (Toolset, error) {
	test, err := ws.LastTestRun(ctx, d.Toolset.ID, d.Toolset.DraftDigest)
	if err != nil {
		return Toolset{}, err
	}
	open, err := ws.Access(ctx, d.Toolset.ID)
	if err != nil {
		return Toolset{}, err
	}
	t := Toolset{
		ID: d.Toolset.ID, Slug: d.Toolset.Slug, Name: d.Toolset.Name, Description: d.Toolset.Description, Instructions: d.Toolset.Instructions,
		Status:  "draft",
		Profile: d.Toolset.Profile, Access: Access{Mode: access.ModeOf(open), Public: s.o.Closed && access.ModeOf(open) == registry.AccessNone}, Digest: d.Toolset.DraftDigest, LiveDigest: d.Toolset.LiveDigest, Revision: d.Toolset.LiveRevision,
		Changed: d.Toolset.LiveRevision > 0 && d.Toolset.LiveDigest != d.Toolset.DraftDigest, CreatedAt: d.Toolset.CreatedAt.Time, UpdatedAt: d.Toolset.UpdatedAt.Time,
	}
	if t.URL, err = s.toolsetURL(ctx, ws, d.Toolset); err != nil {
		return Toolset{}, err
	}
	if d.Toolset.LiveRevision > 0 {
		t.Status = "live"
	}
	if d.Toolset.CacheSeconds > 0 {
		t.Cache = &CachePolicy{TTLSeconds: int(d.Toolset.CacheSeconds)}
	}
	t.Answers = toolset.ShowAnswers(d.Toolset.Answers)
	if err = t.showSelection(d.Toolset); err != nil {
		return Toolset{}, err
	}
	for _, p := range d.Parts {
		c, err := s.showPart(ctx, ws, p)
		if err != nil {
			return Toolset{}, err
		}
		t.Connectors = append(t.Connectors, *c)
		t.ToolCount += c.ToolCount
	}
	t.EnabledTools = int(d.Toolset.EnabledTools)
	c := &t.Connectors[0]
	t.Source, t.Upstream, t.Connector, t.BaseURL, t.Servers = c.Source, c.Upstream, c.Connector, c.BaseURL, c.Servers
	t.Methods, t.Authentication = c.Methods, c.Authentication
	if test != nil {
		if t.Test, err = rollout.ShowTest(test); err != nil {
			return Toolset{}, err
		}
	}
	return t, nil
}

// detailOf adds what the compiler said about all sources.
func detailOf(d *draft.Draft, t Toolset) ToolsetDetail {
	out := ToolsetDetail{Toolset: t, Unsupported: []toolset.Unsupported{}, Warnings: []toolset.Diagnostic{}}
	for _, p := range d.Parts {
		out.Operations += p.Report.Operations
		out.Unsupported = append(out.Unsupported, p.Report.Unsupported...)
		out.Warnings = append(out.Warnings, p.Report.Warnings...)
	}
	return out
}

func refOf(v *store.ConnectorVersion) ConnectorRef {
	return ConnectorRef{Name: v.Connector, Version: v.Version, Tag: v.Tag, Digest: v.Digest, Repository: v.Repository, Manifest: v.Manifest}
}
