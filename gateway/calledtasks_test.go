package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// serveCalledTasks makes a toolset "acme" live, of a server of 2025-11-25 whose clients may make calls
// of dig a task, with tokens of ada and bob.
func serveCalledTasks(t testing.TB, s *gatewaytest.Stack, u *upstreamServer, edit func(*registry.Toolset)) {
	t.Helper()
	c, err := gatewaytest.ServerConnector("up", &connector.MCPServer{
		URL: u.URL + "/mcp", Transport: manifest.TransportStreamable, Protocol: "2025-11-25", Name: "up", Version: "1", CallTasks: true, CancelTasks: true,
		Tools: []json.RawMessage{
			json.RawMessage(`{"name":"dig","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`),
			json.RawMessage(`{"name":"look","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}}`),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	u.served++
	in := gatewaytest.Toolset("acme", u.served, c, edit)
	doc := tokens(tokenGrant("ada"), tokenGrant("bob"))
	serveBehind(t, s, in, doc)
}

// taskClient is a session of a caller.
type taskClient struct {
	t           testing.TB
	url, caller string
	session     string
	greeting    string // the answer to initialize
}

func newTaskClient(t testing.TB, s *gatewaytest.Stack, caller, version string) *taskClient {
	t.Helper()
	c := &taskClient{t: t, url: s.URL("acme"), caller: caller}
	c.greeting = c.ask("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, version))
	return c
}

func (c *taskClient) ask(method, params string) string {
	c.t.Helper()
	headers := []string{"Authorization", tokenOf(c.caller)}
	if c.session != "" {
		headers = append(headers, "Mcp-Session-Id", c.session, "Mcp-Protocol-Version", "2025-11-25")
	}
	resp := request(c.t, http.MethodPost, c.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), headers...)
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

func (c *taskClient) dig() string {
	return c.ask("tools/call", `{"name":"dig","arguments":{},"task":{"ttl":60000}}`)
}

const calledFacts = `"createdAt":"2026-11-27T07:00:49Z","lastUpdatedAt":"2026-11-27T07:00:50Z","ttl":60000,"pollInterval":250`

// TestCalledTasks: a client of 2025-11-25 makes a call a task of the server, under a name of this
// node, and what it asks about it reaches the server under the server's.
func TestCalledTasks(t *testing.T) {
	s, u := start(t, gatewaytest.Options{}), newUpstreamServer(t, false)
	serveCalledTasks(t, s, u, nil)
	c := newTaskClient(t, s, "ada", "2025-11-25")
	if want := `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`; !strings.Contains(c.greeting, want) {
		t.Errorf("the toolset declares %s", c.greeting)
	}
	if got := c.ask("tools/list", "{}"); strings.Count(got, `"execution":{"taskSupport":"optional"}`) != 1 {
		t.Errorf("the tools are %s", got)
	}
	u.answer("dig", `"result":{"task":{"taskId":"own/1","status":"working",`+calledFacts+`,"x":1},"_meta":{"k":1,"io.modelcontextprotocol/related-task":{"taskId":"own/1"}}}`)
	started := c.dig()
	m := taskID.FindStringSubmatch(started)
	if m == nil || !strings.Contains(started, `"result":{"task":{"taskId":"`+m[1]+`","status":"working",`+calledFacts+`,"x":1},"_meta":{"k":1}}`) {
		t.Fatalf("the call is answered with %s", started)
	}
	if sent, _ := u.last(); !strings.Contains(sent, `"arguments":{},"task":{"ttl":60000}`) {
		t.Errorf("the server is told %s", sent)
	}
	id := m[1]
	for _, q := range []struct{ method, server, want string }{
		{"tasks/get", `"result":{"taskId":"own/1","status":"working",` + calledFacts + `}`, `"result":{"taskId":"` + id + `","status":"working",` + calledFacts + `}`},
		{"tasks/list", "", `"result":{"tasks":[{"taskId":"` + id + `","status":"working",` + calledFacts + `}]}`},
		{
			"tasks/result", `"result":{"content":[{"type":"text","text":"a` + "\u200b" + `b"}],"_meta":{"n":2,"io.modelcontextprotocol/related-task":{"taskId":"own/1"}}}`,
			`"result":{"content":[{"type":"text","text":"ab"}],"_meta":{"n":2,"io.modelcontextprotocol/related-task":{"taskId":"` + id + `"}}}`,
		},
		{
			"tasks/result", `"result":{"content":[],"isError":true}`,
			`"result":{"content":[],"isError":true,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + id + `"}}}`,
		},
		{"tasks/result", `"error":{"code":-32602,"message":"no result"}`, `"error":{"code":-32602,"message":"no result"}`},
		{"tasks/result", `"result":{"task":{"taskId":"z","status":"working"}}`, "it has no content"},
		{"tasks/cancel", `"error":{"code":-32602,"message":"it is over"}`, `"error":{"code":-32602,"message":"it is over"}`},
		{"tasks/cancel", `"result":{"taskId":"own/1","status":"cancelled",` + calledFacts + `}`, `"result":{"taskId":"` + id + `","status":"cancelled",` + calledFacts + `}`},
		{"tasks/get", `"result":{"taskId":"other","status":"working"}`, "malformed: taskId"},
		{"tasks/update", "", "method not found"},
	} {
		if q.server != "" {
			u.answer(q.method, q.server)
		}
		if got := c.ask(q.method, fmt.Sprintf(`{"taskId":%q}`, id)); !strings.Contains(got, q.want) || strings.Contains(got, "own/1") {
			t.Errorf("%s of %s is %s, want %s", q.method, q.server, got, q.want)
		}
		if sent, _ := u.last(); strings.Contains(sent, id) {
			t.Errorf("%s: the server gets %s", q.method, sent)
		}
	}
	u.answer("tasks/get", `"error":{"code":-32602,"message":"gone"}`)
	if got := c.ask("tasks/list", "{}"); !strings.Contains(got, `"result":{"tasks":[]}`) {
		t.Errorf("a task that its server forgot is listed: %s", got)
	}
	if got := c.ask("tasks/get", fmt.Sprintf(`{"taskId":%q}`, id)); !strings.Contains(got, "unknown task") {
		t.Errorf("a task that its server forgot: %s", got)
	}
}

// TestCalledTasksAreTheirCallers: nobody else finds or lists a task, nor its caller by the server's
// name, nor in the way of another revision.
func TestCalledTasksAreTheirCallers(t *testing.T) {
	s, u := start(t, gatewaytest.Options{}), newUpstreamServer(t, false)
	serveCalledTasks(t, s, u, nil)
	ada := newTaskClient(t, s, "ada", "2025-11-25")
	u.answer("dig", `"result":{"task":{"taskId":"own/1","status":"working",`+calledFacts+`}}`)
	u.answer("tasks/get", `"result":{"taskId":"own/1","status":"working"}`)
	id := taskID.FindStringSubmatch(ada.dig())[1]
	before, _ := u.last()
	bob, old := newTaskClient(t, s, "bob", "2025-11-25"), newTaskClient(t, s, "ada", "2025-06-18")
	stranger := &taskClient{t: t, url: s.URL("acme"), caller: "ada"}
	for _, c := range []struct {
		who      *taskClient
		id, want string
	}{{bob, id, "-32602"}, {ada, "own/1", "-32602"}, {ada, "", "-32602"}, {old, id, "-32601"}, {stranger, id, "-32601"}} {
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			if got := c.who.ask(method, fmt.Sprintf(`{"taskId":%q}`, c.id)); !strings.Contains(got, c.want) {
				t.Errorf("%s of %q: %s", method, c.id, got)
			}
		}
	}
	if got := bob.ask("tasks/list", "{}"); !strings.Contains(got, `"tasks":[]`) {
		t.Errorf("another caller lists %s", got)
	}
	if got := aboutTask(t, s, "ada", "tasks/get", id, ""); !strings.Contains(got, "-32601") {
		t.Errorf("with 2026-07-28: %s", got)
	}
	if after, _ := u.last(); after != before {
		t.Errorf("the server is asked %s", after)
	}
	if got := newTaskClient(t, s, "ada", "2025-11-25").ask("tasks/list", "{}"); !strings.Contains(got, id) {
		t.Errorf("another session of the caller lists %s", got)
	}
	for _, o := range []*taskClient{old, stranger} { // who is told of no tasks makes none
		u.answer("dig", `"result":{"content":[]}`)
		o.dig()
		if sent, _ := u.last(); strings.Contains(sent, `"task":{"ttl":60000}`) {
			t.Errorf("the server is told %s", sent)
		}
	}
}

// TestCalledTasksRefused: what cannot be a task is not called.
func TestCalledTasksRefused(t *testing.T) {
	s, u := start(t, gatewaytest.Options{}), newUpstreamServer(t, false)
	serveCalledTasks(t, s, u, nil)
	c := newTaskClient(t, s, "ada", "2025-11-25")
	for params, want := range map[string]string{
		`{"name":"look","task":{}}`:             "-32601",
		`{"name":"dig","task":7}`:               "-32602",
		`{"name":"dig","task":{"ttl":"x"}}`:     "-32602",
		`{"name":"dig","task":{"ttl":{"a":1}}}`: "-32602",
	} {
		if got := c.ask("tools/call", params); !strings.Contains(got, want) {
			t.Errorf("%s: %s", params, got)
		}
	}
	if got := c.ask("tasks/list", `{"cursor":"0"}`); !strings.Contains(got, "unknown cursor") {
		t.Errorf("an unknown cursor: %s", got)
	}
	if sent, _ := u.last(); sent != "" {
		t.Errorf("the server is asked %s", sent)
	}
	u.answer("dig", `"result":{"content":7}`) // clients expect a task or an error
	if got := c.dig(); !strings.Contains(got, `"error":{"code":-32603,"message":"`) || strings.Contains(got, `"result"`) {
		t.Errorf("a call that failed: %s", got)
	}
	serveCalledTasks(t, s, u, func(ts *registry.Toolset) { ts.Answers = &registry.Answers{Redact: true} })
	if c := newTaskClient(t, s, "ada", "2025-11-25"); strings.Contains(c.greeting, `"tasks"`) || strings.Contains(c.ask("tools/list", "{}"), "execution") {
		t.Errorf("tasks are declared where every byte must be seen: %s", c.greeting)
	}
}
