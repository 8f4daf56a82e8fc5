package store

import (
	"context"
	"fmt"

	"github.com/sluicegate/sluice/admin/store/table"
)

// Tokens lists API tokens, newest first, revoked ones too.
func (c *scope) Tokens(ctx context.Context, p Page) ([]Token, string, error) {
	var rows []Token
	return table.Read(ctx, c.db, c.from(&rows), &rows, TokenList, p, "tokens")
}

// Administrators counts the valid tokens that may administer: of the workspace, and of
// members who are administrators.
func (t *Tx) Administrators(ctx context.Context) (int, error) {
	var n int
	ofAdministrators := t.from((*Member)(nil)).Column("id").Where("role = ?", RoleAdmin)
	err := t.from((*Token)(nil)).ColumnExpr("COUNT(*)").Where("role = ?", RoleAdmin).Where("revoked_at = 0").
		Where("expires_at = 0 OR expires_at > ?", Time{Time: t.Now()}).Where("member_id = '' OR member_id IN (?)", ofAdministrators).Scan(ctx, &n)
	if err != nil {
		return 0, fmt.Errorf("counting administrators: %w", err)
	}
	return n, nil
}
