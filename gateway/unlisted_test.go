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
