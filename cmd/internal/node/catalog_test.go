package node_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/cmd/internal/answers"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/registry"
)

var updateCatalog = flag.Bool("update-catalog", false, "write what is measured into the entries of the catalog")

const vendorKey = "let-me-in"

// specifications are the documents of the corpus that stand for those at the addresses
// of entries.
var specifications = map[string]string{
	"alertmanager": "alertmanager/openapi.yaml",
	"asana":        "asana/asana_oas.yaml",
	"bitbucket":    "bitbucket/bitbucket.org.json",
	"box":          "box/openapi.json",
	"discourse":    "discourse/discourse.local.json",
	"dnsimple":     "dnsimple/openapi.yml",
	"gitea":        "gitea-v2/v1_json.json",
	"github":       "github/api.github.com.json",
	"intercom":     "intercom-2.11/api.intercom.io.yaml",
	"jira":         "jira-cloud/atlassian.com_jira.json",
	"kubernetes":   "kubernetes-v2/swagger.json",
	"meilisearch":  "meilisearch/open-api.json",
	"mistral":      "mistral/openapi.yaml",
	"netlify":      "netlify/swagger.yml",
	"ory-hydra":    "ory-hydra/api.json",
	"tfl":          "tfl/tfl.gov.uk.json",
	"nomad":        "nomad/openapi.yaml",
	"open-meteo":   "openmeteo-forecast/forecast.yml",
	"openai":       "openai/openapi.yaml",
	"pagerduty":    "pagerduty-rest/openapiv3.json",
	"powerdns":     "powerdns/authoritative-api-openapi.yaml",
	"qdrant":       "qdrant/openapi.json",
	"sendgrid":     "sendgrid/oai.json",
	"slack":        "slack-web-v2/slack_web_openapi_v2.json",
	"square":       "square-v2/api.json",
	"stripe":       "stripe/spec3.json",
	"typesense":    "typesense/openapi.yml",
	"workos":       "workos/open-api-spec.yaml",
}

// vendor stands for the vendor of an entry: it serves a document and notes the requests
// that carry the credential as the entry describes it.
type vendor struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // guarded by mu; method and path
}

func newVendor(t *testing.T, e *catalog.Entry, document []byte) *vendor {
	t.Helper()
	v := &vendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi-document" {
			_, _ = w.Write(document)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if len(e.Authentication) > 0 && !authenticated(r, &e.Authentication[0].Settings) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		v.mu.Lock()
		v.seen = append(v.seen, r.Method+" "+r.URL.EscapedPath())
		v.mu.Unlock()
		if golden := goldenOf(e, r.Method+" "+r.URL.EscapedPath()); golden != nil {
			answerGolden(w, golden)
			return
		}
		_, _ = w.Write([]byte(`{"id":"1"}`))
	}))
	t.Cleanup(v.Close)
	return v
}

// goldenOf is the made-up answer of a request; nil: the entry has none. Of operations that
// fit, the one with the most literal path answers.
func goldenOf(e *catalog.Entry, request string) (best *catalog.EntryGolden) {
	for i := range e.Golden {
		g := &e.Golden[i]
		if reaches(g.Operation, request) && (best == nil || strings.Count(g.Operation, "/") > strings.Count(best.Operation, "/")) {
			best = g
		}
	}
	return best
}

func answerGolden(w http.ResponseWriter, g *catalog.EntryGolden) {
	var text string
	if json.Unmarshal(g.Body, &text) == nil {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(g.StatusCode())
		_, _ = w.Write([]byte(text))
		return
	}
	w.WriteHeader(g.StatusCode())
	_, _ = w.Write(g.Body)
}

// last is the newest request, and how many there were.
func (v *vendor) last() (request string, n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.seen) == 0 {
		return "", 0
	}
	return v.seen[len(v.seen)-1], len(v.seen)
}

func authenticated(r *http.Request, s *catalog.EntrySettings) bool {
	switch s.AuthType {
	case "header":
		return r.Header.Get(s.HeaderName) == s.HeaderPrefix+vendorKey
	case "query":
		return r.URL.Query().Get(s.ParameterName) == vendorKey
	case "basic":
		_, password, _ := r.BasicAuth()
		return password == vendorKey
	case "bearer":
		return r.Header.Get("Authorization") == "Bearer "+vendorKey
	}
	return false
}

// withKey is a preset of an entry with its secret.
func withKey(t *testing.T, s *catalog.EntrySettings) map[string]any {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	out[cmp.Or(map[string]string{"basic": "password", "bearer": "token"}[s.AuthType], "apiKey")] = vendorKey
	if s.AuthType == "basic" && s.Username == "" {
		out["username"] = "me"
	}
	return out
}

