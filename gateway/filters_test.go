package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/plugin"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// canary is what no agent may read.
const canary = "canary-7f3a9c"

// scrubber plays plugins that redact: "scrub" takes the canary out of what it gets,
// "crash" never runs and repeats its input in its complaint. Others are run by the
// sandbox.
type scrubber struct {
	real *plugin.Runner
	runs atomic.Int64
}

func (s *scrubber) Transform(ctx context.Context, dst, in []byte, p *snapshot.Plugin, c *guest.Context) ([]byte, error) {
	switch p.Ref.Name {
	case "scrub":
		s.runs.Add(1)
		return append(dst, bytes.ReplaceAll(in, []byte(canary), []byte("***"))...), nil
	case "crash":
		return dst, &extism.PluginError{Message: "cannot read " + string(in)}
	}
	return s.real.Transform(ctx, dst, in, p, c)
}

func (s *scrubber) Check(_ *snapshot.Plugin, _ string, check func() error) error { return check() }

// fake is a package that the scrubber plays.
func fake(name string, types ...string) *guest.Package {
	m := &manifest.Manifest{FormatVersion: 1, Kind: manifest.Filter, Name: name, Version: "1"}
	if types != nil {
		m.Input = &manifest.Input{Types: types}
	}
	return &guest.Package{Digest: string(registry.DigestOf([]byte(name + strings.Join(types, ",")))), Manifest: m}
}

// sentry is a way to keep the canary from agents.
type sentry struct {
	name    string
	plugin  *guest.Package // nil: the operator's own settings
	onError string
	reads   bool // it can take the canary out of text
}

func guards() []sentry {
	return []sentry{
		{"reads all", fake("scrub", "*/*"), registry.OnErrorFail, true},
		{"reads all, by default", fake("scrub", "*/*"), "", true},
		{"reads JSON", fake("scrub"), "", false},
		{"reads text", fake("scrub", "application/json", "text/*"), registry.OnErrorFail, true},
		{"crashes", fake("crash", "*/*"), "", false},
		{"settings", nil, "", false},
	}
}

// bind puts the guard on a toolset.
func (g *sentry) bind(in *snapshot.ToolsetInput) {
	if g.plugin == nil {
		if in.Bundle.Answers == nil {
			in.Bundle.Answers = &registry.Answers{}
		}
		in.Bundle.Answers.Fields, in.Bundle.Answers.Redact = "-secret", true
		return
	}
	ref := refTo(g.plugin)
	ref.OnError = g.onError
	in.Bundle.Plugins = append([]registry.PluginRef{ref}, in.Bundle.Plugins...)
	in.Plugins = append([]*guest.Package{g.plugin}, in.Plugins...)
}

// forms are the forms of answers, by their names.
var forms = map[string]func(*registry.Toolset){
	"concise":    func(ts *registry.Toolset) { ts.Profile = registry.ProfileConcise },
	"lossless":   func(ts *registry.Toolset) { ts.Profile = registry.ProfileLossless },
	"off":        func(ts *registry.Toolset) { ts.Profile = registry.ProfileOff },
	"structured": func(ts *registry.Toolset) { ts.Answers = &registry.Answers{Structured: true} },
	"paged": func(ts *registry.Toolset) {
		ts.Profile, ts.Answers = registry.ProfileLossless, &registry.Answers{Budget: 4000, Format: registry.FormatJSON}
	},
}

// leaks looks for the canary in what a client got, in strings that are escaped or
// base64 too.
func leaks(got string) bool {
	if strings.Contains(got, canary) {
		return true
	}
	for line := range strings.SplitSeq(got, "\n") {
		var v any
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &v) == nil && leaksIn(v) {
			return true
		}
	}
	return false
}

func leaksIn(v any) bool {
	switch v := v.(type) {
	case string:
		raw, err := base64.StdEncoding.DecodeString(v)
		return strings.Contains(v, canary) || err == nil && bytes.Contains(raw, []byte(canary)) ||
			bytes.Contains(jsonscan.AppendUnescaped(nil, []byte(v)), []byte(canary)) // a document in it
	case []any:
		return slices.ContainsFunc(v, leaksIn)
	case map[string]any:
		for k, e := range v {
			if strings.Contains(k, canary) || leaksIn(e) {
				return true
			}
		}
	}
	return false
}

