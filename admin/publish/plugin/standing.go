package plugin

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Standing is whether a version can still be bound.
type Standing struct {
	Status  string // ok, yanked, revoked (its key), gone
	Reason  string // why it was yanked
	Redacts bool
}

// Standing reads what became of a version.
func (r *Room) Standing(ctx context.Context, ws *store.Workspace, name, version string) (Standing, error) {
	row, err := ws.PluginVersion(ctx, name, version)
	if problem.Is(err, problem.NotFound) {
		return Standing{Status: "gone", Redacts: true}, nil
	}
	if err != nil {
		return Standing{}, err
	}
	m, err := manifest.Parse([]byte(row.Document))
	if err != nil {
		return Standing{}, err
	}
	out := Standing{Status: "ok", Redacts: m.Redacts()}
	if row.YankedAt.IsZero() {
		return out, nil
	}
	out.Status, out.Reason = "yanked", row.YankReason
	key, err := ws.PublisherKey(ctx, row.KeyID)
	if err == nil && !key.RevokedAt.IsZero() {
		out.Status = "revoked"
	}
	return out, err
}

// SamePlace reports whether two bindings bind a plugin at the same place.
func SamePlace(a, b *registry.PluginRef) bool {
	return a.Name == b.Name && a.Connector == b.Connector && a.Method == b.Method && a.Path == b.Path
}

// SameBindings reports whether two lists bind the same plugins in the same way. Where the
// plugins are stored, and how the tools of workflows are edited, is not compared.
func SameBindings(a, b []registry.PluginRef) bool {
	text := func(r registry.PluginRef) string {
		r.Repository, r.Manifest, r.Tool = "", "", nil
		return store.JSON(r)
	}
	return slices.EqualFunc(a, b, func(x, y registry.PluginRef) bool {
		x.Config, y.Config = whole(x.Config), whole(y.Config)
		return text(x) == text(y)
	})
}

// whole makes nothing of an empty configuration, which is none.
func whole(config json.RawMessage) json.RawMessage {
	if s := string(config); s == "" || s == "null" || s == "{}" {
		return nil
	}
	return config
}
