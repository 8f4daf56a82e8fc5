package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// OAuthClient is the client of a credential that was found or registered, not
// configured. Sealed is opened by the keyring for [OAuthClient.Record]; its form
// is package admin's.
type OAuthClient struct {
	bun.BaseModel `bun:"table:oauth_clients"`
	InWorkspace
	CredentialID string `bun:"credential_id,pk"`
	Version      uint64 `bun:"version"`
	Sealed       []byte `bun:"sealed"`
	UpdatedAt    Time   `bun:"updated_at"`
}

// Record is what Sealed is sealed for.
func (o *OAuthClient) Record() secrets.Record {
	return secrets.Record{Key: "workspaces/" + o.WorkspaceID + "/credentials/" + o.CredentialID + "/client", Version: o.Version}
}

// States of a login.
const (
	LoginPending = "pending"
	LoginDone    = "done"
	LoginFailed  = "failed"
)

// OAuthLogin is a login that does not belong to the tokens of a credential: of a
// server that is no toolset yet, or of a single caller. Sealed is opened for
// [OAuthLogin.Record]; its form is package admin's.
type OAuthLogin struct {
	bun.BaseModel `bun:"table:oauth_logins"`
	InWorkspace
	ID           string `bun:"id,pk"`         // login_…
	CredentialID string `bun:"credential_id"` // empty: there is none yet
	Version      uint64 `bun:"version"`
	Sealed       []byte `bun:"sealed"`
	State        string `bun:"state"` // LoginPending …
	Error        string `bun:"error"` // why it failed
	ExpiresAt    Time   `bun:"expires_at"`
	CreatedAt    Time   `bun:"created_at"`
}

// Record is what Sealed is sealed for.
func (o *OAuthLogin) Record() secrets.Record {
	return secrets.Record{Key: "workspaces/" + o.WorkspaceID + "/logins/" + o.ID, Version: o.Version}
}

// UserToken is what an authorization server gave to one caller of a toolset.
// Sealed is opened for [UserToken.Record].
type UserToken struct {
	bun.BaseModel `bun:"table:user_tokens"`
	InWorkspace
	CredentialID string `bun:"credential_id,pk"`
	UserKey      string `bun:"user_key,pk"` // hash of who the caller is
	ID           string `bun:"id"`          // usr_…
	Kind         string `bun:"kind"`        // token or jwt
	Issuer       string `bun:"issuer"`      // of a JWT
	Subject      string `bun:"subject"`     // of a JWT, or the id of an access token
	Version      uint64 `bun:"version"`     // of the tokens; it only grows
	Sealed       []byte `bun:"sealed"`      // empty: none any more, the caller must log in again
	ExpiresAt    Time   `bun:"expires_at"`  // of the access token; zero: not known
	Error        string `bun:"error"`       // why the last request for a token was refused
	ErrorAt      Time   `bun:"error_at"`
	CreatedAt    Time   `bun:"created_at"`
	UpdatedAt    Time   `bun:"updated_at"`
}

// Record is what Sealed is sealed for: the tokens of one caller do not open as
// those of another.
func (u *UserToken) Record() secrets.Record {
	return secrets.Record{Key: "workspaces/" + u.WorkspaceID + "/credentials/" + u.CredentialID + "/users/" + u.UserKey, Version: u.Version}
}

// OAuthClient returns the client of a credential that was found or registered;
// nil: there is none.
func (c *scope) OAuthClient(ctx context.Context, credential string) (*OAuthClient, error) {
	row := new(OAuthClient)
	err := c.from(row).Where("credential_id = ?", credential).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // none is an ordinary answer
	}
	if err != nil {
		return nil, fmt.Errorf("reading the client of credential %s: %w", credential, err)
	}
	return row, nil
}

