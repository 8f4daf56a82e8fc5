package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// Names are the names of those ids that are of members (their e-mail addresses), API tokens,
// edges, toolsets (their slugs) or connector requests (the service). What is gone has none.
func (c *scope) Names(ctx context.Context, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	var members []Member
	var tokens []Token
	var edges []Edge
	var toolsets []Toolset
	var requests []ConnectorRequest
	for _, read := range []struct {
		rows   any
		column string
	}{{&members, "email"}, {&tokens, "name"}, {&edges, "name"}, {&toolsets, "slug"}, {&requests, "name"}} {
		if err := c.from(read.rows).Column("id", read.column).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
			return nil, fmt.Errorf("reading the names of ids: %w", err)
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
	for i := range toolsets {
		names[toolsets[i].ID] = toolsets[i].Slug
	}
	for i := range requests {
		names[requests[i].ID] = requests[i].Name
	}
	return names, nil
}
