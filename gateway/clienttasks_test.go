package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// puppet is a server with sessions whose tool makes the request of its arguments to the client, and
// answers with what the client answered.
type puppet struct {
	declared  chan string // capabilities, of each session
	cancelled chan string // bodies of notifications/cancelled

	mu      sync.Mutex
	waiting map[string]chan string // guarded by mu; by session
}

func newPuppet(t testing.TB) (*puppet, string) {
	t.Helper()
	p := &puppet{declared: make(chan string, 8), cancelled: make(chan string, 8), waiting: map[string]chan string{}}
	up := httptest.NewServer(p)
	endWith(t, up)
	return p, up.URL
}

func (p *puppet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Capabilities json.RawMessage
			Arguments    json.RawMessage
		}
		Result, Error json.RawMessage
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	id := r.Header.Get("Mcp-Session-Id")
	p.mu.Lock()
	waiting := p.waiting[id]
	p.mu.Unlock()
	switch {
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.Method == "server/discover":
		w.WriteHeader(http.StatusBadRequest) // of the older revisions only
	case m.Method == "initialize":
		p.declared <- string(m.Params.Capabilities)
		p.mu.Lock()
		id = fmt.Sprint("s", len(p.waiting))
		p.waiting[id] = make(chan string, 1)
		p.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}}`, m.ID)
	case m.Method == "tools/call":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",%s\n\n", m.Params.Arguments[1:])
		_ = http.NewResponseController(w).Flush()
		select {
		case a := <-waiting:
			text, _ := json.Marshal(a)
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%s}]}}\n\n", m.ID, text)
		case <-r.Context().Done():
		}
	case m.Method == "" && m.ID != nil:
		waiting <- string(m.Result) + string(m.Error)
		w.WriteHeader(http.StatusAccepted)
	default:
		if m.Method == "notifications/cancelled" {
			p.cancelled <- string(body)
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

// taskRunner is a client of 2025-11-25 that runs tasks for servers.
type taskRunner struct {
	t            testing.TB
	url, session string
}

const runsTasks = `{"sampling":{},"elicitation":{},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}}}}}`

func newTaskRunner(t testing.TB, url, caller string) *taskRunner {
	t.Helper()
	resp := request(t, http.MethodPost, url, strings.Replace(handshake, `"capabilities":{}`, `"capabilities":`+runsTasks, 1), "Authorization", tokenOf(caller))
	_, _ = io.Copy(io.Discard, resp.Body)
	return &taskRunner{t, url, resp.Header.Get("Mcp-Session-Id")}
}

// call has the server behind a tool ask for something, answers it and returns what the server then
// got. answer is the member of the response; "": the client expects not to be asked.
func (c *taskRunner) call(caller, tool, method, params, answer string) string {
	c.t.Helper()
	resp := request(c.t, http.MethodPost, c.url, callBody(tool, `{"method":"`+method+`","params":`+params+`}`), "Authorization", tokenOf(caller), "Mcp-Session-Id", c.session)
	asked := false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
			Result struct{ Content []struct{ Text string } }
		}
		if _, data, ok := strings.Cut(lines.Text(), "data: "); !ok && json.Unmarshal(lines.Bytes(), &m) != nil || ok && json.Unmarshal([]byte(data), &m) != nil {
			continue
		}
		switch {
		case m.Method == method:
			if asked = true; string(m.Params) != params {
				c.t.Errorf("%s: the client is asked %s", method, m.Params)
			}
			got := request(c.t, http.MethodPost, c.url, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+answer+`}`, "Authorization", tokenOf(caller), "Mcp-Session-Id", c.session)
			if got.StatusCode != http.StatusAccepted {
				c.t.Errorf("its answer: %d", got.StatusCode)
			}
		case len(m.Result.Content) > 0:
			if asked != (answer != "") {
				c.t.Errorf("%s %s: the client was asked: %v", method, params, asked)
			}
			return m.Result.Content[0].Text
		}
	}
	c.t.Fatalf("%s: the call has no result", method)
	return ""
}

// TestTasksOfClients: a server asks a client of 2025-11-25 for a task, how far it is, for its result
// and to cancel it, in any call of its session; another server of the toolset, another session and
// another caller reach none of it.
func TestTasksOfClients(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	first, url := newPuppet(t)
	_, other := newPuppet(t)
	pull := func(name, url string) *connector.Connector {
		c, err := gatewaytest.ServerConnector(name, &connector.MCPServer{
			URL: url, Transport: manifest.TransportStreamable, Protocol: "2025-11-25", Name: name, Version: "1",
			Tools: []json.RawMessage{[]byte(`{"name":"` + name + `","inputSchema":{"type":"object"}}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	in := gatewaytest.Toolset("acme", 1, pull("pull", url), func(ts *registry.Toolset) { ts.Access.Mode, ts.Profile = registry.AccessToken, registry.ProfileOff })
	in.Connectors["other"] = pull("steal", other)
	in.Bundle.Connectors = append(in.Bundle.Connectors, registry.ConnectorRef{Name: "other", Repository: "test/connectors/other", Manifest: registry.DigestOf([]byte("m")), Digest: registry.DigestOf([]byte("d"))})
	in.Access = tokens(tokenGrant("ada", "*"), tokenGrant("bob", "*"))
	in.Access.Workspace, in.Access.Toolset, in.AccessDigest = "test", in.ID, registry.DigestOf([]byte("1"))
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	ada := newTaskRunner(t, s.URL("acme"), "ada")
	const (
		task   = `{"taskId":"c1"}`
		made   = `{"task":{"taskId":"c1","status":"working"}}`
		result = `{"role":"assistant","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"c1"}}}`
		list   = `{"tasks":[{"taskId":"c0"},{"taskId":"c1"}]}`
		noTask = "no such task of this server"
	)
	if got := ada.call("ada", "pull", "sampling/createMessage", `{"task":{"ttl":60000},"messages":[]}`, `"result":`+made); got != made {
		t.Errorf("the server gets the task as %s", got)
	}
	if got := <-first.declared; got != runsTasks {
		t.Errorf("the server is told of the client %s", got)
	}
	for _, c := range []struct{ tool, method, params, answer, want string }{
		{"pull", "tasks/get", task, `"result":{"taskId":"c1","status":"working"}`, `{"taskId":"c1","status":"working"}`},
		{"pull", "tasks/result", task, `"result":` + result, result},
		{"pull", "tasks/list", `{}`, `"result":` + list, `{"tasks":[{"taskId":"c1"}]}`},
		{"pull", "tasks/cancel", task, `"error":{"code":-32602,"message":"it is over"}`, `{"code":-32602,"message":"it is over"}`},
		{"pull", "tasks/get", `{"taskId":"c0"}`, "", noTask},
		{"steal", "tasks/get", task, "", noTask},
		{"steal", "tasks/result", task, "", noTask},
		{"steal", "tasks/cancel", task, "", noTask},
		{"steal", "tasks/list", `{}`, `"result":` + list, `{"tasks":[]}`},
	} {
		if got := ada.call("ada", c.tool, c.method, c.params, c.answer); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s gets %s, want %s", c.tool, c.method, got, c.want)
		}
	}
	for _, caller := range []string{"ada", "bob"} { // in another session, and of another caller
		if got := newTaskRunner(t, s.URL("acme"), caller).call(caller, "pull", "tasks/get", task, ""); !strings.Contains(got, noTask) {
			t.Errorf("%s: in another session the server gets %s", caller, got)
		}
	}
}

