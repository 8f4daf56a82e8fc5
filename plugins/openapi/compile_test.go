package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
)

func compileAll(t testing.TB, src Source, opts Options) (*Result, []*operation.Operation) {
	t.Helper()
	var ops []*operation.Operation
	opts.Each = func(op *operation.Operation) error {
		ops = append(ops, op)
		return nil
	}
	res, err := Compile(t.Context(), src, opts)
	if err != nil {
		t.Fatal(err)
	}
	return res, ops
}

func hasWarning(res *Result, code string) bool {
	for _, w := range res.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

// TestFirstSentence: a description ends with a sentence; a first one of up to 300
// bytes is kept whole, a longer one is cut.
func TestFirstSentence(t *testing.T) {
	f := func(size, want int) {
		t.Helper()
		text := strings.Repeat("abcd ", size)[:size-2] + "x. More."
		_, ops := compileAll(t, Source{Name: "s", Data: fmt.Appendf(nil, `{"openapi":"3.0.3","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{
			"parameters":[{"name":"q","in":"query","description":%q,"schema":{"type":"string"}}],"responses":{"204":{"description":"-"}}}}}}`, text)}, Options{})
		var s struct {
			Properties struct{ Q struct{ Description string } }
		}
		if err := json.Unmarshal(ops[0].InputSchema, &s); err != nil {
			t.Fatal(err)
		}
		if got := s.Properties.Q.Description; len(got) != want {
			t.Errorf("a sentence of %d bytes: %d bytes are kept, want %d: %s", size, len(got), want, got)
		}
	}
	f(190, 196) // whole, and the next
	f(maxPropertySentence, maxPropertySentence)
	f(maxPropertySentence+1, 197) // cut after a word
}

// TestNamesAreStable compiles any selection of operations in any order, and sees
// no name change. Only when two want the same name does the order count: the
// first one keeps it.
func TestNamesAreStable(t *testing.T) {
	type op struct{ method, path, id string }
	all := []op{
		{"get", "/a", "issues/list"},
		{"get", "/b", "issues/list-for-repo"},
		{"get", "/c", "repos/list-commits"},
		{"post", "/c2", ""},
		{"get", "/d/{id}", ""},
		{"get", "/e", "aVeryLongOperationIdentifierThatIsMuchLongerThanWhatClientsTake"},
		{"get", "/f", "aVeryLongOperationIdentifierThatIsMuchLongerThanWhatClientsSee"},
		{"put", "/g", "123"},
		{"put", "/h", "списокЗадач"},
		{"delete", "/i", "__proto__"},
		{"get", "/j", "UsersController_findAll"},
	}
	r := rand.New(rand.NewPCG(1, 2))
	names := map[string]string{}
	for range 50 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		n := 1 + r.IntN(len(all))
		var paths []string
		for _, o := range all[:n] {
			id := ""
			if o.id != "" {
				id = fmt.Sprintf(`"operationId":%q`, o.id)
			}
			paths = append(paths, fmt.Sprintf(`%q:{%q:{%s}}`, o.path, o.method, id))
		}
		doc := `{"openapi":"3.0.3","paths":{` + strings.Join(paths, ",") + `}}`
		_, ops := compileAll(t, Source{Name: "x", Data: []byte(doc)}, Options{})
		for _, o := range ops {
			key := o.Method + " " + o.Path
			if was, ok := names[key]; ok && was != o.Name {
				t.Fatalf("%s was %s, is %s", key, was, o.Name)
			}
			names[key] = o.Name
		}
	}
	if len(names) != len(all) {
		t.Errorf("%d names: %v", len(names), names)
	}
	var n namer
	for _, want := range []string{"list_repo_issues", "repos_list_issues", "list_issues_for_repo"} {
		id := map[string]string{"list_repo_issues": "issues/list-for-repo", "repos_list_issues": "repos/list-issues", "list_issues_for_repo": "ListIssuesForRepo"}[want]
		if got := n.name(id, "GET", "/x/"+id, nil); got != want {
			t.Errorf("%s is named %s, want %s", id, got, want)
		}
	}
	first, second := n.name("same", "GET", "/1", nil), n.name("Same", "GET", "/2", nil)
	if first != "same" || second != "list_2" && second == first || len(second) > maxToolName {
		t.Errorf("the same id twice: %s, %s", first, second)
	}
}

