package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// Counted is how many records there are of a kind in a state.
type Counted struct {
	Kind  string `bun:"kind"`
	State string `bun:"state"`
	Count int64  `bun:"count"`
}

// KeyAge is when the oldest key of a toolset was made or rotated.
type KeyAge struct {
	Slug      string `bun:"slug"`
	RotatedAt Time   `bun:"rotated_at"`
}

// Figures are counts over all workspaces, for the metrics of a control plane.
type Figures struct {
	Jobs       []Counted // by kind and state
	Alerts     []Counted // that are not resolved, by severity and state
	Deliveries []Counted // by state; their kind is ""
	Sources    []Counted // of connectors with a schedule, by state: ok or failing; their kind is ""
	Keys       []KeyAge  // oldest first
}

// Figures counts. It reads without a transaction: the parts may be of different moments.
// At most that many keys are named. Credentials whose authentication type is in withoutKey have no key that somebody rotates.
func (s *Store) Figures(ctx context.Context, withoutKey []string, keys int64) (*Figures, error) {
	f := &Figures{}
	count := func(table, kind, state string) *bun.SelectQuery {
		return s.read.NewSelect().Table(table).ColumnExpr("? AS kind, ? AS state, COUNT(*) AS count", bun.Safe(kind), bun.Safe(state)).
			GroupExpr("1, 2").OrderExpr("1, 2")
	}
	for _, q := range []struct {
		of   string
		q    *bun.SelectQuery
		into any
	}{
		{"jobs", count("jobs", "kind", "state"), &f.Jobs},
		{"alerts", count("alerts", "severity", "state").Where("resolved_at = 0"), &f.Alerts},
		{"deliveries", count("deliveries", "''", "state"), &f.Deliveries},
		{"sources", count("toolset_sources", "''", "CASE WHEN failures > 0 THEN 'failing' ELSE 'ok' END").Where("every_seconds > 0"), &f.Sources},
		{"keys", s.read.NewSelect().TableExpr("credentials AS c").Join("JOIN toolsets AS t ON t.workspace_id = c.workspace_id AND t.id = c.toolset_id").
			ColumnExpr("t.slug AS slug, MIN(c.rotated_at) AS rotated_at").Where("c.auth_type NOT IN (?)", bun.List(withoutKey)).
			GroupExpr("t.slug").OrderExpr("2, 1").Limit(keys), &f.Keys},
	} {
		if err := q.q.Scan(ctx, q.into); err != nil {
			return nil, fmt.Errorf("counting %s: %w", q.of, err)
		}
	}
	return f, nil
}
