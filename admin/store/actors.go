package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// ActorNames are the names of those ids that are of members (their e-mail addresses), API
// tokens or edges. Who is gone has none.
func (c *scope) ActorNames(ctx context.Context, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	var members []Member
	var tokens []Token
	var edges []Edge
	for _, rows := range []any{&members, &tokens, &edges} {
		if err := c.from(rows).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
			return nil, fmt.Errorf("reading the names of actors: %w", err)
		}
	}
	for i := range members {
		names[members[i].ID] = members[i].Email
	}
	for i := range tokens {
		names[tokens[i].ID] = tokens[i].Name
	}
	for i := range edges {
		names[edges[i].ID] = edges[i].Name
	}
	return names, nil
}
