package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// library is a server of the official SDK whose resources change.
type library struct {
	*mcp.Server
	url            string
	joined, parted chan string // URIs
}

func newLibrary(t testing.TB, version string) *library {
	t.Helper()
	l := &library{joined: make(chan string, 16), parted: make(chan string, 16)}
	l.Server = mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
			if strings.HasPrefix(r.Params.URI, "other:") {
				return errors.New("there is no such resource")
			}
			l.joined <- r.Params.URI
			return nil
		},
		UnsubscribeHandler: func(_ context.Context, r *mcp.UnsubscribeRequest) error {
			l.parted <- r.Params.URI
			return nil
		},
	})
	for _, uri := range []string{"test://a", "test://b"} {
		l.AddResource(&mcp.Resource{Name: uri, URI: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "x"}}}, nil
		})
	}
	modern := version >= "2026"
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return l.Server }, &mcp.StreamableHTTPOptions{Stateless: modern})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !modern && r.Header.Get("Mcp-Method") == "server/discover" {
			w.WriteHeader(http.StatusBadRequest) // of the older revisions only
			return
		}
		h.ServeHTTP(w, r)
	}))
	endWith(t, up)
	endSessions(t, l.Server)
	l.url = up.URL
	return l
}

// connectorOf pins the two resources of a library.
func connectorOf(t testing.TB, l *library, version string) *connector.Connector {
	t.Helper()
	server := &connector.MCPServer{
		URL: l.url, Transport: manifest.TransportStreamable, Protocol: version, Name: "library", Version: "1", Subscribe: true,
		Tools: []json.RawMessage{json.RawMessage(`{"name":"a","inputSchema":{"type":"object"}}`)},
	}
	for _, uri := range []string{"test://a", "test://b"} {
		server.Items[manifest.Resources] = append(server.Items[manifest.Resources], []byte(`{"name":"`+uri+`","uri":"`+uri+`"}`))
	}
	c, err := gatewaytest.ServerConnector("library", server)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// waitFor reads one value that must come.
func waitFor(t testing.TB, what string, from <-chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Fatalf("%s: %s, want %s", what, got, want)
		}
	case <-time.After(15 * time.Second):
		t.Fatalf("%s: nothing came", what)
	}
}

// TestSubscriptions: the client of a session hears of changes of what it subscribed to, and
// of nothing else, whatever era the server is of.
func TestSubscriptions(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			l := newLibrary(t, version) // before the gateway, which ends first: its streams would keep the server from closing
			s := start(t, gatewaytest.Options{})
			if err := s.Serve(gatewaytest.Toolset("acme", 1, connectorOf(t, l, version), nil)); err != nil {
				t.Fatal(err)
			}
			told := make(chan string, 16)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				Capabilities:           &mcp.ClientCapabilities{},
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { told <- r.Params.URI },
			})
			c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL("acme")}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if !c.InitializeResult().Capabilities.Resources.Subscribe {
				t.Error("the capability is not declared")
			}
			update := func(uri string) {
				t.Helper()
				if err := l.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://a"}); err != nil {
				t.Fatal(err)
			}
			if version < "2026" {
				waitFor(t, "at the server", l.joined, "test://a")
			}
			update("test://b")
			update("test://a")
			waitFor(t, "changed", told, "test://a")
			if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://b"}); err != nil {
				t.Fatal(err)
			}
			update("test://b")
			for got := ""; got != "test://b"; { // a, too, where the stream was opened anew
				select {
				case got = <-told:
				case <-time.After(15 * time.Second):
					t.Fatal("of test://b nothing came")
				}
			}
			if err := c.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://a"}); err != nil {
				t.Fatal(err)
			}
			if version < "2026" {
				waitFor(t, "at the server", l.joined, "test://b")
				waitFor(t, "at the server", l.parted, "test://a")
			}
			if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "other://none"}); err == nil && version < "2026" {
				t.Error("what the server does not have can be subscribed to")
			}
		})
	}
}

// subscribeBody asks for changes of resources as 2026-07-28 does.
func subscribeBody(uris ...string) string {
	b, _ := json.Marshal(uris) // of strings
	return `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":` + string(b) + `},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

// listenFor opens a stream of 2026-07-28 and returns its first event and what reads the next.
func listenFor(t testing.TB, url, caller string, uris ...string) (ack string, next func() string) {
	t.Helper()
	resp := request(t, http.MethodPost, url, subscribeBody(uris...), "Authorization", tokenOf(caller), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("subscriptions/listen: %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	next = func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	return next(), next
}

// TestListenForResources: a subscription of 2026-07-28 is acknowledged as far as it will be
// reported, also by a server of the older revisions.
func TestListenForResources(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			l := newLibrary(t, version) // before the gateway, which ends first: its streams would keep the server from closing
			s := start(t, gatewaytest.Options{})
			doc := tokens(tokenGrant("ada", "*"), tokenGrant("bob", "resource:test://b"))
			serve := func(revision uint64) {
				t.Helper()
				in := gatewaytest.Toolset("acme", revision, connectorOf(t, l, version), func(ts *registry.Toolset) { ts.Access.Mode = registry.AccessToken })
				doc.Workspace, doc.Toolset = "test", in.ID
				in.Access, in.AccessDigest = doc, registry.DigestOf([]byte{byte(revision)})
				if err := s.Serve(in); err != nil {
					t.Fatal(err)
				}
			}
			serve(1)
			ack, next := listenFor(t, s.URL("acme"), "ada", "test://a", "test://a")
			if !strings.Contains(ack, `"notifications":{"resourceSubscriptions":["test://a"]}`) {
				t.Errorf("acknowledged with %s", ack)
			}
			if ack, _ := listenFor(t, s.URL("acme"), "bob", "test://a", "test://b"); !strings.Contains(ack, `"resourceSubscriptions":["test://b"]`) {
				t.Errorf("a token that opens test://b has %s", ack)
			}
			update := func(uri string) {
				t.Helper()
				if err := l.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
			}
			update("test://b")
			update("test://a")
			want := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"uri":"test://a"}}`
			if got := next(); got != want {
				t.Errorf("told %s", got)
			}
			serve(2) // the stream to the server is opened again, and what was missed is told
			if got := next(); got != want {
				t.Errorf("after another revision %s", got)
			}
			update("test://a")
			if got := next(); got != want {
				t.Errorf("told %s", got)
			}
		})
	}
}

// TestSubscribedIsEmpty: the result of a subscription has nothing that one of a tool has.
func TestSubscribedIsEmpty(t *testing.T) {
	l, s := newLibrary(t, "2025-11-25"), start(t, gatewaytest.Options{})
	if err := s.Serve(gatewaytest.Toolset("acme", 1, connectorOf(t, l, "2025-11-25"), nil)); err != nil {
		t.Fatal(err)
	}
	session := askable(t, s.URL("acme"))
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		resp := request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"uri":"test://a"}}`, "Mcp-Session-Id", session)
		if got := bodyOf(t, resp); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("%s: %s", method, got)
		}
	}
}