// valuesOf are values for the arguments that an entry asks for.
func valuesOf(e *catalog.Entry) map[string]string {
	out := map[string]string{}
	for name := range e.Values {
		out[name] = "1010"
	}
	return out
}

type madeToolset struct {
	ID, URL   string
	Tokens    int `json:"definitionTokens"`
	ToolCount int
	Status    string
	Source    struct{ Version string }
	Test      *struct{ Passed, Possible bool }
	Tools     []struct {
		Name, OriginalName string
		Enabled            bool
		Operation          struct{ Method, Path string }
	}
}

// session speaks with a toolset as an agent does.
func session(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestCatalogCorpus proves the entries whose specification the corpus has: each becomes
// a live toolset of its tools from the vendor's real document, whose calls reach the
// operations with the credential. What the entry says of its tokens is measured.
func TestCatalogCorpus(t *testing.T) {
	corpus := os.Getenv("SLUICE_CORPUS")
	if corpus == "" {
		t.Skip("SLUICE_CORPUS is not set: no vendor's documents")
	}
	c, err := catalog.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	asked := askedOf(t, corpus, c)
	n, _ := start(t, node.Options{Data: t.TempDir()})
	for _, e := range c.All() {
		file := specifications[e.ID]
		if (file != "") != (e.Verified != nil) {
			t.Errorf("%s: the entry says verified: %v, and the corpus has its document: %v", e.ID, e.Verified != nil, file != "")
		}
		if file == "" {
			continue
		}
		t.Run(e.ID, func(t *testing.T) {
			document, err := os.ReadFile(filepath.Join(corpus, "specs", file))
			if err != nil {
				t.Fatal(err)
			}
			proveEntry(t, n, e, document, asked)
		})
	}
}

// listsAlways are arguments that a tool is of no use without, although the vendor's document
// does not require the body that they are in.
var listsAlways = map[string][]string{
	"discourse set_topic_status":     {"status", "enabled"},
	"intercom reply_to_conversation": {"body"},
	"qdrant delete_points":           {"body"},
	"sendgrid send_mail":             {"from", "personalizations", "content"},
	"slack schedule_message":         {"channel", "text", "post_at"},
}

func properties(t *testing.T, schema any) map[string]bool {
	t.Helper()
	b, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ Properties map[string]any }
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for name := range s.Properties {
		out[name] = true
	}
	return out
}

// askedOf puts the questions about answers in QUESTIONS, by entry, to what an agent reads of the
// recorded answers of the entry's operations; nil: there are no questions.
func askedOf(t *testing.T, corpus string, c *catalog.Catalog) map[string]answers.Score {
	t.Helper()
	file := os.Getenv("QUESTIONS")
	if file == "" {
		return nil
	}
	questions, err := answers.ReadQuestions(file)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := enginepool.New(t.Context(), enginepool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close(context.WithoutCancel(t.Context())) }()
	all, err := (&answers.Measurer{Host: pool}).Corpus(t.Context(), answers.Options{Dir: corpus, Profile: registry.ProfileConcise})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]answers.Score{}
	for _, e := range c.All() {
		folder, _, _ := strings.Cut(specifications[e.ID], "/")
		of := map[string]bool{}
		for i := range e.Tools {
			if e.Tools[i].Answers != nil {
				t.Errorf("%s: %s has settings of answers, with which they are not measured", e.ID, e.Tools[i].Name)
			}
			of[e.Tools[i].Operation] = true
		}
		its := map[string]bool{}
		for i := range all {
			its[all[i].ID] = all[i].Spec == folder && of[all[i].Operation]
		}
		asked, err := answers.Ask(slices.DeleteFunc(slices.Clone(questions), func(q answers.Question) bool { return !its[q.Answer] }), all)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range asked.Lost {
			t.Logf("%s: lost: %s: %s", e.ID, q.ID, q.Question)
		}
		out[e.ID] = asked.Total
	}
	return out
}

