package answer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/operation"
)

// TestNextArguments: the next page is asked for with the arguments that a tool has, whatever
// they are called.
func TestNextArguments(t *testing.T) {
	link := func(query string) string { return `<https://api.example/x?` + query + `>; rel="next"` }
	for _, c := range []struct{ query, body, link, answer, args, want string }{
		// By a link: the argument that differs, or those that say where a page begins.
		{"page_info,limit", "", link("limit=10&page_info=abc"), `[1]`, `{}`, `"page_info":"abc"`},
		{"from,limit", "", "", `{"_links":{"next":{"href":"https://api.example/x?from=tr_1&limit=10"}}}`, `{"limit":10}`, `"from":"tr_1"`},
		{"start_key,limit,sort", "", link("limit=10&sort=asc&start_key=k"), `[1]`, `{}`, `"start_key":"k"`},
		{"start_key,limit", "", link("limit=10"), `[1]`, `{"limit":10}`, ``},
		{"$skiptoken,$top", "", "", `{"value":[1],"@odata.nextLink":"https://api.example/x?$skiptoken=t"}`, `{}`, `"$skiptoken":"t"`},
		{"$top,$filter", "", "", `{"value":[1],"@odata.nextLink":"https://api.example/x?$skiptoken=t"}`, `{}`, ``},
		{"page,limit", "", link("limit=10&after_key=k"), `[1]`, `{}`, ``},
		{"page_size,page", "", link("page=2&page_size=10"), `[1]`, `{}`, `"page":2`},
		// By a member called after an argument.
		{"position,limit", "", "", `{"items":[1],"next_position":"p2"}`, `{"position":"p1"}`, `"position":"p2"`},
		{"position", "", "", `{"items":[1],"next_position":"p1"}`, `{"position":"p1"}`, ``},
		{"position", "", "", `{"items":[1],"next_position":""}`, `{}`, ``},
		{"page", "", "", `{"items":[1],"next_page":3}`, `{"page":2}`, `"page":3`},
		{"page", "", "", `{"items":[1],"next_page":null}`, `{"page":2}`, ``},
		{"page", "", "", `{"items":[1],"next_page":"https://api.example/x?page=4"}`, `{}`, `"page":4`},
		{"offset", "", "", `{"items":[1],"nextOffset":20}`, `{}`, `"offset":20`},
		{"bookmark", "", "", `{"items":[1],"bookmark":"b"}`, `{}`, `"bookmark":"b"`},
		{"page,order", "", "", `{"items":[1],"meta":{"next_page_link":"https://api.example/x?order=asc&page=2","previous_page_link":"https://api.example/x?page=0"}}`, `{}`, `"page":2`},
		{"after_cursor", "", "", `{"items":[1],"meta":{"after_cursor":"c2","before_cursor":"c0"}}`, `{"after_cursor":"c1"}`, `"after_cursor":"c2"`},
		{"after_cursor", "", "", `{"items":[1],"after_cursor":null}`, `{"after_cursor":"c1"}`, ``},
		// By a list of links, or in a wrapper.
		{"_getpages,_getpagesoffset", "", "", `{"entry":[1],"link":[{"relation":"self","url":"https://f.example/r4?a=1"},{"relation":"next","url":"https://f.example/r4?_getpages=g&_getpagesoffset=2"}]}`, `{}`, `"_getpages":"g","_getpagesoffset":"2"`},
		{"page", "", "", `{"items":[1],"links":[{"rel":"next","href":"https://api.example/x?page=2"}]}`, `{}`, `"page":2`},
		{"page", "", "", `{"items":[1],"links":[{"rel":"prev","href":"https://api.example/x?page=2"}]}`, `{}`, ``},
		{"$skiptoken,$top", "", "", `{"d":{"results":[1],"__next":"https://s4.example/x?$skiptoken=200"}}`, `{}`, `"$skiptoken":"200"`},
		{"offset", "", "", `{"response":{"docs":[1,2],"total":9}}`, `{"offset":2}`, `"offset":4`},
		{"resumptionToken,verb", "", "", `{"OAI-PMH":{"responseDate":"2026","ListRecords":{"record":[1,2],"resumptionToken":{"@cursor":"0","#text":"r/1"}}}}`, `{}`, `"resumptionToken":"r/1"`},
		{"continuation-token", "", "", `{"ListBucketResult":{"Contents":[1,2],"IsTruncated":"true","NextContinuationToken":"1ueG"}}`, `{}`, `"continuation-token":"1ueG"`},
		{"page", "", "", `{"id":1,"author":{"number":3,"pages":9}}`, `{}`, ``},
		{"offset", "", "", `{"results":[1],"total":1,"facets":{"buckets":[1],"count":500}}`, `{}`, ``},
		{"offset", "", "", `{"data":{"items":[1],"total":9},"errors":[]}`, `{}`, `"offset":1`},
		// Of a search whose arguments are in the body.
		{"", "page_token,query", "", `{"items":[1],"next_page_token":"t"}`, `{"query":"a"}`, `"page_token":"t"`},
		{"", "start_cursor", "", `{"results":[1],"has_more":true,"next_cursor":"c"}`, `{}`, `"start_cursor":"c"`},
		{"", "after_cursor,before_cursor,query", "", `{"items":[1],"before_cursor":"b","after_cursor":"c"}`, `{}`, `"after_cursor":"c"`},
		{"", "after_cursor,limit", "", `{"items":[1],"paging":{"cursors":{"afterCursor":"c"}}}`, `{"after_cursor":"c"}`, ``},
		{"", "before_cursor", "", `{"items":[1],"before_cursor":"b"}`, `{}`, ``},
		{"", "query", "", `{"items":[1],"next_page_token":"t"}`, `{}`, ``},
		{"q,limit", "", link("page=2"), `[1]`, `{}`, ``},
		// Inside an argument, beside what the call gave there.
		{"", "query,page.cursor+size", "", `{"items":[1],"meta":{"next_cursor":"c2"}}`, `{"page":{"size":2,"cursor":"c1"}}`, `"page":{"size":2,"cursor":"c2"}`},
		{"", "page.cursor+size", "", `{"items":[1],"meta":{"next_cursor":"c2"}}`, `{}`, `"page":{"cursor":"c2"}`},
		{"", "page.cursor+size", "", `{"items":[1],"meta":{"next_cursor":"c2"}}`, `{"page":{"cursor":"c2"}}`, ``},
		{"", "options.paging.after+limit", "", `{"results":[1],"paging":{"next":{"after":"NTI1","link":"x"}}}`, `{"options":{"lang":"de","paging":{"limit":5}}}`, `"options":{"lang":"de","paging":{"limit":5,"after":"NTI1"}}`},
		{"", "pagination.starting_after+per_page,query", "", `{"data":[1],"pages":{"page":1,"next":{"per_page":5,"starting_after":"s9"},"total_pages":4}}`, `{"pagination":{"per_page":5}}`, `"pagination":{"per_page":5,"starting_after":"s9"}`},
		{"", "pagination.offset", "", `{"data":[1,2],"total":9}`, `{"pagination":{"offset":2}}`, `"pagination":{"offset":4}`},
		{"", "page.number+size", "", `{"data":[1],"has_more":true}`, `{"page":{"number":2}}`, `"page":{"number":3}`},
		{"", "filter.after", "", `{"data":[1],"paging":{"cursors":{"after":"c"}}}`, `{}`, ``},
		{"", "cursor,page.cursor", "", `{"items":[1],"next_cursor":"c2"}`, `{}`, `"cursor":"c2"`},
	} {
		var params []operation.Param
		for name := range strings.SplitSeq(c.query, ",") {
			params = append(params, operation.Param{Arg: name, Name: name, In: operation.InQuery})
		}
		body := &operation.Body{}
		for name := range strings.SplitSeq(c.body, ",") {
			name, s := nestedMembers(name)
			body.Fields = append(body.Fields, operation.Field{Arg: name, Name: name, Schema: s})
		}
		got := ""
		if p := findPaging(params, body); p != nil {
			got = string(p.AppendNext(nil, []byte(c.link), jsonscan.Trusted([]byte(c.answer)), jsonscan.Trusted([]byte(c.args))))
		}
		if got != c.want {
			t.Errorf("%s %s: %s %s with %s: %s, want %s", c.query, c.body, c.link, c.answer, c.args, got, c.want)
		}
	}
	if p := findPaging([]operation.Param{{Arg: "q", Name: "q", In: operation.InQuery}}, nil); p != nil {
		t.Errorf("pages by %+v", p)
	}
}

