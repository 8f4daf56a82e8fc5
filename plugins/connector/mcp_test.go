package connector

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/manifest"
)

func server(tools ...string) *MCPServer {
	s := &MCPServer{
		URL: "https://mcp.example.com/mcp", Transport: manifest.TransportStreamable, Protocol: "2026-07-28", Name: "ex", Title: "Example", Version: "1.2",
	}
	for _, t := range tools {
		s.Tools = append(s.Tools, json.RawMessage(t))
	}
	return s
}

func openMCP(t *testing.T, s *MCPServer) (*Connector, []Refused) {
	t.Helper()
	a, refused, err := BuildMCP("ex", s)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := BuildMCP("ex", s)
	if err != nil || !bytes.Equal(a.Module, again.Module) {
		t.Fatalf("the same server gave other bytes (%v)", err)
	}
	c, err := Open(a.Module)
	if err != nil {
		t.Fatal(err)
	}
	return c, refused
}

func TestMCPConnector(t *testing.T) {
	c, refused := openMCP(t, server(
		`{"name":"get-Thing","title":"T","description":"D","inputSchema":{"type": "object","properties":{"n":{"type":"integer"}}},
		 "outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"icons":[{"src":"x"}],"_meta":{"a":9007199254740993},"execution":{}}`,
		`{"name":"no.type","inputSchema":{}}`,
		`{"name":"listed","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"annotations":{"title":"Of hints"}}`,
		`{"name":"broken","inputSchema":[]}`,
		`{"name":"検索"}`,
		`{"name":"größe","title":"Size","inputSchema":null}`,
		`{"name":"listed","inputSchema":{"type":"object"}}`,
		`{"inputSchema":{"type":"object"}}`,
	))
	if len(refused) != 3 || refused[0].Name != "broken" || !strings.Contains(refused[1].Reason, "twice") || !strings.Contains(refused[2].Reason, "name") {
		t.Fatalf("refused %+v", refused)
	}
	if c.Len() != 5 || c.MCP() == nil || c.MCP().Protocol != "2026-07-28" || c.Servers()[0].URL != "https://mcp.example.com/mcp" {
		t.Fatalf("%d tools, server %+v at %v", c.Len(), c.MCP(), c.Servers())
	}
	tool, err := c.Tool(0)
	if err != nil {
		t.Fatal(err)
	}
	if tool.Name != "get-Thing" || tool.Path != "/get-Thing" || tool.Method != manifest.MethodMCP || tool.Plan != nil ||
		string(tool.InputSchema) != `{"type":"object","properties":{"n":{"type":"integer"}}}` || string(tool.OutputSchema) != `{"type":"object"}` ||
		string(tool.MCP.Extra) != `{"icons":[{"src":"x"}],"_meta":{"a":9007199254740993}}` ||
		!tool.Annotations.ReadOnly || tool.Annotations.Destructive || !tool.Annotations.OpenWorld {
		t.Fatalf("got %+v %s", tool, tool.MCP.Extra)
	}
	if tool, _ = c.Tool(1); tool.Name != "no_type" || tool.MCP.Name != "no.type" || string(tool.InputSchema) != `{"type":"object"}` || !tool.Annotations.Destructive {
		t.Fatalf("got %+v", tool)
	}
	if tool, _ = c.Tool(2); tool.Title != "Of hints" || tool.OutputSchema != nil {
		t.Fatalf("got %+v", tool)
	}
	for i, want := range []manifest.Tool{{Name: "tool_1b6b1a6f", Title: "検索"}, {Name: "grosse", Title: "Size"}} {
		if tool, _ = c.Tool(3 + i); tool.Name != want.Name || tool.Title != want.Title || string(tool.InputSchema) != `{"type":"object"}` {
			t.Fatalf("got %+v", tool)
		}
	}
	if _, _, err := BuildMCP("ex", server(`{"name":"broken","inputSchema":[]}`)); err == nil {
		t.Fatal("a server without a usable tool made a connector")
	}
}

