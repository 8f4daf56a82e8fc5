package access

import (
	"context"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// firstTokenName is the name of the access token that comes with a new toolset.
const firstTokenName = "made with the toolset"

// Opening is who may open the URL of a new toolset, when that is not left to the
// default of a listener on loopback: everybody.
type Opening struct {
	access *store.ToolsetAccess // nil: everybody, as the operator says
	token  *store.AccessToken
	secret secrets.Secret // its text
}

// OpeningMode is how a new toolset is opened: as the request says, else with a token
// where others than this machine reach the gateway.
func (r *Room) OpeningMode(said string) string {
	switch {
	case said != "":
		return said
	case r.Closed:
		return registry.AccessToken
	}
	return registry.AccessNone
}

// Opening makes what opens a new toolset; nil: nothing is recorded. The document of
// it harms nobody when no record names it.
func (r *Room) Opening(ctx context.Context, ws *store.Workspace, ts *store.Toolset, said string) (*Opening, error) {
	if r.OpeningMode(said) == registry.AccessNone {
		if said == "" || !r.Closed {
			return nil, nil //nolint:nilnil // a listener on loopback is open
		}
		return &Opening{}, nil
	}
	secret := NewTokenFor(ToolsetPrefix)
	o := &Opening{
		secret: secret,
		token: &store.AccessToken{
			ID: ws.NewID("act"), ToolsetID: ts.ID, Name: firstTokenName, Hash: HashToken(secret), Last4: secret.Last4(), CreatedBy: request.Of(ctx).ActorID(),
			Grants: store.JSON(tokenGrants{}),
		},
	}
	settings := AccessSettings{Mode: registry.AccessToken}
	row := &store.ToolsetAccess{ToolsetID: ts.ID, Mode: settings.Mode, Settings: store.JSON(settings)}
	doc, err := accessDocument(ts, row, settings, []store.AccessToken{*o.token})
	if err != nil {
		return nil, err
	}
	digest, err := r.Publisher.Access(ctx, repositoryOf(ts), doc)
	if err != nil {
		return nil, err
	}
	row.Digest = string(digest)
	o.access = row
	return o, nil
}

// Write writes the records of an opening, with the toolset.
func (o *Opening) Write(ctx context.Context, tx *store.Tx, toolset string) error {
	if o == nil {
		return nil
	}
	rec := request.Audit(ctx, "access.set", toolset)
	if o.access == nil {
		rec.Reason, rec.After = "public, as the request says: everybody who reaches the gateway may call it", store.JSON(AccessSettings{Mode: registry.AccessNone})
		return tx.Audit(ctx, rec)
	}
	if err := tx.AddAccessToken(ctx, o.token); err != nil {
		return err
	}
	if err := tx.SaveAccess(ctx, o.access); err != nil {
		return err
	}
	rec.Reason, rec.Digest = "a new toolset needs a token where others reach the gateway, unless it is said to be public", o.access.Digest
	rec.After = store.JSON(map[string]any{"mode": o.access.Mode, "token": o.token.ID, "last4": o.token.Last4})
	return tx.Audit(ctx, rec)
}

// Show is the token of an opening for the one answer that has it; nil: there is none.
func (o *Opening) Show() (*CreatedAccessToken, error) {
	if o == nil || o.token == nil {
		return nil, nil //nolint:nilnil // nothing is shown
	}
	row, err := showAccessToken(o.token, o.token.CreatedAt.Time)
	if err != nil {
		return nil, err
	}
	return &CreatedAccessToken{AccessToken: row, Token: o.secret.Reveal(), Mode: registry.AccessToken}, nil
}

// CheckOpening refuses to open a toolset that is there in another way: that is a change
// of its own.
func CheckOpening(ctx context.Context, ws *store.Workspace, ts *store.Toolset, said string) error {
	if said == "" {
		return nil
	}
	row, err := ws.Access(ctx, ts.ID)
	if err != nil || ModeOf(row) == said {
		return err
	}
	return problem.New(problem.Conflict, "toolset %s is there already, with access %s", ts.Slug, ModeOf(row)).
		At("", 0, 0, "/access").Fix("change it: sluice toolset access %s set %s", ts.Slug, said)
}