// kinds are answers of an API with a canary, by name: content type and body.
func kinds() map[string][2]string {
	return map[string][2]string{
		"json":        {"application/json", `{"secret":"` + canary + `","id":1}`},
		"list":        {"application/json", `[{"secret":"` + canary + `","id":1},{"id":2}]`},
		"problem":     {"application/problem+json", `{"detail":"x","secret":"` + canary + `"}`},
		"untyped":     {"", `{"secret":"` + canary + `"}`},
		"hidden":      {"application/json", `{"s\u200becret":"can\u200bary-7f\u200b3a9c"}`},
		"hidden text": {"text/plain", "can\u200bary-7f3a\u200b9c"},
		"escaped":     {"application/json", `{"secret":"can\u0061ry\u002D7f\u0033a9c","id":1}`},
		"escaped key": {"application/problem+json", `{"se\u0063ret":"` + canary + `","\u0063anary-7f3a9c":1}`},
		"ndjson":      {"application/x-ndjson", `{"secret":"` + canary + `"}` + "\n" + `{"id":2}` + "\n"},
		"cursor":      {"application/json", `{"items":[{"id":1}],"secret":1,"next_cursor":"` + canary + `","has_more":true}`},
		"bad json":    {"application/json", `{"secret":"` + canary},
		"deep":        {"application/json", strings.Repeat(`{"a":`, 600) + `"` + canary + `"` + strings.Repeat("}", 600)},
		"xml":         {"application/xml", `<r><secret>` + canary + `</secret></r>`},
		"bad xml":     {"application/xml", `<r><secret>` + canary},
		"html":        {"text/html", `<html><body><p>` + canary + `</p></body></html>`},
		"text":        {"text/plain", "it is " + canary + "\n"},
		"disguised":   {"text/plain", `{"x":"` + canary + `"}`},
		"csv":         {"text/csv", "a,b\n1," + canary + "\n"},
		"markdown":    {"text/markdown", "# " + canary},
		"yaml":        {"application/yaml", "a: " + canary},
		"svg":         {"image/svg+xml", `<svg>` + canary + `</svg>`},
		"png":         {"image/png", "\x89PNG " + canary},
		"wav":         {"audio/wav", "RIFF\x00" + canary},
		"pdf":         {"application/pdf", "%PDF\xff" + canary},
		"own type":    {"application/x-" + canary, "\x00\xff"},
		"own picture": {"image/" + canary, "\x00\xff"},
		"long text":   {"text/plain", strings.Repeat("a line\n", 4000) + canary},
		"long list":   {"application/json", `[` + strings.Repeat(`{"id":1,"text":"some words in it"},`, 2000) + `{"secret":"` + canary + `"}]`},
	}
}

// unnamed are the kinds whose canary is in another member than the settings of this
// test name.
var unnamed = map[string]bool{"cursor": true, "deep": true, "xml": true, "disguised": true, "escaped key": true}

// filtered is a gateway whose toolset "acme" is guarded.
type filtered struct {
	*gatewaytest.Stack
	t      *testing.T
	up     *upstreamtest.Server
	relay  *guest.Package
	played *scrubber
	count  uint64
}

func newFiltered(t *testing.T) *filtered {
	t.Helper()
	code, err := os.ReadFile("../testdata/plugins/relay/relay.wasm")
	if err != nil {
		t.Fatal(err)
	}
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r, err := plugin.New(plugin.Options{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	played := &scrubber{real: r}
	f := &filtered{Stack: start(t, gatewaytest.Options{Plugins: played}), t: t, up: upstreamtest.New(t), relay: open(t, code), played: played}
	all := kinds()
	f.up.Handle("GET /a/{kind}/{status}", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		status, _ := strconv.Atoi(q.PathValue("status"))
		k := all[q.PathValue("kind")]
		w.Header()["Content-Type"] = []string{k[0]}
		w.Header().Set("Retry-After", canary)
		w.Header().Set("Link", `<https://api.example/x?cursor=`+canary+`>; rel="next"`)
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+canary+`"`)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(k[1]))
	}))
	return f
}

