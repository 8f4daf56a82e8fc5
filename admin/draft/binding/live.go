package binding

import (
	"context"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/registry"
)

// AddLive adds what serves now to the bindings of a draft, and says which of them a deploy
// would change.
func (r *Room) AddLive(ctx context.Context, ws *store.Workspace, d *draft.Draft, out *ToolsetPlugins) error {
	if d.Toolset.LiveRevision == 0 {
		out.Changed = len(out.Bindings) > 0
		return nil
	}
	now, err := r.Publisher.Toolset(ctx, d.Toolset.LiveRepository, registry.Digest(d.Toolset.LiveDigest))
	if err != nil {
		return err
	}
	out.LiveRevision, out.Live = d.Toolset.LiveRevision, []LivePlugin{}
	names := make(map[toolset.Operation]string)
	for _, t := range d.Tools(false) {
		names[t.Operation] = t.Name
	}
	for i := range now.Plugins {
		one, err := r.showLive(ctx, ws, &now.Plugins[i], names)
		if err != nil {
			return err
		}
		out.Live = append(out.Live, *one)
		now.Plugins[i].OnError = one.OnError // the same for a binding that says nothing and one that says the default
	}
	bound, err := d.Bindings()
	if err != nil {
		return err
	}
	var next []registry.PluginRef
	for i := range bound {
		ref := bound[i].Ref()
		ref.OnError = out.Bindings[i].OnError
		if out.Bindings[i].Status != "waiting" && out.Bindings[i].Status != "disabled" {
			next = append(next, ref)
		}
		for j := range now.Plugins {
			if plugin.SamePlace(&ref, &now.Plugins[j]) {
				out.Bindings[i].Live = now.Plugins[j].Version
			}
		}
	}
	out.Changed = !plugin.SameBindings(next, now.Plugins)
	return nil
}

func (r *Room) showLive(ctx context.Context, ws *store.Workspace, ref *registry.PluginRef, names map[toolset.Operation]string) (*LivePlugin, error) {
	standing, err := r.Plugins.Standing(ctx, ws, ref.Name, ref.Version)
	if err != nil {
		return nil, err
	}
	out := &LivePlugin{
		Plugin: ref.Name, Version: ref.Version, Digest: string(ref.Digest), Status: standing.Status, YankReason: standing.Reason, Connector: ref.Connector,
		OnError: registry.EffectiveOnError(ref.OnError, standing.Redacts), Grants: plugin.ShowGrants(ref.Grants),
	}
	if ref.Path != "" {
		out.Operation = &toolset.Operation{Connector: ref.Connector, Method: ref.Method, Path: ref.Path}
		out.Tool = names[*out.Operation]
	}
	return out, nil
}
