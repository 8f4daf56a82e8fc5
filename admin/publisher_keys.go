package admin

import (
	"context"
	"encoding/pem"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry/sign"
)

type newPublisherKeyInput struct{ Body NewPublisherKey }

type publisherKeyInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body RevokeKey
}

func (s *Server) registerPublisherKeys() {
	const path = "/v1/publisher-keys"
	tags := []string{"plugins"}
	register(s, huma.Operation{
		OperationID: "list-publisher-keys", Method: http.MethodGet, Path: path, Summary: "List the keys whose signature makes a plugin acceptable", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[PublisherKey], error) {
		p, err := in.page(path)
		if err != nil {
			return nil, err
		}
		rows, next, err := s.workspace(ctx).PublisherKeys(ctx, p)
		if err != nil {
			return nil, err
		}
		return list(in, path, rows, next, showPublisherKey), nil
	})
	register(s, huma.Operation{
		OperationID: "add-publisher-key", Method: http.MethodPost, Path: path, Summary: "Trust a publisher", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newPublisherKeyInput) (*bodyOutput[PublisherKey], error) {
		k, err := sign.ParsePublisherKey([]byte(in.Body.PublicKey))
		if err != nil {
			return nil, err
		}
		row := &store.PublisherKey{ID: k.ID(), Name: in.Body.Name, PublicKey: k.DER(), Algorithm: k.Algorithm(), CreatedBy: request.Of(ctx).TokenID()}
		err = s.workspace(ctx).Update(ctx, func(tx *store.Tx) error {
			if err := tx.AddPublisherKey(ctx, row); err != nil {
				return err
			}
			rec := request.Audit(ctx, "publisher_key.add", row.ID)
			rec.After = store.JSON(map[string]any{"name": row.Name, "algorithm": row.Algorithm})
			return tx.Audit(ctx, rec)
		})
		if err != nil {
			return nil, err
		}
		return &bodyOutput[PublisherKey]{showPublisherKey(row)}, nil
	})
	register(s, huma.Operation{
		OperationID: "revoke-publisher-key", Method: http.MethodPost, Path: path + "/{id}/revoke", Summary: "Revoke a publisher's key", Tags: tags,
		Description: "Every version that it signed is yanked, and toolsets that bind one cannot be deployed again with it.",
	}, s.revokePublisherKey)
}

func (s *Server) revokePublisherKey(ctx context.Context, in *publisherKeyInput) (*bodyOutput[RevokedKey], error) {
	ws := s.workspace(ctx)
	var out RevokedKey
	err := ws.Update(ctx, func(tx *store.Tx) error {
		n, err := tx.RevokePublisherKey(ctx, in.ID, in.Body.Reason)
		if err != nil {
			return err
		}
		row, err := tx.PublisherKey(ctx, in.ID)
		if err != nil {
			return err
		}
		out.PublisherKey, out.Yanked = showPublisherKey(row), int(n)
		rec := request.Audit(ctx, "publisher_key.revoke", row.ID)
		rec.Reason, rec.Before = in.Body.Reason, store.JSON(map[string]any{"name": row.Name, "yanked": n})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	if out.Toolsets, err = usersOf(ctx, ws, func(b *boundRecord) bool {
		v, err := ws.PluginVersion(ctx, b.Plugin, b.Pinned)
		return err == nil && v.KeyID == in.ID
	}); err != nil {
		return nil, err
	}
	return &bodyOutput[RevokedKey]{out}, nil
}

func showPublisherKey(row *store.PublisherKey) PublisherKey {
	k := PublisherKey{
		ID: row.ID, Name: row.Name, Algorithm: row.Algorithm, PublicKey: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: row.PublicKey})),
		Status: "valid", CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt.Time, RevokedAt: row.RevokedAt.Time, Reason: row.Reason,
	}
	if !row.RevokedAt.IsZero() {
		k.Status = "revoked"
	}
	return k
}