// SealOAuthClient writes the client of a credential with the next version.
func (t *Tx) SealOAuthClient(ctx context.Context, ring *secrets.Keyring, credential string, client secrets.Secret) error {
	old, err := t.OAuthClient(ctx, credential)
	if err != nil {
		return err
	}
	row := &OAuthClient{CredentialID: credential, Version: 1, UpdatedAt: Time{t.Now()}}
	if old != nil {
		row.Version = old.Version + 1
	}
	row.WorkspaceID = t.id
	if row.Sealed, err = ring.Seal(row.Record(), client); err != nil {
		return fmt.Errorf("sealing the client of credential %s: %w", credential, err)
	}
	if err := t.DeleteOAuthClient(ctx, credential); err != nil {
		return err
	}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing the client of credential %s: %w", credential, err)
	}
	return nil
}

// DeleteOAuthClient forgets the client of a credential, if there is one.
func (t *Tx) DeleteOAuthClient(ctx context.Context, credential string) error {
	if _, err := t.deleteOf((*OAuthClient)(nil)).Where("credential_id = ?", credential).Exec(ctx); err != nil {
		return fmt.Errorf("deleting the client of credential %s: %w", credential, err)
	}
	return nil
}

// OAuthLogin reads a login, whose time may be over. It fails with
// [problem.NotFound].
func (c *scope) OAuthLogin(ctx context.Context, id string) (*OAuthLogin, error) {
	row := new(OAuthLogin)
	return row, found(c.from(row).Where("id = ?", id).Scan(ctx), "login", id)
}

// AnyOAuthLogin reads a login of any workspace, for the page that a browser comes
// back to. It fails with [problem.NotFound] also when its time is over.
func (s *Store) AnyOAuthLogin(ctx context.Context, id string) (*OAuthLogin, error) {
	row := new(OAuthLogin)
	return row, found(s.read.NewSelect().Model(row).Where("id = ?", id).Where("expires_at > ?", Time{s.now()}).Scan(ctx), "login", id)
}

// SealOAuthLogin writes a login: one with version 0 is new and fails with
// [problem.Conflict] when there was one of this id before; one that was read gets
// the next version, and fails so when somebody was quicker.
func (t *Tx) SealOAuthLogin(ctx context.Context, ring *secrets.Keyring, row *OAuthLogin, content secrets.Secret) error {
	was := row.Version
	row.WorkspaceID = t.id
	row.Version++
	var err error
	if row.Sealed, err = ring.Seal(row.Record(), content); err != nil {
		return fmt.Errorf("sealing login %s: %w", row.ID, err)
	}
	var n int64
	if was == 0 {
		row.CreatedAt = Time{t.Now()}
		n, err = affected(t.insert(row).On("CONFLICT (workspace_id, id) DO NOTHING").Exec(ctx))
	} else {
		n, err = affected(t.updateOf(row).ExcludeColumn("workspace_id", "id", "created_at").Where("id = ?", row.ID).Where("version = ?", was).Exec(ctx))
	}
	if err != nil {
		return fmt.Errorf("writing login %s: %w", row.ID, err)
	}
	if n == 0 {
		return problem.New(problem.Conflict, "this login was used before").Fix("begin it again")
	}
	return nil
}

// DeleteOAuthLogin forgets a login, if there is one.
func (t *Tx) DeleteOAuthLogin(ctx context.Context, id string) error {
	if _, err := t.deleteOf((*OAuthLogin)(nil)).Where("id = ?", id).Exec(ctx); err != nil {
		return fmt.Errorf("deleting login %s: %w", id, err)
	}
	return nil
}

// UserToken returns the tokens of a caller; nil: it never had any.
func (c *scope) UserToken(ctx context.Context, credential, userKey string) (*UserToken, error) {
	row := new(UserToken)
	err := c.from(row).Where("credential_id = ?", credential).Where("user_key = ?", userKey).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // "never had any" is an ordinary answer
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tokens of a caller for credential %s: %w", credential, err)
	}
	return row, nil
}

