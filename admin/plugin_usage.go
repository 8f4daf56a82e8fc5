package admin

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// usageInterval is how often what plugins did is written down.
const usageInterval = 15 * time.Second

// EventPluginFailed says that a plugin was taken out of calls by itself.
const EventPluginFailed = "plugin.failed"

// RecordPluginUsage adds what nodes counted to the record of each version.
func (s *Server) RecordPluginUsage(ctx context.Context, calls []registry.PluginCalls) error {
	for i := range calls {
		c := &calls[i]
		if err := s.o.Store.Workspace(c.Workspace).Update(ctx, func(tx *store.Tx) error { return tx.AddPluginUsage(ctx, c) }); err != nil {
			return err
		}
	}
	return nil
}

// edgePlugins takes what plugins did on an edge. An edge of one workspace speaks of
// that one; what is said of versions that are not known is dropped.
func (s *Server) edgePlugins(w http.ResponseWriter, r *http.Request) error {
	e, err := s.edgeOf(r)
	if err != nil {
		return err
	}
	var in registry.EdgePlugins
	if err := edgeMessage(w, r, registry.MaxEdgePluginsBytes, &in); err != nil {
		return err
	}
	if err := in.Validate(); err != nil {
		return err
	}
	place := func(k *registry.PluginKey) {
		if !e.AllWorkspaces {
			k.Workspace = e.WorkspaceID
		}
	}
	ctx := r.Context()
	for i := range in.Calls {
		place(&in.Calls[i].PluginKey)
	}
	if err := s.RecordPluginUsage(ctx, in.Calls); err != nil {
		return err
	}
	for i := range in.Unbound {
		u := &in.Unbound[i]
		place(&u.PluginKey)
		if _, err := s.o.Store.Workspace(u.Workspace).PluginVersion(ctx, u.Name, u.Version); problem.Is(err, problem.NotFound) {
			continue
		} else if err != nil {
			return err
		}
		s.LeaveOut(ctx, e.Name, u)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// recordLocalUsage writes down what the gateway of this node counted. What cannot
// be written is lost: it is a measure, not an account.
func (s *Server) recordLocalUsage(ctx context.Context) {
	if s.o.PluginUsage == nil {
		return
	}
	if err := s.RecordPluginUsage(ctx, s.o.PluginUsage()); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the usage of plugins was not written", slog.Any("error", err))
	}
}

// PluginFailed records that a gateway took a plugin out of calls by itself, and
// tells of it.
func (s *Server) PluginFailed(ctx context.Context, workspace, name, version, reason string) {
	err := s.o.Store.Workspace(workspace).Update(ctx, func(tx *store.Tx) error {
		rec := request.Audit(ctx, "plugin.unbind", name+"@"+version)
		rec.Reason = reason
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the unbinding of a plugin was not recorded", slog.String("plugin", name), slog.Any("error", err))
	}
	s.events.Emit(publish.Event{Type: EventPluginFailed, Workspace: workspace, Plugin: name + "@" + version, Reason: reason})
}
