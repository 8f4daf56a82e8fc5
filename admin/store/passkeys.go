package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
)

// Passkey is a WebAuthn credential of a member. Nothing of it is secret: its private key never
// leaves the member's authenticator. What its fields may hold is decided by package passkey.
type Passkey struct {
	bun.BaseModel `bun:"table:passkeys"`
	InWorkspace
	ID         string `bun:"id,pk"`   // pkey_…
	Version    uint64 `bun:"version"` // raised by every rename; the ETag
	MemberID   string `bun:"member_id"`
	Credential []byte `bun:"credential"` // its id, unique in all workspaces
	PublicKey  []byte `bun:"public_key"` // COSE_Key (RFC 9052)
	Host       string `bun:"host"`       // relying party id: the host name of the console
	Name       string `bun:"name"`
	Transports string `bun:"transports"` // how browsers reach it, between commas
	SignCount  int64  `bun:"sign_count"`
	Syncs      bool   `bun:"syncs"`  // it may be on several devices
	Synced     bool   `bun:"synced"` // and is
	CreatedAt  Time   `bun:"created_at"`
	UsedAt     Time   `bun:"used_at"`    // zero: never
	DoubtedAt  Time   `bun:"doubted_at"` // when its counter went back; zero: never
}

// PasskeyByCredential finds a passkey by the id that its authenticator gave it. It fails with
// [problem.NotFound].
func (s *Store) PasskeyByCredential(ctx context.Context, credential []byte) (*Passkey, error) {
	row := new(Passkey)
	return row, table.Found(s.read.NewSelect().Model(row).Where("credential = ?", credential).Scan(ctx), "passkey", "of the request")
}

// Passkeys lists the passkeys of a member, newest first.
func (c *scope) Passkeys(ctx context.Context, member string, p Page) ([]Passkey, string, error) {
	var rows []Passkey
	return table.Read(ctx, c.db, c.from(&rows).Where("member_id = ?", member), &rows, PasskeyList, p, "passkeys")
}

// Passkey reads a passkey of a member. It fails with [problem.NotFound].
func (c *scope) Passkey(ctx context.Context, member, id string) (*Passkey, error) {
	row := new(Passkey)
	return row, table.Found(c.from(row).Where("member_id = ?", member).Where("id = ?", id).Scan(ctx), "passkey", id)
}

// AddPasskey writes a new passkey. It fails with [problem.Conflict] when its credential is
// somebody's already.
func (t *Tx) AddPasskey(ctx context.Context, row *Passkey) error {
	row.ID, row.Version, row.CreatedAt = t.NewID("pkey"), 1, Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); isUnique(err) {
		return problem.New(problem.Conflict, "this passkey is registered already").Fix("make another one")
	} else if err != nil {
		return fmt.Errorf("writing passkey %s: %w", row.ID, err)
	}
	return nil
}

// RenamePasskey writes the name of a passkey that was read before. It fails with [ErrStale]
// when it was renamed meanwhile.
func (t *Tx) RenamePasskey(ctx context.Context, row *Passkey) error {
	was := row.Version
	row.Version++
	n, err := affected(t.updateOf(row).Column("name", "version").Where("id = ?", row.ID).Where("version = ?", was).Exec(ctx))
	if err == nil && n == 0 {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("writing passkey %s: %w", row.ID, err)
	}
	return nil
}

// UsePasskey notes that a passkey signed somebody in, with its counter then. It fails with
// [problem.NotFound] when it was removed meanwhile, or signed with a later counter.
func (t *Tx) UsePasskey(ctx context.Context, row *Passkey) error {
	row.UsedAt = Time{Time: t.Now()}
	n, err := affected(t.updateOf(row).Column("sign_count", "synced", "used_at").Where("id = ?", row.ID).Where("sign_count <= ?", row.SignCount).Exec(ctx))
	switch {
	case err != nil:
		return fmt.Errorf("writing passkey %s: %w", row.ID, err)
	case n == 0:
		return problem.New(problem.NotFound, "the passkey was removed meanwhile")
	}
	return nil
}

// DoubtPasskey notes when the counter of a passkey went back.
func (t *Tx) DoubtPasskey(ctx context.Context, id string) error {
	if _, err := t.updateOf((*Passkey)(nil)).Set("doubted_at = ?", Time{Time: t.Now()}).Where("id = ?", id).Exec(ctx); err != nil {
		return fmt.Errorf("writing passkey %s: %w", id, err)
	}
	return nil
}

// DoubtedPasskeys lists the passkeys whose counter went back.
func (c *scope) DoubtedPasskeys(ctx context.Context) ([]Passkey, error) {
	var rows []Passkey
	if err := c.from(&rows).Where("doubted_at <> ?", Time{}).Order("id").Limit(MaxLimit).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing doubted passkeys: %w", err)
	}
	return rows, nil
}

// RemovePasskey removes a passkey and ends the sessions of its member that passkeys opened,
// but one, and returns how many. It fails with [problem.NotFound].
func (t *Tx) RemovePasskey(ctx context.Context, row *Passkey, but string) (ended int64, err error) {
	n, err := affected(t.deleteOf((*Passkey)(nil)).Where("id = ?", row.ID).Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("removing passkey %s: %w", row.ID, err)
	}
	if n == 0 {
		return 0, problem.New(problem.NotFound, "there is no passkey %.80q", row.ID)
	}
	ended, err = affected(t.deleteOf((*Session)(nil)).Where("member_id = ?", row.MemberID).Where("opened_by = ?", OpenedByPasskey).Where("id <> ?", but).Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("ending the sessions of member %s: %w", row.MemberID, err)
	}
	return ended, nil
}
