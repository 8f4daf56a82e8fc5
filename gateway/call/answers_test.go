package call_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// world is a gateway in front of one API with a list of pets at /list.
type world struct {
	t      *testing.T
	up     *upstreamtest.Server
	s      *gatewaytest.Stack
	answer http.Handler // of the API, to everything
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := gatewaytest.New(gatewaytest.Options{CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	w := &world{t: t, up: upstreamtest.New(t), s: s}
	w.up.Handle("/", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.answer.ServeHTTP(rw, r) }))
	return w
}

const petSchema = `{"type":"object","properties":{"items":{"type":["array","null"],"items":{"type":["object","null"],"properties":{` +
	`"id":{"type":["integer","null"]},"name":{"type":["string","null"]},"self_url":{"type":["string","null"]},` +
	`"owner":{"type":["object","null"],"properties":{"login":{"type":["string","null"]},"avatar_url":{"type":["string","null"]}}}}}},` +
	`"total":{"type":["integer","null"]}}}`

func petOperation() *operation.Operation {
	op := gatewaytest.Operation("list", "GET", "/list",
		gatewaytest.Param("page", operation.InQuery, operation.TypeInteger, false))
	op.OutputSchema = json.RawMessage(petSchema)
	member := func(name string, s *operation.Schema) operation.Property {
		return operation.Property{Name: name, Schema: s}
	}
	text, number := &operation.Schema{Type: operation.TypeString}, &operation.Schema{Type: operation.TypeInteger}
	owner := &operation.Schema{Type: operation.TypeObject, Properties: []operation.Property{member("login", text), member("avatar_url", text)}}
	pet := &operation.Schema{Type: operation.TypeObject, Properties: []operation.Property{
		member("id", number), member("name", text), member("self_url", text), member("owner", owner),
	}}
	op.Response = &operation.Schema{Type: operation.TypeObject, Properties: []operation.Property{
		member("items", &operation.Schema{Type: operation.TypeArray, Items: pet}), member("total", number),
	}}
	return op
}

// serve makes a toolset of these settings live and returns its tool.
func (w *world) serve(op *operation.Operation, change func(*registry.Toolset)) *snapshot.Tool {
	w.t.Helper()
	c, err := gatewaytest.Connector("acme", w.up.URL, op)
	if err != nil {
		w.t.Fatal(err)
	}
	in := gatewaytest.Toolset("acme", 1, c, change)
	in.Digest = ""
	if in.Programs, err = in.Bundle.CompilePrograms(); err != nil {
		w.t.Fatal(err)
	}
	if err := in.Bundle.Validate(); err != nil {
		w.t.Fatal(err)
	}
	if err := w.s.Serve(in); err != nil {
		w.t.Fatal(err)
	}
	return w.tool(op.Name)
}

func (w *world) tool(name string) *snapshot.Tool {
	w.t.Helper()
	tool, err := w.s.Holder.Load().Slug("acme").Tool([]byte(name))
	if err != nil || tool == nil {
		w.t.Fatalf("tool %s: %v", name, err)
	}
	return tool
}

// list is tools/list.
func (w *world) list() string {
	w.t.Helper()
	l, err := w.s.Holder.Load().Slug("acme").List()
	if err != nil {
		w.t.Fatal(err)
	}
	page, _, _ := l.Page(nil)
	return string(page)
}

type result struct {
	Content []struct {
		Type, Text, Data, MIMEType string
		Resource                   struct{ URI, Blob, MIMEType string }
	}
	IsError           bool
	StructuredContent json.RawMessage
}

