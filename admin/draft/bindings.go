package draft

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Binding is one binding as store.Toolset.Plugins holds it.
type Binding struct {
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
	Calls     []BoundCall            `json:"calls,omitempty"` // of a workflow
}

// BindingsOf reads the bindings of a record.
func BindingsOf(record string) ([]Binding, error) {
	if record == "" {
		return nil, nil
	}
	var out []Binding
	if err := json.Unmarshal([]byte(record), &out); err != nil {
		return nil, fmt.Errorf("reading the bindings of plugins: %w", err)
	}
	return out, nil
}

// BoundBy lists the slugs of the toolsets that bind a version of a plugin that matches.
func BoundBy(ctx context.Context, ws *store.Workspace, match func(plugin, version string) bool) ([]string, error) {
	rows, err := store.All(ctx, ws.Toolsets)
	if err != nil {
		return nil, err
	}
	users := []string{}
	for i := range rows {
		bound, err := BindingsOf(rows[i].Plugins)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(bound, func(b Binding) bool { return match(b.Plugin, b.Pinned) }) {
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
func (r *Room) bindPlugins(ctx context.Context, d *Draft, t *registry.Toolset) error {
	bound, err := d.Bindings()
	if err != nil {
		return err
	}
	ws := r.Store.Workspace(d.Toolset.WorkspaceID)
	d.Plugins = nil
	operations := OfferedOperations(bound)
	for i := range bound {
		b := &bound[i]
		edit, disabled := d.offeredEdit(operations[i])
		if disabled {
			continue
		}
		if d.Named(b.Connector) == nil && b.Connector != "" && len(d.Parts) == 1 {
			b.Connector = d.Row.Name // a refresh had renamed it
		}
		if b.Path != "" && !d.has(toolset.Operation{Connector: b.Connector, Method: b.Method, Path: b.Path}) || b.Connector != "" && d.Named(b.Connector) == nil || !d.Callable(b) {
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
				Fix("take it off, sluice plugin unbind %s %s, or bind a version that another key signed", d.Toolset.Slug, row.Name)
		}
		ref := plugin.RefOf(row)
		ref.Method, ref.Path, ref.Config, ref.OnError, ref.Unbind = b.Method, b.Path, b.Config, b.OnError, b.Unbind
		ref.Connector, ref.Calls, ref.Tool, ref.Grants = b.answersOf(), b.called(), edit, b.Grants
		g, err := r.Publisher.OpenPlugin(ctx, ref)
		if err != nil {
			return err
		}
		t.Plugins, d.Plugins = append(t.Plugins, ref), append(d.Plugins, g)
	}
	return nil
}

// Ref is a binding as a bundle has it, but for where the plugin is stored.
func (b *Binding) Ref() registry.PluginRef {
	return registry.PluginRef{
		Name: b.Plugin, Version: b.Pinned, Digest: registry.Digest(b.Digest), Connector: b.answersOf(), Method: b.Method, Path: b.Path,
		Config: b.Config, OnError: b.OnError, Grants: b.Grants, Unbind: b.Unbind, Calls: b.called(),
	}
}

// answersOf is the connector on whose answers alone a plugin runs. A workflow runs on none:
// the connector that it is bound to has the tools that it calls, which a bundle names one by
// one.
func (b *Binding) answersOf() string {
	if len(b.Calls) > 0 {
		return ""
	}
	return b.Connector
}

// BoundCall is a tool that a bound workflow calls.
type BoundCall struct {
	Name string `json:"name"` // as the workflow calls it
	toolset.Operation
}

// String is how an operation that has no tool at present is shown, and named again.
func (c *BoundCall) String() string { return c.Method + " " + c.Path + " of " + c.Connector }

func (b *Binding) called() []registry.CalledTool {
	var out []registry.CalledTool
	for _, c := range b.Calls {
		out = append(out, registry.CalledTool{Name: c.Name, Connector: c.Connector, Method: c.Method, Path: c.Path})
	}
	return out
}
