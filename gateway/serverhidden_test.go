package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// TestServerHiddenCharacters: nothing of an MCP server's answer that nobody sees
// reaches an agent, in whatever member it stands.
func TestServerHiddenCharacters(t *testing.T) {
	const hidden = `ab\u200bc\udb40\udc41\u001b[31md\u202ee`
	nested := strings.ReplaceAll(hidden, `\`, `\\`) // JSON in a string of JSON
	for name, answer := range map[string]string{
		"text":       `"result":{"content":[{"type":"text","text":"` + hidden + `"}]}`,
		"raw":        `"result":{"content":[{"type":"text","text":"ab` + "\u200bc\U000e0041d\u202ee" + `"}]}`,
		"document":   `"result":{"content":[{"type":"text","text":"{\"k\":\"` + nested + `\"}"}]}`,
		"resource":   `"result":{"content":[{"type":"resource","resource":{"uri":"x://y","text":"` + hidden + `"}}]}`,
		"link":       `"result":{"content":[{"type":"resource_link","uri":"x://z","name":"` + hidden + `","description":"` + hidden + `"}]}`,
		"structured": `"result":{"content":[],"structuredContent":{"k` + hidden + `":"` + hidden + `"}}`,
		"failure":    `"result":{"isError":true,"content":[{"type":"text","text":"` + hidden + `"}]}`,
		"other":      `"result":{"content":[],"x":{"y":"` + hidden + `"},"_meta":{"m":"` + hidden + `"}}`,
		"fault":      `"error":{"code":-32000,"message":"` + hidden + `"}`,
		"refusal":    `"error":{"code":-32021,"message":"` + hidden + `","data":{"d":"` + hidden + `"}}`,
		"question":   `"result":{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"` + hidden + `"}}}}`,
	} {
		for _, profile := range []string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise} {
			for _, keep := range []bool{false, true} {
				t.Run(name+"/"+profile, func(t *testing.T) {
					s := start(t, gatewaytest.Options{})
					u := newUpstreamServer(t, true)
					serveServer(t, s, u, func(ts *registry.Toolset) { ts.Profile, ts.Answers = profile, &registry.Answers{KeepHidden: keep} }, anyTool)
					u.answer("do.it", answer)
					status, got := callRaw(t, s, false, "do_it", "")
					if !json.Valid([]byte(got)) {
						t.Fatalf("status %d: %s", status, got)
					}
					visible := textfilter.IndexJSON([]byte(got)) < 0 && !strings.Contains(got, `\\u200b`) && strings.Contains(got, "abcde")
					if visible == (keep && name != "fault" && name != "refusal") && (name != "fault" || !keep) {
						t.Fatalf("keep %v, status %d: %s", keep, status, got)
					}
				})
			}
		}
	}
}

// TestPagesOfApps: the page of an MCP App is a program, whose tables may have control characters:
// it stays as it is. Other resources lose what nobody sees, also one that only says it is such a
// page, and one beside a page.
func TestPagesOfApps(t *testing.T) {
	const app, text = "text/html;profile=mcp-app", "<script>t=\"\x15\u200b\x1f\"</script>"
	for name, tt := range map[string]struct {
		contents []*mcp.ResourceContents
		same     bool
	}{
		"app":          {[]*mcp.ResourceContents{{URI: "ui://a", MIMEType: app, Text: text}}, true},
		"older":        {[]*mcp.ResourceContents{{URI: "ui://a", MIMEType: "text/html+skybridge", Text: text}}, true},
		"other scheme": {[]*mcp.ResourceContents{{URI: "https://a.example", MIMEType: app, Text: text}}, false},
		"other type":   {[]*mcp.ResourceContents{{URI: "ui://a", MIMEType: "text/html", Text: text}}, false},
		"beside": {[]*mcp.ResourceContents{
			{URI: "ui://a", MIMEType: app, Text: "<html>"}, {URI: "test://b", MIMEType: "text/plain", Text: text},
		}, false},
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+"/"+version, func(t *testing.T) {
				l := newLibrary(t, version)
				l.AddResource(&mcp.Resource{Name: "page", URI: tt.contents[0].URI}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: tt.contents}, nil
				})
				c, err := gatewaytest.ServerConnector("library", &connector.MCPServer{
					URL: l.url, Transport: manifest.TransportStreamable, Protocol: version, Name: "library", Version: "1", Reads: true,
					Tools: []json.RawMessage{json.RawMessage(`{"name":"a","inputSchema":{"type":"object"}}`)},
				})
				if err != nil {
					t.Fatal(err)
				}
				s := start(t, gatewaytest.Options{})
				if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
					t.Fatal(err)
				}
				got := bodyOf(t, request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"`+tt.contents[0].URI+`"}}`))
				var answer struct{ Result mcp.ReadResourceResult }
				if err := json.Unmarshal([]byte(got), &answer); err != nil || len(answer.Result.Contents) != len(tt.contents) {
					t.Fatalf("%v: %s", err, got)
				}
				if said := answer.Result.Contents[len(tt.contents)-1].Text; (said == text) != tt.same || !tt.same && said != `<script>t=""</script>` {
					t.Fatalf("got %q", said)
				}
			})
		}
	}
}
