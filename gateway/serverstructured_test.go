package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/registry"
)

// TestServerStructuredBudget: structuredContent that is passed on keeps within the token
// budget by losing whole items, and a text tells how to get the rest.
func TestServerStructuredBudget(t *testing.T) {
	const rows = 4000
	var list strings.Builder
	for i := range rows {
		fmt.Fprintf(&list, `{"id":%d,"name":"row %d","url":"https://x.example/rows/%d"},`, i, i, i)
	}
	structured := `{"total":4000,"items":[` + strings.TrimSuffix(list.String(), ",") + `]}`
	text, _ := json.Marshal(structured)
	object := `{"id":1,"body":"` + strings.Repeat("a long text ", 20_000) + `"}`
	for _, c := range []struct {
		name, profile, result string
		items                 bool // structuredContent is a page of the list; else it is object
	}{
		{"off", registry.ProfileOff, `"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` + structured, true},
		{"lossless", registry.ProfileLossless, `"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` + structured, true},
		{"no text says it", registry.ProfileLossless, `"content":[{"type":"text","text":"4000 rows"}],"structuredContent":` + structured, true},
		{"one object", registry.ProfileLossless, `"content":[{"type":"text","text":"a row"}],"structuredContent":` + object, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, gatewaytest.Options{})
			u := newUpstreamServer(t, true)
			serveServer(t, s, u, func(ts *registry.Toolset) { ts.Profile = c.profile }, anyTool)
			u.answer("do.it", `"result":{"resultType":"complete",`+c.result+`}`)
			status, got := callRaw(t, s, false, "do_it", "")
			if status != 200 {
				t.Fatalf("status %d: %s", status, got)
			}
			var r struct {
				Result struct {
					Content           []struct{ Text string }
					StructuredContent json.RawMessage
				}
			}
			if err := json.Unmarshal([]byte(got), &r); err != nil {
				t.Fatal(err)
			}
			if !c.items {
				if string(r.Result.StructuredContent) != object {
					t.Fatalf("structuredContent has %d bytes, want the object as it came", len(r.Result.StructuredContent))
				}
				return
			}
			var page struct {
				Total int
				Items []struct{ ID int }
			}
			if err := json.Unmarshal(r.Result.StructuredContent, &page); err != nil {
				t.Fatal(err)
			}
			// The default budget is 25,000 tokens of at least one byte each and far fewer than ten.
			if n := len(page.Items); page.Total != rows || n == 0 || n == rows || len(r.Result.StructuredContent) > 250_000 {
				t.Fatalf("total %d, %d items, %d bytes", page.Total, n, len(r.Result.StructuredContent))
			}
			for i, row := range page.Items {
				if row.ID != i {
					t.Fatalf("item %d is row %d", i, row.ID)
				}
			}
			if n := strings.Count(got, `"structuredContent: [items 1-`); n != 1 {
				t.Fatalf("%d notes say what structuredContent holds, want 1", n)
			}
		})
	}
}

// TestServerStructuredValues: a value of a server of 2026-07-28 that is not an object is passed on to
// clients of that revision, and to older ones in an object, which they want.
func TestServerStructuredValues(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	u := newUpstreamServer(t, true)
	serveServer(t, s, u, func(ts *registry.Toolset) { ts.Profile = registry.ProfileLossless }, anyTool)
	for _, value := range []string{`[1,2]`, `"a text"`, `7`, `null`, `{"a":1}`} {
		u.answer("do.it", `"result":{"resultType":"complete","content":[{"type":"text","text":"said"}],"structuredContent":`+value+`}`)
		for _, modern := range []bool{true, false} {
			want := value
			if !modern && value[0] != '{' {
				want = `{"result":` + value + `}`
			}
			if _, got := callRaw(t, s, !modern, "do_it", ""); !strings.Contains(got, `"structuredContent":`+want) {
				t.Errorf("modern %t: %s became %s", modern, value, got)
			}
		}
	}
}
