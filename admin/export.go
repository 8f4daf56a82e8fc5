package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/backup"
	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/declare"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/workflow"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

type exportInput struct {
	Toolsets  []string `query:"toolset" maxItems:"200" doc:"Only these, by id or slug. Default: all."`
	Recipient string   `query:"recipient" maxLength:"200" doc:"age public key (age1…) that secrets are sealed for; needs the role admin. Default: secrets are left out."`
}

type exportOutput struct {
	ETag string `header:"ETag" doc:"Of what import would change, for its If-Match."`
	Body declare.Declaration
}

func (s *Server) registerExport() {
	tags := []string{"export"}
	register(s, huma.Operation{
		OperationID: "export-workspace", Method: http.MethodGet, Path: "/v1/export", Summary: "Read the workspace as a document", Tags: tags,
		Description: "Toolsets with their specifications, settings, edits, plugins, access and labels. The same toolsets give the same bytes on every server. " +
			"Without a recipient no secret is in it; access tokens, the tokens of OAuth logins, history and usage never are.",
	}, s.exportWorkspace)
	s.registerImport()
}

func (s *Server) exportWorkspace(ctx context.Context, in *exportInput) (*exportOutput, error) {
	var to age.Recipient
	if in.Recipient != "" {
		if err := request.RequireRole(ctx, store.RoleAdmin); err != nil {
			return nil, err
		}
		var err error
		if to, err = backup.ParseRecipient(in.Recipient); err != nil {
			return nil, err
		}
	}
	ws := s.workspace(ctx)
	all, err := declare.AllToolsets(ctx, ws)
	if err != nil {
		return nil, err
	}
	tag, err := declare.StateTag(ctx, ws, all)
	if err != nil {
		return nil, err
	}
	out := &exportOutput{ETag: tag, Body: declare.Declaration{FormatVersion: declare.DeclarationFormat, Toolsets: []declare.DeclaredToolset{}}}
	for _, name := range in.Toolsets {
		if !slices.ContainsFunc(all, func(t *store.Toolset) bool { return t.ID == name || t.Slug == name }) {
			return nil, problem.New(problem.NotFound, "there is no toolset %.80q in this workspace", name)
		}
	}
	for _, ts := range all {
		if len(in.Toolsets) > 0 && !slices.Contains(in.Toolsets, ts.ID) && !slices.Contains(in.Toolsets, ts.Slug) {
			continue
		}
		d, err := s.declare(ctx, ws, ts, to)
		if err != nil {
			return nil, fmt.Errorf("exporting toolset %s: %w", ts.Slug, err)
		}
		out.Body.Toolsets = append(out.Body.Toolsets, *d)
	}
	if len(in.Toolsets) == 0 {
		keys, err := declare.PublisherKeys(ctx, ws)
		if err != nil {
			return nil, err
		}
		for i := range keys {
			k := plugin.ShowKey(&keys[i])
			out.Body.PublisherKeys = append(out.Body.PublisherKeys, plugin.NewPublisherKey{Name: k.Name, PublicKey: k.PublicKey})
		}
	}
	if to != nil {
		err = ws.Update(ctx, func(tx *store.Tx) error {
			rec := request.Audit(ctx, "workspace.export", ws.ID())
			rec.After = store.JSON(map[string]any{"recipient": in.Recipient, "toolsets": len(out.Body.Toolsets), "secrets": "sealed"})
			return tx.Audit(ctx, rec)
		})
	}
	return out, err
}

