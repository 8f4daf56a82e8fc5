package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/registry"
)

// declare is a toolset as a document. to seals its secrets; nil: they are left out.
func (r *Room) declare(ctx context.Context, ws *store.Workspace, ts *store.Toolset, to age.Recipient) (*declare.DeclaredToolset, error) {
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
		c, err := r.declareConnector(ctx, ws, &rows[i], to)
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
		t := declare.DeclaredTool{Operation: toolset.OperationOf(e), Name: e.Name, Title: e.Title, Description: e.Description, Disabled: e.Disabled, Answers: toolset.ShowAnswers(e.Answers), Fixed: toolset.ShowFixed(e.Fixed), Arguments: toolset.ShowArguments(e.Arguments), Texts: toolset.ShowTexts(e.Texts)}
		if t.Annotations, err = toolset.AnnotationsOf(e.Annotations); err != nil {
			return nil, err
		}
		if t.Name != nil || t.Title != nil || t.Description != nil || t.Disabled || t.Answers != nil || t.Annotations != nil || t.Fixed != nil || t.Arguments != nil || t.Texts != nil {
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
func (r *Room) declareConnector(ctx context.Context, ws *store.Workspace, row *store.ToolsetConnector, to age.Recipient) (*declare.DeclaredConnector, error) {
	out := &declare.DeclaredConnector{Name: row.Name, BaseURL: row.BaseURL, UpstreamPolicy: row.UpstreamPolicy, Stateless: row.Stateless, Answers: toolset.ShowAnswers(row.Answers), Fixed: toolset.ShowFixed(row.Fixed), CatalogEntry: json.RawMessage(row.Entry)}
	var err error
	if out.Source, err = declare.SourceOf(ctx, ws, row); err != nil {
		return nil, err
	}
	out.Source.Command = r.Local.Of(row.SourceURL)
	creds, err := credential.Load(ctx, ws, row.ToolsetID, row.Name)
	if err != nil {
		return nil, err
	}
	for i := range creds {
		a, err := declare.AuthOf(&creds[i].Row, to, r.Logins.Secrets.Unseal)
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
