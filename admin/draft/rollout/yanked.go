package rollout

import (
	"context"
	"slices"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// draftBringsBackYanked is [Room.bringsBackYanked] for a draft.
func (r *Room) draftBringsBackYanked(ctx context.Context, ws *store.Workspace, d *draft.Draft) error {
	bound, err := d.Bindings()
	if err != nil {
		return err
	}
	refs := make([]registry.PluginRef, len(bound))
	for i := range bound {
		refs[i] = registry.PluginRef{Name: bound[i].Plugin, Version: bound[i].Pinned, Digest: registry.Digest(bound[i].Digest)}
	}
	return r.bringsBackYanked(ctx, ws, d.Toolset, refs)
}

// bringsBackYanked refuses to make plugins live that were yanked and are not live now. What
// is live goes on: yanking stops nobody's calls.
func (r *Room) bringsBackYanked(ctx context.Context, ws *store.Workspace, ts *store.Toolset, refs []registry.PluginRef) error {
	var live []registry.PluginRef
	for i := range refs {
		row, err := ws.PluginVersion(ctx, refs[i].Name, refs[i].Version)
		if problem.Is(err, problem.NotFound) || err == nil && row.YankedAt.IsZero() {
			continue
		}
		if err != nil {
			return err
		}
		if live == nil && ts.LiveRevision > 0 {
			now, err := r.Publisher.Toolset(ctx, ts.LiveRepository, registry.Digest(ts.LiveDigest))
			if err != nil {
				return err
			}
			live = now.Plugins
		}
		if slices.ContainsFunc(live, func(r registry.PluginRef) bool { return r.Digest == refs[i].Digest }) {
			continue
		}
		return problem.New(problem.Conflict, "this would bring back plugin %s %s, which was yanked: %.500s", row.Name, row.Version, row.YankReason).
			Fix("bind a version that is not: sluice plugin bind %s %s --update; or take the yank back: sluice plugin yank %s@%s --undo", ts.Slug, row.Name, row.Name, row.Version)
	}
	return nil
}
