package admin

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

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
		out.Body.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(mustJSON(cursor{path, next})))
		q := url.Values{"cursor": {out.Body.NextCursor}, "limit": {strconv.Itoa(in.Limit)}}
		out.Link = "<" + path + "?" + q.Encode() + `>; rel="next"`
	}
	return out
}

// MatchInput are the headers of conditional writes (RFC 9110 §13.1).
type MatchInput struct {
	IfMatch string `header:"If-Match" maxLength:"512" doc:"ETag that was read, or *."`
}

// etag is the strong ETag of a record's version.
func etag(version uint64) string { return `"v` + strconv.FormatUint(version, 10) + `"` }

// matches reports whether a list of entity tags names the version; weak tags
// never match for a write.
func matches(header string, version uint64) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == etag(version) {
			return true
		}
	}
	return false
}

// check refuses a write whose precondition does not hold. Without If-Match it is
// refused when one is needed.
func (in *MatchInput) check(version uint64, needed bool) error {
	switch {
	case in.IfMatch == "" && needed:
		return problem.New(problem.PreconditionNeed, "the request needs If-Match").
			Fix("read it first and send its ETag, now %s, so that nobody's change is lost", etag(version))
	case in.IfMatch != "" && !matches(in.IfMatch, version):
		return huma.ErrorWithHeaders(problem.New(problem.Precondition, "it was changed meanwhile; its ETag is %s", etag(version)).
			Fix("read it again and repeat the change").Because(store.ErrStale), http.Header{"Etag": {etag(version)}})
	}
	return nil
}
