package binding

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// ResolveCalls finds the tool that each name of a workflow stands for: the one that the
// request gives it, else the tool of that name; where it is bound to a connector, among the
// tools of that one. What a binding had before may have no tool at present.
func ResolveCalls(d *draft.Draft, g *guest.Package, before []draft.Binding, in *PluginBinding, at string) ([]draft.BoundCall, error) {
	if g.Manifest.Kind != manifest.Workflow {
		if len(in.Calls) > 0 {
			return nil, request.FieldFault(at+"/calls", "plugin %s is not a workflow and calls no tools", in.Plugin)
		}
		return nil, nil
	}
	if in.Tool != "" || in.Operation != nil {
		return nil, request.FieldFault(at, "plugin %s is a workflow, which is bound to the toolset as a whole or to a connector", in.Plugin)
	}
	wanted := g.Manifest.Capabilities.Tools
	for _, name := range slices.Sorted(maps.Keys(in.Calls)) {
		if !slices.Contains(wanted, name) {
			return nil, request.FieldFault(at+"/calls", "plugin %s does not call %.80q; it calls %s", in.Plugin, name, strings.Join(wanted, ", "))
		}
	}
	all, of := d.Tools(false), "the toolset"
	if in.Connector != "" {
		all = slices.DeleteFunc(all, func(t toolset.Tool) bool { return t.Operation.Connector != in.Connector })
		of = "the connector " + in.Connector
	}
	calls := make([]draft.BoundCall, len(wanted))
	for i, name := range wanted {
		tool := in.Calls[name]
		if tool == "" {
			tool = name
		}
		at := at + "/calls/" + name
		t := slices.IndexFunc(all, func(t toolset.Tool) bool { return t.Name == tool })
		if t < 0 {
			t = slices.IndexFunc(all, func(t toolset.Tool) bool { return t.OriginalName == tool })
		}
		switch old := calledBefore(before, in, name, tool); {
		case t >= 0 && !all[t].Enabled:
			return nil, problem.New(problem.InvalidArgument, "plugin %s calls %s, and the tool %s is disabled", in.Plugin, name, tool).
				At("", 0, 0, at).Fix("enable it: sluice toolset tools %s enable %s", d.Toolset.Slug, tool)
		case t >= 0:
			calls[i] = draft.BoundCall{Name: name, Operation: all[t].Operation}
		case old != nil:
			calls[i] = *old
		default:
			p := problem.New(problem.InvalidArgument, "plugin %s calls %s, and %s has no tool %.80q", in.Plugin, name, of, tool).At("", 0, 0, at)
			names := make([]string, len(all))
			for i := range all {
				names[i] = all[i].Name
			}
			if near := nearest.Name(tool, slices.Values(names)); near != "" {
				return nil, p.Fix("say which tool it is, such as --call %s=%s", name, near)
			}
			return nil, p.Fix("say which tool it is: --call %s=TOOL", name)
		}
	}
	return calls, nil
}

// calledBefore finds a call whose operation had no tool when it was shown.
func calledBefore(before []draft.Binding, in *PluginBinding, name, shown string) *draft.BoundCall {
	for i := range before {
		if before[i].Plugin != in.Plugin || before[i].Connector != in.Connector {
			continue
		}
		for j := range before[i].Calls {
			if c := &before[i].Calls[j]; c.Name == name && c.String() == shown && (in.Connector == "" || c.Connector == in.Connector) {
				return c
			}
		}
	}
	return nil
}

