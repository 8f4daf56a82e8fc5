package view

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/fleet/domain"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/upstream"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/registry"
)

// Room renders what toolsets and connectors are.
type Room struct {
	Domains   *domain.Room
	Upstreams *upstream.Room
	// Catalog says which entries connectors were made of.
	Catalog *catalog.Room
	// GatewayURL is where toolset URLs start.
	GatewayURL string
	// Closed says that others than this machine may reach the gateways.
	Closed bool
	Now    func() time.Time
}

// Records are what toolsets are shown by: the records of a workspace, or those that were
// gathered for a page of toolsets.
type Records interface {
	domain.Records
	difference.Records
	LastTestRun(ctx context.Context, toolset, digest string) (*store.TestRun, error)
	Access(ctx context.Context, toolset string) (*store.ToolsetAccess, error)
}

// Toolset renders a toolset.
func (r *Room) Toolset(ctx context.Context, records Records, d *draft.Draft) (Toolset, error) {
	test, err := records.LastTestRun(ctx, d.Toolset.ID, d.Toolset.DraftDigest)
	if err != nil {
		return Toolset{}, err
	}
	open, err := records.Access(ctx, d.Toolset.ID)
	if err != nil {
		return Toolset{}, err
	}
	t := Toolset{
		ID: d.Toolset.ID, Slug: d.Toolset.Slug, Name: d.Toolset.Name, Description: d.Toolset.Description, Instructions: d.Toolset.Instructions,
		Status:  "draft",
		Profile: d.Toolset.Profile, Access: Access{Mode: access.ModeOf(open), Public: r.Closed && access.ModeOf(open) == registry.AccessNone}, Digest: d.Toolset.DraftDigest, LiveDigest: d.Toolset.LiveDigest, Revision: d.Toolset.LiveRevision,
		Changed: d.Toolset.LiveRevision > 0 && d.Toolset.LiveDigest != d.Toolset.DraftDigest, CreatedAt: d.Toolset.CreatedAt.Time, UpdatedAt: d.Toolset.UpdatedAt.Time,
	}
	if t.URL, err = r.Domains.ToolsetURL(ctx, records, d.Toolset, r.GatewayURL); err != nil {
		return Toolset{}, err
	}
	if d.Toolset.LiveRevision > 0 {
		t.Status = "live"
	}
	if t.Paused, err = access.PausedOf(open); err != nil {
		return Toolset{}, err
	}
	if d.Toolset.CacheSeconds > 0 {
		t.Cache = &CachePolicy{TTLSeconds: int(d.Toolset.CacheSeconds)}
	}
	t.Answers = toolset.ShowAnswers(d.Toolset.Answers)
	if err = t.showSelection(d.Toolset); err != nil {
		return Toolset{}, err
	}
	for _, p := range d.Parts {
		c, err := r.Connector(ctx, records, p)
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

func (t *Toolset) showSelection(ts *store.Toolset) error {
	c, err := choice.Of(ts)
	if err != nil {
		return err
	}
	t.Selection, t.UseCase, t.Learn, t.Batch, t.Destructive, t.ScriptLimits = c.Mode, c.UseCase, c.Learn, c.Batch, c.Destructive, c.Limits
	return nil
}

// Connector renders a connector of a toolset.
func (r *Room) Connector(ctx context.Context, records Records, p *draft.Part) (c *ToolsetConnector, err error) {
	said := p.Report
	c = &ToolsetConnector{
		Name: p.Row.Name,
		Source: Source{
			Kind: p.Row.SourceKind, URL: p.Row.SourceURL, Title: said.Title, Version: said.Version, SpecDigest: said.SpecDigest,
			Format: said.Format, Spec: said.SpecVersion, SizeBytes: said.SizeBytes,
		},
		Connector: Ref(p.Version), BaseURL: p.BaseURL(), Servers: said.Servers, Answers: toolset.ShowAnswers(p.Row.Answers), Fixed: toolset.ShowFixed(p.Row.Fixed),
		ToolCount: int(p.Version.Tools), Methods: said.Methods,
	}
	if c.Entry, err = r.Catalog.Followed(p.Row.Entry); err != nil {
		return nil, err
	}
	if p.Row.SourceKind == store.SourceMCP {
		if c.Upstream, err = r.upstreamState(ctx, records, p); err != nil {
			return nil, err
		}
	}
	if len(p.Creds) > 0 {
		c.Authentication, err = credential.Show(p.Creds, r.Now())
	}
	return c, err
}

// Detail renders a connector with what the compiler said about its source.
func (r *Room) Detail(ctx context.Context, records Records, p *draft.Part) (ToolsetConnectorDetail, error) {
	c, err := r.Connector(ctx, records, p)
	if err != nil {
		return ToolsetConnectorDetail{}, err
	}
	return ToolsetConnectorDetail{
		ToolsetConnector: *c, Operations: p.Report.Operations, Unsupported: p.Report.Unsupported, Warnings: p.Report.Warnings,
	}, nil
}

func (r *Room) upstreamState(ctx context.Context, records Records, p *draft.Part) (*UpstreamState, error) {
	out := &UpstreamState{Policy: p.Policy(), Stateless: p.Row.Stateless}
	last, err := difference.Last(ctx, records, p.Row.ToolsetID, p.Row.Name)
	if err != nil {
		return nil, err
	}
	out.Quarantined = last != nil && last.Waits
	seen := r.Upstreams.Sight(p.Row.ToolsetID, p.Row.Name)
	out.CheckedAt, out.Fault, out.Listening = seen.At, seen.Fault, seen.Listening
	return out, nil
}

// DetailOf adds what the compiler said about all sources.
func DetailOf(d *draft.Draft, t Toolset) ToolsetDetail {
	out := ToolsetDetail{Toolset: t, Unsupported: []toolset.Unsupported{}, Warnings: []toolset.Diagnostic{}}
	for _, p := range d.Parts {
		out.Operations += p.Report.Operations
		out.Unsupported = append(out.Unsupported, p.Report.Unsupported...)
		out.Warnings = append(out.Warnings, p.Report.Warnings...)
	}
	return out
}

// Ref names a version of a connector.
func Ref(v *store.ConnectorVersion) ConnectorRef {
	return ConnectorRef{Name: v.Connector, Version: v.Version, Tag: v.Tag, Digest: v.Digest, Repository: v.Repository, Manifest: v.Manifest}
}

// ShowConnector renders a connector of a workspace; v is its latest version.
func ShowConnector(row *store.Connector, v *store.ConnectorVersion) Connector {
	return Connector{
		Name: row.Name, Title: row.Title, Kind: row.Kind, Source: row.Source, Latest: Ref(v), Tools: int(v.Tools),
		CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time,
	}
}

// ShowRevision renders a published state of a toolset. names are those of the actors.
func ShowRevision(r *store.Revision, names map[string]string) Revision {
	return Revision{
		N: r.N, Digest: r.Digest, Live: r.State == store.Published, State: string(r.State), Restores: r.Restores, Author: r.Author, By: names[r.Author],
		Reason: r.Reason, TestRunID: r.TestRunID, At: r.CreatedAt.Time,
	}
}