// serve makes the toolset live. script is what the workflow of the tests does.
func (f *filtered) serve(g *sentry, edit func(*registry.Toolset), script string) {
	f.t.Helper()
	op := gatewaytest.Operation("answer", "GET", "/a/{kind}/{status}",
		gatewaytest.Param("kind", operation.InPath, operation.TypeString, true), gatewaytest.Param("status", operation.InPath, operation.TypeInteger, true),
		gatewaytest.Param("cursor", operation.InQuery, operation.TypeString, false))
	op.Plan.Accept = "" // any
	c, err := gatewaytest.Connector("acme", f.up.URL, op)
	if err != nil {
		f.t.Fatal(err)
	}
	f.count++
	in := gatewaytest.Toolset("acme", f.count, c, func(ts *registry.Toolset) {
		edit(ts)
		ts.Cache = &registry.CachePolicy{TTLSeconds: 60}
	})
	if script != "" {
		ref := refTo(f.relay)
		if ref.Config, err = json.Marshal(map[string]string{"script": script}); err != nil {
			f.t.Fatal(err)
		}
		for _, name := range f.relay.Manifest.Capabilities.Tools {
			ref.Calls = append(ref.Calls, registry.CalledTool{Name: name, Connector: "api", Method: "GET", Path: "/a/{kind}/{status}"})
		}
		in.Bundle.Plugins, in.Plugins = []registry.PluginRef{ref}, []*guest.Package{f.relay}
	}
	g.bind(&in)
	if in.Programs, err = in.Bundle.CompilePrograms(); err != nil {
		f.t.Fatal(err)
	}
	if err := f.Serve(in); err != nil {
		f.t.Fatal(err)
	}
}

// read calls a tool, traced, and returns all that its client reads.
func (f *filtered) read(tool, args string) string {
	f.t.Helper()
	body := callBody(tool, args)
	if !strings.Contains(args, "long") { // whose tokens take long to count
		body = strings.Replace(body, `"arguments"`, `"_meta":{"dev.sluice/trace":true,"progressToken":1},"arguments"`, 1)
	}
	status, got := post(f.t, f.URL("acme"), body, "Accept", "application/json, text/event-stream")
	if status != http.StatusOK {
		f.t.Fatalf("%d %s", status, got)
	}
	return got
}

// TestFiltersSeeEveryByte is the matrix of what redacts, the kind of an answer, its
// status, its form, and the way it comes: from the API, from the cache, page by page,
// through a workflow.
func TestFiltersSeeEveryByte(t *testing.T) {
	f := newFiltered(t)
	all := kinds()
	cells := 0
	for _, g := range guards() {
		for form, edit := range forms {
			f.serve(&g, edit, "")
			check := func(way, kind string, status int, got string) {
				t.Helper()
				cells++
				if leaks(got) {
					t.Errorf("%s, %s, %s, %s %d: %s", g.name, form, way, kind, status, got)
				}
			}
			for kind := range all {
				if g.plugin == nil && unnamed[kind] {
					continue
				}
				long := strings.HasPrefix(kind, "long")
				if long != (form == "paged") {
					continue
				}
				statuses := []int{200, 404, 500}
				if kind == "json" {
					statuses = []int{200, 201, 302, 400, 401, 403, 404, 429, 500}
				}
				for _, status := range statuses {
					args := fmt.Sprintf(`{"kind":%q,"status":%d}`, kind, status)
					got := f.read("answer", args)
					check("live", kind, status, got)
					if status != 200 {
						continue
					}
					f.Caller.WaitCache()
					got = f.read("answer", args)
					check("cached", kind, status, got)
					for range 40 { // the last page has the canary
						m := handleIn(got)
						if m == "" {
							break
						}
						got = f.read("fetch_result", m)
						check("fetched", kind, status, got)
					}
				}
			}
		}
		var script []string
		for kind := range all {
			if g.plugin == nil && unnamed[kind] || kind == "long list" || kind == "long text" {
				continue
			}
			script = append(script, fmt.Sprintf(`{"tool":"item","arguments":{"kind":%q,"status":200}}`, kind), fmt.Sprintf(`{"tool":"text","arguments":{"kind":%q,"status":500}}`, kind))
		}
		for len(script) > 0 {
			n := min(len(script), 20)
			f.serve(&g, forms["lossless"], strings.Join(script[:n], "\n"))
			cells++
			if got := f.read("relay", `{}`); leaks(got) {
				t.Errorf("%s, workflow: %s", g.name, got)
			}
			script = script[n:]
		}
	}
	if f.played.runs.Load() < 1000 {
		t.Errorf("the filter ran %d times in %d cells", f.played.runs.Load(), cells)
	}
	t.Logf("%d cells", cells)
}

// handleIn is the arguments that fetch the rest of an answer; "" when there is none.
func handleIn(got string) string {
	_, rest, ok := strings.Cut(got, `fetch_result {\"handle\":\"`)
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, `}`)
	return `{"handle":"` + strings.ReplaceAll(rest, `\"`, `"`) + `}`
}

