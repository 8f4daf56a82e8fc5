package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

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
	return row, found(c.from(row).Where("id = ?", id).Scan(ctx), "credential", id)
}

// SealedCredential reads a credential of any workspace, for the gateway that runs
// in this process and knows no more than the id in a bundle. It fails with
// [problem.NotFound].
func (s *Store) SealedCredential(ctx context.Context, id string) (*Credential, error) {
	row := new(Credential)
	return row, found(s.read.NewSelect().Model(row).Where("id = ?", id).Scan(ctx), "credential", id)
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
	if err := c.from(&rows).Where("id > ?", p.After).Order("id").Limit(p.limit() + 1).Scan(ctx); err != nil {
		return nil, "", fmt.Errorf("listing credentials: %w", err)
	}
	rows, next := cut(rows, p, func(c *Credential) string { return c.ID })
	return rows, next, nil
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
		row.CreatedAt = Time{t.Now()}
	}
	if row.ID == "" {
		row.ID = t.NewID("cred")
	}
	row.WorkspaceID = t.id
	row.Version++
	row.RotatedAt = Time{t.Now()}
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

// Record is what Sealed is sealed for.
func (o *OAuthToken) Record() secrets.Record {
	return secrets.Record{Key: "workspaces/" + o.WorkspaceID + "/credentials/" + o.CredentialID + "/token", Version: o.Version}
}

// LoginRecord is what Login is sealed for: a login of another time does not open.
func (o *OAuthToken) LoginRecord() secrets.Record {
	return secrets.Record{
		Key:     "workspaces/" + o.WorkspaceID + "/credentials/" + o.CredentialID + "/login",
		Version: uint64(o.LoginExpires.UnixMilli()),
	}
}

// OAuthToken returns the tokens of a credential; nil: it never had any.
func (c *scope) OAuthToken(ctx context.Context, credential string) (*OAuthToken, error) {
	row := new(OAuthToken)
	err := c.from(row).Where("credential_id = ?", credential).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // "never had any" is an ordinary answer
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tokens of credential %s: %w", credential, err)
	}
	return row, nil
}

// SaveOAuthToken writes the tokens of a credential, which may be its first. The
// caller raises the version when the tokens change.
func (t *Tx) SaveOAuthToken(ctx context.Context, row *OAuthToken) error {
	row.UpdatedAt = Time{t.Now()}
	if row.Sealed == nil {
		row.Sealed = []byte{}
	}
	if row.Login == nil {
		row.Login = []byte{}
	}
	n, err := affected(t.updateOf(row).ExcludeColumn("workspace_id", "credential_id").Where("credential_id = ?", row.CredentialID).Exec(ctx))
	if err == nil && n == 0 {
		_, err = t.insert(row).Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("writing the tokens of credential %s: %w", row.CredentialID, err)
	}
	return nil
}

// ExpiringTokens lists the tokens of every workspace that expire before a time
// and were not refused, the first to expire first, at most limit.
func (s *Store) ExpiringTokens(ctx context.Context, before time.Time, limit int64) ([]OAuthToken, error) {
	var rows []OAuthToken
	err := s.read.NewSelect().Model(&rows).Where("expires_at > 0").Where("expires_at < ?", Time{before}).Where("error = ''").
		Order("expires_at").Limit(limit).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the tokens that expire: %w", err)
	}
	return rows, nil
}

// RewrapCredentials puts every sealed value of the workspace under the current
// key-encryption key and returns how many it changed.
func (t *Tx) RewrapCredentials(ctx context.Context, ring *secrets.Keyring) (int, error) {
	changed, p := 0, Page{Limit: MaxLimit}
	for {
		rows, next, err := t.Credentials(ctx, p)
		if err != nil {
			return changed, err
		}
		for i := range rows {
			n, err := t.rewrap(ctx, ring, &rows[i])
			if changed += n; err != nil {
				return changed, fmt.Errorf("re-wrapping credential %s: %w", rows[i].ID, err)
			}
		}
		if p.After = next; next == "" {
			return changed, nil
		}
	}
}

// rewrap puts the secret of one credential, its tokens, its pending login, its
// client and the tokens of its callers under the current key.
func (t *Tx) rewrap(ctx context.Context, ring *secrets.Keyring, row *Credential) (changed int, err error) {
	out, did, err := ring.Rewrap(row.Record(), row.Sealed)
	if err != nil {
		return 0, err
	}
	if did {
		row.Sealed = out
		if err := t.saveCredential(ctx, row); err != nil {
			return 0, err
		}
		changed++
	}
	n, err := t.rewrapLogins(ctx, ring, row.ID)
	if changed += n; err != nil {
		return changed, err
	}
	tok, err := t.OAuthToken(ctx, row.ID)
	if tok == nil || err != nil {
		return changed, err
	}
	before := changed
	for _, v := range []struct {
		sealed *[]byte
		rec    secrets.Record
	}{{&tok.Sealed, tok.Record()}, {&tok.Login, tok.LoginRecord()}} {
		if len(*v.sealed) == 0 {
			continue
		}
		out, did, err := ring.Rewrap(v.rec, *v.sealed)
		if err != nil {
			return changed, err
		}
		if did {
			*v.sealed = out
			changed++
		}
	}
	if changed == before {
		return changed, nil
	}
	return changed, t.SaveOAuthToken(ctx, tok)
}