func TestNames(t *testing.T) {
	f := func(id, method, path, tag, want string) {
		t.Helper()
		var n namer
		if got := n.name(id, method, path, []string{tag}); got != want {
			t.Errorf("name(%q, %s %s) = %q, want %q", id, method, path, got, want)
		}
	}
	f("issues/list-for-repo", "GET", "/repos/{owner}/{repo}/issues", "issues", "list_repo_issues")
	f("issues/list", "GET", "/issues", "issues", "list_issues")
	f("issues/get", "GET", "/issues/{n}", "issues", "get_issue")
	f("issues/create-comment", "POST", "/x", "issues", "create_issue_comment")
	f("repos/create-or-update-file-contents", "PUT", "/x", "repos", "upsert_repo_file_contents")
	f("users/get-by-username", "GET", "/x", "users", "get_user_by_username")
	f("gists/list-public", "GET", "/x", "gists", "list_gist_public")
	f("orgs/list-for-authenticated-user", "GET", "/x", "orgs", "list_authenticated_user_orgs")
	f("listPets", "GET", "/pets", "pets", "list_pets")
	f("getHTTPResponseCode", "GET", "/x", "", "get_http_response_code")
	f("listUserIDs", "GET", "/x", "", "list_user_ids")
	f("chat_postMessage", "POST", "/chat.postMessage", "chat", "post_chat_message")
	f("drive.files.list", "GET", "/files", "", "list_drive_files")
	f("UsersController_findAll", "GET", "/users", "users", "find_all_users")
	f("read_items_items__item_id__get", "GET", "/items/{item_id}", "", "read_items")
	f("pets_list", "GET", "/pets", "pets", "list_pets")
	f("get_a_classroom", "GET", "/x", "", "get_classroom")
	f("", "GET", "/v1/users", "", "list_users")
	f("", "GET", "/v1/users/{id}", "", "get_user_by_id")
	f("", "POST", "/v1/users", "", "create_user")
	f("", "DELETE", "/users/{user-id}/keys/{key_id}", "", "delete_user_key_by_key_id")
	f("", "POST", "/builds/{id}/cancel", "", "cancel_build")
	f("", "GET", "/", "", "get")
	f("/", "GET", "/", "", "get")
	f("2fa", "GET", "/", "", "op_2fa")
	f("get", "GET", "/a/{id}", "", "get_a")
	f("getA", "GET", "/a/{id}", "a", "get_a")
	f("getAById", "GET", "/a/{id}", "", "get_a_by_id")
	f("getById", "GET", "/pets/{id}", "pets", "get_pet_by_id")
	f("findAll", "GET", "/v2/pets", "", "find_all_pets")
	f("index", "GET", "/pets", "", "list_pets")
	f("create", "POST", "/users/{id}/posts", "", "create_post")
	f("search", "GET", "/pets/search", "", "search_pets")
	f("get-/crm/v3/contacts_getPage", "GET", "/crm/v3/contacts", "Basic", "list_contacts")
	f("get-/crm/v3/contacts/{id}_getById", "GET", "/crm/v3/contacts/{id}", "Basic", "get_contact_by_id")
	f("post-/crm/v3/contacts/search_doSearch", "POST", "/crm/v3/contacts/search", "Search", "search_contacts")
	f("post-/crm/v3/contacts/batch/archive_archive", "POST", "/crm/v3/contacts/batch/archive", "Batch", "archive_contact_batch")
	f("GET /crm/v3/contacts", "GET", "/crm/v3/contacts", "", "get_crm_v3_contacts")
	f("delete", "DELETE", "/{id}", "", "delete")
	f("récupérerUtilisateur", "GET", "/utilisateurs/{id}", "", "recuperer_utilisateur")
	f("", "POST", "/añadir", "", "create_anadir")
}

// TestBareVerbs has operations that say only what they do: the second one of a
// name says more of its path.
func TestBareVerbs(t *testing.T) {
	var n namer
	first, second := n.name("list", "GET", "/users/{id}/keys", nil), n.name("List", "GET", "/repos/{id}/keys", nil)
	if first != "list_keys" || second != "list_repo_keys" {
		t.Errorf("%s, %s", first, second)
	}
}

