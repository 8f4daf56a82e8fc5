package draft

import (
	"context"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/store"
)

// CredentialVersion changes with every change of any secret of the draft; 0: it
// has none.
func (d *Draft) CredentialVersion() (sum uint64) {
	for _, p := range d.Parts {
		for i := range p.Creds {
			sum += p.Creds[i].Row.Version
		}
	}
	return sum
}

// Authenticate puts a configuration on a draft; at is where its fields are.
func (r *Room) Authenticate(d *Draft, a *credential.SetAuth, at string) error {
	of := credential.Use{Toolset: d.Toolset.ID, Connector: d.Row.Name, MCP: d.Row.SourceKind == store.SourceMCP, Methods: d.Report.Methods}
	next, err := a.Configure(&of, d.Creds, r.Store.NewID, at)
	if err == nil {
		d.Creds = next
	}
	return err
}

// WriteAuth writes the credentials of the connector that a draft is about, and removes
// what no connector has any more.
func (r *Room) WriteAuth(ctx context.Context, tx *store.Tx, d *Draft) error {
	var ids []string
	for _, p := range d.Parts {
		for i := range p.Creds {
			ids = append(ids, p.Creds[i].Row.ID)
		}
	}
	return credential.Write(ctx, tx, r.Keyring, d.Toolset.ID, ids, d.Creds)
}

// Unconfirmed lists where a draft would send a credential that it is not for.
func (r *Room) Unconfirmed(ctx context.Context, d *Draft) ([]credential.OriginChange, error) {
	var list []credential.Calls
	rows := map[string]*store.Credential{}
	for _, p := range d.Parts {
		list = append(list, p.Calls())
		for i := range p.Creds {
			rows[p.Creds[i].Row.ID] = &p.Creds[i].Row
		}
	}
	return r.Origins.Unconfirmed(ctx, list, func(id string) (*store.Credential, error) { return rows[id], nil })
}

// RequireConfirmed refuses a draft that would send a credential to a new address.
func (r *Room) RequireConfirmed(ctx context.Context, d *Draft) error {
	changes, err := r.Unconfirmed(ctx, d)
	if err == nil && len(changes) > 0 {
		err = credential.Refused(d.Toolset.Slug, changes)
	}
	return err
}

// BindCredentials binds what a request sets of the connector that a draft is about to where the
// draft sends it.
func (r *Room) BindCredentials(ctx context.Context, d *Draft) error {
	drafted := d.Part.Calls()
	return r.Origins.Bind(ctx, d.Toolset, d.Creds, &drafted)
}