// results are results of an MCP server with a canary, by name: the members of a
// JSON-RPC answer.
func results() map[string]string {
	b64 := base64.StdEncoding.EncodeToString([]byte("\x00 " + canary))
	item := func(s string) string { return `"result":{"content":[` + s + `]}` }
	return map[string]string{
		"text":                   item(`{"type":"text","text":"it is ` + canary + `"}`),
		"hidden":                 item(`{"type":"text","text":"can\u200bary-7f3a9c"}`),
		"hidden json":            item(`{"type":"text","text":"{\"secret\":\"can\\u200bary-7f3a9c\"}"}`),
		"escaped json":           item(`{"type":"text","text":"{\"secret\":\"\\u0063anary-7f3a9c\"}"}`),
		"escaped twice":          item(`{"type":"text","text":"{\"secret\":\"\\u0063anar\u0079-7f3a9c\"}"}`),
		"escaped structured":     `"result":{"content":[],"structuredContent":{"secret":"\u0063anary-7f3a9c"}}`,
		"escaped meta":           `"result":{"content":[],"_meta":{"secret":"\u0063anary-7f3a9c"}}`,
		"escaped fault":          `"error":{"code":-32000,"message":"\u0063anary-7f3a9c","data":{"secret":"\u0063anary-7f3a9c"}}`,
		"hidden meta":            `"result":{"content":[],"_meta":{"secret":"can\u200bary-7f3a9c"}}`,
		"second text":            item(`{"type":"text","text":"a"},{"type":"text","text":"` + canary + `"}`),
		"json":                   item(`{"type":"text","text":"{\"secret\":\"` + canary + `\"}"}`),
		"twice text":             item(`{"type":"text","text":"` + canary + `","text":"b"}`),
		"annotated":              item(`{"type":"text","text":"a","annotations":{"secret":"` + canary + `"}}`),
		"item's meta":            item(`{"type":"text","text":"a","_meta":{"secret":"` + canary + `"}}`),
		"failed":                 `"result":{"isError":true,"content":[{"type":"text","text":"it is ` + canary + `"}]}`,
		"failed json":            `"result":{"isError":true,"content":[{"type":"text","text":"{\"secret\":\"` + canary + `\"}"}]}`,
		"failed structured":      `"result":{"isError":true,"content":[],"structuredContent":{"secret":"` + canary + `"}}`,
		"structured":             `"result":{"content":[{"type":"text","text":"a"}],"structuredContent":{"secret":"` + canary + `"}}`,
		"structured and json":    `"result":{"content":[{"type":"text","text":"{\"secret\":\"` + canary + `\"}"}],"structuredContent":{"secret":"` + canary + `"}}`,
		"structured list":        `"result":{"content":[],"structuredContent":[{"secret":"` + canary + `"}]}`,
		"image":                  item(`{"type":"image","data":"` + b64 + `","mimeType":"image/png"}`),
		"audio":                  item(`{"type":"audio","data":"` + b64 + `","mimeType":"audio/wav"}`),
		"image's type":           item(`{"type":"image","data":"AA==","mimeType":"image/` + canary + `"}`),
		"image, not base64":      item(`{"type":"image","data":"` + canary + `","mimeType":"image/png"}`),
		"resource text":          item(`{"type":"resource","resource":{"uri":"x://y","mimeType":"text/plain","text":"` + canary + `"}}`),
		"resource blob":          item(`{"type":"resource","resource":{"uri":"x://y","mimeType":"application/pdf","blob":"` + b64 + `"}}`),
		"resource's uri":         item(`{"type":"resource","resource":{"uri":"x://` + canary + `","text":"a"}}`),
		"resource's type":        item(`{"type":"resource","resource":{"uri":"x://y","mimeType":"text/` + canary + `","text":"a"}}`),
		"resource's meta":        item(`{"type":"resource","resource":{"uri":"x://y","text":"a","_meta":{"secret":"` + canary + `"}},"annotations":{"secret":"` + canary + `"}}`),
		"link":                   item(`{"type":"resource_link","uri":"x://` + canary + `","name":"z","description":"` + canary + `"}`),
		"unknown":                item(`{"type":"new","secret":"` + canary + `"}`),
		"unknown type":           item(`{"type":"` + canary + `"}`),
		"no item":                item(`"` + canary + `"`),
		"member":                 `"result":{"content":[],"secret":"` + canary + `"}`,
		"member's name":          `"result":{"content":[],"` + canary + `":1}`,
		"no list":                `"result":{"content":{"secret":"` + canary + `"}}`,
		"two lists":              `"result":{"content":[{"type":"text","text":"` + canary + `"}],"content":[]}`,
		"isError is not bool":    `"result":{"content":[],"isError":"` + canary + `"}`,
		"meta":                   `"result":{"content":[],"_meta":{"secret":"` + canary + `"}}`,
		"kind":                   `"result":{"resultType":"` + canary + `","content":[]}`,
		"fault":                  `"error":{"code":-32000,"message":"it is ` + canary + `"}`,
		"long fault":             `"error":{"code":-32000,"message":"` + strings.Repeat("x", 1995) + canary + `"}`,
		"fault's data":           `"error":{"code":-32021,"message":"a","data":{"secret":"` + canary + `"}}`,
		"plain fault's data":     `"error":{"code":-32000,"message":"a","data":{"secret":"` + canary + `"}}`,
		"address to open":        `"error":{"code":-32042,"message":"a","data":{"elicitations":[{"mode":"url","url":"https://` + canary + `"}]}}`,
		"capability":             `"error":{"code":-32021,"message":"` + canary + `"}`,
		"question":               `"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"` + canary + `"}}},"requestState":"s"}`,
		"question's state":       `"result":{"resultType":"input_required","inputRequests":{},"requestState":"` + canary + `"}`,
		"question's meta":        `"result":{"resultType":"input_required","inputRequests":{},"_meta":{"secret":"` + canary + `"}}`,
		"neither":                `"secret":"` + canary + `"`,
		"progress":               "progress",
		"status with JSON":       "500 application/json",
		"status with text":       "500 text/plain",
		"forbidden":              "403 text/plain",
		"too many":               "429 text/plain",
		"web page":               "200 text/html",
		"event stream with text": "200 text/event-stream",
	}
}