func proveEntry(t *testing.T, n *node.Node, e *catalog.Entry, document []byte, asked map[string]answers.Score) {
	t.Helper()
	v := newVendor(t, e, document)
	body, made, calls := callEntry(t, n, e, v)
	var originals []string
	for i := range made.Tools {
		if made.Tools[i].Enabled {
			originals = append(originals, made.Tools[i].OriginalName)
		}
	}
	var generated madeToolset
	api(t, n, http.MethodPost, "/v1/toolsets", map[string]any{
		"slug": e.ID + "-generated", "baseUrl": v.URL, "source": map[string]any{"openapi": map[string]any{"url": v.URL + "/openapi-document"}},
		"tools": originals, "deploy": map[string]any{"skip": true},
	}, &generated)
	proveWorkflows(t, n, e, v, body)
	measured := catalog.EntryVerified{Version: made.Source.Version, GeneratedTokens: generated.Tokens, Tokens: made.Tokens}
	if asked != nil {
		measured.Questions, measured.Answered = asked[e.ID].All, asked[e.ID].Answered
	} else if e.Verified != nil {
		measured.Questions, measured.Answered = e.Verified.Questions, e.Verified.Answered // there are no questions here
	}
	t.Logf("%s: %d of %d tools, %d calls, %d tokens, generated %d (%d %%)", e.ID, len(originals), made.ToolCount, calls, made.Tokens, generated.Tokens, 100*made.Tokens/generated.Tokens)
	if e.Verified == nil || *e.Verified != measured {
		line := fmt.Sprintf("verified: {version: %q, generatedTokens: %d, tokens: %d}", measured.Version, measured.GeneratedTokens, measured.Tokens)
		if measured.Questions > 0 {
			line = fmt.Sprintf("%s, questions: %d, answered: %d}", line[:len(line)-1], measured.Questions, measured.Answered)
		}
		if *updateCatalog {
			writeVerified(t, e.ID, line)
			return
		}
		t.Errorf("measured, and not what the entry says: %s", line)
	}
}

// callEntry adds an entry from the document of a vendor, with the credential, and calls each of
// its tools; it returns what was sent to add it, what was made, and how many calls there were.
func callEntry(t *testing.T, n *node.Node, e *catalog.Entry, v *vendor) (body map[string]any, made madeToolset, calls int) {
	t.Helper()
	body = map[string]any{
		"baseUrl": v.URL, "source": map[string]any{"catalog": map[string]any{"entry": e.ID, "url": v.URL + "/openapi-document", "noWorkflows": true, "values": valuesOf(e)}},
		"deploy": map[string]any{"untestedReason": "no tool can be called without arguments"},
	}
	if len(e.Authentication) > 0 {
		body["authentication"] = withKey(t, &e.Authentication[0].Settings)
	}
	api(t, n, http.MethodPost, "/v1/toolsets", body, &made)
	if made.Status != "live" {
		t.Fatalf("%s, test %+v", made.Status, made.Test)
	}
	s := session(t, made.URL)
	var names, wanted []string
	operations := map[string]string{}
	for i := range e.Tools {
		wanted = append(wanted, e.Tools[i].Name)
		operations[e.Tools[i].Name] = e.Tools[i].Operation
	}
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if operations[tool.Name] == "" && tool.Name == "fetch_result" {
			continue // of the gateway, not of the entry
		}
		names = append(names, tool.Name)
		listed := properties(t, tool.InputSchema)
		for _, credential := range []string{"token", "access_token", "api_key", "apikey"} {
			if listed[credential] && e.ID+" "+tool.Name != "ory-hydra introspect_token" { // which is about a token of somebody else
				t.Errorf("%s asks for %s", tool.Name, credential)
			}
		}
		for _, name := range listsAlways[e.ID+" "+tool.Name] {
			if !listed[name] {
				t.Errorf("%s does not list %s", tool.Name, name)
			}
		}
		arguments, ok := fill(tool.InputSchema)
		if !ok {
			continue
		}
		_, before := v.last()
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: arguments}); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
			continue
		}
		calls++
		got, after := v.last()
		if after == before || !reaches(operations[tool.Name], got) {
			t.Errorf("%s called %q with %v, want %s", tool.Name, got, arguments, operations[tool.Name])
		}
	}
	slices.Sort(names)
	slices.Sort(wanted)
	if !slices.Equal(names, wanted) {
		t.Errorf("tools %v\nwant %v", names, wanted)
	}
	if calls == 0 {
		t.Error("no tool could be called")
	}
	return body, made, calls
}

