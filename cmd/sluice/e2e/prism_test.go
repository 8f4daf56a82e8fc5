package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/plugins/projection"
)

// githubOperations is how many operations the locked version of GitHub's
// specification has.
const githubOperations = 1223

// operation is one call made twice: as a tool, and as the request that GitHub's
// documentation describes.
type operation struct {
	method, path string
	args         map[string]any // path, query and header parameters
	body         map[string]any
}

var operations = []operation{
	{"GET", "/repos/{owner}/{repo}/issues", map[string]any{"owner": "octocat", "repo": "hello", "state": "open", "labels": "bug,ui & ux", "since": "2026-01-02T03:04:05Z", "per_page": 3}, nil},
	{"GET", "/repos/{owner}/{repo}/issues/{issue_number}", map[string]any{"owner": "octocat", "repo": "hello", "issue_number": 1347}, nil},
	{"GET", "/search/repositories", map[string]any{"q": "language:go stars:>10 \"a+b\"", "sort": "stars", "order": "desc", "page": 2}, nil},
	{"GET", "/users/{username}", map[string]any{"username": "octocat"}, nil},
	{"GET", "/repos/{owner}/{repo}/commits", map[string]any{"owner": "octocat", "repo": "hello", "path": "docs/ä b.md", "since": "2026-01-02T03:04:05Z"}, nil},
	{"GET", "/gists/public", map[string]any{"since": "2026-01-02T03:04:05Z"}, nil},
	{"GET", "/rate_limit", nil, nil},
	{"POST", "/repos/{owner}/{repo}/issues", map[string]any{"owner": "octocat", "repo": "hello"}, map[string]any{"title": "Crash \"on\" start\n\u2028é😀", "body": "Steps", "labels": []any{"bug"}}},
	{"POST", "/repos/{owner}/{repo}/labels", map[string]any{"owner": "octocat", "repo": "hello"}, map[string]any{"name": "bug", "color": "f29513", "description": "It is broken"}},
	{"POST", "/gists", nil, map[string]any{"description": "d", "public": false, "files": map[string]any{"a.go": map[string]any{"content": "package a\n"}}}},
	{"POST", "/repos/{owner}/{repo}/git/refs", map[string]any{"owner": "octocat", "repo": "hello"}, map[string]any{"ref": "refs/heads/x", "sha": "aa218f56b14c9653891f9e74264a383fa43fefbd"}},
	{"POST", "/repos/{owner}/{repo}/issues/{issue_number}/comments", map[string]any{"owner": "octocat", "repo": "hello", "issue_number": 7}, map[string]any{"body": "Me too"}},
	{"PATCH", "/repos/{owner}/{repo}/issues/{issue_number}", map[string]any{"owner": "octocat", "repo": "hello", "issue_number": 7}, map[string]any{"state": "closed", "state_reason": "completed"}},
	{"PATCH", "/repos/{owner}/{repo}/labels/{name}", map[string]any{"owner": "octocat", "repo": "hello", "name": "good first/issue ü"}, map[string]any{"new_name": "bug", "color": "b01f26"}},
	{"PATCH", "/user", nil, map[string]any{"name": "omar", "hireable": true}},
	{"PUT", "/repos/{owner}/{repo}/pulls/{pull_number}/merge", map[string]any{"owner": "octocat", "repo": "hello", "pull_number": 3}, map[string]any{"merge_method": "squash"}},
	{"PUT", "/user/starred/{owner}/{repo}", map[string]any{"owner": "octocat", "repo": "hello"}, nil},
	{"PUT", "/repos/{owner}/{repo}/topics", map[string]any{"owner": "octocat", "repo": "hello"}, map[string]any{"names": []any{"mcp", "wasm"}}},
	{"PUT", "/repos/{owner}/{repo}/contents/{path}", map[string]any{"owner": "octocat", "repo": "hello", "path": "notes.txt"}, map[string]any{"message": "add", "content": "aGVsbG8="}},
	{"DELETE", "/repos/{owner}/{repo}/labels/{name}", map[string]any{"owner": "octocat", "repo": "hello", "name": "a?b#c%d"}, nil},
	{"DELETE", "/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}", map[string]any{"owner": "octocat", "repo": "hello", "issue_number": 7, "name": "bug"}, nil},
	{"DELETE", "/repos/{owner}/{repo}/contents/{path}", map[string]any{"owner": "octocat", "repo": "hello", "path": "notes.txt"}, map[string]any{"message": "remove", "sha": "95b966ae1c166bd92f8ae7d1c313e738c731dfc3"}},
}