func (w *world) call(tool *snapshot.Tool, args string, opt call.CallOptions) result {
	w.t.Helper()
	v, err := jsonscan.Parse([]byte(args), 10)
	if err != nil {
		w.t.Fatal(err)
	}
	out, _, err := w.s.Caller.Call(w.t.Context(), tool, v, opt, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal([]byte("{"+string(out)+"}"), &r); err != nil {
		w.t.Fatalf("%s: %v", out, err)
	}
	return r
}

// text calls the tool and returns what the agent reads.
func (w *world) text(tool *snapshot.Tool, args string) string {
	w.t.Helper()
	r := w.call(tool, args, call.CallOptions{})
	if r.IsError {
		w.t.Fatalf("%s: %s", args, r.Content[0].Text)
	}
	return r.Content[0].Text
}

func (w *world) failure(tool *snapshot.Tool, args string) string {
	w.t.Helper()
	r := w.call(tool, args, call.CallOptions{})
	if !r.IsError {
		w.t.Fatalf("%s: no failure: %s", args, r.Content[0].Text)
	}
	return r.Content[0].Text
}

// pets makes an answer with n pets.
func pets(n int) string {
	var b strings.Builder
	b.WriteString(`{ "items": [`)
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"id": %d, "name": "pet number %d", "gone": null, "self_url": "https://api.pets.example/%d", "owner": {"login": "user%d", "avatar_url": "https://a.example/%d"}}`,
			i, i, i, i%7, i%7)
	}
	fmt.Fprintf(&b, `], "total": %d }`, n)
	return b.String()
}

func minified(t *testing.T, doc string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(doc)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProfiles(t *testing.T) {
	w := newWorld(t)
	doc := pets(3)
	w.answer = upstreamtest.JSON(200, doc)
	profile := func(p, format string) string {
		t.Helper()
		return w.text(w.serve(petOperation(), func(b *registry.Toolset) {
			b.Profile, b.Answers = p, &registry.Answers{Format: format}
		}), "{}")
	}
	if got := profile(registry.ProfileOff, ""); got != doc {
		t.Fatalf("off: %s", got)
	}
	if got := profile(registry.ProfileLossless, registry.FormatJSON); got != minified(t, doc) {
		t.Fatalf("lossless JSON: %s", got)
	}
	lossless := profile(registry.ProfileLossless, registry.FormatTable)
	back, err := compress.DecodeTable(nil, []byte(lossless))
	if err != nil || string(back) != minified(t, doc) {
		t.Fatalf("lossless table: %s\n%s, %v", lossless, back, err)
	}
	if got := profile(registry.ProfileLossless, ""); got != lossless {
		t.Fatalf("lossless auto is not the shorter form: %s", got)
	}
	concise := profile(registry.ProfileConcise, registry.FormatJSON)
	if strings.Contains(concise, "null") || strings.Contains(concise, "avatar") || !strings.Contains(concise, `"login":"user1"`) {
		t.Fatalf("concise: %s", concise)
	}
	if got := profile(registry.ProfileConcise, registry.FormatTOON); !strings.Contains(got, "items[3]{") {
		t.Fatalf("TOON: %s", got)
	}
}

func TestCallerFields(t *testing.T) {
	w := newWorld(t)
	doc := pets(2)
	w.answer = upstreamtest.JSON(200, doc)
	for _, profile := range []string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise} {
		tool := w.serve(petOperation(), func(b *registry.Toolset) {
			b.Profile, b.Answers = profile, &registry.Answers{Format: registry.FormatJSON}
		})
		f := func(args, want string) {
			t.Helper()
			if got := w.text(tool, args); got != want {
				t.Fatalf("%s, %s: %s; want %s", profile, args, got, want)
			}
		}
		f(`{"fields":"items(id,owner.login)"}`, `{"items":[{"id":0,"owner":{"login":"user0"}},{"id":1,"owner":{"login":"user1"}}]}`)
		f(`{"page":2,"fields":["total"]}`, `{"total":2}`)
		f(`{"fields":"items.self_url"}`, `{"items":[{"self_url":"https://api.pets.example/0"},{"self_url":"https://api.pets.example/1"}]}`)
		f(`{"fields":"*"}`, minified(t, doc))
		for args, want := range map[string]string{
			`{"fields":"itms"}`:             `unknown field "itms"; did you mean "items"?`,
			`{"fields":"items.owner.logn"}`: `unknown field "items.owner.logn"; did you mean "items.owner.login"?`,
			`{"fields":"name"}`:             `did you mean "items.name"?`,
			`{"fields":"items(id"}`:         `expected , or )`,
			`{"fields":7}`:                  `got number`,
		} {
			if got := w.failure(tool, args); !strings.Contains(got, want) {
				t.Fatalf("%s: %s; want %s", args, got, want)
			}
		}
	}
	// The API never sees the argument, and keeps one of its own.
	for _, r := range w.up.Requests() {
		if strings.Contains(r.Target, "fields") {
			t.Fatalf("the API was sent %s", r.Target)
		}
	}
	own := petOperation()
	own.Plan.Params = append(own.Plan.Params, gatewaytest.Param("fields", operation.InQuery, operation.TypeString, false))
	own.InputSchema = json.RawMessage(`{"type":"object","properties":{"fields":{"type":"string"}}}`)
	tool := w.serve(own, func(b *registry.Toolset) { b.Profile = registry.ProfileLossless })
	w.up.Forget()
	if got := w.text(tool, `{"fields":"x","_fields":"total"}`); got != `{"total":2}` {
		t.Fatalf("with a parameter of that name: %s", got)
	}
	if r := w.up.Requests(); len(r) != 1 || r[0].Target != "/list?fields=x" {
		t.Fatalf("the API was sent %v", r)
	}
	if list := w.list(); !strings.Contains(list, `"_fields":{"type":"string"`) {
		t.Fatalf("list %s", list)
	}
}

func TestOperatorSettings(t *testing.T) {
	w := newWorld(t)
	w.answer = upstreamtest.JSON(200, pets(9))
	f := func(a, ofTool registry.Answers, args, want string) {
		t.Helper()
		tool := w.serve(petOperation(), func(b *registry.Toolset) {
			b.Answers = &a
			b.Answers.Format = registry.FormatJSON
			b.Tools = []registry.ToolEdit{{Connector: "api", Method: "GET", Path: "/list", Answers: &ofTool}}
		})
		if got := w.text(tool, args); got != want {
			t.Fatalf("%+v %+v: %s; want %s", a, ofTool, got, want)
		}
	}
	none := registry.Answers{}
	f(none, registry.Answers{Fields: "items.name", Rows: "items", Where: "owner.login == 'user1'"}, "{}",
		`{"items":[{"name":"pet number 1"},{"name":"pet number 8"}]}`)
	f(none, registry.Answers{Rows: "items", Limit: 1, Fields: "items.id"}, "{}", `{"items":[{"id":0}]}`)
	f(registry.Answers{Fields: "-items.owner"}, registry.Answers{Rows: "items", Where: "owner.login == 'user1'", Limit: 1}, "{}",
		`{"items":[{"id":1,"name":"pet number 1"}],"total":9}`)
	f(registry.Answers{MaxString: 8}, registry.Answers{Rows: "items", Limit: 1, Fields: "items.owner", Profile: registry.ProfileLossless}, "{}",
		`{"items":[{"owner":{"login":"user0","avatar_url":"https://…[+11]"}}]}`)
	// What the operator leaves out no caller gets.
	f(registry.Answers{Fields: "-items.owner"}, registry.Answers{Rows: "items", Limit: 1}, `{"fields":"items(id,owner)"}`, `{"items":[{"id":0}]}`)
	f(none, registry.Answers{JQ: "[.items[].id] | add"}, "{}", `36`)
	f(none, registry.Answers{JQ: "error(\"no\")", Fields: "total"}, "{}", `{"total":9}`)
	// A setting that redacts fails closed.
	tool := w.serve(petOperation(), func(b *registry.Toolset) {
		b.Tools = []registry.ToolEdit{{Connector: "api", Method: "GET", Path: "/list", Answers: &registry.Answers{JQ: "error(\"no\")", Redact: true}}}
	})
	if got := w.failure(tool, "{}"); !strings.Contains(got, "withheld") || strings.Contains(got, "pet") {
		t.Fatalf("redact: %s", got)
	}
}

var handlePattern = regexp.MustCompile(`\{"handle":"([^"]+)"(?:,"offset":(\d+))?\}`)

