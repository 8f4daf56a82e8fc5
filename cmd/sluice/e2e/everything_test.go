package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestEverything compares npm's server-everything with a toolset of it, as a client with all
// capabilities sees them: what is listed, and what every tool, prompt, resource and completion
// answers.
func TestEverything(t *testing.T) {
	server := startEverything(t)
	toolset := proxiedToolset(t, server)
	want, got := portrait(t, server), portrait(t, toolset)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if same := got[name] == want[name]; same != (otherwise[name] == "") {
			t.Errorf("%s: %s\nalone:             %s\nthrough a toolset: %s", name, cmp.Or(otherwise[name], "not the same"), last(want[name], 3000), last(got[name], 3000))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && !strings.HasSuffix(name, " fetch_result") { // which reads what a budget left out
			t.Errorf("%s is there through a toolset only", name)
		}
	}
	if len(want) < 65 { // 17 tools, 4 prompts, 9 resources, and what they answer
		t.Errorf("the server alone had %d lists and answers", len(want))
	}
	t.Run("a client that runs tasks", func(t *testing.T) {
		node, script := npm(t, "@modelcontextprotocol/sdk/package.json")
		root := filepath.Join(filepath.Dir(script), "..", "..", "..")
		script, err := filepath.Abs("testdata/tasking.mjs")
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for _, url := range []string{server, toolset} {
			out, err := runTool(t, node, script, root, url)
			if err != nil {
				t.Fatalf("%s: %v\n%s", url, err, last(out, 3000))
			}
			seen[url] = taskName.ReplaceAllString(out, "…")
		}
		if seen[toolset] != seen[server] {
			t.Errorf("not the same\nalone:             %s\nthrough a toolset: %s", last(seen[server], 8000), last(seen[toolset], 8000))
		}
		for text, n := range map[string]int{"[COMPLETED]": 4, "[FAILED]": 2, "[CANCELLED]": 2, `"tools":[]`: 1} {
			if got := strings.Count(seen[server], text); got != n {
				t.Errorf("the server alone answers %s %d times, want %d", text, got, n)
			}
		}
	})
}

// taskName is how the official client names a task.
var taskName = regexp.MustCompile(`[0-9a-f]{32}`)

// startEverything starts npm's server-everything and returns its URL.
func startEverything(t *testing.T) string {
	t.Helper()
	node, program := npm(t, "@modelcontextprotocol/server-everything/dist/index.js")
	addr := freePort(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	server := "http://127.0.0.1:" + port + "/mcp"
	start(t, func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, "env", "PORT="+port, node, program, "streamableHttp")
	return server
}

// otherwise has what is not the same through a toolset, with the reason.
var otherwise = map[string]string{
	"call get-env":                              "JSON in a text is written shorter",
	"call simulate-research-query":              "a tool that has to run as a task is one for clients without tasks, too",
	"resource demo://resource/session/x.gz":     "resources are pinned; what a session made can be read by its link",
	"read demo://resource/session/x.gz, listed": "likewise",
}

// everythingArguments are what the tools are called with.
var everythingArguments = map[string]map[string]any{
	"echo":                           {"message": "hello"},
	"get-annotated-message":          {"messageType": "success", "includeImage": true},
	"get-resource-links":             {"count": 3},
	"get-resource-reference":         {"resourceType": "Text", "resourceId": 2},
	"get-structured-content":         {"location": "Chicago"},
	"get-sum":                        {"a": 2, "b": 40},
	"gzip-file-as-resource":          {"name": "x.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resourceLink"},
	"trigger-long-running-operation": {"duration": 0.2, "steps": 2},
	"trigger-sampling-request":       {"prompt": "say hi", "maxTokens": 10},
	"trigger-url-elicitation":        {"url": "https://example.com/open", "elicitationId": "1"},
	"simulate-research-query":        {"topic": "bees"},
}

// momentary is what changes from call to call: times, ids of sessions, a blob with the time.
var momentary = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z|\d+:\d\d:\d\d [AP]M|[0-9a-f]{8}-[0-9a-f-]{27}|UmVzb3VyY2UgMzogVGhpcyBpcyBhIGJhc2U2NCBibG9i[\w+/=]*`)

// portrait is what a client with all capabilities sees of a server.
//
//nolint:staticcheck // sampling and roots are deprecated and still served
func portrait(t *testing.T, url string) map[string]string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
			RootsV2:     &mcp.RootCapabilities{ListChanged: true},
			Sampling:    &mcp.SamplingCapabilities{},
		},
		ElicitationHandler: func(_ context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "check": true}}, nil
		},
		CreateMessageHandler: func(_ context.Context, _ *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "none", Content: &mcp.TextContent{Text: "hi"}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///root", Name: "root"})
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := map[string]string{}
	note := func(name string, v any, err error) {
		b, _ := json.Marshal(v)
		text := string(b)
		if err != nil {
			text = "error: " + err.Error()
		}
		if _, twice := p[name]; twice {
			name += ", listed"
		}
		text = strings.ReplaceAll(text, `"openWorldHint":true,`, "") // a hint that says what its absence says is left out
		p[name] = momentary.ReplaceAllString(text, "…")
	}
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		note("tool "+tool.Name, tool, nil)
		given := everythingArguments[tool.Name]
		if given == nil {
			given = map[string]any{}
		}
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: given})
		note("call "+tool.Name, result, err)
	}
	for prompt, err := range s.Prompts(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		note("prompt "+prompt.Name, prompt, nil)
		given := map[string]string{}
		for i, a := range prompt.Arguments {
			given[a.Name] = strconv.Itoa(i + 1)
			c, err := s.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: prompt.Name}, Argument: mcp.CompleteParamsArgument{Name: a.Name, Value: ""}})
			note("complete "+prompt.Name+" "+a.Name, c, err)
		}
		got, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prompt.Name, Arguments: given})
		note("get "+prompt.Name, got, err)
	}
	uris := []string{"demo://resource/nothing", "demo://resource/session/x.gz"}
	for r, err := range s.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		note("resource "+r.URI, r, nil)
		uris = append(uris, r.URI)
	}
	for r, err := range s.ResourceTemplates(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		note("template "+r.URITemplate, r, nil)
		uris = append(uris, strings.ReplaceAll(r.URITemplate, "{resourceId}", "3"))
	}
	for _, uri := range uris {
		got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		note("read "+uri, got, err)
	}
	return p
}
