package catalog

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/catalog.md")

// TestReport: the table of docs/catalog.md is that of the built-in entries.
func TestReport(t *testing.T) {
	c, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	const page = "../../docs/catalog.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "<!-- table -->\n")
	_, after, ends := strings.Cut(rest, "<!-- end -->")
	if !found || !ends {
		t.Fatalf("%s has no place for the table", page)
	}
	want := before + "<!-- table -->\n" + table(c.All()) + "<!-- end -->" + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("the table of %s is not that of the entries: make catalog-report", page)
	}
}

func table(list []*Entry) string {
	var b strings.Builder
	tokens, generated, half, rest, servers, asked, answered := 0, 0, 0, 0, 0, 0, 0
	b.WriteString("| entry | category | kind | tools | tokens | generated | | answers |\n| --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n")
	for _, e := range list {
		kind, tools := "REST API", fmt.Sprint(len(e.Tools))
		if e.Kind() == KindMCP {
			kind = "MCP server"
			servers++
		} else {
			rest++
		}
		if len(e.Tools) == 0 {
			tools = "all"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |", e.ID, e.Category, kind, tools)
		v := e.Verified
		if v == nil {
			b.WriteString(" unverified | | | |\n")
			continue
		}
		answers := "not measured"
		if v.Questions > 0 {
			answers = fmt.Sprintf("%d of %d", v.Answered, v.Questions)
			asked, answered = asked+v.Questions, answered+v.Answered
		}
		fmt.Fprintf(&b, " %d | %d | %d %% | %s |\n", v.Tokens, v.GeneratedTokens, percent(v.Tokens, v.GeneratedTokens), answers)
		tokens, generated = tokens+v.Tokens, generated+v.GeneratedTokens
		if 2*v.Tokens <= v.GeneratedTokens {
			half++
		}
	}
	fmt.Fprintf(&b, "\n%d REST APIs, %d MCP servers. Of all verified entries together: %d tokens of %d (%d %%); %d have at most half. Questions about answers: %d of %d can be answered.\n", rest, servers, tokens, generated, percent(tokens, generated), half, answered, asked)
	return b.String()
}

func percent(a, b int) int { return (200*a + b) / (2 * b) }