// TestBudget reads a long answer to its end, page by page, and finds every item.
func TestBudget(t *testing.T) {
	w := newWorld(t)
	w.answer = upstreamtest.JSON(200, pets(400))
	for _, format := range []string{registry.FormatAuto, registry.FormatJSON, registry.FormatTOON} {
		tool := w.serve(petOperation(), func(b *registry.Toolset) { b.Answers = &registry.Answers{Format: format, Budget: 1000} })
		text := w.text(tool, "{}")
		fetch := w.tool(snapshot.FetchTool)
		seen, pages := 0, 0
		for {
			if n := tokens.Estimate([]byte(text)); n > 1000 {
				t.Fatalf("%s: page %d has %d tokens", format, pages, n)
			}
			pages++
			var from, to int
			last := text[strings.LastIndexByte(text, '\n')+1:]
			if _, err := fmt.Sscanf(last, "[items %d-%d of 400", &from, &to); err != nil || from != seen+1 {
				t.Fatalf("%s: last line %s after %d items: %v", format, last, seen, err)
			}
			seen = to
			m := handlePattern.FindStringSubmatch(text)
			if m == nil {
				break
			}
			if m[2] != fmt.Sprint(to) {
				t.Fatalf("%s: last line %s", format, last)
			}
			text = w.text(fetch, m[0])
		}
		if pages < 3 || seen != 400 || !strings.HasSuffix(text, "of 400]") {
			t.Fatalf("%s: %d items on %d pages, last %s", format, seen, pages, text)
		}
	}
}

