package answer

import (
	"bytes"
	"maps"
	"net/http"
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
	// Arguments; "" where the tool has none. Of a member inside an argument the names from the
	// argument on, with pathSep between them.
	Cursor, Page, Offset string
	After                string // argument that takes the id of the last item (Stripe's starting_after)

	// Headers are those of an answer that a cursor may be in, called after an argument: after_cursor
	// may be in X-After-Cursor.
	Headers []string

	args  map[string]string // wire name of a query parameter, or of a member of the body → argument, or path
	named map[string]string // the same by folded name
}

// The names of parameters by what they do, in the order of preference, folded to
// lower case without _ and -.
var (
	cursorNames = []string{"cursor", "pagetoken", "nexttoken", "nextcursor", "nextpagetoken", "continuationtoken", "continue", "startcursor", "pagecursor", "marker", "after", "aftercursor", "pageafter", "page[after]", "page[cursor]", "scrollid", "$skiptoken", "bookmark", "resumptiontoken"}
	pageNames   = []string{"page", "pagenumber", "pageno", "page[number]", "pageindex", "p"}
	offsetNames = []string{"offset", "startat", "startindex", "skip", "$skip", "start", "page[offset]"}
	afterNames  = []string{"startingafter"}
)

// pagingWords are words of other names that say where a page begins, and sizeWords of those
// that say how much there is on it.
var (
	pagingWords = strings.Fields("page cursor token after offset start skip marker continuation scroll next bookmark position from since iterator")
	sizeWords   = strings.Fields("size limit per count max")
)

// cursorWords are in names of parameters that take what an answer gave, as access_token is not.
var cursorWords = strings.Fields("cursor pagetoken nexttoken continuation resumption marker bookmark scroll")

// pages tells that a parameter's name may say where a page begins.
func pages(name string) bool {
	return holds(name, pagingWords) && !holds(name, sizeWords)
}

func holds(name string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(name), w) })
}