// nestedMembers reads a.b.c+d, where c and d are in b.
func nestedMembers(text string) (string, *operation.Schema) {
	name, in, some := strings.Cut(text, ".")
	if !some {
		return text, nil
	}
	s := new(operation.Schema)
	if strings.Contains(in, ".") {
		n, inside := nestedMembers(in)
		s.Properties = []operation.Property{{Name: n, Schema: inside}}
		return name, s
	}
	for n := range strings.SplitSeq(in, "+") {
		s.Properties = append(s.Properties, operation.Property{Name: n})
	}
	return name, s
}

// TestPagesInABody: a body that is one argument is searched as deep as bodies have their pages, and
// what the call gave is not repeated where it is long.
func TestPagesInABody(t *testing.T) {
	answer := jsonscan.Trusted([]byte(`{"items":[1],"next_cursor":"c"}`))
	ask := func(depth int, args string) string {
		_, s := nestedMembers("page.cursor")
		for range depth {
			s = &operation.Schema{Properties: []operation.Property{{Name: "page", Schema: s}}}
		}
		p := findPaging(nil, &operation.Body{Arg: "body", Schema: s})
		if p == nil {
			return ""
		}
		return string(p.AppendNext(nil, nil, answer, jsonscan.Trusted([]byte(args))))
	}
	for depth, want := range map[int]string{0: `"body":{"cursor":"c"}`, maxPageDepth: `"body":{"page":{"page":{"cursor":"c"}}}`, maxPageDepth + 1: ""} {
		if got := ask(depth, `{}`); got != want {
			t.Errorf("%d deep: %s, want %s", depth, got, want)
		}
	}
	for n, want := range map[int]string{1: `"body":{"q":"a","cursor":"c"}`, maxCursor: `"body":{"cursor":"c"}`} {
		if got := ask(0, `{"body":{"q":"`+strings.Repeat("a", n)+`"}}`); got != want {
			t.Errorf("beside %d bytes: %s, want %s", n, got, want)
		}
	}
}