// TestLongerThanPromised: where no answer was to be long, nothing gives the rest of one that
// is. What changed something is not repeated for it.
func TestLongerThanPromised(t *testing.T) {
	w := newWorld(t)
	w.answer = upstreamtest.JSON(200, pets(4000))
	op := gatewaytest.Operation("make", "POST", "/list")
	tool := w.serve(op, nil)
	if strings.Contains(w.list(), snapshot.FetchTool) {
		t.Fatal("fetch_result is listed")
	}
	text := w.text(tool, "{}")
	if !strings.Contains(text, "of 4000; the rest is not held") || !strings.HasSuffix(text, "do not repeat it, but read what you need with another tool]") {
		t.Errorf("the end is %q", text[max(0, len(text)-200):])
	}
}

func TestFetchResult(t *testing.T) {
	w := newWorld(t)
	w.answer = upstreamtest.JSON(200, pets(400))
	tool := w.serve(petOperation(), func(b *registry.Toolset) { b.Answers = &registry.Answers{Format: registry.FormatJSON, Budget: 1000} })
	m := handlePattern.FindStringSubmatch(w.text(tool, "{}"))
	if m == nil {
		t.Fatal("no handle")
	}
	fetch := w.tool(snapshot.FetchTool)
	f := func(args, want string) {
		t.Helper()
		if got := w.text(fetch, fmt.Sprintf(`{"handle":%q,%s}`, m[1], args)); got != want {
			t.Fatalf("%s: %s; want %s", args, got, want)
		}
	}
	f(`"offset":399,"fields":"id,owner.login"`, "[{\"id\":399,\"owner\":{\"login\":\"user0\"}}]\n[items 400-400 of 400]")
	f(`"grep":"NUMBER 39[89]\"","fields":"id"`, "[{\"id\":398},{\"id\":399}]\n[items 1-2 of 2 that match, of 400]")
	f(`"grep":"number 39","limit":1,"fields":"id"`, "[{\"id\":39}]\n[items 1-1 of 11 that match, of 400; the rest: fetch_result {\"handle\":\""+m[1]+"\",\"offset\":1} with the same grep]")
	f(`"grep":"(((","fields":"id"`, "[no items that match, of 400]")
	f(`"offset":400`, "[nothing beyond item 400]")
	// One principal may come with tokens that open different tools.
	for name, open := range map[string]bool{tool.Name: true, "another": false} {
		r := w.call(fetch, fmt.Sprintf(`{"handle":%q,"limit":1}`, m[1]), call.CallOptions{Permits: func(tool string) bool { return tool == name }})
		if r.IsError == open || !open && !strings.Contains(r.Content[0].Text, "does not open") {
			t.Fatalf("%s: %+v", name, r)
		}
	}
	g := func(args, want string, who access.Principal) {
		t.Helper()
		r := w.call(fetch, args, call.CallOptions{Principal: who})
		if !r.IsError || !strings.Contains(r.Content[0].Text, want) {
			t.Fatalf("%s: %+v; want %s", args, r, want)
		}
	}
	anyone := access.Principal{}
	g(`{"handle":"`+m[1]+`"}`, "call the tool again", access.TokenPrincipal("ts_acme", "other"))
	g(`{"handle":"00000000-000000000000000000000000"}`, "held by another node of the gateway, or has expired", anyone)
	g(`{"handle":"nonsense"}`, "is not a handle", anyone)
	g(`{}`, "handle: missing", anyone)
	g(`{"handle":"x-y","what":1}`, "unknown argument", anyone)
	g(`{"handle":"x-y","offset":-1}`, "whole number", anyone)
	g(`{"handle":"`+m[1]+`","fields":"("}`, "expected a name", anyone)
	// A budget of none adds no tool.
	w.serve(petOperation(), func(b *registry.Toolset) { b.Answers = &registry.Answers{Budget: registry.NoTokenBudget} })
	if list := w.list(); strings.Contains(list, snapshot.FetchTool) {
		t.Fatalf("list %s", list)
	}
}

