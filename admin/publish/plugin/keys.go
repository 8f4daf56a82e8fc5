package plugin

import (
	"context"
	"encoding/pem"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry/sign"
)

// AddKey lets a key sign plugins of the workspace.
func (r *Room) AddKey(ctx context.Context, ws *store.Workspace, in *NewPublisherKey) (PublisherKey, error) {
	k, err := sign.ParsePublisherKey([]byte(in.PublicKey))
	if err != nil {
		return PublisherKey{}, err
	}
	row := &store.PublisherKey{ID: k.ID(), Name: in.Name, PublicKey: k.DER(), Algorithm: k.Algorithm(), CreatedBy: request.Of(ctx).ActorID()}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.AddPublisherKey(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "publisher_key.add", row.ID)
		rec.After = store.JSON(map[string]any{"name": row.Name, "algorithm": row.Algorithm})
		return tx.Audit(ctx, rec)
	})
	return ShowKey(row), err
}

// RevokeKey ends a key and yanks the versions that it signed.
func (r *Room) RevokeKey(ctx context.Context, ws *store.Workspace, id, reason string) (RevokedKey, error) {
	var out RevokedKey
	err := ws.Update(ctx, func(tx *store.Tx) error {
		n, err := tx.RevokePublisherKey(ctx, id, reason)
		if err != nil {
			return err
		}
		row, err := tx.PublisherKey(ctx, id)
		if err != nil {
			return err
		}
		out.PublisherKey, out.Yanked = ShowKey(row), int(n)
		rec := request.Audit(ctx, "publisher_key.revoke", row.ID)
		rec.Reason, rec.Before = reason, store.JSON(map[string]any{"name": row.Name, "yanked": n})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return out, err
	}
	out.Toolsets, err = r.BoundBy(ctx, ws, func(plugin, version string) bool {
		v, err := ws.PluginVersion(ctx, plugin, version)
		return err == nil && v.KeyID == id
	})
	return out, err
}

// ShowKey is a publisher key as the API shows it.
func ShowKey(row *store.PublisherKey) PublisherKey {
	k := PublisherKey{
		ID: row.ID, Name: row.Name, Algorithm: row.Algorithm, PublicKey: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: row.PublicKey})),
		Status: "valid", CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt.Time, RevokedAt: row.RevokedAt.Time, Reason: row.Reason,
	}
	if !row.RevokedAt.IsZero() {
		k.Status = "revoked"
	}
	return k
}
