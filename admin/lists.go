package admin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// workspace returns the workspace that the request works in.
func (s *Server) workspace(ctx context.Context) *store.Workspace {
	return request.Workspace(ctx, s.o.Store)
}

// ListInput are the query parameters of every list.
type ListInput struct {
	Limit   int    `query:"limit" minimum:"1" maximum:"200" default:"50" example:"50" doc:"Most items of one page."`
	Cursor  string `query:"cursor" maxLength:"2048" doc:"nextCursor of the page before. It is good for the same parameters only."`
	Q       string `query:"q" maxLength:"512" doc:"Words to search for: items that contain all of them, in any case of letters; -word leaves out those that contain it."`
	Filter  string `query:"filter" maxLength:"512" doc:"Conditions that must all hold: FIELD:VALUE, -FIELD:VALUE for not, a,b for one of several, and > >= < <= .. for numbers and times."`
	OrderBy string `query:"orderBy" maxLength:"200" doc:"Fields to sort by, separated by commas; -FIELD for descending."`

	query url.Values // of the request
}

// Resolve implements [huma.Resolver]: it keeps the parameters that the next page needs again.
func (in *ListInput) Resolve(hc huma.Context) []error {
	u := hc.URL()
	in.query = u.Query()
	return nil
}

// list of the parameters without those that differ from page to page.
func (in *ListInput) parameters() url.Values {
	q := maps.Clone(in.query)
	if q == nil {
		q = url.Values{}
	}
	q.Del("cursor")
	q.Del("limit")
	return q
}

// listOutput is one page and the link to the next (RFC 8288).
type listOutput[T any] struct {
	Link string `header:"Link" doc:"rel=\"next\": the next page."`
	Body List[T]
}

// cursor is what a cursor says: the list it belongs to, what was asked of it, and the last
// key. It is opaque to clients and no secret: the workspace comes from the token.
type cursor struct {
	List  string `json:"l"`
	Query string `json:"q,omitempty"` // hash of the other parameters; "": there are none
	Key   string `json:"k"`
}

// asked names the parameters of a request in its cursors.
func (in *ListInput) asked() string {
	q := in.parameters()
	if len(q) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(q.Encode()))
	return hex.EncodeToString(sum[:8])
}

// page reads the parameters of the list that lives at path.
func (in *ListInput) page(path string) (store.Page, error) {
	p := store.Page{Limit: in.Limit, Q: in.Q, Filter: in.Filter, OrderBy: in.OrderBy}
	if in.Cursor == "" {
		return p, nil
	}
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	switch {
	case err != nil || c.List != path || c.Key == "":
		return p, problem.New(problem.InvalidArgument, "the cursor does not belong to this list").Fix("start again without cursor")
	case c.Query != in.asked():
		return p, problem.New(problem.InvalidArgument, "the cursor was made with other parameters").Fix("repeat those of the first page, or start again without cursor")
	}
	p.After = c.Key
	return p, nil
}

// paged serves a list at a path that has no variables: read reads a page of rows of the
// request's workspace, show renders one of them.
func paged[R, T any](s *Server, path string, read func(*store.Workspace, context.Context, store.Page) ([]R, string, error), show func(*R) (T, error)) func(context.Context, *ListInput) (*listOutput[T], error) {
	return func(ctx context.Context, in *ListInput) (*listOutput[T], error) {
		p, err := in.page(path)
		if err != nil {
			return nil, err
		}
		rows, next, err := read(s.workspace(ctx), ctx, p)
		if err != nil {
			return nil, err
		}
		shown := make([]T, len(rows))
		for i := range rows {
			if shown[i], err = show(&rows[i]); err != nil {
				return nil, err
			}
		}
		return list(in, path, shown, next, same), nil
	}
}

// plain is a show function that cannot fail.
func plain[R, T any](show func(*R) T) func(*R) (T, error) {
	return func(r *R) (T, error) { return show(r), nil }
}

// same shows what is shown already.
func same[T any](t *T) T { return *t }

// answer makes the answer of an operation that has nothing but a body.
func answer[T any](body T, err error) (*bodyOutput[T], error) {
	if err != nil {
		return nil, err
	}
	return &bodyOutput[T]{body}, nil
}

// pointed is [answer] of a body that comes as a pointer.
func pointed[T any](body *T, err error) (*bodyOutput[T], error) {
	if err != nil {
		return nil, err
	}
	return &bodyOutput[T]{*body}, nil
}

// of serves an operation whose handler stands beside its registration.
func of[I, O any](s *Server, handle func(context.Context, *Server, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) { return handle(ctx, s, in) }
}

// answered serves what decide says of the request's workspace.
func answered[I, T any](s *Server, decide func(context.Context, *store.Workspace, *I) (T, error)) func(context.Context, *I) (*bodyOutput[T], error) {
	return func(ctx context.Context, in *I) (*bodyOutput[T], error) {
		return answer(decide(ctx, s.workspace(ctx), in))
	}
}

// list makes the answer of a list at path, next being the key after which the
// next page begins or "".
func list[R, T any](in *ListInput, path string, rows []R, next string, show func(*R) T) *listOutput[T] {
	out := &listOutput[T]{Body: List[T]{Items: make([]T, 0, len(rows))}}
	for i := range rows {
		out.Body.Items = append(out.Body.Items, show(&rows[i]))
	}
	if next != "" {
		out.Body.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(store.JSON(cursor{path, in.asked(), next})))
		q := in.parameters()
		q.Set("cursor", out.Body.NextCursor)
		q.Set("limit", strconv.Itoa(in.Limit))
		out.Link = "<" + path + "?" + q.Encode() + `>; rel="next"`
	}
	return out
}