// TestBudgetOfOtherAnswers: objects without a list, text, single items.
func TestBudgetOfOtherAnswers(t *testing.T) {
	w := newWorld(t)
	var object strings.Builder
	for i := range 300 {
		fmt.Fprintf(&object, `,"member%d":{"text":"value number %d"}`, i, i)
	}
	w.answer = upstreamtest.Sequence(
		upstreamtest.JSON(200, "{"+object.String()[1:]+"}"),
		upstreamtest.Text(200, "text/csv", strings.Repeat("a,b,c\n", 4000)),
		upstreamtest.JSON(200, `[{"text":"`+strings.Repeat("words and ", 4000)+`"}]`),
	)
	tool := w.serve(petOperation(), func(b *registry.Toolset) {
		b.Profile, b.Answers = registry.ProfileLossless, &registry.Answers{Budget: 1000, Format: registry.FormatJSON}
	})
	for _, want := range []string{"[members 1-", "[lines 1-", "[cut: the first "} {
		text := w.text(tool, "{}")
		if !strings.Contains(text, want) || tokens.Estimate([]byte(text)) > 1000 || !handlePattern.MatchString(text) {
			t.Fatalf("%s: %.100s … %s", want, text, text[max(0, len(text)-300):])
		}
	}
}

func TestOtherContent(t *testing.T) {
	w := newWorld(t)
	f := func(profile, contentType, body, want string) {
		t.Helper()
		w.answer = upstreamtest.Text(200, contentType, body)
		op := gatewaytest.Operation("other", "GET", "/other")
		op.Plan.Accept = contentType
		tool := w.serve(op, func(b *registry.Toolset) { b.Profile = profile })
		r := w.call(tool, "{}", call.CallOptions{})
		raw, err := json.Marshal(r)
		if err != nil || !strings.Contains(string(raw), want) || r.IsError {
			t.Fatalf("%s %s: %s; want %s", profile, contentType, raw, want)
		}
	}
	const page = `<html><head><script>x()</script></head><body><h1>Pets</h1><p>One <b>dog</b>.</p><table><tr><th>id</th></tr><tr><td>1</td></tr></table></body></html>`
	f(registry.ProfileConcise, "text/html", page, `# Pets\n\nOne **dog**.\n\n| id |`)
	f(registry.ProfileLossless, "text/html", page, `x()`)
	f(registry.ProfileLossless, "application/xml", `<?xml version="1.0"?><r a="1"><p>x</p><p>y</p><q>z &amp; w</q></r>`, `{\"r\":{\"@a\":\"1\",\"p\":[\"x\",\"y\"],\"q\":\"z \u0026 w\"}}`)
	f(registry.ProfileOff, "application/xml", `<r/>`, `\u003cr/\u003e`)
	f(registry.ProfileLossless, "application/xml", `<r>`, `\u003cr\u003e`)
	f(registry.ProfileLossless, "text/csv", "a,b\n1,2\n", `a,b\n1,2\n`)
	f(registry.ProfileLossless, "application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n", `[{\"a\":1},{\"a\":2}]`)
	f(registry.ProfileConcise, "application/json-seq", "\x1e{\"a\":1}\n\x1e{\"a\":null}\n", `[{\"a\":1},{}]`)
	f(registry.ProfileOff, "application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n", `{\"a\":1}\n{\"a\":2}\n`)
	f(registry.ProfileConcise, "image/png", "\x89PNG", `"Data":"iVBORw=="`)
	f(registry.ProfileConcise, "application/pdf", "%PDF\xff", `"Blob":"JVBERv8="`)
	f(registry.ProfileConcise, "application/pdf", strings.Repeat("\xff", 300<<10), `307200 bytes of application/pdf`)
}

