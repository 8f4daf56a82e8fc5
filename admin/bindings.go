package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// boundRecord is one binding as store.Toolset.Plugins holds it.
type boundRecord struct {
	Plugin    string                 `json:"plugin"`
	Range     string                 `json:"range"`
	Pinned    string                 `json:"pinned"` // version
	Digest    string                 `json:"digest"` // of its module
	Kind      string                 `json:"kind"`
	Connector string                 `json:"connector,omitempty"`
	Method    string                 `json:"method,omitempty"`
	Path      string                 `json:"path,omitempty"`
	Config    json.RawMessage        `json:"config,omitempty"`
	OnError   string                 `json:"onError,omitempty"`
	Grants    *manifest.Grants       `json:"grants,omitempty"`
	Unbind    *registry.UnbindLimits `json:"unbind,omitempty"`
	Calls     []boundCall            `json:"calls,omitempty"` // of a workflow
}

func bindingsOf(record string) ([]boundRecord, error) {
	if record == "" {
		return nil, nil
	}
	var out []boundRecord
	if err := json.Unmarshal([]byte(record), &out); err != nil {
		return nil, fmt.Errorf("reading the bindings of plugins: %w", err)
	}
	return out, nil
}

// boundBy lists the slugs of the toolsets that bind a version of a plugin that matches.
func boundBy(ctx context.Context, ws *store.Workspace, match func(plugin, version string) bool) ([]string, error) {
	rows, err := store.All(ctx, ws.Toolsets)
	if err != nil {
		return nil, err
	}
	users := []string{}
	for i := range rows {
		bound, err := bindingsOf(rows[i].Plugins)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(bound, func(b boundRecord) bool { return match(b.Plugin, b.Pinned) }) {
			users = append(users, rows[i].Slug)
		}
	}
	slices.Sort(users)
	return users, nil
}

// bindPlugins puts the bindings of a draft into the toolset of its bundle and opens
// their plugins. A binding of an operation that the present specification does not
// have waits for one that has it. It fails with [problem.Conflict] when the key
// that signed a plugin was revoked.
func (s *Server) bindPlugins(ctx context.Context, d *draft, t *registry.Toolset) error {
	bound, err := d.bindings()
	if err != nil {
		return err
	}
	ws := s.o.Store.Workspace(d.ts.WorkspaceID)
	d.plugins = nil
	operations := offeredOperations(bound)
	for i := range bound {
		b := &bound[i]
		edit, disabled := d.offeredEdit(operations[i])
		if disabled {
			continue
		}
		if d.named(b.Connector) == nil && b.Connector != "" && len(d.parts) == 1 {
			b.Connector = d.row.Name // a refresh had renamed it
		}
		if b.Path != "" && !d.has(toolset.Operation{Connector: b.Connector, Method: b.Method, Path: b.Path}) || b.Connector != "" && d.named(b.Connector) == nil || !d.callable(b) {
			continue
		}
		row, err := ws.PluginVersion(ctx, b.Plugin, b.Pinned)
		if err != nil {
			return err
		}
		if key, err := ws.PublisherKey(ctx, row.KeyID); err != nil {
			return err
		} else if !key.RevokedAt.IsZero() {
			return problem.New(problem.Conflict, "plugin %s %s was signed with a key that was revoked: %s", row.Name, row.Version, key.Reason).
				Fix("take it off, sluice plugin unbind %s %s, or bind a version that another key signed", d.ts.Slug, row.Name)
		}
		ref := plugin.RefOf(row)
		ref.Method, ref.Path, ref.Config, ref.OnError, ref.Unbind = b.Method, b.Path, b.Config, b.OnError, b.Unbind
		ref.Connector, ref.Calls, ref.Tool, ref.Grants = b.Connector, b.called(), edit, b.Grants
		g, err := s.o.Publisher.OpenPlugin(ctx, ref)
		if err != nil {
			return err
		}
		t.Plugins, d.plugins = append(t.Plugins, ref), append(d.plugins, g)
	}
	return nil
}

type bindingsOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body ToolsetPlugins
}

type setPluginsInput struct {
	ToolsetInput
	request.MatchInput
	Body SetPlugins
}

func (s *Server) registerBindings() {
	const path = "/v1/toolsets/{id}/plugins"
	tags := []string{"plugins"}
	register(s, huma.Operation{
		OperationID: "get-toolset-plugins", Method: http.MethodGet, Path: path, Summary: "Read which plugins a toolset binds, in the order they run", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bindingsOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.load(ctx, ws, in.ID)
		if err != nil {
			return nil, err
		}
		out, err := s.bindingsAnswer(ctx, ws, d)
		if err != nil {
			return nil, err
		}
		return out, s.addLive(ctx, ws, d, &out.Body)
	})
	register(s, huma.Operation{
		OperationID: "set-toolset-plugins", Method: http.MethodPut, Path: path, Summary: "Set which plugins a toolset binds", Tags: tags,
		Description: "All bindings, in the order in which they run on an answer: behind the toolset's own settings of answers, before the caller's fields. " +
			"Each range is pinned to one version. Makes a new draft, as every change.",
	}, func(ctx context.Context, in *setPluginsInput) (*bindingsOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.loadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		before, err := d.bindings()
		if err != nil {
			return nil, err
		}
		after := make([]boundRecord, 0, len(in.Body.Bindings))
		audited := any(&after)
		var letThrough []string
		for i := range in.Body.Bindings {
			b, err := s.resolveBinding(ctx, ws, d, before, &in.Body.Bindings[i], in.Body.Update, "/bindings/"+strconv.Itoa(i))
			if err != nil {
				return nil, err
			}
			if err := allowGrants(ctx, before, b); err != nil {
				return nil, err
			}
			after = append(after, *b)
			row, err := ws.PluginVersion(ctx, b.Plugin, b.Pinned)
			if err != nil {
				return nil, err
			}
			m, err := manifest.Parse([]byte(row.Document))
			if err != nil {
				return nil, err
			}
			if letsThrough(b.OnError, m) {
				letThrough = append(letThrough, b.Plugin)
			}
		}
		if len(letThrough) > 0 {
			audited = &auditedBindings{Bindings: after, Warning: warnLetsThrough, Plugins: letThrough}
		}
		if d.ts.Plugins = ""; len(after) > 0 {
			d.ts.Plugins = store.JSON(after)
		}
		if err := s.saveDraft(ctx, ws, d, "toolset.plugins", before, audited, false); err != nil {
			return nil, err
		}
		return s.bindingsAnswer(ctx, ws, d)
	})
}

// resolveBinding turns what a request says into a record: the version is pinned,
// the tool is an operation and the configuration is checked.
func (s *Server) resolveBinding(ctx context.Context, ws *store.Workspace, d *draft, before []boundRecord, in *PluginBinding, renew bool, at string) (*boundRecord, error) {
	b := &boundRecord{Plugin: in.Plugin, Range: in.Version, OnError: in.OnError, Grants: in.Grants.Record()}
	if in.Unbind != nil && *in.Unbind != (plugin.PluginUnbinding{}) {
		b.Unbind = &registry.UnbindLimits{ErrorPercent: in.Unbind.ErrorPercent, MeanMilliseconds: in.Unbind.MeanMs}
	}
	if in.Connector != "" && d.named(in.Connector) == nil {
		return nil, request.FieldFault(at+"/connector", "the toolset has no connector %.80q; it has %s", in.Connector, d.names())
	}
	b.Connector = in.Connector
	op := in.Operation
	if in.Tool != "" {
		if op = d.operationOf(in.Tool); op == nil {
			return nil, d.noTool(in.Tool, at+"/tool")
		}
	}
	if op != nil {
		if op.Connector == "" {
			op.Connector = d.parts[0].row.Name
		}
		b.Connector, b.Method, b.Path = op.Connector, op.Method, op.Path
	}
	row, err := pin(ctx, ws, before, b, renew || in.Update, in.Decided, at)
	if err != nil {
		return nil, err
	}
	b.Pinned, b.Digest, b.Kind = row.Version, row.Digest, row.Kind
	if c := compactJSON(in.Config); c != "null" && c != "{}" {
		b.Config = json.RawMessage(c)
	}
	g, err := s.o.Publisher.OpenPlugin(ctx, plugin.RefOf(row))
	if err != nil {
		return nil, err
	}
	if err := g.CheckConfig(b.Config); err != nil {
		if p := problem.As(err); p != nil {
			return nil, p.At("", 0, 0, at+"/config")
		}
		return nil, err
	}
	if b.Grants, err = plugin.Decided(g, b.Grants, d.ts.Slug); err != nil {
		return nil, problem.As(err).At("", 0, 0, at+"/grants")
	}
	if b.Calls, err = d.resolveCalls(g, before, in, at); err != nil {
		return nil, err
	}
	return b, g.Check(s.o.PluginPolicy)
}

