package gateway_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/plugin"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/secrets/secretstest"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/enginepool"
	"github.com/sluicegate/sluice/plugins/enginepool/enginepooltest"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// canaries are the secrets of one gateway, and where they were looked for.
type canaries struct {
	t              *testing.T
	engine, guests enginepooltest.Memories

	mu       sync.Mutex
	secrets  map[string]string // guarded by mu
	searches map[string]int    // guarded by mu
	answers  map[string]int    // guarded by mu; searches that saw an answer in a memory
}

// look searches all memories; it may be called from a host function, in the middle of
// a plugin.
func (c *canaries) look(when string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.searches[when]++
	for name, m := range map[string]*enginepooltest.Memories{"the engine": &c.engine, "a plugin": &c.guests} {
		b := m.Dump()
		for _, found := range secretstest.Search(b, c.secrets) {
			c.t.Errorf("%s: the memory of %s holds %s", when, name, found)
		}
		if bytes.Contains(b, []byte("public-marker-0123456789")) && bytes.Contains(b, []byte(secrets.Redacted)) {
			c.answers[name]++
		}
	}
}

func (c *canaries) put(name, secret string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets[name] = secret
	return secret
}

// functions are those of guest, each with a search before and behind it.
func (c *canaries) functions() []extism.Function {
	list := guest.Functions()
	for i := range list {
		call, name := list[i].Call, list[i].Name
		list[i].Call = func(x *extism.Caller, stack []uint64) {
			x.Await(func(context.Context) { c.look("before " + name) }) // not on the plugin's time
			call(x, stack)
			x.Await(func(context.Context) { c.look("after " + name) })
		}
	}
	return list
}

// echo answers with everything it was sent, in the ways in which APIs do, and has the
// memories searched while the call is in flight.
func (c *canaries) echo(w http.ResponseWriter, r *http.Request) {
	c.look("in flight")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Error(err)
	}
	query, err := url.QueryUnescape(r.URL.RawQuery)
	if err != nil {
		c.t.Error(err)
	}
	answer, err := json.Marshal(map[string]any{
		"marker": "public-marker-0123456789", "mail": "ada@example.com", "url": r.URL.String(), "query": query,
		"headers": r.Header, "dump": fmt.Sprintf("%s %s\n%v\n%s", r.Method, r.URL, r.Header, body), "body": string(body),
	})
	if err != nil {
		c.t.Error(err)
	}
	text := strings.ReplaceAll(string(answer), "/", `\/`) // as PHP writes JSON
	switch r.URL.Path {
	case "/fail":
		w.WriteHeader(http.StatusInternalServerError)
		fallthrough
	case "/json", "/post":
		w.Header().Set("Content-Type", "application/json")
	case "/text":
		w.Header().Set("Content-Type", "text/plain")
	case "/refused":
		w.WriteHeader(http.StatusUnauthorized)
	}
	_, _ = io.WriteString(w, text)
}

