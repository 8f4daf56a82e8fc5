package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/textfilter"
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