// resolve turns what a request says into a record: the version is pinned,
// the tool is an operation and the configuration is checked.
func (r *Room) resolve(ctx context.Context, ws *store.Workspace, d *draft.Draft, before []draft.Binding, in *PluginBinding, renew bool, at string) (*draft.Binding, error) {
	b := &draft.Binding{Plugin: in.Plugin, Range: in.Version, OnError: in.OnError, Grants: in.Grants.Record()}
	if in.Unbind != nil && *in.Unbind != (plugin.PluginUnbinding{}) {
		b.Unbind = &registry.UnbindLimits{ErrorPercent: in.Unbind.ErrorPercent, MeanMilliseconds: in.Unbind.MeanMs}
	}
	if in.Connector != "" && d.Named(in.Connector) == nil {
		return nil, request.FieldFault(at+"/connector", "the toolset has no connector %.80q; it has %s", in.Connector, d.Names())
	}
	b.Connector = in.Connector
	op := in.Operation
	if in.Tool != "" {
		if op = operationOf(d, in.Tool); op == nil {
			return nil, noTool(d, in.Tool, at+"/tool")
		}
	}
	if op != nil {
		if op.Connector == "" {
			op.Connector = d.Parts[0].Row.Name
		}
		b.Connector, b.Method, b.Path = op.Connector, op.Method, op.Path
	}
	row, err := pin(ctx, ws, before, b, renew || in.Update, in.Decided, at)
	if err != nil {
		return nil, err
	}
	b.Pinned, b.Digest, b.Kind = row.Version, row.Digest, row.Kind
	if c := CompactJSON(in.Config); c != "null" && c != "{}" {
		b.Config = json.RawMessage(c)
	}
	g, err := r.Publisher.OpenPlugin(ctx, plugin.RefOf(row))
	if err != nil {
		return nil, err
	}
	if err := g.CheckConfig(b.Config); err != nil {
		if p := problem.As(err); p != nil {
			return nil, p.At("", 0, 0, at+"/config")
		}
		return nil, err
	}
	if b.Grants, err = plugin.Decided(g, b.Grants, d.Toolset.Slug); err != nil {
		return nil, problem.As(err).At("", 0, 0, at+"/grants")
	}
	if b.Calls, err = ResolveCalls(d, g, before, in, at); err != nil {
		return nil, err
	}
	return b, g.Check(r.Policy)
}