// TestUnfollowed: of a tool that cannot ask for it, the next page is told.
func TestUnfollowed(t *testing.T) {
	link := []byte(`<https://api.example/x?after=1>; rel="next"`)
	if got := string(new(Plan).Unfollowed(link)); got != "https://api.example/x?after=1" {
		t.Error(got)
	}
	other := &Plan{Paging: findPaging([]operation.Param{{Arg: "page", Name: "page", In: operation.InQuery}}, nil)}
	if got := string(other.Unfollowed(link)); got != "https://api.example/x?after=1" {
		t.Errorf("of a tool with other pages: %q", got)
	}
	for _, last := range []string{"", `<https://api.example/x?after=1>; rel="prev"`} {
		if got := new(Plan).Unfollowed([]byte(last)); len(got) > 0 {
			t.Errorf("%s", got)
		}
	}
	for what, p := range map[string]*Plan{"that can ask for it": {Paging: findPaging([]operation.Param{{Arg: "after", Name: "after", In: operation.InQuery}}, nil)}, "that redacts": {Redact: true}} {
		if got := p.Unfollowed(link); got != nil {
			t.Errorf("of a tool %s: %s", what, got)
		}
	}
}

// TestPageArgumentsAreBounded: a link that changes more arguments than pages need, or a cursor
// that is longer than one, is not repeated.
func TestPageArgumentsAreBounded(t *testing.T) {
	for n, given := range map[int]bool{maxPageArgs: true, maxPageArgs + 1: false} {
		var params []operation.Param
		query := "x=1"
		for i := range n {
			name := fmt.Sprint("page_", i)
			params = append(params, operation.Param{Arg: name, Name: name, In: operation.InQuery})
			query += "&" + name + "=a"
		}
		got := findPaging(params, nil).AppendNext(nil, []byte("<https://api.example/?"+query+">; rel=next"), jsonscan.Trusted([]byte("[]")), jsonscan.Trusted([]byte("{}")))
		if (len(got) > 0) != given {
			t.Errorf("%d arguments: %s", n, got)
		}
	}
	for n, given := range map[int]bool{maxCursor: true, maxCursor + 1: false} {
		p := findPaging([]operation.Param{{Arg: "cursor", Name: "cursor", In: operation.InQuery}}, nil)
		link := "<https://api.example/?cursor=" + strings.Repeat("c", n-2) + ">; rel=next" // with its quotes
		if got := p.AppendNext(nil, []byte(link), jsonscan.Trusted([]byte("[]")), jsonscan.Trusted([]byte("{}"))); (len(got) > 0) != given {
			t.Errorf("a cursor of %d bytes: %d bytes", n, len(got))
		}
	}
}

// TestHeadersOfPages: a cursor in a header is looked for under the name of the argument that takes it.
func TestHeadersOfPages(t *testing.T) {
	var params []operation.Param
	for _, name := range []string{"after_cursor", "limit", "page", "q", "continuationToken", "access_token"} {
		params = append(params, operation.Param{Arg: name, Name: name, In: operation.InQuery})
	}
	if got, want := fmt.Sprint(findPaging(params, nil).Headers), "[X-After-Cursor X-Continuationtoken]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	params = nil
	for i := range maxPageHeaders + 1 {
		params = append(params, operation.Param{Arg: "a", Name: fmt.Sprintf("cursor%d", i), In: operation.InQuery})
	}
	if got := findPaging(params, nil).Headers; len(got) != maxPageHeaders {
		t.Errorf("%s", got)
	}
}
