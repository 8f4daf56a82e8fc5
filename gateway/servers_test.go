package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// upstreamServer is an MCP server that answers tools/call with what it was told, so
// that odd results can be sent.
type upstreamServer struct {
	*httptest.Server
	modern bool
	served uint64 // revisions of the toolset

	mu       sync.Mutex
	answers  map[string]string // guarded by mu; by tool or other method: "result":… or "error":…
	sessions int               // guarded by mu; handshakes
	session  string            // guarded by mu; the one that is known
	heard    []string          // guarded by mu; bodies of tools/call
	headers  []http.Header     // guarded by mu; of tools/call
	key      string            // guarded by mu; bearer token that is wanted
}

func newUpstreamServer(t testing.TB, modern bool) *upstreamServer {
	t.Helper()
	u := &upstreamServer{modern: modern, answers: map[string]string{}}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

func (u *upstreamServer) answer(tool, members string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answers[tool] = members
}

func (u *upstreamServer) last() (string, http.Header) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.heard) == 0 {
		return "", nil
	}
	return u.heard[len(u.heard)-1], u.headers[len(u.headers)-1]
}

func (u *upstreamServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	_ = json.Unmarshal(b, &m)
	u.mu.Lock()
	defer u.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	say := func(members string) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, members) }
	switch {
	case u.key != "" && r.Header.Get("Authorization") != "Bearer "+u.key:
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x.example/.well-known/oauth-protected-resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	case m.Method == "server/discover" && u.modern:
		say(`"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`)
	case m.Method == "initialize" && !u.modern:
		u.sessions++
		u.session = fmt.Sprintf("s%d", u.sessions)
		w.Header().Set("Mcp-Session-Id", u.session)
		say(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
	case m.Method == "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/call" && !u.modern && r.Header.Get("Mcp-Session-Id") != u.session:
		w.WriteHeader(http.StatusNotFound)
	case m.Method == "tools/call":
		u.heard, u.headers = append(u.heard, string(b)), append(u.headers, r.Header)
		say(u.answers[m.Params.Name])
	case u.answers[m.Method] != "":
		u.heard, u.headers = append(u.heard, string(b)), append(u.headers, r.Header)
		say(u.answers[m.Method])
	default:
		w.WriteHeader(http.StatusNotFound)
		say(`"error":{"code":-32601,"message":"method not found"}`)
	}
}

// serveServer makes a toolset "acme" of the server live.
func serveServer(t testing.TB, s *gatewaytest.Stack, u *upstreamServer, edit func(*registry.Toolset), tools ...string) {
	t.Helper()
	serveServerTo(t, s, u, nil, edit, tools...)
}

// serveServerTo is serveServer with an access document; nil: everyone may call.
func serveServerTo(t testing.TB, s *gatewaytest.Stack, u *upstreamServer, doc *registry.AccessDocument, edit func(*registry.Toolset), tools ...string) {
	t.Helper()
	c, err := gatewaytest.MCPConnector("up", u.URL+"/mcp", tools...)
	if err != nil {
		t.Fatal(err)
	}
	u.served++
	in := gatewaytest.Toolset("acme", u.served, c, edit)
	serveBehind(t, s, in, doc)
}

// serveBehind serves a toolset behind an access document; nil: it is open.
func serveBehind(t testing.TB, s *gatewaytest.Stack, in snapshot.ToolsetInput, doc *registry.AccessDocument) {
	t.Helper()
	if doc != nil {
		doc.Workspace, doc.Toolset = "test", in.ID
		b, err := doc.Encode()
		if err != nil {
			t.Fatal(err)
		}
		in.Access, in.AccessDigest = doc, registry.DigestOf(b)
	}
	var err error
	if in.Programs, err = in.Bundle.CompilePrograms(); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
}

