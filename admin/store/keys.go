package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
)

// controlKey is a key that the records belong to.
type controlKey struct {
	bun.BaseModel `bun:"table:control_keys"`

	Use       string `bun:"key_use,pk"`
	ID        string `bun:"id,pk"`
	CreatedAt Time   `bun:"created_at"`
}

// ControlKeys lists the identifiers of the keys of a use that the records belong to; none
// when they were never written down.
func (s *Store) ControlKeys(ctx context.Context, use string) ([]string, error) {
	var ids []string
	if err := s.read.NewSelect().Model((*controlKey)(nil)).Column("id").Where("key_use = ?", use).Order("id").Scan(ctx, &ids); err != nil {
		return nil, fmt.Errorf("reading which keys the records belong to: %w", err)
	}
	return ids, nil
}

// SetControlKeys writes down which keys of a use the records belong to.
func (s *Store) SetControlKeys(ctx context.Context, use string, ids []string) error {
	err := s.write.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewDelete().Model((*controlKey)(nil)).Where("key_use = ?", use).Exec(ctx); err != nil {
			return err
		}
		for _, id := range ids {
			if _, err := tx.NewInsert().Model(&controlKey{Use: use, ID: id, CreatedAt: Time{Time: s.now()}}).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing which keys the records belong to: %w", err)
	}
	return nil
}

// Used reports whether a control plane ever ran on the records: its first start makes an
// API token.
func (s *Store) Used(ctx context.Context) (bool, error) {
	used, err := s.anyRow(ctx, "api_tokens")
	if err != nil || used {
		return used, err
	}
	return s.AnyToolset(ctx)
}

// AnyToolset reports whether there is a toolset in any workspace.
func (s *Store) AnyToolset(ctx context.Context) (bool, error) { return s.anyRow(ctx, "toolsets") }

func (s *Store) anyRow(ctx context.Context, table string) (bool, error) {
	var one int
	err := s.read.NewSelect().Table(table).ColumnExpr("1").Limit(1).Scan(ctx, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking whether the database is in use: %w", err)
	}
	return true, nil
}
