package fleet

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sluicegate/sluice/admin/store"
)

// FollowKeys signs again what an older release key signed, when the key was replaced
// while the server was down, and makes the releases that tell edges of it. It does
// nothing otherwise. When it is cut off the next start does it. signAccess signs the
// access document of a toolset, and reports whether it had to.
func (r *Room) FollowKeys(ctx context.Context, signAccess func(context.Context, *store.Workspace, *store.Toolset) (bool, error)) error {
	if !r.o.Publisher.KeysChanged() {
		return nil
	}
	workspaces, err := r.o.Store.Workspaces(ctx)
	if err != nil {
		return err
	}
	documents := 0
	for _, id := range workspaces {
		ws := r.o.Store.Workspace(id)
		all, err := store.All(ctx, ws.Toolsets)
		if err != nil {
			return err
		}
		for i := range all {
			signed, err := signAccess(ctx, ws, &all[i])
			if err != nil {
				return fmt.Errorf("signing the access of %s with the new release key: %w", all[i].ID, err)
			}
			if signed {
				documents++
			}
		}
	}
	rel, err := r.o.Publisher.Release(ctx)
	if err != nil {
		return fmt.Errorf("making a release with the new release key: %w", err)
	}
	r.o.Log.LogAttrs(ctx, slog.LevelInfo, "the release key was replaced, and edges are notified", slog.Int("access_documents", documents),
		slog.Uint64("revision", rel.Release().Revision), slog.String("key", rel.Signer().KeyID[:16]))
	return nil
}
