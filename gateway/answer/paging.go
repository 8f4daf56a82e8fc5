package answer

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Paging says how the next page of an upstream's list is asked for. It is found in
// the names of a tool's parameters; what an answer says decides on each call.
type Paging struct {
	Cursor, Page, Offset string // arguments; "" where the tool has none
	After                string // argument that takes the id of the last item (Stripe's starting_after)

	args map[string]string // wire name of a query parameter → argument
}

// The names of parameters by what they do, in the order of preference, folded to
// lower case without _ and -.
var (
	cursorNames = []string{"cursor", "pagetoken", "nexttoken", "nextcursor", "nextpagetoken", "continuationtoken", "continue", "startcursor", "pagecursor", "marker", "after", "pageafter", "page[after]", "page[cursor]", "scrollid"}
	pageNames   = []string{"page", "pagenumber", "pageno", "page[number]", "pageindex", "p"}
	offsetNames = []string{"offset", "startat", "startindex", "skip", "$skip", "start", "page[offset]"}
	afterNames  = []string{"startingafter"}
)

func foldName(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// findPaging looks for the parameters of pages in a request plan; nil when there
// are none.
func findPaging(params []operation.Param) *Paging {
	p := &Paging{args: map[string]string{}}
	find := func(names []string) string {
		for _, n := range names {
			i := slices.IndexFunc(params, func(q operation.Param) bool {
				return q.In == operation.InQuery && q.Arg != "" && foldName(q.Name) == n
			})
			if i >= 0 {
				return params[i].Arg
			}
		}
		return ""
	}
	p.Cursor, p.Page, p.Offset, p.After = find(cursorNames), find(pageNames), find(offsetNames), find(afterNames)
	for _, q := range params {
		if q.In == operation.InQuery && q.Arg != "" {
			p.args[q.Name] = q.Arg
		}
	}
	if p.Cursor == "" && p.Page == "" && p.Offset == "" && p.After == "" {
		return nil
	}
	return p
}

// Bounds of what is said of a next page.
const (
	maxCursor   = 2048 // bytes of a cursor; some are whole encoded queries
	maxPageArgs = 4    // arguments that a link changes
)

// AppendNext appends the arguments that ask for the next page, as the members of a
// JSON object without braces: "page":3. It appends nothing when there is no next
// page, or the answer does not say. link is the Link header (RFC 8288), body the
// answer, args what the tool was called with.
func (p *Paging) AppendNext(dst, link []byte, body, args jsonscan.Value) []byte {
	if next := nextLink(link); next != "" {
		if out := p.appendLink(dst, next, args); len(out) > len(dst) {
			return out
		}
	}
	if body.Kind() != jsonscan.Object {
		return dst
	}
	n := noted{more: unknown}
	n.read(body, 0)
	if n.link != "" {
		if out := p.appendLink(dst, n.link, args); len(out) > len(dst) {
			return out
		}
	}
	if n.more == no {
		return dst
	}
	if p.Cursor != "" && n.cursor.Exists() && string(n.cursor.Raw()) != string(args.Get(p.Cursor).Raw()) {
		return appendArg(dst, p.Cursor, n.cursor.Raw())
	}
	if p.After != "" && n.more == yes && n.last.Exists() {
		return appendArg(dst, p.After, n.last.Raw())
	}
	if p.Page != "" {
		page, given := args.Get(p.Page).Int64()
		if !given {
			page = 1
			if n.page > 0 {
				page = n.page
			}
		}
		if n.more == yes || n.pages > 0 && page < n.pages {
			return appendArg(dst, p.Page, strconv.AppendInt(nil, page+1, 10))
		}
	}
	if p.Offset != "" && n.items > 0 {
		offset, _ := args.Get(p.Offset).Int64()
		if n.more == yes || n.total > offset+int64(n.items) {
			return appendArg(dst, p.Offset, strconv.AppendInt(nil, offset+int64(n.items), 10))
		}
	}
	return dst
}

func appendArg(dst []byte, name string, value []byte) []byte {
	if len(value) > maxCursor {
		return dst
	}
	dst = jsonscan.AppendStringOf(dst, name)
	return append(append(dst, ':'), value...)
}

// appendLink appends the arguments that a URL of the next page has and this call
// did not.
func (p *Paging) appendLink(dst []byte, link string, args jsonscan.Value) []byte {
	u, err := url.Parse(link)
	if err != nil {
		return dst
	}
	mark, count := len(dst), 0
	query := u.Query()
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		arg, ok := p.args[name]
		if !ok || len(query[name]) != 1 {
			continue
		}
		value := query[name][0]
		given := args.Get(arg)
		if given.EqualText(value) || string(given.Raw()) == value {
			continue
		}
		if paging := arg == p.Cursor || arg == p.Page || arg == p.Offset || arg == p.After; !paging {
			continue // a default that the API spells out
		}
		if count++; count > maxPageArgs || len(value) > maxCursor {
			return dst[:mark]
		}
		if len(dst) > mark {
			dst = append(dst, ',')
		}
		raw := jsonscan.AppendStringOf(nil, value)
		if (arg == p.Page || arg == p.Offset) && isDigits(value) {
			raw = []byte(value)
		}
		dst = appendArg(dst, arg, raw)
	}
	return dst
}