// TestTaskOfAClientIsCancelled: a call that is cancelled while its server waits for the result of a
// task ends at the server, too.
func TestTaskOfAClientIsCancelled(t *testing.T) {
	s := start(t, gatewaytest.Options{})
	p, url := newPuppet(t)
	c, err := gatewaytest.ServerConnector("up", &connector.MCPServer{
		URL: url, Transport: manifest.TransportStreamable, Protocol: "2025-11-25", Name: "up", Version: "1",
		Tools: []json.RawMessage{[]byte(`{"name":"pull","inputSchema":{"type":"object"}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
		t.Fatal(err)
	}
	client := newTaskRunner(t, s.URL("acme"), "")
	client.call("", "pull", "sampling/createMessage", `{"task":{}}`, `"result":{"task":{"taskId":"c1"}}`)
	resp := request(t, http.MethodPost, s.URL("acme"), callBody("pull", `{"method":"tasks/result","params":{"taskId":"c1"}}`), "Mcp-Session-Id", client.session)
	for lines := bufio.NewScanner(resp.Body); lines.Scan() && !strings.Contains(lines.Text(), "tasks/result"); {
	}
	request(t, http.MethodPost, s.URL("acme"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id", client.session)
	if got := <-p.cancelled; !strings.Contains(got, `"requestId"`) {
		t.Errorf("the server is told %s", got)
	}
}
