package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestResourcesThatAreNotListed: what results of a server's tools name can be read where the
// server declares resources and lists none.
func TestResourcesThatAreNotListed(t *testing.T) {
	l := newLibrary(t, "2025-11-25")
	for _, reads := range []bool{true, false} {
		c, err := gatewaytest.ServerConnector("library", &connector.MCPServer{
			URL: l.url, Transport: manifest.TransportStreamable, Protocol: "2025-11-25", Name: "library", Version: "1", Reads: reads,
			Tools: []json.RawMessage{json.RawMessage(`{"name":"a","inputSchema":{"type":"object"}}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, gatewaytest.Options{})
		if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
			t.Fatal(err)
		}
		session := askable(t, s.URL("acme"))
		for params, want := range map[string]string{
			`resources/list {}`:                       `"result":{"resources":[]}`,
			`resources/templates/list {}`:             `"result":{"resourceTemplates":[]}`,
			`resources/read {"uri":"test://a"}`:       `"text":"x"`,
			`resources/read {"uri":"test://nothing"}`: `"code":-32002`,
		} {
			method, arguments, _ := strings.Cut(params, " ")
			resp := request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+arguments+`}`, "Mcp-Session-Id", session)
			if !reads {
				want = `"code":-32601`
			}
			if got := bodyOf(t, resp); !strings.Contains(got, want) {
				t.Errorf("reads %v: %s: %s, want %s", reads, params, got, want)
			}
		}
	}
}

// TestPromptsThatAreNotListed: a client that asks for the prompts of a server that declares them and
// lists none gets an empty list; of one that declares none it gets an error.
func TestPromptsThatAreNotListed(t *testing.T) {
	for _, empty := range []bool{true, false} {
		c, err := gatewaytest.ServerConnector("up", &connector.MCPServer{
			URL: "https://a.example/mcp", Transport: manifest.TransportStreamable, Protocol: "2025-11-25", Name: "up", Version: "1", EmptyPrompts: empty,
			Tools: []json.RawMessage{json.RawMessage(`{"name":"a","inputSchema":{"type":"object"}}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, gatewaytest.Options{})
		if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			`initialize {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`: `"prompts":{`,
			`prompts/list {}`:           `"result":{"prompts":[]}`,
			`prompts/get {"name":"no"}`: `"code":-32602`,
			`resources/list {}`:         `"code":-32601`,
		}
		for params, want := range want {
			method, arguments, _ := strings.Cut(params, " ")
			got := bodyOf(t, request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+arguments+`}`))
			if method == "initialize" {
				if strings.Contains(got, want) != empty {
					t.Errorf("empty %t: it declares %s", empty, got)
				}
				continue
			}
			if !empty {
				want = `"code":-32601`
			}
			if !strings.Contains(got, want) {
				t.Errorf("empty %t: %s: %s, want %s", empty, method, got, want)
			}
		}
	}
}