func TestSlug(t *testing.T) {
	f := func(title, want string) {
		t.Helper()
		if got := slug(title); got != want {
			t.Errorf("slug(%q) = %q, want %q", title, got, want)
		}
	}
	f("GitHub's official OpenAPI spec + Octokit extension", "github")
	f("GitHub v3 REST API", "github-v3")
	f("DigitalOcean API", "digitalocean")
	f("Swagger Petstore - OpenAPI 3.0", "petstore")
	f("The Jira Cloud platform REST API", "jira-cloud-platform")
	f("YouTube Data API v3", "youtube-data-v3")
	f("Open Data", "open-data")
	f("API", "api")
	f("", "api")
	f("日本語", "api-m3od")
	f("Données publiques du Québec", "donnees-publiques-du-quebec")
	f("API für Straßen", "fur-strassen")
	f(strings.Repeat("x", 41), strings.Repeat("x", 40))
	f(strings.Repeat("abcdefg ", 6), "abcdefg")
	f("Very Long Enterprise Grade Customer Relationship Management", "very-long-enterprise-grade-customer")
}

func TestAPIName(t *testing.T) {
	f := func(title, server, want string) {
		t.Helper()
		if got := apiName(title, []operation.Server{{URL: server}}); got != want {
			t.Errorf("apiName(%q, %q) = %q, want %q", title, server, got, want)
		}
	}
	f("API Reference", "https://{region}.sentry.io", "sentry")
	f("Sentry API", "https://other.example", "sentry")
	f("REST API", "https://api.ons.gov.uk/v1", "ons")
	f("", "https://sandbox.acme-pay.io:8443/", "acme-pay")
	f("API", "https://127.0.0.1:8080", "api")
	f("API", "http://localhost", "api")
	f("API", "https://api.io/v1", "api")
	f("API", "/v1", "api")
	f("API", "https://{host}/v1", "api")
	f("API", "https://{tenant}.co", "api")
	if got := apiName("The API", nil); got != "the-api" {
		t.Errorf("without a server the name is %q", got)
	}
}

func TestPlain(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
	f("Plain text.", "Plain text.")
	f("**Bold** and `code` and _kept_ and snake_case", "Bold and code and _kept_ and snake_case")
	f("See [the docs](https://example.test/a_(b)).", "See the docs).")
	f("Runs when the [`push` webhook](https://example.test) of [**two** `x` and `y`](https://example.test) occurs.", "Runs when the push webhook of two** x and y occurs.")
	f("<p>One</p><p>Two<br/>three</p>", "One Two three")
	f("a < b and c > d", "a < b and c > d")
	f("1 &lt; 2 &amp;&nbsp;so on", "1 < 2 & so on")
	f("# Heading\n\nText", "Text")
	f("# Only a heading", "Only a heading")
	f("Before\n```json\n{\"a\": 1}\n```\nafter", "Before after")
	f("* one\n* two", "one two")
	f("line\r\n\tbreak", "line break")
	f("hidden\u200b\u202e text\x07", "hidden text")
	f("![image](x.png) text", "text")
	f("<https://example.test>", "<https://example.test>")
	f("price 5 * 3 \\* 2", "price 5 3 * 2")
}

func FuzzPlain(f *testing.F) {
	f.Add("# a\n[b](c) <d> `e` &amp; ```\nf\n```")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		p := plain(s)
		if len(p) > len(s)+len("…") || strings.ContainsAny(p, "\n\r\t") || strings.ToValidUTF8(p, "?") != p {
			t.Fatalf("plain(%q) = %q", s, p)
		}
		for _, n := range []int{8, 40, 200} {
			if c := firstSentences(p, n); len(c) > n {
				t.Fatalf("firstSentences(%q, %d) = %q", p, n, c)
			}
		}
	})
}