// noTool says that there is no tool of a name, and which one may be meant.
func (d *draft) noTool(name, at string) error {
	all := d.tools(false)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	p := problem.New(problem.InvalidArgument, "the toolset has no tool %.80q", name).At("", 0, 0, at)
	if near := nearest.Name(name, slices.Values(names)); near != "" {
		return p.Fix("did you mean %s?", near)
	}
	return p.Fix("see: sluice toolset tools %s", d.ts.Slug)
}

// operationOf finds a tool by its present or original name.
func (d *draft) operationOf(name string) *toolset.Operation {
	for _, t := range d.tools(false) {
		if t.Name == name || t.OriginalName == name {
			return &t.Operation
		}
	}
	return nil
}

// allowGrants lets a binding have grants that it had already, and others from an
// administrator only.
func allowGrants(ctx context.Context, before []boundRecord, b *boundRecord) error {
	var had *manifest.Grants
	if old := sameBinding(before, b); old != nil {
		had = old.Grants
	}
	if !plugin.Widens(had, b.Grants) {
		return nil
	}
	return request.RequireRole(ctx, store.RoleAdmin)
}

// sameBinding is the binding of the same plugin at the same place.
func sameBinding(all []boundRecord, b *boundRecord) *boundRecord {
	for i := range all {
		if old := &all[i]; old.Plugin == b.Plugin && old.Connector == b.Connector && old.Method == b.Method && old.Path == b.Path {
			return old
		}
	}
	return nil
}