// canaryServer is an MCP server that answers any call with what the tool is called by.
type canaryServer struct {
	modern bool
	all    map[string]string
	http   *httptest.Server
}

func newCanaryServer(t *testing.T, modern bool) *canaryServer {
	t.Helper()
	u := &canaryServer{modern: modern, all: results()}
	u.http = httptest.NewServer(u)
	t.Cleanup(u.http.Close)
	return u
}

func (u *canaryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Arguments struct{ Kind string }
			Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	say := func(members string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, members)
	}
	switch answer := u.all[m.Params.Arguments.Kind]; {
	case m.Method == "server/discover" && u.modern:
		say(`"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	case m.Method == "initialize" && !u.modern:
		w.Header().Set("Mcp-Session-Id", "s")
		say(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
	case m.Method == "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/call" && answer == "progress":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1,\"total\":2,\"message\":%q}}\n\n", m.Params.Meta.ProgressToken, canary)
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"data\":%q}}\n\n", canary)
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
	case m.Method == "tools/call" && answer != "" && answer[0] != '"':
		status, media, _ := strings.Cut(answer, " ")
		n, _ := strconv.Atoi(status)
		w.Header().Set("Content-Type", media)
		w.Header().Set("Retry-After", canary)
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+canary+`"`)
		w.WriteHeader(n)
		fmt.Fprintf(w, "data: {\"message\":%q}\n\n", canary)
	case m.Method == "tools/call":
		say(answer)
	default:
		w.WriteHeader(http.StatusNotFound)
		say(`"error":{"code":-32601,"message":"method not found"}`)
	}
}