// TestManyFiles resolves references between the files of an upload, and refuses
// to leave it.
func TestManyFiles(t *testing.T) {
	files := map[string][]byte{
		"api/main.yaml": []byte(`
openapi: 3.1.0
info: {title: t, version: "1"}
servers: [{url: https://api.example.test}]
paths:
  /a: {$ref: "paths/a.yaml"}
  /b:
    get:
      parameters: [{$ref: "../shared/params.json#/limit"}]
      responses: {"200": {description: ok, content: {application/json: {schema: {$ref: "../shared/schemas.yaml#/Thing"}}}}}
  /out: {get: {parameters: [{$ref: "../../etc/passwd"}, {$ref: "/etc/passwd"}, {$ref: "..%2f..%2fetc/passwd"}, {$ref: "file:///etc/passwd"}], responses: {"200": {description: ok}}}}
`),
		"api/paths/a.yaml":    []byte("post:\n  operationId: postA\n  requestBody: {content: {application/json: {schema: {$ref: '../../shared/schemas.yaml#/Thing'}}}}\n  responses: {'200': {description: ok}}\n"),
		"shared/params.json":  []byte(`{"limit":{"name":"limit","in":"query","schema":{"type":"integer"}}}`),
		"shared/schemas.yaml": []byte("Thing: {type: object, properties: {self: {$ref: '#/Thing'}, other: {$ref: 'bad.yaml'}}}\n"),
		"shared/bad.yaml":     []byte("a: [\n"),
	}
	src := Source{Name: "main.yaml", Data: files["api/main.yaml"], Path: "api/main.yaml", Files: files}
	res, ops := compileAll(t, src, Options{})
	if res.Tools != 3 || len(ops) != 3 {
		t.Fatalf("%d tools", res.Tools)
	}
	if got := string(ops[0].InputSchema); !strings.Contains(got, `"self"`) || ops[0].Name != "post_a" {
		t.Errorf("%s: %s", ops[0].Name, got)
	}
	if len(ops[1].Plan.Params) != 1 || ops[1].Response == nil {
		t.Errorf("%+v", ops[1].Plan)
	}
	if len(ops[2].Plan.Params) != 0 {
		t.Errorf("a reference left the upload: %+v", ops[2].Plan.Params)
	}
	bad := 0
	for _, w := range res.Warnings {
		if w.Code == codeRefExternal {
			bad++
			if w.Line == 0 || w.Remedy == "" {
				t.Errorf("%+v", w)
			}
		}
	}
	if bad != 5 {
		t.Errorf("%d references refused, want 5: %+v", bad, res.Warnings)
	}
}

// TestFetch follows references of a specification that came from a URL: same
// origin, bounded, and never without the fetcher.
func TestFetch(t *testing.T) {
	docs := map[string]string{
		"https://api.example.test/v1/p.json": `{"limit":{"name":"limit","in":"query","schema":{"$ref":"s.json#/n"}}}`,
		"https://api.example.test/v1/s.json": `{"n":{"type":"integer"}}`,
	}
	var asked []string
	fetch := func(_ context.Context, url string) ([]byte, error) {
		asked = append(asked, url)
		if d, ok := docs[url]; ok {
			return []byte(d), nil
		}
		return nil, errors.New("not found")
	}
	spec := `{"openapi":"3.0.3","paths":{"/a":{"get":{"parameters":[{"$ref":"p.json#/limit"},{"$ref":"p.json#/limit"},{"$ref":"gone.json"},
		{"$ref":"http://169.254.169.254/x"},{"$ref":"https://other.example.test/x"},{"$ref":"http://api.example.test/v1/x"},{"$ref":"file:///x"}]}}}}`
	src := Source{Name: "u", Data: []byte(spec), BaseURL: "https://api.example.test/v1/openapi.json"}
	res, ops := compileAll(t, src, Options{Fetch: fetch})
	if len(ops[0].Plan.Params) != 1 || ops[0].Plan.Params[0].Schema.Type != operation.TypeInteger || !hasWarning(res, codeRefExternal) {
		t.Errorf("%+v", ops[0].Plan)
	}
	if len(res.API.Servers) != 1 || res.API.Servers[0].URL != "https://api.example.test" {
		t.Errorf("servers %+v", res.API.Servers)
	}
	want := "https://api.example.test/v1/p.json https://api.example.test/v1/s.json https://api.example.test/v1/gone.json"
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("fetched %s, want %s", got, want)
	}
	if res, _ := compileAll(t, src, Options{}); !hasWarning(res, codeRefExternal) {
		t.Error("references were followed without a fetcher")
	}
}

func TestFetchLimits(t *testing.T) {
	fetches := 0
	fetch := func(_ context.Context, url string) ([]byte, error) {
		fetches++
		var n int
		if _, err := fmt.Sscanf(url, "https://a.example.test/%d.json", &n); err != nil {
			return nil, err
		}
		return fmt.Appendf(nil, `{"p":{"$ref":"%d.json#/p"}}`, n+1), nil
	}
	list := func(n int) []byte {
		return []byte(`{"openapi":"3.0.3","paths":{"/a":{"get":{"parameters":[` +
			repeat(n, ",", func(i int) string { return fmt.Sprintf(`{"$ref":"%d.json#/q"}`, i*100) }) + `]}}}}`)
	}
	base := "https://a.example.test/openapi.json"
	compileAll(t, Source{Name: "u", BaseURL: base, Data: list(7)}, Options{Fetch: fetch, Limits: Limits{MaxDocuments: 5}})
	if fetches != 5 {
		t.Errorf("%d documents fetched, want 5", fetches)
	}
	fetches = 0
	compileAll(t, Source{Name: "u", BaseURL: base, Data: bytes.ReplaceAll(list(1), []byte("#/q"), []byte("#/p"))}, Options{Fetch: fetch})
	if fetches != maxDocumentDepth {
		t.Errorf("a chain of %d documents was fetched, want %d", fetches, maxDocumentDepth)
	}
}