// pin finds the version of a binding: the one it had, when the range holds it still
// and no newer one is asked for, else the newest that is not yanked. One that asks for
// more than the version it had is passed over, unless that is granted or decided. An empty
// range becomes that of the newest version.
func pin(ctx context.Context, ws *store.Workspace, before []boundRecord, b *boundRecord, renew, decided bool, at string) (*store.PluginVersion, error) {
	rows, err := ws.PluginVersions(ctx, b.Plugin)
	if problem.Is(err, problem.NotFound) {
		return nil, request.FieldFault(at+"/plugin", "there is no plugin %.80q in this workspace", b.Plugin)
	}
	if err != nil {
		return nil, err
	}
	byVersion := make(map[string]*store.PluginVersion, len(rows))
	var versions []registry.Version
	slices.SortFunc(rows, func(a, b store.PluginVersion) int { return plugin.CompareVersions(b.Version, a.Version) })
	for i := range rows {
		byVersion[rows[i].Version] = &rows[i]
		if v, err := registry.ParseVersion(rows[i].Version); err == nil && rows[i].YankedAt.IsZero() {
			versions = append(versions, v)
		}
	}
	if b.Range == "" {
		newest := plugin.Latest(rows)
		if newest == "" {
			return nil, request.FieldFault(at+"/plugin", "every version of plugin %s is yanked: %s", b.Plugin, rows[0].YankReason)
		}
		b.Range = "^" + newest
		for _, old := range before { // what was bound without a range keeps the range it got
			if old.Plugin == b.Plugin && !renew {
				b.Range = old.Range
				break
			}
		}
	}
	r, err := registry.ParseVersionRange(b.Range)
	if err != nil {
		return nil, request.FieldFault(at+"/version", "%.80q is not a range of versions: write *, 1.2.3, ^1.2.3, ~1.2.3, 1 or 1.2", b.Range)
	}
	had := sameBinding(before, b)
	if !renew {
		if had != nil { // before bindings of it elsewhere
			before = append([]boundRecord{*had}, before...)
		}
		for _, old := range before {
			v, err := registry.ParseVersion(old.Pinned)
			if row := byVersion[old.Pinned]; old.Plugin == b.Plugin && old.Range == b.Range && row != nil && err == nil && r.Has(v) {
				return row, nil
			}
		}
	}
	if had != nil && byVersion[had.Pinned] != nil && !decided {
		pinned := byVersion[had.Pinned]
		if versions, err = versionsThatNeedNoDecision(versions, byVersion, pinned, b.Grants); err != nil {
			return nil, err
		}
		if v, err := registry.ParseVersion(had.Pinned); err == nil && r.Has(v) && !slices.ContainsFunc(versions, r.Has) {
			return pinned, nil
		}
	}
	best, ok := r.Best(versions)
	if !ok {
		if row := byVersion[b.Range]; row != nil {
			return nil, request.FieldFault(at+"/version", "plugin %s %s is yanked: %s", b.Plugin, b.Range, row.YankReason)
		}
		return nil, request.FieldFault(at+"/version", "plugin %s has no version in %s; the newest is %s", b.Plugin, b.Range, rows[0].Version)
	}
	return byVersion[best.String()], nil
}

// versionsThatNeedNoDecision are those that ask for nothing beyond what the pinned one asks
// for and its binding grants.
func versionsThatNeedNoDecision(versions []registry.Version, rows map[string]*store.PluginVersion, pinned *store.PluginVersion, given *manifest.Grants) ([]registry.Version, error) {
	bound, err := manifest.Parse([]byte(pinned.Document))
	if err != nil {
		return nil, err
	}
	var out []registry.Version
	for _, v := range versions {
		next, err := manifest.Parse([]byte(rows[v.String()].Document))
		if err != nil {
			return nil, err
		}
		if waits := plugin.Waits(bound, next, given); waits.Empty() {
			out = append(out, v)
		}
	}
	return out, nil
}

func (s *Server) bindingsAnswer(ctx context.Context, ws *store.Workspace, d *draft) (*bindingsOutput, error) {
	bound, err := d.bindings()
	if err != nil {
		return nil, err
	}
	names := make(map[toolset.Operation]string)
	offered, err := s.served(ctx, d, false)
	if err != nil {
		return nil, err
	}
	shown := make(map[toolset.Operation]*toolset.Tool)
	for i := range offered {
		names[offered[i].Operation], shown[offered[i].Operation] = offered[i].Name, &offered[i]
	}
	operations := offeredOperations(bound)
	out := &bindingsOutput{ETag: request.ETag(d.ts.Version), Body: ToolsetPlugins{Bindings: make([]BoundPlugin, 0, len(bound))}}
	for i := range bound {
		b, err := showBinding(ctx, ws, &bound[i], names)
		if err != nil {
			return nil, err
		}
		b.LeftOut = s.plugins.LeftOut(registry.PluginKey{Workspace: ws.ID(), Name: b.Plugin, Version: b.Pinned}, d.ts.Slug)
		if len(bound[i].Calls) > 0 {
			if !d.callable(&bound[i]) && b.Status == "ok" {
				b.Status = "waiting"
			}
			if t := shown[operations[i]]; t != nil {
				b.Offers = t.Name
				if !t.Enabled && b.Status == "ok" {
					b.Status = "disabled"
				}
			}
		}
		out.Body.Bindings = append(out.Body.Bindings, *b)
	}
	return out, nil
}