// exchange is what passed between a client and Prism.
type exchange struct {
	Method, Path string // as they were on the wire, percent-encoded
	Query        url.Values
	ContentType  string
	Body         any

	status int
	answer []byte
}

// recorder is a proxy in front of Prism that keeps what passes.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	last *exchange
	n    int
}

func newRecorder(t *testing.T, upstream string) *recorder {
	t.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(res *http.Response) error {
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		res.Body = io.NopCloser(bytes.NewReader(body))
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last.status, r.last.answer = res.StatusCode, body
		return nil
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		e := &exchange{Method: q.Method, Path: q.URL.EscapedPath(), Query: q.URL.Query(), ContentType: q.Header.Get("Content-Type")}
		if len(body) > 0 {
			if err := json.Unmarshal(body, &e.Body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		r.mu.Lock()
		r.last = e
		r.n++
		r.mu.Unlock()
		q.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

// take returns the only exchange since the last call.
func (r *recorder) take(t *testing.T, who string) *exchange {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n != 1 {
		t.Fatalf("%s sent %d requests, want 1", who, r.n)
	}
	e := r.last
	r.last, r.n = nil, 0
	return e
}

// TestGitHubOnPrism gives sluice the whole of GitHub's specification and calls
// operations of every method. Prism, which knows the specification by itself,
// must find no fault in any request; each request must be the one that a client
// written by hand sends; and the answer must be what that client gets, less what
// the default projection leaves out.
func TestGitHubOnPrism(t *testing.T) {
	node, cli := npm(t, "@stoplight/prism-cli/dist/index.js")
	_, spec := npm(t, "@octokit/openapi/generated/api.github.com.json")

	addr := freePort(t)
	host, port, _ := strings.Cut(addr, ":")
	prism := start(t, func() bool { return answers("http://" + addr + "/rate_limit") },
		node, cli, "mock", "--errors", "--multiprocess=false", "--host", host, "--port", port, spec)
	rec := newRecorder(t, "http://"+addr)

	// Prism's own eyes are open: it refuses a value that the specification refuses.
	if res, err := http.Get("http://" + addr + "/repos/a/b/issues?per_page=many"); err != nil {
		t.Fatal(err)
	} else if res.Body.Close(); res.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("Prism answers %s to a request that breaks the specification", res.Status)
	}
	const complaint = "Violation:"
	control := 0
	for end := time.Now().Add(10 * time.Second); control == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		control = strings.Count(prism.out.String(), complaint) // it is written by another process
	}
	if control == 0 {
		t.Fatalf("Prism wrote no %q for a request that breaks the specification:\n%s", complaint, last(prism.out.String(), 2000))
	}

	n := startSluice(t)
	n.cli(t, "add", spec, "--name", "github", "--base-url", rec.URL)
	names := toolNames(t, n, "github")
	if len(names) < githubOperations*9/10 {
		t.Errorf("%d of %d operations are tools, want 90 %%", len(names), githubOperations)
	}
	t.Logf("%d of %d operations are tools", len(names), githubOperations)

	session := connect(t, "http://"+n.gateway+"/t/github", eras[1])
	listed := map[string]*mcp.Tool{}
	for _, tool := range tools(t.Context(), t, session) {
		if tool.Name != "fetch_result" { // ours, not the API's
			listed[tool.Name] = tool
		}
	}
	if len(listed) != len(names) {
		t.Errorf("tools/list has %d tools, the admin API %d", len(listed), len(names))
	}
	doc := readSpec(t, spec)
	// Deploying may have tried a tool.
	rec.mu.Lock()
	rec.last, rec.n = nil, 0
	rec.mu.Unlock()

	methods := map[string]bool{}
	for _, op := range operations {
		t.Run(op.method+op.path, func(t *testing.T) {
			name := names[op.method+" "+op.path]
			tool := listed[name]
			if tool == nil {
				t.Fatalf("no tool for the operation (name %q)", name)
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: op.arguments(t, tool)})
			if err != nil {
				t.Fatalf("tools/call %s: %v", name, err)
			}
			got := text(res)
			if res.IsError {
				t.Fatalf("%s: %s", name, got)
			}
			sent := rec.take(t, "sluice")

			op.direct(t, rec.URL)
			want := rec.take(t, "the direct call")
			if sent.Method != want.Method || sent.Path != want.Path || !reflect.DeepEqual(sent.Query, want.Query) || sent.ContentType != want.ContentType || !reflect.DeepEqual(sent.Body, want.Body) {
				t.Errorf("sluice sent %s, want %s", show(sent), show(want))
			}
			if sent.status != want.status {
				t.Errorf("status %d, want %d", sent.status, want.status)
			}
			if len(want.answer) == 0 {
				return
			}
			if err := projected(decode(t, answer(t, res)), decode(t, want.answer), doc.response(t, op.method, op.path, want.status)); err != nil {
				t.Errorf("%s: %v\n got %s\nwant %s", name, err, last(got, 4000), last(string(want.answer), 4000))
			}
		})
		methods[op.method] = true
	}
	for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if !methods[m] {
			t.Errorf("no operation uses %s", m)
		}
	}
	if log := prism.out.String(); strings.Count(log, complaint) != control {
		for line := range strings.Lines(log) {
			if strings.Contains(line, complaint) {
				t.Errorf("Prism: %s", strings.TrimSpace(line))
			}
		}
	}
}

