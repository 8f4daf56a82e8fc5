package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// found is [table.Found] for a record that people call by a name. When there is none, the
// problem proposes the closest of the names in column.
func (c *scope) found(ctx context.Context, err error, model any, column, what, name string) error {
	err = table.Found(err, what, name)
	if p := problem.As(err); p != nil && p.Kind == problem.NotFound {
		c.propose(ctx, p, model, column, name)
	}
	return err
}

// propose sets the closest name in a column as the remedy of a problem. Without one, or
// when the names cannot be read, the problem stays as it is. It compares as many names as
// five pages of a list have: one more query of one column, for a request that fails.
func (c *scope) propose(ctx context.Context, p *problem.Error, model any, column, name string) {
	var names []string
	err := c.from(model).ColumnExpr("DISTINCT ?", bun.Ident(column)).Limit(5*table.MaxSize).Scan(ctx, &names)
	if err != nil {
		return
	}
	if best := nearest.Name(name, slices.Values(names)); best != "" {
		p.Remedy = "did you mean " + best + "?"
	}
}