// TestConcurrent compiles the same fixtures in parallel; run with -race.
func TestConcurrent(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no fixtures")
	}
	var wg sync.WaitGroup
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			wg.Go(func() {
				if _, err := Compile(t.Context(), Source{Name: f, Data: data}, Options{}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

// FuzzCompile compiles anything: it ends with an error of a documented kind, or
// every tool keeps the rules of clients and a second run gives the same.
func FuzzCompile(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*.*")
	if err != nil || len(files) == 0 {
		f.Fatal(err, "no fixtures")
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, in := range hostileInputs() {
		if len(in.data) < 20_000 {
			f.Add([]byte(in.data))
		}
	}
	run := func(t *testing.T, data []byte) (string, error) {
		rules := newClientRules(t)
		var w bytes.Buffer
		res, err := Compile(t.Context(), Source{Name: "fuzz", Data: data}, Options{Limits: Limits{MaxBytes: 64 << 10}, Each: func(op *operation.Operation) error {
			rules.tool(op)
			describeOp(&w, op)
			return nil
		}})
		if err == nil {
			if res.Operations != res.Tools+len(res.Unsupported) {
				t.Fatalf("%d operations, %d tools, %d listed", res.Operations, res.Tools, len(res.Unsupported))
			}
			fmt.Fprintf(&w, "%v %v", res.Unsupported, res.Warnings)
		}
		return w.String(), err
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := run(t, data)
		if err != nil {
			if p := problem.As(err); p == nil || p.Kind == problem.InvalidSpec && Code(err) == "" {
				t.Fatalf("%v has no kind or code", err)
			}
			return
		}
		if second, _ := run(t, data); first != second {
			t.Fatal("two compilations differ")
		}
	})
}

// FuzzResolve resolves any reference in a document that has every kind of place
// to refer to.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"#/components/schemas/A", "#", "#/", "#a", "A", "#/components/schemas/A/properties/b", "%zz", "#/%2f", "x.yaml#/a", "//h/x", "file:///x", "../../x", "#/~2~", "https://a/b#c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		ref = strings.ToValidUTF8(ref, "")
		quoted, _ := appendQuoted(ref)
		doc := []byte(`{"openapi":"3.1.0","paths":{"/a":{"get":{"parameters":[{"$ref":` + quoted + `}],"responses":{"200":{"$ref":` + quoted + `}}},"post":{"requestBody":{"$ref":` + quoted + `}}},"/b":{"$ref":` + quoted + `}},
			"components":{"schemas":{"A":{"$anchor":"a","type":"object","properties":{"b":{"$ref":` + quoted + `}},"allOf":[{"$ref":` + quoted + `}]}}}}`)
		fetch := func(context.Context, string) ([]byte, error) { t.Fatal("fetched from elsewhere"); return nil, nil }
		res, err := Compile(t.Context(), Source{Name: "x", Data: doc, Files: map[string][]byte{"x.yaml": []byte("a: {$ref: 'x.yaml#/a'}")}, Path: "main.json"}, Options{Fetch: fetch})
		if err != nil {
			if problem.As(err) == nil {
				t.Fatal(err)
			}
			return
		}
		if res.Operations != res.Tools+len(res.Unsupported) {
			t.Fatalf("%+v", res)
		}
	})
}

