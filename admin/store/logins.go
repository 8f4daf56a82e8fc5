package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
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

// Purposes of a login.
const (
	LoginCredential = "credential" // its tokens are for all calls of a toolset
	LoginServer     = "server"     // at a server that is not a toolset yet
	LoginUser       = "user"       // of one caller of a toolset
)

// OAuthLogin is a login that a person begins and finishes in a browser. Sealed is opened
// for [OAuthLogin.Record]; its form is package admin's.
type OAuthLogin struct {
	bun.BaseModel `bun:"table:oauth_logins"`
	InWorkspace
	ID           string `bun:"id,pk"`                  // login_…
	Purpose      string `bun:"purpose"`                // LoginCredential …
	CredentialID string `bun:"credential_id,nullzero"` // empty of LoginServer
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

// Record is what Sealed is sealed for: the tokens of one caller do not open as those of
// another, nor as the toolset's own.
func (o *OAuthToken) Record() secrets.Record {
	of := "/token"
	if o.UserKey != "" {
		of = "/users/" + o.UserKey
	}
	return secrets.Record{Key: "workspaces/" + o.WorkspaceID + "/credentials/" + o.CredentialID + of, Version: o.Version}
}

// Holder tells apart whose tokens of which credential they are.
func (o *OAuthToken) Holder() string {
	if o.UserKey == "" {
		return o.CredentialID
	}
	return o.CredentialID + "/" + o.UserKey
}

// Without returns a row of the same holder without tokens.
func (o *OAuthToken) Without() *OAuthToken {
	return &OAuthToken{
		InWorkspace: o.InWorkspace, CredentialID: o.CredentialID, UserKey: o.UserKey, ID: o.ID, Kind: o.Kind, Issuer: o.Issuer, Subject: o.Subject,
	}
}

// OAuthClient returns the client of a credential that was found or registered;
// nil: there is none.
func (c *scope) OAuthClient(ctx context.Context, credential string) (*OAuthClient, error) {
	return oneOrNone[OAuthClient](ctx, c, "the client of credential "+credential,
		func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("credential_id = ?", credential) })
}

// SealOAuthClient writes the client of a credential with the next version.
func (t *Tx) SealOAuthClient(ctx context.Context, ring *secrets.Keyring, credential string, client secrets.Secret) error {
	old, err := t.OAuthClient(ctx, credential)
	if err != nil {
		return err
	}
	row := &OAuthClient{CredentialID: credential, Version: 1, UpdatedAt: Time{Time: t.Now()}}
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
	return row, table.Found(c.from(row).Where("id = ?", id).Scan(ctx), "login", id)
}

// AnyOAuthLogin reads a login of any workspace, for the page that a browser comes
// back to. It fails with [problem.NotFound] also when its time is over.
func (s *Store) AnyOAuthLogin(ctx context.Context, id string) (*OAuthLogin, error) {
	row := new(OAuthLogin)
	return row, table.Found(s.read.NewSelect().Model(row).Where("id = ?", id).Where("expires_at > ?", Time{Time: s.now()}).Scan(ctx), "login", id)
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
		row.CreatedAt = Time{Time: t.Now()}
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

// CredentialLogin returns the newest login for a credential whose tokens belong to its
// toolset; nil: none began, or it is over.
func (c *scope) CredentialLogin(ctx context.Context, credential string) (*OAuthLogin, error) {
	return oneOrNone[OAuthLogin](ctx, c, "the login for credential "+credential,
		func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("credential_id = ?", credential).Where("purpose = ?", LoginCredential)
		})
}

// DeleteCredentialLogin forgets the login of [Tx.CredentialLogin].
func (t *Tx) DeleteCredentialLogin(ctx context.Context, credential string) error {
	if _, err := t.deleteOf((*OAuthLogin)(nil)).Where("credential_id = ?", credential).Where("purpose = ?", LoginCredential).Exec(ctx); err != nil {
		return fmt.Errorf("deleting the login for credential %s: %w", credential, err)
	}
	return nil
}

