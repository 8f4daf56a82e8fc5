package snapshot_test

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

// TestFetchAndFieldsListed: each list pays for the definition of fetch_result and for
// fields, so they are there where a tool of the toolset can need them.
func TestFetchAndFieldsListed(t *testing.T) {
	for _, c := range []struct {
		what, method, output string
		accept               string
		answers              *registry.Answers
		selection            *registry.Selection
		fetch, fields        bool
	}{
		{what: "reads what is not described", method: "GET", fetch: true, fields: true},
		{what: "changes something, and says nothing", method: "POST"},
		{what: "changes something, and says its number", method: "POST", output: `{"type":"object","properties":{"id":{"type":"string"}}}`},
		{what: "changes something, and says two things", method: "POST", output: `{"type":"object","properties":{"id":{"type":"string"},"state":{"type":"string"}}}`, fields: true},
		{what: "reads a number", method: "GET", output: `{"type":"object","properties":{"count":{"type":"integer"}}}`},
		{what: "reads a text", method: "GET", output: `{"type":"object","properties":{"text":{"type":"string"}}}`, fetch: true},
		{what: "changes something, and gives a list", method: "POST", output: `{"type":"object","properties":{"all":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}}}}}}`, fetch: true, fields: true},
		{what: "gives a document", method: "POST", accept: "text/html", fetch: true},
		{what: "has a small budget", method: "POST", answers: &registry.Answers{Budget: registry.MinTokenBudget}, fetch: true},
		{what: "has the usual budget", method: "POST", answers: &registry.Answers{Budget: registry.DefaultTokenBudget}},
		{what: "shares the budget of a batch", method: "POST", selection: &registry.Selection{Mode: registry.SelectAll, Batch: true}, fetch: true},
		{what: "has no budget", method: "GET", answers: &registry.Answers{Budget: registry.NoTokenBudget}, fields: true},
	} {
		op := gatewaytest.Operation("do", c.method, "/x")
		if c.output != "" {
			op.OutputSchema = []byte(c.output)
		}
		if c.accept != "" {
			op.Plan.Accept = c.accept
		}
		s := mustCompile(t, nil, gatewaytest.Toolset("a", 1, mustConnector(t, "a", "http://h", op), func(b *registry.Toolset) { b.Answers, b.Selection = c.answers, c.selection }))
		list, err := s.Slug("a").List()
		if err != nil {
			t.Fatal(err)
		}
		page, _, _ := list.Page(nil)
		text := string(page)
		if fetch := strings.Contains(text, snapshot.FetchTool); fetch != c.fetch || fetch != (s.Slug("a").Fetch() != nil) {
			t.Errorf("%s: fetch_result is listed: %t", c.what, fetch)
		}
		def, _, _ := strings.Cut(text, snapshot.FetchTool)
		if fields := strings.Contains(def, `"fields"`); fields != c.fields {
			t.Errorf("%s: fields is listed: %t", c.what, fields)
		}
		tool, err := s.Slug("a").Tool([]byte("do"))
		if err != nil {
			t.Fatal(err)
		}
		ready, err := tool.Load()
		if err != nil {
			t.Fatal(err)
		}
		if takes := ready.Answer.Argument != ""; takes != (c.accept == "") {
			t.Errorf("%s: fields is taken: %t", c.what, takes)
		}
		if f := s.Slug("a").Fetch(); f != nil {
			def, err := f.AppendDefinition(nil)
			if n := tokens.Count(def); err != nil || n > 85 {
				t.Errorf("%d tokens, %v: %s", n, err, def)
			}
			for _, say := range []string{"cut answer", "last line", `"handle"`, `"grep"`, `"readOnlyHint":true`} {
				if !strings.Contains(string(def), say) {
					t.Errorf("%s is not in %s", say, def)
				}
			}
		}
	}
}