func appendQuoted(s string) (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

// TestPathWithoutSlash: such a path is repaired, it does not cost the others.
func TestPathWithoutSlash(t *testing.T) {
	res, ops := compileAll(t, Source{Name: "x", Data: []byte(`{"openapi":"3.0.3","paths":{"a/{id}":{"get":{}},"":{"get":{}}}}`)}, Options{})
	if len(ops) != 2 || ops[0].Path != "/a/{id}" || ops[0].Plan.Path != "/a/{id}" || ops[1].Path != "/" {
		t.Errorf("%+v", ops)
	}
	n := 0
	for _, w := range res.Warnings {
		if w.Code == codePathTemplate {
			n++
		}
	}
	if n != 2 {
		t.Errorf("warnings %+v", res.Warnings)
	}
}

func TestStrict(t *testing.T) {
	f := func(doc string, want ...string) {
		t.Helper()
		res, err := Compile(t.Context(), Source{Name: "x", Data: []byte(doc)}, Options{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range res.Warnings {
			if w.Severity == SeverityError {
				got = append(got, fmt.Sprintf("%d:%d %s %s", w.Line, w.Column, w.Pointer, w.Detail))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", doc, got, want)
		}
	}
	f("openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    get:\n      parameters: [{name: q, in: query, schema: {type: string, pattern: '(?!x)y'}}]\n      responses: {'200': {description: ok}}\n")
	f("openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    get:\n      operationId: 12\n      responses: {'200': {description: ok}}\n",
		"6:20 /paths/~1a/get/operationId got number, want string")
	f("openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    get:\n      parameters: [{name: q, in: qeury, schema: {}}]\n",
		`6:34 /paths/~1a/get/parameters/0/in value must be one of 'query', 'header', 'path', 'cookie'`)
	f("openapi: 3.2.0\ninfo: {title: t}\npaths: {}\n", "2:7 /info missing property 'version'")
	f(`{"swagger":"2.0","info":{"title":"t","version":"1"},"paths":{"/a":{"get":{}}}}`, "1:74 /paths/~1a/get missing property 'responses'")
}

// TestOpen reads the other files of a specification where it lies, and never
// above its folder.
func TestOpen(t *testing.T) {
	var asked []string
	doc := `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{"/a":{"post":{"operationId":"a","requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{
		"in":{"$ref":"parts/in.yaml#/A"},"up":{"$ref":"../up.yaml"},"out":{"$ref":"../../out.yaml"},"root":{"$ref":"/etc/passwd"},"gone":{"$ref":"gone.yaml"}}}}}}}}}}`
	res, ops := compileAll(t, Source{Name: "x", Data: []byte(doc), Path: "api/x.json"}, Options{Open: func(path string) ([]byte, error) {
		asked = append(asked, path)
		switch path {
		case "api/parts/in.yaml":
			return []byte("A: {type: integer}"), nil
		case "up.yaml":
			return []byte("type: boolean"), nil
		}
		return nil, os.ErrNotExist
	}})
	slices.Sort(asked)
	if want := []string{"api/gone.yaml", "api/parts/in.yaml", "up.yaml"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if s := string(ops[0].InputSchema); !strings.Contains(s, `"in":{"type":"integer"}`) || !strings.Contains(s, `"up":{"type":"boolean"}`) {
		t.Errorf("input schema %s", s)
	}
	if len(res.Documents) != 2 || string(res.Documents["up.yaml"]) != "type: boolean" {
		t.Errorf("documents %q", res.Documents)
	}
	alone, err := Compile(t.Context(), Source{Name: "x", Data: []byte(doc)}, Options{})
	if err != nil || alone.Digest == res.Digest {
		t.Errorf("the digest does not name the other documents: %v", err)
	}
}

// TestOutputSchemaLevels: what would be too long says less, not nothing.
func TestOutputSchemaLevels(t *testing.T) {
	f := func(outer, inner int, want, without string) {
		t.Helper()
		members := func(n int, name, schema string) string {
			var b strings.Builder
			for i := range n {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `"%s%d":%s`, name, i, schema)
			}
			return `{"type":"object","properties":{` + b.String() + `}}`
		}
		schema := members(outer, "outer", members(inner, "inner", `{"type":"string"}`))
		doc := `{"openapi":"3.0.0","info":{"title":"A","version":"1"},"paths":{"/a":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":` + schema + `}}}}}}}}`
		_, ops := compileAll(t, Source{Name: "a.json", Data: []byte(doc)}, Options{})
		got := string(ops[0].OutputSchema)
		if len(got) > maxOutputSchema || (want == "") != (got == "") || !strings.Contains(got, want) || without != "" && strings.Contains(got, without) {
			t.Errorf("%d members of %d: %d bytes, %.200s", outer, inner, len(got), got)
		}
	}
	f(10, 10, `"inner9"`, "")
	f(100, 100, `"outer99":{"type":["object","null"]}`, "inner")
	f(1000, 1, "", "")
}
