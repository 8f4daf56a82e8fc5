package admin

import (
	"context"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/store"
)

// credentialVersion changes with every change of any secret of the draft; 0: it
// has none.
func (d *draft) credentialVersion() (sum uint64) {
	for _, p := range d.parts {
		for i := range p.creds {
			sum += p.creds[i].Row.Version
		}
	}
	return sum
}

// authenticate puts a configuration on a draft; at is where its fields are.
func (r *drafts) authenticate(d *draft, a *credential.SetAuth, at string) error {
	of := credential.Use{Toolset: d.ts.ID, Connector: d.row.Name, MCP: d.row.SourceKind == store.SourceMCP, Methods: d.report.Methods}
	next, err := a.Configure(&of, d.creds, r.Store.NewID, at)
	if err == nil {
		d.creds = next
	}
	return err
}

// writeAuth writes the credentials of the connector that a draft is about, and removes
// what no connector has any more.
func (r *drafts) writeAuth(ctx context.Context, tx *store.Tx, d *draft) error {
	var ids []string
	for _, p := range d.parts {
		for i := range p.creds {
			ids = append(ids, p.creds[i].Row.ID)
		}
	}
	return credential.Write(ctx, tx, r.Keyring, d.ts.ID, ids, d.creds)
}

// unconfirmed lists where a draft would send a credential that it is not for.
func (r *drafts) unconfirmed(ctx context.Context, d *draft) ([]credential.OriginChange, error) {
	var list []credential.Calls
	rows := map[string]*store.Credential{}
	for _, p := range d.parts {
		list = append(list, p.calls())
		for i := range p.creds {
			rows[p.creds[i].Row.ID] = &p.creds[i].Row
		}
	}
	return r.Origins.Unconfirmed(ctx, list, func(id string) (*store.Credential, error) { return rows[id], nil })
}

// requireConfirmed refuses a draft that would send a credential to a new address.
func (r *drafts) requireConfirmed(ctx context.Context, d *draft) error {
	changes, err := r.unconfirmed(ctx, d)
	if err == nil && len(changes) > 0 {
		err = credential.Refused(d.ts.Slug, changes)
	}
	return err
}

// bindCredentials binds what a request sets of the connector that a draft is about to where the
// draft sends it.
func (r *drafts) bindCredentials(ctx context.Context, d *draft) error {
	drafted := d.part.calls()
	return r.Origins.Bind(ctx, d.ts, d.creds, &drafted)
}