// declare is a toolset as a document. to seals its secrets; nil: they are left out.
func (s *Server) declare(ctx context.Context, ws *store.Workspace, ts *store.Toolset, to age.Recipient) (*declare.DeclaredToolset, error) {
	out := &declare.DeclaredToolset{
		Slug: ts.Slug, Name: ts.Name, Description: ts.Description, Instructions: ts.Instructions, Profile: ts.Profile,
		CacheSeconds: ts.CacheSeconds, Answers: toolset.ShowAnswers(ts.Answers),
		Live: ts.LiveRevision > 0 && ts.LiveDigest == ts.DraftDigest,
	}
	rows, err := ws.ToolsetConnectors(ctx, ts)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		c, err := s.declareConnector(ctx, ws, &rows[i], to)
		if err != nil {
			return nil, err
		}
		out.Connectors = append(out.Connectors, *c)
	}
	if out.Selection, err = declare.SelectionOf(ts); err != nil {
		return nil, err
	}
	edits, err := ws.ToolEdits(ctx, ts.ID)
	if err != nil {
		return nil, err
	}
	for i := range edits {
		e := &edits[i]
		t := declare.DeclaredTool{Operation: toolset.OperationOf(e), Name: e.Name, Title: e.Title, Description: e.Description, Disabled: e.Disabled, Answers: toolset.ShowAnswers(e.Answers), Fixed: toolset.ShowFixed(e.Fixed), Arguments: toolset.ShowArguments(e.Arguments)}
		if t.Annotations, err = toolset.AnnotationsOf(e.Annotations); err != nil {
			return nil, err
		}
		if t.Name != nil || t.Title != nil || t.Description != nil || t.Disabled || t.Answers != nil || t.Annotations != nil || t.Fixed != nil || t.Arguments != nil {
			out.Tools = append(out.Tools, t)
		}
	}
	slices.SortFunc(out.Tools, func(a, b declare.DeclaredTool) int {
		return cmp.Or(strings.Compare(a.Connector, b.Connector), strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	bound, err := draft.BindingsOf(ts.Plugins)
	if err != nil {
		return nil, err
	}
	for i := range bound {
		out.Plugins = append(out.Plugins, declarePlugin(&bound[i]))
	}
	if out.Workflows, err = workflow.Read(ts.Workflows); err != nil {
		return nil, err
	}
	row, err := ws.Access(ctx, ts.ID)
	if err != nil {
		return nil, err
	}
	if row != nil {
		settings, err := access.SettingsOf(row)
		if err != nil {
			return nil, err
		}
		out.Capture = row.Capture
		if settings.Mode != registry.AccessNone || settings.Limits != nil {
			out.Access = &settings
		}
	}
	labels, err := ts.Labels()
	if len(labels) > 0 {
		out.Labels = labels
	}
	short := out.Normal()
	return &short, err
}

// declareConnector is one connector of a toolset.
func (s *Server) declareConnector(ctx context.Context, ws *store.Workspace, row *store.ToolsetConnector, to age.Recipient) (*declare.DeclaredConnector, error) {
	out := &declare.DeclaredConnector{Name: row.Name, BaseURL: row.BaseURL, UpstreamPolicy: row.UpstreamPolicy, Stateless: row.Stateless, Answers: toolset.ShowAnswers(row.Answers), Fixed: toolset.ShowFixed(row.Fixed)}
	var err error
	if out.Source, err = declare.SourceOf(ctx, ws, row); err != nil {
		return nil, err
	}
	out.Source.Command = s.commandOf(row.SourceURL)
	creds, err := credential.Load(ctx, ws, row.ToolsetID, row.Name)
	if err != nil {
		return nil, err
	}
	for i := range creds {
		a, err := declare.AuthOf(&creds[i].Row, to, s.logins.Secrets.Unseal)
		if err != nil {
			return nil, err
		}
		out.Authentication = append(out.Authentication, *a)
	}
	return out, nil
}

func declarePlugin(b *draft.Binding) declare.DeclaredPlugin {
	p := declare.DeclaredPlugin{Plugin: b.Plugin, Range: b.Range, Version: b.Pinned, Digest: b.Digest, OnError: b.OnError, Config: b.Config, Grants: plugin.ShowGrants(b.Grants)}
	if p.Connector = b.Connector; b.Path != "" {
		p.Connector, p.Operation = "", &toolset.Operation{Connector: b.Connector, Method: b.Method, Path: b.Path}
	}
	for i := range b.Calls {
		if p.Calls == nil {
			p.Calls = make(map[string]toolset.Operation, len(b.Calls))
		}
		p.Calls[b.Calls[i].Name] = b.Calls[i].Operation
	}
	if b.Unbind != nil {
		p.Unbind = &plugin.PluginUnbinding{ErrorPercent: b.Unbind.ErrorPercent, MeanMs: b.Unbind.MeanMilliseconds}
	}
	return p
}