func isDigits(s string) bool {
	return s != "" && len(s) < 19 && strings.Trim(s, "0123456789") == "" && (s[0] != '0' || s == "0")
}

// nextLink is the target of a Link header with rel="next" (RFC 8288 §3).
func nextLink(header []byte) string {
	for rest := header; len(rest) > 0; {
		open := bytes.IndexByte(rest, '<')
		if open < 0 {
			return ""
		}
		end := bytes.IndexByte(rest[open:], '>')
		if end < 0 {
			return ""
		}
		target := rest[open+1 : open+end]
		rest = rest[open+end+1:]
		params := rest
		if i := bytes.Index(rest, []byte(",<")); i >= 0 {
			params, rest = rest[:i], rest[i+1:]
		} else if i := bytes.Index(rest, []byte(", <")); i >= 0 {
			params, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		for param := range bytes.SplitSeq(params, []byte(";")) {
			name, value, _ := bytes.Cut(bytes.TrimSpace(param), []byte("="))
			if bytes.EqualFold(bytes.TrimSpace(name), []byte("rel")) &&
				slices.Contains(strings.Fields(strings.ToLower(strings.Trim(string(bytes.TrimSpace(value)), `"`))), "next") {
				return string(target)
			}
		}
	}
	return ""
}

type answered uint8

const (
	unknown answered = iota
	yes
	no
)

// noted is what an answer says of its page.
type noted struct {
	link               string
	cursor             jsonscan.Value
	more               answered
	page, pages, total int64
	items              int            // of the longest list
	last               jsonscan.Value // id of its last item
}

// places are the members that hold what is said of pages.
var places = map[string]bool{
	"meta": true, "metadata": true, "paging": true, "pagination": true, "page": true, "links": true, "link": true, "cursors": true,
	"responsemetadata": true, "pageinfo": true, "resultinfo": true, "list": true, "next": true, "metapagination": true,
}

func (n *noted) read(v jsonscan.Value, depth int) {
	for it := v.Members(); it.Next(); {
		m := it.Value()
		name := strings.TrimLeft(foldName(string(it.KeyText(nil))), "_@")
		switch m.Kind() {
		case jsonscan.Array:
			if depth == 0 || depth == 1 && n.items == 0 {
				n.list(m)
			}
			continue
		case jsonscan.Object:
			if depth < 2 && places[name] {
				n.read(m, depth+1)
				if name == "next" {
					if h := m.Get("href"); h.Kind() == jsonscan.String {
						n.setLink(h)
					}
				}
			} else if depth == 0 && name == "data" {
				for in := m.Members(); in.Next(); {
					if in.Value().Kind() == jsonscan.Array && n.items == 0 {
						n.list(in.Value())
					}
				}
			}
			continue
		case jsonscan.Null:
			if name == "next" || name == "nexturl" || name == "nextcursor" || name == "nextpagetoken" {
				n.more = no
			}
			continue
		}
		n.scalar(name, m)
	}
}

func (n *noted) scalar(name string, m jsonscan.Value) {
	switch name {
	case "next", "nexturl", "nextpageurl", "nextpageuri", "odata.nextlink", "nextlink", "nextpage":
		if m.Kind() == jsonscan.String {
			n.setLink(m)
		}
	case "nextcursor", "nextpagetoken", "nexttoken", "continuationtoken", "nextmarker", "continue", "cursor", "endcursor", "after", "scrollid":
		if m.Kind() == jsonscan.String && len(m.Raw()) > 2 || m.Kind() == jsonscan.Number {
			n.cursor = m
		} else if m.EqualText("") && name != "cursor" && name != "after" {
			n.more = no
		}
	case "hasmore", "hasnextpage", "hasnext", "moreavailable", "incomplete", "istruncated":
		if b, ok := m.Bool(); ok {
			if n.more = no; b {
				n.more = yes
			}
		}
	case "islast", "lastpage":
		if b, ok := m.Bool(); ok {
			if n.more = yes; b {
				n.more = no
			}
		}
	case "page", "currentpage", "pagenumber", "number":
		n.page, _ = m.Int64()
	case "totalpages", "pages", "pagecount", "lastpagenumber":
		n.pages, _ = m.Int64()
	case "total", "totalcount", "totalresults", "totalitems", "count", "totalsize":
		if t, ok := m.Int64(); ok {
			n.total = max(n.total, t)
		}
	}
}

// setLink takes a link to the next page: a URL, or a path with a query; anything
// else is a cursor.
func (n *noted) setLink(m jsonscan.Value) {
	s := string(m.AppendText(nil))
	switch {
	case s == "":
		n.more = no
	case strings.ContainsAny(s, "?"):
		n.link = s
	case !strings.Contains(s, "/"):
		n.cursor = m
	}
}

func (n *noted) list(v jsonscan.Value) {
	count := 0
	var last jsonscan.Value
	for it := v.Elements(); it.Next(); count++ {
		last = it.Value()
	}
	if count < n.items {
		return
	}
	n.items = count
	if last.Kind() == jsonscan.Object {
		n.last = last.Get("id")
	}
}