// callRaw posts a tools/call of 2026-07-28 or, with legacy, of 2025-06-18, and
// returns status and body.
func callRaw(t testing.TB, s *gatewaytest.Stack, legacy bool, tool, params string, headers ...string) (int, string) {
	t.Helper()
	meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"traceparent":"00-1","dev.sluice/x":1`
	version := "2026-07-28"
	if legacy {
		meta, version = `"traceparent":"00-1"`, "2025-06-18"
	}
	if params != "" {
		params = "," + params
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Test-Meta" { // no header
			meta += "," + headers[i+1]
		}
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":%q%s,"_meta":{%s}}}`, tool, params, meta)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL("acme"), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Mcp-Protocol-Version", version)
	if !legacy {
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", tool)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const anyTool = `{"name":"do.it","description":"D","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}},` +
	`"outputSchema":{"type":"object"},"icons":[{"src":"data:,"}],"_meta":{"k":9007199254740993}}`

// TestServerResults: what an MCP server answers arrives as it was sent, apart from
// what the toolset does to text.
func TestServerResults(t *testing.T) {
	rows := strings.TrimSuffix(strings.Repeat(`{"id":1,"state":"open","url":"https://x.example/long/address"},`, 40), ",")
	item := func(text string) string {
		b, _ := json.Marshal(text)
		return `{"type":"text","text":` + string(b) + `,"annotations":{"priority":1}}`
	}
	for _, c := range []struct {
		name, profile string
		result, want  string // want: a part of the answer, or "=" and the members of the result
		not           string
		legacy        bool
	}{
		{name: "raw", profile: "off", result: `"x":9007199254740993,"content":[{"type":"text","text":"{ \"a\": 1 }","y":0.10}],"structuredContent":{"n":12345678901234567890}`, want: `="x":9007199254740993,"content":[{"type":"text","text":"{ \"a\": 1 }","y":0.10}],"structuredContent":{"n":12345678901234567890}`},
		{name: "media", profile: "concise", result: `"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"x://y","text":"{ \"a\": 1}"}},{"type":"resource_link","uri":"x://z","name":"z"}]`, want: `="content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"x://y","text":"{ \"a\": 1}"}},{"type":"resource_link","uri":"x://z","name":"z"}]`},
		{name: "minified", profile: "lossless", result: `"content":[` + item("{ \"n\": 9007199254740993 }") + `]`, want: `="content":[{"type":"text","text":"{\"n\":9007199254740993}","annotations":{"priority":1}}]`},
		{name: "prose stays", profile: "concise", result: `"content":[` + item("{not JSON}  but text") + `]`, want: `={"`, not: ""},
		{name: "table", profile: "lossless", result: `"content":[` + item("["+rows+"]") + `]`, want: `#`, not: `\"state\":\"open\"`},
		{name: "structured stays", profile: "lossless", result: `"content":[` + item(`{"a": 1}`) + `],"structuredContent":{"a": 1}`, want: `"structuredContent":{"a": 1}`},
		{name: "structured is the text", profile: "concise", result: `"content":[` + item(`{"a": 1}`) + `],"structuredContent":{"a": 1}`, want: `{\"a\":1}`, not: "structuredContent"},
		{name: "structured becomes text", profile: "concise", result: `"content":[{"type":"text","text":"one thing"}],"structuredContent":{"a": 1}`, want: `"content":[{"type":"text","text":"one thing"},{"type":"text","text":"{\"a\":1}"}]`, not: "structuredContent"},
		{name: "failure", profile: "concise", result: `"isError":true,"content":[{"type":"text","text":"{ \"no\": 1 }"}]`, want: `="isError":true,"content":[{"type":"text","text":"{ \"no\": 1 }"}]`},
		{name: "text before its type", profile: "lossless", result: `"content":[ {"text":"[ 1 ]" , "type":"text"} , {"text":"plain","type":"text"} ]`, want: `="content":[{"text":"[1]","type":"text"},{"text":"plain","type":"text"}]`},
		{name: "escaped brackets", profile: "lossless", result: `"content":[{"type":"text","text":"\u007b \"a\": 1 }"},{"type":"text","text":"\n[ 2 ]"},{"type":"text","text":"\nno [ 2 ]"}]`, want: `="content":[{"type":"text","text":"{\"a\":1}"},{"type":"text","text":"[2]"},{"type":"text","text":"\nno [ 2 ]"}]`},
		{name: "several of a name", profile: "off", result: `"isError":true,"content":[{"type":"text","text":"a"}],"isError":false,"content":[{"type":"text","text":"b"}]`, want: `="isError":true,"content":[{"type":"text","text":"a"}],"isError":false,"content":[{"type":"text","text":"b"}]`},
		{name: "no list of items", profile: "concise", result: `"content":{ "type": "text" },"y":[ 1 ]`, want: `malformed: content must be an array, got object`},
		{name: "over the budget and off", profile: "off", result: `"content":[{"type":"text","text":"` + strings.Repeat(`a line\n`, 40_000) + `"},{"type":"text","text":"{ \"a\": 1 }"}]`, want: `the rest: fetch_result`},
		{name: "legacy and no object", profile: "off", legacy: true, result: `"content":[],"structuredContent":[1]`, want: `="content":[],"structuredContent":{"result":[1]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, gatewaytest.Options{})
			u := newUpstreamServer(t, true)
			serveServer(t, s, u, func(ts *registry.Toolset) { ts.Profile = c.profile }, anyTool)
			u.answer("do.it", `"result":{"resultType":"complete",`+c.result+`,"_meta":{"k":9007199254740993,"io.modelcontextprotocol/serverInfo":{"name":"upstream"}}}`)
			status, got := callRaw(t, s, c.legacy, "do_it", "")
			members, exact := strings.CutPrefix(c.want, "=")
			switch {
			case status != 200:
				t.Fatalf("status %d: %s", status, got)
			case c.want == `={"`:
				if !strings.Contains(got, `"text":"{not JSON}  but text"`) {
					t.Fatalf("got %s", got)
				}
			case exact && c.legacy:
				if want := `{"jsonrpc":"2.0","id":"a","result":{` + members + `,"_meta":{"k":9007199254740993}}}`; got != want {
					t.Fatalf("got %s\nwant %s", got, want)
				}
			case exact:
				want := `{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete",` + members +
					`,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"acme","title":"acme","version":"1"},"k":9007199254740993}}}`
				if got != want {
					t.Fatalf("got %s\nwant %s", got, want)
				}
			case !strings.Contains(got, members) || c.not != "" && strings.Contains(got, c.not):
				t.Fatalf("got %s\nwant %s in it, not %q", got, members, c.not)
			}
		})
	}
}