// proveWorkflows runs the cases of an entry's workflows as an agent does, at a vendor that
// answers what the entry made up.
func proveWorkflows(t *testing.T, n *node.Node, e *catalog.Entry, v *vendor, body map[string]any) {
	t.Helper()
	if e.Workflows == nil {
		return
	}
	body["slug"], body["profile"] = e.ID+"-workflows", "off" // answers as JSON
	body["source"] = map[string]any{"catalog": map[string]any{"entry": e.ID, "url": v.URL + "/openapi-document", "values": valuesOf(e)}}
	var made madeToolset
	api(t, n, http.MethodPost, "/v1/toolsets", body, &made)
	s := session(t, made.URL)
	cases := map[string]int{}
	for _, c := range e.Workflows.Cases {
		cases[c.Workflow]++
		got, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: c.Workflow, Arguments: c.Inputs})
		if err != nil {
			t.Errorf("%s: %v", c.Workflow, err)
			continue
		}
		text := ""
		if content, ok := got.Content[0].(*mcp.TextContent); ok {
			text = content.Text
		}
		if got.IsError || !sameJSON([]byte(text), c.Outputs) {
			t.Errorf("%s of %s: %s\nwant %s", c.Workflow, c.Inputs, text, c.Outputs)
		}
	}
	for _, id := range e.WorkflowIDs(func(catalog.Operation) bool { return true }) {
		if cases[id] == 0 {
			t.Errorf("the workflow %s has no case", id)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// writeVerified puts what was measured into the file of an entry.
func writeVerified(t *testing.T, id, line string) {
	t.Helper()
	name := filepath.Join("../../../plugins/catalog/entries", id+".yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "verified:")
	if err := os.WriteFile(name, []byte(before+line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

var parameter = regexp.MustCompile(`\\\{[^}]*\\\}`)

// reaches reports whether a request is one of the operation: its path ends as the
// operation's does, behind whatever the address of the API begins with.
func reaches(operation, request string) bool {
	method, path, _ := strings.Cut(operation, " ")
	want := parameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
	return regexp.MustCompile(`^` + method + ` (/.*)?` + want + `$`).MatchString(request)
}

// fill makes arguments for the required members of a schema, as far as they are plain.
func fill(schema any) (map[string]any, bool) {
	b, err := json.Marshal(schema)
	if err != nil {
		return nil, false
	}
	var s struct {
		Properties map[string]struct {
			Type string
			Enum []any
		}
		Required []string
	}
	if json.Unmarshal(b, &s) != nil {
		return nil, false
	}
	out := map[string]any{}
	for _, name := range s.Required {
		p := s.Properties[name]
		switch {
		case len(p.Enum) > 0:
			out[name] = p.Enum[0]
		case p.Type == "string":
			out[name] = "x1"
		case p.Type == "integer" || p.Type == "number":
			out[name] = 7
		case p.Type == "boolean":
			out[name] = true
		default:
			return nil, false
		}
	}
	return out, true
}

// TestCatalogServers adds every entry of an MCP server, at a stand-in that wants a
// credential where the vendor does, and refuses another.
func TestCatalogServers(t *testing.T) {
	c, err := catalog.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	n, _ := start(t, node.Options{Data: t.TempDir()})
	entries := 0
	for _, e := range c.All() {
		if e.Kind() != catalog.KindMCP {
			continue
		}
		entries++
		t.Run(e.ID, func(t *testing.T) {
			settings := &catalog.EntrySettings{AuthType: "bearer"} // what a login ends with
			for i := range e.Authentication {
				if s := &e.Authentication[i].Settings; s.AuthType != "oauth" {
					settings = s
				}
			}
			standIn := newServer(t, len(e.Authentication) > 0, settings)
			body := map[string]any{
				"source": map[string]any{"catalog": map[string]any{"entry": e.ID, "url": standIn.URL + "/mcp"}}, "test": map[string]any{"tool": "search"},
			}
			if len(e.Authentication) > 0 {
				if status := apiStatus(t, n, "/v1/toolsets", body); status/100 == 2 {
					t.Errorf("without a credential: %d", status)
				}
				body["authentication"] = withKey(t, settings)
			}
			var made madeToolset
			api(t, n, http.MethodPost, "/v1/toolsets", body, &made)
			if made.Status != "live" || made.ToolCount != 2 || !strings.HasSuffix(made.URL, "/t/"+e.ID) {
				t.Fatalf("%+v", made)
			}
			if got, err := session(t, made.URL).CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: map[string]any{}}); err != nil || got.IsError {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	if entries < 12 {
		t.Errorf("%d entries of MCP servers", entries)
	}
}

// newServer is an MCP server with two tools.
func newServer(t *testing.T, closed bool, s *catalog.EntrySettings) *httptest.Server {
	t.Helper()
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		srv := mcp.NewServer(&mcp.Implementation{Name: "vendor", Version: "1"}, nil)
		for _, name := range []string{"search", "fetch"} {
			tool := &mcp.Tool{Name: name, Description: "Of the vendor.", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
			srv.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil
			})
		}
		return srv
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if closed && !authenticated(r, s) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		_ = srv.Listener.Close()     // or a client is back before the end
		srv.CloseClientConnections() // the node keeps a stream open
		srv.Close()
	})
	return srv
}

// apiStatus is the status with which the admin API answers a request.
func apiStatus(t *testing.T, n *node.Node, path string, in any) int {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.AdminURL()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + n.Token().Reveal()}, "Content-Type": {"application/json"}, "Prefer": {"wait=60"}}
	status, _ := do(t, r)
	return status
}