func TestMCPNames(t *testing.T) {
	long := strings.Repeat("a", 64)
	f := func(want string, names ...string) {
		t.Helper()
		raw := make([]json.RawMessage, len(names))
		for i, n := range names {
			raw[i], _ = json.Marshal(map[string]string{"name": n})
		}
		if got := strings.Join(mcpNames(raw), " "); got != want {
			t.Fatalf("%q became %q, want %q", names, got, want)
		}
	}
	f("a A_2 a_3", "a", "A", "a")
	f("x_y_2 x_y", "x.y", "x_y")
	f("_1st _-dash", "1st", "-dash")
	f("grosse", "größe")
	f("tool_1b6b1a6f tool_900f8294", "検索", "作成")
	f("tool_900f8294 tool_1b6b1a6f", "作成", "検索") // in whatever order
	f("get_92ddcf01 get_9044a287", "get_検索", "get_作成")
	f("_search search_2", "🔎search", "search/2")
	f("tool_75968f77", "検_索")
	f(strings.Repeat("a", 55)+"_9f776782", long+"検")
	f("_1_b6e71eba", "1検")
	f(long, long)
	f(strings.Repeat("a", 55)+"_635361c4", long+"a")
	f(strings.Repeat("b", 64)+" "+strings.Repeat("b", 62)+"_2", strings.Repeat("b", 64), strings.Repeat("b", 64))
}

// TestMCPDiff: whatever changes in a definition is seen, also what Sluice does not
// read.
func TestMCPDiff(t *testing.T) {
	base := `{"name":"t","description":"D","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}},"icons":[1]}`
	older, _ := openMCP(t, server(base))
	f := func(old, replacement, where string, impact Impact) {
		t.Helper()
		newer, _ := openMCP(t, server(strings.Replace(base, old, replacement, 1)))
		changes, err := Diff(older, newer)
		if err != nil || len(changes) != 1 || len(changes[0].Details) == 0 || changes[0].Details[0].Where != where || changes[0].Impact != impact {
			t.Fatalf("%s → %s: %+v, %v", old, replacement, changes, err)
		}
	}
	f(`"D"`, `"E"`, "description", ImpactWording)
	f(`"icons":[1]`, `"icons":[2]`, "definition", ImpactWording)
	f(`"properties":{`, `"required":["a"],"properties":{`, "input/a", ImpactBreaking)
	same, _ := openMCP(t, server(strings.Replace(base, `":{"type":"object"`, `": { "type" : "object"`, 1)))
	if changes, err := Diff(older, same); err != nil || len(changes) != 0 {
		t.Fatalf("white space alone: %+v, %v", changes, err)
	}
}

func TestMCPDocument(t *testing.T) {
	s := server(`{"name": "t"}`)
	want := `{"url":"https://mcp.example.com/mcp","transport":"streamable","protocol":"2026-07-28","name":"ex","title":"Example","version":"1.2","instructions":"","tools":[{"name":"t"}]}`
	if got := s.Append(nil); string(got) != want || !json.Valid(got) {
		t.Fatalf("got %s\nwant %s", got, want)
	}
}

// TestNeeds: what a tool needs of its clients is kept, and a change of it is one.
func TestNeeds(t *testing.T) {
	const tool = `{"name":"ask","inputSchema":{"type":"object"}}`
	build := func(needs ...string) *Connector {
		s := server(tool)
		if needs != nil {
			s.Needs = map[string][]string{"ask": needs, "gone": {"roots"}}
		}
		s.Accept()
		back, err := ParseMCPServer(s.Append(nil))
		if err != nil || len(back.Needs) > 1 {
			t.Fatalf("%s: %v", s.Append(nil), err)
		}
		c, _ := openMCP(t, back)
		return c
	}
	for _, c := range []struct {
		name     string
		old, new []string
		want     string
	}{
		{"the same", []string{"roots"}, []string{"roots"}, ""},
		{"one more", nil, []string{"elicitation", "sampling"}, "breaking: only clients with elicitation and sampling see it"},
		{"one less", []string{"elicitation", "sampling"}, []string{"sampling"}, "safe: only clients with sampling see it"},
		{"none", []string{"sampling"}, nil, "safe: every client sees it now"},
	} {
		changes, err := Diff(build(c.old...), build(c.new...))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, change := range changes {
			for _, d := range change.Details {
				got = string(change.Impact) + ": " + d.What
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