func showBinding(ctx context.Context, ws *store.Workspace, b *boundRecord, names map[toolset.Operation]string) (*BoundPlugin, error) {
	shown := &BoundPlugin{
		PluginBinding: PluginBinding{Plugin: b.Plugin, Version: b.Range, OnError: b.OnError}, Kind: b.Kind, Pinned: b.Pinned, Digest: b.Digest, Status: "ok",
	}
	if b.Unbind != nil {
		shown.Unbind = &plugin.PluginUnbinding{ErrorPercent: b.Unbind.ErrorPercent, MeanMs: b.Unbind.MeanMilliseconds}
	}
	shown.Config, shown.Grants = b.Config, plugin.ShowGrants(b.Grants)
	if shown.Connector = b.Connector; b.Path != "" {
		shown.Operation = &toolset.Operation{Connector: b.Connector, Method: b.Method, Path: b.Path}
		if shown.Tool = names[*shown.Operation]; shown.Tool == "" {
			shown.Status = "waiting"
		}
	}
	for i := range b.Calls {
		c := &b.Calls[i]
		if shown.Calls == nil {
			shown.Calls = make(map[string]string, len(b.Calls))
		}
		if shown.Calls[c.Name] = names[c.Operation]; shown.Calls[c.Name] == "" {
			shown.Calls[c.Name], shown.Status = c.String(), "waiting"
		}
	}
	rows, err := ws.PluginVersions(ctx, b.Plugin)
	if err != nil {
		return nil, err
	}
	r, err := registry.ParseVersionRange(b.Range)
	if err != nil {
		return nil, err
	}
	newest := b.Pinned
	var bound *manifest.Manifest
	for i := range rows {
		row := &rows[i]
		if row.Version == b.Pinned {
			m, err := manifest.Parse([]byte(row.Document))
			if err != nil {
				return nil, err
			}
			bound, shown.Asks = m, plugin.ShowAsks(m)
			if shown.Redacts = m.Redacts(); letsThrough(b.OnError, m) {
				shown.Warning = warnLetsThrough
			}
		}
		if row.Version == b.Pinned && !row.YankedAt.IsZero() {
			shown.Status = "yanked"
			if key, err := ws.PublisherKey(ctx, row.KeyID); err != nil {
				return nil, err
			} else if !key.RevokedAt.IsZero() {
				shown.Status = "revoked"
			}
		}
		if v, err := registry.ParseVersion(row.Version); err == nil && row.YankedAt.IsZero() && r.Has(v) && plugin.CompareVersions(row.Version, newest) > 0 {
			newest = row.Version
		}
	}
	shown.OnError = registry.EffectiveOnError(b.OnError, shown.Redacts)
	if newest == b.Pinned || bound == nil {
		return shown, nil
	}
	shown.Newer = newest
	next, err := ws.PluginVersion(ctx, b.Plugin, newest)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse([]byte(next.Document))
	if err != nil {
		return nil, err
	}
	if waits := plugin.Waits(bound, m, b.Grants); !waits.Empty() {
		shown.Waits = plugin.ShowGrants(&waits)
	}
	return shown, nil
}

// warnLetsThrough is what is said of a binding that lets go on what its plugin was to
// take out.
const warnLetsThrough = "the plugin redacts, and what it cannot run on or does not read reaches agents all the same (onError is pass)"

// letsThrough reports whether a binding passes on what a plugin that redacts failed on.
func letsThrough(onError string, m *manifest.Manifest) bool {
	return m.Redacts() && registry.EffectiveOnError(onError, true) == registry.OnErrorPass
}

// auditedBindings is how bindings are audited of which some let things through.
type auditedBindings struct {
	Bindings []boundRecord `json:"bindings"`
	Warning  string        `json:"warning"`
	Plugins  []string      `json:"plugins"` // whom it is about
}

// compactJSON is a JSON text without insignificant white space; "null" for none, so
// that equal configurations give equal bundles.
func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return "null"
	}
	return b.String()
}