func foldName(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// findPaging looks for the parameters of pages in a request plan, in the query or in the
// members of the body; nil when there are none.
func findPaging(params []operation.Param, body *operation.Body) *Paging {
	p := &Paging{args: map[string]string{}, named: map[string]string{}}
	some := false
	add := func(name, arg string) {
		if p.args[name] == "" && arg != "" {
			p.args[name], some = arg, some || pages(name)
			p.named[foldName(name)] = arg
			if holds(foldName(name), cursorWords) && len(p.Headers) < maxPageHeaders {
				p.Headers = append(p.Headers, http.CanonicalHeaderKey("X-"+strings.ReplaceAll(name, "_", "-")))
			}
		}
	}
	for _, q := range params {
		if q.In == operation.InQuery {
			add(q.Name, q.Arg)
		}
	}
	if body != nil {
		for i := range body.Fields {
			if s := body.Fields[i].Schema; s == nil || len(s.Properties) == 0 {
				add(body.Fields[i].Name, body.Fields[i].Arg)
			}
		}
		for i := range body.Fields { // behind all of these: what a tool has as an argument is meant first
			if f := &body.Fields[i]; f.Arg != "" && pager(f.Name) {
				inside(f.Schema, f.Arg, 1, add)
			}
		}
		if body.Arg != "" {
			inside(body.Schema, body.Arg, 0, add)
		}
	}
	find := func(names []string) string {
		i := slices.IndexFunc(names, func(n string) bool { return p.named[n] != "" })
		if i < 0 {
			return ""
		}
		return p.named[names[i]]
	}
	p.Cursor, p.Page, p.Offset, p.After = find(cursorNames), find(pageNames), find(offsetNames), find(afterNames)
	if !some && p.Cursor == "" && p.Page == "" && p.Offset == "" && p.After == "" {
		return nil
	}
	return p
}

// pathSep is in no name of an argument.
const pathSep = "\x00"

// inside adds the members of an object in a body, and of those in it that are about pages.
func inside(s *operation.Schema, path string, depth int, add func(name, arg string)) {
	if s == nil || depth > maxPageDepth {
		return
	}
	object := path[strings.LastIndex(path, pathSep)+1:]
	for _, m := range s.Properties {
		if m.Schema != nil && len(m.Schema.Properties) > 0 {
			continue
		}
		if to := path + pathSep + m.Name; depth == 0 || pages(m.Name) {
			add(m.Name, to)
		} else if whole := object + "[" + m.Name + "]"; slices.Contains(pageNames, foldName(whole)) { // page: {number}
			add(whole, to)
		}
	}
	for _, m := range s.Properties {
		if pager(m.Name) {
			inside(m.Schema, path+pathSep+m.Name, depth+1, add)
		}
	}
}

// pager tells that an object in a body is about pages: a filter may have an after of its own.
func pager(name string) bool {
	f := foldName(name)
	return places[f] || pages(f) || strings.HasSuffix(f, "options") || f == "params" || f == "request"
}

// Bounds of what is said of a next page.
const (
	maxPageDepth = 2    // objects inside each other that a body is searched in
	maxCursor    = 2048 // bytes of a cursor; some are whole encoded queries
	maxPageArgs  = 4    // arguments that a link changes
	// maxPageHeaders are looked for in each answer.
	maxPageHeaders = 4
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
	n := noted{more: unknown, named: p.named}
	n.read(only(body), 0)
	if n.link != "" {
		if out := p.appendLink(dst, n.link, args); len(out) > len(dst) {
			return out
		}
	}
	if n.more == no {
		return dst
	}
	if n.arg != "" && string(n.value.Raw()) != string(given(args, n.arg).Raw()) {
		return appendArg(dst, n.arg, n.value.Raw(), args)
	}
	if p.Cursor != "" && n.cursor.Exists() && string(n.cursor.Raw()) != string(given(args, p.Cursor).Raw()) {
		return appendArg(dst, p.Cursor, n.cursor.Raw(), args)
	}
	if p.After != "" && n.more == yes && n.last.Exists() {
		return appendArg(dst, p.After, n.last.Raw(), args)
	}
	if p.Page != "" {
		page, given := given(args, p.Page).Int64()
		if !given {
			page = 1
			if n.page > 0 {
				page = n.page
			}
		}
		if n.more == yes || n.pages > 0 && page < n.pages {
			return appendArg(dst, p.Page, strconv.AppendInt(nil, page+1, 10), args)
		}
	}
	if p.Offset != "" && n.items > 0 {
		offset, _ := given(args, p.Offset).Int64()
		if n.more == yes || n.total > offset+int64(n.items) {
			return appendArg(dst, p.Offset, strconv.AppendInt(nil, offset+int64(n.items), 10), args)
		}
	}
	return dst
}

// Unfollowed is the next page of a Link header that no argument of the tool asks for: an
// agent shall not take the first page for all there is. Of an answer of which settings take
// something out it is not shown in another place.
func (a *Plan) Unfollowed(link []byte) []byte {
	if a.Redact || len(link) == 0 {
		return nil
	}
	next := nextLink(link)
	if a.Paging != nil && len(a.Paging.appendLink(nil, next, jsonscan.Value{})) > 0 {
		return nil
	}
	return []byte(next)
}

// given is what a call gave for an argument, or inside one.
func given(args jsonscan.Value, path string) jsonscan.Value {
	for name := range strings.SplitSeq(path, pathSep) {
		args = args.Get(name)
	}
	return args
}

// appendArg appends an argument with a value; where it is inside one, with what the call gave
// beside it, unless that is too long to repeat.
func appendArg(dst []byte, path string, value []byte, args jsonscan.Value) []byte {
	if len(value) > maxCursor {
		return dst
	}
	name, rest, nested := strings.Cut(path, pathSep)
	dst = append(jsonscan.AppendStringOf(dst, name), ':')
	if !nested {
		return append(dst, value...)
	}
	mark := len(dst)
	if dst = appendInside(dst, args.Get(name), rest, value); len(dst)-mark > maxCursor {
		dst = appendInside(dst[:mark], jsonscan.Value{}, rest, value)
	}
	return dst
}

// appendInside appends an object as it was given, but for the value at path.
func appendInside(dst []byte, object jsonscan.Value, path string, value []byte) []byte {
	name, rest, nested := strings.Cut(path, pathSep)
	dst = append(dst, '{')
	for it := object.Members(); it.Next(); {
		if key := it.KeyText(nil); string(key) != name {
			dst = append(append(append(jsonscan.AppendStringOf(dst, string(key)), ':'), it.Value().Raw()...), ',')
		}
	}
	dst = append(jsonscan.AppendStringOf(dst, name), ':')
	if nested {
		dst = appendInside(dst, object.Get(name), rest, value)
	} else {
		dst = append(dst, value...)
	}
	return append(dst, '}')
}

// appendLink appends the arguments that a URL of the next page has and this call
// did not: those that say where a page begins, or the only one there is. Others are
// defaults that the API spells out.
func (p *Paging) appendLink(dst []byte, link string, args jsonscan.Value) []byte {
	u, err := url.Parse(link)
	if err != nil {
		return dst
	}
	query := u.Query()
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		arg, ok := p.args[name]
		if !ok || len(query[name]) != 1 {
			continue
		}
		if given := given(args, arg); !given.EqualText(query[name][0]) && string(given.Raw()) != query[name][0] {
			changed = append(changed, name)
		}
	}
	if len(changed) != 1 || holds(changed[0], sizeWords) {
		changed = slices.DeleteFunc(changed, func(name string) bool { return !p.begins(p.args[name]) && !pages(name) })
	}
	mark := len(dst)
	for i, name := range changed {
		arg, value := p.args[name], query[name][0]
		if i == maxPageArgs || len(value) > maxCursor {
			return dst[:mark]
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		raw := jsonscan.AppendStringOf(nil, value)
		if (arg == p.Page || arg == p.Offset) && isDigits(value) {
			raw = []byte(value)
		}
		dst = appendArg(dst, arg, raw, args)
	}
	return dst
}

// begins tells that an argument is known to say where a page begins.
func (p *Paging) begins(arg string) bool {
	return arg == p.Cursor || arg == p.Page || arg == p.Offset || arg == p.After
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
	named              map[string]string // arguments of the tool by folded names
	arg                string            // the argument that a member called next_ARGUMENT is for,
	value              jsonscan.Value    // and its value
	next               bool              // inside an object called next, where arguments have their own names
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
	"responsemetadata": true, "pageinfo": true, "resultinfo": true, "list": true, "next": true, "metapagination": true, "pages": true,
}

// relation tells that a member is a list of links ({"rel": "next", "href": …}), of which it
// takes the one to the next page.
func (n *noted) relation(name string, list jsonscan.Value) bool {
	if name != "links" && name != "link" {
		return false
	}
	for it := list.Elements(); it.Next(); {
		v := it.Value()
		if v.Kind() != jsonscan.Object || !v.Get("rel").EqualText("next") && !v.Get("relation").EqualText("next") {
			continue
		}
		for _, address := range [...]string{"href", "url", "uri"} {
			if to := v.Get(address); to.Kind() == jsonscan.String {
				n.setLink(to)
			}
		}
	}
	return true
}

// wraps tells that an object has the list of an answer, with what is said of its page.
func wraps(v jsonscan.Value) bool {
	for it := v.Members(); it.Next(); {
		if it.Value().Kind() == jsonscan.Array {
			return true
		}
	}
	return false
}

// only is the object that is all of an answer, as the root of an XML document is.
func only(v jsonscan.Value) jsonscan.Value {
	it := v.Members()
	if !it.Next() || it.Value().Kind() != jsonscan.Object {
		return v
	}
	if in := it.Value(); !it.Next() {
		return in
	}
	return v
}

func (n *noted) read(v jsonscan.Value, depth int) {
	listed := depth > 0 || wraps(v) // an object beside a list is not around it
	for it := v.Members(); it.Next(); {
		m := it.Value()
		name := strings.TrimLeft(foldName(string(it.KeyText(nil))), "_@")
		switch m.Kind() {
		case jsonscan.Array:
			if depth < 2 && n.relation(name, m) {
				continue
			}
			if depth == 0 || depth == 1 && n.items == 0 {
				n.list(m)
			}
			continue
		case jsonscan.Object:
			if depth < 2 && places[name] {
				before := n.next
				n.next = before || name == "next"
				n.read(m, depth+1)
				if n.next = before; name == "next" {
					if h := m.Get("href"); h.Kind() == jsonscan.String {
						n.setLink(h)
					}
				}
			} else if text := m.Get("#text"); text.Kind() == jsonscan.String { // of an element of XML with attributes
				n.scalar(name, text)
			} else if depth == 0 && (name == "data" || !listed) && wraps(m) {
				n.read(m, depth+1)
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
	of, next := strings.CutPrefix(name, "next")
	switch {
	case next && n.named[of] != "" && n.plain(m):
		n.arg, n.value = n.named[of], m
		return
	case n.named[name] != "" && (goesOn(name) || n.next && n.arg == "" && pages(name)) && n.plain(m): // the argument's own name: after_cursor
		n.arg, n.value = n.named[name], m
		return
	case next && m.Kind() == jsonscan.String && slices.ContainsFunc(linkEnds[:], func(end string) bool { return strings.HasSuffix(of, end) }):
		n.setLink(m)
		return
	}
	switch name {
	case "next", "nextpage", "odata.nextlink":
		if m.Kind() == jsonscan.String {
			n.setLink(m)
		}
	case "nextcursor", "nextpagetoken", "nexttoken", "continuationtoken", "nextmarker", "continue", "cursor", "endcursor", "after", "scrollid", "bookmark", "resumptiontoken":
		if m.Kind() == jsonscan.String && len(m.Raw()) > 2 || m.Kind() == jsonscan.Number {
			n.cursor = m
		} else if m.EqualText("") && name != "cursor" && name != "after" && name != "bookmark" {
			n.more = no
		}
	case "hasmore", "hasnextpage", "hasnext", "moreavailable", "moredataavailable", "hasmoreitems", "morerecords", "incomplete", "istruncated":
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

// linkEnds are ends of names, behind next, of an address of the next page.
var linkEnds = [...]string{"url", "uri", "link", "href"}

// goesOn tells that what an answer has under the name of an argument is where the next page
// begins: not of a cursor that leads back, or to this page.
func goesOn(name string) bool {
	return strings.HasPrefix(name, "after") && holds(name, cursorWords)
}

// plain tells that a value is no address of a page, and not empty.
func (n *noted) plain(m jsonscan.Value) bool {
	switch m.Kind() {
	case jsonscan.Number:
		return true
	case jsonscan.String:
		return len(m.Raw()) > 2 && !strings.ContainsAny(string(m.Raw()), "/?")
	}
	return false
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
