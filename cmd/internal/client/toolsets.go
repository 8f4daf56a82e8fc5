package client

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// Toolset reads one toolset by slug or identifier, with its ETag.
func (c *Client) Toolset(ctx context.Context, name string) (*view.ToolsetDetail, string, error) {
	t := new(view.ToolsetDetail)
	etag, err := c.GetTag(ctx, "/v1/toolsets/"+url.PathEscape(name), t)
	if !problem.Is(err, problem.NotFound) {
		return t, etag, err
	}
	p := problem.New(problem.NotFound, "there is no toolset %q", name).Fix("see: sluice toolset list")
	list, _, listErr := All[view.Toolset](ctx, c, "/v1/toolsets")
	if listErr != nil {
		return nil, "", p
	}
	slugs := make([]string, len(list))
	for i, known := range list {
		slugs[i] = known.Slug
	}
	if best := nearest.Name(name, slices.Values(slugs)); best != "" {
		p.Remedy = "did you mean " + best + "?"
	}
	return nil, "", p
}

// ToolsetPath is the path of a toolset in the admin API, and of what is below it.
func ToolsetPath(t *view.ToolsetDetail, more ...string) string {
	var b strings.Builder
	b.WriteString("/v1/toolsets/" + url.PathEscape(t.ID))
	for _, m := range more {
		b.WriteString("/" + url.PathEscape(m))
	}
	return b.String()
}
