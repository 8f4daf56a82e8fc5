package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// ToolsetAccess is who may open a toolset URL, beside its access tokens. A
// toolset without one is open.
type ToolsetAccess struct {
	bun.BaseModel `bun:"table:toolset_access"`
	InWorkspace
	ToolsetID string `bun:"toolset_id,pk"`
	Version   uint64 `bun:"version"`  // raised by every write
	Mode      string `bun:"mode"`     // registry.AccessNone, AccessToken, AccessJWT
	Settings  string `bun:"settings"` // JSON; its form is package admin's
	Digest    string `bun:"digest"`   // of the signed document that releases name
	Capture   string `bun:"capture"`  // registry.CaptureErrors, CaptureAll; empty: off
	Paused    string `bun:"paused"`   // JSON; its form is package access's; empty: the toolset serves
	UpdatedAt Time   `bun:"updated_at"`
}

// AccessToken opens one toolset URL: its SHA-256, never itself.
type AccessToken struct {
	bun.BaseModel `bun:"table:access_tokens"`
	InWorkspace
	ID        string `bun:"id,pk"` // act_…
	ToolsetID string `bun:"toolset_id"`
	Name      string `bun:"name"`
	Hash      []byte `bun:"hash"`   // SHA-256 of the token's text
	Last4     string `bun:"last4"`  // of the token, to tell tokens apart
	Grants    string `bun:"grants"` // JSON: tools and limits; its form is package admin's
	CreatedBy string `bun:"created_by"`
	CreatedAt Time   `bun:"created_at"`
	ExpiresAt Time   `bun:"expires_at"` // zero: never
	RevokedAt Time   `bun:"revoked_at"` // zero: not
}

// Access reads who may open a toolset; nil: nothing was ever set.
func (c *scope) Access(ctx context.Context, toolset string) (*ToolsetAccess, error) {
	row := new(ToolsetAccess)
	err := c.from(row).Where("toolset_id = ?", toolset).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // nil: open
	}
	if err != nil {
		return nil, fmt.Errorf("reading the access of %s: %w", toolset, err)
	}
	return row, nil
}

// SaveAccess writes who may open a toolset. row.Version is the one that was read,
// 0 when there was none. It fails with [problem.Precondition] (cause [ErrStale])
// when it was written meanwhile.
func (t *Tx) SaveAccess(ctx context.Context, row *ToolsetAccess) error {
	before := row.Version
	row.Version, row.UpdatedAt = before+1, Time{Time: t.Now()}
	var n int64
	var err error
	if before == 0 {
		n, err = affected(t.insert(row).On("CONFLICT (workspace_id, toolset_id) DO NOTHING").Exec(ctx))
	} else {
		row.WorkspaceID = t.id
		n, err = affected(t.updateOf(row).ExcludeColumn("workspace_id", "toolset_id").
			Where("toolset_id = ?", row.ToolsetID).Where("version = ?", before).Exec(ctx))
	}
	if err == nil && n == 0 {
		err = problem.New(problem.Precondition, "the access of toolset %s has changed", row.ToolsetID).
			Fix("read it again and repeat the change").Because(ErrStale)
	}
	if err != nil {
		row.Version = before
		if problem.As(err) == nil {
			err = fmt.Errorf("writing the access of %s: %w", row.ToolsetID, err)
		}
	}
	return err
}

// accessDigests are the access documents of all toolsets, by toolset.
func (s *Store) accessDigests(ctx context.Context) (map[string]registry.Digest, error) {
	var rows []ToolsetAccess
	if err := s.read.NewSelect().Model(&rows).Column("toolset_id", "digest").Where("digest <> ''").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the access of toolsets: %w", err)
	}
	out := make(map[string]registry.Digest, len(rows))
	for i := range rows {
		out[rows[i].ToolsetID] = registry.Digest(rows[i].Digest)
	}
	return out, nil
}

// AccessToken reads a token of a toolset. It fails with [problem.NotFound].
func (c *scope) AccessToken(ctx context.Context, toolset, id string) (*AccessToken, error) {
	row := new(AccessToken)
	return row, table.Found(c.from(row).Where("id = ?", id).Where("toolset_id = ?", toolset).Scan(ctx), "access token", id)
}

// AccessTokens lists the tokens of a toolset, also those that ended, oldest first.
func (c *scope) AccessTokens(ctx context.Context, toolset string, p Page) ([]AccessToken, string, error) {
	var rows []AccessToken
	return table.Read(ctx, c.db, c.from(&rows).Where("toolset_id = ?", toolset), &rows, AccessTokenList, p, "the access tokens of "+toolset)
}

// ValidAccessTokens lists the tokens of a toolset that were not revoked and have
// not expired, by id.
func (c *scope) ValidAccessTokens(ctx context.Context, toolset string, now Time) ([]AccessToken, error) {
	var rows []AccessToken
	err := c.from(&rows).Where("toolset_id = ?", toolset).Where("revoked_at = 0").
		Where("expires_at = 0 OR expires_at > ?", now).Order("id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the access tokens of %s: %w", toolset, err)
	}
	return rows, nil
}

// AddAccessToken writes a token, and gives it an id when it has none.
func (t *Tx) AddAccessToken(ctx context.Context, row *AccessToken) error {
	if len(row.Hash) != sha256.Size {
		return fmt.Errorf("writing an access token: its hash has %d bytes", len(row.Hash))
	}
	if row.ID == "" {
		row.ID = t.NewID("act")
	}
	row.CreatedAt = Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing access token %s: %w", row.ID, err)
	}
	return nil
}

// RevokeAccessToken ends a token. It fails with [problem.NotFound] when there is
// none or it was revoked before.
func (t *Tx) RevokeAccessToken(ctx context.Context, toolset, id string) error {
	n, err := affected(t.updateOf((*AccessToken)(nil)).Set("revoked_at = ?", Time{Time: t.Now()}).
		Where("toolset_id = ?", toolset).Where("id = ?", id).Where("revoked_at = 0").Exec(ctx))
	if err != nil {
		return fmt.Errorf("revoking access token %s: %w", id, err)
	}
	if n == 0 {
		return problem.New(problem.NotFound, "the toolset has no valid access token %.80q", id)
	}
	return nil
}