// TestServerCall: what a client sent reaches the server, and what is for the gateway
// alone does not.
func TestServerCall(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	u := newUpstreamServer(t, true)
	serveServer(t, s, u, nil, anyTool)
	u.answer("do.it", `"result":{"content":[]}`)
	if status, got := callRaw(t, s, false, "do_it", `"arguments":{"r":"ü x","n":9007199254740993},"requestState":"opaque","inputResponses":{"q":{"action":"accept"}}`,
		"Mcp-Param-Region", "=?base64?w7wgeA==?=", "Authorization", "Bearer of-the-client"); status != 200 {
		t.Fatalf("status %d: %s", status, got)
	}
	body, h := u.last()
	for _, want := range []string{`"name":"do.it"`, `"n":9007199254740993`, `"requestState":"opaque"`, `"inputResponses":{"q":{"action":"accept"}}`, `"traceparent":"00-1"`, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`} {
		if !strings.Contains(body, want) {
			t.Errorf("the server got no %s: %s", want, body)
		}
	}
	if strings.Contains(body, "dev.sluice") || strings.Contains(body, "tasks") || h.Get("Authorization") != "" {
		t.Errorf("the server got what is not for it: %s %v", body, h)
	}
	if h.Get("Mcp-Name") != "do.it" || h.Get("Mcp-Method") != "tools/call" || h.Get("Mcp-Param-Region") != "=?base64?w7wgeA==?=" || h.Get("Mcp-Protocol-Version") != "2026-07-28" {
		t.Errorf("headers %v", h)
	}
	// A header that does not repeat its argument is refused here.
	if status, _ := callRaw(t, s, false, "do_it", `"arguments":{"r":"a"}`, "Mcp-Param-Region", "b"); status != http.StatusBadRequest {
		t.Errorf("another header than the argument: status %d", status)
	}
}

// TestServerAsks: a server's questions reach the clients that can answer.
func TestServerAsks(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	u := newUpstreamServer(t, true)
	serveServer(t, s, u, nil, anyTool)
	u.answer("do.it", `"result":{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?"}}},"requestState":"s"}`)
	_, got := callRaw(t, s, false, "do_it", "")
	if !strings.Contains(got, `"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?"}}},"requestState":"s"`) {
		t.Errorf("modern: %s", got)
	}
	status, got := callRaw(t, s, true, "do_it", "")
	if status != 200 || !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "elicitation/create") || !strings.Contains(got, "in a session") {
		t.Errorf("legacy: %d %s", status, got)
	}
	u.answer("do.it", `"error":{"code":-32021,"message":"needs sampling","data":{"requiredCapabilities":{"sampling":{}}}}`)
	status, got = callRaw(t, s, false, "do_it", "")
	if status != http.StatusBadRequest || !strings.Contains(got, `"error":{"code":-32021,"message":"needs sampling","data":{"requiredCapabilities":{"sampling":{}}}}`) {
		t.Errorf("capability: %d %s", status, got)
	}
	u.answer("do.it", `"error":{"code":-32602,"message":"bad state"}`)
	if status, got = callRaw(t, s, false, "do_it", `"requestState":"forged"`); status != http.StatusBadRequest || !strings.Contains(got, `"code":-32602,"message":"bad state"`) {
		t.Errorf("refused state: %d %s", status, got)
	}
	if status, got = callRaw(t, s, false, "do_it", ""); status != 200 || !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "bad state (code -32602)") {
		t.Errorf("refused arguments: %d %s", status, got)
	}
}

