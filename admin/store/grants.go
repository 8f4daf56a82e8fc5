package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/internal/problem"
)

// MaxGrants of one toolset: it names a handful of hosts, each with a few addresses.
const MaxGrants = 256

// Grants returns the grants of private addresses in the workspace, of one toolset or
// with "" of all, by toolset and address.
func (c *scope) Grants(ctx context.Context, toolset string) ([]Grant, error) {
	var rows []Grant
	q := withSlug(c.from(&rows)).Order("toolset_id", "address")
	if toolset != "" {
		q = q.Where("toolset_id = ?", toolset)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing grants: %w", err)
	}
	return rows, nil
}

// Grant reads a grant. It fails with [problem.NotFound].
func (c *scope) Grant(ctx context.Context, id string) (*Grant, error) {
	row := new(Grant)
	err := withSlug(c.from(row)).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noGrant(id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading grant %s: %w", id, err)
	}
	return row, nil
}

// withSlug adds what people call the toolset of a grant.
func withSlug(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("g.*").ColumnExpr("COALESCE((SELECT t.slug FROM toolsets AS t WHERE t.workspace_id = g.workspace_id AND t.id = g.toolset_id), '') AS slug")
}

func noGrant(id string) error {
	return problem.New(problem.NotFound, "there is no grant %.80q", id).Fix("list them: sluice grant list")
}

// AddGrant writes a grant, gives it its id and reports whether it is new: a toolset has
// one for an address. It fails with [problem.Conflict] beyond [MaxGrants].
func (t *Tx) AddGrant(ctx context.Context, row *Grant) (bool, error) {
	rows, err := t.Grants(ctx, row.ToolsetID)
	if err != nil {
		return false, err
	}
	for i := range rows {
		if rows[i].Address == row.Address {
			*row = rows[i]
			return false, nil
		}
	}
	if len(rows) >= MaxGrants {
		return false, problem.New(problem.Conflict, "the toolset has %d grants of private addresses, which is the most", len(rows)).
			Fix("revoke those that it does not need: sluice grant list")
	}
	row.ID, row.CreatedAt = t.NewID("grant"), Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return false, fmt.Errorf("writing the grant of %s: %w", row.Address, err)
	}
	return true, nil
}

// DeleteGrant removes a grant. It fails with [problem.NotFound].
func (t *Tx) DeleteGrant(ctx context.Context, id string) error {
	n, err := affected(t.deleteOf((*Grant)(nil)).Where("id = ?", id).Exec(ctx))
	if err != nil {
		return fmt.Errorf("deleting grant %s: %w", id, err)
	}
	if n == 0 {
		return noGrant(id)
	}
	return nil
}
