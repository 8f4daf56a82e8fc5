package admin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/backup"
	"github.com/sluicegate/sluice/admin/choice"
	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/source"
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
	Body Declaration
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
	all, err := allToolsets(ctx, ws)
	if err != nil {
		return nil, err
	}
	tag, err := stateTag(ctx, ws, all)
	if err != nil {
		return nil, err
	}
	out := &exportOutput{ETag: tag, Body: Declaration{FormatVersion: DeclarationFormat, Toolsets: []DeclaredToolset{}}}
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
		keys, err := validPublisherKeys(ctx, ws)
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

// allToolsets are those of a workspace, by slug.
func allToolsets(ctx context.Context, ws *store.Workspace) ([]*store.Toolset, error) {
	rows, err := store.All(ctx, ws.Toolsets)
	if err != nil {
		return nil, err
	}
	out := make([]*store.Toolset, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	slices.SortFunc(out, func(a, b *store.Toolset) int { return strings.Compare(a.Slug, b.Slug) })
	return out, nil
}

// validPublisherKeys are the keys that were not revoked, by their public key.
func validPublisherKeys(ctx context.Context, ws *store.Workspace) ([]store.PublisherKey, error) {
	rows, err := store.All(ctx, ws.PublisherKeys)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(k store.PublisherKey) bool { return !k.RevokedAt.IsZero() })
	slices.SortFunc(rows, func(a, b store.PublisherKey) int { return bytes.Compare(a.PublicKey, b.PublicKey) })
	return rows, nil
}

