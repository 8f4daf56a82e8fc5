package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

const opensAddress = `"error":{"code":-32042,"message":"log in first","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://x.example/login","message":"Log in"}]}}`

// TestServerErrors: of an error that a server gives instead of a tool's result the agent reads
// message, code and data, and its client has it as the server sent it.
func TestServerErrors(t *testing.T) {
	const maxFaultData = 64 << 10 // of gateway/call
	// The member is {"d":"…"}: 8 bytes around the text.
	fits, over := strings.Repeat("x", maxFaultData-8), strings.Repeat("x", maxFaultData-7)
	for name, c := range map[string]struct {
		answer string
		want   []string
		not    string
	}{
		"object":    {`"error":{"code":-32000,"message":"no","data":{ "field": "a", "n": 9007199254740993 }}`, []string{`no (code -32000). Data: {\"field\":\"a\",\"n\":9007199254740993}"`, `"dev.sluice/error":{"code":-32000,"message":"no","data":{ "field": "a", "n": 9007199254740993 }}`}, ""},
		"string":    {`"error":{"code":7,"message":"no","data":"line \"1\""}`, []string{`(code 7). Data: line \"1\""`, `"data":"line \"1\""}`}, ""},
		"null":      {`"error":{"code":7,"message":"no","data":null}`, []string{`(code 7)."`, `"data":null}`}, "Data:"},
		"none":      {`"error":{"code":7,"message":"no"}`, []string{`(code 7)."`, `"dev.sluice/error":{"code":7,"message":"no"}`}, "Data:"},
		"arguments": {`"error":{"code":-32602,"message":"no","data":{"path":"r"}}`, []string{`arguments do not fit`, `Data: {\"path\":\"r\"}"`}, ""},
		"at most":   {`"error":{"code":7,"message":"no","data":{"d":"` + fits + `"}}`, []string{fits, `xxx […]"`}, "left out"},
		"too large": {`"error":{"code":7,"message":"no","data":{"d":"` + over + `"}}`, []string{`Its data of 65537 bytes is left out: more than 64 KiB.`, `"dev.sluice/error":{"code":7,"message":"no"}`}, "xxx"},
		"its own secret": {
			`"error":{"code":7,"message":"no","data":{"d":"first-key","e":"first\u200b-key"}}`,
			[]string{`"d":"` + secrets.Redacted, `"e":"` + secrets.Redacted},
			"-key",
		},
		"hidden": {`"error":{"code":7,"message":"no","data":{"d":"a\u200bb"}}`, []string{`Data: {\"d\":\"ab\"}`, `"data":{"d":"ab"}`}, "200b"},
		"opens":  {opensAddress, []string{`open an address first`, `https://x.example/login`}, `"error":{"code"`},
	} {
		for _, legacy := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := start(t, gatewaytest.Options{})
				u := newUpstreamServer(t, !legacy)
				s.Secrets.Set("c", credentials.Credential{Value: secrets.New("first-key"), Version: 1, Origins: registry.Origins{u.URL}})
				u.key = "first-key"
				serveServer(t, s, u, func(ts *registry.Toolset) {
					ts.Connectors[0].Auth = &registry.AuthShape{Type: registry.AuthBearer, CredentialID: "c"}
				}, anyTool)
				u.answer("do.it", c.answer)
				for _, client := range []bool{legacy, !legacy} { // of the same revision as its server, and of the other
					status, got := callRaw(t, s, client, "do_it", "")
					for _, want := range c.want {
						if !strings.Contains(got, want) {
							t.Errorf("no %.100s in %d %.300s", want, status, got)
						}
					}
					if status != http.StatusOK || !strings.Contains(got, `"isError":true`) || c.not != "" && strings.Contains(got, c.not) {
						t.Errorf("%d %.300s", status, got)
					}
				}
			})
		}
	}
}

// TestServerWantsOpened: an address that the user must open before the call reaches a client
// that shows addresses: in a session as the server sent it, and in 2026-07-28 as a question,
// after whose answer the call is made again.
func TestServerWantsOpened(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	u := newUpstreamServer(t, false)
	serveServer(t, s, u, nil, anyTool)
	u.answer("do.it", opensAddress)
	shake := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}}},"clientInfo":{"name":"c","version":"1"}}}`
	session := request(t, http.MethodPost, s.URL("acme"), shake).Header.Get("Mcp-Session-Id")
	resp := request(t, http.MethodPost, s.URL("acme"), callBody("do_it", "{}"), "Mcp-Session-Id", session)
	if got := bodyOf(t, resp); !strings.Contains(got, opensAddress) {
		t.Errorf("in a session: %s", got)
	}
	declares := []string{"Test-Meta", `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}`}
	const asks = `"resultType":"input_required","inputRequests":{"request-1":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e1","url":"https://x.example/login","message":"Log in"}}}`
	if _, got := callRaw(t, s, false, "do_it", "", declares...); !strings.Contains(got, asks) {
		t.Errorf("2026-07-28: %s", got)
	}
	u.answer("do.it", `"result":{"content":[{"type":"text","text":"in"}]}`)
	if _, got := callRaw(t, s, false, "do_it", `"inputResponses":{"request-1":{"action":"accept"}}`, declares...); !strings.Contains(got, `"text":"in"`) {
		t.Errorf("after it: %s", got)
	}
	if body, _ := u.last(); strings.Contains(body, "inputResponses") {
		t.Errorf("a server of an older revision got %s", body)
	}
}

// TestServerItemErrors: an error about a prompt or a resource has its data too.
func TestServerItemErrors(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{"missing":["a"]}`, `"error":{"code":-32000,"message":"no","data":{"missing":["a"]}}`},
		{`"` + strings.Repeat("x", 64<<10) + `"`, `"error":{"code":-32000,"message":"no"}`},
	} {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&m)
			members := `"error":{"code":-32000,"message":"no","data":` + c.data + `}`
			if m.Method == "server/discover" {
				members = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"prompts":{}}}`
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, members)
		}))
		t.Cleanup(up.Close)
		server := &connector.MCPServer{URL: up.URL, Transport: manifest.TransportStreamable, Protocol: "2026-07-28", Name: "up", Version: "1"}
		server.Items[manifest.Prompts] = []json.RawMessage{json.RawMessage(`{"name":"p"}`)}
		connector, err := gatewaytest.ServerConnector("up", server)
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, gatewaytest.Options{})
		if err := s.Serve(gatewaytest.Toolset("acme", 1, connector, nil)); err != nil {
			t.Fatal(err)
		}
		resp := request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p"}}`, "MCP-Protocol-Version", "2025-11-25")
		if got := bodyOf(t, resp); !strings.Contains(got, c.want) {
			t.Errorf("%.300s", got)
		}
	}
}

func bodyOf(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
