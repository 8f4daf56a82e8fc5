package admin

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// ListInput are the query parameters of every list.
type ListInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Most items of one page."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"nextCursor of the page before."`
}

// listOutput is one page and the link to the next (RFC 8288).
type listOutput[T any] struct {
	Link string `header:"Link" doc:"rel=\"next\": the next page."`
	Body List[T]
}

// cursor is what a cursor says: the list it belongs to and the last key. It is
// opaque to clients and no secret: the workspace comes from the token.
type cursor struct {
	List string `json:"l"`
	Key  string `json:"k"`
}

// page reads the paging parameters of the list that lives at path.
func (in *ListInput) page(path string) (store.Page, error) {
	p := store.Page{Limit: in.Limit}
	if in.Cursor == "" {
		return p, nil
	}
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || c.List != path || c.Key == "" {
		return p, problem.New(problem.InvalidArgument, "the cursor does not belong to this list").Fix("start again without cursor")
	}
	p.After = c.Key
	return p, nil
}

// list makes the answer of a list at path, next being the key after which the
// next page begins or "".
func list[R, T any](in *ListInput, path string, rows []R, next string, show func(*R) T) *listOutput[T] {
	out := &listOutput[T]{Body: List[T]{Items: make([]T, 0, len(rows))}}
	for i := range rows {
		out.Body.Items = append(out.Body.Items, show(&rows[i]))
	}
	if next != "" {
		out.Body.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(store.JSON(cursor{path, next})))
		q := url.Values{"cursor": {out.Body.NextCursor}, "limit": {strconv.Itoa(in.Limit)}}
		out.Link = "<" + path + "?" + q.Encode() + `>; rel="next"`
	}
	return out
}