// UserTokens lists the callers of a credential that have tokens, or had them, by
// id.
func (c *scope) UserTokens(ctx context.Context, credential string, p Page) ([]UserToken, string, error) {
	var rows []UserToken
	err := c.from(&rows).Where("credential_id = ?", credential).Where("id > ?", p.After).Order("id").Limit(p.limit() + 1).Scan(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("listing the callers of credential %s: %w", credential, err)
	}
	rows, next := cut(rows, p, func(u *UserToken) string { return u.ID })
	return rows, next, nil
}

// SaveUserToken writes the tokens of a caller, which may be its first: then ID is
// empty. The caller of it raises the version when the tokens change.
func (t *Tx) SaveUserToken(ctx context.Context, row *UserToken) error {
	row.WorkspaceID, row.UpdatedAt = t.id, Time{t.Now()}
	if row.Sealed == nil {
		row.Sealed = []byte{}
	}
	var err error
	if row.ID == "" {
		row.ID, row.CreatedAt = t.NewID("usr"), row.UpdatedAt
		_, err = t.insert(row).Exec(ctx)
	} else {
		_, err = t.updateOf(row).ExcludeColumn("workspace_id", "credential_id", "user_key", "id", "created_at").
			Where("credential_id = ?", row.CredentialID).Where("user_key = ?", row.UserKey).Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("writing the tokens of a caller for credential %s: %w", row.CredentialID, err)
	}
	return nil
}

// DeleteUserTokens forgets the tokens of the callers of a credential: of the one
// with the given id, or of all when it is empty. It returns how many there were.
func (t *Tx) DeleteUserTokens(ctx context.Context, credential, id string) (int64, error) {
	q := t.deleteOf((*UserToken)(nil)).Where("credential_id = ?", credential)
	if id != "" {
		q = q.Where("id = ?", id)
	}
	n, err := affected(q.Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("deleting the tokens of callers of credential %s: %w", credential, err)
	}
	return n, nil
}

// DeleteTokenUser forgets the tokens of the caller who is known by an access token,
// and returns how many there were.
func (t *Tx) DeleteTokenUser(ctx context.Context, accessToken string) (int64, error) {
	n, err := affected(t.deleteOf((*UserToken)(nil)).Where("kind = 'token'").Where("subject = ?", accessToken).Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("deleting the logins of access token %s: %w", accessToken, err)
	}
	return n, nil
}

// sweepLogins removes the logins whose time is over.
func (s *Store) sweepLogins(ctx context.Context) error {
	if _, err := s.write.NewDelete().Model((*OAuthLogin)(nil)).Where("expires_at <= ?", Time{s.now()}).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping logins: %w", err)
	}
	return nil
}

// rewrapLogins puts the client and the callers' tokens of a credential under the
// current key.
func (t *Tx) rewrapLogins(ctx context.Context, ring *secrets.Keyring, credential string) (changed int, err error) {
	client, err := t.OAuthClient(ctx, credential)
	if err != nil {
		return 0, err
	}
	if client != nil {
		out, did, err := ring.Rewrap(client.Record(), client.Sealed)
		if err != nil {
			return 0, err
		}
		if did {
			client.Sealed = out
			if _, err := t.updateOf(client).Column("sealed").Where("credential_id = ?", credential).Exec(ctx); err != nil {
				return 0, err
			}
			changed++
		}
	}
	p := Page{Limit: MaxLimit}
	for {
		rows, next, err := t.UserTokens(ctx, credential, p)
		if err != nil {
			return changed, err
		}
		for i := range rows {
			if len(rows[i].Sealed) == 0 {
				continue
			}
			out, did, err := ring.Rewrap(rows[i].Record(), rows[i].Sealed)
			if err != nil {
				return changed, err
			}
			if did {
				rows[i].Sealed = out
				if err := t.SaveUserToken(ctx, &rows[i]); err != nil {
					return changed, err
				}
				changed++
			}
		}
		if p.After = next; next == "" {
			return changed, nil
		}
	}
}