// arguments returns what a model would send: the members of the body stand beside
// the parameters where the input schema lifts them, else in "body".
func (o operation) arguments(t *testing.T, tool *mcp.Tool) map[string]any {
	t.Helper()
	schema, _ := tool.InputSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	args := map[string]any{}
	maps.Copy(args, o.args)
	lifted := true
	for k := range o.body {
		_, ok := properties[k]
		lifted = lifted && ok
	}
	if lifted {
		maps.Copy(args, o.body)
	} else if o.body != nil {
		args["body"] = o.body
	}
	for k := range args {
		if _, ok := properties[k]; !ok {
			t.Errorf("the input schema has no property %q", k)
		}
	}
	return args
}

// direct sends the request that the documentation describes.
func (o operation) direct(t *testing.T, base string) {
	t.Helper()
	path, query := o.path, url.Values{}
	for k, v := range o.args {
		if hole := "{" + k + "}"; strings.Contains(path, hole) {
			path = strings.ReplaceAll(path, hole, url.PathEscape(fmt.Sprint(v)))
		} else {
			query.Set(k, fmt.Sprint(v))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var body io.Reader = http.NoBody
	if o.body != nil {
		b, err := json.Marshal(o.body)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(t.Context(), o.method, base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if o.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
}

func show(e *exchange) string {
	b, _ := json.Marshal(e)
	return string(b)
}

func decode(t *testing.T, b []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // 1.0 and 1 differ, and large integers stay whole
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, last(string(b), 2000))
	}
	return v
}

// toolNames maps "METHOD /path" to the name of its tool.
func toolNames(t *testing.T, n *node, slug string) map[string]string {
	t.Helper()
	var ts struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(n.cli(t, "toolset", "get", slug, "-o", "json")), &ts); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for cursor := ""; ; {
		var page struct {
			Items []struct {
				Name      string `json:"name"`
				Enabled   bool   `json:"enabled"`
				Operation struct {
					Method string `json:"method"`
					Path   string `json:"path"`
				} `json:"operation"`
			} `json:"items"`
			NextCursor string `json:"nextCursor"`
		}
		n.api(t, "/v1/toolsets/"+ts.ID+"/tools?limit=200&cursor="+url.QueryEscape(cursor), &page)
		for _, tool := range page.Items {
			if tool.Enabled {
				names[strings.ToUpper(tool.Operation.Method)+" "+tool.Operation.Path] = tool.Name
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return names
		}
	}
}

// document is a specification as plain JSON, read here without any code of ours,
// so that the test has an opinion of its own about what a schema declares.
type document map[string]any

func readSpec(t *testing.T, name string) document {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// response returns the schemas of the JSON answer with that status.
func (d document) response(t *testing.T, method, path string, status int) schemas {
	t.Helper()
	op, _ := d.at(d, "paths", path, strings.ToLower(method)).(map[string]any)
	if op == nil {
		t.Fatalf("the specification has no %s %s", method, path)
	}
	schema := d.at(op, "responses", fmt.Sprint(status), "content", "application/json", "schema")
	return schemas{d, nil}.with(schema)
}

// at follows members from v, resolving references on the way.
func (d document) at(v any, keys ...string) any {
	if m, ok := v.(document); ok {
		v = map[string]any(m)
	}
	for _, k := range keys {
		m, _ := d.resolve(v).(map[string]any)
		v = m[k]
	}
	return d.resolve(v)
}

func (d document) resolve(v any) any {
	for {
		m, _ := v.(map[string]any)
		ref, ok := m["$ref"].(string)
		if !ok {
			return v
		}
		v = map[string]any(d)
		for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			m, _ := v.(map[string]any)
			v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
		}
	}
}

// schemas are all that may describe one value: a schema and the branches of its
// combinations.
type schemas struct {
	doc  document
	alts []map[string]any
}

// with returns s with schema and, below it, every branch of allOf, anyOf and oneOf.
func (s schemas) with(schema any) schemas {
	m, ok := s.doc.resolve(schema).(map[string]any)
	if !ok {
		return s
	}
	s.alts = append(slices.Clip(s.alts), m)
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := m[k].([]any)
		for _, b := range branches {
			s = s.with(b)
		}
	}
	return s
}

// property returns the schemas of a member; ok is false when none declares it.
func (s schemas) property(name string) (sub schemas, ok bool) {
	sub.doc = s.doc
	for _, m := range s.alts {
		properties, _ := s.doc.at(m, "properties").(map[string]any)
		if p, has := properties[name]; has {
			sub, ok = sub.with(p), true
		}
	}
	return sub, ok
}

// open reports whether an object may have members that no schema declares by name.
func (s schemas) open() bool {
	declares := false
	for _, m := range s.alts {
		if a, has := m["additionalProperties"]; has && a != false {
			return true
		}
		_, has := m["properties"]
		declares = declares || has
	}
	return !declares
}

func (s schemas) items() schemas {
	sub := schemas{doc: s.doc}
	for _, m := range s.alts {
		sub = sub.with(m["items"])
	}
	return sub
}

// projected reports how got is not the default projection of want: everything
// whose name says that people ask for it is there, literally, except what is null
// or empty and addresses; null is never there.
func projected(got, want any, s schemas) error {
	switch want := want.(type) {
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return fmt.Errorf("an array of %d became %T of %d", len(want), got, len(g))
		}
		for i := range want {
			if err := projected(g[i], want[i], s.items()); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("an object became %T", got)
		}
		for k := range g {
			if _, ok := want[k]; !ok {
				return fmt.Errorf("member %q was invented", k)
			}
		}
		for k, w := range want {
			sub, declared := s.property(k)
			v, kept := g[k]
			switch {
			case kept && w == nil:
				return fmt.Errorf("member %q is null and was kept", k)
			case kept:
				if err := projected(v, w, sub); err != nil {
					return fmt.Errorf("%s: %w", k, err)
				}
			case !projection.Essential(k) || k == "node_id" || !declared && !s.open() || address(w, sub) || hollow(w):
			default:
				return fmt.Errorf("member %q is missing", k)
			}
		}
		return nil
	default:
		if got != want {
			return fmt.Errorf("%v became %v", want, got)
		}
		return nil
	}
}

// hollow reports whether nothing is left of a value when what is null, empty or an
// address is left out, or may be left: an object or a list.
func hollow(v any) bool {
	switch v := v.(type) {
	case nil, map[string]any, []any:
		return true
	case string:
		return v == ""
	}
	return false
}

// address reports whether the value is an address by its schema or by its look.
func address(v any, s schemas) bool {
	text, ok := v.(string)
	if !ok {
		return false
	}
	for _, m := range s.alts {
		if f := m["format"]; f == "uri" || f == "url" || f == "uri-template" {
			return true
		}
	}
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}