// stateTag is an entity tag of everything that an import can change.
func stateTag(ctx context.Context, ws *store.Workspace, all []*store.Toolset) (string, error) {
	h := sha256.New()
	for _, ts := range all {
		row, err := ws.Access(ctx, ts.ID)
		if err != nil {
			return "", err
		}
		version := uint64(0)
		if row != nil {
			version = row.Version
		}
		fmt.Fprintf(h, "%s %d %d\n", ts.ID, ts.Version, version)
	}
	keys, err := validPublisherKeys(ctx, ws)
	if err != nil {
		return "", err
	}
	for i := range keys {
		fmt.Fprintf(h, "%s\n", keys[i].ID)
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`, nil
}

// declare is a toolset as a document. to seals its secrets; nil: they are left out.
func (s *Server) declare(ctx context.Context, ws *store.Workspace, ts *store.Toolset, to age.Recipient) (*DeclaredToolset, error) {
	out := &DeclaredToolset{
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
	if out.Selection, err = declareSelection(ts); err != nil {
		return nil, err
	}
	edits, err := ws.ToolEdits(ctx, ts.ID)
	if err != nil {
		return nil, err
	}
	for i := range edits {
		e := &edits[i]
		t := DeclaredTool{Operation: toolset.OperationOf(e), Name: e.Name, Title: e.Title, Description: e.Description, Disabled: e.Disabled, Answers: toolset.ShowAnswers(e.Answers), Fixed: toolset.ShowFixed(e.Fixed), Arguments: toolset.ShowArguments(e.Arguments)}
		if t.Annotations, err = toolset.AnnotationsOf(e.Annotations); err != nil {
			return nil, err
		}
		if t.Name != nil || t.Title != nil || t.Description != nil || t.Disabled || t.Answers != nil || t.Annotations != nil || t.Fixed != nil || t.Arguments != nil {
			out.Tools = append(out.Tools, t)
		}
	}
	slices.SortFunc(out.Tools, func(a, b DeclaredTool) int {
		return cmp.Or(strings.Compare(a.Connector, b.Connector), strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	bound, err := bindingsOf(ts.Plugins)
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
	short := out.normal()
	return &short, err
}

// declareConnector is one connector of a toolset.
func (s *Server) declareConnector(ctx context.Context, ws *store.Workspace, row *store.ToolsetConnector, to age.Recipient) (*DeclaredConnector, error) {
	out := &DeclaredConnector{Name: row.Name, BaseURL: row.BaseURL, UpstreamPolicy: row.UpstreamPolicy, Stateless: row.Stateless, Answers: toolset.ShowAnswers(row.Answers), Fixed: toolset.ShowFixed(row.Fixed)}
	var err error
	if out.Source, err = declareSource(ctx, ws, row); err != nil {
		return nil, err
	}
	out.Source.Command = s.commandOf(row.SourceURL)
	creds, err := loadCredentials(ctx, ws, row.ToolsetID, row.Name)
	if err != nil {
		return nil, err
	}
	for i := range creds {
		a, err := s.declareAuth(&creds[i].row, to)
		if err != nil {
			return nil, err
		}
		out.Authentication = append(out.Authentication, *a)
	}
	return out, nil
}

// declareSource reads what a connector was made of.
func declareSource(ctx context.Context, ws *store.Workspace, of *store.ToolsetConnector) (DeclaredSource, error) {
	out := DeclaredSource{Kind: of.SourceKind, URL: of.SourceURL}
	v, err := ws.ConnectorVersion(ctx, of.Connector, of.ConnectorDigest)
	if err != nil {
		return out, err
	}
	spec, err := ws.Specification(ctx, v.SpecDigest)
	if err != nil {
		return out, err
	}
	if out.Digest = spec.Digest; out.URL == "" {
		out.FileName = spec.Name
	}
	if spec.Format != "tar" {
		out.Document = string(spec.Content)
	} else if out.Main, out.Files, err = source.Unpack(spec.Content); err != nil {
		return out, err
	}
	row, err := ws.ToolsetSource(ctx, of.ToolsetID, of.Name)
	if err != nil || row.Overlays == "" {
		return out, err
	}
	if err := json.Unmarshal([]byte(row.Overlays), &out.Overlays); err != nil {
		return out, fmt.Errorf("reading the overlays of toolset %s: %w", of.ToolsetID, err)
	}
	if len(out.Overlays) == 0 {
		out.Overlays = nil
	}
	if len(out.Files) == 1 { // it was packed because of its overlays
		out.Document, out.Files, out.Main = out.Files[out.Main], nil, ""
	}
	return out, nil
}

func declareSelection(ts *store.Toolset) (*DeclaredSelection, error) {
	if ts.Selection == "" {
		return nil, nil //nolint:nilnil // all tools are listed
	}
	c, err := choice.Of(ts)
	if err != nil {
		return nil, err
	}
	out := &DeclaredSelection{Mode: c.Mode, UseCase: c.UseCase, Learn: c.Learn, Batch: c.Batch, Destructive: c.Destructive, Limits: c.Limits}
	for i := range c.Examples {
		if e := &c.Examples[i]; len(e.Operator) > 0 {
			out.Examples = append(out.Examples, DeclaredExamples{Operation: e.Operation, Operator: e.Operator})
		}
	}
	for i := range c.Tools {
		out.Tools = append(out.Tools, DeclaredChoice(c.Tools[i]))
	}
	return out, nil
}

func declarePlugin(b *boundRecord) DeclaredPlugin {
	p := DeclaredPlugin{Plugin: b.Plugin, Range: b.Range, Version: b.Pinned, Digest: b.Digest, OnError: b.OnError, Config: b.Config, Grants: plugin.ShowGrants(b.Grants)}
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
		p.Unbind = &PluginUnbinding{ErrorPercent: b.Unbind.ErrorPercent, MeanMs: b.Unbind.MeanMilliseconds}
	}
	return p
}

// declareAuth is a credential without its secret, or with it sealed.
func (s *Server) declareAuth(row *store.Credential, to age.Recipient) (*DeclaredAuth, error) {
	sh, err := shapeOf(row)
	if err != nil {
		return nil, err
	}
	out := &DeclaredAuth{AuthItem: AuthItem{
		AuthType: row.AuthType, Scheme: sh.Scheme, HeaderName: sh.HeaderName, HeaderPrefix: sh.HeaderPrefix, ParameterName: sh.ParameterName,
		CookieName: sh.CookieName, MemberName: sh.MemberName, Username: sh.Username, Grant: sh.Grant, Issuer: sh.Issuer, ClientID: sh.ClientID, TokenAuth: sh.TokenAuth,
		AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, Scopes: sh.Scopes, Audience: sh.Audience, Resource: sh.Resource, PerUser: sh.PerUser,
	}}
	if to == nil || row.Version == 0 {
		return out, nil
	}
	value, err := s.open(row)
	if err != nil || value.IsZero() {
		return out, err
	}
	fields := map[string]string{secretField(row.AuthType): value.Reveal()}
	if row.AuthType == authMTLS {
		chain, key := splitPEM(value.Reveal())
		fields = map[string]string{"certificate": chain, "privateKey": key}
	}
	plain, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	out.Sealed, err = backup.SealText(to, plain)
	return out, err
}

// splitPEM divides a chain from the private key behind it.
func splitPEM(text string) (chain, key string) {
	i := strings.Index(text, "PRIVATE KEY-----")
	if i < 0 {
		return text, ""
	}
	i = strings.LastIndex(text[:i], "-----BEGIN ")
	return text[:i], text[i:]
}

// view is a toolset as a plan compares it: documents by their digest, and no secrets.
func (t *DeclaredToolset) view() any {
	c := t.normal()
	if c.Source != nil {
		c.Source = c.Source.view()
		c.Authentication = viewAuth(c.Authentication)
	}
	c.Connectors = slices.Clone(c.Connectors)
	for i := range c.Connectors {
		p := &c.Connectors[i]
		p.Source, p.Authentication = *p.Source.view(), viewAuth(p.Authentication)
	}
	if c.Access != nil && c.Access.Mode == registry.AccessNone && c.Access.Limits == nil {
		c.Access = nil
	}
	if c.Selection != nil && c.Selection.Mode == registry.SelectAll && c.Selection.UseCase == "" && len(c.Selection.Examples) == 0 && !c.Selection.Learn && !c.Selection.Batch {
		c.Selection = nil
	}
	var out any
	d := json.NewDecoder(strings.NewReader(store.JSON(c)))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		panic("BUG: a declaration cannot be read: " + err.Error())
	}
	return out
}

// view is a source with digests in the place of documents.
func (in *DeclaredSource) view() *DeclaredSource {
	c := *in
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	c.Digest = ""
	if c.Document != "" {
		c.Document = digest(c.Document)
	}
	c.Files = maps.Clone(c.Files)
	for name, text := range c.Files {
		c.Files[name] = digest(text)
	}
	c.Overlays = slices.Clone(c.Overlays)
	for i := range c.Overlays {
		c.Overlays[i].Document = digest(c.Overlays[i].Document)
	}
	return &c
}

func viewAuth(list []DeclaredAuth) []DeclaredAuth {
	out := make([]DeclaredAuth, len(list))
	for i := range list {
		out[i] = DeclaredAuth{AuthItem: list[i].public()}
	}
	return out
}

// public is the item without what is secret or kept with it.
func (a *AuthItem) public() AuthItem {
	sh := a.shape()
	return AuthItem{
		AuthType: a.AuthType, Scheme: sh.Scheme, HeaderName: sh.HeaderName, HeaderPrefix: sh.HeaderPrefix, ParameterName: sh.ParameterName,
		CookieName: sh.CookieName, MemberName: sh.MemberName, Username: sh.Username, Grant: sh.Grant, Issuer: sh.Issuer, ClientID: sh.ClientID, TokenAuth: sh.TokenAuth,
		AuthorizationURL: sh.AuthorizationURL, TokenURL: sh.TokenURL, Scopes: sh.Scopes, Audience: sh.Audience, Resource: sh.Resource, PerUser: sh.PerUser,
	}
}
