package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/admin"
)

// record is one item of a list, and as the API wrote it.
type record[T any] struct {
	value T
	raw   json.RawMessage
}

// maxPage is how many items one page of a list has at most.
const maxPage = 200

// each reads the first items of a list, at most limit, page by page. It ends with the
// first error.
func each[T any](ctx context.Context, c *Client, path string, limit int) iter.Seq2[record[T], error] {
	if path += "?"; strings.Count(path, "?") > 1 {
		path = strings.TrimSuffix(path, "?") + "&"
	}
	return func(yield func(record[T], error) bool) {
		for cursor := ""; limit > 0; {
			q := url.Values{"limit": {strconv.Itoa(min(limit, maxPage))}}
			if cursor != "" {
				q.Set("cursor", cursor)
			}
			var page admin.List[json.RawMessage]
			if err := c.Get(ctx, path+q.Encode(), &page); err != nil {
				yield(record[T]{}, err)
				return
			}
			for _, raw := range page.Items {
				r := record[T]{raw: raw}
				err := json.Unmarshal(raw, &r.value)
				if err != nil {
					err = fmt.Errorf("reading the answer of %s: %w", path, err)
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
			if limit -= len(page.Items); page.NextCursor == "" || page.NextCursor == cursor {
				return
			}
			cursor = page.NextCursor
		}
	}
}

// All reads every page of a list.
func All[T any](ctx context.Context, c *Client, path string) (items []T, raw []json.RawMessage, err error) {
	return First[T](ctx, c, path, math.MaxInt)
}

// First reads the first items of a list, at most limit.
func First[T any](ctx context.Context, c *Client, path string, limit int) (items []T, raw []json.RawMessage, err error) {
	for r, err := range each[T](ctx, c, path, limit) {
		if err != nil {
			return nil, nil, err
		}
		items, raw = append(items, r.value), append(raw, r.raw)
	}
	return items, raw, nil
}
