package change

import (
	"context"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Remove takes a connector out of a toolset, with its edits, its examples and its credential.
func (r *Room) Remove(ctx context.Context, ws *store.Workspace, id, connector string, match *request.MatchInput) (*draft.Draft, error) {
	d, err := r.Drafts.Load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if err := match.Check(d.Toolset.Version, true); err != nil {
		return nil, err
	}
	if d.Named(connector) == nil {
		return nil, problem.New(problem.NotFound, "toolset %s has no connector %.80q", d.Toolset.Slug, connector).Fix("it has %s", d.Names())
	}
	if err := d.Focus(connector); err != nil {
		return nil, err
	}
	removed := *d.Part
	if err := d.Drop(); err != nil {
		return nil, err
	}
	if err := r.Drafts.Push(ctx, d); err != nil {
		return nil, err
	}
	var lost login.Gone
	r.Logins.Secrets.CollectLost(ctx, ws, &lost, removed.Creds, nil)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SaveConnectors(ctx, d.Toolset, d.Rows()); err != nil {
			return err
		}
		if err := tx.SaveToolset(ctx, d.Toolset); err != nil {
			return err
		}
		if err := tx.ReplaceToolEdits(ctx, d.Toolset.ID, d.Edits); err != nil {
			return err
		}
		if err := tx.DeleteLearned(ctx, d.Toolset.ID, removed.Row.Name); err != nil {
			return err
		}
		if err := r.Drafts.WriteAuth(ctx, tx, d); err != nil {
			return err
		}
		rec := request.Audit(ctx, "connector.remove", d.Toolset.ID)
		rec.Digest = d.Toolset.DraftDigest
		rec.Before = store.JSON(map[string]any{"connector": removed.Row.Name, "source": removed.Row.SourceURL, "digest": removed.Row.ConnectorDigest})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	r.Logins.Secrets.ForgetAll(removed.Creds)
	r.Logins.Secrets.RevokeGone(ctx, ws, d.Toolset.ID, &lost)
	r.Upstreams.Forget(d.Toolset.ID, removed.Row.Name)
	return d, nil
}