// TestNoSecretInMemories: while a call with a credential is in flight, in the middle of
// plugins, and afterwards, no memory of the engine or of a plugin of others holds a
// secret of any type, nor a key that was derived from one; also when the upstream
// repeats what it was sent. Neither does what the agent reads, or the log.
func TestNoSecretInMemories(t *testing.T) {
	c := &canaries{t: t, secrets: map[string]string{}, searches: map[string]int{}, answers: map[string]int{}}
	h, err := extism.New(extism.Options{Functions: c.functions(), Memory: &c.guests})
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
	var log syncBuffer
	s := start(t, gatewaytest.Options{Plugins: r, Programs: enginepool.Options{Memory: &c.engine}, CacheBytes: -1, Logger: log.logger()})
	up := upstreamtest.New(t)
	op := gatewaytest.Operation
	names := []string{"json", "fail", "text", "refused"}
	conn, err := gatewaytest.Connector("acme", up.URL, op("json", "GET", "/json"), op("fail", "GET", "/fail"), op("text", "GET", "/text"), op("refused", "GET", "/refused"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		up.Handle("GET /"+name, http.HandlerFunc(c.echo))
	}
	pkg := func(name string) *guest.Package {
		code, err := os.ReadFile("../testdata/plugins/" + name + "/" + name + ".wasm")
		if err != nil {
			t.Fatal(err)
		}
		return open(t, code)
	}
	mask, stamp, relay := pkg("mask"), pkg("stamp"), pkg("relay")
	script := refTo(relay)
	script.Config = json.RawMessage(`{"script":"{\"tool\":\"item\",\"arguments\":{}}"}`)
	script.Calls = []registry.CalledTool{{Name: "item", Connector: "api", Method: "GET", Path: "/json"}}
	for _, other := range []string{"slow", "post", "text"} {
		script.Calls = append(script.Calls, registry.CalledTool{Name: other, Connector: "api", Method: "GET", Path: "/text"})
	}

	const password = "cnry pwd/\"5c5c5c\"&0b0b"
	shapes := []struct {
		name, value string
		shape       registry.AuthShape
		signed      bool
	}{
		{"header", "cnry+key/71f0e2/9f3c", registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Api-Key"}, false},
		{"query", "cnry key/&=0a1b2c/4d5e", registry.AuthShape{Type: registry.AuthQuery, ParameterName: "app id"}, false},
		{"cookie", "cnry+sid/aa11bb/22cc", registry.AuthShape{Type: registry.AuthCookie, CookieName: "sid"}, false},
		{"basic", "me:" + password, registry.AuthShape{Type: registry.AuthBasic}, false},
		{"bearer", "cnry+tok/8812ab/77aa", registry.AuthShape{Type: registry.AuthBearer}, false},
		{"oauth", "cnry.oauth.6b6b6b8e8e.access", registry.AuthShape{Type: registry.AuthOAuth2}, false},
		{"signed", "AKID:cnry+sign/0d0d0d/1e1e", registry.AuthShape{Type: registry.AuthBasic}, true},
	}
	var answers strings.Builder
	for i, x := range shapes {
		s.Secrets.Set("cred", credentials.Credential{Value: secrets.New(x.value), Version: uint64(i + 1), Origins: registry.Origins{up.URL}})
		secret := x.value
		if x.shape.Type == registry.AuthBasic {
			_, secret, _ = strings.Cut(x.value, ":")
		}
		c.put(x.name, secret)
		mac := func(key, message string) string {
			m := hmac.New(sha256.New, []byte(key))
			m.Write([]byte(message))
			return string(m.Sum(nil))
		}
		if x.signed { // what the plugin derives
			day := c.put("derived once", mac("K"+secret, "day"))
			c.put("derived twice", mac(day, "region"))
		}
		in := gatewaytest.Toolset("acme", uint64(i+1), conn, func(ts *registry.Toolset) {
			x.shape.CredentialID = "cred"
			ts.Connectors[0].Auth = &x.shape
			ts.Plugins = []registry.PluginRef{refTo(mask), script}
			if x.signed {
				ts.Plugins = append(ts.Plugins, refTo(stamp))
			}
		})
		in.Plugins = []*guest.Package{mask, relay}
		if x.signed {
			in.Plugins = append(in.Plugins, stamp)
		}
		if err := s.Serve(in); err != nil {
			t.Fatal(err)
		}
		up.Forget()
		for _, tool := range append(names, "relay") {
			for range 2 { // the second runs where the first one was
				status, got := post(t, s.URL("acme"), callBody(tool, `{}`))
				if status != 200 || !strings.Contains(got, "public-marker") && tool != "refused" {
					t.Fatalf("%s, %s: %d %s", x.name, tool, status, got)
				}
				answers.WriteString(got)
				c.look("after " + tool)
			}
		}
		sent, err := json.Marshal(up.Requests())
		if err != nil {
			t.Fatal(err)
		}
		if x.signed != (len(secretstest.Find(sent, secret)) == 0) && x.name != "basic" && x.name != "query" {
			t.Errorf("%s: sent %s", x.name, sent)
		}
	}
	for where, text := range map[string]string{"an answer": answers.String(), "the log": log.String()} {
		for _, found := range secretstest.Search([]byte(text), c.secrets) {
			t.Errorf("%s holds %s", where, found)
		}
	}
	// What was searched is what the calls ran in.
	if c.answers["the engine"] == 0 || c.answers["a plugin"] == 0 {
		t.Errorf("answers were seen in memories: %v", c.answers)
	}
	for _, when := range []string{"in flight", "before sluice_derive", "after sluice_sign", "before sluice_call", "after sluice_call", "after json"} {
		if c.searches[when] == 0 {
			t.Errorf("nothing was searched %s: %v", when, c.searches)
		}
	}
}

// TestServerRepeatsSecret: an MCP server that repeats its credential, in results, errors
// of every kind and notifications, does not hand it to the agent or the log.
func TestServerRepeatsSecret(t *testing.T) {
	const key = "cnry+mcp/1f2e3d/4c5b"
	var log syncBuffer
	s := start(t, gatewaytest.Options{Logger: log.logger()})
	mode := ""
	var mu sync.Mutex
	quoted, err := json.Marshal("you sent " + key)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.ReplaceAll(string(quoted), "/", `\/`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			return // a goodbye
		}
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/json")
		answer := func(members string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, members) }
		if m.Method == "server/discover" {
			_, _ = io.WriteString(w, answer(`"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`))
			return
		}
		switch mode {
		case "result":
			_, _ = io.WriteString(w, answer(`"result":{"content":[{"type":"text","text":`+said+`}],"structuredContent":{"x":`+said+`},"_meta":{"y":`+said+`}}`))
		case "error":
			_, _ = io.WriteString(w, answer(`"error":{"code":-32602,"message":`+said+`,"data":{"x":`+said+`}}`))
		case "state":
			_, _ = io.WriteString(w, answer(`"error":{"code":-32021,"message":`+said+`,"data":{"requiredCapabilities":{"sampling":{}},"x":`+said+`}}`))
		case "status":
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, answer(`"error":{"code":-1,"message":`+said+`}`))
		case "page": // the key stands where the text is cut off
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, strings.Repeat("x", 190)+" "+key)
		case "broken":
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0", `+said)
		case "refused":
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+key+`"`)
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, key)
		case "stream":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1,\"message\":%s}}\n\n", m.Params.Meta.ProgressToken, said)
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"data\":%s}}\n\n", said)
			fmt.Fprintf(w, "data: %s\n\n", answer(`"result":{"content":[{"type":"text","text":`+said+`}]}`))
		}
	}))
	defer server.Close()
	c, err := gatewaytest.MCPConnector("up", server.URL+"/mcp", anyTool)
	if err != nil {
		t.Fatal(err)
	}
	s.Secrets.Set("c", credentials.Credential{Value: secrets.New(key), Version: 1, Origins: registry.Origins{server.URL}})
	in := gatewaytest.Toolset("acme", 1, c, func(ts *registry.Toolset) {
		ts.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthBearer, CredentialID: "c"}
	})
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ mode, params, want string }{
		{"result", "", "you sent [redacted]"},
		{"error", "", "you sent [redacted] (code -32602)"},
		{"state", "", "you sent [redacted]"},
		{"status", "", "you sent [redacted]"},
		{"page", "", "HTTP 502"},
		{"broken", "", "not valid JSON-RPC"},
		{"refused", "", "HTTP 403"},
		{"stream", "", "you sent [redacted]"},
	} {
		mu.Lock()
		mode = row.mode
		mu.Unlock()
		for _, header := range [][]string{nil, {"Accept", "application/json, text/event-stream"}} {
			meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":"p","io.modelcontextprotocol/logLevel":"debug"`
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"do_it","arguments":{},"_meta":{%s}}}`, meta)
			status, got := post(t, s.URL("acme"), body, append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "do_it"}, header...)...)
			if !strings.Contains(got, row.want) {
				t.Errorf("%s: %d %s, want %s", row.mode, status, got, row.want)
			}
			if found := secretstest.Find([]byte(got), key); found != nil || strings.Contains(got, "cnry") || strings.Contains(got, "1f2e3d") {
				t.Errorf("%s: the agent reads the key (%v): %s", row.mode, found, got)
			}
			if row.mode == "stream" && header != nil && strings.Count(got, "you sent [redacted]") != 3 {
				t.Errorf("the notifications were not passed on: %s", got)
			}
		}
	}
	if found := secretstest.Find([]byte(log.String()), key); found != nil {
		t.Errorf("the log holds the key (%v)", found)
	}
}