func TestStructured(t *testing.T) {
	w := newWorld(t)
	w.answer = upstreamtest.JSON(200, pets(1))
	serve := func(on bool) (*snapshot.Tool, string) {
		tool := w.serve(petOperation(), func(b *registry.Toolset) { b.Answers = &registry.Answers{Structured: on, Fields: "-items.self_url"} })
		return tool, w.list()
	}
	tool, list := serve(false)
	if r := w.call(tool, "{}", call.CallOptions{}); r.StructuredContent != nil || strings.Contains(list, "outputSchema") {
		t.Fatalf("structured without being asked: %s %s", r.StructuredContent, list)
	}
	tool, list = serve(true)
	r := w.call(tool, "{}", call.CallOptions{})
	if want := `{"items":[{"id":0,"name":"pet number 0","owner":{"login":"user0"}}],"total":1}`; string(r.StructuredContent) != want || r.Content[0].Text != want {
		t.Fatalf("structured %s, text %s", r.StructuredContent, r.Content[0].Text)
	}
	_, schema, _ := strings.Cut(list, `"outputSchema":`)
	if !strings.Contains(schema, `"login"`) || strings.Contains(schema, "self_url") || strings.Contains(schema, "avatar_url") {
		t.Fatalf("output schema %s", schema)
	}
}

func TestNextPage(t *testing.T) {
	w := newWorld(t)
	f := func(param, header, body, args, want string) {
		t.Helper()
		w.answer = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.Header().Set("Link", header)
			_, _ = io.WriteString(rw, body)
		})
		op := gatewaytest.Operation("next", "GET", "/next", gatewaytest.Param(param, operation.InQuery, 0, false))
		tool := w.serve(op, func(b *registry.Toolset) { b.Profile = registry.ProfileLossless })
		text := w.text(tool, args)
		_, note, _ := strings.Cut(text, "\n[next page: the same call with ")
		if note = strings.TrimSuffix(note, "]"); note != want {
			t.Fatalf("%s %s %s: %s; want %s", param, header, body, text, want)
		}
	}
	f("page", `<https://api.example/x?page=3&per_page=30>; rel="next", <https://api.example/x?page=9>; rel="last"`, `[1]`, `{"page":2}`, `"page":3`)
	f("page", `<https://api.example/x?page=1>; rel="prev"`, `[1]`, `{"page":2}`, ``)
	f("cursor", ``, `{"items":[1],"response_metadata":{"next_cursor":"abc="}}`, `{}`, `"cursor":"abc="`)
	f("cursor", ``, `{"items":[1],"response_metadata":{"next_cursor":""}}`, `{}`, ``)
	f("pageToken", ``, `{"items":[1],"nextPageToken":"t"}`, `{}`, `"pageToken":"t"`)
	f("starting_after", ``, `{"data":[{"id":"a"},{"id":"b"}],"has_more":true}`, `{}`, `"starting_after":"b"`)
	f("starting_after", ``, `{"data":[{"id":"a"},{"id":"b"}],"has_more":false}`, `{}`, ``)
	f("offset", ``, `{"results":[1,2,3],"total":10}`, `{"offset":3}`, `"offset":6`)
	f("offset", ``, `{"results":[1,2,3],"total":6}`, `{"offset":3}`, ``)
	f("page", ``, `{"data":[1],"meta":{"page":1,"total_pages":2}}`, `{}`, `"page":2`)
	f("page", ``, `{"data":[1],"next":"https://api.example/x?page=4"}`, `{"page":3}`, `"page":4`)
	f("q", `<https://api.example/x?page=3>; rel="next"`, `[1]`, `{}`, ``)
}

// TestMaxBinary: an image, a sound or another file as large is passed on whole; what is a
// byte larger is only described.
func TestMaxBinary(t *testing.T) {
	w := newWorld(t)
	f := func(contentType string, limit int) {
		t.Helper()
		for n, want := range map[int]bool{limit: true, limit + 1: false} {
			w.answer = upstreamtest.Text(200, contentType, strings.Repeat("\xff", n))
			op := gatewaytest.Operation("other", "GET", "/other")
			op.Plan.Accept = contentType
			r := w.call(w.serve(op, nil), "{}", call.CallOptions{})
			passed := 0
			for _, c := range r.Content {
				passed += len(c.Data) + len(c.Resource.Blob)
			}
			if got := passed == base64.StdEncoding.EncodedLen(n); got != want || !want && (passed != 0 || !strings.Contains(r.Content[0].Text, contentType)) {
				t.Errorf("%s of %d bytes: %d characters are passed on: %+.200v", contentType, n, passed, r)
			}
		}
	}
	f("application/pdf", call.MaxBinary)
	f("image/png", call.MaxMedia)
	f("audio/mpeg", call.MaxMedia)
}
