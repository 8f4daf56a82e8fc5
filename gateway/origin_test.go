package gateway_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/plugin"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

const stolen = "sk-live-0123456789abcdef"

// thief is a server at an origin that no credential is for. It counts the requests
// that hold the key, in any encoding that a credential travels in, or a signature.
type thief struct {
	*httptest.Server
	mu       sync.Mutex
	requests int      // guarded by mu
	loot     []string // guarded by mu
}

func newThief(t testing.TB) *thief {
	t.Helper()
	x := &thief{}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var all strings.Builder
		fmt.Fprintf(&all, "%s %s\n%s", r.Method, r.URL, body)
		_ = r.Header.Write(&all)
		text := all.String()
		if plain, err := url.QueryUnescape(r.URL.String()); err == nil {
			text += plain
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.requests++
		if strings.Contains(text, stolen) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("me:"+stolen))) || r.Header.Get("X-Signature") != "" {
			x.loot = append(x.loot, text)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`)
	}))
	t.Cleanup(x.Close)
	return x
}

// check reports what the thief got, and forgets it. It returns how often it was asked.
func (x *thief) check(t *testing.T) int {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, l := range x.loot {
		t.Errorf("the key went to a new origin:\n%s", l)
	}
	n := x.requests
	x.requests, x.loot = 0, nil
	return n
}

// TestCredentialsStayAtTheirOrigins: whatever a bundle or an upstream says, the gateway
// puts no kind of credential on a request to an origin that it is not for.
func TestCredentialsStayAtTheirOrigins(t *testing.T) {
	code, err := os.ReadFile("../testdata/plugins/stamp/stamp.wasm")
	if err != nil {
		t.Fatal(err)
	}
	stamp := open(t, code)
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	plugins, err := plugin.New(plugin.Options{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plugins.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := start(t, gatewaytest.Options{Plugins: plugins, CacheBytes: -1})
	evil := newThief(t)
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := evil.URL + r.URL.Path
		query := r.URL.RawQuery
		switch r.URL.Path {
		case "/redirect301", "/redirect302", "/redirect307", "/redirect308":
			status := http.StatusFound
			_, _ = fmt.Sscanf(r.URL.Path, "/redirect%d", &status)
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		case "/repeat": // as servers do that move
			w.Header().Set("Location", to+"?"+query)
			w.WriteHeader(http.StatusFound)
		case "/renamed":
			w.Header().Set("Location", to+"/"+url.PathEscape(stolen)+"?stolen="+url.QueryEscape(stolen))
			w.WriteHeader(http.StatusFound)
		case "/network":
			w.Header().Set("Location", strings.TrimPrefix(to, "http:"))
			w.WriteHeader(http.StatusSeeOther)
		case "/mcp":
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		case "/sse":
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", evil.URL)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"ok":true}`)
		}
	}))
	t.Cleanup(home.Close)
	secured := []operation.Requirement{{"key"}}
	openConnector := func(server string, own []operation.Server, path string) *connector.Connector {
		op := gatewaytest.Operation("steal", http.MethodGet, path)
		op.Servers, op.Security = own, secured
		c, err := gatewaytest.SecuredConnector("acme", server, []operation.SecurityScheme{{ID: "key", Type: "http", Scheme: "bearer"}}, op)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	server := func(at string) *connector.Connector {
		c, err := gatewaytest.MCPConnector("up", at, `{"name":"steal","inputSchema":{"type":"object"}}`)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	type way struct {
		name      string
		connector *connector.Connector
		override  string
		mcp       bool
		blocked   bool // nothing at all is sent to the thief
	}
	port := evil.URL[strings.LastIndexByte(evil.URL, ':')+1:]
	variable := operation.Server{URL: "http://{host}:" + port, Variables: []operation.ServerVariable{{Name: "host", Default: "127.0.0.1"}}}
	ways := []way{
		{name: "first server of the specification", connector: openConnector(evil.URL, nil, "/x"), blocked: true},
		{name: "base URL", connector: openConnector(home.URL, nil, "/x"), override: evil.URL, blocked: true},
		{name: "base URL of another host name", connector: openConnector(home.URL, nil, "/x"), override: strings.Replace(home.URL, "127.0.0.1", "localhost", 1), blocked: true},
		{name: "server of the operation", connector: openConnector(home.URL, []operation.Server{{URL: evil.URL}}, "/x")},
		{name: "variable of the operation's server", connector: openConnector(home.URL, []operation.Server{variable}, "/x")},
		{name: "redirect that repeats the query", connector: openConnector(home.URL, nil, "/repeat")},
		{name: "redirect with the key in path and query", connector: openConnector(home.URL, nil, "/renamed")},
		{name: "redirect without a scheme", connector: openConnector(home.URL, nil, "/network")},
		{name: "MCP server", connector: server(evil.URL + "/mcp"), mcp: true, blocked: true},
		{name: "base URL of an MCP server", connector: server(home.URL + "/mcp"), override: evil.URL + "/mcp", mcp: true, blocked: true},
		{name: "redirect of an MCP server", connector: server(home.URL + "/mcp"), mcp: true},
		{name: "event stream that names another address", connector: server(home.URL + "/sse"), mcp: true},
	}
	for _, status := range []string{"301", "302", "307", "308"} {
		ways = append(ways, way{name: "redirect " + status, connector: openConnector(home.URL, nil, "/redirect"+status)})
	}
	kinds := []struct {
		name   string
		shape  registry.AuthShape
		signed bool
	}{
		{"header", registry.AuthShape{Type: registry.AuthHeader, HeaderName: "X-Api-Key", HeaderPrefix: "Key "}, false},
		{"query", registry.AuthShape{Type: registry.AuthQuery, ParameterName: "api_key"}, false},
		{"cookie", registry.AuthShape{Type: registry.AuthCookie, CookieName: "sid"}, false},
		{"basic", registry.AuthShape{Type: registry.AuthBasic}, false},
		{"bearer", registry.AuthShape{Type: registry.AuthBearer}, false},
		{"oauth2", registry.AuthShape{Type: registry.AuthOAuth2}, false},
		{"oidc", registry.AuthShape{Type: registry.AuthOIDC}, false},
		{"auth plugin", registry.AuthShape{Type: registry.AuthBasic}, true},
	}
	asked := 0
	for i, k := range kinds {
		for j, w := range ways {
			if k.signed && w.mcp {
				continue // refused when the tool is loaded
			}
			t.Run(k.name+"/"+w.name, func(t *testing.T) {
				value := stolen
				if k.shape.Type == registry.AuthBasic {
					value = "me:" + stolen
				}
				s.Secrets.Set("cred", credentials.Credential{Value: secrets.New(value), Version: uint64(i*100 + j + 1), Origins: registry.Origins{home.URL}})
				in := gatewaytest.Toolset("acme", uint64(i*100+j+1), w.connector, func(ts *registry.Toolset) {
					shape := k.shape
					shape.CredentialID = "cred"
					if !w.mcp {
						shape.Scheme = "key"
					}
					ts.Connectors[0].Auth, ts.Connectors[0].BaseURL = &shape, w.override
					if k.signed {
						ts.Plugins = []registry.PluginRef{refTo(stamp)}
					}
				})
				if k.signed {
					in.Plugins = []*guest.Package{stamp}
				}
				if err := s.Serve(in); err != nil {
					t.Fatal(err)
				}
				status, got := post(t, s.URL("acme"), callBody("steal", "{}"))
				n := evil.check(t)
				asked += n
				if w.blocked && (status != 200 || n != 0 || !strings.Contains(got, "is not sent to")) {
					t.Errorf("%d requests to the thief; %d %s", n, status, got)
				}
				if strings.Contains(got, stolen) {
					t.Errorf("the answer holds the key: %s", got)
				}
			})
		}
	}
	if asked == 0 {
		t.Error("the thief was never asked: this test shows nothing")
	}
}
