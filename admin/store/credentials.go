package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// CredentialsOf returns the authentication configuration of a connector in a
// toolset in its order; none when there is no authentication.
func (c *scope) CredentialsOf(ctx context.Context, toolset, connector string) ([]Credential, error) {
	var rows []Credential
	err := c.from(&rows).Where("toolset_id = ?", toolset).Where("connector = ?", connector).Order("position", "id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the authentication of %s: %w", toolset, err)
	}
	return rows, nil
}

// CredentialByID reads a credential. It fails with [problem.NotFound].
func (c *scope) CredentialByID(ctx context.Context, id string) (*Credential, error) {
	row := new(Credential)
	return row, table.Found(c.from(row).Where("id = ?", id).Scan(ctx), "credential", id)
}

// SealedCredential reads a credential of any workspace, for the gateway that runs
// in this process and knows no more than the id in a bundle. It fails with
// [problem.NotFound].
func (s *Store) SealedCredential(ctx context.Context, id string) (*Credential, error) {
	row := new(Credential)
	return row, table.Found(s.read.NewSelect().Model(row).Where("id = ?", id).Scan(ctx), "credential", id)
}

// UnboundCredentials lists the credentials of every workspace that are from before it was
// kept where they may be sent.
func (s *Store) UnboundCredentials(ctx context.Context) ([]Credential, error) {
	var rows []Credential
	if err := s.read.NewSelect().Model(&rows).Where("origins = ''").Order("id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing credentials without origins: %w", err)
	}
	return rows, nil
}

// Credentials lists credentials by id.
func (c *scope) Credentials(ctx context.Context, p Page) ([]Credential, string, error) {
	var rows []Credential
	return table.Read(ctx, c.db, c.from(&rows), &rows, credentialList, p, "credentials")
}

// Record is what Sealed is sealed for.
func (c *Credential) Record() secrets.Record {
	return secrets.Record{Key: "workspaces/" + c.WorkspaceID + "/credentials/" + c.ID, Version: c.Version}
}

// SealCredential writes a credential: one with version 0 is new and gets version
// 1, and an id when it has none; one that was read before gets the next version.
// secret is what is sealed.
func (t *Tx) SealCredential(ctx context.Context, ring *secrets.Keyring, row *Credential, secret secrets.Secret) error {
	isNew := row.Version == 0
	if isNew {
		row.CreatedAt = Time{Time: t.Now()}
	}
	if row.ID == "" {
		row.ID = t.NewID("cred")
	}
	row.WorkspaceID = t.id
	row.Version++
	row.RotatedAt = Time{Time: t.Now()}
	var err error
	if row.Sealed, err = ring.Seal(row.Record(), secret); err != nil {
		return fmt.Errorf("sealing credential %s: %w", row.ID, err)
	}
	if isNew {
		_, err = t.insert(row).Exec(ctx)
	} else {
		err = t.saveCredential(ctx, row)
	}
	if err != nil {
		return fmt.Errorf("writing credential %s: %w", row.ID, err)
	}
	return nil
}

// SaveCredentialShape writes the fields of a credential that are no secret.
func (t *Tx) SaveCredentialShape(ctx context.Context, row *Credential) error {
	return t.saveCredential(ctx, row)
}

// SetOrigins changes where a credential may be sent from one value to another. It
// reports whether it did: the record had the first one.
func (t *Tx) SetOrigins(ctx context.Context, id, from, to string) (bool, error) {
	n, err := affected(t.updateOf((*Credential)(nil)).Set("origins = ?", to).Where("id = ?", id).Where("origins = ?", from).Exec(ctx))
	if err != nil {
		return false, fmt.Errorf("changing the origins of credential %s: %w", id, err)
	}
	return n > 0, nil
}

func (t *Tx) saveCredential(ctx context.Context, row *Credential) error {
	n, err := affected(t.updateOf(row).ExcludeColumn("workspace_id", "id", "created_at", "origins").Where("id = ?", row.ID).Exec(ctx))
	if err == nil && n == 0 {
		err = problem.New(problem.NotFound, "there is no credential %.80q in this workspace", row.ID)
	}
	return err
}

// KeepCredentials removes every credential of a toolset but those with the given
// ids, with their tokens, and returns how many it removed.
func (t *Tx) KeepCredentials(ctx context.Context, toolset string, ids ...string) (int64, error) {
	q := t.deleteOf((*Credential)(nil)).Where("toolset_id = ?", toolset)
	if len(ids) > 0 {
		q = q.Where("id NOT IN (?)", bun.List(ids))
	}
	n, err := affected(q.Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("deleting the authentication of %s: %w", toolset, err)
	}
	return n, nil
}

// sealedRow is a row with a sealed value.
type sealedRow interface {
	Record() secrets.Record
	sealed() *[]byte
}

func (c *Credential) sealed() *[]byte  { return &c.Sealed }
func (o *OAuthClient) sealed() *[]byte { return &o.Sealed }
func (o *OAuthToken) sealed() *[]byte  { return &o.Sealed }
func (o *OAuthLogin) sealed() *[]byte  { return &o.Sealed }

// RewrapCredentials puts every sealed value of the workspace under the current
// key-encryption key and returns how many it changed.
func (t *Tx) RewrapCredentials(ctx context.Context, ring *secrets.Keyring) (changed int, err error) {
	for _, rewrap := range []func() (int, error){
		func() (int, error) { return rewrapRows[Credential](ctx, t, ring, "id") },
		func() (int, error) { return rewrapRows[OAuthClient](ctx, t, ring, "credential_id") },
		func() (int, error) { return rewrapRows[OAuthToken](ctx, t, ring, "credential_id", "user_key") },
		func() (int, error) { return rewrapRows[OAuthLogin](ctx, t, ring, "id") },
		func() (int, error) { return rewrapRows[Channel](ctx, t, ring, "id") },
		func() (int, error) { return rewrapRows[RequestPerson](ctx, t, ring, "id") },
	} {
		n, err := rewrap()
		if changed += n; err != nil {
			return changed, fmt.Errorf("re-wrapping secrets: %w", err)
		}
	}
	return changed, nil
}

// rewrapRows is [Tx.RewrapCredentials] of one table, whose rows are in the order of key.
func rewrapRows[T any, P interface {
	*T
	sealedRow
}](ctx context.Context, t *Tx, ring *secrets.Keyring, key ...string) (changed int, err error) {
	for at := int64(0); ; at += MaxLimit {
		var rows []T
		if err := t.from(&rows).Order(key...).Offset(at).Limit(MaxLimit).Scan(ctx); err != nil {
			return changed, err
		}
		for i := range rows {
			row := P(&rows[i])
			if len(*row.sealed()) == 0 {
				continue
			}
			out, did, err := ring.Rewrap(row.Record(), *row.sealed())
			if err != nil {
				return changed, fmt.Errorf("%s: %w", row.Record().Key, err)
			}
			if !did {
				continue
			}
			*row.sealed() = out
			if _, err := t.tx.NewUpdate().Model(row).Column("sealed").WherePK().Exec(ctx); err != nil {
				return changed, err
			}
			changed++
		}
		if len(rows) < MaxLimit {
			return changed, nil
		}
	}
}
