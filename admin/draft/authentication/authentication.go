package authentication

import (
	"context"
	"slices"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/grant"
)

// Room sets the authentication of connectors.
type Room struct {
	Drafts *draft.Room
	Logins *login.Room
	Grants *grant.Room
}

// Set sets the authentication of the named connector; "": of the only one. The secrets that
// go with what was are revoked. The draft is about that connector then.
func (r *Room) Set(ctx context.Context, ws *store.Workspace, id, connector string, match *request.MatchInput, a *credential.SetAuth) (*draft.Draft, error) {
	d, err := r.Drafts.Load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if err := match.Check(d.Toolset.Version, false); err != nil {
		return nil, err
	}
	if err := d.Focus(connector); err != nil {
		return nil, err
	}
	before, err := credential.Show(d.Creds, ws.Now())
	if err != nil {
		return nil, err
	}
	old := slices.Clone(d.Creds)
	if d.Row.SourceKind == store.SourceMCP {
		a.Aim(d.BaseURL())
	}
	if err := r.Drafts.Authenticate(d, a, ""); err != nil {
		return nil, err
	}
	if err := r.Drafts.BindCredentials(ctx, d); err != nil {
		return nil, err
	}
	if err := r.Drafts.Push(ctx, d); err != nil {
		return nil, err
	}
	var lost login.Gone
	r.Logins.Secrets.CollectLost(ctx, ws, &lost, old, d.Creds)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SaveToolset(ctx, d.Toolset); err != nil {
			return err
		}
		if err := r.Drafts.WriteAuth(ctx, tx, d); err != nil {
			return err
		}
		rec := request.Audit(ctx, "authentication.set", d.Toolset.ID)
		rec.Before, rec.After = store.JSON(before), store.JSON(credential.Audited(r.Drafts.Keyring, d.Creds))
		if len(d.Creds) == 0 {
			rec.Action = "authentication.delete"
		}
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	r.Logins.Secrets.ForgetAll(old, d.Creds)
	r.Logins.Secrets.RevokeGone(ctx, ws, d.Toolset.ID, &lost)
	if err := r.Grants.GrantNamed(ctx, ws, d.Toolset.ID, a.Addresses()...); err != nil {
		return nil, err
	}
	if d, err = draft.Outline(ctx, ws, d.Toolset); err != nil { // what was sealed has a version now
		return nil, err
	}
	return d, d.Focus(connector)
}
