package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
)

// TestMalformedServerResults: a result that is not as MCP has it is a tool error, and
// nothing of it is passed on; each rule at its bound, and what the rules let through.
func TestMalformedServerResults(t *testing.T) {
	const words = "words of the server"
	text := `{"type":"text","text":"` + words + `"}`
	items := func(n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	rows := []struct {
		name, result string
		fault        string // in the answer; "": it is passed on
		modern       string // the same on a connection of 2026-07-28; "-": as fault
	}{
		{"honest", `{"content":[` + text + `]}`, "", "-"},
		{"no items", `{"content":[],"_meta":{"m":"` + words + `"}}`, "", "-"},
		{"isError is a text", `{"isError":"true","content":[` + text + `]}`, "isError must be a boolean", "-"},
		{"isError and _meta are null", `{"isError":null,"_meta":null,"content":[` + text + `]}`, "", "-"},
		{"structuredContent is null", `{"structuredContent":null,"content":[` + text + `]}`, "", "-"},
		{"content is null", `{"content":null,"structuredContent":{"a":"` + words + `"}}`, "content must be an array", "-"},
		{"_meta is a list", `{"_meta":[],"content":[` + text + `]}`, "_meta must be an object", "-"},
		{"structuredContent is a list", `{"content":[` + text + `],"structuredContent":["` + words + `"]}`, "structuredContent must be an object", ""},
		{"structuredContent is a text", `{"content":[` + text + `],"structuredContent":"` + words + `"}`, "structuredContent must be an object", ""},
		{"no content", `{"structuredContent":{"a":"` + words + `"}}`, "it has no content", "-"},
		{"content is an object", `{"content":` + text + `}`, "content must be an array", "-"},
		{"content is a text", `{"content":"` + words + `"}`, "content must be an array", "-"},
		{"content twice, the second no list", `{"content":[` + text + `],"content":"` + words + `"}`, "content must be an array", "-"},
		{"10,000 items", `{"content":[` + items(10_000) + `]}`, "", "-"},
		{"10,001 items", `{"content":[` + items(10_001) + `]}`, "more than 10000 items", "-"},
		{"an item is a text", `{"content":["` + words + `"]}`, "item 0 is not an object", "-"},
		{"the second item is a number", `{"content":[` + text + `,7]}`, "item 1 is not an object", "-"},
		{"no type", `{"content":[{"text":"` + words + `"}]}`, "item 0 is of an unknown type", "-"},
		{"another type", `{"content":[{"type":"html","text":"` + words + `"}]}`, "item 0 is of an unknown type", "-"},
		{"a text without text", `{"content":[{"type":"text","data":"` + words + `"}]}`, "item 0 has no text", "-"},
		{"a text that is an object", `{"content":[{"type":"text","text":{"a":"` + words + `"}}]}`, "item 0 has no text", "-"},
		{"an image", `{"content":[{"type":"image","data":"eA==","mimeType":"image/png"},` + text + `]}`, "", "-"},
		{"an image without data", `{"content":[{"type":"image","mimeType":"image/png"},` + text + `]}`, "item 0 has no data or mimeType", "-"},
		{"an image without a media type", `{"content":[{"type":"image","data":"eA=="},` + text + `]}`, "item 0 has no data or mimeType", "-"},
		{"a sound whose data is a list", `{"content":[{"type":"audio","data":[],"mimeType":"audio/wav"},` + text + `]}`, "item 0 has no data or mimeType", "-"},
		{"a resource", `{"content":[{"type":"resource","resource":{"uri":"x://y","text":"` + words + `"}}]}`, "", "-"},
		{"a resource that is a text", `{"content":[{"type":"resource","resource":"` + words + `"}]}`, "item 0 has no resource", "-"},
		{"a resource without a URI", `{"content":[{"type":"resource","resource":{"text":"` + words + `"}}]}`, "item 0 has no resource", "-"},
		{"a resource without content", `{"content":[{"type":"resource","resource":{"uri":"x://y"}},` + text + `]}`, "item 0 has no resource", "-"},
		{"a resource whose blob is null", `{"content":[{"type":"resource","resource":{"uri":"x://y","text":"` + words + `","blob":null}}]}`, "", "-"},
		{"a resource whose kinds are null", `{"content":[{"type":"resource","resource":{"uri":"x://y","text":null,"blob":null}},` + text + `]}`, "item 0 has no resource", "-"},
		{"a resource with both kinds", `{"content":[{"type":"resource","resource":{"uri":"x://y","text":"` + words + `","blob":"eA=="}}]}`, "item 0 has no resource", "-"},
		{"a resource whose blob is a number", `{"content":[{"type":"resource","resource":{"uri":"x://y","text":"` + words + `","blob":7}}]}`, "item 0 has no resource", "-"},
		{"a link", `{"content":[{"type":"resource_link","uri":"x://z","name":"` + words + `"}]}`, "", "-"},
		{"a link without a URI", `{"content":[{"type":"resource_link","name":"` + words + `"}]}`, "item 0 has no uri or name", "-"},
		{"a link without a name", `{"content":[{"type":"resource_link","uri":"x://z"},` + text + `]}`, "item 0 has no uri or name", "-"},
	}
	for era, modern := range map[string]bool{"legacy": false, "modern": true} {
		s := start(t, gatewaytest.Options{})
		u := newUpstreamServer(t, modern)
		serveServer(t, s, u, nil, anyTool)
		for _, c := range rows {
			fault := c.fault
			if modern && c.modern != "-" {
				fault = c.modern
			}
			t.Run(era+"/"+c.name, func(t *testing.T) {
				u.answer("do.it", `"result":`+c.result)
				status, got := callRaw(t, s, false, "do_it", "")
				if status != http.StatusOK || !json.Valid([]byte(got)) {
					t.Fatalf("status %d: %s", status, got)
				}
				bad, passed := strings.Contains(got, `"isError":true`), strings.Contains(got, words)
				switch {
				case fault == "" && (bad || !passed):
					t.Errorf("it is not passed on: %.300s", got)
				case fault != "" && (!bad || passed || !strings.Contains(got, fault) || !strings.Contains(got, "malformed")):
					t.Errorf("want the fault %q and nothing of the result: %.300s", fault, got)
				}
			})
		}
	}
}