// TestServerSession: a session is made once, shared by calls of one caller, and
// made anew when the server forgot it.
func TestServerSession(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	u := newUpstreamServer(t, false)
	s.Secrets.Set("c", credentials.Credential{Value: secrets.New("first-key"), Version: 1, Origins: registry.Origins{u.URL}})
	u.key = "first-key"
	serveServerTo(t, s, u, tokens(tokenGrant("ada")), func(ts *registry.Toolset) {
		ts.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthBearer, CredentialID: "c"}
	}, anyTool)
	u.answer("do.it", `"result":{"content":[{"type":"text","text":"the key is first-key"}]}`)
	call := func(want string) {
		t.Helper()
		if _, got := callRaw(t, s, false, "do_it", "", "Authorization", "Bearer slt_ada"); !strings.Contains(got, want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	for range 3 {
		call("the key is " + secrets.Redacted)
	}
	u.mu.Lock()
	if u.sessions != 1 {
		t.Errorf("%d handshakes for three calls", u.sessions)
	}
	u.session = "of another life"
	u.mu.Unlock()
	call("the key is") // the server forgot the session: nothing is seen of it
	u.mu.Lock()
	if u.sessions != 2 || len(u.heard) != 4 {
		t.Errorf("%d handshakes, %d calls", u.sessions, len(u.heard))
	}
	u.key = "second-key"
	u.mu.Unlock()
	call("refused the credential of the toolset (HTTP 401); it wants an OAuth login")
	s.Secrets.Set("c", credentials.Credential{Value: secrets.New("second-key"), Version: 2, Origins: registry.Origins{u.URL}})
	call("the key is first-key") // no longer its secret
}

// TestServerList: the list is what was pinned, members that Sluice does not know
// included, and a server that is gone takes only its calls with it.
func TestServerList(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	u := newUpstreamServer(t, true)
	serveServer(t, s, u, func(ts *registry.Toolset) { ts.Profile = registry.ProfileLossless }, anyTool)
	u.Close()
	c := connect(t, s, "")
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 2 || tools.Tools[0].Name != "do_it" || len(tools.Tools[0].Icons) != 1 || tools.Tools[0].OutputSchema == nil {
		t.Fatalf("listed %+v, %v", tools, err)
	}
	for range 6 {
		status, got := callRaw(t, s, false, "do_it", "")
		if status != 200 || !strings.Contains(got, `"isError":true`) {
			t.Fatalf("a server that is gone: %d %s", status, got)
		}
	}
	if _, got := callRaw(t, s, false, "do_it", ""); !strings.Contains(got, "could not be reached 5 times in a row") {
		t.Fatalf("after five failures: %s", got)
	}
}

// TestServerPrograms: the toolset's settings apply to JSON in text and to
// structuredContent; what is marked as redacting lets nothing else through.
func TestServerPrograms(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	u := newUpstreamServer(t, true)
	f := func(edit func(*registry.Toolset), result, want, not string) {
		t.Helper()
		serveServer(t, s, u, edit, anyTool)
		u.answer("do.it", `"result":{`+result+`}`)
		_, got := callRaw(t, s, false, "do_it", "")
		if !strings.Contains(got, want) || not != "" && strings.Contains(got, not) {
			t.Fatalf("got %s\nwant %s, not %q", got, want, not)
		}
	}
	mask := func(a registry.Answers) func(*registry.Toolset) {
		return func(ts *registry.Toolset) { ts.Profile, ts.Answers = registry.ProfileOff, &a }
	}
	both := `"content":[{"type":"text","text":"{\"a\":1,\"b\":2}"}],"structuredContent":{"a":1,"b":2}`
	f(mask(registry.Answers{Fields: "a"}), both, `"text":"{\"a\":1}"}],"structuredContent":{"a":1}`, `"b`)
	f(mask(registry.Answers{Fields: "a", Redact: true}), `"content":[{"type":"text","text":"b is 2"}]`, "the answer is withheld", "is 2")
	f(mask(registry.Answers{Fields: "a", Redact: true}), `"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]`, "the answer is withheld", "AA==")
	long := strings.TrimSuffix(strings.Repeat(`{\"id\":1,\"name\":\"somebody\"},`, 2000), ",")
	f(mask(registry.Answers{Budget: 300}), `"content":[{"type":"text","text":"[`+long+`]"},{"type":"text","text":"short"}]`, "the rest: fetch_result", "")
	f(mask(registry.Answers{Budget: 300}), `"content":[{"type":"text","text":"`+strings.Repeat("a line\\n", 3000)+`"}]`, "of 3000; the rest: fetch_result", "")
}
