package plugin

import (
	"context"
	"log/slog"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// EventFailed says that a plugin was taken out of calls by itself.
const EventFailed = "plugin.failed"

// Types of the notices of plugins.
const (
	TypeYanked  = "plugin.yanked"
	TypeLeftOut = "plugin.left_out" // a gateway took it out of calls by itself
)

// tell writes a notice of a plugin.
func tell(ctx context.Context, tx *store.Tx, kind, name, version, title, reason string) error {
	return notify.Add(ctx, tx, &notify.Notice{
		Type: kind, Severity: notify.Warning, Title: title, Lines: []notify.Line{{Name: "Plugin", Value: name + "@" + version}, {Name: "Reason", Value: reason}},
		Remedy: "see which toolsets use it, and bind another version", Command: "sluice plugin show " + name,
		Data: map[string]any{"workspace": tx.ID(), "plugin": name, "version": version, "reason": reason},
	})
}

// RecordUsage adds what nodes counted to the record of each version.
func (r *Room) RecordUsage(ctx context.Context, calls []registry.PluginCalls) error {
	for i := range calls {
		c := &calls[i]
		if err := r.Store.Workspace(c.Workspace).Update(ctx, func(tx *store.Tx) error { return tx.AddPluginUsage(ctx, c) }); err != nil {
			return err
		}
	}
	return nil
}

// Report takes what plugins did on an edge. An edge of one workspace speaks of that one;
// what is said of versions that are not known is dropped.
func (r *Room) Report(ctx context.Context, e *store.Edge, in *registry.EdgePlugins) error {
	if err := in.Validate(); err != nil {
		return err
	}
	place := func(k *registry.PluginKey) {
		if !e.AllWorkspaces {
			k.Workspace = e.WorkspaceID
		}
	}
	for i := range in.Calls {
		place(&in.Calls[i].PluginKey)
	}
	if err := r.RecordUsage(ctx, in.Calls); err != nil {
		return err
	}
	for i := range in.Unbound {
		u := &in.Unbound[i]
		place(&u.PluginKey)
		if _, err := r.Store.Workspace(u.Workspace).PluginVersion(ctx, u.Name, u.Version); problem.Is(err, problem.NotFound) {
			continue
		} else if err != nil {
			return err
		}
		r.LeaveOut(ctx, e.Name, u)
	}
	return nil
}

// Failed records that a gateway took a plugin out of calls by itself, and
// reports it.
func (r *Room) Failed(ctx context.Context, workspace, name, version, reason string) {
	err := r.Store.Workspace(workspace).Update(ctx, func(tx *store.Tx) error {
		rec := request.Audit(ctx, "plugin.unbind", name+"@"+version)
		rec.Reason = reason
		if err := tx.Audit(ctx, rec); err != nil {
			return err
		}
		return tell(ctx, tx, TypeLeftOut, name, version, name+" "+version+" fails and is left out of calls for a time", reason)
	})
	if err != nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "the unbinding of a plugin was not recorded", slog.String("plugin", name), slog.Any("error", err))
	}
	r.Events.Emit(publish.Event{Type: EventFailed, Workspace: workspace, Plugin: name + "@" + version, Reason: reason})
}