// TestFiltersSeeEveryByteOfServers is the matrix for MCP servers, of both eras, asked
// by clients of both.
func TestFiltersSeeEveryByteOfServers(t *testing.T) {
	f := newFiltered(t)
	cells := 0
	for _, modern := range []bool{true, false} {
		u := newCanaryServer(t, modern)
		c, err := gatewaytest.MCPConnector("up", u.http.URL+"/mcp", `{"name":"do.it","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range guards() {
			for form, edit := range forms {
				f.count++
				in := gatewaytest.Toolset("acme", f.count, c, edit)
				g.bind(&in)
				if in.Programs, err = in.Bundle.CompilePrograms(); err != nil {
					t.Fatal(err)
				}
				if err := f.Serve(in); err != nil {
					t.Fatal(err)
				}
				for kind := range u.all {
					for _, legacy := range []bool{false, true} {
						args := fmt.Sprintf(`"arguments":{"kind":%q}`, kind)
						_, got := callRaw(t, f.Stack, legacy, "do_it", args, "Accept", "application/json, text/event-stream", "Test-Meta", `"progressToken":1,"io.modelcontextprotocol/logLevel":"debug","dev.sluice/trace":true`)
						if cells++; leaks(got) {
							t.Errorf("%s, %s, server modern %v, client modern %v, %s: %s", g.name, form, modern, !legacy, kind, got)
						}
					}
				}
			}
		}
	}
	t.Logf("%d cells", cells)
}

// TestFiltersLetTheRestThrough: what a filter reads arrives without the canary and
// otherwise whole; what it does not read is withheld with an error that says why.
func TestFiltersLetTheRestThrough(t *testing.T) {
	f := newFiltered(t)
	for _, c := range []struct {
		guard, kind string
		status      int
		want        string
	}{
		{"reads all", "json", 200, `\"id\":1`},
		{"reads all", "text", 200, `it is ***\n`},
		{"reads all", "html", 200, `The page says: ***`},
		{"reads all", "xml", 200, `\"secret\":\"***\"`},
		{"reads all", "png", 200, `"data":"` + base64.StdEncoding.EncodeToString([]byte("\x89PNG ***")) + `","mimeType":"image/png"`},
		{"reads all", "pdf", 200, `"blob":"` + base64.StdEncoding.EncodeToString([]byte("%PDF\xff***"))},
		{"reads all", "own type", 200, `2 bytes of application/octet-stream`},
		{"reads all", "json", 404, `HTTP 404 Not Found: {\"secret\":\"***\"`},
		{"reads all", "text", 500, `HTTP 500 Internal Server Error: it is ***`},
		{"reads all", "html", 500, `HTTP 500 Internal Server Error: ***`},
		{"reads all", "bad json", 200, `It begins: {\"secret\":\"***`},
		{"reads JSON", "json", 404, `HTTP 404 Not Found: {\"secret\":\"***\"`},
		{"reads JSON", "xml", 404, `{\"secret\":\"***\"}`},
		{"reads JSON", "ndjson", 200, `[{\"secret\":\"***\"},{\"id\":2}]`},
		{"reads JSON", "text", 500, `HTTP 500 Internal Server Error: [withheld: the operator's filters could not be applied to it]`},
		{"reads JSON", "text", 200, `the answer is withheld: the plugin scrub redacts, and does not read text/plain`},
		{"reads JSON", "png", 200, `the answer is withheld: the plugin scrub redacts, and does not read image/png`},
		{"reads text", "csv", 200, `a,b\n1,***\n`},
		{"reads text", "yaml", 200, `a: ***`},
		{"reads text", "pdf", 200, `does not read application/pdf`},
		{"crashes", "json", 200, `the answer is withheld: the plugin crash could not run on it`},
		{"crashes", "text", 404, `HTTP 404 Not Found: [withheld`},
		{"settings", "json", 200, `\"id\":1`},
		{"settings", "json", 404, `HTTP 404 Not Found: [withheld`},
		{"settings", "bad json", 200, `the answer is withheld`},
	} {
		for _, g := range guards() {
			if g.name != c.guard {
				continue
			}
			f.serve(&g, forms["concise"], "")
			if got := f.read("answer", fmt.Sprintf(`{"kind":%q,"status":%d}`, c.kind, c.status)); !strings.Contains(got, c.want) {
				t.Errorf("%s, %s %d: %s\nwant %s", c.guard, c.kind, c.status, got, c.want)
			}
		}
	}
}

// TestFilterPasses: an operator may let go on what a filter could not run on; then it
// still runs on all that it reads.
func TestFilterPasses(t *testing.T) {
	f := newFiltered(t)
	g := sentry{plugin: fake("crash", "*/*"), onError: registry.OnErrorPass}
	f.serve(&g, forms["concise"], "")
	for kind, want := range map[string]string{"json": canary, "text": "it is " + canary} {
		if got := f.read("answer", `{"kind":"`+kind+`","status":200}`); !strings.Contains(got, want) {
			t.Errorf("%s: %s", kind, got)
		}
	}
	g = sentry{plugin: fake("scrub", "application/json", "text/*"), onError: registry.OnErrorPass}
	f.serve(&g, forms["concise"], "")
	for _, kind := range []string{"json", "text", "html"} {
		for _, status := range []int{200, 500} {
			if got := f.read("answer", fmt.Sprintf(`{"kind":%q,"status":%d}`, kind, status)); leaks(got) || !strings.Contains(got, "***") {
				t.Errorf("%s %d: %s", kind, status, got)
			}
		}
	}
	if got := f.read("answer", `{"kind":"png","status":200}`); !leaks(got) {
		t.Errorf("png: %s", got)
	}
}
