package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// serveTasks makes a toolset "acme" live, of a server that may answer with tasks, with tokens of
// ada, bob and eve, who may call another tool only.
func serveTasks(t testing.TB, s *gatewaytest.Stack, u *upstreamServer, edit func(*registry.Toolset)) {
	t.Helper()
	c, err := gatewaytest.ServerConnector("up", &connector.MCPServer{
		URL: u.URL + "/mcp", Transport: manifest.TransportStreamable, Protocol: "2026-07-28", Name: "up", Version: "1", Tasks: true,
		Tools: []json.RawMessage{json.RawMessage(`{"name":"dig","inputSchema":{"type":"object"}}`), json.RawMessage(`{"name":"look","inputSchema":{"type":"object"}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	u.served++
	in := gatewaytest.Toolset("acme", u.served, c, edit)
	eve := tokenGrant("eve")
	eve.Tools = []string{"look"}
	doc := tokens(tokenGrant("ada"), tokenGrant("bob"), eve)
	serveBehind(t, s, in, doc)
}

// askTask posts a request of 2026-07-28; with declared its client can ask for tasks.
func askTask(t testing.TB, s *gatewaytest.Stack, caller, method, name, params string, declared bool) string {
	t.Helper()
	can := `{}`
	if declared {
		can = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	}
	if params != "" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}}}`, method, params, can)
	headers := []string{"Authorization", tokenOf(caller), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	b, err := io.ReadAll(request(t, http.MethodPost, s.URL("acme"), body, headers...).Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func callTask(t testing.TB, s *gatewaytest.Stack, caller string, declared bool) string {
	t.Helper()
	return askTask(t, s, caller, "tools/call", "dig", `"name":"dig"`, declared)
}

func aboutTask(t testing.TB, s *gatewaytest.Stack, caller, method, id, more string) string {
	t.Helper()
	return askTask(t, s, caller, method, id, fmt.Sprintf(`"taskId":%q%s`, id, more), true)
}

var taskID = regexp.MustCompile(`"taskId":"([0-9a-f]{40})"`)

const taskFacts = `"createdAt":"2026-11-27T07:00:49Z","lastUpdatedAt":"2026-11-27T07:00:50Z","ttlMs":60000,"pollIntervalMs":250`

// TestTasks: a server's task reaches its client under a name of this node, what is asked about it
// reaches the server under the server's, and what comes of it is a result as that of a call.
func TestTasks(t *testing.T) {
	s, u := start(t, gatewaytest.Options{}), newUpstreamServer(t, true)
	serveTasks(t, s, u, nil)
	u.answer("dig", `"result":{"resultType":"task","taskId":"own/1","status":"working",`+taskFacts+`,"x":1,"_meta":{"k":1}}`)
	started := callTask(t, s, "ada", true)
	m := taskID.FindStringSubmatch(started)
	if m == nil || !strings.Contains(started, `"resultType":"task"`) || strings.Contains(started, "own/1") || !strings.Contains(started, taskFacts+`,"x":1`) || !strings.Contains(started, `"k":1`) {
		t.Fatalf("the call is answered with %s", started)
	}
	if sent, _ := u.last(); !strings.Contains(sent, `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`) {
		t.Errorf("the server is told %s", sent)
	}
	id := m[1]
	for _, c := range []struct{ method, more, server, want string }{
		{
			"tasks/get", "", `"result":{"resultType":"complete","taskId":"own/1","status":"input_required",` + taskFacts + `,"inputRequests":{"q":{"method":"elicitation/create"}}}`,
			`"result":{"resultType":"complete","taskId":"` + id + `","status":"input_required",` + taskFacts + `,"inputRequests":{"q":{"method":"elicitation/create"}},"_meta"`,
		},
		{"tasks/update", `,"inputResponses":{"q":{"action":"accept"}}`, `"result":{"resultType":"complete"}`, `"result":{"resultType":"complete","_meta"`},
		{"tasks/cancel", "", `"result":{"resultType":"complete"}`, `"result":{"resultType":"complete","_meta"`},
		{
			"tasks/get", "", `"result":{"resultType":"complete","taskId":"own/1","status":"completed",` + taskFacts + `,"result":{"content":[{"type":"text","text":"a` + "\u200b\u202e" + `b"}],"isError":true,"_meta":{"n":2}},"_meta":{"k":1}}`,
			taskFacts + `,"result":{"content":[{"type":"text","text":"ab"}],"isError":true,"_meta":{"n":2}},"_meta":{`,
		},
		{"tasks/get", "", `"result":{"resultType":"complete","taskId":"own/1","status":"failed",` + taskFacts + `,"error":{"code":-32603,"message":"no"}}`, taskFacts + `,"error":{"code":-32603,"message":"no"},"_meta"`},
		{"tasks/get", "", `"result":{"resultType":"complete","taskId":"other","status":"working"}`, "malformed: taskId"},
		{"tasks/get", "", `"result":{"resultType":"complete","taskId":"own/1","status":"completed","result":{"resultType":"task","taskId":"z"}}`, "malformed: result"},
		{"tasks/get", "", `"result":{"resultType":"complete","taskId":"own/1","status":"completed","result":{"structuredContent":1}}`, "it has no content"},
		{"tasks/get", "", `"error":{"code":-32603,"message":"later"}`, `"error":{"code":-32603,"message":"later"}`},
	} {
		u.answer(c.method, c.server)
		got := aboutTask(t, s, "ada", c.method, id, c.more)
		if !strings.Contains(got, c.want) || strings.Contains(got, "own/1") {
			t.Errorf("%s of %s is %s, want %s", c.method, c.server, got, c.want)
		}
		sent, h := u.last()
		if !strings.Contains(sent, `"taskId":"own/1"`+c.more) || strings.Contains(sent, id) || h.Get("Mcp-Name") != "own/1" || h.Get("Mcp-Method") != c.method {
			t.Errorf("%s: the server gets %s, %v", c.method, sent, h)
		}
	}
	u.answer("tasks/get", `"error":{"code":-32602,"message":"gone"}`)
	if got := aboutTask(t, s, "ada", "tasks/get", id, ""); !strings.Contains(got, `-32602,"message":"gone"`) {
		t.Errorf("a task that its server forgot: %s", got)
	}
	if got := aboutTask(t, s, "ada", "tasks/get", id, ""); !strings.Contains(got, "unknown task") {
		t.Errorf("after that: %s", got)
	}
}

// TestTasksAreTheirCallers: nobody else finds a task, nor its caller with what the server calls it
// or when the tool is not permitted any more, and the server is not asked.
func TestTasksAreTheirCallers(t *testing.T) {
	s, u := start(t, gatewaytest.Options{}), newUpstreamServer(t, true)
	serveTasks(t, s, u, nil)
	u.answer("dig", `"result":{"resultType":"task","taskId":"own/1","status":"working",`+taskFacts+`}`)
	id := taskID.FindStringSubmatch(callTask(t, s, "ada", true))[1]
	before, _ := u.last()
	for _, c := range [][2]string{{"bob", id}, {"eve", id}, {"ada", "own/1"}, {"ada", id[1:]}, {"ada", ""}} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			got := askTask(t, s, c[0], method, c[1], fmt.Sprintf(`"taskId":%q,"inputResponses":{}`, c[1]), true)
			if code, _ := jsonscan.Trusted([]byte(got)).Get("error").Get("code").Int64(); code != -32602 && c[1] != "" || code == 0 {
				t.Errorf("%s of %s by %s: %s", method, c[1], c[0], got)
			}
		}
	}
	if sent, _ := u.last(); sent != before {
		t.Errorf("the server is asked: %s", sent)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		got := askTask(t, s, "ada", method, id, fmt.Sprintf(`"taskId":%q,"inputResponses":{}`, id), false)
		if !strings.Contains(got, `"code":-32021`) || !strings.Contains(got, `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`) {
			t.Errorf("%s without the extension: %s", method, got)
		}
	}
	if got := askTask(t, s, "ada", "subscriptions/listen", "", `"notifications":{"taskIds":["`+id+`"]}`, false); !strings.Contains(got, `"code":-32021`) {
		t.Errorf("a subscription without the extension: %s", got)
	}
	for _, method := range []string{"tasks/list", "tasks/result"} {
		if got := aboutTask(t, s, "ada", method, id, ""); !strings.Contains(got, `"code":-32601`) {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// TestTasksNotTaken: a server learns of the extension only for a client that declares it, and only
// where the whole answer is not redacted; what it answers all the same is not a result.
func TestTasksNotTaken(t *testing.T) {
	for _, c := range []struct {
		name     string
		declared bool
		edit     func(*registry.Toolset)
		offers   bool
	}{
		{"a client that does not declare it", false, nil, true},
		{"a toolset that redacts", true, func(b *registry.Toolset) {
			b.Answers = &registry.Answers{Fields: "-secret", Redact: true}
		}, false},
	} {
		s, u := start(t, gatewaytest.Options{}), newUpstreamServer(t, true)
		serveTasks(t, s, u, c.edit)
		u.answer("dig", `"result":{"resultType":"task","taskId":"own/1","status":"working"}`)
		if got := callTask(t, s, "ada", c.declared); strings.Contains(got, "taskId") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: %s", c.name, got)
		}
		if sent, _ := u.last(); strings.Contains(sent, "extensions") {
			t.Errorf("%s: the server is told %s", c.name, sent)
		}
		discovered := askTask(t, s, "ada", "server/discover", "", "", true)
		if strings.Contains(discovered, "io.modelcontextprotocol/tasks") != c.offers {
			t.Errorf("%s: the toolset says %s", c.name, discovered)
		}
	}
}