// AllowGrants lets a binding have grants that it had already, and others from an
// administrator only.
func AllowGrants(ctx context.Context, before []draft.Binding, b *draft.Binding) error {
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
func sameBinding(all []draft.Binding, b *draft.Binding) *draft.Binding {
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
func pin(ctx context.Context, ws *store.Workspace, before []draft.Binding, b *draft.Binding, renew, decided bool, at string) (*store.PluginVersion, error) {
	rows, err := ws.PluginVersions(ctx, b.Plugin)
	if problem.Is(err, problem.NotFound) {
		p := problem.New(problem.InvalidArgument, "%s", problem.As(err).Detail).At("", 0, 0, at+"/plugin")
		p.Remedy = problem.As(err).Remedy
		return nil, p
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
			return nil, request.FieldFault(at+"/version", "every version of plugin %s is yanked: %s", b.Plugin, rows[0].YankReason)
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
			before = append([]draft.Binding{*had}, before...)
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
		for _, row := range rows {
			if v, err := registry.ParseVersion(row.Version); err == nil && !row.YankedAt.IsZero() && r.Has(v) {
				return nil, request.FieldFault(at+"/version", "every version of plugin %s in %s is yanked; of %s: %s", b.Plugin, b.Range, row.Version, row.YankReason)
			}
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

// Show shows the bindings of a draft.
func (r *Room) Show(ctx context.Context, ws *store.Workspace, d *draft.Draft) (*ToolsetPlugins, error) {
	bound, err := d.Bindings()
	if err != nil {
		return nil, err
	}
	names := make(map[toolset.Operation]string)
	offered, err := r.Drafts.Served(ctx, d, false)
	if err != nil {
		return nil, err
	}
	shown := make(map[toolset.Operation]*toolset.Tool)
	for i := range offered {
		names[offered[i].Operation], shown[offered[i].Operation] = offered[i].Name, &offered[i]
	}
	operations := draft.OfferedOperations(bound)
	out := &ToolsetPlugins{Bindings: make([]BoundPlugin, 0, len(bound))}
	for i := range bound {
		b, err := showBinding(ctx, ws, &bound[i], names)
		if err != nil {
			return nil, err
		}
		b.LeftOut = r.Plugins.LeftOut(registry.PluginKey{Workspace: ws.ID(), Name: b.Plugin, Version: b.Pinned}, d.Toolset.Slug)
		if len(bound[i].Calls) > 0 {
			if !d.Callable(&bound[i]) && b.Status == "ok" {
				b.Status = "waiting"
			}
			if t := shown[operations[i]]; t != nil {
				b.Offers = t.Name
				if !t.Enabled && b.Status == "ok" {
					b.Status = "disabled"
				}
			}
		}
		out.Bindings = append(out.Bindings, *b)
	}
	return out, nil
}

func showBinding(ctx context.Context, ws *store.Workspace, b *draft.Binding, names map[toolset.Operation]string) (*BoundPlugin, error) {
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
			if shown.Redacts = m.Redacts(); LetsThrough(b.OnError, m) {
				shown.Warning = WarnLetsThrough
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

// WarnLetsThrough is what is said of a binding that lets go on what its plugin was to
// take out.
const WarnLetsThrough = "the plugin redacts, and what it cannot run on or does not read reaches agents all the same (onError is pass)"

// LetsThrough reports whether a binding passes on what a plugin that redacts failed on.
func LetsThrough(onError string, m *manifest.Manifest) bool {
	return m.Redacts() && registry.EffectiveOnError(onError, true) == registry.OnErrorPass
}

// auditedBindings is how bindings are audited of which some let things through.
type auditedBindings struct {
	Bindings []draft.Binding `json:"bindings"`
	Warning  string          `json:"warning"`
	Plugins  []string        `json:"plugins"` // whom it is about
}

// CompactJSON is a JSON text without insignificant white space; "null" for none, so
// that equal configurations give equal bundles.
func CompactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return "null"
	}
	return b.String()
}

// noTool says that there is no tool of a name, and which one may be meant.
func noTool(d *draft.Draft, name, at string) error {
	return problem.New(problem.InvalidArgument, "the toolset has no tool %.80q", name).At("", 0, 0, at).Fix("%s", d.Meant(name))
}

// operationOf finds a tool by its present or original name.
func operationOf(d *draft.Draft, name string) *toolset.Operation {
	for _, t := range d.Tools(false) {
		if t.Name == name || t.OriginalName == name {
			return &t.Operation
		}
	}
	return nil
}

// Set makes the bindings of a draft those of a request, and saves it.
func (r *Room) Set(ctx context.Context, ws *store.Workspace, d *draft.Draft, in *SetPlugins) error {
	before, err := d.Bindings()
	if err != nil {
		return err
	}
	after := make([]draft.Binding, 0, len(in.Bindings))
	audited := any(&after)
	var letThrough []string
	for i := range in.Bindings {
		b, err := r.resolve(ctx, ws, d, before, &in.Bindings[i], in.Update, "/bindings/"+strconv.Itoa(i))
		if err != nil {
			return err
		}
		if err := AllowGrants(ctx, before, b); err != nil {
			return err
		}
		after = append(after, *b)
		row, err := ws.PluginVersion(ctx, b.Plugin, b.Pinned)
		if err != nil {
			return err
		}
		m, err := manifest.Parse([]byte(row.Document))
		if err != nil {
			return err
		}
		if LetsThrough(b.OnError, m) {
			letThrough = append(letThrough, b.Plugin)
		}
	}
	if len(letThrough) > 0 {
		audited = &auditedBindings{Bindings: after, Warning: WarnLetsThrough, Plugins: letThrough}
	}
	if d.Toolset.Plugins = ""; len(after) > 0 {
		d.Toolset.Plugins = store.JSON(after)
	}
	return r.Drafts.Save(ctx, ws, d, "toolset.plugins", before, audited, false)
}

// Room binds plugins to drafts.
type Room struct {
	Drafts    *draft.Room
	Publisher *publish.Publisher
	Plugins   *plugin.Room
	// Policy is what gateways grant plugins.
	Policy guest.Policy
}