// oneOrNone reads the row that a query finds; nil: none, which is an ordinary answer.
func oneOrNone[T any](ctx context.Context, c *scope, what string, where func(*bun.SelectQuery) *bun.SelectQuery) (*T, error) {
	row := new(T)
	err := where(c.from(row)).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	return row, nil
}

// OAuthToken returns the tokens of a credential: of the caller with the key, or with an
// empty one the toolset's own; nil: there never were any.
func (c *scope) OAuthToken(ctx context.Context, credential, userKey string) (*OAuthToken, error) {
	return oneOrNone[OAuthToken](ctx, c, "the tokens of credential "+credential,
		func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("credential_id = ?", credential).Where("user_key = ?", userKey)
		})
}

// UserTokens lists the callers of a credential that have tokens, or had them, by
// id.
func (c *scope) UserTokens(ctx context.Context, credential string, p Page) ([]OAuthToken, string, error) {
	var rows []OAuthToken
	return table.Read(ctx, c.db, c.from(&rows).Where("credential_id = ?", credential).Where("user_key <> ''"), &rows, UserTokenList, p, "the callers of credential "+credential)
}

// ExpiringTokens lists the tokens of toolsets of every workspace that expire before a
// time and were not refused, the first to expire first, at most limit.
func (s *Store) ExpiringTokens(ctx context.Context, before time.Time, limit int64) ([]OAuthToken, error) {
	var rows []OAuthToken
	err := s.read.NewSelect().Model(&rows).Where("user_key = ''").Where("expires_at > 0").Where("expires_at < ?", Time{Time: before}).Where("error = ''").
		Order("expires_at").Limit(limit).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the tokens that expire: %w", err)
	}
	return rows, nil
}

// SaveOAuthToken writes tokens, which may be the first of their holder. The caller raises
// the version when they change.
func (t *Tx) SaveOAuthToken(ctx context.Context, row *OAuthToken) error {
	row.WorkspaceID, row.UpdatedAt = t.id, Time{Time: t.Now()}
	if row.Sealed == nil {
		row.Sealed = []byte{}
	}
	n, err := affected(t.updateOf(row).ExcludeColumn("workspace_id", "credential_id", "user_key", "id", "kind", "issuer", "subject", "created_at").
		Where("credential_id = ?", row.CredentialID).Where("user_key = ?", row.UserKey).Exec(ctx))
	if err == nil && n == 0 {
		row.ID, row.CreatedAt = t.NewID("usr"), row.UpdatedAt
		_, err = t.insert(row).Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("writing the tokens of credential %s: %w", row.CredentialID, err)
	}
	return nil
}

// DeleteUserTokens forgets the tokens of the callers of a credential: of the one
// with the given id, or of all when it is empty. It returns how many there were.
func (t *Tx) DeleteUserTokens(ctx context.Context, credential, id string) (int64, error) {
	q := t.deleteOf((*OAuthToken)(nil)).Where("credential_id = ?", credential).Where("user_key <> ''")
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
	n, err := affected(t.deleteOf((*OAuthToken)(nil)).Where("kind = 'token'").Where("subject = ?", accessToken).Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("deleting the logins of access token %s: %w", accessToken, err)
	}
	return n, nil
}

// sweepLogins removes the logins whose time is over. The last one of a credential stays
// until the next begins: that it never came back is a reason to register another client.
func (s *Store) sweepLogins(ctx context.Context) error {
	if _, err := s.write.NewDelete().Model((*OAuthLogin)(nil)).Where("expires_at <= ?", Time{Time: s.now()}).Where("purpose <> ?", LoginCredential).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping logins: %w", err)
	}
	return nil
}

// RefusedTokens lists the tokens of toolsets, not of single callers, whose authorization
// server refused the last request.
func (c *scope) RefusedTokens(ctx context.Context) ([]OAuthToken, error) {
	var rows []OAuthToken
	if err := c.from(&rows).Where("user_key = ''").Where("error <> ''").Order("credential_id").Limit(MaxLimit).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing refused tokens: %w", err)
	}
	return rows, nil
}
